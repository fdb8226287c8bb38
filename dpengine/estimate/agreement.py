"""Make the parts of a plan agree in whole numbers: boxes, levels, tables that were measured directly, and a model.

All are tables in an order in which each keeps what it shares with earlier ones, at any level (`marginals.nested`). The
rows of a model come first, then ranges tables, which keep the sums of their boxes. Tables that overlap in a ring are
fitted by one joint table, if none of them is at several levels. All of this is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.consistency import ConsistentTables, counted_tables, fit_tables, round_boxes, through_one_table
from dpengine.estimate.joint_table import fit_joint
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.fitting import rake
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.nested import Counted, follow, in_one, tree_order
from dpengine.marginals.pairwise import Pairwise
from dpengine.spec.categories.resolution import Resolution

__all__ = ["Following", "agree"]


@dataclass(frozen=True)
class Following:
    """A model of some columns, and tables of expected counts, in order, that must agree with it and each other."""

    model: Pairwise
    tables: tuple[Marginal[np.float64], ...]
    resolution: Resolution

    def after(self, rows: Counted, total: int) -> tuple[Marginal[np.int64], ...]:
        """Return the tables in whole numbers, given whole counts of the model."""
        return _in_order(self.resolution, self.tables, [rows], total)


def agree(
    squares: LeastSquares,
    values: Sequence[Ints | Floats],
    amounts: frozenset[str],
    trees: Sequence[BoxTree],
    levels: Sequence[Marginal[np.float64]],
    model: Pairwise | None,
    resolution: Resolution,
) -> ConsistentTables | Following:
    """Make tables agree: a fixed function of its arguments.

    `values` are those measured for the marginals of `squares`; counts are their sums over `amounts`. `trees` are tables
    that were measured in boxes, and `levels` expected counts of the finest tables.
    """
    estimate = squares.estimator(values)
    total = max(0, round(float(estimate(()))))
    trees = [replace(tree, total=float(total)) for tree in trees]
    expected = [*(Marginal(tree.boxes.columns, tree.table) for tree in trees), *levels]
    single = {name: each.project((name,)).values for each in expected[::-1] for name in each.columns}
    known = [*([tuple(model.one)] if model is not None else []), *(each.columns for each in levels)]
    fitted = fit_tables(squares, estimate, counted_tables(squares, amounts), total, single)
    direct = [table for table in maximal([*fitted])
              if all({*table} != {*each.columns} for each in expected)
              and not any(resolution.finer_columns(table, one) for one in known)]  # fmt: skip
    earlier = [*([tuple(model.one)] if model is not None else []), *(each.columns for each in expected)]
    if tree_order(resolution, [*earlier, *direct]) is None and (joint := in_one(resolution, earlier, direct)):
        fitted = {
            joint: fit_joint(joint, {each: fitted[each] for each in direct}, {n: single[n] for n in joint}, total)
        }
        direct = [joint]
    for table in direct:
        expected.append(Marginal(table, _with_margins(fitted[table], table, expected)))
    if model is not None:
        order = tree_order(resolution, [tuple(model.one), *(each.columns for each in expected)])
        assert order is not None, "checked before anything is spent"
        by_columns = {each.columns: each for each in expected}
        return Following(model, tuple(by_columns[columns] for columns in order[1:]), resolution)
    order = tree_order(resolution, [each.columns for each in expected])
    if order is None:
        return through_one_table({each.columns: each.values for each in expected}, single, total)
    by_columns = {each.columns: each for each in expected}
    first = [*round_boxes(trees[0]).tables] if trees else []
    return ConsistentTables(_in_order(resolution, [by_columns[each] for each in order[len(first) :]], first, total))


def _in_order(
    resolution: Resolution, tables: Sequence[Marginal[np.float64]], first: Sequence[Counted], total: int
) -> tuple[Marginal[np.int64], ...]:
    """Round each table so that it keeps what it shares with an earlier one."""
    done = [*first]
    for table in tables:
        done.append(follow(resolution, table, done, total))
    return tuple(each for each in done if isinstance(each, Marginal))


def _with_margins(table: Floats, columns: Columns, earlier: Sequence[Marginal[np.float64]]) -> Floats:
    """Return a fitted table, raked to the sums of earlier ones over the columns that they share at the same level."""
    for each in earlier:
        if shared := tuple(name for name in columns if name in each.columns):
            axes = tuple(columns.index(name) for name in shared)
            table = rake(table, [(axes, each.project(shared).values)], 1)
    return table
