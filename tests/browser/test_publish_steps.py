"""What only a browser shows of the steps: buttons that stay where they are pressed, colours that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import accessibility
from tests.browser.actions import choose_all, clinic_csv, load_plan, open_box, press, publish, rest, upload
from tests.browser.conftest import NewPage, wait_until

CONTRAST = """selector => {
  const light = text => { const [r, g, b] = text.match(/[0-9.]+/g).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const style = getComputedStyle(document.querySelector(selector));
  const [low, high] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05); }"""


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True])
def test_the_first_press_counts_and_chips_can_be_read(new_page: NewPage, tmp_path: Path, dark: bool) -> None:
    page = new_page(width=390, height=844, dark=dark)
    path = tmp_path / "clinic.csv"
    path.write_text("age,region,visit_date\n30,North,2024-01-01\n")
    upload(page, path)
    choose_all(page, "Columns that matter", "age", "region", "visit_date")
    on = page.locator("button:has-text('Go on to what is known')")
    expect(on).to_be_enabled()
    for selector in ("button[kind^=primary]", "[data-testid=stMultiSelectTagsContainer] > span > span"):
        assert page.evaluate(CONTRAST, selector) >= 4.5
    rest(page)
    on.scroll_into_view_if_needed()
    before = on.bounding_box()
    assert before is not None
    page.mouse.move(before["x"] + 20, before["y"] + 10)
    page.mouse.down()
    page.wait_for_timeout(200)
    assert on.bounding_box() == before
    page.mouse.up()
    expect(page.get_by_text("Still to fill in")).to_be_visible()


FOCUSED = "document.activeElement.textContent"


@pytest.mark.nightly
def test_on_a_phone_a_keyboard_goes_on_where_something_new_has_opened(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page(width=390, height=844)
    upload(page, clinic_csv(tmp_path, "focus", age=lambda k: (k * 11) % 90))
    wait_until(page, f"{FOCUSED} === '2 · What to publish'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Publish focus.csv")
    choose_all(page, "Columns that matter", "age")
    on = page.get_by_role("button", name="Go on to what is known")
    expect(on).to_be_enabled()
    rest(page)
    on.focus()
    page.keyboard.press("Enter")
    wait_until(page, f"{FOCUSED} === '3 · What is publicly known'")
    page.get_by_role("button", name="Confirm 1 suggestion").focus()
    page.keyboard.press("Enter")  # the button goes, as there is nothing more to confirm
    wait_until(page, f"{FOCUSED} === '3 · What is publicly known'")


@pytest.mark.nightly
def test_tab_leads_into_what_a_button_opens_above_the_page_and_out_of_it(new_page: NewPage) -> None:
    page, inside = new_page(), "document.activeElement.closest('[data-testid=stPopoverBody]') !== null"
    project = page.locator(".stPopover button", has_text="Project").first
    rest(page)
    project.focus()
    page.keyboard.press("Enter")
    wait_until(page, inside)
    expect(page.get_by_role("dialog").locator("button", has_text="Upload")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate(f"{inside} && document.activeElement.matches('button, a, input')")
    page.keyboard.press("Shift+Tab")
    expect(project).to_be_focused()
    page.get_by_role("dialog").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if not page.evaluate(inside):
            break
    assert page.evaluate("document.activeElement.closest('[data-testid=stMain]') !== null"), (
        "it goes on beside the button"
    )
    page.get_by_role("dialog").focus()
    page.keyboard.press("Escape")
    expect(project).to_be_focused()


@pytest.mark.nightly
def test_a_keyboard_keeps_its_place_by_a_release_and_goes_back_to_the_steps(new_page: NewPage) -> None:
    page = new_page()
    press(page.locator(".st-key-sample_rand button"))
    publish(page)
    wait_until(page, f"{FOCUSED} === document.querySelector('h1').textContent")
    with page.expect_download():
        page.get_by_role("button", name="Download everything").press("Enter")  # it is off while the file is made
    wait_until(page, f"{FOCUSED}.includes('Download everything')")
    rest(page)
    page.get_by_role("button", name="Start another release").press("Enter")
    wait_until(page, f"{FOCUSED} === '5 · How private'")
    expect(page.get_by_role("heading", name="5 · How private")).to_be_in_viewport()


@pytest.mark.nightly
def test_a_phones_menu_is_told_in_each_language_and_closes_once_a_page_is_chosen(new_page: NewPage) -> None:
    page = new_page(width=390, height=844, stranger=True)
    help_ = page.locator(".st-key-consequence .stTooltipIcon button").first
    expect(help_).to_have_accessible_name("Help for What a release looks like")
    page.get_by_test_id("stExpandSidebarButton").click()
    press(page.locator(".st-key-language-choice button").first)
    rest(page)
    page.get_by_role("button", name="Deutsch").dispatch_event("click")
    expect(help_).to_have_accessible_name(re.compile("Wie eine Veröffentlichung aussieht"))
    page.get_by_test_id("stExpandSidebarButton").click()
    rest(page)
    accessibility.check(page)
    page.get_by_test_id("stExpandSidebarButton").click()  # another size of the window has closed it
    rest(page)
    page.get_by_role("link", name="Budget").click()
    expect(page.get_by_role("heading", name="Budget", level=1)).to_be_in_viewport()
    expect(page.get_by_test_id("stSidebarCollapseButton")).to_have_count(0)


@pytest.mark.nightly
def test_a_phone_stays_where_it_was_when_a_step_opens(new_page: NewPage) -> None:
    page, place = new_page(width=390, height=844), "document.querySelector('[data-testid=stMain]').scrollTop"
    sample = page.locator(".st-key-sample_rand button")
    sample.scroll_into_view_if_needed()
    rest(page)
    before = page.evaluate(place)
    sample.click()
    expect(page.get_by_role("heading", name="6 · Publish")).to_be_visible()
    rest(page)  # the old page is gone, the new one drawn
    assert page.evaluate(place) <= before + 1, "not at the end of the page"


def test_a_german_browser_begins_in_german_and_keeps_another_choice(new_page: NewPage) -> None:
    page = new_page(stranger=True, locale="de-AT")
    spoken = page.locator("html")
    expect(spoken).to_have_attribute("lang", "de")
    assert "language" not in {cookie["name"] for cookie in page.context.cookies()}, "nothing was chosen"
    english = page.get_by_role("button", name="English")
    open_box(page.get_by_role("button", name="Deutsch"), english)
    press(english)
    expect(spoken).to_have_attribute("lang", "en")
    page.reload()
    expect(page.get_by_role("button", name="Take the five-minute tour")).to_be_visible()
    expect(spoken).to_have_attribute("lang", "en")


def test_another_language_keeps_what_was_chosen(new_page: NewPage, tmp_path: Path) -> None:
    """A browser tells a choice by its words, which are other ones now."""
    page = new_page(width=390, height=844, dark=True, stranger=True)  # the language stays in its cookies
    upload(page, clinic_csv(tmp_path, "language"))
    load_plan(page, "language")
    german = page.get_by_role("button", name="Deutsch")
    open_box(page.get_by_role("button", name="English"), german)
    press(german)
    expect(page.get_by_role("button", name=re.compile("Einmal veröffentlichen"))).to_be_visible()
    rest(page)
    expect(page.get_by_role("button", name="Hilfe zu Datenbestand")).to_be_attached()
    expect(page.get_by_role("button", name=re.compile("^Help for"))).to_have_count(0)
    open_box(page.get_by_role("button", name="Verlauf"), page.get_by_text("Was entschieden wurde"))
    expect(page.get_by_text("Strategie auto")).to_have_count(0)
