"""Choose joint tables: a few tables whose sums are all marginals of a plan, so that each row is added to few tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.spec.domain import Amount, Column
from dpengine.spec.numeric.amount_steps import Stepped, at_steps
from dpengine.spec.plan import Plan

__all__ = ["JointTables", "cover"]

_MAX_CELLS = 1 << 15  # of a joint table, so that it fits in a processor's nearer caches


class JointTables:
    """The joint tables in which some marginals of a plan are counted.

    `columns` are the columns used by the plan, `sizes` their numbers of cells, and `axes` holds, for each joint table,
    the places of its columns among them. A joint table over amounts is counted in the units of their grains, so only
    marginals over the same amounts are sums of it. If the marginals are `Stepped`, amounts are counted at their steps.
    """

    def __init__(self, plan: Plan, marginals: Sequence[Columns]) -> None:
        self._resolution, self._wanted = plan.resolution, marginals
        stepped = any(isinstance(each, Stepped) for each in marginals)  # if one is, all are: see `count.count`
        marginals = [
            plan.resolution.declared_columns(each) for each in marginals
        ]  # a coarser level is a sum of the column
        # Sorted by name, whatever their order in the plan: the order of codes decides which rows of a person are kept.
        columns = [plan.column(name) for name in sorted(plan.used)]
        self.columns: list[Column] = [
            at_steps(each) if stepped and isinstance(each, Amount) else each for each in columns
        ]
        self.sizes = [column.size for column in self.columns]
        self._names = [column.name for column in self.columns]
        self.amounts = {axis: each for axis, each in enumerate(self.columns) if isinstance(each, Amount)}
        self._soft = {each.name for each in self.amounts.values()}
        sizes = dict(zip(self._names, self.sizes, strict=True))
        parts = {soft: [each for each in marginals if self._soft & {*each} == soft] for soft in self._kinds(marginals)}
        self._joints = [joint for tables in parts.values() for joint in self._cover(tables, sizes)]
        self._marginals = marginals
        self.axes = [[self._names.index(name) for name in joint] for joint in self._joints]

    def places(self, columns: Columns) -> list[int]:
        """Return the places of these columns among all columns."""
        return [self._names.index(name) for name in columns]

    def shape(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the joint table that has these axes."""
        return tuple(self.sizes[axis] for axis in axes)

    def marginals(self, counts: Sequence[Ints]) -> list[Ints]:
        """Sum the counts of the joint tables to those of the marginals, with axes in the marginals' order."""
        by_joint = list(zip(self._joints, counts, strict=True))
        # The smallest first: a marginal is summed from the smallest that holds it.
        by_kind = {soft: sorted(((joint, frozenset(joint), table) for joint, table in by_joint
                                 if self._soft & {*joint} == soft), key=lambda each: each[2].size)
                   for soft in self._kinds(self._joints)}  # fmt: skip
        tables = (_marginal(by_kind[frozenset(self._soft & {*marginal})], marginal) for marginal in self._marginals)
        return [
            self._resolution.coarsen(table, marginal, wanted)
            for table, marginal, wanted in zip(tables, self._marginals, self._wanted, strict=True)
        ]

    def _kinds(self, tables: Sequence[Columns]) -> list[frozenset[str]]:
        """Return the different sets of amounts that are columns of `tables`."""
        return list(dict.fromkeys(frozenset(self._soft & {*each}) for each in tables))

    def _cover(self, tables: Sequence[Columns], sizes: Mapping[str, int]) -> list[Columns]:
        """Choose joint tables for `tables` over the same amounts; they have no other amounts."""
        used = {name for table in tables for name in table}
        usable = {name: size for name, size in sizes.items() if name in used or name not in self._soft}
        return cover(tables, usable, _MAX_CELLS)


def cover(tables: Sequence[Columns], sizes: Mapping[str, int], max_cells: int) -> list[Columns]:
    """Choose joint tables such that each of `tables` lies in one of them.

    None has more than `max_cells` cells, unless one of `tables` itself does. The choice is greedy: a joint table begins
    with a largest table that is not covered yet and, while there is room, adds the column that covers most further
    tables. Columns are in the order of `sizes`.

    >>> cover([("a",), ("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4}, max_cells=24)
    [('a', 'b', 'c')]
    >>> cover([("a",), ("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4}, max_cells=12)
    [('a', 'b'), ('b', 'c')]
    """
    bit = {name: 1 << k for k, name in enumerate(sizes)}
    size = {bit[name]: number for name, number in sizes.items()}
    pending = list(dict.fromkeys(sum({bit[name] for name in table}) for table in sorted(tables, key=len, reverse=True)))
    joints = []
    while pending:
        joint = pending[0]
        room = max_cells // math.prod(number for column, number in size.items() if column & joint)
        while True:
            # Adding a column covers the tables that lacked only this one.
            gains = Counter(last for table in pending if (last := table & ~joint) and last & (last - 1) == 0)
            candidates = [column for column in gains if size[column] <= room]
            if not candidates:
                break
            added = max(candidates, key=lambda column: (gains[column], -size[column], -column))
            joint |= added
            room //= size[added]
        joints.append(tuple(name for name in sizes if bit[name] & joint))
        pending = [table for table in pending if table & ~joint]
    return joints


def _marginal(joints: Sequence[tuple[Columns, frozenset[str], Ints]], marginal: Columns) -> Ints:
    """Return a marginal as a sum of the first of `joints` that has all of its columns."""
    names = frozenset(marginal)
    joint, table = next((joint, table) for joint, columns, table in joints if names <= columns)
    summed = table.sum(axis=tuple(k for k, name in enumerate(joint) if name not in names), dtype=np.int64)
    kept_names = [name for name in joint if name in names]
    return np.array(summed.transpose([kept_names.index(name) for name in marginal]), dtype=np.int64, order="C")
