"""A phone: what can be pressed is large enough for a finger, and less motion is none."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.actions import BUY, press, rest
from tests.browser.conftest import NewPage

# What is pressed so many pixels above and below the middle of each is to be that still.
TOO_SMALL = """(all, reach) => all.filter(e => e.checkVisibility({ visibilityProperty: true })).flatMap(e => {
  e.scrollIntoView({ block: "center" });
  const { left, top, width, height } = e.getBoundingClientRect();
  if (!width || getComputedStyle(e).clipPath !== "none") return [];
  const pressed = [-reach, reach].map(by => document.elementFromPoint(left + width / 2, top + height / 2 + by));
  return pressed.every(at => at && (e.contains(at) || e.closest("label")?.contains(at)))
    ? [] : [`${e.getAttribute("aria-label") || e.textContent}: ${Math.round(width)} × ${Math.round(height)}`];
})"""


@pytest.mark.nightly
def test_buttons_have_room_for_a_finger(new_page: NewPage) -> None:
    page = new_page(width=390, height=844)
    press(page.locator(".st-key-sample_census button"))
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    main = page.get_by_test_id("stMain")
    for opened in ("columns", "domain"):
        press(page.locator(f".st-key-change-{opened} button"))
        page.mouse.move(0, 0)  # what it would hover over now may show a help, over other buttons
        rest(page)
        expect(page.get_by_test_id("stTooltipContent")).to_have_count(0)
        buttons = main.locator(":is(.stButton, .stPopover, .stButtonGroup) button, summary")
        assert buttons.evaluate_all(TOO_SMALL, 21) == []
        # a box may begin right below the help about it
        assert main.locator(".stTooltipIcon button").evaluate_all(TOO_SMALL, 11) == []


def test_with_less_motion_nothing_moves(new_page: NewPage) -> None:
    """A transition of a millisecond also begins at each change of each element, which doubles the work of a browser."""
    page = new_page("/choose", width=390, height=844)
    rest(page)
    page.evaluate("document.addEventListener('transitionrun', () => { window.moved = true }, true)")
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", "dark")
    rest(page)
    assert page.evaluate("window.moved") is None


@pytest.mark.nightly
def test_the_buttons_of_a_chart_stand_above_it_and_cut_off_nothing(new_page: NewPage) -> None:
    page = new_page("/accuracy", width=390, height=844)
    chart = page.locator(".stElementContainer", has=page.locator(".modebar-group")).first
    expect(chart).to_be_visible()
    rest(page)
    box, buttons, title = (
        each.bounding_box() for each in (chart, chart.locator(".modebar-group").first, chart.locator(".xtitle"))
    )
    assert box is not None
    assert buttons is not None
    assert title is not None
    assert buttons["y"] + buttons["height"] <= box["y"] + 1
    assert title["y"] + title["height"] <= box["y"] + box["height"]
    assert chart.evaluate(
        "e => [e, ...e.querySelectorAll('div')].every(at => getComputedStyle(at).overflow !== 'auto')"
    )


@pytest.mark.nightly
def test_the_toolbar_of_a_table_covers_no_words(new_page: NewPage) -> None:
    page = new_page("/definition", width=390, height=844)
    expect(page.locator(".stDataFrame canvas").first).to_be_attached()
    rest(page)
    room = page.locator(".stElementContainer", has=page.locator(".stDataFrame")).filter(visible=True).evaluate_all(
        """all => all.map(e => e.querySelector("[data-testid=stElementToolbar]").getBoundingClientRect().top
                                - e.previousElementSibling.getBoundingClientRect().bottom)"""
    )  # fmt: skip
    assert len(room) == 2
    assert min(room) >= -1


@pytest.mark.nightly  # a German visitor is another browser
def test_long_words_are_not_cut(new_page: NewPage) -> None:
    page = new_page(width=390, height=844, stranger=True, locale="de-DE")
    headings = page.locator(".look-grid tr > :first-child")
    expect(headings.last).to_have_text("(sonstige)")
    rest(page)
    assert headings.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)") == []
    words = page.locator(".stButton button", has_text="Neu ziehen").first.locator("p").element_handle()
    height = words.evaluate(
        """e => {
            e.textContent = "So lang, dass es beim besten Willen nicht in einer einzigen Zeile stehen kann";
            const inside = e.getBoundingClientRect().width <= e.closest("button").getBoundingClientRect().width;
            return inside ? e.getBoundingClientRect().height : 0;
        }"""
    )
    assert height > 40, "two lines, within the button"
