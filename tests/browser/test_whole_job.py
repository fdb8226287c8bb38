"""The whole job, as a person does it: a real server, a real Chromium, a real file up and a real bundle down."""

from __future__ import annotations

import csv
import re
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

import dpengine as dpe
from tests.browser.conftest import NewPage

CANARY = "ZZ_CANARY_7f3a"
OWN = "a-whole-job"  # a name before all others, for Budget to begin with; and as many people as no other test has
BUY = re.compile("Publish once|Show it again")


def clinic_csv(folder: Path, name: str, people: int = 900) -> Path:
    """People with an age and a region; nothing random, so that the test says what it counts."""
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["age", "region", "note"])
        for k in range(people):
            writer.writerow([k % 90, ("North", "South", "Paris, TX")[k % 3], CANARY if k == 0 else ""])
    return path


def upload(page: Page, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(path)
    expect(page.get_by_text("Columns that matter")).to_be_visible()


def pick(page: Page, label: str, *options: str) -> None:
    """Choose options in a multiselect, by keyboard."""
    box = page.get_by_role("combobox", name=re.compile(label))
    for option in options:
        box.click()
        box.fill(option)
        page.get_by_role("option", name=option, exact=True).click()
    page.keyboard.press("Escape")


def plan_clinic(page: Page) -> None:
    """From the uploaded table to the bill."""
    pick(page, "Columns that matter", "age", "region")
    page.get_by_role("button", name="Go on to what is known").click()
    values = page.get_by_role("textbox", name="Values, one a line")
    values.fill("North\nSouth\nParis, TX")
    values.press("Control+Enter")
    expect(page.get_by_text("region · 3 values")).to_be_visible()
    page.get_by_role("button", name="Go on to whom it protects").click()
    page.get_by_text("each row is a different person").click()
    page.get_by_role("button", name="Go on to how private").click()
    expect(page.get_by_role("button", name=BUY)).to_be_visible()


def publish(page: Page) -> None:
    page.get_by_role("button", name=BUY).click()
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()


def download(page: Page, folder: Path, name: str) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download everything").click()
    path = folder / name
    waiting.value.save_as(path)
    return path


def test_from_upload_to_verified_download_with_one_charge(new_page: NewPage, tmp_path: Path, address: str) -> None:
    page = new_page()
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if address not in request.url else None)
    upload(page, clinic_csv(tmp_path, OWN, 990))
    plan_clinic(page)
    expect(page.get_by_text("Made-up numbers")).to_be_visible()
    page.get_by_role("button", name="Publish once").dblclick()
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()
    first = download(page, tmp_path, "first.zip")

    manifest = dpe.verify(first)
    assert manifest["guarantee"]["epsilon"] == "1"
    with zipfile.ZipFile(first) as bundle:
        rows = list(csv.DictReader(bundle.read("tables/01-age-x-region.csv").decode().splitlines()))
        assert all(CANARY.encode() not in bundle.read(name) for name in bundle.namelist())
    counts = {(row["age"], row["region"]): int(row["count"]) for row in rows}
    assert abs(counts["[18, 30)", "Paris, TX"] - 44) < 25, "noise of scale 1 is off by 25 with probability 1e-11"

    page.reload()
    second = download(page, tmp_path, "second.zip")
    other_tab = page.context.new_page()
    other_tab.goto(page.url)
    third = download(other_tab, tmp_path, "third.zip")
    page.get_by_role("link", name="Budget").click()
    # One, or two where another test has published a similar table before: the two share an account.
    expect(page.get_by_text(re.compile("spent by (1 release|2 releases)")).first).to_be_visible()
    page.go_back()
    fourth = download(page, tmp_path, "fourth.zip")
    assert first.read_bytes() == second.read_bytes() == third.read_bytes() == fourth.read_bytes()

    again = new_page()
    upload(again, clinic_csv(tmp_path, OWN, 990))
    plan_clinic(again)
    publish(again)
    assert download(again, tmp_path, "fifth.zip").read_bytes() == first.read_bytes(), "the same data, the same release"
    assert not [url for url in outside if not url.startswith(("data:", "blob:"))], "nothing is asked of anyone else"


def test_two_visitors_at_once_see_only_their_own(new_page: NewPage, tmp_path: Path) -> None:
    alice, bob = new_page(), new_page()
    upload(alice, clinic_csv(tmp_path, "alice-secret", 300))
    upload(bob, clinic_csv(tmp_path, "bob-secret", 3000))
    plan_clinic(alice)
    plan_clinic(bob)
    expect(alice.get_by_text("300 rows")).to_be_visible()
    expect(bob.get_by_text("3,000 rows")).to_be_visible()
    publish(alice)
    publish(bob)
    for page, own, other in ((alice, "alice-secret", "bob-secret"), (bob, "bob-secret", "alice-secret")):
        expect(page.get_by_role("heading", name=own)).to_be_visible()
        assert other not in page.content()
        bundle = download(page, tmp_path, f"{own}.zip")
        assert dpe.verify(bundle)["dataset"] == own
    visitor = new_page()
    assert "secret" not in visitor.content()


def test_a_sample_is_ready_in_a_click_and_the_truth_stays_behind_a_switch(new_page: NewPage) -> None:
    page = new_page()
    page.locator(".st-key-sample_rand button").click()
    publish(page)
    assert "true (private)" not in page.content()
    page.get_by_text("Compare with the true counts").click()
    expect(page.get_by_text("published against true")).to_be_visible()


def test_what_cannot_be_read_is_said_calmly(new_page: NewPage, tmp_path: Path) -> None:
    for name, content, fragment in [
        ("empty.csv", b"", "empty"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n" + CANARY.encode() + b",2\n", "line 3"),
        ("twice.csv", b"a,a\n1,2\n", "named 'a'"),
        ("fake.parquet", b"a,b\n1,2\n", "Parquet"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        page = new_page()  # one each: an upload chosen while another is on its way is lost in the browser
        page.locator("input[type=file]").first.set_input_files(path)
        expect(page.get_by_text(fragment).first).to_be_visible()
        shown = page.inner_text("body")
        assert "Traceback" not in shown
        assert CANARY not in shown
        assert str(tmp_path) not in shown


def test_it_fits_a_phone_in_the_dark(new_page: NewPage) -> None:
    page = new_page(width=390, height=844, dark=True)
    page.locator(".st-key-sample_census button").click()
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") != "rgb(255, 255, 255)"


def test_a_direct_visit_to_any_page_comes_through_the_entry(new_page: NewPage) -> None:
    for path in ("/accuracy", "/budget", "/verify"):
        page = new_page(path)
        expect(page.get_by_role("link", name="Publish").first).to_be_visible()
