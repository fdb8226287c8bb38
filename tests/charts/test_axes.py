"""Axes of figures: every one is named and labelled, holds its cells and no more, and shows texts as written."""

from __future__ import annotations

import pytest

from dpengine import Plan, preview
from dpengine.charts import figures
from dpengine.charts.panels import Panels
from tests.plans import letters_plan


def columns_of(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "kind": "category", "values": ["R&D", "<b>x"]} for name in names]


@pytest.mark.parametrize("table", [("a",), ("a", "b"), ("a", "b", "c")])
def test_axes_end_where_the_cells_end(table: tuple[str, ...]) -> None:
    figure = figures.release_figure(preview(letters_plan([60, 50, 2], [table], epsilon=50)), table)
    if len(table) > 1:
        figure.for_each_xaxis(lambda axis: _holds(axis.range, (-0.5, 49.5)))
    figure.for_each_yaxis(lambda axis: _holds(axis.range, (59.5, -0.5)))


def _holds(ends: tuple[float, float], wanted: tuple[float, float]) -> None:
    assert tuple(ends) == wanted


@pytest.mark.by_day(4)
@pytest.mark.parametrize("facets", range(2, figures.MAX_FACETS + 1))
def test_the_lowest_facet_of_each_column_names_its_axis(facets: int) -> None:
    figure = figures.release_figure(preview(letters_plan([3, 4, facets], [["a", "b", "c"]])), ("a", "b", "c"))
    facets += 1  # the first one shows all of them together
    across = min(3, facets)
    assert len([trace for trace in figure.data if trace.customdata is not None]) == facets
    for k in range(facets):
        number = str(k + 1) if k else ""
        below, beside = figure.layout[f"xaxis{number}"], figure.layout[f"yaxis{number}"]
        lowest, first = k + across >= facets, k % across == 0
        assert (below.showticklabels, below.title.text) == (lowest, "b" if lowest else None)
        assert bool(below.title.standoff) == lowest, "or the title stands on labels at an angle"
        assert (beside.showticklabels, beside.title.text) == (first, "a" if first else None)


@pytest.mark.parametrize("facets", [1, 5, 6, 7])
def test_facets_stand_in_rows_with_room_between_them(facets: int) -> None:
    panels = Panels([str(k) for k in range(facets)], 3, 0.04, 0.1)
    layout = panels.layout({}, {}, "across", "down")
    places = [
        (layout[f"xaxis{k or ''}"]["domain"], layout[f"yaxis{k or ''}"]["domain"]) for k in (0, *range(2, facets + 1))
    ]
    for k, ((left, right), (low, high)) in enumerate(places):
        assert 0 <= left < right <= 1
        assert 0 <= low < high <= 1
        if k % 3:
            assert left == pytest.approx(places[k - 1][0][1] + 0.04, abs=1e-5)
        if k >= 3:
            assert high == pytest.approx(places[k - 3][1][0] - 0.1, abs=1e-5)
    assert [title["text"] for title in layout["annotations"]] == list(panels.titles)


def test_facet_titles_leave_room_for_the_figure_s_own() -> None:
    result = preview(letters_plan([3, 4, 5], [["a", "b", "c"]]))
    plain = figures.release_figure(result, ("a", "b", "c"), fixed={"c": "c0"})
    assert figures.release_figure(result, ("a", "b", "c")).layout.margin.t > plain.layout.margin.t


def test_titles_name_their_columns_once_as_written() -> None:
    names = ("R&D", "long" * 20, "<i>")
    plan = Plan(dataset="d", epsilon=1, columns=columns_of(*names), tables=[names])
    result = preview(plan)
    whole = figures.release_figure(result, names).layout.title.text
    assert whole.replace("<br>", " ") == "People by R&amp;D, longlonglong…onglonglong and &lt;i&gt;"
    cut = figures.release_figure(result, names, fixed={"<i>": "R&D"}).layout.title.text
    assert cut.endswith(", &lt;i&gt;: R&amp;D")


def test_numbers_are_written_in_cells_only_where_there_is_room() -> None:
    for size in (10, 60):
        figure = figures.release_figure(preview(letters_plan([size, size], [["a", "b"]])), ("a", "b"))
        assert (figure.data[0].texttemplate is not None) is (size == 10)
        assert figure.layout.height <= 900


def test_the_name_of_a_long_column_is_not_cut_off_beside_few_bars() -> None:
    values = ["very satisfied", "rather satisfied", "rather not satisfied", "not satisfied at all"]
    bus = {"name": "bus", "kind": "category", "values": values, "label": "Satisfied with buses"}
    made = preview(Plan(dataset="d", epsilon=1, columns=[bus], tables=[["bus"]]))
    assert figures.release_figure(made, ("bus",)).layout.yaxis.title.text == "Satisfied with<br>buses"
