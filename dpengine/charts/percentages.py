"""Percentages as bars with their intervals: a small chart for each group, and a bar in it for each cell.

All bars have one colour; those that are mostly noise are hatched, and whiskers show the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns
from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.spans import interval_facts, span_chart
from dpengine.charts.style import styled
from dpengine.spec.counted_wording import counted_noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, label_words
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PercentCells", "group_in_words", "percentages_drawing"]

MAX_ROWS, MAX_PANELS, MAX_BARS = 80, 24, 300  # of a chart that can be read
WIDE = 25  # points: wider intervals may go beyond the chart, so that the others can be seen
ROOM = 1.04  # an axis is longer than its longest interval


class PercentCells(Cells):
    """The percentages of a table, as `percentages_of` returns them, with one axis for rows and one for groups.

    Rows are the cells of all columns that form no groups. If there are no groups, those of the shortest column are
    drawn beside each other, and a table of one column has no second axis.
    """

    def __init__(self, plan: Plan, table: Columns, within: Sequence[str], frame: pd.DataFrame, *, digits: int) -> None:
        self.table = table
        known = [list(dict.fromkeys(frame.iloc[:, place])) for place in range(len(table))]
        sides = _sides(table, within, [len(labels) for labels in known])
        columns = [plan.column(name) for name in table]
        words = [label_words(each) for each in columns]
        shown = [[words[label] for label in labels] for words, labels in zip(words, known, strict=True)]
        axes = [tuple(map(", ".join, product(*(shown[place] for place in side)))) for side in sides]

        def laid_out(name: str) -> npt.NDArray[np.float64]:
            cells = frame[name].to_numpy(float).reshape([len(labels) for labels in known])
            return cells.transpose([*chain(*sides)]).reshape([len(labels) for labels in axes])

        percent, low, high = map(laid_out, ("percent", "low", "high"))
        super().__init__(
            columns,
            [heading_of(plan, tuple(table[place] for place in side)) for side in sides],
            axes,
            [percent, percent, low, high],
            (low <= 0) & (high > 0),
            name=_("percent"),
            noun=_("percent of {whom}", whom=group_in_words(plan, table, within)),
            digits=digits,
        )

    @property
    def format(self) -> str:
        """The format of a percentage."""
        return f",.{self.digits}f"

    @property
    def axis_range(self) -> tuple[float, float]:
        """The range of the axis, from 0: it covers all percentages, and their intervals unless these are too wide."""
        narrow = self.high[self.high - self.low < WIDE]
        if not narrow.size:
            return 0.0, 100.0
        return 0.0, min(100.0, ROOM * max(float(narrow.max()), float(np.nanmax(self.value)))) or 100.0

    def numbers_in_words(self, value: str, low: str, high: str, *, estimate: str) -> str:
        """Return the line of a hover text with a percentage and its interval."""
        return _("<b>{value} %</b><br>95 %: {low} to {high} %", value=value, low=low, high=high)

    def text(self, value: float) -> str:
        """Write a percentage."""
        return f"{super().text(value)} %"


def _sides(table: Columns, within: Sequence[str], sizes: Sequence[int]) -> list[list[int]]:
    """Return the places of the columns whose cells are rows, and of those that form groups, if there are any."""
    groups = [place for place, name in enumerate(table) if name in within]
    if not groups and len(table) > 1:
        groups = [min(range(len(table)), key=sizes.__getitem__)]
    rows = [place for place in range(len(table)) if place not in groups]
    return [side for side in (rows, groups) if side]


def percentages_drawing(cells: PercentCells, plan: Plan, *, dark: bool = False) -> tuple[Drawing, str] | None:
    """Draw percentages, and describe the chart for readers who do not see it; None if it has too many bars to read."""
    rows, panels = cells.value.shape[0], cells.value.size // cells.value.shape[0]
    if rows > MAX_ROWS or panels > MAX_PANELS or cells.value.size > MAX_BARS:
        return None
    title = f"{heading_of(plan, cells.table)}: {cells.noun}"
    drawn = styled(span_chart([cells], dark, bars=True), title, dark)
    return drawn, f"{title}. {interval_facts(cells)}"


def group_in_words(plan: Plan, table: Columns, group: Sequence[str]) -> str:
    """Return of whom percentages in `table` are: of all that it counts, or of each group of some columns."""
    if not group:
        return _("all {unit}", unit=counted_noun(plan.tally_of(table).plan))
    return _("each group of {columns}", columns=heading_of(plan, tuple(group)))
