"""Move single people to another value of one column where this brings tables closer to target tables.

The objective is Σ weight · (count − wanted)² over the cells of all tables; errors in small cells have more weight.

Many people move at once, the most helpful of them. Each move was judged separately, so together they may overshoot. The
gain of undoing a move by itself shows by how much: those that nothing spoils are kept, and part of the others (`kept`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Floats, Ints, Reals
from dpengine.quasi_random import golden_fractions

__all__ = ["Tables", "copy_people", "greatest", "kept", "move", "move_along", "move_in_batches"]


TRIED_AT_ONCE = 0.5  # fraction of the helpful moves of a batch that are tried at once
AT_ONCE = 2**18  # prices
FEW_COPIES = 0.02  # fraction of the people tried in a round of copies


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables over some of the columns, with all cells in one flat array; each begins at its entry of `starts`.

    `columns` has a row of columns for each table, and `steps` the strides of their values; tables of fewer columns are
    padded with strides of 0. One more person in a cell adds 2·`price` to the objective, and one fewer subtracts
    2·(`price` − `cell_weights`) from it. Prices count up to a `limit`; beyond it, the objective grows in
    proportion to the error.
    """

    columns: Ints
    steps: Ints
    starts: Ints
    price: Reals
    cell_weights: Reals
    limit: float = math.inf

    @classmethod
    def over(cls, tables: Sequence[Sequence[int]], shape: Sequence[int], limit: float = math.inf) -> Tables:
        """Return empty tables over these columns, whose numbers of values are `shape`."""
        columns = np.zeros((max(map(len, tables), default=0), len(tables)), dtype=np.int64)
        steps, ends = np.zeros_like(columns), [0]
        for k, table in enumerate(tables):
            columns[: len(table), k] = table
            cells = 1
            for slot in reversed(range(len(table))):
                steps[slot, k] = cells
                cells *= shape[table[slot]]
            ends.append(ends[-1] + cells)
        price, cell_weights = (np.empty(ends[-1], dtype=np.float32) for _ in range(2))
        return cls(columns, steps, np.array(ends), price, cell_weights, limit)

    def fill(self, table: int, excess: Floats | Reals, wanted: Floats | Reals, power: float) -> None:
        """Set a table that exceeds `wanted` by `excess`; an error in a cell of m has weight (1 + m)^−`power`."""
        cells = slice(self.starts[table], self.starts[table + 1])
        cell_weights, price = self.cell_weights[cells], self.price[cells]
        np.maximum(wanted.ravel(), 0, out=cell_weights, casting="same_kind")
        cell_weights += 1
        np.log(cell_weights, out=cell_weights)  # log and exp take half of the time of NumPy's power
        cell_weights *= np.float32(-power)
        np.exp(cell_weights, out=cell_weights)
        np.add(excess.ravel(), 0.5, out=price, casting="same_kind")
        price *= cell_weights

    def off(self) -> float:
        """Return Σ weight · (count − wanted)²."""
        return float(((self.price - self.cell_weights / 2) ** 2 / self.cell_weights).sum(dtype=np.float64))

    def having(self, column: int) -> tuple[Ints, Ints]:
        """Return the tables that have a column, and the strides of its values in each."""
        apart = np.where(self.columns == column, self.steps, 0).sum(axis=0)
        some = np.flatnonzero(apart)
        return some, apart[some, None]

    def without(self, column: int, some: Ints, size: int) -> Tables:
        """Return `some` tables without a column, of `size` values, that they have; they have no prices."""
        own, steps = self.columns[:, some] == column, self.steps[:, some]
        apart = np.where(own, steps, 0).sum(axis=0)
        steps = np.where(own, 0, np.where(steps > apart, steps // size, steps))
        starts = np.cumsum([0, *((self.starts[some + 1] - self.starts[some]) // size)])
        none = np.empty(0, dtype=np.float32)
        return Tables(self.columns[:, some], steps, starts, none, none)

    def cells(self, places: npt.NDArray[np.integer], some: Ints) -> Ints:
        """Return the cells of people in some tables, a row each; `places` has a row for each column."""
        cells = np.repeat(self.starts[some, None], places.shape[1], axis=1)
        for columns, steps in zip(self.columns, self.steps, strict=True):
            cells += places.take(columns[some], axis=0) * steps[some, None]
        return cells

    def up_to_limit(self, prices: Reals) -> Reals:
        """Limit prices, so that large errors count linearly."""
        return prices.clip(-self.limit, self.limit) if math.isfinite(self.limit) else prices

    def prices_by_column(self, places: npt.NDArray[np.integer]) -> Reals:
        """Return the sum of each person's prices in the tables that have a column, a row for each column.

        Cells of a table are numbered in the type of `places`: 32 bits take two thirds of the time of 64.
        """
        sums = np.zeros(places.shape, dtype=np.float32)
        tables = zip(self.columns.T.tolist(), self.steps.T.tolist(), pairwise(self.starts), strict=True)
        for columns, steps, (first, last) in tables:
            cells = np.zeros_like(places[0])
            for column, step in zip(columns, steps, strict=True):
                cells += places[column] * step
            prices = self.up_to_limit(self.price[first:last].take(cells))
            for column, step in zip(columns, steps, strict=True):
                if step:
                    sums[column] += prices
        return sums


def kept(gain: Floats | Reals, undone: Floats | Reals) -> tuple[Ints, Ints, float]:
    """Return which simultaneous changes to keep, which to undo, and the approximate total gain of those kept.

    `gain` is the gain of each change, `undone` the gain of undoing it by itself. If many changes are alike, a fraction
    p of them changes the objective by −2·gain·p + (gain + undone)·p². So the fraction gain / (gain + undone) of them is
    kept, and every change that it would not help to undo. The first one always is.

    >>> kept(np.array([5.0, 5.0, 5.0, 5.0, 5.0]), np.array([-5.0, -5.0, 5.0, 5.0, 5.0]))
    (array([0, 1, 2, 4]), array([3]), 27.5)
    """
    part = gain / np.maximum(gain, gain + undone)
    keep = golden_fractions(np.arange(gain.size)) < part
    return keep.nonzero()[0], (~keep).nonzero()[0], float(part @ (2 * gain - part * (gain + undone)))


def greatest(values: Reals, count: int) -> npt.NDArray[np.intp]:
    """Return the places of the `count` greatest values, in order of place; ties go to the first."""
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    chosen[np.flatnonzero(values == least)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def move(places: Ints, shape: Sequence[int], tables: Tables, possible: Bools | None = None) -> None:
    """Give each person the best value of one column after another, by `move_along`."""
    for column in range(len(shape)):
        move_along(column, places, shape, tables, possible)


def move_along(column: int, places: Ints, shape: Sequence[int], tables: Tables, possible: Bools | None = None) -> None:
    """Give each person the best value of a column, if that helps; `places` and the prices in `tables` are updated.

    `places` has a row for each column, whose number of values is in `shape`. Nobody moves to a cell of all columns that
    is not `possible`.
    """
    own = places[column]
    some, apart = tables.having(column)
    cells = tables.cells(places, some)
    first = cells - apart * own
    cost = _prices(tables, first, apart, shape[column])
    if possible is not None:
        step = math.prod(shape[column + 1 :])
        cell = np.ravel_multi_index(tuple(places), shape) - own * step
        cost[~possible.take(cell[:, None] + np.arange(shape[column]) * step)] = np.inf
    _give_best(own, cells, apart, cost, tables)


def move_in_batches(
    column: int, places: npt.NDArray[np.integer], shape: Sequence[int], tables: Tables, batches: Sequence[Ints]
) -> int:
    """Give people of one batch after another the best value of a column; return how many values changed.

    The same as `move_along` for each of the `batches` of people, in a fraction of the time: prices are first copied so
    that those of all values of the column lie side by side, in a line for the values of the other columns.
    """
    people, size = np.concatenate(batches), shape[column]
    own, (some, apart) = places[column].take(people), tables.having(column)
    others = tables.without(column, some, size)
    starts = others.starts
    lines, numbers = _numbered(others.cells(places.take(people, axis=1), np.arange(some.size)), int(starts[-1]))
    table = starts.searchsorted(lines, "right") - 1
    outer, inner = np.divmod(lines - starts[table], apart[table, 0])
    firsts = tables.starts[some[table]] + outer * (apart[table, 0] * size) + inner
    cells = firsts[:, None] + apart[table] * np.arange(size)
    near = replace(tables, price=tables.price.take(cells).ravel(), cell_weights=tables.cell_weights.take(cells).ravel())
    start, changed = 0, 0
    for batch in batches:
        now = slice(start, start + batch.size)
        cost = _sums_of_lines(near, numbers[:, now], size)
        changed += _give_best(own[now], numbers[:, now] * size + own[now], 1, cost, near)
        start += batch.size
    tables.price[cells] = near.price.reshape(cells.shape)
    places[column, people] = own
    return changed


def _give_best(own: npt.NDArray[np.integer], cells: Ints, apart: Ints | int, cost: Reals, tables: Tables) -> int:
    """Give people the value of least `cost`, if that helps, and return how many of the values, `own`, changed.

    `cells` has a row for each table, in which the values are so far `apart`.
    """
    people = np.arange(own.size)
    cost[people, own] = np.inf
    best = cost.argmin(axis=1)
    gain = _gain_of_leaving(tables, cells) - cost[people, best]
    helpful = np.flatnonzero(gain > 0)
    if helpful.size == 0:
        return 0
    helpful = helpful[np.argsort(-gain[helpful], kind="stable")][: max(16, int(TRIED_AT_ONCE * helpful.size))]
    before = cells.take(helpful, axis=1)
    now = before + apart * (best[helpful] - own[helpful])
    _shift(tables, before, now)
    keep, out, _ = kept(gain[helpful], _gain_of_undoing(tables, before, now))
    _shift(tables, now.take(out, axis=1), before.take(out, axis=1))
    own[helpful[keep]] = best[helpful[keep]]
    return keep.size


def copy_people(places: npt.NDArray[np.integer], tables: Tables, at_once: int, rounds: int) -> int:
    """Give people in cells with too many all values of others in cells with too few; return how many changed.

    This finds what no change of a single value does, where values of several columns go together. Each round tries the
    `at_once` most helpful pairs of people; a round that helps few of these is the last.
    """
    cells, changed = tables.cells(places, np.arange(len(tables.starts) - 1)), 0
    for _ in range(rounds):
        leaving, joining = _gain_of_leaving(tables, cells), tables.up_to_limit(tables.price.take(cells)).sum(axis=0)
        out, copied = (_greatest_first(each, at_once) for each in (leaving, -joining))
        gain = leaving[out] - joining[copied]
        helpful = np.count_nonzero(gain > 0)  # they come first
        if helpful == 0:
            break
        out, copied = out[:helpful], copied[:helpful]
        before, now = cells.take(out, axis=1), cells.take(copied, axis=1)
        _shift(tables, before, now)
        keep, back, _ = kept(gain[:helpful], _gain_of_undoing(tables, before, now))
        _shift(tables, now.take(back, axis=1), before.take(back, axis=1))
        places[:, out[keep]] = places[:, copied[keep]]
        cells[:, out[keep]] = now[:, keep]
        changed += keep.size
        if keep.size < FEW_COPIES * at_once:
            break
    return changed


def _greatest_first(values: Reals, count: int) -> npt.NDArray[np.intp]:
    some = greatest(values, min(count, values.size))
    return some[np.argsort(-values[some], kind="stable")]


def _numbered(values: Ints, limit: int) -> tuple[Ints, Ints]:
    """Return the different ones of `values` below a limit, in increasing order, and the place of each among them.

    >>> _numbered(np.array([7, 3, 7]), 10)
    (array([3, 7]), array([1, 0, 1]))
    """
    found = np.zeros(limit, dtype=np.bool_)
    found[values] = True
    different, place = np.flatnonzero(found), np.empty(limit, dtype=np.int64)
    place[different] = np.arange(different.size)
    return different, place[values]


def _sums_of_lines(tables: Tables, lines: Ints, size: int) -> Reals:
    """Return the sums of each person's `lines` of prices, which has a row for each table."""
    prices, cost = tables.price.reshape(-1, size), np.zeros((lines.shape[1], size), dtype=np.float32)
    number = max(1, AT_ONCE // max(1, cost.size))
    for start in range(0, len(lines), number):
        cost += tables.up_to_limit(prices.take(lines[start : start + number], axis=0)).sum(axis=0)
    return cost


def _prices(tables: Tables, first: Ints, apart: Ints, values: int) -> Reals:
    """Return the sum of prices over tables for each person and value of a column, whose first values are in `first`."""
    cost, along = np.zeros((first.shape[1], values), dtype=np.float32), apart * np.arange(values)
    number = max(1, AT_ONCE // max(1, cost.size))
    for start in range(0, len(first), number):
        some = slice(start, start + number)
        cost += tables.up_to_limit(tables.price.take(first[some, :, None] + along[some, None, :])).sum(axis=0)
    return cost


def _gain_of_leaving(tables: Tables, cells: Ints) -> Reals:
    """Return the gain of removing each person from all of their `cells`."""
    gain: Reals = tables.up_to_limit(tables.price.take(cells) - tables.cell_weights.take(cells)).sum(axis=0)
    return gain


def _gain_of_undoing(tables: Tables, before: Ints, now: Ints) -> Reals:
    """Return the gain of undoing each move by itself, without a limit: it must show how far together they overshoot."""
    gain: Reals = (tables.price.take(now) - tables.cell_weights.take(now)).sum(axis=0)
    gain -= tables.price.take(before).sum(axis=0)
    return gain


def _shift(tables: Tables, here: Ints, there: Ints) -> None:
    """Move people from some cells to others."""
    for cells, sign in ((here.ravel(), np.float32(-1)), (there.ravel(), np.float32(1))):
        np.add.at(tables.price, cells, sign * tables.cell_weights.take(cells))
