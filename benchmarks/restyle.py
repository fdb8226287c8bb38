"""Measure what Chromium spends on styles while it draws the pages, on a phone and on a wide screen.

    python benchmarks/restyle.py            # starts the app by itself; needs playwright and Chromium
    python benchmarks/restyle.py old.css    # also with another version of pages/parts/shared/look.css, in turn

Figures are processor time, since others may use the machine, each × the same page without the style sheet of this
project: that is what Streamlit and Plotly cost by themselves. Limit that the project holds itself to: 2.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Plan
from tests.browser.actions import PATIENCE, follow, load, publish, rest, upload
from tests.serving import QUIET, chromium, served

LOOK = Path(__file__).parent.parent / "pages" / "parts" / "shared" / "look.css"
VIEWS: dict[str, tuple[int, Literal["reduce", "no-preference"]]] = {
    "390 pixels wide": (390, "no-preference"),
    "390 pixels wide, less motion": (390, "reduce"),
    "1400 pixels wide": (1400, "no-preference"),
}
PAGES = ("accuracy", "definition", "attacks", "risk", "survey", "choose", "learn", "verify", "glossary")
COLUMNS = 8
# Replace the style sheet as soon as it is there, before anything is drawn; count the rules that scripts add.
REPLACE = """sheet => {
  window.rulesAdded = 0;
  const add = CSSStyleSheet.prototype.insertRule;
  CSSStyleSheet.prototype.insertRule = function (...given) { window.rulesAdded += 1; return add.apply(this, given); };
  new MutationObserver(() => {
    for (const style of document.querySelectorAll(".stHtml style")) {
      if (!style.textContent.includes("st-key-language-choice") || style.dataset.replaced) continue;
      style.dataset.replaced = "yes";
      style.textContent = sheet;
    }
  }).observe(document, { childList: true, subtree: true });
}"""


@dataclass(slots=True)
class Spent:
    """Processor seconds that went into styles, how often and for how many elements, and rules that scripts added."""

    seconds: float = 0.0
    times: int = 0
    elements: int = 0
    rules: int = 0


def main() -> None:
    sheets = {"without": "", "now": LOOK.read_text(encoding="utf-8")}
    if len(sys.argv) > 1:
        sheets["before"] = Path(sys.argv[1]).read_text(encoding="utf-8")
    expect.set_options(timeout=PATIENCE)
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        served(Path(folder)) as app,
        playwright.chromium.launch(executable_path=chromium(), args=QUIET) as browser,
    ):
        for view, (width, motion) in VIEWS.items():
            context = partial(browser.new_context, viewport={"width": width, "height": 844}, reduced_motion=motion)
            print(f"{view}: processor time for styles", flush=True)
            spent = {name: visited(context, app.address, sheet, Path(folder)) for name, sheet in sheets.items()}
            for place, bare in spent["without"].items():
                now = spent["now"][place]
                line = f"  {place:11} {now.seconds:5.2f} s, × {now.seconds / bare.seconds:4.1f} of that without"
                if "before" in spent:
                    line += f"; before × {spent['before'][place].seconds / now.seconds:4.1f} of that now"
                print(f"{line}; {now.times} times, {now.elements:,} elements, {now.rules} rules added", flush=True)


def visited(new_context: Callable[..., BrowserContext], address: str, sheet: str, folder: Path) -> dict[str, Spent]:
    """Return what each page took of a new visitor, who first plans and publishes; the sheet replaces the app's own."""
    context = new_context(bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(f"({REPLACE})({json.dumps(sheet)})")
    page = context.new_page()
    follow(page)
    names = [f"column {k}" for k in range(COLUMNS)]
    table = folder / "table.csv"
    table.write_text(",".join(names) + "\n" + "".join(f"{','.join(str(k % (2 + j)) for j in range(COLUMNS))}\n"
                                                      for k in range(1000)))  # fmt: skip
    columns = [{"name": name, "kind": "category", "values": [str(k) for k in range(2 + j)]}
               for j, name in enumerate(names)]  # fmt: skip
    plan = Plan(dataset="styles", epsilon=1, columns=columns, tables=[names[k : k + 2] for k in range(COLUMNS - 1)])
    spent: dict[str, Spent] = {}
    with measured(page) as spent["plan"]:
        page.goto(address)
        upload(page, table)
        load(page, plan)
    with measured(page) as spent["release"]:
        publish(page)
    for name in PAGES:
        with measured(page) as spent[name]:
            page.goto(f"{address}/{name}")
    context.close()
    return spent


@contextmanager
def measured(page: Page) -> Iterator[Spent]:
    """Record what the page spends on styles in this block, and until it is drawn."""
    events: list[dict[str, Any]] = []
    ended: list[object] = []
    devtools = page.context.new_cdp_session(page)
    devtools.on("Tracing.dataCollected", lambda chunk: events.extend(chunk["value"]))
    devtools.on("Tracing.tracingComplete", lambda told: ended.append(told))
    config = {"includedCategories": ["devtools.timeline"]}
    devtools.send("Tracing.start", {"traceConfig": config, "transferMode": "ReportEvents"})
    spent = Spent()
    yield spent
    for _ in range(3):  # charts are drawn after the run that brings them
        rest(page)
        page.wait_for_timeout(300)
    devtools.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    updates = [event for event in events if event["name"] == "UpdateLayoutTree"]
    spent.seconds = sum(event.get("tdur", 0) for event in updates) / 1e6
    spent.times = len(updates)
    spent.elements = sum(event.get("args", {}).get("elementCount", 0) for event in updates)
    spent.rules = page.evaluate("window.rulesAdded")
    devtools.detach()


if __name__ == "__main__":
    main()
