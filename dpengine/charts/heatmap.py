"""Heatmaps with a colour scale on which small counts stay visible, and numbers that are readable on every colour.

Colour follows the square root of the count. Numbers are black or white, whichever has a contrast of at least 4.5 to 1
(WCAG 2.2, contrast minimum). At one place both scales have a colour on which black and white have the same contrast:
there the numbers change colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from dpengine.charts.style import GREY, SAVED_WIDTH

__all__ = ["SCALE", "WRITTEN", "Grid", "traces"]

MIDDLE = "#2d8186"  # relative luminance 0.18: 4.6 to 1 against black, and against white
TURN = 0.75  # where that colour stands on the scale of square roots
ENDS = {False: ("#f2f7f7", "#0a3d42"), True: ("#172123", "#c2f5f6")}
# Colours of the numbers below and above the turn.
WRITTEN = {False: ("#000000", "#ffffff"), True: ("#ffffff", "#000000")}
MAX_WRITTEN = 400
DIGIT, AXIS = 5.2, 170  # pixels: the width of a digit that is just readable, and of everything beside the cells
STOPS = 12


def _scale(low: str, high: str) -> list[list[float | str]]:
    """Return the stops of a scale as position and colour, evenly spaced in the square root."""
    stops: list[list[float | str]] = []
    for root in (k / STOPS for k in range(STOPS + 1)):
        start, end, part = (low, MIDDLE, root / TURN) if root < TURN else (MIDDLE, high, (root - TURN) / (1 - TURN))
        mixed = (round((1 - part) * a + part * b) for a, b in zip(_rgb(start), _rgb(end), strict=True))
        stops.append([round(root**2, 4), "#" + "".join(f"{tone:02x}" for tone in mixed)])
    return stops


def _rgb(colour: str) -> bytes:
    return bytes.fromhex(colour[1:])


SCALE = {dark: _scale(*ends) for dark, ends in ENDS.items()}


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of two columns; arrays have a row for each of `rows` and a column for each of `columns`."""

    counts: npt.NDArray[np.int64]
    hover: npt.NDArray[np.object_]
    noisy: npt.NDArray[np.bool_]
    rows: Sequence[str]
    columns: Sequence[str]


def traces(grid: Grid, *, top: int, unit: str, dark: bool, scale: bool, legend: bool) -> list[go.Heatmap | go.Scatter]:
    """Return the traces of a heatmap: cells, their numbers where there is room, and marks on mostly noise.

    The colour scale ends at the count `top`; `unit` is its title, and `scale` says whether it is drawn. `legend` says
    whether the marks are explained.
    """
    cells = go.Heatmap(
        z=grid.counts,
        x=list(grid.columns),
        y=list(grid.rows),
        zmin=0,
        zmax=max(top, 1),
        colorscale=SCALE[dark],
        showscale=scale,
        colorbar={"title": unit, "thickness": 10, "outlinewidth": 0, "tickformat": ",~r"},
        customdata=grid.hover,
        hovertemplate="%{customdata}<extra></extra>",
        xgap=1,
        ygap=1,
    )
    return [*_numbered(cells, grid, dark), _noise_marks(grid, dark, legend)]


def _numbered(cells: go.Heatmap, grid: Grid, dark: bool) -> list[go.Heatmap]:
    """Write the numbers of one colour on `cells`, and those of the other on an invisible heatmap over it.

    A browser makes the numbers of a heatmap as small as its cells need. Blanks as wide as the widest number make it
    choose the same size for both.
    """
    if grid.counts.size > MAX_WRITTEN:
        return [cells]
    numbers = np.vectorize("{:,}".format, otypes=[object])(grid.counts)
    widest = max(map(len, numbers.ravel()))
    if grid.counts.shape[1] * (widest + 1) * DIGIT > SAVED_WIDTH - AXIS:
        return [cells]  # too small to be read even in a saved picture, where nothing hides them
    blank = "\u00a0" * widest
    above = grid.counts >= TURN**2 * cells.zmax
    low, high = WRITTEN[dark]
    cells.update(text=np.where(above, blank, numbers), texttemplate="%{text}", textfont={"color": low})
    if not above.any():
        return [cells]
    over = go.Heatmap(
        z=np.zeros(grid.counts.shape, dtype=int),
        x=cells.x,
        y=cells.y,
        colorscale=[[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        showscale=False,
        hoverinfo="skip",
        text=np.where(above, numbers, blank),
        texttemplate="%{text}",
        textfont={"color": high},
        xgap=1,
        ygap=1,
    )
    return [cells, over]


def _noise_marks(grid: Grid, dark: bool, legend: bool) -> go.Scatter:
    """Return a slanted line through each cell that is mostly noise."""
    rows, columns = np.nonzero(grid.noisy)
    few = grid.noisy.size <= MAX_WRITTEN
    return go.Scatter(
        x=[grid.columns[int(k)] for k in columns],
        y=[grid.rows[int(k)] for k in rows],
        mode="markers",
        marker={
            "symbol": "line-ne-open",
            "size": 22 if few else max(3, 8 - math.isqrt(grid.noisy.size) // 20),
            "color": GREY[dark],
            "line": {"width": 1.2},
            "opacity": 0.6 if few else 1,  # light enough to read the number through it
        },
        name="mostly noise",
        showlegend=legend,
        hoverinfo="skip",
    )
