"""Noisy boxes within boxes → what is believed of every cell and range: least squares along the tree, in two passes.

Upwards, each box's own noisy count is averaged with the sum of its children's, by precision; downwards, what parents
and children disagree on is spread over the children by their variance (Hay et al., PVLDB 2010, Theorem 3, there for
equal variances). This is the Gauss–Markov estimate, which the tests also solve densely. The non-negative estimate
takes the same way down but stays within {x ≥ 0} in every family. A box that was not split shares evenly over its
cells, which is a guess and no measurement.

Everything here sees noisy numbers and public structure only (post-processing: Dwork & Roth 2014, Proposition 2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Boxes
from dpengine.noise import moments

__all__ = ["BoxTree"]


TAIL = 2.2  # standard deviations: 95 in 100 of a sum of Laplace variables lie within 2.12, of one of them
WHOLE = 0.5  # what that leaves out where noise is so small that it is mostly 0


@dataclass(frozen=True)
class BoxTree:
    """What boxes say. Arrays over boxes are in their order, parents first."""

    boxes: Boxes

    @cached_property
    def cells(self) -> Ints:
        """How many cells each box has."""
        cells: Ints = (self.boxes.last - self.boxes.first).prod(axis=1)
        return cells

    @cached_property
    def _generations(self) -> list[Ints]:
        """Places of the boxes of each generation but the first."""
        known = self.boxes.parents < 0
        found = []
        while not known.all():
            places = np.flatnonzero(~known & known[self.boxes.parents])
            found.append(places)
            known[places] = True
        return found

    @cached_property
    def leaves(self) -> Ints:
        """Places of the boxes without children."""
        inner = np.zeros(self.cells.size, dtype=bool)
        inner[self.boxes.parents[self.boxes.parents >= 0]] = True
        return np.flatnonzero(~inner)

    @cached_property
    def _upwards(self) -> tuple[Floats, Floats]:
        """Estimate of each box from itself and all below it, and its variance."""
        parts, place = np.unique(self.boxes.parts, return_inverse=True)
        own = np.array([moments.variance(self.boxes.scale(int(part))) for part in parts])[place]
        value, variance = self.boxes.values.astype(np.float64), own.copy()
        for places in reversed(self._generations):
            parents, family = np.unique(self.boxes.parents[places], return_inverse=True)
            below, spread = np.bincount(family, value[places]), np.bincount(family, variance[places])
            weight = spread / (own[parents] + spread)  # of the parent's own count
            value[parents] = weight * value[parents] + (1 - weight) * below
            variance[parents] = weight * own[parents]
        return value, variance

    @cached_property
    def unbiased(self) -> Floats:
        """The least-squares estimate of every box."""
        value, variance = self._upwards
        best = value.copy()
        for places in self._generations:
            parents = self.boxes.parents[places]
            gap = best - self._sums(value, places)
            best[places] += variance[places] / self._sums(variance, places)[parents] * gap[parents]
        return best

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of every unbiased estimate."""
        _, variance = self._upwards
        spread = variance.copy()
        for places in self._generations:
            parents = self.boxes.parents[places]
            share = variance[places] / self._sums(variance, places)[parents]
            spread[places] = variance[places] * (1 - share) + share**2 * spread[parents]
        return np.sqrt(spread)

    @cached_property
    def expected(self) -> Floats:
        """A non-negative estimate of every box; children add up to their parent."""
        value, variance = self._upwards
        best = np.maximum(value, 0)
        for places in self._generations:
            best[places] = _within(value[places], variance[places], self.boxes.parents[places], best)
        return best

    def _sums(self, values: Floats, places: Ints) -> Floats:
        """Sum of ``values`` over the children among ``places``, for every box."""
        return np.bincount(self.boxes.parents[places], values[places], minlength=self.cells.size).astype(np.float64)

    @cached_property
    def order(self) -> Ints:
        """Every cell of the table once, as flat places; each box holds a stretch of them, from `starts`."""
        leaves, cells = self.leaves, self.cells[self.leaves]
        leaf = np.repeat(np.arange(leaves.size), cells)
        within = np.arange(leaf.size) - np.repeat(np.cumsum(cells) - cells, cells)
        ordered = np.empty_like(leaf)
        place = self.starts[leaves][leaf] + within
        flat, step = np.zeros(leaf.size, dtype=np.int64), 1
        for axis in reversed(range(len(self.boxes.shape))):
            first, last = self.boxes.first[leaves, axis], self.boxes.last[leaves, axis]
            width = (last - first)[leaf]
            flat += (first[leaf] + within % width) * step
            within //= width
            step *= self.boxes.shape[axis]
        ordered[place] = flat
        return ordered

    @cached_property
    def starts(self) -> Ints:
        """Where the stretch of each box begins in `order`."""
        starts = np.zeros(self.cells.size, dtype=np.int64)
        for places in self._generations:
            parents = self.boxes.parents[places]
            by_parent = np.argsort(parents, kind="stable")
            sizes = self.cells[places][by_parent]
            running = np.cumsum(sizes) - sizes
            _, first, family = np.unique(parents[by_parent], return_index=True, return_inverse=True)
            starts[places[by_parent]] = starts[parents[by_parent]] + running - running[first][family]
        return starts

    def spread(self, over_boxes: Floats) -> Floats:
        """A table of the shape of the boxes' in which each unsplit box's number is shared evenly by its cells."""
        leaves = self.leaves
        by_stretch = leaves[np.argsort(self.starts[leaves])]
        table = np.empty(math.prod(self.boxes.shape))
        table[self.order] = np.repeat(over_boxes[by_stretch] / self.cells[by_stretch], self.cells[by_stretch])
        return table.reshape(self.boxes.shape)

    @cached_property
    def table(self) -> Floats:
        """The expected count of every cell."""
        return self.spread(self.expected)

    def estimate(self, columns: Columns) -> Floats:
        """Expected counts over some of the columns."""
        return Marginal(self.boxes.columns, self.table).project(columns).values

    def bounds(self, columns: Columns) -> tuple[Floats, Floats]:
        """Least and greatest true count of each cell over ``columns`` that are believable: 95 in 100 lie between.

        A cell is the sum of unsplit boxes that lie in it, which noise alone makes uncertain, and of unknown parts of
        boxes that reach beyond it: anything from none to all of them.
        """
        if columns == self.boxes.columns:
            return self._bounds_of_cells()
        shape = tuple(self.boxes.shape[self.boxes.columns.index(name)] for name in columns)
        low, high = np.empty(shape), np.empty(shape)
        axes = [self.boxes.columns.index(name) for name in columns]
        first, last = self.boxes.first[self.leaves][:, axes], self.boxes.last[self.leaves][:, axes]
        for cell in np.ndindex(shape):
            here = np.array(cell, dtype=np.int64)
            meets = ((first <= here) & (here < last)).all(axis=1)
            inside = meets & (last - first == 1).all(axis=1)
            low[cell] = np.subtract(*self._sum_of(self.leaves[inside]))
            high[cell] = np.add(*self._sum_of(self.leaves[meets]))
        return low, high

    def _bounds_of_cells(self) -> tuple[Floats, Floats]:
        alone = self.cells == 1
        reach = TAIL * self.deviations + WHOLE
        per_cell = self.cells  # spread divides by it
        low = self.spread(np.where(alone, self.unbiased - reach, 0.0))
        return low, self.spread((self.unbiased + reach) * per_cell)

    def _sum_of(self, leaves: Ints) -> tuple[float, float]:
        """The unbiased sum of unsplit boxes and how far 95 in 100 such sums are off at most.

        With w_k the share of child k in what its family is corrected by, a weighted sum Σ f_k x_k over a family is
        Σ (f_k − F) z_k + F·x_parent with F = Σ f_k w_k, and the two parts are uncorrelated.
        """
        if leaves.size == 0:
            return 0.0, 0.0
        _, variance = self._upwards
        weight = np.zeros(self.cells.size)
        weight[leaves] = 1.0
        total = 0.0
        for places in reversed(self._generations):
            parents = self.boxes.parents[places]
            share = variance[places] / self._sums(variance, places)[parents]
            mean = np.bincount(parents, weight[places] * share, minlength=self.cells.size)
            total += float(((weight[places] - mean[parents]) ** 2) @ variance[places])
            weight[np.unique(parents)] = mean[np.unique(parents)]
        roots = self.boxes.parents < 0
        total += float(weight[roots] ** 2 @ variance[roots])
        return float(self.unbiased[leaves].sum()), TAIL * math.sqrt(total) + WHOLE


def _within(values: Floats, variances: Floats, parents: Ints, totals: Floats) -> Floats:
    """The nearest x ≥ 0 to ``values``, in each family with the sum that its parent has in ``totals``.

    Nearest by Σ (x − value)²/variance: every child of a family moves in proportion to its variance, and those that
    would fall below 0 stay there (Duchi et al. 2008, with weights).
    """
    families, family = np.unique(parents, return_inverse=True)
    wanted = totals[families]
    kept = np.ones(values.size, dtype=bool)
    while True:
        spread = np.bincount(family, variances * kept, minlength=families.size)
        gap = wanted - np.bincount(family, values * kept, minlength=families.size)
        moved = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
        found = np.where(kept, values + variances * moved[family], 0.0)
        below = found < 0
        if not below.any():
            return found
        kept &= ~below
