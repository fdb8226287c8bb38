"""A real server and a real Chromium for the tests of the page."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent.parent
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

NewPage = Callable[..., Page]
PATIENCE = 20_000  # milliseconds: a busy machine is slow to draw, and that is no fault of the page
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the app is served for this run of the tests, with a ledger of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("app")
    environment = os.environ | {"PRIVATE_RELEASE_LEDGER": f"sqlite:///{folder / 'ledger.db'}"}
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.headless",
        "true",
    ]
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            if not _comes_up(port, server):
                pytest.fail(f"the app did not start:\n{log.read_text()}")
            yield f"http://localhost:{port}"
        finally:
            server.terminate()  # with time to delete what was uploaded
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _comes_up(port: int, server: subprocess.Popen[bytes]) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy knows this machine's localhost
    patient_until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < patient_until:
        try:
            with direct.open(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return True
        except OSError:
            time.sleep(0.1)
    return False


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    known = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    found = os.environ.get("PRIVATE_RELEASE_CHROMIUM") or next(known, None)
    if not found:
        pytest.fail("no Chromium: install it, or name it in PRIVATE_RELEASE_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser, address: str) -> Iterator[NewPage]:
    """Opens the app as a new visitor: own cookies, own session."""
    contexts = []

    def opened(path: str = "/", *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
