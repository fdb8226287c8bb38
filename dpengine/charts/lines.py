"""Lines over time: the published numbers, each with a band of 95 % intervals.

*Other* and *missing* are not points in time: they are drawn beside the line, as points with whiskers. Hollow points are
mostly noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.panels import Panels
from dpengine.charts.style import (
    ACCENT,
    DASHES,
    GREY,
    INK,
    SERIES,
    SYMBOLS,
    category_axis,
    legend_entry,
    room_below,
    short_name,
    whiskers,
)
from dpengine.translation.catalogue import _

__all__ = ["line_chart", "lines_chart"]

MAX_TOGETHER = 4  # lines that can be told apart in one chart
MAX_POINTS = 60  # points that are drawn as such
HEIGHT = 380
BAND, FAINT = "33", "22"  # how opaque bands are, as the last two digits of a colour


@dataclass(frozen=True, slots=True)
class _Look:
    """The look of a line, which differs from others by more than its colour."""

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    band: str = BAND


def line_chart(cells: Cells, dark: bool) -> Drawing:
    """Draw one column of time as a line with its band."""
    data = _traces(cells, (), cells.hover(["x"], "y"), _Look(ACCENT[dark]), cells.legend, legend=True)
    return _over_time(cells, data, dark, HEIGHT, legend=bool(cells.noisy.any()))


def lines_chart(cells: Cells, dark: bool) -> Drawing:
    """Draw a line over time, the first column, for each cell of the second: in one chart or in small multiples."""
    return _together(cells, dark) if cells.value.shape[1] <= MAX_TOGETHER else _multiples(cells, dark)


def _together(cells: Cells, dark: bool) -> Drawing:
    hover = cells.hover(["x", "fullData.name"], "y")
    data = []
    for k, name in enumerate(cells.short[1]):
        look = _Look(SERIES[dark][k], DASHES[k], SYMBOLS[k], FAINT)
        data += _traces(cells, (k,), hover, look, name, legend=True)
    return _over_time(cells, data, dark, HEIGHT + 40, legend=True)


def _over_time(cells: Cells, data: Sequence[dict[str, Any]], dark: bool, height: int, *, legend: bool) -> Drawing:
    """Return lines on one pair of axes."""
    labels = cells.short[0]
    layout = {
        "xaxis": {"title": {"text": short_name(cells.headings[0])}, **category_axis(labels)},
        "yaxis": {"title": {"text": short_name(cells.noun)}, "range": cells.axis_range},
        "height": height + room_below(labels),
        "showlegend": legend,
    }
    return Drawing([*data, *_explained(cells, dark)], layout)


def _multiples(cells: Cells, dark: bool) -> Drawing:
    names, labels = cells.short[1], cells.short[0]
    across = 2 if cells.value.shape[0] <= 40 else 1
    down = -(-len(names) // across)
    panels = Panels(names, across, 0.04, 0.18 / down)
    look, hover = _Look(ACCENT[dark]), cells.hover(["x", "fullData.name"], "y")
    data = []
    for k, name in enumerate(names):
        data += [trace | panels.axes(k) for trace in _traces(cells, (k,), hover, look, name, legend=False)]
    x, y = category_axis(labels, hours=6 if across > 1 else 3), {"range": cells.axis_range}
    axes = panels.layout(x, y, short_name(cells.headings[0]), short_name(cells.noun))
    high = 120 + 150 * down + room_below(labels)
    return Drawing([*data, *_explained(cells, dark)], axes | {"height": high, "showlegend": bool(cells.noisy.any())})


def _traces(
    cells: Cells, at: tuple[int, ...], hover: str, look: _Look, name: str, *, legend: bool
) -> list[dict[str, Any]]:
    """Return band, line and points of the cells `at` one cell of the other columns."""
    labels = np.array(cells.short[0], dtype=object)
    moments = cells.columns[0].declared_size
    place: Any = (slice(None), *at)
    count, low, high, noisy = cells.value[place], cells.low[place], cells.high[place], cells.noisy[place]
    details = cells.details()[place]
    shared = {"type": "scatter", "name": name, "legendgroup": name}
    band = {
        **shared,
        "x": [*labels[:moments], *labels[:moments][::-1]],
        "y": [*high[:moments].tolist(), *low[:moments][::-1].tolist()],
        "fill": "toself",
        "fillcolor": look.colour + look.band,
        "mode": "none",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    line = {
        **shared,
        "x": labels[:moments],
        "y": count[:moments],
        "customdata": details[:moments],
        "hovertemplate": hover,
        "mode": "lines+markers" if moments <= MAX_POINTS else "lines",
        "line": {"color": look.colour, "width": 2, "dash": look.dash},
        "marker": _marker(noisy[:moments].tolist(), look),
        "showlegend": legend,
    }
    if count.size == moments:
        return [band, line]
    beside = slice(moments, None)
    points = {
        **shared,
        "x": labels[beside],
        "y": count[beside],
        "customdata": details[beside],
        "hovertemplate": hover,
        "mode": "markers",
        "marker": _marker(noisy[beside].tolist(), look),
        "error_y": whiskers(count[beside], low[beside], high[beside], look.colour),
        "showlegend": False,
    }
    return [band, line, points]


def _marker(noisy: Sequence[bool], look: _Look) -> dict[str, object]:
    """Return the look of points, hollow where they are mostly noise."""
    symbols = [f"{look.symbol}-open" if noise else look.symbol for noise in noisy]
    return {
        "symbol": symbols if any(noisy) else look.symbol,
        "color": look.colour,
        "size": 7,
        "line": {"width": 1.5, "color": look.colour},
    }


def _explained(cells: Cells, dark: bool) -> list[dict[str, Any]]:
    """Return the legend entry that explains hollow points, if there are any."""
    if not cells.noisy.any() or cells.columns[0].declared_size > MAX_POINTS:
        return []
    marker = {"symbol": "circle-open", "color": INK[dark], "size": 7, "line": {"width": 1.5, "color": GREY[dark]}}
    return [legend_entry(_("mostly noise"), marker)]
