"""Figures of means, sums, quantiles and levels: what is drawn is what is published, with its interval and its noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpengine import Plan, preview
from dpengine.charts import error_curve, figures, spans
from dpengine.charts.cells import ALL, CellsOfTable
from dpengine.charts.forms import forms
from dpengine.charts.level_rows import level_rows
from dpengine.charts.levels import Node, level_tree
from dpengine.measure.strategy import decide
from dpengine.results.predict import measure_half_widths
from dpengine.results.published_columns import Measure, header, measures
from dpengine.results.result import Result
from dpengine.spec.wording import heading_of

PAY = {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 10, "knots": [0, 200, 400, 700, 1000]}
SQUARE = "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"
REGION = {"name": "region", "kind": "category", "values": ["North", "South", "<b>"], "shapes": {"North": SQUARE}}
COUNTY = {"name": "county", "kind": "category", "values": {"CA": ["Kern", "Napa"], "TX": ["Hays"]},
          "levels": ["state", "county"]}  # fmt: skip
YEAR = {"name": "year", "kind": "number", "edges": [2018, 2019, 2020, 2021, 2022]}
TABLE = ("region", "sex")
WANTED = {"mean": ["pay"], "sum": ["pay"], "quantiles": {"pay": ["0.25", "0.5"]}}


@pytest.fixture(scope="module")
def result() -> Result:
    columns = [REGION, {"name": "sex", "kind": "yesno"}, YEAR, PAY]
    tables: list[Any] = [{"columns": list(TABLE), **WANTED}, {"columns": ["year"], "mean": ["pay"]}, ["year", "sex"]]
    return preview(Plan(dataset="d", epsilon=2, rows_about=2000, columns=columns, tables=tables))


@pytest.fixture(scope="module")
def levels() -> Result:
    tables = [["county"], ["county@state"], ["county", "sex"]]
    columns = [COUNTY, {"name": "sex", "kind": "yesno", "other": False}]
    return preview(Plan(dataset="d", epsilon=3, rows_about=900, columns=columns, tables=tables))


@pytest.fixture(scope="module")
def pairs() -> Result:
    """A release of all numbers of two amounts, in groups large enough for some and too small for others."""
    hours = {"name": "hours", "kind": "amount", "from": 0, "to": 80, "step": 1}
    pay = {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 10}
    both = [["pay", "hours"]]
    wanted = {"covariance": both, "correlation": both, "slope": [{"of": "pay", "on": "hours"}]}
    columns = [REGION, {"name": "sex", "kind": "yesno"}, hours, pay]
    return preview(Plan(dataset="d", epsilon=3, rows_about=20_000, columns=columns, tables=[
        {"columns": ["region", "sex"], "mean": ["pay"], **wanted}]))  # fmt: skip


@pytest.mark.parametrize(("highest", "ticks"), [(1_000, 8), (200_000, 5)])
def test_numbers_below_a_chart_fit_on_a_phone(highest: int, ticks: int) -> None:
    columns = [
        {"name": "sex", "kind": "yesno"},
        {"name": "pay", "kind": "amount", "from": 0, "to": highest, "step": 10},
    ]
    plan = Plan(dataset="d", epsilon=2, columns=columns, tables=[{"columns": ["sex"], "mean": ["pay"]}])
    figure = figures.release_figure(preview(plan), ("sex",), measure=measures(plan, ("sex",))[0])
    assert figure.layout.xaxis.nticks == ticks


@pytest.mark.parametrize("high", [*range(100_000, 1_000_000, 30_000)])
@pytest.mark.parametrize("across", [2, 3])
def test_a_small_chart_has_at_least_two_numbers_beside_0(high: int, across: int) -> None:
    """A chart of wages up to 690,000 had one number, 500,000, and hid the 0."""
    ticks = spans._ticks(0, high, across)
    step = spans.round_step(high / ticks["nticks"]) if "nticks" in ticks else ticks["tickvals"][1]
    assert 2 <= high // step <= 4
    assert "tickvals" not in ticks or ticks["tickvals"] == [step * k for k in range(high // int(step) + 1)]


def test_sums_of_millions_are_written_short_below_small_charts() -> None:
    columns = [{"name": name, "kind": "yesno"} for name in "ab"]
    pay = {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 10}
    tables = [{"columns": ["a", "b"], "sum": ["pay"]}]
    plan = Plan(dataset="d", epsilon=8, rows_about=40_000, columns=[*columns, pay], tables=tables)
    figure = figures.release_figure(preview(plan), ("a", "b"), measure=measures(plan, ("a", "b"))[0])
    axis = figure.layout.xaxis
    assert axis.ticktext[0] == "0"
    assert [float(text.removesuffix(" M")) * 1e6 for text in axis.ticktext[1:]] == list(axis.tickvals[1:])
    assert 2 <= len(axis.tickvals) <= 5


@pytest.mark.parametrize("place", range(1, 4), ids=["covariance", "correlation", "slope"])
def test_pairs_of_amounts_are_dots_with_their_intervals_and_a_line_at_0(pairs: Result, place: int) -> None:
    measure = measures(pairs.plan, TABLE)[place]
    figure, frame, (name,) = figures.release_figure(pairs, TABLE, measure=measure), pairs.tables[TABLE], measure.names
    drawn = [trace for trace in figure.data if trace.x[0] is not None]
    dots = sorted(
        (x, x - down, x + up)
        for trace in drawn
        for x, up, down in zip(trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True)
    )
    assert np.allclose(dots, sorted(frame[[name, f"{name}_low", f"{name}_high"]].to_numpy().tolist()))
    hollow = sum(len(trace.x) for trace in drawn if str(trace.marker.symbol).endswith("-open"))
    assert hollow == ((frame[f"{name}_low"] <= 0) & (frame[f"{name}_high"] >= 0)).sum() > 0
    low, high = figure.layout.xaxis.range
    assert low < 0 < high
    cells = CellsOfTable(pairs, TABLE, TABLE, {}, measure)
    cells.noisy, cells.low, cells.high = (np.full(cells.low.shape, each) for each in (True, -1.0, 2.0))
    cells.low[0, 0], cells.high[0, 0] = -1000.0, 1000.0
    assert np.allclose(cells.axis_range, (-1.12, 2.12)), "one of which nothing is known does not hide the others"
    assert figure.layout.xaxis.zeroline
    assert forms(pairs.plan, ("region",), measure) == ("dots", "ranked"), "no map, which would hide the intervals"
    heading = measure.heading(pairs.plan)
    assert figures.alt_text(pairs, TABLE, measure).startswith(f"Published {heading} by region and sex: ")
    numbers = error_curve.error_curve_numbers(pairs.plan, measure, epsilons=[0.5])
    assert numbers["region × sex"][numbers["ε"].index(3)] == measure_half_widths(decide(pairs.plan), TABLE)[name]
    assert [each for each in header(pairs.plan, TABLE) if each == name] == [name]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("place", range(3), ids=["mean", "sum", "quantiles"])
def test_each_group_has_its_number_its_interval_and_its_mark(result: Result, place: int, dark: bool) -> None:
    measure = measures(result.plan, TABLE)[place]
    figure = figures.release_figure(result, TABLE, measure=measure, dark=dark)
    frame = result.tables[TABLE]
    drawn = [trace for trace in figure.data if trace.x[0] is not None]
    assert {trace.type for trace in drawn} == {"bar" if measure.kind == "sum" else "scatter"}
    numbers = sorted(
        (x, x - down, x + up)
        for trace in drawn
        for x, up, down in zip(trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True)
    )
    published = sorted(
        row for name in measure.names for row in frame[[name, f"{name}_low", f"{name}_high"]].to_numpy().tolist()
    )
    assert np.allclose(numbers, published)
    noisy = sum(int(span.noisy.sum()) for span in result.interval_estimates(TABLE, measure))
    hatched = measure.kind == "sum"
    hollow = [
        trace
        for trace in drawn
        if (trace.marker.pattern.shape == "/" if hatched else str(trace.marker.symbol).endswith("-open"))
    ]
    assert sum(len(trace.x) for trace in hollow) == noisy > 0
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert any("mostly noise" in name for name in names)
    if measure.kind == "quantile":
        symbols = {str(trace.marker.symbol).removesuffix("-open") for trace in drawn}
        assert len(symbols) == 2, "quantiles differ by more than colour"
        assert {"lower quartile", "median"} <= {*names}
        for name, part in zip(measure.names, measure.part_names(), strict=True):
            values = sorted(x for trace in drawn if trace.name == part for x in trace.x)
            assert np.allclose(values, sorted(frame[name])), "the legend names the numbers"


def test_mostly_noise_means_an_interval_over_half_of_the_range_or_one_that_reaches_0(result: Result) -> None:
    mean, total, _quantiles = measures(result.plan, TABLE)
    (span,) = result.interval_estimates(TABLE, mean)
    assert (span.noisy == (span.high - span.low > 500)).all()
    (span,) = result.interval_estimates(TABLE, total)
    assert (span.noisy == ((span.low <= 0) & (span.high >= 0))).all()


def test_an_axis_of_means_holds_all_intervals_that_are_more_than_noise(result: Result) -> None:
    measure = measures(result.plan, TABLE)[0]
    low, high = figures.release_figure(result, TABLE, measure=measure).layout.xaxis.range
    (span,) = result.interval_estimates(TABLE, measure)
    assert low < span.low[~span.noisy].min() < span.high[~span.noisy].max() < high
    assert high - low < 1.2 * (span.high[~span.noisy].max() - span.low[~span.noisy].min())


def test_a_table_of_fewer_columns_has_the_means_of_all_the_others_together(result: Result) -> None:
    measure = measures(result.plan, TABLE)[0]
    summed = figures.release_figure(result, TABLE, measure=measure, fixed={"sex": ALL}, form="dots")
    drawn = {
        label: x for trace in summed.data if trace.x[0] is not None for label, x in zip(trace.y, trace.x, strict=True)
    }
    assert drawn["&lt;b&gt;"] == result.interval_estimates(("region",), measure)[0].value[2]
    assert summed.layout.title.text == "Mean pay by region"


def test_means_over_time_are_a_line_and_of_regions_a_map(result: Result) -> None:
    mean, total, quantiles = measures(result.plan, TABLE)
    assert forms(result.plan, ("year",), mean) == ("lines", "dots")
    assert forms(result.plan, ("region",), mean) == ("map", "dots", "ranked")
    assert forms(result.plan, ("region",), total)[0] == "map"
    assert forms(result.plan, ("region",), quantiles) == ("dots",)
    line = figures.release_figure(result, ("year",), measure=mean)
    assert line.layout.yaxis.range[0] != 0
    mapped = figures.release_figure(result, TABLE, measure=mean, form="map", fixed={"sex": "yes"})
    north = next(trace for trace in mapped.data if trace.hoveron == "fills")
    assert f"mean pay: {result.tables[TABLE]['mean_pay'][0]:,.0f}" in north.text


def test_descriptions_say_the_least_and_the_most_and_no_markup_comes_in(result: Result) -> None:
    measure = measures(result.plan, ("year",))[0]
    (span,) = result.interval_estimates(("year",), measure)
    known = span.value[~span.noisy]
    text = figures.alt_text(result, ("year",), measure, made_up=True)
    assert text.startswith("Made-up mean pay by year: ")
    assert f"{known.min():,.{span.digits}f} (" in text
    assert f"to {known.max():,.{span.digits}f} (" in text
    half_width = np.median((span.high - span.low)[~span.noisy]) / 2
    assert f"a typical interval is ±{half_width:,.{span.digits}f}." in text
    figure = figures.release_figure(result, TABLE, measure=measures(result.plan, TABLE)[0])
    assert "<b>" not in {label for trace in figure.data if trace.y[0] is not None for label in trace.y}


def test_the_curve_of_a_mean_is_in_its_unit_and_that_of_the_plan(result: Result) -> None:
    plan, measure = result.plan, Measure("mean", "pay")
    numbers = error_curve.error_curve_numbers(plan, measure, epsilons=[0.5])
    assert set(numbers) == {"ε", "region × sex", "year", "total"}
    here = numbers["ε"].index(2)
    assert numbers["year"][here] == measure_half_widths(decide(plan), ("year",))["mean_pay"]
    figure = error_curve.curve_drawing(plan, numbers=numbers, measure=measure).figure()
    assert "Error of mean pay" in figure.layout.title.text.replace("<br>", " ")
    assert list(figure.data[0].customdata) == numbers["region × sex"]
    assert "mean pay: 95 in 100 are within" in error_curve.error_curve_alt(plan, numbers, measure)


def test_names_of_measures_are_those_of_the_published_columns(result: Result) -> None:
    named = [name for measure in measures(result.plan, TABLE) for name in measure.names]
    assert [name for name in header(result.plan, TABLE) if name in named] == named
    assert measures(result.plan, TABLE)[2].headings(result.plan) == ["lower quartile of pay", "median of pay"]


def test_a_tree_of_levels_adds_up_and_holds_the_published_numbers(levels: Result) -> None:
    tree = level_tree(levels, ("county",), "county", {})
    state, county = levels.tables[("county@state",)], levels.tables[("county",)]
    assert [(node.label, node.count, node.low, node.high) for node in tree] == list(
        zip(*(state[name] for name in ("county@state", "count", "low", "high")), strict=True)
    )
    assert [part.label for node in tree for part in node.parts] == ["Kern", "Napa", "Hays"]
    assert all(sum(part.count for part in node.parts) == node.count for node in tree if node.parts)
    assert county["count"].sum() == sum(node.count for node in tree)
    women = level_tree(levels, ("county", "sex"), "county", {"sex": "yes"})
    assert sum(node.count for node in women) < sum(node.count for node in tree)


def test_areas_are_within_the_group_that_holds_them(levels: Result) -> None:
    assert forms(levels.plan, ("county",))[0] == "treemap"
    (areas,) = figures.release_figure(levels, ("county",)).data
    within = dict(zip(areas.ids, areas.parents, strict=True))
    named = dict(zip(areas.labels, areas.ids, strict=True))
    assert within[named["Napa"]] == named["CA"]
    assert within[named["CA"]] == ""
    tree = level_tree(levels, ("county",), "county", {})
    assert sorted(areas.values) == sorted(node.count for group in tree for node in group.all())


def test_rows_of_levels_open_by_keyboard_and_show_hostile_names_as_text() -> None:
    leaf = Node("<script>", 1200, 1100, 1300, noisy=False)
    html = level_rows([Node("CA", 1200, 1100, 1300, False, (leaf,)), Node("TX", 3, 0, 9, True)], "county in state")
    assert "<script>" not in html
    assert "<summary><span>CA</span> <span>1,200</span> <span>1,100 to 1,300</span></summary>" in html
    assert "TX <em>mostly noise</em>" in html
    many = tuple(Node(f"c{k}", 1, 1, 1, False) for k in range(40))
    assert "<details>" in level_rows([Node("CA", 40, 40, 40, False, many)], "county in state"), "many rows begin closed"


def test_levels_are_named_in_words_also_those_of_dates_and_of_labelled_columns() -> None:
    visit = {
        "name": "visit",
        "kind": "date",
        "from": "2023-01-01",
        "to": "2024-12-31",
        "by": "month",
        "levels": ["year"],
    }
    for column, coarse, named in (
        (COUNTY | {"label": "Home"}, "county@state", ["Home (county in state)", "Home (state)"]),
        (visit, "visit@year", ["visit (month in year)", "visit (year)"]),
    ):
        plan = Plan(dataset="d", epsilon=1, columns=[column], tables=[[column["name"]], [coarse]])
        assert [heading_of(plan, table) for table in plan.marginals] == named
        made = preview(plan)
        assert level_tree(made, plan.marginals[0], str(column["name"]), {})
