"""Changes from one release to the next as dots with their intervals around 0, the largest beside their noise first.

Full dots are beyond the noise; hollow ones are within it. So colours are not needed to tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns
from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.spans import span_chart
from dpengine.charts.style import styled
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, label_words
from dpengine.translation.catalogue import _, number, plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ChangeCells", "changes_drawing"]

MAX_ROWS = 30  # of a chart that can be read
MAX_NAMED = 3  # changes that the description for readers who do not see the chart names
MAX_TICKS = 5  # numbers below a chart: names of cells are long, and leave less room on a phone
ROOM = 0.04  # part of an axis that is left beyond the ends of intervals


class ChangeCells(Cells):
    """The changes of one number of a table, in the order of a data frame of `compare`: its first rows.

    `what` is the number in words, with `digits` decimals.
    """

    def __init__(self, plan: Plan, table: Columns, frame: pd.DataFrame, what: str, *, digits: int) -> None:
        columns, name = [plan.column(name) for name in table], _("change in {number}", number=what)
        words = [label_words(each) for each in columns]
        first = frame.head(MAX_ROWS)
        rows = first.iloc[:, : len(table)].to_numpy().tolist()
        labels = tuple(", ".join(of[label] for of, label in zip(words, row, strict=True)) for row in rows)
        value, low, high = (first[name].to_numpy(float) for name in ("change", "low", "high"))
        noisy = ~first["beyond_noise"].to_numpy(bool)
        numbers = [value, value, low, high]
        super().__init__(
            columns, [heading_of(plan, table)], [labels], numbers, noisy, name=name, noun=name, digits=digits
        )

    @property
    def noise(self) -> str:
        """The name of the mark on changes within the noise."""
        return _("within the noise")

    @property
    def of_pair(self) -> bool:
        """True: changes may be below 0, and have a line there."""
        return True

    @property
    def format(self) -> str:
        """The format of a change, with its sign."""
        return f"+,.{self.digits}f"

    @property
    def axis_range(self) -> tuple[float, float]:
        """The range of the axis: it covers 0, all changes, and the intervals of those beyond the noise, if any."""
        chosen = np.ones_like(self.noisy) if self.noisy.all() else ~self.noisy
        low = min(0.0, float(self.value.min()), float(self.low[chosen].min()))
        high = max(0.0, float(self.value.max()), float(self.high[chosen].max()))
        room = ROOM * ((high - low) or 1.0)
        return low - room, high + room

    def numbers_in_words(self, value: str, low: str, high: str, *, estimate: str) -> str:
        """Return the line of a hover text with a change and its interval."""
        return _("<b>change {value}</b><br>95 %: {low} to {high}", value=value, low=low, high=high)


def changes_drawing(
    plan: Plan, table: Columns, frame: pd.DataFrame, what: str, *, digits: int, dark: bool = False
) -> tuple[Drawing, str]:
    """Draw the first changes of a frame, and describe the chart for readers who do not see it."""
    cells = ChangeCells(plan, table, frame, what, digits=digits)
    title = f"{heading_of(plan, table)}: {cells.name}"
    if len(frame) > MAX_ROWS:
        title = _("{title}, the first {n} of {all}", title=title, n=number(MAX_ROWS), all=number(len(frame)))
    beyond = int(frame["beyond_noise"].sum())
    facts = plural("{n} change is beyond the noise.", "{n} changes are beyond the noise.", beyond)
    alt = " ".join([f"{title}.", facts, *_named(cells, min(beyond, MAX_NAMED))])
    drawn = span_chart([cells], dark)
    few = {"xaxis": drawn.layout["xaxis"] | {"nticks": MAX_TICKS}}
    return styled(drawn._replace(layout={**drawn.layout, **few}), title, dark), alt


def _named(cells: ChangeCells, most: int) -> Sequence[str]:
    """Name the first changes with their intervals."""
    return [
        _("{cell}: {change} ({low} to {high}).", cell=cells.labels[0][k], change=cells.text(cells.value[k]),
          low=cells.text(cells.low[k]), high=cells.text(cells.high[k]))
        for k in range(most)
    ]  # fmt: skip
