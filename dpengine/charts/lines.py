"""Lines over time: the published numbers, and around them the band in which 95 in 100 true ones lie.

*Other* and *missing* are no moments: they stand beside the line, as points with whiskers. Hollow points are mostly
noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.charts import objects as go
from dpengine.charts.cells import Cells
from dpengine.charts.style import ACCENT, DASHES, GREY, INK, SERIES, SYMBOLS, category_axis, room_below, short_name
from dpengine.translation.catalogue import _

__all__ = ["line_chart", "lines_chart"]

MAX_TOGETHER = 4  # lines that can be told apart in one chart
MAX_POINTS = 60  # points that are drawn as such
HEIGHT = 380
BAND, FAINT = "33", "22"  # how opaque bands are, as the last two digits of a colour


@dataclass(frozen=True, slots=True)
class _Look:
    """How a line is told from others: not by its colour alone."""

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    band: str = BAND


def line_chart(cells: Cells, dark: bool) -> go.Figure:
    """Draw one column of time as a line with its band."""
    figure = go.Figure()
    look = _Look(ACCENT[dark])
    hover = cells.hover(["x"], "y")
    for trace in _traces(cells, (), hover, look, cells.legend, dark, legend=True):
        figure.add_trace(trace)
    _explain(figure, cells, dark)
    labels = cells.short[0]
    figure.update_xaxes(title=short_name(cells.headings[0]), **category_axis(labels))
    figure.update_yaxes(title=short_name(cells.noun), range=cells.reach)
    return figure.update_layout(height=HEIGHT + room_below(labels), showlegend=bool(cells.noisy.any()))


def lines_chart(cells: Cells, dark: bool) -> go.Figure:
    """Draw a line over the first column, which is time, for each cell of the second: together or in small multiples."""
    return _together(cells, dark) if cells.value.shape[1] <= MAX_TOGETHER else _multiples(cells, dark)


def _together(cells: Cells, dark: bool) -> go.Figure:
    figure = go.Figure()
    for k, name in enumerate(cells.short[1]):
        look = _Look(SERIES[dark][k], DASHES[k], SYMBOLS[k], FAINT)
        for trace in _traces(cells, (k,), cells.hover(["x", "fullData.name"], "y"), look, name, dark, legend=True):
            figure.add_trace(trace)
    _explain(figure, cells, dark)
    labels = cells.short[0]
    figure.update_xaxes(title=short_name(cells.headings[0]), **category_axis(labels))
    figure.update_yaxes(title=short_name(cells.noun), range=cells.reach)
    return figure.update_layout(height=HEIGHT + 40 + room_below(labels), showlegend=True)


def _multiples(cells: Cells, dark: bool) -> go.Figure:
    from plotly.subplots import make_subplots  # only where it is drawn: it takes long to load

    names = cells.short[1]
    across = 2 if cells.value.shape[0] <= 40 else 1
    down = -(-len(names) // across)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=names,
        shared_xaxes=True,
        shared_yaxes="all",
        horizontal_spacing=0.04,
        vertical_spacing=0.18 / down,
    )
    look = _Look(ACCENT[dark])
    for k, name in enumerate(names):
        for trace in _traces(cells, (k,), cells.hover(["x", "fullData.name"], "y"), look, name, dark, legend=False):
            figure.add_trace(trace, row=k // across + 1, col=k % across + 1)
    _explain(figure, cells, dark)
    labels = cells.short[0]
    figure.update_xaxes(**category_axis(labels))
    figure.update_yaxes(range=cells.reach)  # left alone, a browser looks at the last only
    figure.update_yaxes(title=short_name(cells.noun), col=1)
    for column in range(across):
        lowest = (len(names) - 1 - column) // across + 1
        figure.update_xaxes(title=short_name(cells.headings[0]), showticklabels=True, row=lowest, col=column + 1)
    figure.update_annotations(font_size=13)
    return figure.update_layout(height=120 + 150 * down + room_below(labels), showlegend=bool(cells.noisy.any()))


def _traces(
    cells: Cells, at: tuple[int, ...], hover: str, look: _Look, name: str, dark: bool, *, legend: bool
) -> list[go.Scatter]:
    """Return band, line and points of the cells `at` one cell of the other columns."""
    labels = np.array(cells.short[0], dtype=object)
    moments = cells.columns[0].declared_size
    place: Any = (slice(None), *at)
    count, low, high, noisy = cells.value[place], cells.low[place], cells.high[place], cells.noisy[place]
    details = cells.details()[place]
    named = {"name": name, "legendgroup": name}
    band = go.Scatter(
        x=[*labels[:moments], *labels[:moments][::-1]],
        y=[*high[:moments].tolist(), *low[:moments][::-1].tolist()],
        fill="toself",
        fillcolor=look.colour + look.band,
        mode="none",
        hoverinfo="skip",
        showlegend=False,
        **named,
    )
    few = moments <= MAX_POINTS
    line = go.Scatter(
        x=labels[:moments],
        y=count[:moments],
        customdata=details[:moments],
        hovertemplate=hover,
        mode="lines+markers" if few else "lines",
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker=_marker(noisy[:moments].tolist(), look),
        showlegend=legend,
        **named,
    )
    drawn = [band, line]
    if count.size > moments:
        beside = slice(moments, None)
        drawn.append(
            go.Scatter(
                x=labels[beside],
                y=count[beside],
                customdata=details[beside],
                hovertemplate=hover,
                mode="markers",
                marker=_marker(noisy[beside].tolist(), look),
                error_y=_whiskers(count[beside], low[beside], high[beside], look.colour),
                showlegend=False,
                **named,
            )
        )
    return drawn


def _marker(noisy: Sequence[bool], look: _Look) -> dict[str, object]:
    """Return the look of points, hollow where they are mostly noise."""
    symbols = [f"{look.symbol}-open" if noise else look.symbol for noise in noisy]
    return {
        "symbol": symbols if any(noisy) else look.symbol,
        "color": look.colour,
        "size": 7,
        "line": {"width": 1.5, "color": look.colour},
    }


def _whiskers(count: Ints | Floats, low: Ints | Floats, high: Ints | Floats, colour: str) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": high - count,
        "arrayminus": count - low,
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }


def _explain(figure: go.Figure, cells: Cells, dark: bool) -> None:
    """Explain hollow points in the legend, where there are any."""
    if not cells.noisy.any() or cells.columns[0].declared_size > MAX_POINTS:
        return
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"symbol": "circle-open", "color": INK[dark], "size": 7, "line": {"width": 1.5, "color": GREY[dark]}},
        name=_("mostly noise"),
        hoverinfo="skip",
    )
