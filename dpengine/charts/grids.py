"""Heatmaps of two columns, and small ones side by side for three."""

from __future__ import annotations

from typing import Any

from dpengine.charts import objects as go
from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.heatmap import Grid, explain_marks, noise_marks, traces
from dpengine.charts.style import category_axis, escape, room_below, short_name
from dpengine.translation.catalogue import _

__all__ = ["facets_across", "facets_chart", "heatmap_chart"]


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
    """Return how many of `facets` small heatmaps fit side by side, each with this number of `columns`.

    >>> facets_across(4, 5), facets_across(10, 5), facets_across(40, 5)
    (3, 2, 1)
    """
    return min(facets, 3 if columns <= 6 else 2 if columns <= 12 else 1)


def facets_chart(cells: Cells, together: Cells, dark: bool) -> go.Figure:
    """Draw a small heatmap for each cell of the third column, after one for all of them `together`."""
    from plotly.subplots import make_subplots  # only where it is drawn: it takes long to load

    rows, columns, third = cells.short
    across = facets_across(len(columns), len(third) + 1)
    down = -(-(len(third) + 1) // across)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=[_("all"), *third],
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.18 / down + 0.02,
    )
    name, details = escape(cells.headings[2]), cells.details()
    grids = [Grid(together.value, together.details(), together.hover(["y", "x"], "z", also=f"{name}: {_('all')}"),
                  together.noisy, rows, columns)]  # fmt: skip
    for k in range(len(third)):
        hover = together.hover(["y", "x"], "z", also=f"{name}: {escape(cells.labels[2][k])}")
        grids.append(Grid(cells.value[:, :, k], details[:, :, k], hover, cells.noisy[:, :, k], rows, columns))
    top, shapes = int(together.value.max()), []
    for k, grid in enumerate(grids):
        for trace in traces(grid, top=top, unit=cells.noun, dark=dark, scale=k == 0):
            figure.add_trace(trace, row=k // across + 1, col=k % across + 1)
        if grid.noisy.any():
            shapes.append(noise_marks(grid, dark, k + 1))
    if shapes:
        figure.add_trace(explain_marks(grids[1], dark))
        figure.update_layout(shapes=shapes)
    figure.update_xaxes(tickangle=-45, **category_axis(columns))
    figure.update_yaxes(**category_axis(rows, downwards=True))
    figure.update_yaxes(title=short_name(cells.headings[0]), col=1)
    for column in range(across):  # the lowest of each column names the axis, also where the last row is not full
        lowest = (len(third) - column) // across + 1
        figure.update_xaxes(title=short_name(cells.headings[1]), showticklabels=True, row=lowest, col=column + 1)
    figure.update_annotations(font_size=13)
    each = 90 + (20 if down * len(rows) <= 60 else 14) * len(rows)
    return figure.update_layout(height=max(360, down * each + room_below(columns) // 2))
