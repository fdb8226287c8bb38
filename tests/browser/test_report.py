"""The report of many tables in a browser: folded, with a whole index, charts to take away, and fit for paper."""

from __future__ import annotations

import struct
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from dpengine import Plan, preview
from dpengine.bundle import report
from dpengine.bundle.manifest import describe
from dpengine.bundle.report import MAX_UNFOLDED
from tests.browser.actions import PATIENCE
from tests.plans import category

SQUARE = "POLYGON (({0} 50, {1} 50, {1} 51, {0} 51, {0} 50))"


def many_tables() -> Plan:
    """A plan of 13 tables, the first of which is a map."""
    region = category("region", 4) | {"shapes": {f"region{k}": SQUARE.format(k, k + 1) for k in range(3)}}
    others = [category(name, 2) for name in ("sex", "town", "job")]
    month = {"name": "month", "kind": "date", "from": "2024-01-01", "to": "2024-06-30", "by": "month"}
    names = ("region", "month", "sex", "town", "job")
    tables = [*([name] for name in names), *(list(pair) for pair in combinations(names, 2))][: MAX_UNFOLDED + 1]
    return Plan(dataset="d", title="Many", epsilon=1, columns=[region, month, *others], tables=tables)


@pytest.mark.nightly
@pytest.mark.usefixtures("plotly_in_reports")
def test_many_tables_are_handy_on_a_screen_and_light_on_paper(chromium: Browser, tmp_path: Path) -> None:
    result = preview(many_tables())
    (tmp_path / "report.html").write_bytes(b"".join(report.render(result, describe(result))))
    with chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark") as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        wrong: list[str] = []
        page.on(
            "request", lambda one: None if one.url.startswith(("file:", "blob:", "data:")) else wrong.append(one.url)
        )
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((tmp_path / "report.html").as_uri())

        charts = page.locator(".chart:has(.main-svg)")
        expect(charts).to_have_count(1)
        assert page.locator(".facts dd").first.evaluate("e => e.getBoundingClientRect().top") < 300
        assert page.evaluate("document.documentElement.scrollHeight") < 12_000
        page.get_by_text("All 13 tables").click()
        assert page.locator(".index a").count() == 13
        page.locator(".index a", has_text="month × sex").click()
        expect(charts).to_have_count(2)
        expect(page.get_by_role("button", name="Save the chart of month × sex as PNG")).to_be_in_viewport()
        for kind in ("SVG", "PNG"):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=f"Save the chart of region as {kind}", exact=True).click()
            waiting.value.save_as(tmp_path / kind)
        assert b"<svg" in (tmp_path / "SVG").read_bytes()[:200]
        assert struct.unpack(">I", (tmp_path / "PNG").read_bytes()[16:20]) == (2000,)

        page.emulate_media(media="print", color_scheme="dark")
        expect(charts).to_have_count(13)
        expect(page.locator("details:not([open])")).to_have_count(0)
        assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
        inks = page.locator(".chart .gtitle").evaluate_all("all => [...new Set(all.map(e => e.style.fill))]")
        assert inks == ["rgb(28, 37, 38)"]
        widths = page.locator(".chart .main-svg").evaluate_all("all => all.map(e => e.getBoundingClientRect())")
        assert {round(box["width"]) for box in widths} == {680}
        assert max(box["height"] for box in widths) <= 780
        expect(page.get_by_role("button").filter(visible=True)).to_have_count(0)
        breaks = page.locator(".numbers").evaluate_all("all => all.map(e => getComputedStyle(e).breakInside)")
        assert {"avoid", "auto"} == set(breaks), "a short table is not divided, a long one is"
        texts = page.locator(".pair, .terms").evaluate_all("all => all.map(e => getComputedStyle(e).display)")
        assert set(texts) == {"block"}, "a grid would leave its heading alone on the page before"
        first = page.locator(".on-paper")
        expect(first.locator("tbody tr")).to_have_count(13)
        expect(first.get_by_role("heading", name="mostly noise")).to_be_visible()
        expect(page.locator("nav, #reading .cards").filter(visible=True)).to_have_count(0)
        paper = page.pdf(format="A4")
        assert paper.count(b"/Type /Page\n") >= 13, "each table begins on a page of its own"
        assert b"/S /URI" not in paper, "links lead to places within"
        assert b"/Dest" in paper

        page.emulate_media(media="screen", color_scheme="dark")
        expect(page.locator(".on-paper")).to_be_hidden()
        expect(page.locator(".fold[open]")).to_have_count(2)
        assert page.locator(".chart .gtitle").first.evaluate("e => e.style.fill") == "rgb(232, 238, 238)"
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert wrong == []
