"""Asking in a real browser: a question is put together, paid, answered and compared, on a desk and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import choose, choose_all, press
from tests.browser.conftest import NewPage

PAY = re.compile("Ask, for")


def asking(page: Page) -> Page:
    expect(page.locator(".st-key-sample_rand button")).to_be_visible()
    page.goto(page.url.split("?")[0].rstrip("/").removesuffix("/publish") + "/ask")
    press(page.locator(".st-key-ask_rand button"))
    expect(page.get_by_text("This question")).to_be_visible()
    return page


# By day: tests/pages/test_ask_page.py.
@pytest.mark.nightly
def test_two_questions_are_paid_kept_and_compared_with_one_release(new_page: NewPage) -> None:
    page = asking(new_page())
    choose_all(page, "Only rows where", "sex")
    for sex, other in (("female", ""), ("male", "female")):
        if other:
            press(page.get_by_role("button", name=f"Remove {other}"))
        choose_all(page, "is one of these values of sex", sex)
        expect(page.get_by_role("heading", name=f"where sex is {sex}")).to_be_visible()
        press(page.get_by_role("button", name=PAY))
        expect(page.get_by_text("Answered: seeing it again costs 0.")).to_be_visible()
        expect(page.get_by_role("button", name=PAY)).to_have_count(0)
    expect(page.get_by_text("counts, asked one by one")).to_be_visible()
    expect(page.get_by_text("One release that answers all of them")).to_be_visible()


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("The average of a number", marks=pytest.mark.nightly),
        "What share of the rows …",
        pytest.param("The most common value", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly
def test_on_a_phone_nothing_is_cut_off(new_page: NewPage, what: str) -> None:
    page = asking(new_page(width=390, height=844))
    choose(page.locator('[class*="st-key-ask-what"]').get_by_role("combobox"), what)
    expect(page.get_by_text(re.compile("Δ =|Not yet a question"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
