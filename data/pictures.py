"""Make the pictures of the documents from the pages as they are: `python data/pictures.py`, with the tests' needs."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests import serving
from tests.browser.actions import PATIENCE, follow, rest
from tests.serving import QUIET, served

DATA = Path(__file__).parent
PICTURES = DATA.parent / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 800
GALLERY = ("accuracy", "ask", "budget", "definition", "attacks", "risk", "survey", "choose", "learn", "glossary")
COLOURS = 64  # of a picture: enough for these pages, in a third of the bytes
SETTLE = 1500  # milliseconds in which charts are drawn


def main() -> None:
    """Open the census sample, look at all pages, and keep what is seen."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=serving.chromium(), args=QUIET)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        page.set_default_timeout(PATIENCE)
        follow(page)
        page.goto(app.address)
        rest(page)
        page.locator(".st-key-sample_census button").click()
        page.get_by_role("button", name="Publish once").wait_for()
        page.locator(".st-key-page-title").scroll_into_view_if_needed()
        keep(page, DATA / "screenshot.png", width=WIDTH)
        for name in GALLERY:
            link = page.get_by_role("link", name=name.capitalize(), exact=True)
            if link.is_visible():
                link.click()
            else:
                page.goto(f"{app.address}/{name}")
            page.get_by_role("heading", name=name.capitalize(), level=1, exact=True).wait_for()
            keep(page, PICTURES / f"{name}.png", width=WIDTH)
        browser.close()


def keep(page: Page, path: Path, *, width: int) -> None:
    """Write what the page shows to `path`, as a picture of this width."""
    rest(page)
    page.wait_for_timeout(SETTLE)
    rest(page)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture = picture.resize((width, picture.height * width // picture.width), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
