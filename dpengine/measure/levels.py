"""Divide ε over the levels of a column: every level that a plan uses may be measured, with a share of ε.

A level is measured together with all other columns of the plan that have cells, so that the counts of every combination
of these are a tree (`marginals.level_tree`), and every published count is a sum over one level. A row changes one cell
of each measured marginal by one, whatever its level. So each has the sensitivity of any marginal. Tables with amounts
are measured beside the levels; the shares add up to the rest of ε.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.marginals.level_tree import LevelTree
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import added_up, level_groups, level_of, measured_at, tree_of
from dpengine.measure.allocation import allocate
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["allocate_levels", "cells_of_levels", "variances_of_levels"]

PARTS = 1_000  # shares of ε are multiples of 1/PARTS: a coarse grid, so that they are the same on every machine
STEPS = (200, 50, 12, 3, 1)  # sizes of the moves of the search, in such parts


def allocate_levels(plan: Plan, epsilon: Fraction) -> tuple[Allocation, ...]:
    """Divide `epsilon` over the levels of `plan` for the least sum of squares of each published table's mean variance.

    So tables of equal weight count equally, however many cells they have, and one inaccurate table counts more than
    several accurate ones. A weight multiplies the variance of its table. The variances are those of least squares over
    the tree, in closed form, and parts are thousandths of ε.
    """
    measured, others = measured_at(plan), plan.resolution.others
    # For each level, the cells that a cell of its tables adds up, times their weights.
    added: list[list[float]] = [[] for _ in measured]
    for table in plan.marginals:
        added[level_of(plan, table)].append(float(added_up(plan, table).mean() * float(plan.weights.get(table, 1))))
    groups = tuple(group.tobytes() for group in level_groups(plan))
    parts = _least_variance(groups, tuple(map(tuple, added)), bool(others))
    return tuple(
        allocate(plan, columns, epsilon * Fraction(part, PARTS))
        for columns, part in zip(measured, parts, strict=True)
        if part
    )


def cells_of_levels(plan: Plan) -> float:
    """Return the number of cells, each measured with all of ε, whose total variance is that of the tables of `plan`.

    Cells are weighted like their table.
    """
    levels = allocate_levels(plan, Fraction(1))
    variances = _mean_variances(plan, {each.columns: float(each.scale / plan.unit.rows) ** 2 for each in levels})
    return math.fsum(
        float(plan.weights.get(table, 1)) * plan.cells(table) * variance for table, variance in variances.items()
    )


def variances_of_levels(plan: Plan, epsilon: Fraction) -> dict[Columns, float]:
    """Return the mean variance of a cell of each table of `plan`, if its levels have `epsilon`."""
    levels = allocate_levels(plan, epsilon)
    return _mean_variances(plan, {each.columns: moments.variance(each.scale) for each in levels})


def _mean_variances(plan: Plan, of_noise: Mapping[Columns, float]) -> dict[Columns, float]:
    """Return the mean variance of a cell of each table, given the variance of the noise at each measured level."""
    tree = tree_of(plan, of_noise)
    return {
        table: float(added_up(plan, table).mean() * tree.node_variances[level_of(plan, table)].mean())
        for table in plan.marginals
    }


@lru_cache(maxsize=64)
def _least_variance(groups: tuple[bytes, ...], added: tuple[tuple[float, ...], ...], root: bool) -> tuple[int, ...]:
    """Return the part of each level, the root's first, in thousandths; the root has one only if it can be measured.

    `added` gives for each level the weighted cells that a cell of each of its tables adds up.

    The search starts from equal parts and moves parts from one level to another while that helps, ever smaller ones.
    """
    tree = tuple(np.frombuffer(each, dtype=np.int64) for each in groups)
    usable = range(0 if root and added[0] else 1, len(added))
    parts = [PARTS // len(usable) if k in usable else 0 for k in range(len(added))]
    parts[-1] += PARTS - sum(parts)
    least = _loss(tree, added, parts)
    for step in STEPS:
        better = True
        while better:
            better = False
            for give, take in permutations(usable, 2):
                moved = min(step, parts[give])
                if moved == 0 or (give == usable[-1] and moved == parts[give]):
                    continue  # the finest level is always measured
                tried = [part - moved * (k == give) + moved * (k == take) for k, part in enumerate(parts)]
                loss = _loss(tree, added, tried)
                if loss < least * (1 - 1e-9):
                    parts, least, better = tried, loss, True
    return tuple(parts)


def _loss(tree: tuple[Ints, ...], added: Sequence[tuple[float, ...]], parts: Sequence[int]) -> float:
    """Return Σ (weighted cells added up · mean variance of a node)² over tables, for noise of variance 1/part²."""
    variances = tuple(1 / part**2 if part else math.inf for part in parts)
    means = [float(one.mean()) for one in LevelTree(tree, variances).node_variances]
    return math.fsum((cells * mean) ** 2 for of_level, mean in zip(added, means, strict=True) for cells in of_level)
