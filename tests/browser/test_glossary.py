"""The glossary in a browser: found by typing, gone through by keyboard, for everybody; and the help beside a term."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import accessibility
from tests.browser.actions import open_help, press, rest
from tests.browser.conftest import NewPage, wait_until


# By day: tests/pages/shared/test_glossary.py.
@pytest.mark.nightly
def test_terms_and_pages_are_found_while_typing_and_lead_on(new_page: NewPage) -> None:
    page = new_page("/glossary", width=390, height=844)
    typed = page.get_by_role("searchbox", name="Search terms and pages")
    typed.press_sequentially("Mostly NÓISE")  # neither Enter nor Tab
    expect(page.get_by_text("Codebook ·")).to_be_hidden()
    press(page.get_by_text("Mostly noise · A mark"))
    rest(page)
    accessibility.check(page)
    page.get_by_role("link", name="Half-width (±)").press("Enter")
    wait_until(page, "document.activeElement.textContent === 'Half-width (±)'")
    expect(page).to_have_url(re.compile("/glossary[?]term=half-width$"))  # it can be passed on
    page.set_viewport_size({"width": 1280, "height": 800})
    typed.fill("averaging breaks it")
    expect(page.get_by_text("See how differencing")).to_be_visible()
    expect(page).to_have_url(re.compile("/glossary$"))
    page.get_by_test_id("stMain").get_by_role("link", name="Attacks").click()
    expect(page.get_by_role("heading", name="Attacks", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile("/attacks$"))
    rest(page)  # help that is open is closed as the page is drawn on
    open_help(page.get_by_role("button", name="Help for Ask how many people"))
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="More in the glossary").first.click()
    expect(opened.value).to_have_url(re.compile("/glossary[?]term=differencing$"))
