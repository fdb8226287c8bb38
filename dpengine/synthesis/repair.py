"""Repair rows: change single values if that brings their tables closer to a model's.

The objective is the sum of weight · (count − expected)² over the cells of all pairs of columns. Errors of small
expected counts have more weight (`Falloff`): a model knows them better than large ones, and in a sum of absolute
errors, one person in an empty cell counts as much as one in a full cell. Cells that are very likely empty have by far
the most weight: rows that keep out of them also come nearer to the truth in other cells.

Beyond a `limit` of weight · error, the sum grows in proportion to the error (Huber 1964). So a cell that only noise
filled is given up if its people would be in wrong cells of many other pairs.

Many rows are changed at once, by the most helpful changes. Each was judged separately, so together they may overshoot.
The gain of undoing one by itself shows by how much, and part of those that overshoot is undone (`estimate.moves.kept`).
In the end, single rows would still be better off elsewhere. Where time allows, all rows are looked at, and few of those
are changed at once (`settle`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints, Reals
from dpengine.estimate.moves import greatest, kept
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled

__all__ = [
    "Codes",
    "Effort",
    "Falloff",
    "cell_weights_of",
    "excess_in",
    "excess_of",
    "fill",
    "improve",
    "of_pairs",
    "repair",
    "scores",
    "settle",
    "sums",
]

Codes = npt.NDArray[np.int32]

BATCHES = 128  # at most this many batches of rows in a pass
# A batch has at least `SMALL_BATCH` rows, since smaller ones take as long. Few rows make `SMALL_BATCHES` batches, of at
# least `TINY_BATCH` rows.
SMALL_BATCH, SMALL_BATCHES, TINY_BATCH = 256, 16, 64
NO_LIMIT = np.float32(np.inf)
TRIED_AT_ONCE = 0.5  # fraction of the helpful changes of a batch that are tried at once
SETTLED_AT_ONCE = 16  # rows that `settle` moves at once
WIDE = 32  # with more values of a column, `sums` adds line after line, since a copy of all takes longer to write


class Falloff(NamedTuple):
    """The decrease of a squared error's weight with the expected count m of its cell: (1 + m / `knee`)^−`power`.

    At a low knee, cells that are very likely empty count far more than those that may well hold one person.
    """

    power: float
    knee: float


class Effort(NamedTuple):
    """The effort spent on repairing rows."""

    passes: int  # at most this many passes over the rows
    limit: float = np.inf  # beyond this weight · error of a cell, the objective grows in proportion to the error
    batches: int = BATCHES  # batches of a pass
    part: float = 1.0  # fraction of the rows that a pass tries: those in the cells with the largest excess
    at_least: float = -np.inf  # a row gets another value only if leaving the old one gains more by itself
    enough: float = 0.03  # a pass that gains less than this fraction of the remaining objective is the last


def cell_weights_of(expected: Floats, falloff: Falloff) -> Reals:
    """Return the weight of a squared error in each cell, given its `expected` count.

    >>> cell_weights_of(np.array([0.0, 3.0, 99.0]), Falloff(0.5, 1.0))
    array([1. , 0.5, 0.1], dtype=float32)
    """
    cell_weights: Reals = ((1.0 + expected / falloff.knee) ** -falloff.power).astype(np.float32)
    return cell_weights


def of_pairs(model: Pairwise, starts: Ints, falloff: Falloff) -> Reals:
    """Return the weights of all pairs of values (`cell_weights_of`); 0 for two values of one column.

    Values of all columns are numbered in one sequence; those of each column begin at its entry of `starts`.
    """
    cell_weights = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    for (k, b), (i, a) in combinations(enumerate(model.one_way), 2):
        fill(cell_weights, starts, (k, i), cell_weights_of(model.pair(b, a), falloff))
    return cell_weights


def excess_of(model: Pairwise, starts: Ints, codes: Codes, weights: Ints | Floats) -> Reals:
    """Return the excess count of each pair of values of two columns; 0 for two values of one column.

    Values of all columns are numbered in one sequence; those of each column begin at its entry of `starts`.
    """
    excess = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    part = float(weights.sum()) / model.total
    for (k, b), (i, a) in combinations(enumerate(model.one_way), 2):
        fill(excess, starts, (k, i), excess_in(part * model.pair(b, a), codes[[k, i]], weights))
    return excess


def excess_in(expected: Floats, codes: Codes, weights: Ints | Floats | None = None) -> Floats:
    """Return the excess counts of rows over one table, whose two columns have these `codes`."""
    counts = np.bincount(codes[0] * expected.shape[1] + codes[1], weights, expected.size)
    return counts.reshape(expected.shape) - expected


def fill(matrix: Reals, starts: Ints, columns: tuple[int, int], table: Floats | Reals) -> None:
    """Write a table of two columns into a matrix over all values, at the values of either column."""
    first, second = (slice(starts[column], starts[column + 1]) for column in columns)
    matrix[first, second], matrix[second, first] = table, table.T


def repair(
    codes: Codes,
    weight: float,
    excess: Reals,
    cell_weights: Reals,
    starts: Ints,
    effort: Effort,
    only: Sequence[int] | None = None,
) -> None:
    """Change single values of rows, all of one `weight`, and update `excess`.

    `excess` is the excess count of each pair of values, and `cell_weights` is the weight of its square (`of_pairs`). If
    `only` some columns are given, the others keep their values.
    """
    passes, limit, batches, part, at_least, enough = effort
    columns, rows = codes.shape
    step = cell_weights * np.float32(weight)
    # Half of what one more row in a cell adds to the objective, divided by `weight`.
    price: Reals = (cell_weights * excess + step / 2).astype(np.float32)
    for salt in range(passes):
        order = np.arange(rows)
        if part < 1:
            order = greatest(scores(codes, np.clip(price, -limit, limit), starts), max(1, int(part * rows)))
        order = order[shuffled(order.size, columns + salt)]
        size = _batch_size(order.size, batches)
        values = codes.take(order, axis=1) + starts[:-1, None]
        gained = 0.0
        for start in range(0, order.size, size):
            batch = slice(start, start + size)
            gained += improve(values[:, batch], price, step, starts, np.float32(limit), at_least, only) * weight
        for column in range(columns) if only is None else only:
            codes[column, order] = values[column] - starts[column]
        np.divide(price - step / 2, cell_weights, out=excess, where=cell_weights > 0)
        if gained < enough * _objective(excess, cell_weights, limit):
            break


def settle(codes: Codes, excess: Reals, cell_weights: Reals, starts: Ints, limit: float, passes: int) -> None:
    """Change single values of rows of weight 1, few rows at once, that still gain by it; `excess` is not updated."""
    values, price, most = codes + starts[:-1, None], cell_weights * (excess + np.float32(0.5)), np.float32(limit)
    for salt in range(passes):
        for column in range(len(codes)):
            (helpful,) = (_gains(values, price, cell_weights, starts, column, most) > 0).nonzero()
            helpful = helpful[shuffled(helpful.size, salt)]
            for some in np.split(helpful, range(SETTLED_AT_ONCE, helpful.size, SETTLED_AT_ONCE)):
                moved = values.take(some, axis=1)
                improve(moved, price, cell_weights, starts, most, only=(column,))
                values[column, some] = moved[column]
    codes[:] = values - starts[:-1, None]


def _gains(values: Ints, price: Reals, step: Reals, starts: Ints, column: int, limit: np.float32) -> Reals:
    """Return what each row gains by the best other value of a column, all else as it is (see `improve`)."""
    own, rows = values[column], np.arange(values.shape[1])
    cells = values * len(price) + own
    leaving = (price.take(cells) - step.take(cells)).clip(-limit, limit).sum(axis=0)
    cost = sums(price[:, starts[column] : starts[column + 1]].clip(-limit, limit), values)
    cost[rows, own - starts[column]] = np.inf
    gains: Reals = leaving - cost.min(axis=1)
    return gains


def _objective(excess: Reals, cell_weights: Reals, limit: float) -> float:
    """Return Σ weight · excess² over the cells of all pairs of columns; beyond the `limit`, it grows in proportion.

    >>> _objective(np.array([[0, 3], [3, 0]], dtype=np.float32), np.ones((2, 2), dtype=np.float32), 2.0)
    8.0
    """
    price = np.minimum(cell_weights * np.abs(excess), np.float32(limit))
    excess_at_limit = np.divide(price, cell_weights, out=np.zeros_like(price), where=cell_weights > 0)
    return float(np.einsum("ij,ij", price, 2 * np.abs(excess) - excess_at_limit)) / 2


def _batch_size(rows: int, batches: int) -> int:
    """Return the size of a batch of `rows` that are moved at once, so that there are up to this number of `batches`.

    >>> [_batch_size(rows, 128) for rows in (500, 2_000, 20_000, 64_000)]
    [64, 125, 256, 500]
    """
    return max(-(-rows // batches), min(max(TINY_BATCH, rows // SMALL_BATCHES), SMALL_BATCH))


def scores(codes: Codes, price: Reals, starts: Ints) -> Reals:
    """Return the sum of the prices of each row's pairs of values."""
    values, prices = codes + starts[:-1, None], price.reshape(-1)
    added = np.zeros(codes.shape[1], dtype=np.float32)
    for i in range(len(codes)):
        lines = values[i] * len(price)
        for k in range(i):
            added += prices.take(lines + values[k])
    return added


