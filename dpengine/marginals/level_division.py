"""The loss of dividing ε over the levels of a column, which `measure.levels` minimises: by the plan alone.

Parts are thousandths, the root's first. Their loss is the sum of squares of each published table's mean variance. The
variances are those of least squares over the tree of levels, in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

from dpengine.array_types import Columns, Ints
from dpengine.marginals.level_tree import LevelTree
from dpengine.marginals.plan_levels import added_up, level_groups, level_of, measured_at, tree_of
from dpengine.spec.plan import Plan

__all__ = [
    "PARTS",
    "cells_added",
    "is_least",
    "level_loss",
    "may_have_part",
    "mean_variances",
    "moved_part",
    "weighted_cells",
]

PARTS = 1_000  # shares of ε are multiples of 1/PARTS: a coarse grid, so that they are the same on every machine


def cells_added(plan: Plan) -> tuple[tuple[float, ...], ...]:
    """Return for each level, the root's first, the cells that a cell of each of its tables adds up, times weights."""
    added: list[list[float]] = [[] for _ in measured_at(plan)]
    for table in plan.marginals:
        added[level_of(plan, table)].append(float(added_up(plan, table).mean() * float(plan.weights.get(table, 1))))
    return tuple(map(tuple, added))


def may_have_part(plan: Plan, added: Sequence[tuple[float, ...]]) -> range:
    """Return the levels that may have a part of ε: the root only if there are other columns, and a table without it."""
    return range(0 if plan.resolution.others and added[0] else 1, len(added))


def moved_part(parts: Sequence[int], give: int, take: int, step: int, usable: range) -> list[int] | None:
    """Return `parts` with up to a `step` of them moved between two levels; None if the first has none to give.

    The finest level is always measured.
    """
    moved = min(step, parts[give])
    if moved == 0 or (give == usable[-1] and moved == parts[give]):
        return None
    return [part - moved * (k == give) + moved * (k == take) for k, part in enumerate(parts)]


def level_loss(tree: Sequence[Ints], added: Sequence[tuple[float, ...]], parts: Sequence[int]) -> float:
    """Return Σ (weighted cells added up · mean variance of a node)² over tables, for noise of variance 1/part²."""
    variances = tuple(1 / part**2 if part else math.inf for part in parts)
    means = [float(one.mean()) for one in LevelTree(tuple(tree), variances).node_variances]
    return math.fsum((cells * mean) ** 2 for of_level, mean in zip(added, means, strict=True) for cells in of_level)


def is_least(plan: Plan, parts: Sequence[int]) -> bool:
    """Return whether no thousandth of ε that is moved from one level to another makes the loss smaller."""
    tree, added = level_groups(plan), cells_added(plan)
    least, usable = level_loss(tree, added, parts) * (1 - 1e-8), may_have_part(plan, added)
    tried = (moved_part(parts, give, take, 1, usable) for give, take in permutations(usable, 2))
    return all(level_loss(tree, added, each) >= least for each in tried if each is not None)


def mean_variances(plan: Plan, of_noise: Mapping[Columns, float]) -> dict[Columns, float]:
    """Return the mean variance of a cell of each table, given the variance of the noise at each measured level."""
    tree = tree_of(plan, of_noise)
    return {
        table: float(added_up(plan, table).mean() * tree.node_variances[level_of(plan, table)].mean())
        for table in plan.marginals
    }


def weighted_cells(plan: Plan, scales: Mapping[Columns, float]) -> float:
    """Return the number of cells, each measured with all of ε, whose total variance is that of the tables of `plan`.

    `scales` are those of the noise at each measured level, if all levels have all of ε, and a person has one row. Cells
    are weighted like their table.
    """
    variances = mean_variances(plan, {columns: scale**2 for columns, scale in scales.items()})
    return math.fsum(
        float(plan.weights.get(table, 1)) * plan.cells(table) * variance for table, variance in variances.items()
    )
