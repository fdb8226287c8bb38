"""Generate rows column by column, so that their tables of three columns also come close to a model's.

The model's tables of three columns are those of greatest entropy. Rows that follow its pairs alone spread people over
large tables as if by chance; here a new column's values are chosen by all tables that it forms with one or two earlier
columns. They first follow the column on which it depends most; then values are changed if that brings these tables
closer to the model's. The objective is the sum of weight · (count − expected)² over cells: in a context (values of the
earlier columns) of m people a cell, the weight of an error is 1/(1 + m). If rows times tables are few, the rows
in a column's cells with the largest excess then get other values of it (`estimate.moves`), one column after another.
There, errors count as in the expected sum of absolute errors, if true counts vary about expected ones like Poisson
variables: no cell counts more than a person, and a count is best at the median, which is about a sixth below the mean.

Columns of many values come first: late columns are in many tables, which then stay small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats, Ints, Reals
from dpengine.estimate.moves import Tables, greatest, kept, move_in_batches
from dpengine.marginals.fitting import largest_remainders
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled
from dpengine.synthesis.repair import Codes, sums

__all__ = ["alone", "by_columns", "dependence", "fits", "given"]

BATCHES, LARGE_BATCH = 96, 1024  # batches of a pass; if there are more, each has about `LARGE_BATCH` rows
POWER, LIMIT = 0.8, 2.0  # at the end, the weight of an error in a cell of m people is (1 + m)^−POWER, up to a limit
BELOW_MEAN = 1 / 6  # the median of a Poisson variable is about this far below its mean
# The passes at the end (`_move_worst`) were set on seven public tables of 1,800 to 200,000 people.
WORST = 0.2  # at most this part of the rows may get another value of a column in a pass
WORST_PASSES, WORST_BATCHES = 6, 8  # at most this many passes, with at least this many batches each
MAX_ROWS = 2**18  # with more rows, pairs that are known almost exactly would suffer, unless larger tables are too
MAX_LOOKED, ENOUGH_LOOKED = 2**27, 2**25  # rows × tables, up to which there is a pass; and about that of all passes
MAX_PRICES, MORE_PRICES = 2**24, 2**26  # prices of a column in each of several passes; and in a single pass
MAX_PLACES = 2**25  # rows times tables of the last column: 128 MB
MAX_CELLS = 2**26  # cells of all tables of three columns; they are held for two columns at a time


class _Effort(NamedTuple):
    """The effort spent on a column's values.

    There are up to `passes` passes; one that changes less than the fraction `enough` of the rows is the last. Each pass
    after the first looks only at the fraction `near` of the rows: those that were nearest to another value. An error in
    a table of two columns is worth `pairs` times one in a table of three.
    """

    passes: int
    near: float
    enough: float
    pairs: float


QUICK = _Effort(passes=4, near=0.4, enough=0.02, pairs=2.0)  # if rows get other values at the end (`_move_worst`)
THOROUGH = _Effort(passes=8, near=0.6, enough=0.005, pairs=20.0)  # if they do not


class _Target(NamedTuple):
    """The expected tables of a column with one and two earlier columns, whose cells are the contexts: a row for each.

    The contexts of all `tables` are numbered in one sequence; those of each begin at its entry of `starts`.
    """

    tables: Sequence[Columns]
    starts: Ints
    expected: Reals
    cell_weights: Reals


def fits(model: Pairwise, rows: int) -> bool:
    """Return whether tables of three columns are few and small enough to use all of them."""
    sizes = [counts.size for counts in model.one_way.values()]
    powers = [float(sum(size**k for size in sizes)) for k in (1, 2, 3)]
    cells = (powers[0] ** 3 - 3 * powers[0] * powers[1] + 2 * powers[2]) / 6  # of all triples of columns
    places = rows * math.comb(len(sizes), 2)
    return model.whole is None and len(sizes) > 2 and places <= MAX_PLACES and cells <= MAX_CELLS


def by_columns(model: Pairwise, rows: int) -> Codes:
    """Return codes of rows, of shape (columns, rows), columns in the order of the model's."""
    ordered = sorted(model.one_way, key=lambda name: -model.one_way[name].size)
    codes = {ordered[0]: alone(model.one_way[ordered[0]], rows)}
    shape = [model.one_way[name].size for name in ordered]
    looked = rows * math.comb(len(ordered), 3)
    of_three = [(*two, last) for last in range(len(ordered)) for two in combinations(range(last), 2)]
    moves = rows <= MAX_ROWS and looked <= MAX_LOOKED
    triples = Tables.over(of_three, shape, LIMIT) if moves else None
    effort = THOROUGH if triples is None else QUICK
    # A second thread computes the target tables of the next column, and fills in the tables of the last one, while
    # values of this one are chosen.
    with ThreadPoolExecutor(1) as beside:
        target = beside.submit(_target, model, ordered[:1], ordered[1], rows, effort.pairs)
        for k, name in enumerate(ordered[1:], start=1):
            now = target.result()
            if k + 1 < len(ordered):
                target = beside.submit(_target, model, ordered[: k + 1], ordered[k + 1], rows, effort.pairs)
            codes[name], price = _next(model, codes, name, now, k - 1, effort)
            if triples is not None:
                filled = beside.submit(_fill, triples, k, now, price)
        if triples is not None:
            filled.result()
    places = np.stack([codes[name] for name in ordered])
    if triples is not None:
        _move_worst(places, shape, triples, min(WORST_PASSES, -(-ENOUGH_LOOKED // max(1, looked))))
    order = [ordered.index(name) for name in model.one_way]
    return places[order]


def alone(counts: Floats, rows: int) -> Codes:
    """Return the values of one column, in increasing order, in the proportions of `counts`."""
    return np.repeat(np.arange(counts.size), largest_remainders(counts + 1e-9, rows)).astype(np.int32)


def dependence(model: Pairwise, a: str, b: str) -> float:
    """Return how far the table of two columns is from independence: the sum of absolute differences."""
    return float(np.abs(model.pair(a, b) - np.outer(model.one_way[a], model.one_way[b]) / model.total).sum())


def given(parent: Codes | Ints, table: Floats, counts: Floats, order: npt.NDArray[np.intp]) -> Codes:
    """Return the values of a column that follow its `table` with another column, `parent`, up to rounding.

    Rounding errors are carried over to the next value of the parent. `counts` are those of the column alone, for values
    of the parent that are empty in the table. `order` says which of the rows of one value come first.
    """
    order = order[np.argsort(parent[order].astype(np.min_scalar_type(len(table))), kind="stable")]
    child = np.zeros(parent.size, dtype=np.int32)
    sizes, carried, start = np.bincount(parent, minlength=len(table)), np.zeros(table.shape[1]), 0
    for value in np.flatnonzero(sizes):
        likely = table[value] if table[value].sum() > 0 else counts + 1e-9
        wanted = likely * (sizes[value] / likely.sum()) + carried
        dealt = largest_remainders(np.maximum(wanted, 0.0) + 1e-12, int(sizes[value]))
        carried = wanted - dealt
        child[order[start : start + sizes[value]]] = np.repeat(np.arange(dealt.size), dealt)
        start += sizes[value]
    return child


def _target(model: Pairwise, earlier: Sequence[str], name: str, rows: int, pairs: float) -> _Target:
    """Return the tables of a column with one and two of the `earlier` ones, and the weights of errors in them.

    An error in a table of two columns is worth `pairs` times one in a table of three.
    """
    tables = [*((other,) for other in earlier), *combinations(earlier, 2)]
    part, size = np.float32(rows / model.total), model.one_way[name].size
    starts = np.cumsum([0, *(math.prod(model.one_way[other].size for other in table) for table in tables)])
    expected = np.empty((starts[-1], size), dtype=np.float32)
    for table, first, last in zip(tables, starts, starts[1:], strict=False):
        expected[first:last] = model.table((*table, name)).reshape(-1, size)
    expected *= part
    cell_weights: Reals = np.reciprocal(1 + expected @ np.full(size, 1 / size, dtype=np.float32))
    cell_weights[: starts[len(earlier)]] *= np.float32(pairs)
    return _Target(tables, starts, expected, cell_weights)


def _fill(triples: Tables, last: int, target: _Target, price: Reals) -> None:
    """Fill in the tables of three columns whose last one is at place `last`; `price` is overwritten."""
    price /= target.cell_weights[:, None]
    price += np.float32(BELOW_MEAN)
    for k in range(math.comb(last, 2)):
        cells = slice(target.starts[last + k], target.starts[last + k + 1])
        triples.fill(math.comb(last, 3) + k, price[cells], target.expected[cells], POWER)


def _move_worst(places: Codes, shape: Sequence[int], tables: Tables, passes: int) -> None:
    """Change the values of each column in rows whose cells have the largest excess.

    More rows are tried for columns of few values. `places` and `tables` are updated.
    """
    columns, rows = places.shape
    most = MAX_PRICES if passes > 1 else MORE_PRICES
    for salt in range(passes):
        full = tables.prices_by_column(places)
        for column, values in enumerate(shape):
            prices = columns * values * math.comb(columns - 1, 2)
            count = max(1, min(int(WORST * rows), most // prices))
            worst = greatest(full[column], count)
            batches = min(max(WORST_BATCHES, count // LARGE_BATCH), count)
            move_in_batches(column, places, shape, tables, np.array_split(worst[shuffled(count, salt)], batches))


def _next(
    model: Pairwise, codes: dict[str, Codes], name: str, target: _Target, salt: int, effort: _Effort
) -> tuple[Codes, Reals]:
    """Return the values of the column `name`, chosen by its tables with one and two of the other columns.

    Also return weight · (count − expected) of all cells of these tables.
    """
    rows, size = len(next(iter(codes.values()))), model.one_way[name].size
    order = shuffled(rows, salt)
    mixed = {other: values.take(order) for other, values in codes.items()}
    parent = max(codes, key=lambda other: dependence(model, other, name))
    child = given(mixed[parent], model.pair(parent, name), model.one_way[name], order)
    contexts = np.empty((len(target.tables), rows), dtype=np.int32)
    price, least = np.empty_like(target.expected), np.zeros(rows, dtype=np.float32)
    for k, table in enumerate(target.tables):
        first, last = target.starts[k : k + 2]
        context = mixed[table[0]]
        for other in table[1:]:
            context = context * np.int32(model.one_way[other].size) + mixed[other]
        np.add(context, np.int32(first), out=contexts[k])
        least += target.cell_weights[first:last].take(context)
        counts = np.bincount(context * np.int32(size) + child, minlength=(last - first) * size)
        np.subtract(counts.reshape(-1, size), target.expected[first:last], out=price[first:last], casting="same_kind")
    price *= target.cell_weights[:, None]
    _choose(child, contexts, price, target.cell_weights, least, effort)
    values = np.empty_like(child)
    values[order] = child
    return values, price


def _choose(child: Codes, contexts: Codes, price: Reals, cell_weights: Reals, least: Reals, effort: _Effort) -> None:
    """Change values of a column, `child`, if that brings its counts in its rows' `contexts` closer to the model's.

    A context's `price` is weight · excess. Moving a row from value u to v gains 2·Σ (price[u] − price[v] − weight) over
    its contexts. Rows are in a different order for each column, in which neighbours are moved at once.
    """
    rows = child.size
    size = -(-rows // max(BATCHES, rows // LARGE_BATCH))
    gains, changed = _pass(child, contexts, price, cell_weights, least, size, 0)
    for number in range(1, effort.passes):
        if changed < effort.enough * rows:
            break
        near = greatest(gains, math.ceil(effort.near * rows))
        some, first = child.take(near), (number % 2) * (size // 2)
        own, least_of_these = contexts.take(near, axis=1), least.take(near)
        gains[near], changed = _pass(some, own, price, cell_weights, least_of_these, size, first)
        child[near] = some


def _pass(
    child: Codes, contexts: Codes, price: Reals, cell_weights: Reals, least: Reals, size: int, first: int
) -> tuple[Reals, int]:
    """Change values of rows in batches of `size`; the first batch is shorter by `first`.

    Returns the gain of the best change of each row, and how many changes were made.
    """
    values, prices, changed = price.shape[1], price.reshape(-1), 0
    gains = np.empty(child.size, dtype=np.float32)
    for start in range(-first, child.size, size):
        batch = slice(max(start, 0), start + size)
        own, old = contexts[:, batch], child[batch]
        cost, lanes = sums(price, own), np.arange(old.size)
        leaving = cost[lanes, old] - least[batch]
        cost[lanes, old] = np.inf
        best = cost.argmin(axis=1)
        gain = gains[batch] = leaving - cost[lanes, best]
        helpful = np.flatnonzero(gain > 0)
        if helpful.size == 0:
            continue
        base = own.take(helpful, axis=1)
        weights, base = cell_weights.take(base), base.astype(np.int64) * values
        here, there = base + old[helpful], base + best[helpful]
        _shift(prices, here, there, weights)
        undone = (prices.take(there) - prices.take(here) - weights).sum(axis=0)
        keep, out, _ = kept(gain[helpful], undone)
        _shift(prices, there.take(out, axis=1), here.take(out, axis=1), weights.take(out, axis=1))
        old[helpful[keep]] = best[helpful[keep]]
        changed += keep.size
    return gains, changed


def _shift(prices: Reals, here: Ints, there: Ints, weights: Reals) -> None:
    """Move people from some cells to others."""
    np.subtract.at(prices, here.ravel(), weights.ravel())
    np.add.at(prices, there.ravel(), weights.ravel())
