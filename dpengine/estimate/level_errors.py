"""Predict the errors of tables at the levels of a column, from the plan and the ε of each level alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.error_distribution import ErrorDistribution, error_of_terms
from dpengine.marginals.least_squares import NoiseTerm
from dpengine.marginals.level_tree import LevelTree
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import added_up, level_of, measured_at, tree_of
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["LevelErrors"]

TRIED_NODES = 24  # nodes of a level, of different variances, whose distributions are computed
MAX_WEIGHTS = 64  # distinct weights of the noise in one node; of more, those within `NEAR` of each other are merged
NEAR = 0.02  # relative difference of weights that are merged


@dataclass(frozen=True)
class LevelErrors:
    """The predicted errors of all cells: a function of the plan and of the ε of each level."""

    plan: Plan
    allocations: tuple[Allocation, ...]

    @cached_property
    def tree(self) -> LevelTree:
        """The levels, with the variance of the noise of each."""
        return tree_of(self.plan, {each.columns: moments.variance(each.scale) for each in self.allocations})

    def half_widths(self, table: Columns) -> Floats:
        """Return the 95 % half-width of each cell of `table`: an array with one axis for each column.

        An axis along which half-widths do not change has size 1. A half-width is a multiple of the cell's standard
        deviation, the same for all cells: the largest that any node of the level needs. Only some nodes are tried, with
        variances as different as possible. The multiples of nodes differ by 8 % at most if scales are large, and by
        much more if the noise has few values.
        """
        nodes, times = self._variances(table)
        axis = level_axis(self.plan, table)
        of_nodes = nodes.reshape([-1 if k == axis else 1 for k in range(len(table))])
        widths: Floats = np.sqrt(of_nodes * times) * max(self._multiples(table).values())
        return widths

    def error(self, table: Columns) -> ErrorDistribution:
        """Return the error distribution of the least accurate cells; its mean absolute error is over all cells."""
        nodes, times = self._variances(table)
        worst, most, multiples = int(nodes.argmax()), int(times.max()), self._multiples(table)
        distribution = self._error_of(table, worst, most)
        wider = max(multiples.values()) / multiples[worst, most] if multiples[worst, most] > 0 else 1.0
        mean_abs = distribution.mean_abs * float(np.sqrt(nodes / nodes[worst]).mean() * np.sqrt(times / most).mean())
        if distribution.scale is not None:
            return replace(distribution, mean_abs=mean_abs, scale=distribution.scale * wider)
        return replace(distribution, mean_abs=mean_abs, step=distribution.step * wider)

    def variance(self, table: Columns) -> float:
        """Return the variance of the estimate of the least accurate cell."""
        nodes, times = self._variances(table)
        return float(nodes.max() * times.max())

    def _variances(self, table: Columns) -> tuple[Floats, Ints]:
        """Return the variance of each node of the table's level, and how many of its trees each cell adds up."""
        return self.tree.node_variances[level_of(self.plan, table)], added_up(self.plan, table)

    def _multiples(self, table: Columns) -> dict[tuple[int, int], float]:
        """Return for some nodes, from the most to the least accurate, the half-width in standard deviations.

        Cells add up several trees: the fewest that any cell does, and the most.
        """
        variances, times = self._variances(table)
        _, different = np.unique(np.round(variances, 9), return_index=True)
        nodes = different[np.unique(np.linspace(0, different.size - 1, TRIED_NODES).astype(int))]
        nodes = np.union1d(nodes, [int(variances.argmax())])
        sums = np.unique(times)
        tried = [(int(k), int(n)) for k in nodes for n in sums[np.unique(np.linspace(0, sums.size - 1, 4).astype(int))]]
        return {(k, n): self._error_of(table, k, n).half_width() / math.sqrt(variances[k] * n) for k, n in tried}

    def _error_of(self, table: Columns, node: int, trees: int) -> ErrorDistribution:
        weights = self.tree.weights(level_of(self.plan, table), node)
        places = {columns: k for k, columns in enumerate(measured_at(self.plan))}
        terms = []
        for measured, allocation in enumerate(self.allocations):
            of_level = np.abs(weights[places[allocation.columns]])
            for weight, times in _distinct(of_level[of_level > 1e-12]):
                terms.append(NoiseTerm(measured, weight, times * trees))
        return error_of_terms(self.allocations)(tuple(terms))


def level_axis(plan: Plan, table: Columns) -> int | None:
    """Return the index of the column with levels in `table`; None if it has none."""
    levels = plan.resolution.levels
    return next((axis for axis, name in enumerate(table) if name in levels), None)


def _distinct(weights: Floats) -> list[tuple[float, int]]:
    """Return distinct weights and how often each occurs. Close ones are merged into one of the same variance."""
    logs = np.round(np.log(weights), 9)
    if np.unique(logs).size > MAX_WEIGHTS:
        logs = np.rint(logs / NEAR)
    _, group, times = np.unique(logs, return_inverse=True, return_counts=True)
    squares = np.bincount(group, weights**2)
    return [(math.sqrt(square / n), int(n)) for square, n in zip(squares, times, strict=True)]
