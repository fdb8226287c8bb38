"""The cells of a published table that a figure shows, and their hover texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Columns
from dpengine.charts.drawable import Drawable
from dpengine.charts.style import escape, line_name, shorten
from dpengine.results.published_columns import NUMBERS, Measure
from dpengine.spec.counted_wording import noun
from dpengine.spec.domain import Column
from dpengine.spec.plan import Plan
from dpengine.spec.wording import shown_labels
from dpengine.translation.catalogue import _, mark, number

__all__ = ["ALL", "Cells", "CellsOfTable", "Fixed", "shown_label"]

Fixed = Mapping[str, str | None]  # the label of the one shown cell of a column, or ALL
MAX_WIDER = 10  # multiple of the narrowest interval: if all pairs are noise, the axis covers intervals up to this width
ALL = None  # all cells of a column together: the sum over it

_NUMBERS = mark("<b>count {count}</b>, estimate {estimate}<br>95 %: {low} to {high}")
_MEASURED = mark("<b>{what}: {value}</b><br>95 %: {low} to {high}")


def shown_label(plan: Plan, name: str, label: str | None) -> str:
    """Return the text shown for a label of a column, or for all of them together."""
    if label is ALL:
        return _("all")
    column = plan.column(name)
    return shown_labels(column)[column.labels.index(label)]


class Cells:
    """Cells as arrays with one axis for each of `labels`, under the heading of that axis.

    `numbers` are the values of the cells, their unbiased estimates, and the low and the high ends of intervals. `name`
    says what they are, and `noun` stands beside their axis.
    """

    measure: Measure | None = None

    def __init__(
        self,
        columns: Sequence[Column],
        headings: Sequence[str],
        labels: Sequence[Sequence[str]],
        numbers: Sequence[npt.NDArray[Any]],
        noisy: Bools,
        *,
        name: str,
        noun: str,
        digits: int,
    ) -> None:
        self.columns, self.headings, self.labels = columns, headings, labels
        self.value, self.estimate, self.low, self.high = numbers
        self.noisy, self.name, self.noun, self.digits = noisy, name, noun, digits
        self.short = [list(map(escape, shorten(each))) for each in labels]

    @property
    def legend(self) -> str:
        """The legend of a figure for cells that are more than noise."""
        return _("{what}, with 95 % interval", what=line_name(self.name))

    @property
    def noise(self) -> str:
        """The name of the mark on cells that are mostly noise."""
        return _("mostly noise")

    @property
    def format(self) -> str:
        """The format of a cell's number."""
        return "," if self.measure is None else f",.{self.digits}f"

    @property
    def of_pair(self) -> bool:
        """Whether the cells hold a covariance, a correlation or a slope, which may be below 0."""
        return self.measure is not None and bool(self.measure.on)

    @property
    def axis_range(self) -> tuple[float, float]:
        """The range of the value axis: it covers the intervals of all cells that are more than noise.

        Counts and sums are drawn from 0, and an axis of pairs of amounts includes 0. An interval that is mostly noise
        may run beyond an axis of means: if the axis held the whole range, the others could not be seen.
        """
        from_zero = self.measure is None or self.measure.kind == "sum"
        with_zero = from_zero or self.of_pair
        width = self.high - self.low
        # The slope of too few people can be anything: its interval would hide the informative ones.
        informative = width <= MAX_WIDER * width.min() if self.of_pair and width.size else np.ones_like(self.noisy)
        chosen = informative if from_zero or self.noisy.all() else ~self.noisy
        if not chosen.size:
            return 0.0, 1.0
        low, high = float(self.low[chosen].min()), float(self.high[chosen].max())
        low, high = (min(low, 0.0), max(high, 0.0)) if with_zero else (low, high)
        room = 0.04 * ((high - low) or 1.0)
        return low - room * (low < 0 or not from_zero), high + room

    def details(self) -> npt.NDArray[np.object_]:
        """Return the data of hover texts, along a last axis: three numbers, a mark, and labels that are cut short."""
        mark = np.where(self.noisy, f"<br>{self.noise}", "").astype(object)
        parts = [np.round(self.estimate, 1) + 0.0, self.low, self.high, mark]
        for axis in self._cut_short():
            full = np.array([escape(label) for label in self.labels[axis]], dtype=object)
            lying = [1] * self.value.ndim
            lying[axis] = -1
            parts.append(np.broadcast_to(full.reshape(lying), self.value.shape))
        return np.stack([np.asarray(part, dtype=object) for part in parts], axis=-1)

    def hover(self, axes: Sequence[str], count: str, *, prefix: str = "") -> str:
        """Return the template of a cell's hover text.

        `axes` name where the figure has the label of each column, such as x, or give the label itself; `count` names
        where it has the count, and `prefix` comes first.
        """
        cut = {axis: 4 + k for k, axis in enumerate(self._cut_short())}
        places = [
            f"{escape(heading)}: " + (f"%{{customdata[{cut[k]}]}}" if k in cut else f"%{{{axis}}}")
            for k, (heading, axis) in enumerate(zip(self.headings, axes, strict=True))
        ]
        written = (f"%{{{place}:{self.format}}}" for place in (count, "customdata[1]", "customdata[2]"))
        numbers = self.numbers_in_words(*written, estimate="%{customdata[0]:,.1f}")
        return "<br>".join([*([prefix] if prefix else []), *places, f"{numbers}%{{customdata[3]}}<extra></extra>"])

    def words(self, cell: tuple[int, ...]) -> str:
        """Return the hover text of one cell as plain text."""
        named = zip(self.headings, self.labels, cell, strict=True)
        place = "<br>".join(f"{escape(name)}: {escape(labels[k])}" for name, labels, k in named)
        written = (self.text(each[cell]) for each in (self.value, self.low, self.high))
        numbers = self.numbers_in_words(*written, estimate=number(self.estimate[cell], ",.1f"))
        return "<br>".join([place, numbers, *([self.noise] if self.noisy[cell] else [])])

    def numbers_in_words(self, value: str, low: str, high: str, *, estimate: str) -> str:
        """Return the line of a hover text with the numbers of a cell, which are written already."""
        if self.measure is None:
            return _(_NUMBERS, count=value, estimate=estimate, low=low, high=high)
        return _(_MEASURED, what=escape(self.name), value=value, low=low, high=high)

    def place(self, cell: tuple[int, ...]) -> str:
        """Return the labels of a cell."""
        return ", ".join(labels[k] for labels, k in zip(self.labels, cell, strict=True))

    def text(self, value: float) -> str:
        """Write a number of these cells with its significant digits."""
        return number(value, self.format)

    def _cut_short(self) -> list[int]:
        """Return the axes that have a shortened label in the figure."""
        return [
            k
            for k, (short, full) in enumerate(zip(self.short, self.labels, strict=True))
            if any(one != escape(other) for one, other in zip(short, full, strict=True))
        ]


