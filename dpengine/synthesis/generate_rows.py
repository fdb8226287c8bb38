"""Synthetic rows with weights, whose tables come near to a model of pairs of columns.

Rows are first generated along the tree of strongest dependence. Among the rows that share a value of the parent, the
counts of a column are those of the model, rounded; rounding errors are carried over to the next value. Then the rows
are repaired: single values are changed, in a few rows and one column at a time, if that brings the tables of all pairs
nearer to the model's (`synthesis.repair`). Rows are not sampled: sampling n rows would add an error of the order √n to
every count, which is more than the noise at usual ε.

Up to `MAX_ONCE` people every row has weight 1. Beyond it, rows get larger weights, so that time and memory do not grow
with the number of people. Nine in ten people are represented by rows of one large weight, nine in ten of the rest by
some of the same rows at a smaller weight, repaired in turn to remove the remaining error, and so on down to weight 1.
In the end single people are taken out of the rows that fit worst, and repaired.

A fixed function of the model: orders without meaning are those of a hash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Ints
from dpengine.estimate.agreement import Following
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.fitting import largest_remainders, round_to_total
from dpengine.marginals.graphs import spanning_tree
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.nested import NO_LEVELS
from dpengine.marginals.pairwise import Pairwise
from dpengine.spec.categories.resolution import Resolution
from dpengine.synthesis.by_columns import alone, by_columns, fits, given
from dpengine.synthesis.nearest import nearest_counts
from dpengine.synthesis.repair import EVEN_LIMIT, EVEN_POWER, LIMIT, POWER, Codes, Reals, of_pairs, repair

__all__ = ["SyntheticRows", "generate_rows", "realise"]

MAX_ONCE = 2**17  # people who get a row each; of more, nine in ten share COARSE rows, or up to twice as many
COARSE = 2**16
COARSE_WIDE = 2**19  # the same if tables of three columns or more are counted: these need many different rows
FINE = 2**15  # rows of every further level but the last
MOST_PASSES = 8  # over rows of weight 1, while they gain
ENOUGH = 0.005  # of the people of a round: if fewer are changed, it is the last
PASSES = (3, 1, 3)  # over the first level, the middle ones and the last, if there are several
MAX_NUMBER = 2**62
ROUNDS = 8  # at most, over single people of the worst rows in the end, if there are several levels
MORE_ROUNDS, LITTLE = 30, 0.0005  # the same, and instead of `ENOUGH`, where noise is known and cells are few
SMALL_NOISE = math.sqrt(2)  # deviation up to which nearly half of all measured counts are exact


@dataclass(frozen=True)
class SyntheticRows:
    """Synthetic rows from which every table is counted: `codes` has one row for each column of `domain`.

    Row k stands for `weights[k]` people, at least one.
    """

    domain: Domain
    codes: Codes
    weights: Ints

    @property
    def columns(self) -> Columns:
        """Names of the columns."""
        return self.domain.names

    def project(self, onto: Sequence[str]) -> Marginal[np.int64]:
        """Return the counts over some of the columns."""
        return Marginal(tuple(onto), self.table(tuple(onto)))

    def table(self, columns: Columns, resolution: Resolution = NO_LEVELS) -> Ints:
        """Return the published counts over `columns`, which may be at a coarser level of those that the rows have.

        Raises KeyError where the rows do not tell all of these.
        """
        held = resolution.held(columns, self.domain.names)
        if held is None:
            raise KeyError(columns)
        if held != columns:
            return resolution.coarsen(self.table(held), held, columns)
        if not columns:
            return np.array(self.weights.sum(), dtype=np.int64)
        domain = self.domain.project(columns)
        cells = domain.cells([self.codes[k] for k in self.domain.axes(columns)])
        if self._people < 2**53:  # the weights of a bincount are floats, whose sums are exact up to there
            singly = self._people == self.weights.size
            counts = np.bincount(cells, None if singly else self.weights, domain.size).astype(np.int64)
        else:
            counts = np.zeros(domain.size, dtype=np.int64)
            np.add.at(counts, cells, self.weights)
        return counts.reshape(domain.sizes)

    @cached_property
    def _people(self) -> int:
        return int(self.weights.sum())


def realise(fitted: ConsistentTables | Pairwise | Following, widest: int) -> SyntheticRows | ConsistentTables:
    """Return whole counts that agree everywhere for a fitted model; tables that are whole already stay as they are.

    Pairs become synthetic rows that are near to them and have their total. If the pairs come with a table of all
    columns, that table in whole numbers is enough. `widest` is the number of columns of the widest table that will be
    counted.
    """
    if isinstance(fitted, ConsistentTables):
        return fitted
    if isinstance(fitted, Following):
        rows = realise(fitted.model, widest)
        if isinstance(rows, SyntheticRows):
            return ConsistentTables(fitted.after(rows, int(rows.table(()))), rows)
        (first,) = rows.tables
        return ConsistentTables(fitted.after(first, int(first.values.sum())))
    if fitted.whole is not None:
        expected = fitted.whole.values
        counts = round_to_total(expected, round(float(expected.sum())))
        return ConsistentTables((Marginal(fitted.whole.columns, counts),))
    domain = Domain(tuple(fitted.one), tuple(counts.size for counts in fitted.one.values()))
    rows = SyntheticRows(domain, *generate_rows(fitted, round(fitted.total), widest))
    return _nearer(rows, fitted) if fitted.noise and rows.weights.size else rows


def generate_rows(model: Pairwise, people: int, widest: int = 2) -> tuple[Codes, Ints]:
    """Return codes of synthetic rows, of shape (columns, rows), columns in the order of the model's, and their weights.

    Weights are at least 1 and add up to `people`. `widest` is the number of columns of the widest table that will be
    counted from the rows.
    """
    names = list(model.one)
    if people == 0:
        return np.zeros((len(names), 0), dtype=np.int32), np.zeros(0, dtype=np.int64)
    if len(names) == 1:
        counts = largest_remainders(model.one[names[0]] + 1e-9, people)
        values = np.flatnonzero(counts)
        return values[None].astype(np.int32), counts[values]
    (weight, rows), *finer = _levels(people, COARSE if widest <= 2 else COARSE_WIDE)
    starts = np.cumsum([0, *(counts.size for counts in model.one.values())])
    triples = widest > 2 and fits(model, rows)
    first = by_columns(model, rows) if triples else _along_tree(model, names, rows)
    levels, source = [(weight, first)], [np.arange(rows)]
    if triples and not finer:
        return first, np.ones(people, dtype=np.int64)
    excess = _excess(model, starts, levels)
    if not finer:
        power, limit = (EVEN_POWER, EVEN_LIMIT) if model.even else (POWER, LIMIT)
        repair(first, weight, excess, of_pairs(model, starts, power), starts, MOST_PASSES, limit)
        return first, np.ones(people, dtype=np.int64)
    worth = of_pairs(model, starts, EVEN_POWER)
    repair(first, weight, excess, worth, starts, PASSES[0])
    for weight, count in finer:
        source.append(np.arange(count) * rows // count)
        levels.append((weight, first[:, source[-1]]))
        excess = _excess(model, starts, levels)
        repair(levels[-1][1], weight, excess, worth, starts, PASSES[2 if (weight, count) == finer[-1] else 1])
    return _loosened(*_unique(*_merged(levels, source)), excess, worth, starts)


def _nearer(rows: SyntheticRows, model: Pairwise) -> SyntheticRows:
    """Return rows whose tables are nearer to those that were measured, where their noise is known."""
    starts = np.cumsum([0, *rows.domain.sizes])
    pairs = {(a, b): np.rint(model.noise[a, b][0]) for a, b in combinations(model.one, 2)}
    worth, excess = _of_noise(model, starts), _excess(replace(model, two=pairs), starts, [(rows.weights, rows.codes)])
    codes, weights = _loosened(*_unique(rows.codes, rows.weights), excess, worth, starts, MORE_ROUNDS, LITTLE)
    rows = SyntheticRows(rows.domain, codes, weights)
    if max(model.noise[pair][1] for pair in pairs) > SMALL_NOISE:
        return rows
    wanted = {rows.domain.axes(table): (np.rint(values).astype(np.int64), deviation)
              for table, (values, deviation) in model.noise.items()}  # fmt: skip
    counts = nearest_counts(rows.table(rows.columns), wanted)
    return SyntheticRows(rows.domain, np.stack(np.nonzero(counts)).astype(np.int32), counts[counts > 0])


def _loosened(
    codes: Codes,
    weights: Ints,
    excess: Reals,
    worth: Reals,
    starts: Ints,
    rounds: int | None = None,
    enough: float = ENOUGH,
) -> tuple[Codes, Ints]:
    """Repair single people of the rows that stand for several: those of the worst rows, up to `FINE` in a round."""
    for _ in range(ROUNDS if rounds is None else rounds):
        taken = _worst(codes, weights, excess * worth, starts)
        loose = codes[:, taken]
        repair(loose, 1, excess, worth, starts, 1)
        changed = (loose != codes[:, taken]).any(axis=0)
        if np.count_nonzero(changed) < enough * FINE:
            break
        np.subtract.at(weights, taken[changed], 1)
        codes = np.hstack([codes, loose[:, changed]])
        codes, weights = _unique(codes, np.append(weights, np.ones(np.count_nonzero(changed), dtype=np.int64)))
    return codes, weights


def _unique(codes: Codes, weights: Ints) -> tuple[Codes, Ints]:
    """Return each row once, in order, with the sum of its weights; none of weight 0."""
    some = weights > 0
    codes = codes[:, some]
    _, first, place = np.unique(_numbered(codes), return_index=True, return_inverse=True)
    sums = np.zeros(first.size, dtype=np.int64)
    np.add.at(sums, place, weights[some])
    return codes[:, first], sums


def _numbered(codes: Codes) -> Ints:
    """Return a number for each row, in the order of rows: equal rows have the same, and a later row a greater one.

    Numbers are sorted many times as fast as rows.

    >>> _numbered(np.array([[1, 0, 1], [2, 5, 3]]))
    array([8, 5, 9])
    """
    numbers, many = np.zeros(codes.shape[1], dtype=np.int64), 1
    for column in codes:
        size = int(column.max(initial=0)) + 1
        if many * size > MAX_NUMBER:  # then the next places of a number are too few: number the rows so far anew
            numbers = np.unique(numbers, return_inverse=True)[1]
            many = int(numbers.max(initial=0)) + 1
        numbers = numbers * size + column
        many *= size
    return numbers


def _merged(levels: list[tuple[int, Codes]], source: list[Ints]) -> tuple[Codes, Ints]:
    """Return the rows of all levels and their weights; a row that is still as its source adds to the weight of that."""
    weight, first = levels[0]
    codes, weights = [first], [np.full(first.shape[1], weight, dtype=np.int64)]
    for (weight, finer), places in zip(levels[1:], source[1:], strict=True):
        changed = (finer != first[:, places]).any(axis=0)
        np.add.at(weights[0], places[~changed], weight)
        codes.append(finer[:, changed])
        weights.append(np.full(np.count_nonzero(changed), weight))
    return np.hstack(codes), np.concatenate(weights)


def _levels(people: int, coarse: int) -> list[tuple[int, int]]:
    """Return (weight, count) of the rows of each level; those of the last have weight 1."""
    levels, rest = [], people
    if people > MAX_ONCE:
        levels.append(_nine_in_ten(people, coarse))
        rest -= math.prod(levels[-1])
        while rest > 2 * FINE:
            levels.append(_nine_in_ten(rest, FINE))
            rest -= math.prod(levels[-1])
    return [*levels, (1, rest)]


def _nine_in_ten(people: int, rows: int) -> tuple[int, int]:
    """Return (weight, count) of rows that represent 90 % of the people: `rows` of them, or up to twice as many."""
    part = people * 9 // 10
    weight = max(1, part // rows)
    return weight, part // weight


def _along_tree(model: Pairwise, names: list[str], rows: int) -> Codes:
    """Return rows whose columns follow the pairs of a tree, each pair to within rounding."""
    place = {name: k for k, name in enumerate(names)}
    codes = np.zeros((len(names), rows), dtype=np.int32)
    codes[0] = alone(model.one[names[0]], rows)
    for salt, (parent, child) in enumerate(_dependence_tree(model, names)):
        codes[place[child]] = given(codes[place[parent]], model.pair(parent, child), model.one[child], salt)
    return codes


def _dependence_tree(model: Pairwise, names: list[str]) -> list[tuple[str, str]]:
    """Return the edges (parent, child) of the tree of strongest dependence, from the first column outwards."""

    def strength(a: str, b: str) -> tuple[float, str]:
        apart = model.pair(a, b) - np.outer(model.one[a], model.one[b]) / model.total
        return float(np.abs(apart).sum()), a  # among equally strong edges, the last parent by name

    return [(parent, child) for parent, child, _ in spanning_tree(names, strength)]


def _excess(model: Pairwise, starts: Ints, levels: Sequence[tuple[int | Ints, Codes]]) -> Reals:
    """Return how much too often values x and y of two columns occur together; 0 for two values of one column.

    Values of all columns are numbered in one sequence; those of each column begin at its entry of `starts`.
    """
    excess = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    people = [np.broadcast_to(weight, codes.shape[1:]) for weight, codes in levels]
    part = sum(int(each.sum()) for each in people) / model.total
    names = list(model.one)
    for i, a in enumerate(names):
        for k, b in enumerate(names[:i]):
            table = model.pair(b, a)
            counts = np.zeros(table.size)
            for weights, (_, codes) in zip(people, levels, strict=True):
                counts += np.bincount(codes[k] * table.shape[1] + codes[i], weights, table.size)
            difference = counts.reshape(table.shape) - part * table
            excess[starts[k] : starts[k + 1], starts[i] : starts[i + 1]] = difference
            excess[starts[i] : starts[i + 1], starts[k] : starts[k + 1]] = difference.T
    return excess


def _of_noise(model: Pairwise, starts: Ints) -> Reals:
    """Return the worth of all pairs of values where each table's noise is known: one over its variance, at most 1."""
    worth = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    least = min(deviation for _, deviation in model.noise.values())
    for (k, b), (i, a) in combinations(enumerate(model.one), 2):
        _, deviation = model.noise[b, a]
        for one, other in ((k, i), (i, k)):
            worth[starts[one] : starts[one + 1], starts[other] : starts[other + 1]] = (least / deviation) ** 2
    return worth


def _worst(codes: Codes, weights: Ints, excess: Reals, starts: Ints) -> Ints:
    """Return the rows whose pairs of values occur too often by most, each up to as often as its weight: `FINE` in all.

    Where rows are few, each is there several times.
    """
    values = codes + starts[:-1, None]
    score = np.zeros(codes.shape[1], dtype=np.float32)
    for i in range(len(codes)):
        for k in range(i):
            score += excess[values[k], values[i]]
    worst = _greatest(score, min(FINE, score.size))
    return np.repeat(worst, np.minimum(weights[worst], max(1, FINE // worst.size)))


def _greatest(values: Reals, count: int) -> npt.NDArray[np.intp]:
    """Return the places of the `count` greatest values, in order of place; of equal ones, the first."""
    least = np.partition(values, values.size - count)[values.size - count]
    chosen = values > least
    chosen[np.flatnonzero(values == least)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)
