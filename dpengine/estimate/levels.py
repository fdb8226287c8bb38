"""Estimates, intervals and whole numbers for a column that is published at several levels.

Every level was measured together with all other columns, so each combination of these is a tree of noisy counts, and
least squares over it (`marginals.level_tree`) gives unbiased estimates that add up along the levels. Their errors
differ from node to node, since the tree is uneven.

Whole numbers follow from these estimates or, if the leaves are mostly empty, from expected counts that are shrunk
towards 0 (`marginals.sparse_tree`). From the coarsest level to the finest, the children of a node are replaced by the
nearest non-negative counts that add up to it. Then the finest table is rounded, and all others are its sums. The
rounding keeps the sum of every group to within one. All of this is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.consistency import ConsistentTables
from dpengine.estimate.level_errors import LevelErrors
from dpengine.marginals.fitting import project, round_to_total, round_to_totals
from dpengine.marginals.level_tree import project_groups
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Measurement
from dpengine.marginals.plan_levels import level_of, measured_at
from dpengine.marginals.sparse_tree import expected_counts
from dpengine.spec.plan import Plan

__all__ = ["LevelEstimates"]


@dataclass(frozen=True)
class LevelEstimates:
    """Least-squares estimates of tables at the levels of one column."""

    plan: Plan
    marginals: tuple[Measurement, ...]
    with_amounts: SoftEstimates | None = None

    @cached_property
    def _errors(self) -> LevelErrors:
        return LevelErrors(self.plan, tuple(one.allocation for one in self.marginals))

    @cached_property
    def _nodes(self) -> list[Floats]:
        """Estimates by level, one axis for the nodes and one for each other column."""
        return self._errors.tree.estimate(self._noisy)

    @cached_property
    def _noisy(self) -> list[Floats | None]:
        """Noisy counts by level, in the same form; None for a level that is not measured."""
        values = {one.allocation.columns: one.rows.astype(np.float64) for one in self.marginals}
        root, *finer = measured_at(self.plan)
        of_root = values[root][None] if root in values else None
        return [of_root, *(values.get(columns) for columns in finer)]

    def estimate(self, table: Columns) -> Floats:
        """Return the unbiased estimate of each cell."""
        level = level_of(self.plan, table)
        resolution = self.plan.resolution
        columns = ("", *resolution.others) if level == 0 else measured_at(self.plan)[level]
        finer = tuple(name if name in resolution.levels else resolution.finest_columns((name,))[0] for name in table)
        values = resolution.coarsen(Marginal(columns, self._nodes[level]).project(finer).values, finer, table)
        # A value this close to a whole number is meant to be whole; the difference comes from the order of summation.
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
        """Estimates of the tables with amounts, which were measured beside the levels."""
        if self.with_amounts is None:
            raise LookupError("this plan has no amounts")
        return self.with_amounts

    @property
    def total(self) -> tuple[float, float]:
        """The estimate of the total, and its variance."""
        return float(self.estimate(())), self._errors.variance(())

    def variance(self, table: Columns) -> float:
        """Return the variance of the estimate of the least accurate cell."""
        return self._errors.variance(table)

    def expected(self, total: int | None = None) -> Marginal[np.float64]:
        """Return the finest table without negative numbers, as expected counts that add up to `total`.

        The column with levels comes last.
        """
        finest, *others = measured_at(self.plan)[-1]
        scale = next(
            float(one.allocation.scale) for one in self.marginals if one.allocation.columns == (finest, *others)
        )
        best = expected_counts(self._errors.tree, self._noisy, scale) or self._nodes
        nodes = [each.reshape(each.shape[0], -1).T for each in best]  # a row for each tree
        expected = project(nodes[0], max(0, round(float(nodes[0].sum()))) if total is None else total)
        trees = expected.shape[0]
        for level, group in zip(nodes[1:], self._errors.tree.groups, strict=True):
            parents = expected.shape[1]
            of_tree = (np.arange(trees)[:, None] * parents + group).ravel()
            expected = project_groups(level.ravel(), expected.ravel(), of_tree).reshape(trees, -1)
        return Marginal((*others, finest), expected.reshape(*best[-1].shape[1:], -1))

    @property
    def fitted(self) -> ConsistentTables:
        """The finest table in whole numbers; all others are sums of it."""
        expected = self.expected()
        of_trees = expected.values.reshape(-1, expected.values.shape[-1])
        totals = round_to_total(of_trees.sum(axis=1), max(0, round(float(of_trees.sum()))))
        counts = round_to_totals(of_trees, totals).reshape(expected.values.shape)
        columns = measured_at(self.plan)[-1]
        table = Marginal(expected.columns, counts).project(columns).values
        return ConsistentTables((Marginal(columns, np.ascontiguousarray(table)),))