class CellsOfTable(Cells):
    """Cells of `table`, with one axis for each column of `shown`.

    `fixed` holds all its other columns. Sums over columns are those of the release: consistent counts, and intervals
    that follow from what was measured. With a `measure`, the values are means or sums instead of counts, or the
    quantile at index `place` of its parts.
    """

    def __init__(
        self,
        result: Drawable,
        table: Columns,
        shown: Columns,
        fixed: Fixed,
        measure: Measure | None = None,
        place: int = 0,
    ) -> None:
        self.measure = measure
        plan = result.plan
        columns = [plan.column(name) for name in shown]
        rest = tuple(name for name in table if name in shown or fixed[name] is not ALL)
        cut = tuple(slice(None) if name in shown else plan.column(name).labels.index(str(fixed[name])) for name in rest)
        left = [name for name in rest if name in shown]
        axes = [left.index(name) for name in shown]
        if measure is None:
            alike = result.of_tally(plan.tally_index(table))
            cells, shape = alike.cells(rest), plan.shape(rest)
            numbers = [cells[name].reshape(shape) for name in NUMBERS]
            noisy, digits, named, name = alike.mostly_noise(rest), 0, noun(plan, table), _("count")
        else:
            interval = result.interval_estimates(rest, measure)[place]
            numbers = [interval.value, interval.value, interval.low, interval.high]
            noisy, digits, name = interval.noisy, interval.digits, measure.headings(plan)[place]
            named = plan.column(measure.amount).heading if measure.parts else name
        super().__init__(
            columns,
            [column.heading for column in columns],
            [shown_labels(column) for column in columns],
            [each[cut].transpose(axes) for each in numbers],
            noisy[cut].transpose(axes),
            name=name,
            noun=named,
            digits=digits,
        )
