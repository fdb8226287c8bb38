"""The Attacks lab in a browser: reached by its address, run and stopped by hand, and fit for a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import choose, press, rest
from tests.browser.conftest import NewPage


def attack(page: Page, name: str) -> None:
    press(page.locator(".st-key-attacks_attack").get_by_role("radio", name=name))


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_a_register_is_reconstructed_from_true_counts_and_not_from_ours(
    new_page: NewPage, width: int, height: int
) -> None:
    page = new_page("/attacks", width=width, height=height)
    expect(page.get_by_text("The attack wins")).to_be_visible()
    attack(page, "Reconstruction")
    press(page.locator(".st-key-attacks_people").get_by_role("radio", name="100"))
    press(page.get_by_role("button", name="Run the attack"))
    expect(page.get_by_text("True counts: 100 of 100 people guessed right from 800 answers")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    attack(page, "Floating point")
    expect(page.get_by_text("outputs prove the true answer")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.nightly
def test_a_long_attack_is_stopped_and_keeps_what_it_found(new_page: NewPage) -> None:
    page = new_page("/attacks")
    attack(page, "Reconstruction")
    choose(page.get_by_role("combobox", name="Solve by"), "linear program, smallest largest error")
    press(page.get_by_role("button", name="Run the attack"))
    expect(page.get_by_text("True counts: 750 questions")).to_be_visible()  # the first step is done
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    rest(page)  # what was there before is gone only then
    expect(page.get_by_text("True counts: after")).to_be_visible()
