"""Noisy marginals → whole, non-negative tables that agree with each other everywhere.

All published counts are sums over one *model*: integer tables, joined like a tree along the columns
they share, so that margins and totals agree by construction and synthetic rows can be dealt from it.
Everything here sees noisy numbers and public structure only, and so costs no privacy
(post-processing: Dwork & Roth 2014, Proposition 2.1).

1. *Fit.* The cells of each measured table are drawn towards a model of its own columns and pairs, whose sums are far
   more exact; where there is hardly any noise, they are only projected on {x ≥ 0, Σx = total}.
2. *Round*, from one table to the next along the tree: within the rows that two tables share, the
   counts of the first bind the second, so every step is a rounding with a given whole sum.
3. Marginals that overlap in a ring (a×b, b×c, c×a) admit no such tree, and may have no whole solution
   one by one (Cox 1987). They are fitted by one joint table, which is rounded and then mended.
4. Where that joint table is too large to write down, whole rows take its place (`synthesis.generate_rows`): all
   published counts are then counted from synthetic rows that come as near to the fitted pairs as rows can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.box_tree import Tree
from dpengine.marginals.graphs import junction_order
from dpengine.marginals.least_squares import LeastSquares, marginalise
from dpengine.marginals.pairwise import Pairwise, alone
from dpengine.marginals.shrinkage import project
from dpengine.measure.strategy import MAX_JOINT_CELLS
from dpengine.synthesis.generate_rows import Codes, Times, deal_rows

__all__ = ["Model", "Rows", "round_whole", "rows_of", "solve", "whole_boxes"]

Cell = tuple[int, ...]

RAKING_SWEEPS = 10
JOINT_SWEEPS = 60
MENDING_ROUNDS = 400
MOVES_A_ROUND = 256
MIN_SCALE = 0.8  # of noise: below it most noise is 0, and what a cell says by itself is hard to better
MAX_RAKED = 20_000_000  # cells times pairs of columns


@dataclass(frozen=True)
class Model:
    """Whole tables in tree order: what each shares with the earlier ones lies within a single one of them."""

    cliques: tuple[Columns, ...]
    counts: tuple[Ints, ...]

    def table(self, columns: Columns) -> Ints:
        """The published counts over ``columns``, which lie within one clique."""
        for clique, counts in zip(self.cliques, self.counts, strict=True):
            if set(columns) <= set(clique):
                return marginalise(counts, clique, columns)
        raise KeyError(columns)


@dataclass(frozen=True)
class Rows:
    """Synthetic rows from which every table is counted: ``codes`` has one row for each of ``columns``.

    The synthetic row in place k stands ``times[k]`` times, once at least.
    """

    columns: Columns
    sizes: tuple[int, ...]
    codes: Codes
    times: Times

    def table(self, columns: Columns) -> Ints:
        """The published counts over ``columns``."""
        if not columns:
            return np.array(self.times.sum(), dtype=np.int64)
        places = [self.columns.index(name) for name in columns]
        shape = tuple(self.sizes[k] for k in places)
        cells = np.ravel_multi_index(tuple(self.codes[k] for k in places), shape)
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(counts, cells, self.times)  # in whole numbers, which weights of a bincount are not
        return counts.reshape(shape)


def rows_of(model: Pairwise, widest: int) -> Rows | Model:
    """Synthetic rows whose pairs come as near to the model's as rows can, with its total.

    ``widest`` is the most columns of a table that will be counted. Where the model holds one table of all columns, that
    table in whole numbers is enough.
    """
    if model.whole is not None:
        return _one_table(*model.whole)
    sizes = tuple(counts.size for counts in model.one.values())
    return Rows(tuple(model.one), sizes, *deal_rows(model, round(model.total), widest))


def _one_table(columns: Columns, expected: Floats) -> Model:
    whole = round_whole(expected.reshape(1, -1), np.array([round(float(expected.sum()))]))
    return Model((columns,), (whole.reshape(expected.shape),))


def whole_boxes(tree: Tree) -> Model:
    """The expected counts of a tree of boxes in whole numbers; every box keeps its sum to within 1.5.

    Running sums are rounded along an order of the cells in which every box is a stretch.
    """
    boxes, expected = tree.boxes, tree.table.ravel()[tree.order]
    total = round(float(tree.expected[boxes.parents < 0].sum()))
    counts = np.empty(expected.size, dtype=np.int64)
    counts[tree.order] = round_whole(expected.reshape(1, -1), np.array([total]))[0]
    return Model((boxes.columns,), (counts.reshape(boxes.shape),))


def solve(squares: LeastSquares, values: Sequence[Ints]) -> Model | Rows:
    """The model for the measured ``values`` of the marginals of ``squares``.

    Non-negative, whole, the same total everywhere; a fixed function of its arguments.
    """
    total = max(0, round(float(squares.estimate((), values))))
    names = sorted({name for columns in squares.measured for name in columns})
    single = {name: project(squares.estimate((name,), values), total) for name in names}
    fitted = {columns: _fit(squares, values, columns, single, total) for columns in squares.measured}
    order = junction_order(squares.measured)
    if order is None and math.prod(squares.sizes[name] for name in names) > MAX_JOINT_CELLS:
        return rows_of(_pairs(total, single, fitted), max(map(len, fitted)))
    if order is None:
        everything = tuple(names)
        joint = _fit_joint(everything, fitted, single, total)
        return Model((everything,), (_round_joint(joint, everything, fitted, total),))
    return Model(tuple(order), tuple(_round_along(order, fitted, total)))


def _fit(
    squares: LeastSquares, values: Sequence[Ints], columns: Columns, single: Mapping[str, Floats], total: int
) -> Floats:
    """Non-negative expected counts of one measured table.

    Where its sums tell more than its cells, it is drawn towards a model of them. Else it is projected on
    {x ≥ 0, Σx = total} and raked to its single columns, which are far less biased by the clipping of many small cells.
    """
    estimate, scale = squares.estimate(columns, values), math.sqrt(squares.variance(columns) / 2)
    quick = estimate.size * math.comb(len(columns), 2) <= MAX_RAKED
    if len(columns) > 1 and scale >= MIN_SCALE and total > 0 and quick:
        return alone(estimate, columns, scale)
    return _rake(project(estimate, total), columns, single)


def _pairs(total: int, single: Mapping[str, Floats], fitted: Mapping[Columns, Floats]) -> Pairwise:
    """The fitted pairs, and independence where two columns were not measured together."""
    two = {pair: np.outer(single[pair[0]], single[pair[1]]) / max(total, 1) for pair in combinations(single, 2)}
    two |= {(columns[0], columns[1]): table for columns, table in fitted.items() if len(columns) == 2}
    return Pairwise(float(total), single, two)


def round_whole(values: Floats, totals: Ints) -> Ints:
    """Round each row of ``values`` to whole numbers that add up to its entry of ``totals``.

    Rounds running sums, so that every stretch of neighbouring cells keeps its sum to within one.
    Rows are scaled to their totals first; a row of zeros is filled evenly.
    """
    sums = values.sum(axis=1, keepdims=True)
    even = np.broadcast_to(1.0 / values.shape[1], values.shape)
    running = np.cumsum(np.where(sums > 0, values / np.where(sums > 0, sums, 1), even), axis=1)
    whole = np.floor(running * totals[:, None] + 0.5).astype(np.int64)
    whole[:, -1] = totals
    np.minimum(whole, totals[:, None], out=whole)
    rounded: Ints = np.diff(whole, axis=1, prepend=0)
    return rounded


def _rake(values: Floats, columns: Columns, single: Mapping[str, Floats]) -> Floats:
    """Scale ``values`` until its margins are those of the single columns, as far as its zeros allow."""
    for _ in range(RAKING_SWEEPS if len(columns) > 1 else 0):
        for axis, name in enumerate(columns):
            values = values * _ratio(values, (axis,), single[name])[0]
    return values


def _ratio(values: Floats, axes: tuple[int, ...], wanted: Floats) -> tuple[Floats, float]:
    """What to multiply ``values`` by so that its sums over the axes other than ``axes`` become ``wanted``.

    Also how far (L1) they were off. Sums of zero are left alone: nothing can be made of them.
    """
    sums = values.sum(axis=tuple(axis for axis in range(values.ndim) if axis not in axes), keepdims=True)
    goal = wanted.reshape(sums.shape)
    return np.divide(goal, sums, out=np.ones_like(sums), where=sums > 0), float(np.abs(goal - sums).sum())


def _round_along(order: Sequence[Columns], fitted: Mapping[Columns, Floats], total: int) -> list[Ints]:
    """Round each table within the counts that it shares with the ones before it."""
    done: list[tuple[Columns, Ints]] = []
    for clique in order:
        nearest = max((c for c, _ in done), key=lambda c: len({*c} & {*clique}), default=())
        shared = tuple(name for name in clique if name in nearest)
        own = tuple(name for name in clique if name not in nearest)
        axes = [clique.index(name) for name in (*shared, *own)]
        values = fitted[clique].transpose(axes)
        bound = next((marginalise(counts, c, shared) for c, counts in done if c == nearest), np.array(total))
        rows = values.reshape(bound.size, -1)
        counts = round_whole(rows, bound.ravel().astype(np.int64)).reshape(values.shape)
        done.append((clique, np.ascontiguousarray(counts.transpose(np.argsort(axes)))))
    return [counts for _, counts in done]


def _fit_joint(names: Columns, fitted: Mapping[Columns, Floats], single: Mapping[str, Floats], total: int) -> Floats:
    """The joint table of greatest entropy with the fitted marginals, by iterative proportional fitting."""
    joint = np.ones([single[name].size for name in names])
    margins = [((name,), wanted) for name, wanted in single.items()]
    for sweep in range(JOINT_SWEEPS):
        off = 0.0
        for clique, wanted in margins if sweep == 0 else fitted.items():
            axes = tuple(axis for axis, name in enumerate(names) if name in clique)
            ratio, gap = _ratio(joint, axes, wanted)
            joint *= ratio
            off += gap
        if sweep > 0 and off <= 1e-3 * total:
            break
    return joint


def _round_joint(joint: Floats, names: Columns, fitted: Mapping[Columns, Floats], total: int) -> Ints:
    """Round a joint table, then move single people between cells while that brings its margins nearer.

    Each round looks at the cells that people should leave and enter most, and makes the moves that help
    without touching any margin cell twice; the rounds end when no such move helps.
    """
    counts: Ints = round_whole(joint.reshape(1, -1), np.array([total]))[0].reshape(joint.shape)
    shortfalls = []  # what each margin still lacks, one axis for every column: 1 wide where it has none
    for clique, wanted in fitted.items():
        others = tuple(axis for axis, name in enumerate(names) if name not in clique)
        sums = counts.sum(axis=others, keepdims=True)
        shortfalls.append(wanted.reshape(sums.shape) - sums)
    empty = joint <= 1e-6 * total / joint.size
    for _ in range(MENDING_ROUNDS):
        need = np.zeros(joint.shape)
        for shortfall in shortfalls:
            need += shortfall
        sources = _least(np.where(counts > 0, need, np.inf), MOVES_A_ROUND)
        targets = _least(np.where(empty, np.inf, -need), MOVES_A_ROUND)
        touched: set[tuple[int, ...]] = set()
        moves = [move for move in zip(sources, targets, strict=True) if _move(counts, shortfalls, *move, touched)]
        if len(moves) <= MOVES_A_ROUND // 64:  # what is left to gain is not worth another look
            break
    return counts


def _move(counts: Ints, shortfalls: Sequence[Floats], x: Cell, y: Cell, touched: set[tuple[int, ...]]) -> bool:
    """Move one person from cell x to y if that brings the margins nearer; say whether it was done.

    The squared distance to a margin where x and y fall in cells u ≠ v changes by 2·(short_u − short_v) + 2.
    """
    steps = []
    for k, shortfall in enumerate(shortfalls):
        u, v = (tuple(i if n > 1 else 0 for i, n in zip(cell, shortfall.shape, strict=True)) for cell in (x, y))
        if u != v:
            steps.append((k, u, v))
    cells = {(k, *cell) for k, u, v in steps for cell in (u, v)}
    gain = -sum(2 * (shortfalls[k][u] - shortfalls[k][v]) + 2 for k, u, v in steps)
    if counts[x] == 0 or gain <= 1e-9 or cells & touched:
        return False
    counts[x] -= 1
    counts[y] += 1
    for k, u, v in steps:
        shortfalls[k][u] += 1
        shortfalls[k][v] -= 1
    touched |= cells
    return True


def _least(values: Floats, count: int) -> list[Cell]:
    """Where the ``count`` least values stand, in order."""
    flat = values.ravel()
    some = np.argpartition(flat, min(count, flat.size) - 1)[:count]
    some = some[np.argsort(flat[some], kind="stable")]
    return [tuple(map(int, cell)) for cell in zip(*np.unravel_index(some, values.shape), strict=True)]
