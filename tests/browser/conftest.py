"""A real server and a real Chromium for the tests of the page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.actions import PATIENCE, follow
from tests.serving import Served, served

NewPage = Callable[..., Page]
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the few tests that run by day share one server and one browser, whose start costs more than such a test."""
    if not os.environ.get("PRIVATE_RELEASE_NIGHTLY"):
        here = f"{Path(__file__).parent}{os.sep}"
        for item in items:
            if str(item.path).startswith(here):
                item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app, served for this run of the tests."""
    with served(tmp_path_factory.mktemp("app"), STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL="5") as running:
        yield running


@pytest.fixture(scope="session")
def address(app: Served) -> str:
    """The address of the served app."""
    return app.address


@pytest.fixture(scope="session")
def visitor(chromium: Browser) -> Iterator[BrowserContext]:
    """A visitor of the app; each tab is a session of its own, and what a tab keeps goes when it is closed."""
    with chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce") as context:
        yield context


@pytest.fixture
def new_page(chromium: Browser, visitor: BrowserContext, address: str) -> Iterator[NewPage]:
    """Return a function that opens the app in a new tab; for a `stranger`, in another browser, of the given language.

    The test fails if a page asks another server for anything. All tabs are closed after it.
    """
    strangers: list[BrowserContext] = []
    pages: list[Page] = []
    faults: list[str] = []

    def watch(page: Page) -> None:
        follow(page)
        pages.append(page)
        page.on("request", lambda request: None if _is_own(request.url, address) else faults.append(request.url))
        page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)

    def opened(
        path: str = "/", *, width: int = 1280, height: int = 800, dark: bool = False, stranger: bool = False,
        locale: str = "en-US",
    ) -> Page:  # fmt: skip
        if stranger:
            strangers.append(chromium.new_context(locale=locale))
            strangers[-1].on("page", watch)
        page = (strangers[-1] if stranger else visitor).new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.set_default_timeout(PATIENCE)
        page.goto(address + path)
        return page

    visitor.on("page", watch)
    yield opened
    visitor.remove_listener("page", watch)
    for page in pages:
        page.close()
    for context in strangers:
        context.close()
    assert faults == []


def _is_own(url: str, address: str) -> bool:
    return url.startswith((f"{address}/", "data:", "blob:", "about:", "chrome-error:"))


def wait_until(page: Page, expression: str, argument: object = None) -> None:
    """Wait until a JavaScript expression or function is true; the browser's own way would need `unsafe-eval`."""
    until = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression, argument):
        assert time.monotonic() < until, expression
        page.wait_for_timeout(50)