def sums(lines: Reals, places: Ints | Codes) -> Reals:
    """Return for each column of `places` the sum of the `lines` that it names.

    >>> sums(np.array([[1, 10], [2, 20], [4, 40]], dtype=np.float32), np.array([[0, 1], [2, 2]]))
    array([[ 5., 50.],
           [ 6., 60.]], dtype=float32)
    """
    added: Reals
    if lines.ndim == 1 or lines.shape[1] < WIDE:
        added = np.add.reduce(lines.take(places, axis=0), axis=0)
    else:
        added = lines.take(places[0], axis=0)
        for others in places[1:]:
            added += lines.take(others, axis=0)
    return added


def improve(
    values: Ints,
    price: Reals,
    step: Reals,
    starts: Ints,
    limit: np.float32 = NO_LIMIT,
    at_least: float = -np.inf,
    only: Sequence[int] | None = None,
) -> float:
    """Move rows, with `values` of shape (columns, rows), to the best value of one column after another.

    Moving one row from value u to v gains 2·Σ_y (price[y, u] − step[y, u] − price[y, v]) over the row's values y of
    other columns. A price counts as at most `limit`. Only rows for which the sum over u is more than `at_least` are
    tried, and `only` some columns if given. Values and prices are updated. Returns the gain.
    """
    width = len(price)
    prices, steps = price.reshape(-1), step.reshape(-1)
    lines, gained = values * width, 0.0
    for a in range(len(values)) if only is None else only:
        own = values[a]
        # Values of one column occur together with price and step 0, so the column itself need not be left out.
        before = lines + own
        leaving = (prices.take(before) - steps.take(before)).clip(-limit, limit).sum(axis=0)
        (tried,) = (leaving > at_least).nonzero()
        if tried.size == 0:
            continue
        others = values.take(tried, axis=1)
        cost = sums(price[:, starts[a] : starts[a + 1]].clip(-limit, limit), others)
        best = cost.argmin(axis=1)
        gain = leaving[tried] - cost[np.arange(tried.size), best]
        (helpful,) = (gain > 0).nonzero()
        if helpful.size == 0:
            continue
        helpful = helpful[np.argsort(-gain[helpful], kind="stable")][: max(16, int(TRIED_AT_ONCE * helpful.size))]
        moved, there, others = tried[helpful], best[helpful] + starts[a], others.take(helpful, axis=1)
        here, before = own[moved], before.take(moved, axis=1)
        now = before + (there - here)
        mirrored = lines[a].take(moved) + others, there * width + others  # the same cells from the other column
        _shift(prices, steps, before, mirrored[0], -1)
        _shift(prices, steps, now, mirrored[1], 1)
        # Without a limit: the gain of undoing a change must show how far they overshoot together.
        back = prices.take(now) - steps.take(now) - prices.take(before)
        keep, out, together = kept(gain[helpful], back.sum(axis=0))
        if out.size:
            _shift(prices, steps, before.take(out, axis=1), mirrored[0].take(out, axis=1), 1)
            _shift(prices, steps, now.take(out, axis=1), mirrored[1].take(out, axis=1), -1)
        moved, there = moved[keep], there[keep]
        own[moved], lines[a, moved] = there, there * width
        gained += together
    return gained


def _shift(prices: Reals, steps: Reals, cells: Ints, mirrored: Ints, sign: int) -> None:
    """Add one row to some `cells`, `mirrored` from the other column, or remove one if `sign` is −1."""
    cells = cells.ravel()
    change = np.float32(sign) * steps.take(cells)
    np.add.at(prices, cells, change)
    np.add.at(prices, mirrored.ravel(), change)
