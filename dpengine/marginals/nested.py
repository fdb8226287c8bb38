"""Make tables at different levels of a column agree: find what they share, and round to it.

A table determines its own columns and their coarser levels. So a table of ages and one of sex by 20-year groups of age
share these groups, and either can be made to agree with the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.fitting import round_to_totals
from dpengine.marginals.graphs import junction_order
from dpengine.marginals.marginal import Marginal
from dpengine.spec.categories.resolution import Resolution

__all__ = ["NO_LEVELS", "Counted", "follow", "in_one", "tree_order"]

NO_LEVELS = Resolution({}, frozenset())  # of tables whose columns are at one level each


class Counted(Protocol):
    """Whole counts over some columns, and over fewer of them."""

    @property
    def columns(self) -> Columns:
        """Names of the columns."""

    def project(self, onto: Sequence[str]) -> Marginal[np.int64]:
        """Return the counts over some of the columns."""


def tree_order(resolution: Resolution, tables: Sequence[Columns]) -> list[Columns] | None:
    """Order tables so that what each shares with earlier ones lies in one of these; None if they close a ring."""
    by_known = {resolution.determined_columns(table): table for table in tables}
    order = junction_order([*by_known])
    return None if order is None else [by_known[each] for each in order]


def in_one(resolution: Resolution, earlier: Sequence[Columns], tables: Sequence[Columns]) -> Columns | None:
    """Return the columns of one table whose sums are `tables`, which close a ring; None if it closes a ring too."""
    joint = tuple(sorted({name for table in tables for name in table}))
    if len({*resolution.declared_columns(joint)}) < len(joint):
        return None  # two levels of one column
    return joint if tree_order(resolution, [*earlier, joint]) is not None else None


def follow(
    resolution: Resolution, expected: Marginal[np.float64], earlier: Sequence[Counted], total: int
) -> Marginal[np.int64]:
    """Round a table of expected counts so that it keeps the counts that it shares with one of `earlier`.

    It follows the earlier table with which it shares most cells; without any, it keeps the `total`.
    """
    clique = expected.columns
    known = [(resolution.shared_columns(clique, each.columns), each) for each in earlier]
    shared, nearest = max(known, key=lambda each: len(resolution.determined_columns(each[0])), default=((), None))
    sums = np.array(total)
    if nearest is not None:
        finer = resolution.finer_columns(shared, nearest.columns)
        assert finer is not None, "columns that both tell"
        sums = resolution.coarsen(nearest.project(finer).values, finer, shared)
    if {*shared} <= {*clique}:
        turned = expected.project((*shared, *(name for name in clique if name not in shared)))
        counts = round_to_totals(turned.values.reshape(sums.size, -1), sums.ravel()).reshape(turned.values.shape)
        values = Marginal(turned.columns, counts).project(clique).values
    else:
        groups = _groups(resolution, expected, shared, sums.shape)
        values = _round_groups(expected.values.ravel(), groups, sums.ravel()).reshape(expected.values.shape)
    return Marginal(clique, np.ascontiguousarray(values))


def _groups(resolution: Resolution, table: Marginal[np.float64], shared: Columns, shape: tuple[int, ...]) -> Ints:
    """Return for each cell of the flat table the index of its cell in a table of the `shared` columns."""
    finer = resolution.finer_columns(shared, table.columns)
    assert finer is not None, "columns that the table tells"
    index = np.zeros((1,) * len(table.columns), dtype=np.int64)
    for name, fine, size in zip(shared, finer, shape, strict=True):
        axis = table.columns.index(fine)
        group = resolution.groups(fine, name) if fine != name else np.arange(size)
        index = index * size + group.reshape([-1 if k == axis else 1 for k in range(len(table.columns))])
    return np.broadcast_to(index, table.values.shape).ravel()


def _round_groups(values: Floats, group: Ints, totals: Ints) -> Ints:
    """Round `values` to whole numbers that add up to `totals` in each group.

    >>> _round_groups(np.array([0.4, 3.0, 1.6, 0.0]), np.array([0, 1, 0, 2]), np.array([2, 4, 0]))
    array([0, 4, 2, 0])
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=totals.size)
    rank = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    empty = np.bincount(group, values, totals.size) <= 0
    rows: Floats = np.zeros((totals.size, int(sizes.max(initial=1))))
    rows[group[order], rank] = np.where(empty[group[order]], 1.0, values[order])
    rounded = round_to_totals(rows, totals)
    counts = np.empty(group.size, dtype=np.int64)
    counts[order] = rounded[group[order], rank]
    return counts
