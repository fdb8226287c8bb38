"""Estimates of every cell and range from a tree of noisy boxes: least squares in two passes along the tree.

Upwards, each box's own noisy count is averaged with the sum of its children's, by precision. Downwards, the difference
between a parent and its children is spread over these by their variance (Hay et al., PVLDB 2010, Theorem 3, there for
equal variances). This is the Gauss–Markov estimate; the tests compare it with the dense solution. The non-negative
estimate is computed in the same way, but stays within {x ≥ 0} in every family. Boxes whose noisy counts look like noise
alone are assumed to be empty, so that their noise does not add up in ranges. The count of a box that was not split is
divided among its cells as its neighbours suggest (`box_slopes`, `box_products`): a guess, not a measurement.

All of this is post-processing of noisy numbers and public structure (Dwork & Roth 2014, Proposition 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.box_products import follow_profiles
from dpengine.marginals.box_slopes import sloped
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Boxes
from dpengine.noise import moments

__all__ = ["BoxTree"]


TAIL = 2.2  # in standard deviations: 95 % of Laplace noise, and of sums of it, are within 2.12
# Set on the shapes of benchmarks/ranges.py, and on others of their kinds:
EMPTY = (0.8, 2.0)  # in deviations: below it a box is assumed to be empty, if few boxes are, and if all are
TAKEN = 0.01  # fraction of its variance that an assumed empty box keeps
ROUNDING = 0.5  # added to half-widths, since noise of very small scale is whole and mostly 0


@dataclass(frozen=True)
class BoxTree:
    """A tree of noisy boxes and its estimates. Arrays over boxes are in their order."""

    boxes: Boxes
    total: float | None = None  # of `expected`, if known more accurately than from the boxes

    @cached_property
    def cells(self) -> Ints:
        """Number of cells of each box."""
        cells: Ints = (self.boxes.last - self.boxes.first).prod(axis=1)
        return cells

    @cached_property
    def _generations(self) -> list[Ints]:
        """Indices of the boxes of each generation except the first."""
        known = self.boxes.parents < 0
        generations = []
        while not known.all():
            places = np.flatnonzero(~known & known[self.boxes.parents])
            generations.append(places)
            known[places] = True
        return generations

    @cached_property
    def leaves(self) -> Ints:
        """Indices of the boxes without children."""
        inner = np.zeros(self.cells.size, dtype=bool)
        inner[self.boxes.parents[self.boxes.parents >= 0]] = True
        return np.flatnonzero(~inner)

    @cached_property
    def _noise(self) -> Floats:
        """Variance of the noise of every box."""
        parts, place = np.unique(self.boxes.parts, return_inverse=True)
        noise: Floats = np.array([moments.variance(self.boxes.scale(int(part))) for part in parts])[place]
        return noise

    @cached_property
    def _upwards(self) -> tuple[Floats, Floats]:
        """Estimate of each box from itself and its descendants, and its variance."""
        return self._averaged(self.boxes.values.astype(np.float64), self._noise)

    def _averaged(self, counts: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Average the count of each box, with variance `noise`, with the sum of its children."""
        value, variance = counts.copy(), noise.copy()
        for places in reversed(self._generations):
            parents, family = np.unique(self.boxes.parents[places], return_inverse=True)
            below, spread = np.bincount(family, value[places]), np.bincount(family, variance[places])
            weight = spread / (noise[parents] + spread)  # weight of the parent's own count
            value[parents] = weight * value[parents] + (1 - weight) * below
            variance[parents] = weight * noise[parents]
        return value, variance

    @cached_property
    def unbiased(self) -> Floats:
        """Least-squares estimate of every box."""
        value, variance = self._upwards
        best = value.copy()
        for places in self._generations:
            parents = self.boxes.parents[places]
            gap = best - self._sums(value, places)
            best[places] += variance[places] / self._sums(variance, places)[parents] * gap[parents]
        return best

    def unbiased_total(self) -> tuple[float, float]:
        """Return the least-squares estimate of the sum of all cells, and its variance."""
        roots = self.boxes.parents < 0
        return float(self.unbiased[roots].sum()), float((self.deviations[roots] ** 2).sum())

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation of every unbiased estimate."""
        _, variance = self._upwards
        spread = variance.copy()
        for places in self._generations:
            parents = self.boxes.parents[places]
            portion = variance[places] / self._sums(variance, places)[parents]
            spread[places] = variance[places] * (1 - portion) + portion**2 * spread[parents]
        return np.sqrt(spread)

    @cached_property
    def expected(self) -> Floats:
        """Non-negative estimate of every box; children add up to their parent.

        Least squares as above, with hardly any variance for boxes that are assumed to be empty: the people of their
        parent are in the other children.
        """
        counts, noise = self.boxes.values.astype(np.float64), self._noise.copy()
        counts[self._empty] = 0.0
        noise[self._empty] *= TAKEN
        value, variance = self._averaged(counts, noise)
        best = np.maximum(value, 0)
        if self.total is not None:
            roots = np.flatnonzero(self.boxes.parents < 0)
            one = np.zeros(roots.size, dtype=np.int64)
            best[roots] = _project_families(value[roots], variance[roots], one, np.array([self.total]))
        for places in self._generations:
            best[places] = _project_families(value[places], variance[places], self.boxes.parents[places], best)
        return best

    @cached_property
    def _empty(self) -> Ints:
        """Indices of the unsplit boxes that are assumed to be empty, since their estimate is small for its deviation.

        About half of the estimates of empty boxes are below 0, and hardly any others, which shows how many boxes are
        empty. The more there are, the larger an estimate may be and still be considered noise.
        """
        estimates = self.unbiased[self.leaves]
        empty = min(1.0, 2 * float((estimates < 0).mean()))
        few, all_ = EMPTY
        empty_leaves: Ints = self.leaves[estimates < max(few, all_ * math.sqrt(empty)) * self.deviations[self.leaves]]
        return empty_leaves

    def _sums(self, values: Floats, places: Ints) -> Floats:
        """Return the sum of `values` over the children among `places`, for every box."""
        return np.bincount(self.boxes.parents[places], values[places], minlength=self.cells.size).astype(np.float64)

    @cached_property
    def order(self) -> Ints:
        """A permutation of all cells, as flat places, in which each box is contiguous, from `starts`."""
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
        """Start of each box in `order`."""
        starts = np.zeros(self.cells.size, dtype=np.int64)
        for places in self._generations:
            parents = self.boxes.parents[places]
            by_parent = np.lexsort((*self.boxes.first[places].T[::-1], parents))
            sizes = self.cells[places][by_parent]
            running = np.cumsum(sizes) - sizes
            _, first, family = np.unique(parents[by_parent], return_index=True, return_inverse=True)
            starts[places[by_parent]] = starts[parents[by_parent]] + running - running[first][family]
        return starts

    def spread(self, over_boxes: Floats) -> Floats:
        """Return a table over all cells; the number of each unsplit box is spread evenly over its cells."""
        leaves = self.leaves
        by_stretch = leaves[np.argsort(self.starts[leaves])]
        table = np.empty(math.prod(self.boxes.shape))
        table[self.order] = np.repeat(over_boxes[by_stretch] / self.cells[by_stretch], self.cells[by_stretch])
        return table.reshape(self.boxes.shape)

    @cached_property
    def table(self) -> Floats:
        """Expected count of every cell, one axis a column."""
        leaves = self.leaves[np.argsort(self.starts[self.leaves])]
        even, boxes = self.spread(self.expected), (self.boxes.first[leaves], self.boxes.last[leaves], self.order)
        return follow_profiles(sloped(even, *boxes), even, *boxes, self.deviations[leaves])

    def estimate(self, columns: Columns) -> Floats:
        """Return the expected counts over some of the columns."""
        return Marginal(self.boxes.columns, self.table).project(columns).values

    def bounds(self, columns: Columns, groups: Mapping[str, Ints] | None = None) -> tuple[Floats, Floats]:
        """Return the ends of a 95 % interval for the true count of each cell over `columns`.

        `groups` gives for some columns the group of each of their cells, in contiguous groups, which then act as cells.

        A cell is the sum of the unsplit boxes within it, uncertain by their noise alone, and of unknown parts of boxes
        that extend beyond it: anything from none to all of their counts. Where noise has made these so negative that
        no count would be left, the interval is that of the sum of all boxes with a part in the cell.
        """
        if columns == self.boxes.columns and not groups:
            return self._bounds_of_cells()
        axes = [self.boxes.columns.index(name) for name in columns]
        of_axis = [(groups or {}).get(name, np.arange(self.boxes.shape[axis]))
                   for name, axis in zip(columns, axes, strict=True)]  # fmt: skip
        starts = [np.flatnonzero(np.diff(each, prepend=-1)) for each in of_axis]
        ends = [np.append(each[1:], group.size) for each, group in zip(starts, of_axis, strict=True)]
        shape = tuple(each.size for each in starts)
        low, most, half_width = np.empty(shape), np.empty(shape), np.empty(shape)
        first, last = self.boxes.first[self.leaves][:, axes], self.boxes.last[self.leaves][:, axes]
        for cell in np.ndindex(shape):
            start, end = (np.array([each[k] for each, k in zip(of, cell, strict=True)]) for of in (starts, ends))
            meets = ((first < end) & (start < last)).all(axis=1)
            inside = meets & ((first >= start) & (last <= end)).all(axis=1)
            low[cell] = np.subtract(*self._sum_of(self.leaves[inside]))
            most[cell], half_width[cell] = self._sum_of(self.leaves[meets])
        return _ends(low, most, half_width)

    def _bounds_of_cells(self) -> tuple[Floats, Floats]:
        half_width = TAIL * self.deviations + ROUNDING
        low = np.where(self.cells == 1, self.unbiased - half_width, 0.0)
        low, high = (self.spread(end * self.cells) for end in _ends(low, self.unbiased, half_width))
        return low, high  # `spread` divides by the cells

    def _sum_of(self, leaves: Ints) -> tuple[float, float]:
        """Return the unbiased sum of unsplit boxes, and the half-width of its 95 % interval.

        With w_k the portion of its family's correction that child k takes, a weighted sum Σ f_k x_k over a family is
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
            portion = variance[places] / self._sums(variance, places)[parents]
            mean = np.bincount(parents, weight[places] * portion, minlength=self.cells.size)
            total += float(((weight[places] - mean[parents]) ** 2) @ variance[places])
            weight[np.unique(parents)] = mean[np.unique(parents)]
        roots = self.boxes.parents < 0
        total += float(weight[roots] ** 2 @ variance[roots])
        return float(self.unbiased[leaves].sum()), TAIL * math.sqrt(total) + ROUNDING


def _ends(low: Floats, most: Floats, half_width: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals from `low` to `most` + `half_width`; of `most` ± `half_width` if none is left."""
    high = most + half_width
    return np.where(high < low, most - half_width, low), high


def _project_families(values: Floats, variances: Floats, parents: Ints, totals: Floats) -> Floats:
    """Return the x ≥ 0 nearest to `values` whose sum over each family is that of its parent in `totals`.

    Nearest by Σ (x − value)²/variance: every child of a family moves in proportion to its variance, or to 0 where it
    would fall below.

    Source: Duchi et al. 2008, with weights.
    """
    families, family = np.unique(parents, return_inverse=True)
    wanted = totals[families]
    positive = np.ones(values.size, dtype=bool)
    while True:
        spread = np.bincount(family, variances * positive, minlength=families.size)
        gap = wanted - np.bincount(family, values * positive, minlength=families.size)
        moved = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
        projected = np.where(positive, values + variances * moved[family], 0.0)
        below = projected < 0
        if not below.any():
            return projected
        positive &= ~below
