"""How quick the page is in a real Chromium: first screen, and from moving ε to everything redrawn.

    python benchmarks/page.py           # starts the app by itself; needs playwright and Chromium

Limits that the project holds itself to: first screen under 3 s; median redraw under 0.4 s.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.serving import QUIET, chromium, served

MOVES, VISITS = 30, 5
# The sentence of the right side and its chart are new when both have changed.
CHANGED = "before => { const e = document.querySelector('.st-key-consequence'); return e && e.innerText !== before; }"


def first_screen(browser: Browser, address: str) -> float:
    page = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True).new_page()
    start = time.perf_counter()
    page.goto(address)
    page.locator(".st-key-consequence .js-plotly-plot .main-svg").first.wait_for()
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds


def moves(browser: Browser, address: str) -> list[float]:
    page = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True).new_page()
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
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        served(Path(folder)) as app,
        playwright.chromium.launch(executable_path=chromium(), args=QUIET) as browser,
    ):
        cold, *warm = (first_screen(browser, app.address) for _ in range(VISITS + 1))
        print(f"first screen, fresh server        {cold:5.2f} s")
        print(f"first screen, median of {VISITS}         {statistics.median(warm):5.2f} s (worst {max(warm):.2f})")
        took = moves(browser, app.address)
        print(f"ε moved to all redrawn, median of {MOVES} {statistics.median(took):5.2f} s (worst {max(took):.2f})")


if __name__ == "__main__":
    main()
