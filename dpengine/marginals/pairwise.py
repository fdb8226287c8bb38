"""A model of every pair of columns, and hence of any table, fitted to noisy totals, columns and pairs.

A measured pair is its noisy table, shrunk towards a guess from all others (`marginals.shrinkage`). An unmeasured pair
is composed through columns on which both depend, as in a tree of conditional independence (Chow & Liu 1968), or left
independent. A table of more columns is the one of greatest entropy with the pairs' tables, by iterative proportional
fitting; or, if a private test says that this is closer to the truth, the one closest to latent classes in relative
entropy (Csiszár 1975).

The model is a fixed function of the measurements: nothing here sees exact counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.fitting import project, project_on_margins, rake, rake_three, shift_to_margins
from dpengine.marginals.graphs import Components
from dpengine.marginals.latent_classes import LatentClasses, find_latent_classes, fit_latent_classes
from dpengine.marginals.marginal import Marginal, Number
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.shrinkage import shrink, shrink_nearby
from dpengine.marginals.smoothing import smooth
from dpengine.noise.moments import nearby

__all__ = ["Pair", "Pairwise", "fit", "fit_one_table", "grand_total", "merge"]

Pair = tuple[str, str]
Shrinkage = Callable[[Floats, Floats, float], tuple[Floats, float]]
Neighbours = Mapping[str, Mapping[str, Floats]]  # tables of pairs, by their first and their second column

EMPTY = 1e-9  # added to every cell, so that raking can raise it from 0
RAKING_SWEEPS = 15
PROJECTING_SWEEPS = 10  # more do not change the error of a model of Adult by 1 in 1,000; raking does the rest
RAKED = 1e-5  # fraction of all rows by which margins may be off
TOUCH_UP_SWEEPS = 3
TABLE_SWEEPS = 6
COMPOSITIONS = 2
MAX_EQUATIONS = 512  # as many as a column has cells
UNMEASURED = 0.15  # weight of a pair that was composed, beside one that was measured


@dataclass(frozen=True)
class Pairwise:
    """Expected counts of every column and every pair of columns (names sorted), which agree with each other.

    If a table of all columns was measured too, it is `whole`, and every table is a sum of it. Errors are `even` over
    small and large cells if tables were measured directly; those of a model grow with the count. If also cells are few
    and noise is small, `noise` has each table as measured, non-negative, with the standard deviation of the noise.

    Tables of three and more columns start from the latent `classes`, if there are any. Otherwise all cells start alike,
    which gives the table of greatest entropy.
    """

    total: float
    one: Mapping[str, Floats]
    two: Mapping[Pair, Floats]
    whole: Marginal[np.float64] | None = None
    even: bool = False
    noise: Mapping[Columns, tuple[Floats, float]] = field(default_factory=dict)
    classes: LatentClasses | None = None

    def table(self, columns: Columns) -> Floats:
        """Return the expected counts over `columns`, one axis each."""
        if self.whole is not None:
            return self.whole.project(columns).values
        if len(columns) == 0:
            return np.array(self.total)
        if len(columns) == 1:
            return self.one[columns[0]]
        if len(columns) == 2:
            return self.pair(*columns)
        if self.classes is None and len(columns) == 3:
            with _on_one_thread():
                first, middle, last = (self.pair(*pair) for pair in combinations(columns, 2))
                return rake_three(first, middle, last, TABLE_SWEEPS)
        if self.classes is None:
            joint = np.ones([self.one[name].size for name in columns])
        else:
            joint = self.classes.table(columns)
        margins = [((i, k), self.pair(columns[i], columns[k])) for i, k in combinations(range(len(columns)), 2)]
        joint = rake(joint, margins, TABLE_SWEEPS)
        scaled: Floats = joint * (self.total / joint.sum())
        return scaled

    def pair(self, a: str, b: str) -> Floats:
        """Return the expected counts of two columns, one axis each."""
        return self.two[a, b] if (a, b) in self.two else self.two[b, a].T

    def with_classes(self) -> Pairwise:
        """Return this model with latent classes fitted to its pairs."""
        with _on_one_thread():
            return replace(self, classes=find_latent_classes(self.one, self.two))


def fit(
    sizes: Mapping[str, int], measured: Sequence[Measurement], *, nearby: bool = False, by_classes: bool = False
) -> Pairwise:
    """Fit the model for columns of the given `sizes` to the `measured` marginals.

    With `nearby`, cells of measured pairs may follow their neighbours: 1 % more accurate, in 1.5 times the time. With
    `by_classes`, tables of three columns or more start from latent classes.

    Raises KeyError for a column without a measurement of its own.
    """
    with _on_one_thread():
        model = _fit(sizes, measured, nearby)
    return model.with_classes() if by_classes else model


def _fit(sizes: Mapping[str, int], measured: Sequence[Measurement], nearby: bool) -> Pairwise:
    total = max(1.0, grand_total(measured))
    pairs: dict[Pair, list[Measurement]] = {}
    for one in measured:
        if len(columns := one.allocation.columns) == 2:
            pairs.setdefault((columns[0], columns[1]), []).append(one)
    single = {name: _single(name, size, measured, total) for name, size in sizes.items()}
    model = _Pairs(total, single, {})
    for pair, tables in pairs.items():
        model.two[pair] = model.updated(pair, tables, model.independent(pair))[0]
    tree, near = model.tree(pairs), model.neighbours()
    along_tree = model.along_tree(tree, near)
    for pair, tables in pairs.items():
        guesses = [model.independent(pair), *model.compositions(pair, near)[:COMPOSITIONS]]
        guesses = guesses if pair in tree else [*guesses, along_tree[pair]]
        model.best(pair, tables, guesses, nearby=nearby)
    near = model.neighbours()
    along_tree = model.along_tree(model.tree(pairs), near)
    for pair in combinations(sizes, 2):
        if pair not in pairs:
            guess = along_tree[pair] if pair in along_tree else model.independent(pair)
            composed = model.compositions(pair, near)[:1]
            model.two[pair] = max([guess, *composed], key=partial(model.dependence, pair)) if composed else guess
    if len(pairs) >= len(sizes):  # a tree is modelled exactly
        model.join(pairs, near, nearby)
    fitted = Pairwise(total, single, model.two)
    for one in measured:
        if len(one.allocation.columns) < 3:
            continue
        better, _ = shrink(
            one.values.astype(np.float64), fitted.table(one.allocation.columns), float(one.allocation.scale)
        )
        fitted = replace(fitted, whole=Marginal(one.allocation.columns, project(better, total)))
    return fitted


def _on_one_thread() -> AbstractContextManager[Any]:
    """Multiply matrices on one thread: threads that wait for each other double the time of small products."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # finding them takes a hundred times as long as limiting them


