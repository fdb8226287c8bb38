"""Measure how the page copes with large files and many owners at once.

    python benchmarks/load.py           # starts the app by itself; needs playwright and Chromium; Linux
    python benchmarks/load.py owners    # only many owners at once; needs no browser

One owner uploads 1 GB with Chromium: the server's memory may grow by less than 100 MB while it arrives, and moving ε on
that table must redraw within 0.4 s.

Then 20 owners at once, 10 uploading 20 MB each and 10 moving ε: no error, no owner sees another's table, and the median
redraw stays under 0.5 s. They come by a client that draws nothing (`tests/tab.py`), so that the server has the
processors nearly for itself; what the clients take is printed. At last more and more owners move ε, a second after each
redraw, until the median passes 1 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from playwright.async_api import Browser, Page, async_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.serving import QUIET, Served, chromium, served
from tests.tab import Tab

LARGE, SMALL = 1_000_000_000, 20_000_000  # bytes
OWNERS, MOVES, PAUSE = 10, 10, 1.0  # owners of each kind; moves of ε, and seconds between them
MOST, LONG, QUIET_SHARE = 100, 1.0, 0.1  # owners who move ε; seconds of a redraw; processor time of a server at rest
PATIENCE = 300_000  # milliseconds
# The words on the right side, drawn after the chart, are those of the slider's ε.
DRAWN = "ε => document.querySelector('.st-key-consequence')?.innerText.includes(`At ε = ${ε} `)"


def table(path: Path, size: int, name: str) -> Path:
    """A table of people of ``size`` bytes, with a column of its own name."""
    block = "".join(f"{k % 90},{('North', 'South')[k % 2]},{'x' * 60}\n" for k in range(100_000)).encode()
    with path.open("wb") as file:
        file.write(f"age,region,{name}\n".encode())
        while (left := size - file.tell()) > 0:
            file.write(block[: block.rfind(b"\n", 0, left) + 1] if left < len(block) else block)
            if left < 80:  # less than a row
                break
    return path


@contextlib.contextmanager
def peak(app: Served, most: list[float]) -> Iterator[None]:
    """Append to ``most`` the server's peak memory meanwhile, in MB above what it had before."""

    async def look() -> None:
        while True:
            most[-1] = max(most[-1], app.memory() - before)
            await asyncio.sleep(0.05)

    before = app.memory()
    most.append(0.0)
    watch = asyncio.create_task(look())
    try:
        yield
    finally:
        watch.cancel()


@contextlib.asynccontextmanager
async def owner(browser: Browser, address: str) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    await page.goto(address)
    await page.get_by_text("or try a sample").wait_for()
    yield page
    await context.close()


async def upload(page: Page, path: Path) -> None:
    await page.locator("input[type=file]").first.set_input_files(path)
    await page.get_by_text("Columns that matter").wait_for()


async def plan(page: Page) -> None:
    """Fill in the steps from an uploaded table to ε."""
    box = page.get_by_role("combobox", name=re.compile("Columns that matter"))
    for name in ("age", "region"):
        await box.click()
        await box.fill(name)
        await page.get_by_role("option", name=name, exact=True).click()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Go on to what is known").click()
    values = page.get_by_role("textbox", name="Values, one a line")
    await values.fill("North\nSouth")
    await values.press("Control+Enter")
    await page.get_by_role("button", name="Confirm 1 suggestion").click()
    await page.get_by_role("button", name="Go on to whom it protects").click()
    await page.get_by_text("each row is a different person").click()
    await page.get_by_role("button", name="Go on to how private").click()
    await page.get_by_role("button", name="Publish once").wait_for()


async def moves(page: Page, times: int) -> list[float]:
    """Seconds from each move of ε to the right side drawn anew."""
    seconds = []
    await asyncio.sleep(2 * PAUSE)
    for k in range(times):
        slider = page.get_by_role("slider").first
        await slider.focus()
        before = await slider.get_attribute("aria-valuetext")
        start = time.perf_counter()
        await page.keyboard.press("ArrowRight" if k % 4 < 2 else "ArrowLeft")
        epsilon = await slider.get_attribute("aria-valuetext")
        assert epsilon != before, "the key was not heard"
        await page.wait_for_function(DRAWN, arg=epsilon)
        seconds.append(time.perf_counter() - start)
        await asyncio.sleep(PAUSE)
    return seconds


async def one_large(browser: Browser, app: Served, folder: Path) -> None:
    path = table(folder / "large.csv", LARGE, "large")
    memory: list[float] = []
    async with owner(browser, app.address) as page:
        start = time.perf_counter()
        with peak(app, memory):
            async with page.expect_response("**/upload", timeout=PATIENCE) as answered:
                await page.locator("input[type=file]").first.set_input_files(path)
            assert (await answered.value).status == 204
        arrived = time.perf_counter() - start
        with peak(app, memory):
            await page.get_by_text("Columns that matter").wait_for()
        opened = time.perf_counter() - start - arrived
        await plan(page)
        took = await moves(page, MOVES)
    print(f"1 GB: arrived after {arrived:.1f} s, memory +{memory[0]:.0f} MB")
    print(f"1 GB: read and opened in {opened:.1f} s, memory +{memory[1]:.0f} MB", flush=True)
    print(f"1 GB: ε moved to all redrawn, median {statistics.median(took):.2f} s (worst {max(took):.2f})", flush=True)


