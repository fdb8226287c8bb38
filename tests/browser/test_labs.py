"""The labs in a browser: each opens, its main control changes its picture, it fits a phone and is for everybody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from tests.browser import accessibility
from tests.browser.actions import PATIENCE, follow, rest
from tests.browser.conftest import wait_until

PICTURE = "[...document.querySelectorAll('.js-plotly-plot')].map(plot => plot.innerHTML.replace(/[a-f0-9]{6,}/g, ''))"
RESOURCE = "Failed to load resource"  # at the address of a page, Streamlit first looks there for what lies at the root


@pytest.fixture(scope="module")
def visit(visitor: BrowserContext) -> Iterator[Page]:
    """One tab on a phone."""
    page = visitor.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    follow(page)
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def pictures(page: Page) -> list[str]:
    """All charts as drawn, once nothing moves any more."""
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    rest(page)
    seen: list[str] = page.evaluate(PICTURE)
    return seen


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("lab", "control", "choice"),
    [
        ("Definition", "definition_epsilon", ""),
        ("Risk", "risk_form", "original"),
        ("Survey", "survey_epsilon", ""),
        ("Choose", "choose_epsilon", ""),
        ("Learn", "learn_epsilons", "3"),
    ],
)
def test_a_lab_opens_its_control_changes_its_picture_and_it_fits_a_phone(
    visit: Page, address: str, lab: str, control: str, choice: str
) -> None:
    messages: list[ConsoleMessage] = []
    visit.on("console", lambda message: messages.append(message))
    visit.goto(f"{address}/{lab.lower()}")
    expect(visit.get_by_role("heading", name=lab, level=1)).to_be_visible()
    before, at = pictures(visit), visit.locator(f".st-key-{control}")
    if choice:
        at.get_by_text(choice, exact=True).click()
    else:
        at.get_by_role("slider").first.focus()
        visit.keyboard.press("ArrowRight")
    wait_until(visit, f"before => JSON.stringify({PICTURE}) !== JSON.stringify(before)", before)
    expect(visit.get_by_text("encountered an error")).to_have_count(0)
    accessibility.check(visit)
    assert visit.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert [each.text for each in messages if each.type == "error" and RESOURCE not in each.text] == []
