"""Figures say what they show without relying on colour, and hold no more than the release does."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, predict, preview
from dpengine.charts import error_curve, figures, heatmap, style
from dpengine.charts.cells import ALL
from dpengine.charts.drawing import Drawing
from dpengine.charts.forms import Form
from dpengine.charts.grids import facets_across
from dpengine.results.published_columns import measures
from dpengine.results.result import Result
from dpengine.spec.wording import shown_labels
from tests.plans import CLINIC, letters_plan


@pytest.fixture(scope="module")
def result() -> Result:
    return preview(Plan.loads(CLINIC.replace("[region, visit]", "[age, region, visit]\n  - [visit]")))


@pytest.mark.parametrize(("form", "dark"), [("bars", False), ("bars", True), ("sorted", False)])
def test_one_column_is_bars_with_whiskers_and_hatching(result: Result, form: Form, dark: bool) -> None:
    figure = figures.release_figure(result, ("visit",), form=form, dark=dark)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    frame = result.tables[("visit",)].set_index("visit")
    drawn = {label: (y, y + up, y - down) for trace in bars for label, y, up, down in
             zip(trace.x, trace.y, trace.error_y.array, trace.error_y.arrayminus, strict=True)}  # fmt: skip
    assert drawn == {label: (row["count"], row["high"], row["low"]) for label, row in frame.iterrows()}
    hovered = {label: tuple(each[1:3]) for trace in bars for label, each in zip(trace.x, trace.customdata, strict=True)}
    assert hovered == {label: (row["low"], row["high"]) for label, row in frame.iterrows()}
    for trace in bars:
        assert (trace.marker.pattern.shape == "/") == (trace.name == "mostly noise")


def test_two_columns_are_a_heatmap_in_declared_order(result: Result) -> None:
    figure = figures.release_figure(result, ("age", "region"))
    heat = figure.data[0]
    assert tuple(heat.y) == tuple(map(style.escape, result.plan.column("age").shown))
    assert tuple(heat.x) == result.plan.column("region").labels
    assert (np.array(heat.z) == result.counts(("age", "region"))).all()
    corners = re.findall(r"L(-?[\d.]+),(-?[\d.]+)L", figure.layout.shapes[0].path)  # the upper right one of each cell
    marked = {(round(float(y) + 0.47), round(float(x) - 0.47)) for x, y in corners}
    assert [trace.name for trace in figure.data if trace.showlegend] == ["mostly noise"], "alone, it is drawn only so"
    assert marked == set(map(tuple, np.argwhere(result.mostly_noise(("age", "region"))).tolist()))
    first = result.tables[("age", "region")].iloc[0]
    assert list(heat.customdata[0][0])[:3] == [round(first["estimate"], 1), first["low"], first["high"]]
    assert "95 %: %{customdata[1]:,} to %{customdata[2]:,}" in heat.hovertemplate


MONTHS = {"name": "month", "kind": "date", "from": "2022-01-01", "to": "2023-12-31", "by": "month"}
REGIONS = {"name": "county", "kind": "category", "values": [f"county {k}" for k in range(7)]}
MEANS = Plan(
    dataset="figures",
    epsilon="1",
    columns=[
        MONTHS,
        REGIONS,
        {"name": "sex", "kind": "yesno"},
        {"name": "pay", "kind": "amount", "from": 0, "to": 900, "step": 10, "knots": [0, 100, 200, 400, 600, 900]},
    ],
    tables=[
        ["month", "county"],
        ["month", "sex"],
        {"columns": ["county", "sex"], "mean": ["pay"], "sum": ["pay"]},
        {"columns": ["sex"], "quantiles": {"pay": ["0.25", "0.5"]}},
    ],
)


def test_a_drawing_is_what_plotly_makes_of_it(result: Result) -> None:
    means = preview(MEANS)
    asked = [
        *((result, ("visit",), {"form": form}) for form in ("bars", "sorted", "lines")),
        (result, ("age", "region"), {"dark": True}),
        (result, ("age", "region", "visit"), {}),
        (means, ("month", "county"), {}),
        (means, ("month", "sex"), {}),
        *(
            (means, table, {"measure": measure})
            for table in (("county", "sex"), ("sex",))
            for measure in measures(MEANS, table)
        ),
    ]
    for source, table, how in asked:
        drawing, figure = (draw(source, table, **how) for draw in (figures.release_drawing, figures.release_figure))
        assert isinstance(drawing, Drawing)
        assert _plain(drawing._asdict()) == _plain(figure.to_plotly_json()), (table, how)
    curve = error_curve.curve_drawing(result.plan)
    assert _plain(curve._asdict()) == _plain(error_curve.curve_drawing(result.plan).figure().to_plotly_json())


@pytest.mark.nightly
def test_no_report_loads_plotly() -> None:
    script = "import sys, dpengine as dpe; r = dpe.preview(dpe.Plan.load(sys.argv[1])); " + (
        "from dpengine.bundle import write; write.pack(r); sys.exit('plotly' in sys.modules)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        MEANS.save(path)
        subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def _plain(drawing: Any) -> Any:
    """Return a drawing without Plotly's shorter form of arrays, and without a template that says nothing."""
    assert drawing["layout"]["template"] in ({}, {"data": {"scatter": [{"type": "scatter"}]}})
    drawing = drawing | {"layout": drawing["layout"] | {"template": {}}}
    return json.loads(json.dumps(drawing, default=lambda array: array.tolist()), object_hook=_array)


def _array(value: dict[str, Any]) -> Any:
    if "bdata" not in value:
        return value
    shape = tuple(map(int, value.get("shape", "-1").split(",")))
    return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).reshape(shape).tolist()