def many(app: Served, folder: Path) -> None:
    """Print how long 10 owners wait for a redraw while 10 others upload."""
    for k in range(OWNERS):
        table(folder / f"owner{k}.csv", SMALL + 1000 * k, f"secret{k}x")
    with ThreadPoolExecutor(2 * OWNERS) as tabs:
        begin = Barrier(2 * OWNERS + 1)
        bringing = [tabs.submit(brings, k, app.address, folder, begin) for k in range(OWNERS)]
        trying = [tabs.submit(tries, k, app.address, begin) for k in range(OWNERS)]
        spent = at_work(app, begin)
        uploads = [each.result() for each in bringing]
        took = [seconds for each in trying for seconds in each.result()]
    print(
        f"{2 * OWNERS} owners: 20 MB up and open, median {statistics.median(uploads):.1f} s (worst {max(uploads):.1f})"
    )
    print(
        f"{2 * OWNERS} owners: ε moved to all redrawn, median {statistics.median(took):.2f} s (worst {max(took):.2f}); "
        + spent(len(took)),
        flush=True,
    )


def more_and_more(app: Served) -> None:
    """Print how long owners wait for a redraw as there are more of them, until that is more than `LONG`."""
    for owners in range(OWNERS, MOST + 1, OWNERS):
        with ThreadPoolExecutor(owners) as tabs:
            begin = Barrier(owners + 1)
            trying = [tabs.submit(tries, k, app.address, begin) for k in range(owners)]
            spent = at_work(app, begin)
            took = [seconds for each in trying for seconds in each.result()]
            said = spent(len(took))
        median, before = statistics.median(took), app.processor()
        print(f"{owners} owners who move ε: median {median:.2f} s (worst {max(took):.2f}); {said}", flush=True)
        if median > LONG:
            return
        while (now := app.processor()) - before > QUIET_SHARE:  # until the server has cleared up
            before = now
            time.sleep(1.0)


def at_work(app: Served, begin: Barrier) -> Callable[[int], str]:
    """Let the owners begin, and return a function that says what server and clients took of the processors since."""
    begin.wait(PATIENCE / 1000)
    clock, server, clients = time.perf_counter(), app.processor(), time.process_time()

    def said(redraws: int) -> str:
        seconds = time.perf_counter() - clock
        took = app.processor() - server, time.process_time() - clients
        return (
            f"the server used {took[0] / seconds:.2f} of a core, {took[0] / redraws:.3f} s for each redraw, "
            f"the clients {took[1] / seconds:.2f} of a core"
        )

    return said


def brings(k: int, address: str, folder: Path, begin: Barrier) -> float:
    """Return the seconds from the beginning of an upload to the next step."""
    with Tab(address) as tab:
        tab.wait_for("drop zone", tab.zone)
        begin.wait(PATIENCE / 1000)
        start = time.perf_counter()
        tab.drop(folder / f"owner{k}.csv")
        tab.wait_for("columns", lambda: tab.find("multiselect", "Columns that matter"))
        took = time.perf_counter() - start
        if f"secret{k}x".encode() not in tab.content():
            raise SystemExit("an owner does not see what is theirs")
        seen_alone(tab, f"secret{k}x")
        return took


def tries(k: int, address: str, begin: Barrier) -> list[float]:
    """Return the seconds from each move of ε on a sample to the page drawn anew."""
    with Tab(address) as tab:
        tab.click("Use this sample", k % 2)
        slider = tab.wait_for("slider", lambda: tab.find("slider", "Privacy budget"))
        options = list(slider.options)
        place = len(options) // 2
        begin.wait(PATIENCE / 1000)
        tab.rest(PAUSE * (1 + k % OWNERS / OWNERS))
        seconds = []
        for move in range(MOVES):
            place += 1 if move % 4 < 2 else -1
            start = time.perf_counter()
            tab.enter("slider", "Privacy budget", [options[place]])
            tab.wait_for("words", lambda now=options[place]: f"At ε = {now} " in tab.texts())
            seconds.append(time.perf_counter() - start)
            tab.rest(PAUSE)
        seen_alone(tab, "")
        return seconds


def seen_alone(tab: Tab, own: str) -> None:
    """Raise SystemExit if the page holds another owner's table; a tab raises by itself at an exception."""
    shown = set(re.findall(r"secret\d+x|owner\d+", tab.content().decode(errors="replace")))
    if shown - {own, own.replace("secret", "owner").rstrip("x")}:
        raise SystemExit("an owner sees what is another's")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as app:
        if sys.argv[1:] != ["owners"]:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=chromium(), args=QUIET)
                await one_large(browser, app, Path(folder))
                await browser.close()
        many(app, Path(folder))
        more_and_more(app)


if __name__ == "__main__":
    asyncio.run(main())
