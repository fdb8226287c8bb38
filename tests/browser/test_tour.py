"""The tour as a stakeholder takes it: from the first screen to a sample that could be published, on any screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import accessibility
from tests.browser.actions import BUY, PATIENCE, follow, press, rest
from tests.browser.conftest import NewPage
from tests.serving import served


def take_the_tour(page: Page, *, checked: bool) -> None:
    """Walk through all five stops; with `checked`, each is looked at as somebody may see it.

    Each in another way: the pages by themselves are looked at in all ways by their own tests, and a look takes long.
    """
    press(page.get_by_role("button", name="Take the five-minute tour"))
    box = page.locator(".st-key-tour")
    stops = (
        page.get_by_role("heading", name="Definition"),
        page.get_by_text("right in 1,000 of 1,000. The attack wins"),
        page.get_by_text("that is within what ε allows"),
        page.get_by_text("Census income 1994–95").first,
        page.get_by_role("button", name=BUY),
    )
    for number, shown in enumerate(stops, start=1):
        expect(box).to_contain_text(f"Step {number} of 5")
        expect(shown).to_be_visible()
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        rest(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        if checked:
            accessibility.check(page, [accessibility.LOOKS[number % len(accessibility.LOOKS)]])
        if number < len(stops):
            press(box.get_by_role("button", name="Next"))
    expect(box.get_by_role("button", name="Next")).to_be_hidden()
    press(box.get_by_role("button", name="End the tour"))
    expect(box).to_be_hidden()


@pytest.mark.nightly
def test_five_steps_lead_from_the_first_screen_of_a_phone_to_a_sample_ready_to_publish(new_page: NewPage) -> None:
    take_the_tour(new_page(width=390, height=844), checked=False)


@pytest.mark.nightly
def test_the_tour_of_a_demonstration_is_for_everybody(chromium: Browser, tmp_path: Path) -> None:
    with served(tmp_path, PRIVATE_RELEASE_DEMO="1") as app, chromium.new_context() as visitor:
        visitor.on("page", follow)
        page = visitor.new_page()
        page.set_viewport_size({"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        page.goto(app.address)
        expect(page.get_by_text("Demonstration with public samples.")).to_be_visible()
        expect(page.get_by_role("button", name="Upload")).to_have_count(0)
        take_the_tour(page, checked=True)
        assert not (tmp_path / "ledger.db").exists(), "a visitor's ledger is in no file"
