"""Means, sums, quantiles and levels on the page of a release, and what only the owner sees of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine.spec.plan import Plan
from tests.pages.visits import released, settled, texts

SEX = {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False}
PAY = {"name": "pay", "kind": "amount", "label": "Pay", "from": 0, "to": 100, "step": 1, "missing": False}
PAY |= {"knots": [0, 20, 40, 60, 80, 100]}
STATE = SEX | {"name": "state", "values": ["CA", "NY", "TX"]}
COUNTY = SEX | {"name": "county", "values": {"CA": ["Kern", "Napa"], "NY": ["Kings"]}, "levels": ["state", "county"]}
ROWS = pd.DataFrame({
    "sex": ["f", "m"] * 300, "state": ["CA"] * 400 + ["NY"] * 200, "pay": [20, 60] * 300,
    "county": ["Kern"] * 300 + ["Napa"] * 100 + ["Kings"] * 200, "hours": [20, 40, 30] * 200, "who": [*range(300)] * 2,
})  # fmt: skip


def opened(tables: list[Any], *columns: dict[str, Any], **fields: Any) -> AppTest:
    """Open a release of `tables` at an ε that leaves next to no noise."""
    plan = Plan(dataset="d", epsilon=900, columns=list(columns), tables=tables, **fields)
    return released(ROWS, plan)[0]


def test_a_mean_is_shown_first_then_what_is_asked_for_each_with_its_own_numbers() -> None:
    wanted = {"columns": ["state", "sex"], "mean": ["pay"], "sum": ["pay"], "quantiles": {"pay": [0.25, 0.5]}}
    at = opened([wanted], SEX, STATE, PAY)
    assert '"error_x"' in at.get("plotly_chart")[0].proto.spec
    assert "Mean Pay by state and sex" in at.get("plotly_chart")[0].proto.spec
    (of,) = (box for box in at.segmented_control if "Mean Pay" in box.options)
    assert of.options == ["Mean Pay", "Sum of Pay", "Quantiles of Pay", "Count"]
    at.session_state["release-twin"] = True
    for chosen, column in (("mean_pay", "mean_pay"), ("sum_pay", "sum_pay"), ("quantile_pay", "quantile_0.5_pay")):
        of.set_value(chosen).run()
        assert not at.exception
        numbers = at.dataframe[0].value
        assert {"state", "sex", column, f"{column}_low", f"{column}_high", "count"} <= {*numbers}
        assert "estimate" not in numbers
        (of,) = (box for box in at.segmented_control if "Mean Pay" in box.options)
    of.set_value("count").run()
    assert list(at.dataframe[0].value) == ["state", "sex", "count", "estimate", "low", "high", "mostly noise"]


@pytest.mark.nightly
def test_of_a_large_table_the_first_cells_are_sent_to_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened([["state", "sex"]], SEX, STATE)
    at.session_state["release-twin"] = True
    at.run()
    whole = at.dataframe[0].value
    monkeypatch.setattr("pages.parts.release.chart.MAX_SHOWN", 3)
    at.run()
    assert list(at.dataframe[0].value["count"]) == list(whole["count"][:3])
    assert f"The first 3 of {len(whole)} cells; the files of a release hold all." in texts(at)


@pytest.mark.nightly
def test_associations_have_a_chart_and_a_table_of_their_own() -> None:
    hours = {"name": "hours", "kind": "amount", "from": 0, "to": 80, "step": 1, "missing": False}
    pay = {key: value for key, value in PAY.items() if key != "knots"}
    wanted = {
        "columns": ["state", "sex"], "standard_deviation": ["pay"], "slope": [{"of": "pay", "on": "hours"}],
        "correlation": [["pay", "hours"]],
    }  # fmt: skip
    at = opened([wanted], SEX, STATE, pay, hours)
    assert at.get("plotly_chart")[0].proto.alt.startswith("Published standard deviation of Pay by state and sex")
    (of,) = (box for box in at.segmented_control if "Count" in box.options)
    assert of.options == [
        "Standard deviation of Pay", "Correlation of Pay and hours", "Slope of Pay on hours", "Count",
    ]  # fmt: skip
    at.session_state["release-twin"] = True
    of.set_value("slope_pay_hours").run()
    assert {"slope_pay_on_hours", "slope_pay_on_hours_low", "slope_pay_on_hours_high"} < {*at.dataframe[0].value}
    assert "Slope of Pay on hours: **" in texts(at), "of all people together"
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    assert not at.exception
    assert "The true numbers of slope of Pay on hours are not worked out here" in texts(at)


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_the_owner_sees_true_means_and_sums_beside_the_published_ones(kind: str) -> None:
    at = opened([{"columns": ["state", "sex"], kind: ["pay"]}], SEX, STATE, PAY)
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    assert not at.exception
    frame = next(each.value for each in at.dataframe if "true (private)" in each.value and f"{kind}_pay" in each.value)
    true = frame["true (private)"].tolist()
    assert true[:4] == ([20, 60, 20, 60] if kind == "mean" else [4000, 12000, 2000, 6000])
    known = frame[frame["true (private)"].notna()]
    assert (known["off by"] == known[f"{kind}_pay"] - known["true (private)"]).all()
    assert "Published against true" in at.get("plotly_chart")[-1].proto.spec
    assert ("Mean Pay: **40" if kind == "mean" else "Sum of Pay: **24,000") in texts(at), "of all people together"
    assert at.metric[2].value.endswith(" of 4" if kind == "mean" else " of 6")


@pytest.mark.nightly
def test_levels_are_an_indented_table_areas_or_bars_and_named_in_words() -> None:
    at = opened([["county"], ["county@state"], ["county@state", "sex"]], SEX, COUNTY)
    assert at.selectbox(key="release-table").options == ["county in state", "state", "state × sex"]
    html = at.get("html")[0].proto.body
    assert "county in state" in html
    assert html.index("CA") < html.index("Kern") < html.index("Napa") < html.index("NY") < html.index("Kings")
    assert "<details open><summary><span>CA</span> <span>400</span>" in html
    (way,) = (box for box in at.segmented_control if "Levels" in box.options)
    assert way.options[:3] == ["Levels", "Areas", "Bars"]
    way.set_value("Areas").run()
    assert '"treemap"' in at.get("plotly_chart")[0].proto.spec
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    assert not at.exception
    assert {"county in state", "state", "state × sex"} < {*at.dataframe[0].value["table"]}


@pytest.mark.nightly
def test_a_column_in_which_no_row_holds_a_number_can_be_compared_too() -> None:
    nothing = {"name": "county", "kind": "amount", "from": 0, "to": 100, "step": 1}
    at = opened([{"columns": ["sex"], "mean": ["county"]}], SEX, nothing)
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    assert not at.exception
    assert next(metric.value for metric in at.metric if metric.label == "Off by, at most") == "–"
