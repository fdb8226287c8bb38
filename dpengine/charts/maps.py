"""Maps: the public shapes of a column's values, each in the colour of its count.

Shapes are drawn as filled outlines on plain axes, so that a browser needs no base map, which it would fetch from a
server. Regions that are mostly noise are hatched; cells without a shape are listed below.
"""

from __future__ import annotations

import math

import plotly.graph_objects as go

from dpengine import shapes
from dpengine.charts.cells import Cells
from dpengine.charts.heatmap import SCALE, TURN, WRITTEN
from dpengine.charts.style import GREY, INK, cut, escape, short_name
from dpengine.spec.domain import Category
from dpengine.translation.catalogue import _, number

__all__ = ["map_chart"]

WIDTH, MIN_HEIGHT, MAX_HEIGHT = 640, 320, 640  # pixels
MAX_LISTED = 6


def map_chart(cells: Cells, dark: bool) -> go.Figure:
    """Draw the shapes of one column, whose other cells are listed below them."""
    column = cells.columns[0]
    assert isinstance(column, Category)
    places = {value: k for k, value in enumerate(column.values)}
    drawn = {places[value]: shapes.rings(text) for value, text in column.shapes.items()}
    top = max(int(max(cells.count[k] for k in drawn)), 1)
    figure = go.Figure([_region(cells, k, rings, top, dark) for k, rings in drawn.items()])
    _add_legend(figure, cells, top, dark, noisy=any(cells.noisy[k] for k in drawn))
    points = [point for rings in drawn.values() for ring in rings for point in ring]
    ratio = _stretch([y for _, y in points], [x for x, _ in points])
    across, down = (max(end) - min(end) or 1.0 for end in zip(*points, strict=True))
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x", scaleratio=ratio)
    rest = [k for k in range(cells.count.size) if k not in drawn]
    if rest:
        figure.update_xaxes(
            visible=True, showgrid=False, zeroline=False, showticklabels=False, title=_rest(cells, rest)
        )
    high = min(MAX_HEIGHT, max(MIN_HEIGHT, round(WIDTH * down * ratio / across)))
    return figure.update_layout(height=high + 80, hovermode="closest")


def _region(cells: Cells, k: int, rings: list[shapes.Ring], top: int, dark: bool) -> go.Scatter:
    """Return the filled outline of cell `k`, hatched where it is mostly noise."""
    outline = [point for ring in rings for point in [*ring, (None, None)]][:-1]
    tone, hatch = _tone(int(cells.count[k]), top, dark), WRITTEN[dark][int(cells.count[k] >= TURN**2 * top)]
    pattern = {"shape": "/", "fgcolor": hatch, "bgcolor": tone, "size": 7, "solidity": 0.12}
    return go.Scatter(
        x=[x for x, _ in outline],
        y=[y for _, y in outline],
        mode="lines",
        fill="toself",
        fillcolor=tone,
        fillpattern=pattern if cells.noisy[k] else None,
        line={"color": INK[dark], "width": 0.6},
        hoveron="fills",
        hoverinfo="text",
        text=cells.words((k,)),
        name=short_name(cells.labels[0][k]),
        showlegend=False,
    )


def _tone(count: int, top: int, dark: bool) -> str:
    """Return the stop of the scale of heatmaps that is next to a count."""
    scale = SCALE[dark]
    return str(scale[round(math.sqrt(count / top) * (len(scale) - 1))][1])


def _add_legend(figure: go.Figure, cells: Cells, top: int, dark: bool, *, noisy: bool) -> None:
    """Add the scale of colours, and what hatching means if a region is hatched."""
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={
            "color": [0],
            "cmin": 0,
            "cmax": top,
            "colorscale": SCALE[dark],
            "showscale": True,
            "colorbar": {"title": cells.noun, "thickness": 10, "outlinewidth": 0, "tickformat": ",~r"},
        },
        hoverinfo="skip",
        showlegend=False,
    )
    if noisy:
        figure.add_scatter(
            x=[None],
            y=[None],
            fill="toself",
            mode="none",
            fillcolor=GREY[dark],
            fillpattern={"shape": "/", "fgcolor": INK[dark], "bgcolor": GREY[dark], "size": 7, "solidity": 0.2},
            name=_("mostly noise"),
            hoverinfo="skip",
            showlegend=True,
        )


def _rest(cells: Cells, rest: list[int]) -> str:
    """Return what a map cannot show: cells that have no shape."""
    noise = f" ({_('mostly noise')})"
    listed = [
        f"{escape(cut(cells.labels[0][k]))} {number(cells.count[k])}{noise if cells.noisy[k] else ''}"
        for k in rest[:MAX_LISTED]
    ]
    cells_listed, more = ",<br>".join(listed), len(rest) - MAX_LISTED
    if more > 0:
        return _("Not on the map:<br>{cells}, and {n} more", cells=cells_listed, n=number(more))
    return _("Not on the map:<br>{cells}", cells=cells_listed)


def _stretch(latitudes: list[float], longitudes: list[float]) -> float:
    """Return how much longer a degree of latitude is than one of longitude there; 1 where these are no degrees."""
    if max(map(abs, latitudes)) > 90 or max(map(abs, longitudes)) > 540:
        return 1.0
    return 1 / max(0.2, math.cos(math.radians((max(latitudes) + min(latitudes)) / 2)))
