"""Repair of rows: single values are changed where that brings their tables nearer to a model's.

What falls is the sum of worth · (count − expected)² over the cells of all pairs of columns. Errors of small expected
counts are worth more (`worth_of`): a model knows them better than large ones, and the sum of absolute errors minds one
person in an empty cell as much as one in a full one.

Beyond a `limit` of worth · error, the sum grows in proportion to the error (Huber 1964). So a cell that noise alone
filled is given up, where people in it would be in wrong cells of many other pairs.

Changes are made in many rows at once, the most helpful first. Since they were judged one by one, together they may go
too far; the gain of undoing them tells how far, and as many as went too far are undone.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.estimate.moves import kept
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled

__all__ = [
    "EVEN_LIMIT",
    "EVEN_POWER",
    "LIMIT",
    "POWER",
    "Codes",
    "Reals",
    "excess_of",
    "greatest",
    "improve",
    "of_pairs",
    "repair",
    "scores",
    "worth_of",
]

Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float32]

BATCHES, LATER_BATCHES = 192, 64  # of rows in a pass, about; in a pass that looks at some of the rows
POWER, EVEN_POWER = 1.0, 0.5  # an error in a cell of m people is worth (1 + m)^−POWER; the same if errors are even
NO_LIMIT = np.float32(np.inf)
LIMIT, EVEN_LIMIT = 0.5, 2.0  # of worth · error, about
MOST = 0.5  # of the helpful changes of a batch that are tried at once
SAFELY = np.float32(0.999)  # sums of floats are not exact
ENOUGH = 0.05  # of what is left: a pass that gains less is the last


def worth_of(expected: Floats, power: float) -> Reals:
    """Return what the square of an error in each cell is worth, given its `expected` count.

    >>> worth_of(np.array([0.0, 3.0, 99.0]), 0.5)
    array([1. , 0.5, 0.1], dtype=float32)
    """
    worth: Reals = ((1.0 + expected) ** -power).astype(np.float32)
    return worth


def of_pairs(model: Pairwise, starts: Ints, power: float) -> Reals:
    """Return the worth of all pairs of values (`worth_of`); 0 for two values of one column.

    Values of all columns are numbered in one sequence; those of each column begin at its entry of `starts`.
    """
    worth = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    for (k, b), (i, a) in combinations(enumerate(model.one), 2):
        table = worth_of(model.pair(b, a), power)
        worth[starts[k] : starts[k + 1], starts[i] : starts[i + 1]] = table
        worth[starts[i] : starts[i + 1], starts[k] : starts[k + 1]] = table.T
    return worth


def excess_of(model: Pairwise, starts: Ints, codes: Codes, weights: Ints | Floats) -> Reals:
    """Return how much too often values x and y of two columns occur together; 0 for two values of one column.

    Values of all columns are numbered in one sequence; those of each column begin at its entry of `starts`.
    """
    excess = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    part = float(weights.sum()) / model.total
    for (k, b), (i, a) in combinations(enumerate(model.one), 2):
        table = model.pair(b, a)
        counts = np.bincount(codes[k] * table.shape[1] + codes[i], weights, table.size).reshape(table.shape)
        excess[starts[k] : starts[k + 1], starts[i] : starts[i + 1]] = counts - part * table
        excess[starts[i] : starts[i + 1], starts[k] : starts[k + 1]] = (counts - part * table).T
    return excess


def repair(
    codes: Codes,
    weight: float,
    excess: Reals,
    worth: Reals,
    starts: Ints,
    passes: int,
    limit: float = np.inf,
    batches: int = BATCHES,
    later: float = 1.0,
) -> None:
    """Change single values of rows, all of one `weight`, in up to `passes` passes; `excess` changes with them.

    `excess` says how much too often two values occur together, `worth` what a square of it is worth (`of_pairs`), up to
    a `limit`. After the first pass, only the part `later` of the rows is looked at, in the cells too full by most.
    """
    columns, rows = codes.shape
    first = starts[:-1].astype(np.int32)
    step = worth * np.float32(weight)
    # Half of what one more row in a cell adds to the sum, as a part of `weight`.
    price: Reals = (worth * excess + step / 2).astype(np.float32)
    least = np.zeros(starts[-1], dtype=np.float32)
    if np.isinf(limit):
        least = np.minimum.reduceat(step, starts[:-1], axis=0).sum(axis=0) * SAFELY
    for salt in range(passes):
        order = shuffled(rows, columns + salt)
        if salt and later < 1:
            worst = greatest(scores(codes, np.clip(price, -limit, limit), starts), max(1, int(later * rows)))
            order, batches = worst[shuffled(worst.size, columns + salt)], LATER_BATCHES
        size = max(64, -(-order.size // batches))
        values = np.ascontiguousarray((codes[:, order] + first[:, None]).T)
        gained = 0.0
        for start in range(0, order.size, size):
            batch = slice(start, start + size)
            values[batch], gain = improve(values[batch], price, step, starts, least, np.float32(limit))
            gained += gain * weight
        codes[:, order] = values.T - first[:, None]
        np.divide(price - step / 2, worth, out=excess, where=worth > 0)
        if gained < ENOUGH * float(np.einsum("ij,ij,ij", excess, excess, worth)) / 2:
            break


def scores(codes: Codes, price: Reals, starts: Ints) -> Reals:
    """Return the sum of the prices of each row's pairs of values."""
    values, prices = codes + starts[:-1, None], price.reshape(-1)
    found = np.zeros(codes.shape[1], dtype=np.float32)
    for i in range(len(codes)):
        lines = values[i] * len(price)
        for k in range(i):
            found += prices.take(lines + values[k])
    return found


