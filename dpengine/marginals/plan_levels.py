"""The marginals at the levels of a plan's column, and the tree of their counts (`marginals.level_tree`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.marginals.level_tree import NOT_MEASURED, LevelTree
from dpengine.marginals.measurement import Allocation
from dpengine.spec.plan import Plan

__all__ = [
    "added_up",
    "are_levels",
    "group_sizes",
    "level_groups",
    "level_of",
    "may_measure",
    "measured_at",
    "measures_levels",
    "of_counts",
    "tree_of",
]


def group_sizes(plan: Plan, table: Columns) -> list[Ints]:
    """Return for each column of `table` how many cells of its finest level in use each of its cells adds up."""
    resolution = plan.resolution
    return [
        np.bincount(resolution.groups(fine, name), minlength=plan.column(name).size)
        if fine != name
        else np.ones(plan.column(name).size, dtype=np.int64)
        for name, fine in zip(table, resolution.finest_columns(table), strict=True)
    ]


def measured_at(plan: Plan) -> list[Columns]:
    """Return the marginals at the root, over all other columns, and at each level, from the coarsest to the finest."""
    levels, others = plan.resolution.levels, plan.resolution.others
    return [others, *((name, *others) for name in levels)]


def may_measure(plan: Plan, columns: Columns) -> bool:
    """Return whether `columns` may be measured with the levels of `plan`; the root only if a table has no level."""
    root, *levels = measured_at(plan)
    return columns in levels or (columns == root and any(level_of(plan, table) == 0 for table in plan.marginals))


def level_of(plan: Plan, table: Columns) -> int:
    """Return the index of the level of `table`: 0 for the root, if it lacks the column with levels."""
    levels = plan.resolution.levels
    return next((k for k, name in enumerate(levels, start=1) if name in table), 0)


def added_up(plan: Plan, table: Columns) -> Ints:
    """Return how many cells each cell of `table` adds up, one axis per column, most of size 1.

    This is the number of cells of the columns that it lacks, times those within a coarser level of a column that it
    has.
    """
    resolution, finest = plan.resolution, plan.resolution.finest_columns(table)
    sizes = np.full((1,) * len(table), plan.cells(tuple(name for name in resolution.others if name not in finest)))
    for axis, (name, fine) in enumerate(zip(table, finest, strict=True)):
        if name != fine and name not in resolution.levels:
            within = np.bincount(resolution.groups(fine, name), minlength=plan.column(name).size)
            sizes = sizes * within.reshape([-1 if k == axis else 1 for k in range(len(table))])
    return sizes.astype(np.int64)


def measures_levels(plan: Plan, allocations: Sequence[Allocation]) -> bool:
    """Return whether the measured counts are distinct levels of `plan`, including the finest."""
    return are_levels(plan, [each.columns for each in of_counts(plan, allocations)])


def are_levels(plan: Plan, measured: Sequence[Columns]) -> bool:
    """Return whether the columns of `measured` counts are those of distinct levels of `plan`, including the finest."""
    wanted = measured_at(plan)
    return {*measured} <= {*wanted} and wanted[-1] in measured and len({*measured}) == len(measured)


def of_counts(plan: Plan, allocations: Sequence[Allocation]) -> tuple[Allocation, ...]:
    """Return the allocations of tables without amounts."""
    return tuple(each for each in allocations if not plan.has_amount(each.columns))


def tree_of(plan: Plan, variances: Mapping[Columns, float]) -> LevelTree:
    """Return the tree of the levels of `plan`, given the variance of each measured marginal."""
    noise = tuple(variances.get(columns, NOT_MEASURED) for columns in measured_at(plan))
    return LevelTree(level_groups(plan), noise)


def level_groups(plan: Plan) -> tuple[Ints, ...]:
    """Return for each level the index of each node's parent, from the coarsest level, whose parent is the root."""
    levels = plan.resolution.levels
    root = np.zeros(plan.column(levels[0]).size, dtype=np.int64)
    finer = (plan.resolution.groups(fine, coarse) for coarse, fine in pairwise(levels))
    # Map places at the finer level to the coarser level; both are in the order of the tree.
    return (root, *finer)
