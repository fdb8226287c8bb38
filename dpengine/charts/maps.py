"""Maps: the public shapes of a column's values, each coloured by its count, mean or sum.

Shapes are drawn as filled outlines on plain axes, so that a browser need not fetch a base map from a server. Regions
that are mostly noise are hatched; cells without a shape are listed below.
"""

from __future__ import annotations

import math
from typing import Any

from dpengine import shapes
from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.heatmap import SCALE, TURN, WRITTEN
from dpengine.charts.style import GREY, INK, cut, escape, short_name
from dpengine.spec.domain import Category
from dpengine.translation.catalogue import _, number

__all__ = ["map_chart"]

WIDTH, MIN_HEIGHT, MAX_HEIGHT = 640, 320, 640  # pixels
MAX_LISTED = 6


def map_chart(cells: Cells, dark: bool) -> Drawing:
    """Draw the shapes of one column, whose other cells are listed below them."""
    column = cells.columns[0]
    assert isinstance(column, Category)
    places = {value: k for k, value in enumerate(column.values)}
    drawn = {places[value]: shapes.rings(text) for value, text in column.shapes.items()}
    ends = _ends(cells, list(drawn))
    data = [_region(cells, k, rings, ends, dark) for k, rings in drawn.items()]
    data += _legend(cells, ends, dark, noisy=any(cells.noisy[k] for k in drawn))
    points = [point for rings in drawn.values() for ring in rings for point in ring]
    ratio = _stretch([y for _, y in points], [x for x, _ in points])
    across, down = (max(end) - min(end) or 1.0 for end in zip(*points, strict=True))
    rest = [k for k in range(cells.value.size) if k not in drawn]
    x: dict[str, Any] = {"visible": False}
    if rest:
        x = {"showgrid": False, "zeroline": False, "showticklabels": False, "title": {"text": _unmapped(cells, rest)}}
    y = {"visible": False, "scaleanchor": "x", "scaleratio": ratio}
    high = min(MAX_HEIGHT, max(MIN_HEIGHT, round(WIDTH * down * ratio / across)))
    return Drawing(data, {"xaxis": x, "yaxis": y, "height": high + 80, "hovermode": "closest"})


def _ends(cells: Cells, drawn: list[int]) -> tuple[float, float]:
    """Return the ends of the colour scale: from 0 for counts and sums, from the smallest value for others."""
    values = cells.value[drawn]
    exact = values[~cells.noisy[drawn]]
    if cells.measure is None:
        return 0.0, max(float(values.max()), 1.0)
    seen = exact if exact.size else values
    low, high = float(seen.min()), float(seen.max())
    low, high = (min(low, 0.0), max(high, 0.0)) if cells.measure.kind == "sum" else (low, high)
    return low, high if high > low else low + 1.0


def _region(cells: Cells, k: int, rings: list[shapes.Ring], ends: tuple[float, float], dark: bool) -> dict[str, Any]:
    """Return the filled outline of cell `k`, hatched if it is mostly noise."""
    outline = [point for ring in rings for point in [*ring, (None, None)]][:-1]
    part = min(max((float(cells.value[k]) - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)
    tone, hatch = _tone(part, dark), WRITTEN[dark][int(part >= TURN**2)]
    pattern = {"shape": "/", "fgcolor": hatch, "bgcolor": tone, "size": 7, "solidity": 0.12}
    return {
        "type": "scatter",
        "x": [x for x, _ in outline],
        "y": [y for _, y in outline],
        "mode": "lines",
        "fill": "toself",
        "fillcolor": tone,
        **({"fillpattern": pattern} if cells.noisy[k] else {}),
        "line": {"color": INK[dark], "width": 0.6},
        "hoveron": "fills",
        "hoverinfo": "text",
        "text": cells.words((k,)),
        "name": short_name(cells.labels[0][k]),
        "showlegend": False,
    }


def _tone(part: float, dark: bool) -> str:
    """Return the stop of the heatmaps' colour scale that is nearest to a fraction of its length."""
    scale = SCALE[dark]
    return str(scale[round(math.sqrt(part) * (len(scale) - 1))][1])


def _legend(cells: Cells, ends: tuple[float, float], dark: bool, *, noisy: bool) -> list[dict[str, Any]]:
    """Return the colour scale, and an explanation of hatching if a region is hatched."""
    nowhere = {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}
    title = {"text": short_name(cells.noun)}
    marker = {
        "color": [ends[0]],
        "cmin": ends[0],
        "cmax": ends[1],
        "colorscale": SCALE[dark],
        "showscale": True,
        "colorbar": {"title": title, "thickness": 10, "outlinewidth": 0, "tickformat": ",~r"},
    }
    scale = {**nowhere, "mode": "markers", "marker": marker, "showlegend": False}
    if not noisy:
        return [scale]
    hatching = {
        **nowhere,
        "fill": "toself",
        "mode": "none",
        "fillcolor": GREY[dark],
        "fillpattern": {"shape": "/", "fgcolor": INK[dark], "bgcolor": GREY[dark], "size": 7, "solidity": 0.2},
        "name": _("mostly noise"),
        "showlegend": True,
    }
    return [scale, hatching]


def _unmapped(cells: Cells, rest: list[int]) -> str:
    """Return a text with the cells that have no shape."""
    noise = f" ({_('mostly noise')})"
    listed = [
        f"{escape(cut(cells.labels[0][k]))} {cells.text(cells.value[k])}{noise if cells.noisy[k] else ''}"
        for k in rest[:MAX_LISTED]
    ]
    cells_listed, more = ",<br>".join(listed), len(rest) - MAX_LISTED
    if more > 0:
        return _("Not on the map:<br>{cells}, and {n} more", cells=cells_listed, n=number(more))
    return _("Not on the map:<br>{cells}", cells=cells_listed)


def _stretch(latitudes: list[float], longitudes: list[float]) -> float:
    """Return how much longer a degree of latitude is than one of longitude there; 1 if coordinates are not degrees."""
    if max(map(abs, latitudes)) > 90 or max(map(abs, longitudes)) > 540:
        return 1.0
    return 1 / max(0.2, math.cos(math.radians((max(latitudes) + min(latitudes)) / 2)))
