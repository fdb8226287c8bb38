"""Time the page in a real Chromium, from a visit to the first screen and from moving ε to the redrawn page.

    python benchmarks/page.py           # starts the app by itself; needs playwright and Chromium; Linux
    python benchmarks/page.py wide      # only a table of many columns: processor time of the server for each click

Limits that the project holds itself to: first screen under 2 s, and 3 s right after a start of the server; a lab sent
under 1 s from another page; median redraw under 0.4 s; with 100 columns, published each by itself or as 300 pairs, a
move of ε, a step or a cell of the grid takes the server under 0.15 s of processor time.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Plan
from tests.browser.actions import follow, press, rest, type_into_grid
from tests.serving import QUIET, Served, chromium, served
from tests.tab import Tab

MOVES, VISITS = 30, 5
COLUMNS, PAIRS, TIMES = 100, 300, 10
# The sentence of the right side and its chart are new when both have changed.
CHANGED = "before => { const e = document.querySelector('.st-key-consequence'); return e && e.innerText !== before; }"


def first_screen(browser: Browser, app: Served) -> tuple[float, float]:
    """Return the seconds to the first screen of a new visitor, and those of the server's processor."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True).new_page()
    start, before = time.perf_counter(), app.processor()
    page.goto(app.address)
    page.locator(".st-key-consequence .look-curve img").first.wait_for()
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds, app.processor() - before


def to_a_lab(app: Served) -> tuple[float, float]:
    """Return the seconds from a press on the name of a lab until all of it is sent, and the server's processor's.

    What a browser takes to draw it is not in them.
    """
    with Tab(app.address) as tab:
        tab.wait_for("first screen", tab.zone)
        tab.rest(1.0)
        start, before = time.perf_counter(), app.processor()
        tab.visit("definition")
        tab.wait_for("lab", lambda: True)
        return time.perf_counter() - start, app.processor() - before


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


def wide(browser: Browser, app: Served, folder: Path, *, pairs: int) -> None:
    """Print the processor time of the server for each kind of click, with `COLUMNS` columns."""
    names = [f"column {k}" for k in range(COLUMNS)]
    path = folder / "wide.csv"
    path.write_text(",".join(names) + "\n" + "".join(",".join(["1"] * COLUMNS) + "\n" for _ in range(1000)))
    plan = Plan(
        dataset="wide",
        epsilon=1,
        columns=[
            {"name": name, "kind": "category", "values": ["1", "2", "3", "4"]} if k % 2 else
            {"name": name, "kind": "number", "edges": ["0", "18", "30", "45", "65", "120"]}
            for k, name in enumerate(names)
        ],
        # A list of one's own, with a row for each table: the layouts of the page itself draw less.
        tables=[*([name] for name in names[2:]), *list(combinations(names, 2))[: 1 + pairs]],
    )  # fmt: skip
    page = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True).new_page()
    follow(page)
    page.goto(app.address)
    rest(page)
    page.locator("input[type=file]").first.set_input_files(path)
    page.get_by_text("Columns that matter").wait_for()
    press(page.get_by_role("button", name="Load a plan"))
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(
        {"name": "plan.yaml", "mimeType": "text/yaml", "buffer": plan.dumps().encode()}
    )
    page.get_by_role("button", name="Publish once").wait_for()
    print(f"{COLUMNS} columns, {len(plan.marginals)} tables: processor time of the server")
    slider = page.get_by_role("slider").first
    slider.focus()
    turns = iter(range(10**6))
    measured(app, page, "ε moved", lambda: page.keyboard.press("ArrowRight" if next(turns) % 4 < 2 else "ArrowLeft"))
    if pairs:  # they are measured adaptively: once ε rests, the plan is tried out on made-up people
        measured(app, page, "… tried out", lambda: tried_out(page), times=3)
    change = page.locator(".st-key-change-domain button")
    on = page.get_by_role("button", name="Go on to whom it protects")
    measured(app, page, "step opened", lambda: press(change), lambda: press(on))
    press(change)
    values = iter(range(10**6))
    measured(app, page, "cell typed", lambda: type_into_grid(page, 1, 2, f"1..{3 + next(values)}"))
    press(on)
    press(page.locator(".st-key-change-columns button"))
    tick = page.get_by_text("Also each column by itself").first
    measured(app, page, "box ticked", lambda: press(tick))
    page.context.close()


def tried_out(page: Page) -> None:
    page.keyboard.press("ArrowRight")
    under_way = (
        page.locator(".st-key-consequence").get_by_text("is being tried out").first
    )  # a redraw may show it twice
    under_way.wait_for()
    under_way.wait_for(state="detached", timeout=120_000)


def measured(app: Served, page: Page, what: str, *acts: Callable[[], object], times: int = TIMES) -> None:
    """Print the median and the worst processor time of the server for each act."""
    spent = []
    for _ in range(times):
        for act in acts:
            rest(page)
            time.sleep(0.3)
            before = app.processor()
            act()
            time.sleep(0.1)
            rest(page)
            spent.append(app.processor() - before)
    print(f"  {what:12} median {statistics.median(spent):5.2f} s (worst {max(spent):.2f})", flush=True)


def main() -> None:
    only_wide = sys.argv[1:] == ["wide"]
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        served(Path(folder)) as app,
        playwright.chromium.launch(executable_path=chromium(), args=QUIET) as browser,
    ):
        if only_wide:
            for pairs in (0, PAIRS):
                wide(browser, app, Path(folder), pairs=pairs)
            return
        browser.new_page().close()  # so that the first visit waits for the server alone
        (cold, spent), *visits = (first_screen(browser, app) for _ in range(VISITS + 1))
        warm, each = zip(*visits, strict=True)
        print(f"first screen, fresh server        {cold:5.2f} s, of the server's processor {spent:.2f} s")
        print(
            f"first screen, median of {VISITS}         {statistics.median(warm):5.2f} s (worst {max(warm):.2f}), "
            f"of the server's processor {statistics.median(each):.2f} s"
        )
        labs, each = zip(*(to_a_lab(app) for _ in range(VISITS)), strict=True)
        print(
            f"a lab sent, from another page     {statistics.median(labs):5.2f} s (worst {max(labs):.2f}), "
            f"of the server's processor {statistics.median(each):.2f} s",
            flush=True,
        )
        took = moves(browser, app.address)
        print(f"ε moved to all redrawn, median of {MOVES} {statistics.median(took):5.2f} s (worst {max(took):.2f})")
        for pairs in (0, PAIRS):
            wide(browser, app, Path(folder), pairs=pairs)


if __name__ == "__main__":
    main()