def greatest(values: Reals, count: int) -> npt.NDArray[np.intp]:
    """Return the places of the `count` greatest values, in order of place; of equal ones, the first."""
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    chosen[np.flatnonzero(values == least)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def improve(
    batch: Codes, price: Reals, step: Reals, starts: Ints, least: Reals, limit: np.float32 = NO_LIMIT
) -> tuple[Codes, float]:
    """Move rows of `batch`, of shape (rows, columns), to the best value of one column after another.

    Moving one row from value u to v gains 2·Σ_y (price[y, u] − step[y, u] − price[y, v]) over the row's values y of
    other columns; their steps add up to at least `least[u]`. A price counts as at most `limit`. Returns the rows and
    what was gained.
    """
    from scipy.sparse import csr_array  # only where rows are generated: it takes long to load

    rows, columns = batch.shape
    width = len(price)
    prices, steps = price.reshape(-1), step.reshape(-1)
    # The values of each row as a sparse matrix of ones; `values` is a view of its indices, and changes it.
    ends = np.arange(0, batch.size + 1, columns, dtype=np.int32)
    own = csr_array((np.ones(batch.size, np.float32), batch.ravel(), ends), shape=(rows, width))
    values: Codes = own.indices.reshape(rows, columns)
    lines = values.astype(np.int64) * width  # where the prices of each value begin
    gained = 0.0
    lanes = np.arange(rows)
    for a in range(columns):
        cost = own @ np.clip(price[:, starts[a] : starts[a + 1]], -limit, limit)
        best = cost.argmin(axis=1)
        less = cost[lanes, values[:, a] - starts[a]] - cost[lanes, best]
        movable = np.flatnonzero(less > least.take(values[:, a]))
        here, there = values[movable, a].astype(np.int64), best[movable] + starts[a]
        cells = lines[movable] + here[:, None]
        gain = np.clip(prices.take(cells) - steps.take(cells), -limit, limit).sum(axis=1)
        gain -= cost[movable, best[movable]]
        helpful = np.flatnonzero(gain > 0)
        if helpful.size == 0:
            continue
        helpful = helpful[np.argsort(-gain[helpful], kind="stable")][: max(16, int(MOST * helpful.size))]
        moved, here, there, gain = movable[helpful], here[helpful], there[helpful], gain[helpful]
        others = values[moved].astype(np.int64)[:, np.arange(columns) != a]
        _shift(prices, steps, others, here, there, width)
        now, before = others * width + there[:, None], others * width + here[:, None]
        back = np.clip(prices[now] - steps[now], -limit, limit) - np.clip(prices[before], -limit, limit)
        forth, undone = float(gain.sum()), float(back.sum())
        keep = kept(helpful.size, forth, undone)
        _shift(prices, steps, others[keep:], there[keep:], here[keep:], width)
        values[moved[:keep], a] = there[:keep]
        lines[moved[:keep], a] = there[:keep] * width
        part = keep / helpful.size
        gained += part * (2 * forth - part * (forth + undone))
    return values, gained


def _shift(prices: Reals, steps: Reals, others: Ints, here: Ints, there: Ints, width: int) -> None:
    """Move rows with the values `others` of other columns from the value `here` of one column to `there`."""
    for value, sign in ((here[:, None], np.float32(-1)), (there[:, None], np.float32(1))):
        cells = (others * width + value).ravel()
        change = sign * steps.take(cells)
        np.add.at(prices, cells, change)
        np.add.at(prices, (value * width + others).ravel(), change)  # the same table, seen from the other column
