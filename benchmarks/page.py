"""How quick the page is in a real Chromium: first screen, and from moving ε to everything redrawn.

    python benchmarks/page.py           # starts the app by itself; needs playwright and Chromium

Limits that the project holds itself to: first screen under 3 s; median redraw under 0.4 s.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
MOVES, VISITS = 30, 5
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
# The sentence of the right side and its chart are new when both have changed.
CHANGED = "before => { const e = document.querySelector('.st-key-consequence'); return e && e.innerText !== before; }"


def serve(folder: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"PRIVATE_RELEASE_LEDGER": f"sqlite:///{folder}/ledger.db"}
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
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}"
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return server, address
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the app did not start")


def first_screen(browser: Browser, address: str) -> float:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    start = time.perf_counter()
    page.goto(address)
    page.locator(".st-key-consequence .js-plotly-plot .main-svg").first.wait_for()
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds


def moves(browser: Browser, address: str) -> list[float]:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(address)
    page.locator(".st-key-sample_census button").click()
    page.get_by_role("button", name="Publish once").wait_for()
    time.sleep(2)
    seconds = []
    for k in range(MOVES):
        before = page.locator(".st-key-consequence").inner_text()
        page.get_by_role("slider").first.focus()
        start = time.perf_counter()
        page.keyboard.press("ArrowRight" if k % 4 < 2 else "ArrowLeft")
        page.wait_for_function(CHANGED, arg=before)
        seconds.append(time.perf_counter() - start)
        time.sleep(0.5)
    page.context.close()
    return seconds


def main() -> None:
    found = os.environ.get("PRIVATE_RELEASE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server, address = serve(folder)
        try:
            browser = playwright.chromium.launch(executable_path=found, args=QUIET)
            cold, *warm = (first_screen(browser, address) for _ in range(VISITS + 1))
            print(f"first screen, fresh server        {cold:5.2f} s")
            print(f"first screen, median of {VISITS}         {statistics.median(warm):5.2f} s (worst {max(warm):.2f})")
            took = moves(browser, address)
            print(f"ε moved to all redrawn, median of {MOVES} {statistics.median(took):5.2f} s (worst {max(took):.2f})")
            browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
