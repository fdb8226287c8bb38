"""A reload of the tab: the plan comes back, the table does not, and neither shows up in any other tab."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.actions import clinic_csv, load_plan, plan_clinic, press, publish, rest, upload
from tests.browser.conftest import NewPage, wait_until
from tests.browser.test_upload import ask
from tests.serving import Served

BACK = re.compile("Your plan for clinic.csv is back")


def saved_plan(page: Page) -> str:
    text = page.evaluate("sessionStorage.getItem('private-release-plan') ?? ''")
    assert isinstance(text, str)
    return text


def sentence(page: Page, text: str) -> Locator:
    return page.get_by_text(text).filter(visible=True).first


def a_plan(page: Page) -> None:
    """Up to the bill, at another ε than the first."""
    load_plan(page, "clinic")
    more_epsilon(page)


def more_epsilon(page: Page) -> None:
    rest(page)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    expect(sentence(page, "At ε = 1.5")).to_be_visible()
    wait_until(page, """sessionStorage.getItem('private-release-plan')?.includes('"epsilon":"1.5"')""")


@pytest.mark.nightly
def test_a_plan_is_back_after_a_reload_and_continues_once_its_file_is_opened_again(
    new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(width=390, height=844)
    path = clinic_csv(tmp_path, "clinic")
    upload(page, path)
    plan_clinic(page)
    more_epsilon(page)
    page.reload()
    expect(page.get_by_text(BACK)).to_be_visible()
    expect(page.get_by_text("rows (only you see this number)")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.reload()
    expect(page.get_by_text(BACK)).to_be_visible()
    rest(page)
    page.locator("input[type=file]").first.set_input_files(path)
    expect(sentence(page, "At ε = 1.5")).to_be_visible()
    expect(page.get_by_text("900 rows (only you see this number)")).to_be_visible()
    expect(page.get_by_text("is back")).to_have_count(0)
    publish(page)
    page.reload()
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()


@pytest.mark.nightly
def test_the_address_gives_nobody_else_the_plan(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    upload(page, clinic_csv(tmp_path, "clinic"))
    a_plan(page)
    assert "clinic" in saved_plan(page)
    assert "Paris" in saved_plan(page)
    assert "900" not in saved_plan(page), "nothing of the rows, nor how many there are"
    assert "clinic" not in page.url
    another_tab = page.context.new_page()
    another_tab.goto(page.url)
    address = urlsplit(page.url)
    stranger = new_page(f"{address.path}?{address.query}", stranger=True)
    for other in (another_tab, stranger):
        expect(other.locator(".st-key-consequence .look-curve img").first).to_be_visible()
        rest(other)
        assert "clinic" not in other.content()
        assert saved_plan(other) == ""


@pytest.mark.nightly
def test_another_table_leaves_the_plan_waiting_until_it_is_forgotten(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    upload(page, clinic_csv(tmp_path, "clinic"))
    a_plan(page)
    page.reload()
    expect(page.get_by_text(BACK)).to_be_visible()
    (tmp_path / "other.csv").write_text("age,town\n30,North\n")
    upload(page, tmp_path / "other.csv")
    expect(page.get_by_text("this one has no region")).to_be_visible()
    press(page.get_by_role("button", name="Forget that plan"))
    expect(page.get_by_text("still waits")).to_have_count(0)
    wait_until(page, "sessionStorage.getItem('private-release-plan') === null")
    page.reload()
    expect(page.locator(".st-key-consequence .look-curve img").first).to_be_visible()
    assert "clinic" not in page.content()


@pytest.mark.nightly
def test_a_sample_comes_back_by_itself_on_any_page(new_page: NewPage) -> None:
    page = new_page()
    press(page.locator(".st-key-sample_rand button"))
    more_epsilon(page)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="Redo: ε 1 → 1.5")).to_be_enabled()
    box = page.get_by_role("textbox", name="Title for readers")
    rest(page)
    box.focus()
    page.keyboard.press("Control+y")  # a text box keeps its own keys
    rest(page)
    expect(page.get_by_role("button", name="Redo: ε 1 → 1.5")).to_be_enabled()
    box.blur()
    page.keyboard.press("Control+Shift+Z")
    expect(sentence(page, "At ε = 1.5")).to_be_visible()
    rest(page)
    press(page.get_by_role("link", name="Accuracy"))
    expect(page.get_by_role("heading", name="Accuracy")).to_be_visible()
    page.reload()
    press(page.get_by_test_id("stTopNav").get_by_role("link", name="Publish"))
    expect(sentence(page, "At ε = 1.5")).to_be_visible()
    expect(page.get_by_text("20,190 rows (only you see this number)")).to_be_visible()


def test_what_a_tab_holds_may_be_anything(new_page: NewPage) -> None:
    page = new_page()
    expect(page.locator(".st-key-consequence .look-curve img").first).to_be_visible()
    page.evaluate("sessionStorage.setItem('private-release-plan', '{\"entries\": {\"chosen\": [1]}}')")
    page.reload()
    wait_until(page, "sessionStorage.getItem('private-release-plan') === null")
    expect(page.get_by_role("button", name="Upload")).to_be_visible()


@pytest.mark.nightly
def test_only_the_tab_that_was_asked_may_hand_over_a_plan(new_page: NewPage, app: Served) -> None:
    page = new_page()
    with page.expect_request("**/tab") as sent:
        page.reload()
    headers = {name: value for name, value in sent.value.all_headers().items() if not name.startswith(":")}

    def answered(change: dict[str, str], body: bytes = b"") -> int:
        return ask(app, "PUT", headers | change | {"content-length": str(len(body))}, body, "/tab")[0]

    for change in (
        {"origin": "https://elsewhere.example"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"x-xsrftoken": ""},
        {"cookie": ""},
        {"x-tab-token": ""},
        {"x-tab-token": headers["x-tab-token"][:-1]},
    ):
        assert answered(change) == 403, change
    assert answered({}, b"x" * 8_000_001) == 413
    assert answered({}, b"this is no plan") == 204
    press(page.get_by_role("link", name="Accuracy"))
    expect(page.get_by_role("heading", name="Accuracy")).to_be_visible()
