"""The whole job, as a person does it: a real server, a real Chromium, a real file up and a real bundle down."""

from __future__ import annotations

import csv
import re
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

import dpengine as dpe
from tests.browser import accessibility
from tests.browser.actions import (
    BUY,
    CANARY,
    clinic_csv,
    download,
    load_plan,
    plan_clinic,
    press,
    publish,
    rest,
    upload,
)
from tests.browser.conftest import NewPage
from tests.serving import Served

OWN = "a-whole-job"  # a name before all others, for Budget to begin with


def own_csv(folder: Path) -> Path:
    """People like no other test's, so that nobody else's releases are on their account."""
    return clinic_csv(folder, OWN, 990, age=lambda k: k * k % 90, region=lambda k: min(k % 5, 2))


def test_from_upload_to_verified_download_with_one_charge(new_page: NewPage, tmp_path: Path, app: Served) -> None:
    page = new_page()
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if app.address not in request.url else None)
    upload(page, own_csv(tmp_path))
    plan_clinic(page)
    expect(page.get_by_text("Made-up numbers")).to_be_visible()
    rest(page)
    page.get_by_role("button", name="Publish once").dblclick()
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()
    first = download(page, tmp_path, "first.zip")

    manifest = dpe.verify(first)
    assert manifest["guarantee"]["epsilon"] == "1"
    with zipfile.ZipFile(first) as bundle:
        rows = list(csv.DictReader(bundle.read("tables/01-age-x-region.csv").decode().splitlines()))
        assert all(CANARY.encode() not in bundle.read(name) for name in bundle.namelist())
    counts = {(row["age"], row["region"]): int(row["count"]) for row in rows}
    true = sum(18 <= k * k % 90 < 30 and k % 5 >= 2 for k in range(990))
    assert abs(counts["[18, 30)", "Paris, TX"] - true) < 25, "noise of scale 1 is off by 25 with probability 1e-11"

    page.reload()
    second = download(page, tmp_path, "second.zip")
    assert first.read_bytes() == second.read_bytes()

    again = new_page()
    upload(again, own_csv(tmp_path))
    plan_clinic(again)
    publish(again)
    assert download(again, tmp_path, "third.zip").read_bytes() == first.read_bytes(), "the same data, the same release"
    ledger = dpe.Ledger(f"sqlite:///{app.files.parent / 'ledger.db'}")
    assert [entry.dataset for entry in ledger.history(OWN)] == [OWN], "one charge, on an account of its own"
    assert not [url for url in outside if not url.startswith(("data:", "blob:"))], "nothing is asked of anyone else"


# By day: the reload above, and what each page shows of a release in tests/pages.
@pytest.mark.nightly
def test_a_release_is_the_same_in_another_tab_and_after_going_back(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    upload(page, clinic_csv(tmp_path, "back-again", 970, age=lambda k: k * k % 83))
    load_plan(page, "back-again")
    publish(page)
    first = download(page, tmp_path, "first.zip")
    other_tab = page.context.new_page()
    other_tab.goto(page.url)
    second = download(other_tab, tmp_path, "second.zip")
    press(page.get_by_role("link", name="Budget"))
    expect(page.get_by_text("ε 1 spent by 1 release", exact=True).first).to_be_visible()
    page.go_back()
    third = download(page, tmp_path, "third.zip")
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


@pytest.mark.nightly
def test_a_release_in_german_has_german_numbers_and_the_same_bundle(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page("/?language=de", stranger=True)
    press(page.locator(".st-key-sample_rand button"))
    press(page.get_by_role("button", name=re.compile("Einmal veröffentlichen|Noch einmal zeigen")))
    total = page.get_by_text(re.compile(r"Insgesamt \d\d\.\d{3} .+ \(95 %: \d\d\.\d{3} bis \d\d\.\d{3}\)"))
    expect(total).to_be_visible()
    page.reload()  # the browser has kept the language
    expect(total).to_be_visible()
    expect(page.get_by_test_id("stTopNav").get_by_role("link", name="Genauigkeit")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    german = download(page, tmp_path, "german.zip", "Alles zusammen herunterladen")
    other = new_page(f"/?{urlsplit(page.url).query}", stranger=True)
    english = download(other, tmp_path, "english.zip")
    assert german.read_bytes() == english.read_bytes()
    press(page.get_by_role("button", name="Deutsch"))
    press(page.get_by_role("button", name="English"))
    expect(page.get_by_text(re.compile(r"\d\d,\d{3} kept rows in all"))).to_be_visible()


@pytest.mark.nightly
def test_two_visitors_at_once_see_only_their_own(new_page: NewPage, tmp_path: Path) -> None:
    alice, bob = new_page(), new_page(stranger=True)
    upload(alice, clinic_csv(tmp_path, "alice-secret", 300))
    upload(bob, clinic_csv(tmp_path, "bob-secret", 3000))
    load_plan(alice, "alice-secret")
    load_plan(bob, "bob-secret")
    expect(alice.get_by_text("300 rows")).to_be_visible()
    expect(bob.get_by_text("3,000 rows")).to_be_visible()
    publish(alice)
    publish(bob)
    for page, secret, other in ((alice, "alice-secret", "bob-secret"), (bob, "bob-secret", "alice-secret")):
        expect(page.get_by_role("heading", name=secret)).to_be_visible()
        assert other not in page.content()
        bundle = download(page, tmp_path, f"{secret}.zip")
        assert dpe.verify(bundle)["dataset"] == secret
    visitor = new_page(stranger=True)
    assert "secret" not in visitor.content()


# By day: tests/pages/publish/test_publish_page.py.
@pytest.mark.nightly
def test_a_sample_is_ready_in_a_click_and_the_truth_stays_behind_a_switch(new_page: NewPage) -> None:
    page = new_page()
    press(page.locator(".st-key-sample_rand button"))
    publish(page)
    assert "true (private)" not in page.content()
    press(page.get_by_text("Compare with the true counts"))
    expect(page.get_by_text("published against true")).to_be_visible()
    expect(page.get_by_text("The mean of Age by Sex is off by")).to_be_visible()
    expect(page.get_by_text("Coefficients of the regression of Age")).to_be_visible()


@pytest.mark.nightly
def test_an_unreadable_file_is_reported_calmly(new_page: NewPage, tmp_path: Path) -> None:
    for name, content, fragment in [  # tests/pages/publish/test_publish_page.py and tests/corpus have more
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n" + CANARY.encode() + b",2\n", "line 3"),
        ("fake.parquet", b"a,b\n1,2\n", "Parquet"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        page = new_page()  # one each: an upload chosen while another is on its way is lost in the browser
        rest(page)
        page.locator("input[type=file]").first.set_input_files(path)
        expect(page.get_by_text(fragment).first).to_be_visible()
        shown = page.inner_text("body")
        assert "Traceback" not in shown
        assert CANARY not in shown
        assert str(tmp_path) not in shown


@pytest.mark.nightly
def test_it_fits_a_phone_in_the_dark(new_page: NewPage) -> None:
    page = new_page(width=390, height=844, dark=True)
    press(page.locator(".st-key-sample_census button"))
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") != "rgb(255, 255, 255)"


@pytest.mark.nightly
def test_a_direct_visit_to_any_page_comes_through_the_entry_and_is_for_everybody(new_page: NewPage) -> None:
    for path in ("/accuracy", "/budget", "/ask", "/verify"):
        page = new_page(path)
        expect(page.get_by_role("link", name="Publish").first).to_be_visible()
        expect(page.get_by_role("heading", name=path.strip("/").capitalize(), level=1)).to_be_visible()
        rest(page)
        accessibility.check(page)
