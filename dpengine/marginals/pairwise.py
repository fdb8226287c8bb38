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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.dirichlet import EVEN, is_wide, posterior
from dpengine.marginals.fitting import project, rake, rake_three
from dpengine.marginals.graphs import Components
from dpengine.marginals.latent_classes import LatentClasses, find_latent_classes, fit_latent_classes
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.noisy_pair import EMPTY, NoisyPair, WeighedGuess, touch_up
from dpengine.marginals.shrinkage import shrink, weigh
from dpengine.marginals.smoothing import smooth_columns
from dpengine.marginals.sums import column_counts, column_sums, grand_total
from dpengine.noise.moments import nearby

__all__ = ["Pair", "Pairwise", "fit", "fit_one_table", "refit_pairs", "shrink_table"]

Pair = tuple[str, str]
Neighbours = Mapping[str, Mapping[str, Floats]]  # tables of pairs, by their first and their second column

TABLE_SWEEPS = 6  # sweeps of proportional fitting for a table of three or more columns
COMPOSITIONS = 2  # guesses at a pair through a third column, those of the strongest dependence
MAX_EQUATIONS = 512  # with more cells of a column, its least squares leaves out margins in merged bins
MAY_BE_EMPTY = 0.3  # a pair nearer to independence than this part of the rows, noise apart, is not mostly empty
UNSURE = 2.0  # as evidence of its columns, a mostly empty pair has this times the noise of its cells with people
BY_SIZE = 0.4  # weight of how unequal the counts of a table are, beside a model of its sums
UNMEASURED = 0.15  # weight of a pair that was composed, beside one that was measured


@dataclass(frozen=True)
class Pairwise:
    """Expected counts of all columns (`one_way`) and pairs (`two_way`, names sorted), which agree with each other.

    If a table of all columns was measured too, it is `whole`, and every table is a sum of it. Errors are `even` over
    small and large cells if tables were measured directly; those of a model grow with the count. If also cells are few
    and noise is small, `noise` has each table as measured, non-negative, with the standard deviation of the noise.

    Tables of three and more columns start from what was measured of them, if it was (`wide`), or from the latent
    `classes`, if there are any. Otherwise all cells start alike, which gives the table of greatest entropy. `direct`
    names the tables that were measured directly, if any were: pairs that are in none of them are not known.
    """

    total: float
    one_way: Mapping[str, Floats]
    two_way: Mapping[Pair, Floats]
    whole: Marginal[np.float64] | None = None
    even: bool = False
    noise: Mapping[Columns, tuple[Floats, float]] = field(default_factory=dict)
    classes: LatentClasses | None = None
    wide: Mapping[Columns, Floats] = field(default_factory=dict)
    direct: tuple[Columns, ...] = ()

    def table(self, columns: Columns) -> Floats:
        """Return the expected counts over `columns`, one axis each."""
        if self.whole is not None:
            return self.whole.project(columns).values
        if len(columns) == 0:
            return np.array(self.total)
        if len(columns) == 1:
            return self.one_way[columns[0]]
        if len(columns) == 2:
            return self.pair(*columns)
        if (wider := next((table for table in self.wide if {*columns} <= {*table}), None)) is not None:
            return Marginal(wider, self._raked(self.wide[wider], wider)).project(columns).values
        if self.classes is None and len(columns) == 3:
            with _on_one_thread():
                first, middle, last = (self.pair(*pair) for pair in combinations(columns, 2))
                return rake_three(first, middle, last, TABLE_SWEEPS)
        if self.classes is None:
            joint = np.ones([self.one_way[name].size for name in columns])
        else:
            joint = self.classes.table(columns)
        return self._raked(joint, columns)

    def _raked(self, joint: Floats, columns: Columns) -> Floats:
        """Return a table of the pairs that this model has, starting from another."""
        margins = [((i, k), self.pair(columns[i], columns[k])) for i, k in combinations(range(len(columns)), 2)]
        joint = rake(joint, margins, TABLE_SWEEPS)
        people = float(joint.sum())
        scaled: Floats = joint * (self.total / people if people else 0.0)
        return scaled

    def pair(self, a: str, b: str) -> Floats:
        """Return the expected counts of two columns, one axis each."""
        return self.two_way[a, b] if (a, b) in self.two_way else self.two_way[b, a].T

    def with_classes(self) -> Pairwise:
        """Return this model with latent classes fitted to its pairs."""
        with _on_one_thread():
            return replace(self, classes=find_latent_classes(self.one_way, self.two_way))


