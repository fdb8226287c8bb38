"""How the page copes with large files and many owners at once, in a real Chromium.

    python benchmarks/load.py           # starts the app by itself; needs playwright and Chromium; Linux

One owner uploads 1 GB: the server's memory may grow by less than 100 MB while it arrives, and moving ε on that table
must redraw within 0.4 s. Then 20 owners at once, 10 uploading 20 MB each and 10 moving ε: no error, no owner sees
another's table, and the median redraw stays under 1 s. Browser and server share the same cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.serving import QUIET, Served, chromium, served

LARGE, SMALL = 1_000_000_000, 20_000_000  # bytes
OWNERS, MOVES, PAUSE = 10, 10, 1.0  # owners of each kind; moves of ε, and seconds between them
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


async def many(browser: Browser, app: Served, folder: Path) -> None:
    async def brings(k: int, page: Page) -> float:
        start = time.perf_counter()
        await upload(page, folder / f"owner{k}.csv")
        took = time.perf_counter() - start
        await page.get_by_role("combobox", name=re.compile("Columns that matter")).click()
        await page.get_by_role("option", name=f"secret{k}x", exact=True).wait_for()
        await seen_alone(page, f"secret{k}x")
        return took

    async def tries(k: int, page: Page) -> list[float]:
        await page.locator(f".st-key-sample_{('census', 'rand')[k % 2]} button").click()
        await page.get_by_role("button", name="Publish once").wait_for()
        took = await moves(page, MOVES)
        await seen_alone(page, "")
        return took

    for k in range(OWNERS):
        table(folder / f"owner{k}.csv", SMALL + 1000 * k, f"secret{k}x")
    async with contextlib.AsyncExitStack() as open_pages:  # one browser starts them one after the other
        pages = [await open_pages.enter_async_context(owner(browser, app.address)) for _ in range(2 * OWNERS)]
        start, busy = time.perf_counter(), app.processor()
        uploads, redraws = await asyncio.gather(
            asyncio.gather(*map(brings, range(OWNERS), pages[:OWNERS])),
            asyncio.gather(*map(tries, range(OWNERS), pages[OWNERS:])),
        )
        share = (app.processor() - busy) / ((time.perf_counter() - start) * (os.cpu_count() or 1))
    took = [seconds for one in redraws for seconds in one]
    print(
        f"{2 * OWNERS} owners: 20 MB up and open, median {statistics.median(uploads):.1f} s (worst {max(uploads):.1f})"
    )
    print(
        f"{2 * OWNERS} owners: ε moved to all redrawn, median {statistics.median(took):.2f} s (worst {max(took):.2f}); "
        f"the server had {share:.0%} of the processors, the browsers all that was left"
    )


async def seen_alone(page: Page, own: str) -> None:
    """Raise SystemExit if the page shows an error or another owner's table."""
    shown = await page.inner_text("body")
    if "Error" in shown or await page.locator(".stException").count():
        raise SystemExit(f"an error is shown: {shown}")
    if set(re.findall(r"secret\d+x|owner\d+", shown)) - {own, own.replace("secret", "owner").rstrip("x")}:
        raise SystemExit("an owner sees what is another's")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as app:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=QUIET)
            await one_large(browser, app, Path(folder))
            await many(browser, app, Path(folder))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
