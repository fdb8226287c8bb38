"""Plans, predictions and releases in notebooks: escaped, without scripts, in the colours of the page."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dpengine as dpe
from dpengine.notebook.intervals import Interval, axis_ticks, chart
from tests.plans import PAIRS, PAY, survey

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}'
ALLOWED = {
    "b", "br", "circle", "code", "details", "div", "figure", "g", "line", "p", "summary", "svg", "table", "tbody",
    "td", "text", "th", "thead", "title", "tr",
}  # fmt: skip
ALONE = {"br", "line", "circle"}


class Page(HTMLParser):
    """The elements and the texts of a fragment, which must be well-formed."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(fragment)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ALONE:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def shown(thing: Any) -> Page:
    return Page(thing._repr_html_())


def hostile() -> dpe.Plan:
    column = dpe.Category(name=HOSTILE, values=[HOSTILE, "b"])
    return dpe.Plan(dataset=HOSTILE, title=HOSTILE, epsilon=1, columns=[column], tables=[[HOSTILE]])


@pytest.mark.parametrize("plan", [survey(), dpe.Plan.loads(PAY), dpe.Plan.loads(PAIRS), hostile()], ids=lambda _: "")
def test_no_text_becomes_markup_and_nothing_is_loaded_or_run(plan: dpe.Plan) -> None:
    for thing in (plan, dpe.predict(plan), dpe.predict(plan, ["0.1", 1]), dpe.preview(plan)):
        page = shown(thing)
        assert {tag for tag, _ in page.elements} <= ALLOWED
        names = {name for _, attributes in page.elements for name in attributes}
        assert not [name for name in names if name.startswith("on") or name in ("href", "src", "class", "id")]
    assert "49" not in shown(hostile()).text


def test_a_plan_says_its_price_whom_it_protects_and_its_tables() -> None:
    text = shown(survey(unit={"id": "who", "rows": 3})).text
    assert "Publishing costs ε = 0.5 of the budget of clinic" in text
    assert "named by the column who, with at most 3 rows" in text
    assert "age × region 320" in text.replace(" 1,", ""), text
    assert shown(survey(language="de")).text.startswith("Survey Die Veröffentlichung kostet ε = 0,5")


def test_a_prediction_is_a_frame_that_shows_its_errors_and_its_price() -> None:
    prediction = dpe.predict(survey())
    page = shown(prediction)
    assert "Publishing costs ε = 0.5 of the budget of clinic · errors exact" in page.text
    assert len([tag for tag, _ in page.elements if tag == "circle"]) == len(prediction)
    assert "simulated" in shown(dpe.predict(survey(strategy="adaptive"))).text
    assert "ε = 0.1 · total" in shown(dpe.predict(survey(), ["0.1", 1])).text
    assert type(prediction[prediction["cells"] > 1]) is pd.DataFrame
    prediction["cells_"] = prediction.pop("cells")
    assert "cells_" in prediction._repr_html_()  # type: ignore[operator]


def test_a_release_shows_each_count_with_its_interval_and_the_price() -> None:
    plan = dpe.Plan(dataset="d", epsilon=1000, columns=[dpe.YesNo(name="smokes")], tables=[["smokes"]])
    release = dpe.release(pd.DataFrame({"smokes": ["yes"] * 1200}), plan)
    assert repr(release) == "<Release of 'd': 1 table, ε = 1000>"
    with dpe.open_table(pa.table({f"c{place}": [1] for place in range(11)})) as table:
        assert repr(table) == "<LocalTable: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, …>"
        question = dpe.Question(dataset="d", epsilon=10, statistic=dpe.Count())
        assert re.fullmatch(r"<number of rows: \d+ \[\d+, \d+\], ε = 10>", repr(dpe.ask(table, question)))
    page = shown(release)
    assert page.text.startswith("Release: d ε = 1,000 ·") or page.text.startswith("Release: d ε = 1000 ·")
    assert "yes 1,200 1,200 1,200 1,200" in page.text
    assert "in all: 1,200 (95 %: 1,200 to 1,200)" in page.text
    assert shown(dpe.preview(plan)).text.startswith("Preview on a made-up table: d")


def test_a_mean_has_its_interval_beside_it() -> None:
    result = dpe.preview(dpe.Plan.loads(PAY))
    text = shown(result).text
    first = result.tables["state", "sex"].iloc[0]
    assert "mean_pay_low" not in text
    assert re.search(rf"{first['mean_pay']:.4g} \({first['mean_pay_low']:.4g} to {first['mean_pay_high']:.4g}\)", text)


def test_long_tables_are_cut_and_say_so() -> None:
    assert "and 300 more rows: .tables['age', 'region']" in shown(dpe.preview(survey())).text


def test_places_in_a_chart_are_in_the_order_of_the_numbers() -> None:
    drawn = chart([Interval("a", 5, -10, 20), Interval("b" * 99, 10, 9, 1000, faint=True)], title="t", axis="a")
    first, second = drawn["intervals"]
    assert drawn["left"] <= first["low"] < first["middle"] < second["low"] < second["middle"] < second["high"] <= 680
    assert [text for _, text in drawn["ticks"]] == [f"{tick:,}".replace("-", "−") for tick in axis_ticks(-10, 1000)]
    assert (second["label"], second["whole"]) == ("b" * 29 + "…", "b" * 99)
    assert chart([Interval("a", 0, 0, 0)], title="t", axis="a")["ticks"]


def test_an_error_is_shown_in_a_line_for_each_fault() -> None:
    with pytest.raises(dpe.PlanError) as caught:
        dpe.Plan(dataset="d", epsilon=-1, columns=[], tables=[["a"]])
    (text,) = caught.value._render_traceback_()
    assert text.startswith("PlanError: ")
    assert len(text.splitlines()) == len(caught.value.faults)


@pytest.mark.nightly
def test_in_jupyter_arrow_comes_without_pandas_and_publishing_prints_nothing() -> None:
    """DuckDB recognises Jupyter by IPython's configuration, and then refuses progress bars without ipywidgets."""
    script = (
        "import sys, types\n"
        "sys.modules['IPython'] = types.ModuleType('IPython')\n"
        "sys.modules['IPython'].get_ipython = lambda: types.SimpleNamespace(config={'IPKernelApp': {}})\n"
        "sys.modules['ipywidgets'] = None\n"
        "import pyarrow as pa, dpengine as dpe\n"
        "plan = dpe.Plan(dataset='d', epsilon=1000, columns=[dpe.YesNo(name='a')], tables=[['a']])\n"
        "made = dpe.preview(plan)\n"
        "assert pa.RecordBatchReader.from_stream(made).read_all().num_rows == made.arrow['a',].num_rows + 1\n"
        "assert made._repr_html_() and 'pandas' not in sys.modules\n"
        "for name in dpe.__all__: getattr(dpe, name)\n"
        "table = pa.table({'a': ['yes']})\n"
        "assert dpe.release(table, plan).arrow['a',]['count'].to_pylist() == [1, 0, 0, 0]"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