def fit(
    sizes: Mapping[str, int], measured: Sequence[Measurement], *, nearby: bool = False, by_classes: bool = False
) -> Pairwise:
    """Fit the model for columns of the given `sizes` to the `measured` marginals.

    With `nearby`, cells of measured pairs may follow their neighbours: 1 % more accurate, in 1.5 times the time. With
    `by_classes`, tables of three columns or more start from latent classes.

    Raises KeyError for a column without a measurement of its own.
    """
    with _on_one_thread():
        model = _fit(sizes, measured, measured, nearby)
    return model.with_classes() if by_classes else model


def _fit(
    sizes: Mapping[str, int], measured: Sequence[Measurement], of_columns: Sequence[Measurement], nearby: bool
) -> Pairwise:
    """Fit the model to `measured`, in which `of_columns` are independent evidence of the columns."""
    total = max(1.0, grand_total(measured)[0])
    single = _single_columns(sizes, of_columns, total)
    clearer = [_without_empty_cells(one, single, total) for one in of_columns]
    if any(new is not old for new, old in zip(clearer, of_columns, strict=True)):
        single = _single_columns(sizes, clearer, total)
    pairs: dict[Pair, list[NoisyPair]] = {}
    for one in measured:
        if len(columns := one.allocation.columns) == 2:
            noisy = NoisyPair.of(one, single, apart=of_columns is measured)
            pairs.setdefault((columns[0], columns[1]), []).append(noisy)
    model = _Pairs(total, single, pairs, nearby)
    model.compare(model.as_independent())
    near = model.neighbours()
    along_tree = model.along_tree(model.tree(pairs), near)
    for pair in combinations(sizes, 2):
        if pair not in pairs:
            guess = along_tree[pair] if pair in along_tree else model.independent(pair)
            composed = model.compositions(pair, near)[:1]
            model.two_way[pair] = max([guess, *composed], key=partial(model.dependence, pair)) if composed else guess
    if len(pairs) >= len(sizes):  # a tree is modelled exactly
        model.join()
    fitted = Pairwise(total, single, model.two_way)
    for one in measured:
        if len(one.allocation.columns) < 3:
            continue
        better = shrink(
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


def fit_one_table(noisy: Floats, columns: Columns, scale: float, *, by_size: bool = False) -> Floats:
    """Shrink a noisy table of two columns or more towards a model of its own sums; return non-negative counts.

    `scale` is that of the noise in a cell; the total is kept. Sums over a table are far more accurate than its cells,
    so cells are shrunk towards a model of the columns and pairs, unless they clearly differ from it. This costs
    nothing: the sums are post-processing of the table.

    `by_size`, a table of few cells under wide noise also follows how unequal its counts are (`dirichlet`). That takes
    longer; public tables have up to 5 % less error by it (`benchmarks/columns_together.py`).
    """
    sums = [part for size in range(3) for part in combinations(columns, size) if part != columns]
    parts = []
    for part in sums:
        values = Marginal(columns, noisy).project(part).values
        wider = scale * math.sqrt(noisy.size / values.size)  # a sum of m cells has √m times the noise
        allocation = Allocation(part, 1 / nearby(wider), 1)
        parts.append(Measurement(allocation, np.rint(values).astype(np.int64)))
    with _on_one_thread():  # pairs are sums of the same noisy counts, so they say nothing more of the columns
        columns_alone = [part for part in parts if len(part.allocation.columns) < 2]
        model = _fit(dict(zip(columns, noisy.shape, strict=True)), parts, columns_alone, nearby=False)
    return shrink_table(noisy, model.table(columns), scale, by_size=by_size)


def shrink_table(noisy: Floats, guess: Floats, scale: float, *, by_size: bool = False) -> Floats:
    """Shrink a noisy table towards a guess at it; return non-negative counts with the total of the noisy ones.

    `scale` is that of the noise. `by_size`, see `fit_one_table`.
    """
    total = max(0.0, float(noisy.sum()))
    better = project(shrink(noisy, guess, scale), total)
    if by_size and total > 0 and is_wide(noisy.size, scale, total):
        _, counts = posterior(noisy.ravel(), scale, total).mean(EVEN)
        better += BY_SIZE * (counts.reshape(noisy.shape) - better)
    return better


def refit_pairs(
    total: float, one: Mapping[str, Floats], tables: Mapping[Pair, Floats], noisy: Mapping[Pair, tuple[Floats, float]]
) -> dict[Pair, Floats]:
    """Fit measured pairs again, each combined with its estimate from the columns and all other pairs.

    `one` has the counts of the columns, `tables` the pairs as they were fitted, `noisy` some of them as measured, with
    the scale of noise that columns have no part in. A mostly empty pair stays as it was: its own cells tell its sums
    better than columns do. Returns the others of the `noisy` pairs.
    """
    with _on_one_thread():
        one = {name: counts + EMPTY for name, counts in one.items()}
        pairs = {pair: [NoisyPair.shifted(values, scale, one[pair[0]], one[pair[1]])]
                 for pair, (values, scale) in noisy.items()}  # fmt: skip
        model = _Pairs(total, one, pairs, nearby=True)
        model.two_way |= {pair: table + EMPTY for pair, table in tables.items()}
        filled = {pair: guess for pair, guess in model.as_independent().items() if guess.weighed.sparse is None}
        model.compare(filled)
    return {pair: model.two_way[pair] for pair in filled}


@dataclass
class _Pairs:
    """The model while it is being fitted."""

    total: float
    one_way: Mapping[str, Floats]
    noisy: Mapping[Pair, Sequence[NoisyPair]]
    nearby: bool
    two_way: dict[Pair, Floats] = field(default_factory=dict)
    likelihood: dict[Pair, float] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[str, int]:
        """The index of each column."""
        return {name: k for k, name in enumerate(self.one_way)}

    def independent(self, pair: Pair) -> Floats:
        return self.one_way[pair[0]][:, None] * self.one_way[pair[1]] / self.total

    def dependence(self, pair: Pair, table: Floats) -> float:
        return float(np.abs(table - self.independent(pair)).sum())

    def update(self, pair: Pair, guesses: Iterable[WeighedGuess]) -> None:
        """Update the pair's table from the likeliest guess, unless an earlier one was likelier."""
        best = max(guesses, key=lambda guess: guess.likelihood)
        if best.likelihood > self.likelihood.get(pair, -math.inf):
            self.likelihood[pair] = best.likelihood
            self.two_way[pair] = (best.by_neighbours() if self.nearby else best).updated()

    def as_independent(self) -> dict[Pair, WeighedGuess]:
        """Weigh independence as a guess at every noisy pair."""
        return {pair: self.weigh(pair, self.independent(pair)) for pair in self.noisy}

    def compare(self, alone: Mapping[Pair, WeighedGuess]) -> None:
        """Update pairs from the likeliest guess: `alone`, by independence, or what other pairs say of them."""
        self.two_way |= {pair: guess.updated() for pair, guess in alone.items()}
        tree, near = self.tree(self.two_way), self.neighbours()
        along_tree = self.along_tree(tree, near)
        for pair in alone:
            guesses = self.compositions(pair, near)[:COMPOSITIONS]
            guesses = guesses if pair in tree else [*guesses, along_tree[pair]]
            self.update(pair, [alone[pair], *(self.weigh(pair, guess) for guess in guesses)])

    def weigh(self, pair: Pair, guess: Floats) -> WeighedGuess:
        """Weigh a guess at the pair by its noisy tables, and update it by all except the last."""
        first, *others = self.noisy[pair]
        weighed = first.weigh(guess)
        for noisy in others:
            weighed = noisy.weigh(weighed.updated(), weighed.likelihood)
        return weighed

    def join(self) -> None:
        """Shrink all pairs towards latent classes fitted to all of them."""
        weights = {pair: 1.0 if pair in self.noisy else UNMEASURED for pair in self.two_way}
        for pair, table in fit_latent_classes(self.one_way, self.two_way, weights).items():
            common = touch_up(table, self.one_way[pair[0]], self.one_way[pair[1]])
            if pair in self.noisy:
                self.update(pair, [self.weigh(pair, common)])
            else:
                self.two_way[pair] = (self.two_way[pair] + common) / 2

    def tree(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return a spanning tree of the measured pairs with the strongest dependence."""
        parts = Components(self.one_way)
        strongest_first = sorted(pairs, key=lambda pair: -self.dependence(pair, self.two_way[pair]))
        return [pair for pair in strongest_first if parts.add(*pair)]

    def neighbours(self) -> Neighbours:
        """Return the tables of all pairs known so far, by both orders of their columns."""
        near: dict[str, dict[str, Floats]] = {name: {} for name in self.one_way}
        for (a, b), table in self.two_way.items():
            near[a][b], near[b][a] = table, table.T
        return near

    def along_tree(self, tree: Sequence[Pair], near: Neighbours) -> dict[Pair, Floats]:
        """Return the tables of all pairs that the tree connects: products of conditional tables along its paths."""
        steps: dict[str, list[tuple[str, Floats]]] = {name: [] for name in self.one_way}
        for a, b in tree:
            steps[a].append((b, near[a][b] / self.one_way[a][:, None]))
            steps[b].append((a, near[b][a] / self.one_way[b][:, None]))
        tables = {}
        for start in self.one_way:
            waiting = [(start, "", np.diag(self.one_way[start]))]
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
        if not between:  # as most pairs of a wide table
            return []
        composed, independent = [(near[a][b] / self.one_way[b]) @ near[b][c] for b in between], self.independent(pair)
        return sorted(composed, key=lambda table: -np.add.reduce(np.abs(table - independent), axis=None))


def _without_empty_cells(one: Measurement, single: Mapping[str, Floats], total: float) -> Measurement:
    """Return a mostly empty pair without the noise of its empty cells, as evidence of its columns; others unchanged.

    Its sums are far more accurate then, though which cells are empty is uncertain.
    """
    columns, scale = one.allocation.columns, float(one.allocation.scale)
    if len(columns) != 2 or one.merged:
        return one
    guess = np.outer(single[columns[0]], single[columns[1]]) / total
    if float(np.abs(one.values - guess).sum()) - guess.size * scale < MAY_BE_EMPTY * total:
        return one
    weighed = weigh(one.values.astype(np.float64), guess, scale)
    if weighed.sparse is None:
        return one
    counts = np.rint(weighed.shrunk()).astype(np.int64)
    left = min(1.0, UNSURE * max(1, int(np.count_nonzero(counts))) / counts.size)
    return Measurement(Allocation(columns, 1 / nearby(scale * math.sqrt(left)), 1), counts)


def _single_columns(sizes: Mapping[str, int], measured: Sequence[Measurement], total: float) -> dict[str, Floats]:
    """Return the counts of each column, smoothed."""
    smoothed = smooth_columns({name: _noisy_column(name, size, measured) for name, size in sizes.items()}, total)
    return {name: counts + EMPTY for name, counts in smoothed.items()}


def _noisy_column(name: str, size: int, measured: Sequence[Measurement]) -> tuple[Floats, float]:
    """Return the counts of one column and the scale of their noise, by least squares of itself and sums of its pairs.

    In a column of many cells, margins in merged bins are left out: their equations would take too long.

    Source: the updates of Kalman 1960, without a step in time.
    """
    about = [one for one in measured if name in one.allocation.columns and len(one.allocation.columns) <= 2]
    counts, precision = column_counts(name, size, about)
    merged: list[tuple[Ints, Floats, float]] = []  # bins, noisy sums and precision
    for one in about if size <= MAX_EQUATIONS else ():
        sums, known = column_sums(name, one)
        if sums.size != size:
            merged.append((one.merged[one.allocation.columns.index(name)], sums, known))
    if not merged:
        return counts, precision**-0.5
    variances = np.eye(size) / precision
    for bins, margin, weight in merged:
        binned = np.eye(margin.size)[bins].T
        shared = binned @ variances
        gain = np.linalg.solve(shared @ binned.T + np.eye(margin.size) / weight, shared).T
        counts += gain @ (margin - binned @ counts)
        variances -= gain @ shared
    return counts, math.sqrt(np.trace(variances) / size)
