"""The errors of tables at coarser levels that are sums of finer ones (`spec.summed_levels`).

A cell of a coarser level adds up a group of cells along each of its columns. Groups may have different sizes, and so
different errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.error_distribution import ErrorDistribution, error_of_terms
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import group_sizes
from dpengine.spec.plan import Plan

__all__ = ["SumErrors"]

MAX_SIZES = 12  # sizes of groups along a column for which errors are computed; further ones count as the next larger


class SumErrors:
    """The errors of sums of least-squares estimates: a function of the plan and of what is measured."""

    def __init__(self, plan: Plan, squares: LeastSquares, allocations: Sequence[Allocation]) -> None:
        self._plan, self._squares, self._error_of = plan, squares, error_of_terms(allocations)
        self._known: dict[Columns, tuple[Floats, ErrorDistribution]] = {}

    def half_widths(self, table: Columns) -> Floats:
        """Return the 95 % half-width of each cell; an axis along which half-widths do not change has size 1."""
        return self._of(table)[0]

    def error(self, table: Columns) -> ErrorDistribution:
        """Return the error distribution of the least accurate cells; its mean absolute error is over all cells."""
        return self._of(table)[1]

    def _of(self, table: Columns) -> tuple[Floats, ErrorDistribution]:
        if table not in self._known:
            self._known[table] = self._computed(table)
        return self._known[table]

    def _computed(self, table: Columns) -> tuple[Floats, ErrorDistribution]:
        finest = self._plan.resolution.finest_columns(table)
        sizes, places = zip(*map(_different, group_sizes(self._plan, table)), strict=True)
        errors = {each: self._error_of(self._squares.noise(finest, groups=each)) for each in product(*sizes)}
        shape = tuple(map(len, sizes))
        widths = np.array([each.half_width() for each in errors.values()]).reshape(shape)
        means = np.array([each.mean_abs for each in errors.values()]).reshape(shape)
        worst = max(errors.values(), key=ErrorDistribution.half_width)
        mean_abs = float(means[np.ix_(*places)].mean())
        return widths[np.ix_(*places)], replace(worst, mean_abs=mean_abs)


def _different(sizes: Ints) -> tuple[list[int], Ints]:
    """Return the sizes of groups whose errors are computed, and for each group which of them is its own.

    >>> _different(np.array([3, 1, 3]))
    ([1, 3], array([1, 0, 1]))
    """
    different = np.unique(sizes)
    if different.size > MAX_SIZES:
        different = different[np.unique(np.linspace(0, different.size - 1, MAX_SIZES).astype(int))]
    places = np.searchsorted(different, sizes)
    if (different == 1).all():
        return [1], np.zeros(1, dtype=np.int64)  # every cell by itself: one half-width for the whole axis
    return different.tolist(), places
