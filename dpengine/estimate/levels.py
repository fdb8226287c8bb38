"""Estimates, intervals and whole numbers for a column that is published at several levels.

Every level was measured together with all other columns, so each combination of these is a tree of noisy counts, and
least squares over it (`marginals.level_tree`) gives unbiased estimates that add up along the levels. How far they are
off differs from node to node: the tree is not even.

Whole numbers follow from the coarsest level to the finest: within each parent, the estimates of its children are moved
to the nearest non-negative ones that add up to it. Then the finest table is rounded, and all others are its sums. The
rounding keeps the sum of every group to within one. All of this is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.consistency import ConsistentTables
from dpengine.estimate.error_distribution import ErrorDistribution, error_of_terms
from dpengine.marginals.fitting import project, round_to_total, round_to_totals
from dpengine.marginals.least_squares import NoiseTerm
from dpengine.marginals.level_tree import LevelTree, project_groups
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.measure.levels import level_of, measured_at, tree_of
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["LevelErrors", "LevelEstimates", "level_axis"]

TRIED_NODES = 24  # of a level, of different variances, whose distributions are computed
MAX_WEIGHTS = 64  # of the noise in one node; of more, those within 2 % of each other are taken as one
NEAR = 0.02


@dataclass(frozen=True)
class LevelErrors:
    """How far each cell will be off: a function of the plan and of what each level costs."""

    plan: Plan
    allocations: tuple[Allocation, ...]

    @cached_property
    def tree(self) -> LevelTree:
        """The levels, with the variance of the noise of each."""
        return tree_of(self.plan, {each.columns: moments.variance(each.scale) for each in self.allocations})

    def half_widths(self, table: Columns) -> Floats:
        """Return the 95 % half-width of each cell of `table`, one axis a column, of size 1 for those without levels.

        A half-width is the largest multiple of the standard deviation that nodes of the level need. Where scales are
        large, noise of a few draws and of many differ in it by 8 % at most. Where noise has few values, they differ by
        much more, so nodes of many different variances are tried.
        """
        widths = np.sqrt(self._variances(table)) * max(self._multiples(table).values())
        axis = level_axis(self.plan, table)
        return np.array(widths.reshape([-1 if k == axis else 1 for k in range(len(table))]))

    def error(self, table: Columns) -> ErrorDistribution:
        """Return the distribution of the error of the cells that are known least; its mean is that of all cells."""
        variances = self._variances(table)
        worst, multiples = int(variances.argmax()), self._multiples(table)
        found = self._error_of(table, worst)
        wider = max(multiples.values()) / multiples[worst] if multiples[worst] > 0 else 1.0
        mean_abs = found.mean_abs * float(np.sqrt(variances / variances[worst]).mean())
        if found.scale is not None:
            return replace(found, mean_abs=mean_abs, scale=found.scale * wider)
        return replace(found, mean_abs=mean_abs, step=found.step * wider)

    def _variances(self, table: Columns) -> Floats:
        """Return the variance of each cell of `table`, by its node: a cell adds up the trees that the table lacks."""
        lacking = tuple(name for name in self.plan.resolution.others if name not in table)
        variances: Floats = self.tree.node_variances[level_of(self.plan, table)] * self.plan.cells(lacking)
        return variances

    def _multiples(self, table: Columns) -> dict[int, float]:
        """Return for some nodes, from the best known to the worst, how many standard deviations hold 95 %."""
        variances = self._variances(table)
        _, different = np.unique(np.round(variances, 9), return_index=True)
        nodes = different[np.unique(np.linspace(0, different.size - 1, TRIED_NODES).astype(int))]
        nodes = np.union1d(nodes, [int(variances.argmax())])
        return {int(k): self._error_of(table, int(k)).half_width() / math.sqrt(variances[k]) for k in nodes}

    def _error_of(self, table: Columns, node: int) -> ErrorDistribution:
        weights = self.tree.weights(level_of(self.plan, table), node)
        places = {columns: k for k, columns in enumerate(measured_at(self.plan))}
        lacking = tuple(name for name in self.plan.resolution.others if name not in table)
        terms = []
        for measured, allocation in enumerate(self.allocations):
            of_level = np.abs(weights[places[allocation.columns]])
            for weight, times in _counted(of_level[of_level > 1e-12]):
                terms.append(NoiseTerm(measured, weight, times * self.plan.cells(lacking)))
        return error_of_terms(self.allocations)(terms)


def level_axis(plan: Plan, table: Columns) -> int | None:
    """Return the place of the column with levels in `table`; None if it lacks it."""
    levels = plan.resolution.levels
    return next((axis for axis, name in enumerate(table) if name in levels), None)


def _counted(weights: Floats) -> list[tuple[float, int]]:
    """Return different weights and how often each occurs. Near ones are taken as one of the same variance."""
    logs = np.round(np.log(weights), 9)
    if np.unique(logs).size > MAX_WEIGHTS:
        logs = np.rint(logs / NEAR)
    _, kind, times = np.unique(logs, return_inverse=True, return_counts=True)
    squares = np.bincount(kind, weights**2)
    return [(math.sqrt(square / n), int(n)) for square, n in zip(squares, times, strict=True)]


@dataclass(frozen=True)
class LevelEstimates:
    """Least-squares estimates of tables at the levels of one column."""

    plan: Plan
    marginals: tuple[Measurement, ...]

    @cached_property
    def _errors(self) -> LevelErrors:
        return LevelErrors(self.plan, tuple(one.allocation for one in self.marginals))

    @cached_property
    def _nodes(self) -> list[Floats]:
        """Estimates by level, one axis for the nodes and one for each other column."""
        values = {one.allocation.columns: one.rows.astype(np.float64) for one in self.marginals}
        root, *finer = measured_at(self.plan)
        of_root = values[root][None] if root in values else None
        return self._errors.tree.estimate([of_root, *(values.get(columns) for columns in finer)])

    def estimate(self, table: Columns) -> Floats:
        """Return the unbiased estimate of each cell."""
        level = level_of(self.plan, table)
        columns = ("", *self.plan.resolution.others) if level == 0 else measured_at(self.plan)[level]
        values = Marginal(columns, self._nodes[level]).project(table).values
        # A value this near to a whole number is one; the rest comes from the order of summation.
        return np.where(np.abs(values - np.rint(values)) < 1e-6, np.rint(values), values) + 0.0

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        """Return the estimate of each cell, and the half-widths of all."""
        estimate = self.estimate(table)
        return estimate, np.broadcast_to(self._errors.half_widths(table), estimate.shape)

    def half_width(self, table: Columns) -> float:
        """Return the half-width of the widest interval of a cell."""
        return float(self._errors.half_widths(table).max())

    def mean_abs_error(self, table: Columns) -> float:
        """Return the mean absolute error of a cell's estimate, averaged over the cells."""
        return self._errors.error(table).mean_abs

    @property
    def soft(self) -> SoftEstimates:
        """There is none: plans with levels have no amounts."""
        raise LookupError("plans with levels have no amounts")

    @property
    def fitted(self) -> ConsistentTables:
        """The finest table in whole numbers, of which all others are sums."""
        shape = self._nodes[-1].shape
        nodes = [each.reshape(each.shape[0], -1).T for each in self._nodes]  # a row for each tree
        total = max(0, round(float(nodes[0].sum())))
        expected = project(nodes[0], total)
        trees = expected.shape[0]
        for level, group in zip(nodes[1:], self._errors.tree.groups, strict=True):
            parents = expected.shape[1]
            of_tree = (np.arange(trees)[:, None] * parents + group).ravel()
            expected = project_groups(level.ravel(), expected.ravel(), of_tree).reshape(trees, -1)
        totals = round_to_total(expected.sum(axis=1), total)
        counts = round_to_totals(expected, totals).T.reshape(shape)
        columns = measured_at(self.plan)[-1]
        return ConsistentTables((Marginal(columns, np.ascontiguousarray(counts)),))