def fit_one_table(noisy: Floats, columns: Columns, scale: float) -> Floats:
    """Shrink a noisy table of two columns or more towards a model of its own sums; return non-negative counts.

    `scale` is that of the noise in a cell; the total is kept. Sums over a table are far more accurate than its cells,
    so cells are shrunk towards a model of the columns and pairs, unless they clearly differ from it. This costs
    nothing: the sums are post-processing of the table.
    """
    sums = [part for size in range(3) for part in combinations(columns, size) if part != columns]
    parts = []
    for part in sums:
        values = Marginal(columns, noisy).project(part).values
        wider = scale * math.sqrt(noisy.size / values.size)  # a sum of m cells has √m times the noise
        allocation = Allocation(part, 1 / nearby(wider), 1)
        parts.append(Measurement(allocation, np.rint(values).astype(np.int64)))
    model = fit(dict(zip(columns, noisy.shape, strict=True)), parts)
    better, _ = shrink(noisy, model.table(columns), scale)
    return project(better, max(0.0, float(noisy.sum())))


@dataclass
class _Pairs:
    """The model while it is being fitted."""

    total: float
    one: dict[str, Floats]
    two: dict[Pair, Floats]

    @cached_property
    def place(self) -> dict[str, int]:
        """The index of each column."""
        return {name: k for k, name in enumerate(self.one)}

    def independent(self, pair: Pair) -> Floats:
        return np.outer(self.one[pair[0]], self.one[pair[1]]) / self.total

    def dependence(self, pair: Pair, table: Floats) -> float:
        return float(np.abs(table - self.independent(pair)).sum())

    def updated(
        self, pair: Pair, tables: Sequence[Measurement], guess: Floats, drawn: Shrinkage = shrink
    ) -> tuple[Floats, float]:
        """Return the pair's table, `guess` updated by all its noisy tables, and the log-likelihood of these.

        The columns' counts are known better than the sums of a noisy table, which is shifted to them before it is
        shrunk towards a guess with the same sums, and projected on them afterwards.
        """
        likely = 0.0
        for noisy in tables:
            seen = merge(guess, noisy.merged)
            rows, columns = (merge(self.one[name], noisy.merged[k : k + 1]) for k, name in enumerate(pair))
            shifted = shift_to_margins(noisy.values.astype(np.float64), rows, columns)
            better, likelihood = drawn(shifted, seen, float(noisy.allocation.scale) * _noise_beside_margins(shifted))
            likely += likelihood
            better = project_on_margins(better, rows, columns, PROJECTING_SWEEPS, RAKED * self.total)
            better = _fit_margins(better, rows, columns)
            if noisy.merged:
                better = guess * (better / np.maximum(seen, 1e-300))[np.ix_(*noisy.merged)]
                better = _fit_margins(better, self.one[pair[0]], self.one[pair[1]], TOUCH_UP_SWEEPS)
            guess = better
        return guess, likely

    def best(self, pair: Pair, tables: Sequence[Measurement], guesses: Sequence[Floats], *, nearby: bool) -> None:
        """Update the pair from the guess under which its noisy tables are most likely."""
        updates = [self.updated(pair, tables, guess) for guess in guesses]
        best = max(range(len(updates)), key=lambda k: updates[k][1])
        self.two[pair] = updates[best][0]
        if nearby:
            self.two[pair] = self.updated(pair, tables, guesses[best], shrink_nearby)[0]

    def join(self, pairs: Mapping[Pair, Sequence[Measurement]], near: Neighbours, nearby: bool) -> None:
        """Shrink all pairs towards latent classes fitted to all of them."""
        weights = {pair: 1.0 if pair in pairs else UNMEASURED for pair in self.two}
        for pair, table in fit_latent_classes(self.one, self.two, weights).items():
            common = _fit_margins(table, self.one[pair[0]], self.one[pair[1]], TOUCH_UP_SWEEPS)
            if pair in pairs:
                guesses = [self.independent(pair), *self.compositions(pair, near)[:COMPOSITIONS], common]
                self.best(pair, pairs[pair], guesses, nearby=nearby)
            else:
                self.two[pair] = (self.two[pair] + common) / 2

    def tree(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return a spanning tree of the measured pairs with the strongest dependence."""
        parts = Components(self.one)
        strongest_first = sorted(pairs, key=lambda pair: -self.dependence(pair, self.two[pair]))
        return [pair for pair in strongest_first if parts.add(*pair)]

    def neighbours(self) -> Neighbours:
        """Return the tables of all pairs known so far, by both orders of their columns."""
        near: dict[str, dict[str, Floats]] = {name: {} for name in self.one}
        for (a, b), table in self.two.items():
            near[a][b], near[b][a] = table, table.T
        return near

    def along_tree(self, tree: Sequence[Pair], near: Neighbours) -> dict[Pair, Floats]:
        """Return the tables of all pairs that the tree connects: products of conditional tables along its paths."""
        steps: dict[str, list[tuple[str, Floats]]] = {name: [] for name in self.one}
        for a, b in tree:
            steps[a].append((b, near[a][b] / self.one[a][:, None]))
            steps[b].append((a, near[b][a] / self.one[b][:, None]))
        tables = {}
        for start in self.one:
            waiting = [(start, "", np.diag(self.one[start]))]
            while waiting:
                here, before, table = waiting.pop()
                for there, step in steps[here]:
                    if there != before:
                        further = table @ step
                        if self.place[start] < self.place[there]:
                            tables[start, there] = further
                        waiting.append((there, here, further))
        return tables

    def compositions(self, pair: Pair, near: Neighbours) -> list[Floats]:
        """Compose the pair through each column that was measured with both; the strongest dependence comes first."""
        a, c = pair
        between = sorted(near[a].keys() & near[c].keys(), key=self.place.__getitem__)
        composed = [(near[a][b] / self.one[b]) @ near[b][c] for b in between]
        return sorted(composed, key=lambda table: -self.dependence(pair, table))


def merge(table: npt.NDArray[Number], merged: tuple[Ints, ...]) -> npt.NDArray[Number]:
    """Sum neighbouring cells of `table` into merged bins, given for each axis as increasing integers from 0.

    >>> merge(np.array([1.0, 2.0, 3.0]), (np.array([0, 0, 1]),))
    array([3., 3.])
    """
    for axis, bins in enumerate(merged):
        table = np.add.reduceat(table, np.searchsorted(bins, np.arange(bins[-1] + 1)), axis=axis)
    return table


def _noise_beside_margins(table: Floats) -> float:
    """Return the noise of a table that was shifted to known margins, as a multiple of its noise before.

    A table of a single row or column is determined by its margins, and hence by the guess: any multiple will do.
    """
    return math.prod(math.sqrt(1 - 1 / max(2, size)) for size in table.shape)


def grand_total(measured: Sequence[Measurement]) -> float:
    """Return the total: the mean of the sums of all single columns and totals, weighted by their precision."""
    sums = [
        (float(one.values.sum()), one.values.size * float(one.allocation.scale) ** 2)
        for one in measured
        if len(one.allocation.columns) < 2
    ]
    return sum(value / variance for value, variance in sums) / sum(1 / variance for _, variance in sums)


def _fit_margins(
    table: Floats, rows: npt.NDArray[Any], columns: npt.NDArray[Any], sweeps: int = RAKING_SWEEPS
) -> Floats:
    """Rake a table of two columns like `fitting.rake`, by factors of its rows and columns.

    Source: Sinkhorn 1967.
    """
    table = table + EMPTY
    down, across = np.ones(len(rows)), np.ones(len(columns))
    near = RAKED * float(rows.sum())
    for _ in range(sweeps):
        sums = table @ across
        error = np.abs(rows - down * sums).sum()
        down = rows / sums
        sums = down @ table
        error += np.abs(columns - across * sums).sum()
        across = columns / sums
        if error <= near:
            break
    fitted: Floats = down[:, None] * table * across
    return fitted


def _single(name: str, size: int, measured: Sequence[Measurement], total: float) -> Floats:
    """Return the counts of one column: least squares of its own noisy counts and the margins of its pairs, smoothed.

    In a column of many cells, margins in merged bins are left out: their equations would take too long.

    Source: the updates of Kalman 1960, without a step in time.
    """
    sums, precision = np.zeros(size), 0.0
    merged: list[tuple[Ints, Floats, float]] = []  # bins, noisy sums and precision
    for one in measured:
        if name not in one.allocation.columns or len(one.allocation.columns) > 2:
            continue
        axis = one.allocation.columns.index(name)
        margin = one.values.sum(axis=tuple(k for k in range(one.values.ndim) if k != axis)).astype(np.float64)
        weight = margin.size / (one.values.size * float(one.allocation.scale) ** 2)
        if margin.size == size:
            sums += weight * margin
            precision += weight
        elif size <= MAX_EQUATIONS:
            merged.append((one.merged[axis], margin, weight))
    if precision == 0:
        raise KeyError(name)
    counts = sums / precision
    if not merged:
        return smooth(counts, precision**-0.5, total) + EMPTY
    variances = np.eye(size) / precision
    for bins, margin, weight in merged:
        binned = np.eye(margin.size)[bins].T
        shared = binned @ variances
        gain = np.linalg.solve(shared @ binned.T + np.eye(margin.size) / weight, shared).T
        counts += gain @ (margin - binned @ counts)
        variances -= gain @ shared
    return smooth(counts, math.sqrt(np.trace(variances) / size), total) + EMPTY
