"""Make the parts of a plan agree in whole numbers: boxes, levels, tables that were measured directly, and a model.

All are tables in an order in which each keeps what it shares with earlier ones, at any level (`marginals.nested`). The
rows of a model come first, then ranges tables. What the boxes of a ranges table say of a model's columns, in whole
numbers, is kept by the rows (`synthesis.kept_counts`): a range is a sum of many cells, and boxes know it far better.
Tables that overlap in a ring are fitted by one joint table, if none of them is at several levels. All of this is
post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.consistency import (
    RAKING_SWEEPS,
    ConsistentTables,
    counted_tables,
    fit_tables,
    round_boxes,
    through_one_table,
    through_pairs,
)
from dpengine.estimate.joint_table import fit_joint
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.fitting import rake, round_to_total
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal, Number
from dpengine.marginals.nested import Counted, follow, in_one, tree_order
from dpengine.marginals.noisy_pair import EMPTY
from dpengine.marginals.pairwise import Pairwise
from dpengine.spec.categories.resolution import Resolution

__all__ = ["FixedCounts", "ModelAndTables", "agree"]


@dataclass(frozen=True)
class FixedCounts:
    """Whole counts over some columns that the rows of a model must have.

    `order` lists their flat cells so that those of a box stand together.
    """

    counts: Marginal[np.int64]
    order: Ints


@dataclass(frozen=True)
class ModelAndTables:
    """A model of some columns, and tables of expected counts, in order, that must agree with it and each other.

    Rows drawn from the model must have the `fixed` counts. Tables of boxes that have other columns, too, are already
    in `whole` numbers.
    """

    model: Pairwise
    tables: tuple[Marginal[np.float64], ...]
    resolution: Resolution
    fixed: tuple[FixedCounts, ...] = ()
    whole: tuple[Marginal[np.int64], ...] = ()

    def after(self, rows: Counted, total: int) -> tuple[Marginal[np.int64], ...]:
        """Return the tables in whole numbers, given whole counts of the model."""
        return _in_order(self.resolution, self.tables, [rows, *self.whole], total)


def agree(
    squares: LeastSquares,
    values: Sequence[Ints | Floats],
    amounts: frozenset[str],
    resolution: Resolution,
    *,
    trees: Sequence[BoxTree] = (),
    measured_trees: Sequence[BoxTree] = (),
    levels: Sequence[Marginal[np.float64]] = (),
    model: Pairwise | None = None,
) -> ConsistentTables | ModelAndTables:
    """Make tables agree: a fixed function of its arguments.

    `values` are those measured for the marginals of `squares`; counts are their sums over `amounts`. `trees` are boxes
    with what other tables say of them, and `measured_trees` the same without it. `levels` are expected counts of the
    finest tables.
    """
    estimate = squares.estimator(values)
    total = max(0, round(float(estimate(()))))
    trees = [replace(tree, total=float(total)) for tree in trees]
    expected = [*(Marginal(tree.boxes.columns, tree.table) for tree in trees), *levels]
    single = {name: each.project((name,)).values for each in expected[::-1] for name in each.columns}
    of_rows = [tuple(model.one_way)] if model is not None else []
    fitted = fit_tables(squares, estimate, counted_tables(squares, amounts), total, single)
    earlier = [*of_rows, *(each.columns for each in expected)]
    # Of rows and levels, tables at a coarser level are sums; of boxes, only the tables themselves are known.
    known = [*of_rows, *(each.columns for each in levels)]
    direct = [table for table in maximal([*fitted])
              if {*table} not in [{*each.columns} for each in expected]
              and not any(resolution.finer_columns(table, one) for one in known)]  # fmt: skip
    if tree_order(resolution, [*earlier, *direct]) is None and (joint := in_one(resolution, earlier, direct)):
        if model is None and trees and not levels:
            model, direct = through_pairs(squares, estimate, direct, total), []
        else:
            alone = {name: single[name] for name in joint}
            fitted = {joint: fit_joint(joint, {each: fitted[each] for each in direct}, alone, total)}
            direct = [joint]
    for table in direct:
        expected.append(Marginal(table, _with_margins(fitted[table], table, expected)))
    if model is not None:
        boxed = [_boxed(*each, model) for each in zip(trees, measured_trees, strict=True)]
        return _following(model, expected, boxed, resolution, total)
    return _without_model(expected, trees, single, resolution, total)


def _without_model(
    expected: Sequence[Marginal[np.float64]],
    trees: Sequence[BoxTree],
    single: Mapping[str, Floats],
    resolution: Resolution,
    total: int,
) -> ConsistentTables:
    """Return tables in whole numbers, those of boxes first; through one table of all columns if they have no order."""
    order = tree_order(resolution, [each.columns for each in expected])
    if order is None:
        in_order = [each.project(sorted(each.columns)) for each in expected]
        return through_one_table({each.columns: each.values for each in in_order}, single, total)
    by_columns = {each.columns: each for each in expected}
    first = [*round_boxes(trees[0]).tables] if trees else []
    return ConsistentTables(_in_order(resolution, [by_columns[each] for each in order[len(first) :]], first, total))


def _following(
    model: Pairwise,
    expected: Sequence[Marginal[np.float64]],
    boxed: Sequence[tuple[Marginal[np.float64], Ints]],
    resolution: Resolution,
    total: int,
) -> ModelAndTables:
    """Return a model and the `expected` tables in an order in which these follow it.

    `boxed` are expected counts of the tables of boxes, and their cells in order.
    """
    columns = tuple(model.one_way)
    order = tree_order(resolution, [columns, *(each.columns for each in expected)])
    assert order is not None, "checked before anything is spent"
    by_columns = {each.columns: each for each in expected}
    boxes = _whole_boxes(boxed, columns, order[1:], resolution)
    for of_boxes, _order in boxed:
        if of_boxes.columns in boxes:
            shared = boxes[of_boxes.columns][1].counts.columns
            model = _with_sums(model, Marginal(shared, _over(resolution, of_boxes, shared)), total)
    return ModelAndTables(
        model,
        tuple(by_columns[names] for names in order[1:] if names not in boxes),
        resolution,
        tuple(fixed for _counts, fixed in boxes.values()),
        tuple(counts for names, (counts, fixed) in boxes.items() if fixed.counts.columns != names),
    )


def _boxed(tree: BoxTree, measured: BoxTree, model: Pairwise) -> tuple[Marginal[np.float64], Ints]:
    """Return expected counts of a table of boxes, and its cells in an order in which each measured box is contiguous.

    If the model has all of its columns, the people of an unsplit box are divided among its cells as in the model.
    """
    columns = tree.boxes.columns
    if not {*columns} <= {*model.one_way}:
        return Marginal(columns, tree.table), tree.order
    leaves = measured.leaves[np.argsort(measured.starts[measured.leaves])]
    box = np.repeat(np.arange(leaves.size), measured.cells[leaves])
    likely = model.table(columns).ravel()[measured.order] + EMPTY
    counts = np.empty(likely.size)
    counts[measured.order] = likely * (tree.expected[leaves] / np.bincount(box, likely))[box]
    return Marginal(columns, counts.reshape(tree.boxes.shape)), measured.order


def _whole_boxes(
    boxed: Sequence[tuple[Marginal[np.float64], Ints]],
    columns: Columns,
    after_rows: Sequence[Columns],
    resolution: Resolution,
) -> dict[Columns, tuple[Marginal[np.int64], FixedCounts]]:
    """Return tables of boxes in whole numbers, and what rows with `columns` are to keep of them.

    `boxed` are expected counts, and their cells in order; `after_rows` are the columns of all tables, in order. Tables
    that share no column with the rows are left out, and those at a coarser level than a row's. So are those that would
    close a ring with others, and those with which another table could not agree if it follows the rows, too: all of
    these follow the rows.
    """
    by_columns = {table.columns: (table, order) for table, order in boxed}
    along_tree: list[Columns] = []
    for names in by_columns:
        shared = resolution.shared_columns(names, columns)
        if shared and {*shared} <= {*columns}:
            longer = tree_order(resolution, [*along_tree, names])
            if longer is not None and _others_can_follow(resolution, [columns, *longer], after_rows):
                along_tree = longer
    whole: list[Marginal[np.int64]] = []
    found = {}
    for names in along_tree:
        table, order = by_columns[names]
        total = round(float(table.values.sum()))
        if any(resolution.shared_columns(names, each.columns) for each in whole):
            counts = follow(resolution, table, whole, total)
        else:
            values = np.empty(order.size, dtype=np.int64)
            values[order] = round_to_total(table.values.ravel()[order], total)
            counts = Marginal(names, values.reshape(table.values.shape))
        whole.append(counts)
        shared = resolution.shared_columns(names, columns)
        sums = Marginal(shared, _over(resolution, counts, shared))
        found[names] = counts, FixedCounts(sums, order if shared == names else np.arange(sums.values.size))
    return found


def _others_can_follow(resolution: Resolution, first: Sequence[Columns], order: Sequence[Columns]) -> bool:
    """Return whether all other tables can follow `first` in `order`: each shares with earlier ones what one has."""
    earlier = [{*resolution.determined_columns(table)} for table in first]
    for table in order:
        if table not in first:
            own = {*resolution.determined_columns(table)}
            if not any(own & set().union(*earlier) <= known for known in earlier):
                return False
            earlier.append(own)
    return True


def _over(resolution: Resolution, table: Marginal[Number], columns: Columns) -> npt.NDArray[Number]:
    """Return the sums of a table over `columns` that it determines."""
    finer = resolution.finer_columns(columns, table.columns)
    assert finer is not None, "columns that both tell"
    return resolution.coarsen(table.project(finer).values, finer, columns)


def _with_sums(model: Pairwise, sums: Marginal[np.float64], total: int) -> Pairwise:
    """Return a model of `total` people whose columns and pairs have the `sums` of a table of some of its columns."""
    scale = total / model.total if model.total else 0.0
    one_way = {name: counts * scale for name, counts in model.one_way.items()}
    one_way |= {name: sums.project((name,)).values for name in sums.columns}
    two_way = {}
    for (a, b), counts in model.two_way.items():
        if {a, b} <= {*sums.columns}:
            two_way[a, b] = sums.project((a, b)).values
        elif {a, b} & {*sums.columns}:
            two_way[a, b] = rake(counts + EMPTY, [((0,), one_way[a]), ((1,), one_way[b])], RAKING_SWEEPS)
        else:
            two_way[a, b] = counts * scale
    known = (sums.columns,) if model.direct and len(sums.columns) > 1 else ()
    return replace(model, total=float(total), one_way=one_way, two_way=two_way, direct=(*model.direct, *known))


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
