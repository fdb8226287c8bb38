"""The tour as a stakeholder takes it: from the first screen to a sample that could be published, on any screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.actions import BUY, press
from tests.browser.conftest import NewPage


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_five_steps_lead_from_the_first_screen_to_a_sample_ready_to_publish(
    new_page: NewPage, width: int, height: int
) -> None:
    page = new_page(width=width, height=height)
    press(page.get_by_role("button", name="Take the five-minute tour"))
    box = page.locator(".st-key-tour")
    expect(box).to_contain_text("Step 1 of 5")
    expect(page.get_by_role("heading", name="Definition")).to_be_visible()
    press(box.get_by_role("button", name="Next"))
    expect(box).to_contain_text("Step 2 of 5")
    expect(page.get_by_text("right in 1,000 of 1,000. The attack wins")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    press(box.get_by_role("button", name="Next"))
    expect(box).to_contain_text("Step 3 of 5")
    expect(page.get_by_text("that is within what ε allows")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    press(box.get_by_role("button", name="Next"))
    expect(box).to_contain_text("Step 4 of 5")
    expect(page.get_by_text("Census income 1994–95").first).to_be_visible()
    press(box.get_by_role("button", name="Next"))
    expect(box).to_contain_text("Step 5 of 5")
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    expect(box.get_by_role("button", name="Next")).to_be_hidden()
    press(box.get_by_role("button", name="End the tour"))
    expect(box).to_be_hidden()
