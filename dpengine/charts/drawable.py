"""Numbers that charts can draw: those of a release, or those that its file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy.typing as npt

from dpengine.array_types import Bools, Columns, Ints
from dpengine.results.interval_estimates import IntervalEstimates, is_noise
from dpengine.results.published_columns import ENDS, Measure, measures
from dpengine.results.result import EXACT
from dpengine.results.views.published import PublishedTables
from dpengine.spec.plan import Plan

__all__ = ["Drawable", "TablesOfFile"]


class Drawable(Protocol):
    """The numbers that charts read: a `Result` computes them, `TablesOfFile` finds them in a release file."""

    @property
    def plan(self) -> Plan:
        """The plan, which says how columns and cells are called."""

    def offers(self, table: Columns, measure: Measure | None = None) -> bool:
        """Whether there are counts, or numbers of a `measure`, with intervals for a table of these columns."""

    def of_tally(self, tally: int) -> Drawable:
        """Return the numbers restricted to one of the plan's tallies."""

    def cells(self, table: Columns) -> Mapping[str, npt.NDArray[Any]]:
        """Return counts, estimates and the ends of intervals by name, one entry a cell in declared order."""

    def counts(self, table: Columns) -> Ints:
        """Return the counts of a table, one axis a column."""

    def mostly_noise(self, table: Columns) -> Bools:
        """Return which cells cannot be distinguished from empty ones, one axis a column."""

    def interval_estimates(self, table: Columns, measure: Measure) -> tuple[IntervalEstimates, ...]:
        """Return the numbers of a measure with their intervals: one for each quantile, and otherwise one."""


class TablesOfFile:
    """The tables of a release file as charts read them, with their columns in any order.

    A table that is not in the file cannot be had: the counts of others add up to its counts, but the intervals do not
    add up to its intervals.
    """

    def __init__(self, published: PublishedTables, tally: int | None = None) -> None:
        self._published, self._tally = published, tally
        self._known: dict[Columns, dict[str, npt.NDArray[Any]]] = {}

    @property
    def plan(self) -> Plan:
        return self._published.plan

    def offers(self, table: Columns, measure: Measure | None = None) -> bool:
        stored = self.plan.by_columns.get(frozenset(table))
        if stored is None or self._tally not in (None, self.plan.tally_index(stored)):
            return False
        return measure is None or measure in measures(self.plan, stored)

    def of_tally(self, tally: int) -> TablesOfFile:
        return TablesOfFile(self._published, tally)

    def cells(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        if table not in self._known:
            stored = self.plan.by_columns[frozenset(table)]
            shape, axes = self.plan.shape(stored), [stored.index(name) for name in table]
            self._known[table] = {
                name: values.reshape(shape).transpose(axes).ravel()
                for name, values in self._published.numbers(stored).items()
            }
        return self._known[table]

    def counts(self, table: Columns) -> Ints:
        counts: Ints = self._laid_out(table, "count")
        return counts

    def mostly_noise(self, table: Columns) -> Bools:
        uncertain = self._published.half_width(self.plan.by_columns[frozenset(table)]) >= EXACT
        noisy: Bools = (self._laid_out(table, "low") == 0) & uncertain
        return noisy

    def interval_estimates(self, table: Columns, measure: Measure) -> tuple[IntervalEstimates, ...]:
        amount = self.plan.amount(measure.amount)
        made = []
        for name in measure.names:
            middle, low, high = (self._laid_out(table, f"{name}{end}") for end in ENDS)
            made.append(IntervalEstimates(middle, low, high, is_noise(measure.kind, amount, low, high)))
        return tuple(made)

    def _laid_out(self, table: Columns, name: str) -> npt.NDArray[Any]:
        return self.cells(table)[name].reshape(self.plan.shape(table))
