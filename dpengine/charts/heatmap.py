"""Heatmaps with a colour scale on which small counts stay visible, and numbers that are readable on every colour.

Colour follows the square root of the count. Numbers are black or white, whichever has a contrast of at least 4.5 to 1
(WCAG 2.2, contrast minimum). Each scale has one colour on which black and white have the same contrast: there the
numbers change colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.charts.style import GREY, SAVED_WIDTH, legend_entry
from dpengine.translation.catalogue import _, number

__all__ = ["AXIS", "SCALE", "STOPS", "WRITTEN", "Grid", "explain_marks", "noise_marks", "readable_width", "traces"]

MIDDLE = "#2d8186"  # relative luminance 0.18: 4.6 to 1 against black, and against white
TURN = 0.75  # the position of that colour on the scale of square roots
ENDS = {False: ("#f2f7f7", "#0a3d42"), True: ("#172123", "#c2f5f6")}
# Colours of the numbers below and above the turn.
WRITTEN = {False: ("#000000", "#ffffff"), True: ("#ffffff", "#000000")}
MAX_WRITTEN = 400
DIGIT, AXIS = 5.2, 170  # pixels: the width of a digit that is just readable, and of everything beside the cells
STOPS = 12
MAX_WIDE = 8  # columns whose cells are wide, even on a phone


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
    """The cells of two columns; arrays have a row for each of `rows` and a column for each of `columns`.

    `hover` is the template of the hover text of a cell; it refers to `details`.
    """

    counts: Ints
    details: npt.NDArray[np.object_]
    hover: str
    noisy: npt.NDArray[np.bool_]
    rows: Sequence[str]
    columns: Sequence[str]

    @property
    def written(self) -> bool:
        """Whether the cells have room for numbers, at least in a saved picture."""
        return self.counts.size <= MAX_WRITTEN and readable_width(self.counts) <= SAVED_WIDTH


def widest(counts: Ints) -> int:
    """Return the number of characters of the widest number."""
    return max(len(number(count)) for count in (int(counts.max()), int(counts.min())))


def readable_width(counts: Ints) -> float:
    """Return how many pixels wide a heatmap of `counts` has to be, so that the numbers in its cells are readable.

    >>> readable_width(np.array([[907, 12], [0, 3]])) < readable_width(np.array([[1907, 12], [0, 3]]))
    True
    """
    return AXIS + int(counts.shape[1]) * (widest(counts) + 1) * DIGIT


def traces(grid: Grid, *, top: int, unit: str, dark: bool, scale: bool) -> list[dict[str, Any]]:
    """Return the traces of a heatmap: its cells, and their numbers where there is room.

    The colour scale ends at the count `top`; `unit` is its title, and `scale` says whether it is drawn.
    """
    cells = {
        "type": "heatmap",
        "z": grid.counts,
        "x": list(grid.columns),
        "y": list(grid.rows),
        "zmin": 0,
        "zmax": max(top, 1),
        "colorscale": SCALE[dark],
        "showscale": scale,
        "colorbar": {"title": {"text": unit}, "thickness": 10, "outlinewidth": 0, "tickformat": ",~r"},
        "customdata": grid.details,
        "hovertemplate": grid.hover,
        "xgap": 1,
        "ygap": 1,
    }
    return _numbered(cells, grid, dark)


def _numbered(cells: dict[str, Any], grid: Grid, dark: bool) -> list[dict[str, Any]]:
    """Write the numbers of one colour on `cells`, and those of the other on an invisible heatmap over it.

    A browser shrinks the numbers of a heatmap to fit its cells. Blanks as wide as the widest number make it choose the
    same size for both.
    """
    if not grid.written:
        return [cells]
    numbers = np.vectorize(number, otypes=[object])(grid.counts)
    blank = "\u00a0" * widest(grid.counts)
    above = grid.counts >= TURN**2 * cells["zmax"]
    low, high = WRITTEN[dark]
    text = np.where(above, blank, numbers)
    cells = cells | {"text": text, "texttemplate": "%{text}", "textfont": {"color": low}}
    if not above.any():
        return [cells]
    over = {
        "type": "heatmap",
        "z": np.zeros(grid.counts.shape, dtype=int),
        "x": cells["x"],
        "y": cells["y"],
        "colorscale": [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        "showscale": False,
        "hoverinfo": "skip",
        "text": np.where(above, numbers, blank),
        "texttemplate": "%{text}",
        "textfont": {"color": high},
        "xgap": 1,
        "ygap": 1,
    }
    return [cells, over]


def noise_marks(grid: Grid, dark: bool, number: int = 1) -> dict[str, Any]:
    """Return one shape that marks the cells that are mostly noise, on the axes with this number.

    A cell with a number has a corner cut off, so that nothing covers the number; others are struck through. All marks
    are one path in the coordinates of the cells, so they scale with them.
    """
    tones: dict[str, Any] = {"line": {"color": GREY[dark], "width": 1}}
    path = "M{2},{1}L{3},{0}"
    if grid.written:
        path, tones = "M{4},{0}L{3},{0}L{3},{5}Z", {"line": {"width": 0}, "fillcolor": GREY[dark]}
    left = 0.25 if len(grid.columns) <= MAX_WIDE else 0.05  # narrow cells lose a wider corner, else it is a sliver
    marks = []
    for row, column in np.argwhere(grid.noisy).tolist():
        ends = row - 0.47, row + 0.4, column - 0.4, column + 0.47, column + left, row - 0.12
        marks.append(path.format(*(f"{end:.2f}" for end in ends)))
    axis = "" if number == 1 else str(number)
    return {"type": "path", "path": "".join(marks), "xref": f"x{axis}", "yref": f"y{axis}", **tones}


def explain_marks(grid: Grid, dark: bool) -> dict[str, Any]:
    """Return the entry of the legend that explains the marks."""
    symbol = "triangle-ne" if grid.written else "line-ne-open"
    marker = {"symbol": symbol, "size": 9, "color": GREY[dark], "line": {"width": 1.2, "color": GREY[dark]}}
    return legend_entry(_("mostly noise"), marker) | {"showlegend": True}  # one entry alone is not drawn unasked
