"""The security headers in a browser: they break nothing, and keep other pages from showing this one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import dpengine as dpe
from tests.browser.actions import PATIENCE, rest
from tests.browser.conftest import NewPage
from tests.serving import Served

PAGES = ["", "accuracy", "choose"]  # with a drop zone, figures and tables, a table to edit; all tests watch the policy
# The scripts that a browser learned of by another script: those that the page names were asked for before.
FOUND_LATE = """() => performance.getEntriesByType('resource').filter(each => each.name.includes('/static/js/')
    && !document.head.querySelector(`[href$='${each.name.split('/').pop()}'], [src$='${each.name.split('/').pop()}']`))
    .map(each => each.name)"""


def drawn(page: Page) -> None:
    """Wait until the page has come to rest."""
    rest(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def test_pages_are_drawn_whole_without_a_word_on_the_console(new_page: NewPage, app: Served) -> None:
    page, words = new_page(), []
    page.on("console", lambda message: words.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: words.append(str(error)))
    for name in PAGES:
        page.goto(f"{app.address}/{name}")
        drawn(page)
        if not name:
            assert page.evaluate(FOUND_LATE) == [], "the head of the page names what its first screen needs"
        assert page.locator("head > [href*='/BidiComponent.'][rel=modulepreload]").count() == 1, "at any address"
    page.emulate_media(color_scheme="dark")
    drawn(page)
    assert words == []


@pytest.fixture
def attacker(app: Served, tmp_path: Path) -> Iterator[str]:
    """Another site, whose page shows ours in a frame."""
    (tmp_path / "index.html").write_text(f"<iframe src='{app.address}/'></iframe>")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}/"
        site.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_another_page_cannot_show_this_one_in_a_frame(chromium: Browser, attacker: str) -> None:
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(attacker)
    (inside,) = page.main_frame.child_frames
    inside.wait_for_url(lambda url: url.startswith("chrome-error:"), wait_until="commit")
    page.close()


@pytest.mark.nightly
def test_texts_from_people_are_neither_links_nor_icons(new_page: NewPage, app: Served, tmp_path: Path) -> None:
    text = "www.evil.example me@evil.example http://evil.example :material/delete: :smile: [a](http://evil.example)"
    plan = dpe.Plan(
        title=text,
        dataset=f"a {text}",
        epsilon=1,
        columns=[{"name": text, "kind": "category", "values": [f"North {text}", "South"]}],
        tables=[[text]],
    )
    table = tmp_path / "table.csv"
    table.write_text(f'"{text}"\n"North {text}"\nSouth\n', encoding="utf-8")
    ledger = dpe.Ledger(f"sqlite:///{app.files.parent / 'ledger.db'}")
    with dpe.open_table(table) as opened:
        release = dpe.release(opened, plan, ledger)
    page = new_page(f"/?release={release.release_id}")
    expect(page.get_by_role("heading", name="www")).to_be_visible()
    links(page)
    page.goto(f"{app.address}/budget?dataset=x")
    drawn(page)
    links(page)


def links(page: Page) -> None:
    drawn(page)
    expect(page.get_by_text("evil").first).to_be_attached()
    assert page.locator("a[href*='evil'], [data-testid='stIconMaterial']:text-is('delete')").count() == 0
    assert "😄" not in page.inner_text("body")
