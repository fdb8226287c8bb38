"""A plan on its way through two people in a real browser: sent, looked at, approved, and published once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dpengine import Ledger
from dpengine.accounting.approval.request import State
from tests.browser import accessibility
from tests.browser.actions import clinic_csv, follow, load_plan, press, rest, upload
from tests.browser.conftest import PATIENCE
from tests.browser.provider import provided, secrets_for
from tests.serving import Served, served

BEA, SAM = "bea@example.org", "sam@example.org"
PEOPLE = [{"sub": who.partition("@")[0], "email": who, "email_verified": True} for who in (BEA, SAM)]
GROUPS = f"""
[groups.registry]
owners = ["{BEA}"]
stewards = ["{SAM}"]
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app behind sign-in, for one group."""
    folder = tmp_path_factory.mktemp("approval")
    with provided(PEOPLE) as provider, served(folder, secrets_for(provider, GROUPS)) as running:
        yield running


@pytest.fixture
def people(chromium: Browser, closed: Served) -> Iterator[dict[str, Page]]:
    """Each of them signed in at a browser of their own."""
    contexts: list[BrowserContext] = []
    pages: dict[str, Page] = {}
    for who in ("bea", "sam"):
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 800}))
        contexts[-1].on("page", follow)
        page = pages[who] = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(closed.address)
        press(page.get_by_role("button", name="Sign in"))
        page.get_by_role("button", name=who, exact=True).click()
        expect(page.locator(".st-key-account")).to_contain_text("registry")
    yield pages
    for context in contexts:
        context.close()


def to_approval(page: Page) -> None:
    press(page.get_by_role("link", name="Approval").first)
    expect(page.get_by_role("heading", name="What needs approval")).to_be_visible()
    rest(page)


# By day, tests/pages/test_approval_page.py goes the same way, and tests/accounting/approval looks at every charge.
@pytest.mark.nightly
def test_one_sends_another_looks_and_approves_and_the_first_publishes(
    people: dict[str, Page], closed: Served, tmp_path: Path
) -> None:
    bea, sam = people["bea"], people["sam"]
    to_approval(sam)
    press(sam.get_by_text("Every dataset of registry"))
    press(sam.get_by_role("button", name="Save"))
    expect(sam.get_by_text("Every release of registry")).to_be_visible()

    upload(bea, clinic_csv(tmp_path, "registry-2026"))
    load_plan(bea, "registry-2026")
    expect(bea.get_by_role("button", name="Publish once")).to_have_count(0)
    press(bea.get_by_role("button", name="Send for approval"))
    expect(bea.get_by_text("Sent for approval by")).to_be_visible()

    rest(sam)
    sam.reload()
    to_approval(sam)
    request = sam.locator(".st-key-approval-request")
    expect(request).to_contain_text("a typical cell of age × region is off by about")
    expect(request).to_contain_text("This release")
    rest(sam)
    accessibility.check(sam)
    request.get_by_role("textbox", name="Note with your decision").fill("fine")
    press(request.get_by_role("button", name="Approve"))
    expect(sam.get_by_role("heading", name="Approved, not yet published")).to_be_visible()

    press(bea.get_by_role("button", name="Look again"))
    expect(bea.get_by_text("Exactly this plan may now be published, once.")).to_be_visible()
    press(bea.get_by_role("button", name="Publish once"))
    expect(bea.get_by_role("button", name="Download everything")).to_be_visible()
    ledger = Ledger(f"sqlite:///{closed.files.parent / 'ledger.db'}", "group:registry")
    (used,) = ledger.approvals.requests()
    (entry,) = ledger.history()
    assert (used.state, used.release_id, used.answer) == (State.PUBLISHED, entry.release_id, "fine")
