"""Heatmaps of two columns, and small ones side by side for three."""

from __future__ import annotations

from typing import Any

from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.heatmap import Grid, explain_marks, noise_marks, traces
from dpengine.charts.panels import Panels
from dpengine.charts.style import category_axis, escape, room_below, short_name
from dpengine.translation.catalogue import _

__all__ = ["APART", "facets_across", "facets_chart", "heatmap_chart"]

APART = 0.03  # the space between two charts side by side, as a part of their width together


def heatmap_chart(cells: Cells, dark: bool) -> Drawing:
    """Draw a heatmap of two columns, the first one down and the second across."""
    down, across = cells.short
    grid = Grid(cells.value, cells.details(), cells.hover(["y", "x"], "z"), cells.noisy, down, across)
    data = traces(grid, top=int(cells.value.max()), unit=cells.noun, dark=dark, scale=True)
    rows = max(18, 34 - len(down) // 2) * len(down)
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": short_name(cells.headings[1])}, **category_axis(across)},
        "yaxis": {"title": {"text": short_name(cells.headings[0])}, **category_axis(down, downwards=True)},
        "height": min(900, max(320, 140 + rows + room_below(across))),
    }
    if cells.noisy.any():
        data.append(explain_marks(grid, dark))
        layout["shapes"] = [noise_marks(grid, dark)]
    return Drawing(data, layout)


def facets_across(columns: int, facets: int) -> int:
    """Return how many of `facets` small heatmaps, each with `columns` columns, fit side by side.

    >>> facets_across(4, 5), facets_across(10, 5), facets_across(40, 5)
    (3, 2, 1)
    """
    return min(facets, 3 if columns <= 6 else 2 if columns <= 12 else 1)


def facets_chart(cells: Cells, together: Cells, dark: bool) -> Drawing:
    """Draw a small heatmap for each cell of the third column, after one for all of them `together`."""
    rows, columns, third = cells.short
    across = facets_across(len(columns), len(third) + 1)
    down = -(-(len(third) + 1) // across)
    panels = Panels([_("all"), *third], across, APART, 0.18 / down + 0.02)
    grids, top = _facets(cells, together), int(together.value.max())
    data = [
        trace | panels.axes(k)
        for k, grid in enumerate(grids)
        for trace in traces(grid, top=top, unit=cells.noun, dark=dark, scale=k == 0)
    ]
    x, y = {"tickangle": -45, **category_axis(columns)}, category_axis(rows, downwards=True)
    layout = panels.layout(x, y, short_name(cells.headings[1]), short_name(cells.headings[0]))
    shapes = [noise_marks(grid, dark, k + 1) for k, grid in enumerate(grids) if grid.noisy.any()]
    if shapes:
        data.append(explain_marks(grids[1], dark))
        layout["shapes"] = shapes
    height = 110 + (24 if down * len(rows) <= 60 else 14) * len(rows)
    return Drawing(data, layout | {"height": max(360, down * height + room_below(columns) // 2)})


def _facets(cells: Cells, together: Cells) -> list[Grid]:
    """Return the grid of all cells of the third column `together`, then one for each of them."""
    rows, columns, third = cells.short
    name, details = escape(cells.headings[2]), cells.details()
    whole = together.hover(["y", "x"], "z", prefix=f"{name}: {_('all')}")
    grids = [Grid(together.value, together.details(), whole, together.noisy, rows, columns)]
    for k in range(len(third)):
        hover = together.hover(["y", "x"], "z", prefix=f"{name}: {escape(cells.labels[2][k])}")
        grids.append(Grid(cells.value[:, :, k], details[:, :, k], hover, cells.noisy[:, :, k], rows, columns))
    return grids
