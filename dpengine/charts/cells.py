"""The cells of a published table that a figure shows, and what a pointer over them says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns
from dpengine.charts.style import escape, shorten
from dpengine.results.published_columns import NUMBERS
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.spec.wording import noun, shown_labels
from dpengine.translation.catalogue import _, mark, number

__all__ = ["ALL", "Cells", "Fixed", "shown_label"]

Fixed = Mapping[str, str | None]  # the label of a column of which one cell is shown, or ALL
ALL = None  # all cells of a column together: the sum over it

_NUMBERS = mark("<b>count {count}</b>, estimate {estimate}<br>95 %: {low} to {high}")


def shown_label(plan: Plan, name: str, label: str | None) -> str:
    """Return what readers see for one of the labels of a column, or for all of them together."""
    if label is ALL:
        return _("all")
    column = plan.column(name)
    return shown_labels(column)[column.labels.index(label)]


class Cells:
    """Cells of `table` as arrays with one axis for each column of `shown`.

    All its other columns stand in `fixed`. Sums over columns are those of the release: consistent counts, and
    intervals that follow from what was measured.
    """

    def __init__(self, result: Result, table: Columns, shown: Columns, fixed: Fixed) -> None:
        self.result, self.shown = result, shown
        plan = result.plan
        self.columns = [plan.column(name) for name in shown]
        self.headings = [column.heading for column in self.columns]
        kept = tuple(name for name in table if name in shown or fixed[name] is not ALL)
        cut = tuple(slice(None) if name in shown else plan.column(name).labels.index(str(fixed[name])) for name in kept)
        cells, shape = result.cells(kept), plan.shape(kept)
        left = [name for name in kept if name in shown]
        axes = [left.index(name) for name in shown]
        self.count, self.estimate, self.low, self.high = (
            cells[name].reshape(shape)[cut].transpose(axes) for name in NUMBERS
        )
        self.noun = noun(plan)
        self.noisy = result.mostly_noise(kept)[cut].transpose(axes)
        self.labels = [shown_labels(column) for column in self.columns]
        self.short = [list(map(escape, shorten(labels))) for labels in self.labels]

    def details(self) -> npt.NDArray[np.object_]:
        """Return what `hover` needs of each cell, along a last axis: three numbers, a mark, and labels cut short."""
        mark = np.where(self.noisy, f"<br>{_('mostly noise')}", "").astype(object)
        parts = [np.round(self.estimate, 1) + 0.0, self.low, self.high, mark]
        for axis in self._cut_short():
            full = np.array([escape(label) for label in self.labels[axis]], dtype=object)
            lying = [1] * self.count.ndim
            lying[axis] = -1
            parts.append(np.broadcast_to(full.reshape(lying), self.count.shape))
        return np.stack([np.asarray(part, dtype=object) for part in parts], axis=-1)

    def hover(self, axes: Sequence[str], count: str, *, also: str = "") -> str:
        """Return the template of what a pointer over a cell says.

        `axes` name where a figure has the label of each column, such as x, or what its label is; `count` names where it
        has the count, and `also` is said first.
        """
        cut = {axis: 4 + k for k, axis in enumerate(self._cut_short())}
        places = [
            f"{escape(heading)}: " + (f"%{{customdata[{cut[k]}]}}" if k in cut else f"%{{{axis}}}")
            for k, (heading, axis) in enumerate(zip(self.headings, axes, strict=True))
        ]
        numbers = _(
            _NUMBERS,
            count=f"%{{{count}:,}}",
            estimate="%{customdata[0]:,.1f}",
            low="%{customdata[1]:,}",
            high="%{customdata[2]:,}",
        )
        return "<br>".join([*([also] if also else []), *places, f"{numbers}%{{customdata[3]}}<extra></extra>"])

    def words(self, cell: tuple[int, ...]) -> str:
        """Return the same of one cell as a text."""
        named = zip(self.headings, self.labels, cell, strict=True)
        place = "<br>".join(f"{escape(name)}: {escape(labels[k])}" for name, labels, k in named)
        numbers = _(
            _NUMBERS,
            count=number(self.count[cell]),
            estimate=number(self.estimate[cell], ",.1f"),
            low=number(self.low[cell]),
            high=number(self.high[cell]),
        )
        return "<br>".join([place, numbers, *([_("mostly noise")] if self.noisy[cell] else [])])

    def _cut_short(self) -> list[int]:
        """Return the axes of which a label is cut short in the figure."""
        return [
            k
            for k, (short, full) in enumerate(zip(self.short, self.labels, strict=True))
            if any(one != escape(other) for one, other in zip(short, full, strict=True))
        ]