def test_three_columns_are_small_multiples_or_a_drill_down(result: Result) -> None:
    table = ("age", "region", "visit")
    assert figures.columns_to_fix(result.plan, table) == ()
    figure = figures.release_figure(result, table)
    heats = [trace for trace in figure.data if trace.type == "heatmap" and trace.hoverinfo != "skip"]
    assert len(heats) == 1 + result.plan.column("visit").size
    assert (np.array(heats[0].z) == result.counts(table).sum(axis=2)).all(), "all of them come first"
    assert sum(int(np.sum(trace.z)) for trace in heats[1:]) == result.counts(table).sum()
    summed = figures.release_figure(result, table, fixed={"visit": ALL})
    assert (np.array(summed.data[0].z) == result.counts(table).sum(axis=2)).all()
    assert summed.layout.title.text == "People by age and region"
    cut = figures.release_figure(result, table, fixed={"visit": "2024-Q2"})
    assert (np.array(cut.data[0].z) == result.counts(table)[:, :, 1]).all()
    assert "2024-Q2" in cut.layout.title.text


def test_fixing_a_column_that_has_room_is_refused(result: Result) -> None:
    with pytest.raises(ValueError, match="fix columns"):
        figures.release_figure(result, ("visit",), fixed={"visit": "2024-Q1"})


def test_labels_are_shown_as_text_and_shortened() -> None:
    long = "<b>" + "x" * 80
    plan = Plan.loads(CLINIC.replace("North,", f'"{long}",'))
    figure = figures.release_figure(preview(plan), ("age", "region"))
    assert "<b>" not in figure.data[0].x[0]
    assert len(figure.data[0].x[0]) < 40
    assert figure.data[0].customdata[0][0][4].startswith("&lt;b&gt;x")


def test_large_tables_leave_their_labels_to_the_browser_and_numbers_to_the_hover() -> None:
    plan = Plan.loads(CLINIC.replace("[0, 18, 30, 45, 65, 120]", "{from: 0, to: 100, bins: 200}"))
    figure = figures.release_figure(preview(plan), ("age", "region"))
    assert figure.layout.yaxis.tickvals is None
    assert figure.data[0].texttemplate is None


def test_the_error_curve_marks_the_plan_and_needs_no_data() -> None:
    plan = Plan.loads(CLINIC).at("0.3")
    figure = error_curve.curve_drawing(plan).figure()
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert len({trace.line.dash for trace in lines}) == len(lines), "lines differ by more than colour"
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert all(list(trace.x) == [0.3] for trace in marks)
    assert [mark.y[0] for mark in marks] == [line.y[list(line.x).index(0.3)] for line in lines]
    assert lines[-1].name == "total"


def test_rows_are_called_rows_where_a_person_may_have_several() -> None:
    plan = Plan.loads(CLINIC.replace("rows: 1", "rows: 3, id: who"))
    assert figures.release_figure(preview(plan), ("age", "region")).layout.title.text.startswith("Rows by")


def test_alternative_text_says_what_is_seen(result: Result) -> None:
    text = figures.alt_text(result, ("age", "region"))
    assert f"add up to {result.counts(()).sum():,}" in text
    counts = result.counts(("age", "region"))
    places = np.unravel_index(int(counts.argmax()), counts.shape)
    age, region = (shown_labels(result.plan.column(n))[k] for n, k in zip(("age", "region"), places, strict=True))
    assert f"The largest is {age}, {region} with {counts.max():,}." in text
    assert figures.alt_text(result, ()) == f"The published total is {int(result.counts(())):,}."


def test_comparison_draws_every_cell(result: Result) -> None:
    exact = result.counts(("visit",)) + 3
    figure = figures.comparison_figure(result, ("visit",), exact)
    assert list(figure.data[1].x) == list(exact)
    assert list(figure.data[1].y) == list(result.counts(("visit",)))


def test_the_numbers_of_the_curve_are_those_that_are_drawn() -> None:
    plan = Plan.loads(CLINIC).at("0.3")
    numbers = error_curve.error_curve_numbers(plan)
    lines = [trace for trace in error_curve.curve_drawing(plan).figure().data if trace.mode == "lines"]
    assert [list(trace.customdata) for trace in lines] == [numbers[name] for name in numbers if name != "ε"]
    predicted = predict(plan).set_index("table")["half_width_95"]
    here = numbers["ε"].index(0.3)
    assert {name: axis_range[here] for name, axis_range in numbers.items() if name != "ε"} == predicted.to_dict()


@pytest.mark.parametrize(("columns", "across"), [(2, 3), (6, 3), (7, 2), (13, 1)])
def test_the_wider_small_multiples_are_the_fewer_go_side_by_side(columns: int, across: int) -> None:
    assert facets_across(columns, 5) == across
    assert facets_across(columns, 1) == 1


@pytest.mark.parametrize(("columns", "written"), [(12, True), (60, False)])
def test_numbers_that_no_saved_picture_has_room_for_are_left_out(columns: int, written: bool) -> None:
    plan = letters_plan([3, columns], [["a", "b"]], rows_about=200_000)
    figure = figures.release_figure(preview(plan), ("a", "b"))
    assert (figure.data[0].texttemplate is not None) == written
    assert style.CONFIG["toImageButtonOptions"]["width"] == 1000


def test_the_corners_of_narrow_cells_are_wider_parts_of_them() -> None:
    def wide(columns: int) -> float:
        shape = (2, columns)
        grid = heatmap.Grid(
            np.ones(shape, int), np.empty(shape, object), "", np.ones(shape, bool), ["a", "b"], ["x"] * columns
        )
        start, end = re.findall(r"[ML](-?[\d.]+),", heatmap.noise_marks(grid, dark=False)["path"])[:2]
        return float(end) - float(start)

    assert wide(20) > 1.5 * wide(4)
