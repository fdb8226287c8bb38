"""Lay out small charts in rows: the positions of their axes, and a title above each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Panels"]

TITLE_SIZE = 13
APART = 8  # pixels between labels, which may be at an angle, and the title of the axis, which would else stand on them


@dataclass(frozen=True, slots=True)
class Panels:
    """Charts with these `titles`, in rows of `across` charts, which pan and zoom together.

    `gap` and `below` are the spaces between columns and between rows, as fractions of the whole figure.
    """

    titles: Sequence[str]
    across: int
    gap: float
    below: float

    @property
    def down(self) -> int:
        """The number of rows."""
        return -(-len(self.titles) // self.across)

    def axes(self, place: int) -> dict[str, str]:
        """Return the names of a chart's axes, as its traces give them.

        >>> Panels(["all", "yes", "no"], 2, 0.1, 0.1).axes(1)
        {'xaxis': 'x2', 'yaxis': 'y2'}
        """
        number = str(place + 1) if place else ""
        return {"xaxis": f"x{number}", "yaxis": f"y{number}"}

    def layout(self, x: Mapping[str, Any], y: Mapping[str, Any], x_title: str, y_title: str) -> dict[str, Any]:
        """Return the axes of all charts, which differ only in position, and the titles of the charts.

        The lowest chart of each column has the labels and the title of the horizontal axis, the first of each row the
        labels and the title of the vertical one.
        """
        layout: dict[str, Any] = {}
        annotations = []
        wide, high = (1 - self.gap * (self.across - 1)) / self.across, (1 - self.below * (self.down - 1)) / self.down
        for place, title in enumerate(self.titles):
            row, column = divmod(place, self.across)
            left, bottom = column * (wide + self.gap), (self.down - 1 - row) * (high + self.below)
            axes = self.axes(place)
            lowest, first = place + self.across >= len(self.titles), column == 0
            for axis, other, like, start, size, labelled, name in (
                ("xaxis", "yaxis", x, left, wide, lowest, x_title),
                ("yaxis", "xaxis", y, bottom, high, first, y_title),
            ):
                position = {"anchor": axes[other], "domain": [round(start, 6), round(start + size, 6)]}
                together = {"matches": axis[0]} if place else {}
                named = {"title": {"text": name, "standoff": APART}} if labelled and name else {}
                layout[axis + axes[axis][1:]] = {**like, **position, **together, **named, "showticklabels": labelled}
            if title:
                annotations.append(_title(title, left + wide / 2, bottom + high))
        return layout | ({"annotations": annotations} if annotations else {})


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    return {
        "text": text,
        "font": {"size": TITLE_SIZE},
        "showarrow": False,
        "x": round(x, 6),
        "xanchor": "center",
        "xref": "paper",
        "y": round(y, 6),
        "yanchor": "bottom",
        "yref": "paper",
    }
