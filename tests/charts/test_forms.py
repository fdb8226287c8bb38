"""The plan alone decides which chart shows a table; lines, sorted bars and maps hold what was released."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpengine import Plan, preview, shapes
from dpengine.charts import figures
from dpengine.charts.forms import forms
from dpengine.charts.heatmap import SCALE
from dpengine.charts.style import ACCENT
from dpengine.results.result import Result

LANDS = ["Austria", "Belgium", "Cyprus", "Denmark", "Spain"]


def square(x: float, y: float) -> list[list[list[float]]]:
    return [[[x, y], [x, y + 1], [x + 1, y + 1], [x + 1, y], [x, y]]]  # with the clock, as it should not be


def geojson(*names: str) -> str:
    features = [{"type": "Feature", "properties": {"name": name, "secret": "ZZ"}, "geometry":
                 {"type": "Polygon", "coordinates": square(2 * k, 50)}} for k, name in enumerate(names)]  # fmt: skip
    return json.dumps({"type": "FeatureCollection", "features": features})


COLUMNS = [
    {"name": "month", "kind": "date", "from": "2023-01-01", "to": "2024-12-31", "by": "month"},
    {"name": "year", "kind": "number", "edges": [2018, 2019, 2020, 2021, 2022]},
    {"name": "age", "kind": "number", "edges": [0, 18, 30, 65]},
    {"name": "sex", "kind": "yesno"},
    {"name": "land", "kind": "category", "values": LANDS},
    {"name": "mapped", "kind": "category", "values": LANDS, "shapes": shapes.from_geojson(geojson(*LANDS[:4]), LANDS)},
    {"name": "grade", "kind": "category", "values": ["low", "middle", "high", "higher", "highest"]},
    {"name": "town", "kind": "category", "values": [f"Town {k}" for k in range(40)]},
]


@pytest.fixture(scope="module")
def result() -> Result:
    tables = [["month"], ["month", "sex"], ["land", "year"], ["mapped"], ["land"], ["grade"], ["town", "year"]]
    return preview(Plan(dataset="d", epsilon=1, columns=COLUMNS, tables=tables, rows_about=4000))


@pytest.mark.parametrize(
    ("shown", "first"),
    [
        ("month", "lines"),
        ("year", "lines"),
        ("age", "bars"),
        ("land", "sorted"),
        ("mapped", "map"),
        ("grade", "bars"),
        ("town", "bars"),
        ("month sex", "lines"),
        ("land year", "lines"),
        ("town year", "heatmap"),
        ("age land", "heatmap"),
        ("age land sex", "facets"),
    ],
)
def test_the_plan_decides_which_chart_comes_first(shown: str, first: str) -> None:
    columns = [column for column in COLUMNS if str(column["name"]) in shown.split()]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[shown.split()])
    assert forms(plan, plan.marginals[0])[0] == first


@pytest.mark.parametrize(
    ("name", "edges", "time"),
    [
        ("born", [1950, 1960, 1970, 1980], True),
        ("fiscalYear", [2019, 2022, 2025, 2028], True),
        ("salary", [1900, 2000, 2300, 2400], False),
        ("pay", [1000, 1100, 1200, 1300], False),
        ("month", [1, 2, 3, 4], True),
        ("months_worked", [0, 4, 8, 12], False),
        ("hour", [0, 6, 12, 18, 24], True),
        ("hour", [0, 6, 12, 24], False),
        ("years at school", [0, 4, 8, 12], False),
    ],
)
def test_numbers_are_time_by_their_bins_and_their_name(name: str, edges: list[int], time: bool) -> None:
    plan = Plan(dataset="d", epsilon=1, columns=[{"name": name, "kind": "number", "edges": edges}], tables=[[name]])
    assert (forms(plan, (name,))[0] == "lines") is time


@pytest.mark.parametrize("dark", [False, True])
def test_a_line_has_its_intervals_as_a_band_and_cells_without_a_date_beside_it(result: Result, dark: bool) -> None:
    band, line, beside = figures.release_figure(result, ("month",), dark=dark).data[:3]
    cells = result.cells(("month",))
    assert band.fillcolor.startswith(ACCENT[dark])
    assert list(band.y) == [*cells["high"][:24], *cells["low"][:24][::-1]]
    assert list(line.y) == list(cells["count"][:24])
    assert list(beside.x) == ["(other)", "(missing)"]
    assert list(beside.error_y.array) == list((cells["high"] - cells["count"])[24:])
    hollow = [symbol.endswith("-open") for symbol in np.broadcast_to(line.marker.symbol, 24)]
    assert hollow == result.mostly_noise(("month",))[:24].tolist()


def test_few_lines_share_a_chart_and_differ_by_more_than_colour(result: Result) -> None:
    figure = figures.release_figure(result, ("month", "sex"))
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines] == ["yes", "no", "(other)", "(missing)"]
    assert len({trace.line.dash for trace in lines}) == len({trace.marker.color for trace in lines}) == 4
    assert [list(trace.y) for trace in lines] == result.counts(("month", "sex"))[:24].T.tolist()


def test_many_lines_are_small_multiples_on_one_scale_whichever_column_comes_first(result: Result) -> None:
    figure = figures.release_figure(result, ("land", "year"))
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [list(trace.y) for trace in lines] == result.counts(("land", "year"))[:, :4].tolist()
    assert len({trace.xaxis for trace in lines}) == 7
    assert len({tuple(axis.range) for axis in figure.select_yaxes()}) == 1


def test_bars_by_size_follow_the_released_counts_and_end_with_other_and_missing(result: Result) -> None:
    counts = result.counts(("land",))
    figure = figures.release_figure(result, ("land",))
    order = list(figure.layout.yaxis.categoryarray)
    assert order[-2:] == ["(other)", "(missing)"]
    sizes = [counts[LANDS.index(name)] for name in order[:-2]]
    assert sizes == sorted(sizes, reverse=True)
    declared = figures.release_figure(result, ("land",), form="bars")
    assert list(declared.layout.yaxis.categoryarray) == [*LANDS, "(other)", "(missing)"]


@pytest.mark.parametrize("dark", [False, True])
def test_a_map_shows_each_shape_in_the_tone_of_its_count_and_lists_the_rest(result: Result, dark: bool) -> None:
    figure = figures.release_figure(result, ("mapped",), dark=dark)
    counts, noisy = result.counts(("mapped",)), result.mostly_noise(("mapped",))
    regions = [trace for trace in figure.data if trace.hoveron == "fills"]
    assert [trace.name for trace in regions] == LANDS[:4]
    tones = [tone for _, tone in SCALE[dark]]
    depth = [tones.index(trace.fillcolor) for trace in regions]
    assert depth == [round((count / counts[:4].max()) ** 0.5 * 12) for count in counts[:4]]
    assert [trace.fillpattern.shape == "/" for trace in regions] == noisy[:4].tolist()
    assert f"count {counts[0]:,}" in regions[0].text
    below = figure.layout.xaxis.title.text
    assert f"Spain {counts[4]:,}" in below
    assert "(missing)" in below
    assert not any(trace.type in ("choropleth", "scattergeo") for trace in figure.data), "they fetch a base map"
