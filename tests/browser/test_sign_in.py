"""Signing in at a real provider in a real browser: the door, the way in and out, and what the next person sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.actions import clinic_csv, follow, press, rest, upload
from tests.browser.provider import provided, secrets_for
from tests.pages.bare_tab import ask, opened
from tests.serving import Served, served

ANN, BEA = "ann@example.org", "bea@example.org"
PEOPLE = [
    {"sub": "ann", "email": ANN, "email_verified": True},
    {"sub": "bea", "email": BEA, "email_verified": True},
    {"sub": "guest", "email": ANN, "email_verified": False},  # says to be Ann, and nobody has checked
]
PATIENCE = 20.0
GROUPS = f"""
[groups.clinic]
owners = ["{ANN}"]
[groups.registry]
owners = ["{ANN}", "{BEA}"]
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app behind sign-in."""
    folder = tmp_path_factory.mktemp("closed")
    with provided(PEOPLE) as provider, served(folder, secrets_for(provider, GROUPS)) as running:
        yield running


@pytest.fixture
def page(chromium: Browser, closed: Served) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.on("page", follow)
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(closed.address)
    yield page
    context.close()


def door(page: Page) -> None:
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_test_id("stTopNavLink")).to_have_count(0)


def sign_in(page: Page, who: str) -> None:
    press(page.get_by_role("button", name="Sign in"))
    page.get_by_role("button", name=who, exact=True).click()


def corner(page: Page) -> None:
    press(page.locator(".st-key-account button").first)


def sign_out(page: Page, app: Served) -> None:
    corner(page)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="End session").click()
    page.wait_for_url(f"{app.address}/")
    door(page)


@pytest.mark.nightly
def test_the_next_person_at_the_same_browser_sees_nothing_of_the_one_before(
    page: Page, closed: Served, tmp_path: Path
) -> None:
    door(page)
    sign_in(page, "ann")
    upload(page, clinic_csv(tmp_path, "secret-clinic"))
    other = page.context.new_page()
    other.goto(closed.address)
    expect(other.locator(".st-key-account")).to_contain_text("clinic")
    sign_out(page, closed)
    assert not closed.uploads(), "the table is deleted at once"
    assert page.evaluate("sessionStorage.getItem('private-release-plan')") is None
    other.get_by_role("link", name="Budget").click()
    door(other)
    sign_in(page, "bea")
    expect(page.locator(".st-key-account")).to_contain_text("registry")
    rest(page)
    expect(page.get_by_text("Drop a table here")).to_be_visible()
    assert "secret-clinic" not in page.inner_text("body")
    for each in (page, other):
        each.context.clear_cookies()


# By day: tests/pages/access/test_person.py.
@pytest.mark.nightly
def test_an_address_that_nobody_has_checked_opens_no_group(page: Page) -> None:
    sign_in(page, "guest")
    expect(page.locator(".st-key-account")).to_contain_text("your own account")


@pytest.mark.nightly
def test_without_sign_in_only_the_door_is_drawn_and_nothing_is_taken(closed: Served) -> None:
    with opened(closed) as tab:
        tab.run()
        text = "".join(tab.received)
        assert "Sign in" in text
        assert "Drop a table here" not in text
        assert "X-Upload-Token" not in text
        for path in ("/upload", "/tab", f"/_stcore/upload_file/{tab.session}/file"):
            assert tab.put(path, {"X-Upload-Token": "x", "X-Tab-Token": "x"}).status == 403
        assert ask(closed, "/media/anything.csv").status == 403
