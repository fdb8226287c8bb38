"""Accessibility of a page: no serious violation that axe finds, numbers in the alternative text of each chart, no text
cut off at twice the size, and no motion for those who ask for less."""

from __future__ import annotations

import os
from collections.abc import Sequence

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.actions import DRAWN, STILL, rest

# Width, and whether in the other theme. The nightly run looks at each page in all four ways, the usual run in one;
# PRIVATE_RELEASE_LOOKS sets another number.
USUAL = "4" if os.environ.get("PRIVATE_RELEASE_NIGHTLY") else "1"
LOOKS = [(1280, False), (390, True), (1280, True), (390, False)][: int(os.environ.get("PRIVATE_RELEASE_LOOKS", USUAL))]
TWICE = 640  # what a window of 1280 shows at 200 %
SETTLE = 400  # milliseconds
GRAVE = ("serious", "critical")

# Drawings hold no controls, and have an alternative text. Of many rows, the first few are enough.
RUN = r"""() => axe.run({ exclude: [["svg.main-svg"], ["tbody tr:nth-child(n+4)"]] }, { resultTypes: ["violations"] })
  .then(found => found.violations.map(each => [each.impact, each.id, each.nodes.map(node => node.html).join("\n")]))"""

SILENT = r"""() => [...document.querySelectorAll(".stPlotlyChart, figure:has(.js-plotly-plot)")]
  .filter(chart => chart.checkVisibility() && !/\d/.test(chart.ariaLabel)).map(chart => chart.ariaLabel ?? "no text")"""

# Texts that reach beyond their box, where no scrolling brings them into sight.
CUT = """() => {
  const cut = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const kept = "svg, script, style, [aria-hidden=true], [data-testid=stIconMaterial], [hidden]";
  for (let text; (text = texts.nextNode()); ) {
    const own = text.parentElement, range = document.createRange();
    if (!text.data.trim() || own.closest(kept) || !own.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(text);
    const { left, right } = range.getBoundingClientRect();
    if (right - left < 2) continue;
    for (let box = own; ; box = box.parentElement) {
      if (box === document.body) { if (right > innerWidth + 1) cut.push(text.data); break; }
      const style = getComputedStyle(box), frame = box.getBoundingClientRect();
      if (frame.width < 2 || (/auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth)) break;
      if (style.overflowX !== "visible" && (left < frame.left - 1 || right > frame.right + 1)) {
        cut.push(text.data); break;
      }
    }
  }
  return cut; }"""

MOVING = """() => [...document.querySelectorAll("*")].filter(each => {
  const style = getComputedStyle(each);
  return style.scrollBehavior !== "auto" || [style.transitionDuration, style.animationDuration].some(all =>
    all.split(",").some(one => parseFloat(one) > 0.01)); }).map(each => each.outerHTML.slice(0, 150))"""


def check_by_night(page: Page) -> None:
    """Check a further state of a page, in the nightly run only."""
    if os.environ.get("PRIVATE_RELEASE_NIGHTLY"):
        check(page)


def check(page: Page, looks: Sequence[tuple[int, bool]] = LOOKS) -> None:
    """Assert that `page` is accessible as it stands. This may change its theme, but not its width."""
    size = page.viewport_size
    violations: dict[tuple[object, ...], str] = {}
    dark = bool(page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"))
    for width, other in looks:
        _look(page, width, dark=dark != other)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        violations |= {(width, *each[1:]): each[0] for each in _grave(page)}
    page.set_viewport_size({"width": TWICE, "height": 400})
    page.evaluate(DRAWN)
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    faults = [violations, *(page.evaluate(each) for each in (SILENT, CUT, MOVING)), wide]
    if size is not None:
        page.set_viewport_size(size)
    assert faults == [{}, [], [], [], False], faults


def _grave(page: Page) -> list[list[str]]:
    """Return what axe finds serious or critical, and still finds once colours of the other theme have settled."""
    for _ in range(4):
        if not (grave := [each for each in page.evaluate(RUN) if each[0] in GRAVE]):
            break
        page.wait_for_timeout(SETTLE)
    return grave


def _look(page: Page, width: int, *, dark: bool) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.evaluate(DRAWN)
    if page.locator(STILL).count():  # a page of the app, which draws itself anew for another theme
        rest(page)
