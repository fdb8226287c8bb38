"""Axes of figures: every one is named and labelled, holds its cells and no more, and shows texts as written."""

from __future__ import annotations

import pytest

from dpengine import Plan, preview
from dpengine.charts import figures
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


@pytest.mark.parametrize("facets", range(2, figures.MAX_FACETS + 1))
def test_the_lowest_facet_of_each_column_names_its_axis(facets: int) -> None:
    figure = figures.release_figure(preview(letters_plan([3, 4, facets], [["a", "b", "c"]])), ("a", "b", "c"))
    facets += 1  # the first one shows all of them together
    across = min(3, facets)
    assert len([trace for trace in figure.data if trace.customdata is not None]) == facets
    for k in range(facets):
        place = {"row": k // across + 1, "col": k % across + 1}
        below = next(figure.select_xaxes(**place))
        if k + across >= facets:
            assert below.showticklabels
            assert below.title.text == "b"
        if k % across == 0:
            assert next(figure.select_yaxes(**place)).title.text == "a"


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
