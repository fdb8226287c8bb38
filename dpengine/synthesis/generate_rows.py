"""A model of pairs → synthetic rows, each with how often it stands, whose tables come as near to the pairs' as may be.

Rows are first dealt along the tree of strongest dependence: the counts of a column among the rows that share a
value of its parent are those of the model, rounded, and what rounding takes from one value it gives to the next.
Then single values are changed, a few rows and one column at a time, wherever that brings the tables of all pairs
together nearer to the model's in the sum of squares. Rows are not sampled: sampling n rows would add an error as
of √n to every count, which is more than the noise at usual ε.

Up to some number every row stands once. Beyond it, so that time and memory do not grow with the number of people, nine
in ten people are dealt as rows that stand equally often, nine in ten of the rest as some of the same rows, which stand
less often and are changed in turn to take out what is still off, and so on down to rows that stand once.

A fixed function of the model: where an order is needed that has no meaning, it is that of a hash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Ints
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.fitting import largest_remainders, round_to_total
from dpengine.marginals.graphs import spanning_tree
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled

__all__ = ["Codes", "SyntheticRows", "generate_rows", "realise"]

Codes = npt.NDArray[np.int32]

MAX_ONCE = 2**17  # people who are dealt one by one; of more, nine in ten are dealt as one or two times COARSE rows
COARSE = 2**16
COARSE_WIDE = 2**19  # where tables of three columns and more are counted too: these want many different rows
FINE = 2**15  # rows that stand for nine in ten of those who are left, again and again
BATCHES = 192  # a pass looks at all rows in about so many batches
# Part of a batch's helpful changes, the most helpful first, that a pass makes at once: many undo each other's help.
ACCEPTED = (0.1, 0.05, 0.05, 0.03, 0.02)
PASSES = (3, 1, 3)  # over the first rows, over others and over the last ones, where rows stand several times


@dataclass(frozen=True)
class SyntheticRows:
    """Synthetic rows from which every table is counted: `codes` has one row for each column of `domain`.

    The synthetic row in place k stands for `weights[k]` people, one at least.
    """

    domain: Domain
    codes: Codes
    weights: Ints

    def table(self, columns: Columns) -> Ints:
        """Return the published counts over `columns`."""
        if not columns:
            return np.array(self.weights.sum(), dtype=np.int64)
        domain = self.domain.project(columns)
        counts = np.zeros(domain.size, dtype=np.int64)
        # In whole numbers; the weights of a bincount are floats.
        np.add.at(counts, domain.cells([self.codes[k] for k in self.domain.axes(columns)]), self.weights)
        return counts.reshape(domain.sizes)


def realise(fitted: ConsistentTables | Pairwise, widest: int) -> SyntheticRows | ConsistentTables:
    """Return whole counts that agree everywhere for a fitted model; tables that are whole already stay as they are.

    Pairs become synthetic rows that come as near to them as rows can, with their total. Where the pairs come with a
    table of all columns, that table in whole numbers is enough. `widest` is the number of columns of the widest table
    that will be counted.
    """
    if isinstance(fitted, ConsistentTables):
        return fitted
    if fitted.whole is not None:
        expected = fitted.whole.values
        counts = round_to_total(expected, round(float(expected.sum())))
        return ConsistentTables((Marginal(fitted.whole.columns, counts),))
    domain = Domain(tuple(fitted.one), tuple(counts.size for counts in fitted.one.values()))
    return SyntheticRows(domain, *generate_rows(fitted, round(fitted.total), widest))


def generate_rows(model: Pairwise, people: int, widest: int = 2) -> tuple[Codes, Ints]:
    """Codes of synthetic rows, of shape (columns, rows), columns in the order of the model's, and their times.

    Each row stands for as many of the ``people`` as its times say, one at least; together for all of them. ``widest``
    is the most columns of a table that will be counted from them.
    """
    names = list(model.one)
    if people == 0:
        return np.zeros((len(names), 0), dtype=np.int32), np.zeros(0, dtype=np.int64)
    if len(names) == 1:
        counts = largest_remainders(model.one[names[0]] + 1e-9, people)
        held = np.flatnonzero(counts)
        return held[None].astype(np.int32), counts[held]
    (weight, rows), *finer = _levels(people, COARSE if widest <= 2 else COARSE_WIDE)
    starts = np.cumsum([0, *(counts.size for counts in model.one.values())])
    codes, times = _along_tree(model, names, rows), np.full(rows, weight, dtype=np.int64)
    _mend(codes, weight, _excess(model, starts, codes, times), starts, ACCEPTED[: PASSES[0]] if finer else ACCEPTED)
    for weight, count in finer:
        source = np.arange(count) * rows // count
        dealt = codes[:, source]
        over = _excess(model, starts, np.hstack((codes, dealt)), np.append(times, np.full(count, weight)))
        _mend(dealt, weight, over, starts, ACCEPTED[: PASSES[2 if (weight, count) == finer[-1] else 1]])
        changed = (dealt != codes[:, source]).any(axis=0)
        np.add.at(times, source[~changed], weight)
        codes = np.hstack((codes, dealt[:, changed]))
        times = np.append(times, np.full(np.count_nonzero(changed), weight))
    return codes, times


def _levels(people: int, coarse: int) -> list[tuple[int, int]]:
    """How often the rows of each level stand, and how many there are; the last ones stand once."""
    levels, rest = [], people
    if people > MAX_ONCE:
        levels.append(_nine_in_ten(people, coarse))
        rest -= math.prod(levels[-1])
        while rest > 2 * FINE:
            levels.append(_nine_in_ten(rest, FINE))
            rest -= math.prod(levels[-1])
    return [*levels, (1, rest)]


def _nine_in_ten(people: int, rows: int) -> tuple[int, int]:
    """How often each of so many rows, or up to twice as many, stands for nine in ten people; and how many they are."""
    part = people * 9 // 10
    weight = max(1, part // rows)
    return weight, part // weight


def _along_tree(model: Pairwise, names: list[str], rows: int) -> Codes:
    place = {name: k for k, name in enumerate(names)}
    codes = np.zeros((len(names), rows), dtype=np.int32)
    codes[0] = np.repeat(np.arange(model.one[names[0]].size), largest_remainders(model.one[names[0]] + 1e-9, rows))
    for salt, (parent, child) in enumerate(_dependence_tree(model, names)):
        given = codes[place[parent]]
        order = shuffled(rows, salt)
        table = model.pair(parent, child)
        order = order[np.argsort(given[order].astype(np.min_scalar_type(len(table))), kind="stable")]
        sizes, carried, start = np.bincount(given, minlength=len(table)), np.zeros(table.shape[1]), 0
        for value in np.flatnonzero(sizes):
            likely = table[value] if table[value].sum() > 0 else model.one[child] + 1e-9
            wanted = likely * (sizes[value] / likely.sum()) + carried
            counts = largest_remainders(np.maximum(wanted, 0.0) + 1e-12, int(sizes[value]))
            carried = wanted - counts
            codes[place[child], order[start : start + sizes[value]]] = np.repeat(np.arange(counts.size), counts)
            start += sizes[value]
    return codes


def _dependence_tree(model: Pairwise, names: list[str]) -> list[tuple[str, str]]:
    """Return the edges (parent, child) of the tree of strongest dependence, from the first column outwards."""

    def strength(a: str, b: str) -> tuple[float, str]:
        apart = model.pair(a, b) - np.outer(model.one[a], model.one[b]) / model.total
        return float(np.abs(apart).sum()), a  # of equally strong ones, the last parent by name

    return [(parent, child) for parent, child, _ in spanning_tree(names, strength)]


def _excess(model: Pairwise, starts: Ints, codes: Codes, times: Ints) -> npt.NDArray[np.float32]:
    """By how much values x and y of two columns are held together too often; 0 where they are of one column.

    Values of all columns are numbered through, from ``starts`` on.
    """
    over = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    part = int(times.sum()) / model.total
    names = list(model.one)
    for i, a in enumerate(names):
        for k, b in enumerate(names[:i]):
            table = model.pair(b, a)
            held = np.zeros(table.size, dtype=np.int64)
            np.add.at(held, codes[k] * table.shape[1] + codes[i], times)
            excess = held.reshape(table.shape) - part * table
            over[starts[k] : starts[k + 1], starts[i] : starts[i + 1]] = excess
            over[starts[i] : starts[i + 1], starts[k] : starts[k + 1]] = excess.T
    return over


def _mend(codes: Codes, weight: int, over: npt.NDArray[np.float32], starts: Ints, passes: tuple[float, ...]) -> None:
    """Change single values of rows, which stand ``weight`` times each, while that lowers the squares of ``over``."""
    columns, rows = codes.shape
    size = max(64, -(-rows // BATCHES))
    first = starts[:-1].astype(np.int32)
    for salt, part in enumerate(passes):
        order = shuffled(rows, columns + salt)
        held = np.ascontiguousarray((codes[:, order] + first[:, None]).T)
        for start in range(0, rows, size):
            batch = slice(start, start + size)
            held[batch] = _improved(held[batch], weight, over, starts, part)
        codes[:, order] = held.T - first[:, None]


def _improved(batch: Codes, weight: int, over: npt.NDArray[np.float32], starts: Ints, part: float) -> Codes:
    """Rows of shape (rows, columns), some of them moved to the best value of one column after another.

    Moving a row from value u to v changes the sum of squares by 2·weight·Σ_y (over[y, v] − over[y, u] + weight), over
    the row's values y of other columns.
    """
    from scipy.sparse import csr_array  # only where rows are dealt: it takes long to load

    rows, columns = batch.shape
    lanes, flat, width = np.arange(rows), over.reshape(-1), len(over)
    # Which values each row has, as a sparse matrix of ones; held is a view of its indices, and changes it.
    ends = np.arange(0, batch.size + 1, columns, dtype=np.int32)
    own = csr_array((np.ones(batch.size, np.float32), batch.ravel(), ends), shape=(rows, width))
    held: Codes = own.indices.reshape(rows, columns)
    for a in range(columns):
        cost = own @ np.ascontiguousarray(over[:, starts[a] : starts[a + 1]])
        best = cost.argmin(axis=1)
        gain = cost[lanes, held[:, a] - starts[a]] - cost[lanes, best] - weight * (columns - 1)
        helpful = np.flatnonzero(gain > 0)
        if helpful.size == 0:
            continue
        moved = helpful[_greatest(gain[helpful], max(1, int(part * helpful.size)))]
        others = held[moved].astype(np.int64)
        old, new = others[:, a].copy(), best[moved] + starts[a]
        others = others[:, np.arange(columns) != a]
        for value, step in ((old[:, None], -weight), (new[:, None], weight)):
            np.add.at(flat, (others * width + value).ravel(), np.float32(step))
            np.add.at(flat, (value * width + others).ravel(), np.float32(step))
        held[moved, a] = new
    return held


def _greatest(values: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.intp]:
    """Where the ``count`` greatest values stand, in order of place; of equal ones, the first."""
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    chosen[np.flatnonzero(values == least)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)
