"""Means and sums of amounts in each cell of a table, from noisy tables with soft cells (`spec.numeric.amount`).

A mean of few people is mostly noise. So the mean of a cell is first expected to be that of the margins, which are far
more accurate, one set of columns after the other; by how much it differs is estimated from the noisy sums of all cells
together (`estimate.deviations`). With hardly any noise, it is the mean of the noisy numbers. Source: empirical Bayes
estimators, Efron & Morris 1975.

An interval is the set of all means that the noisy sums do not contradict (Fieller 1954): for the true mean μ, the sum
of value − μ over the people of a cell is 0, so its noisy value is only noise, whose distribution is known. For a group
too small for its noise, that is the whole range.

The results are whole numbers of people and of steps of the amount's grid, so that they add up: the sums of a margin are
those of its cells, and every mean lies within the bounds. Everything here is post-processing of noisy numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.deviations import fit_deviations
from dpengine.marginals.fitting import rake, round_to_totals
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.spec.domain import Amount

__all__ = [
    "AmountTable", "SoftEstimates", "SoftNoise", "fit_amount", "fit_means", "join", "mean_half_widths",
    "mean_intervals", "mean_reach", "means", "means_of", "round_within", "sum_half_width", "sum_intervals",
]  # fmt: skip

MAX_STAGES = 200  # sets of columns whose means are used; of more, only single ones, pairs and whole tables
HALVINGS = 60
EXPECTED_DECIMALS = 3  # of a step
SWEEPS = 20
ANCHORS = np.linspace(0.0, 1.0, 5)  # means at which the distribution of the noise is computed
GRID = np.linspace(0.0, 1.0, 65)  # means that are tried first
AT_ONCE = 1 << 14  # cells

# A function of some columns of a table: centred noisy sums over their cells, and the variance of one of them.
Observed = Callable[[Columns], tuple[Floats, float]]
# A function that estimates means from noisy sums over cells, the people in them, and the variance of a sum.
Fit = Callable[[Floats, Floats, float], Floats]


class SoftNoise(Protocol):
    """The noise in estimates of tables with an amount as their last column."""

    def noise_along(self, table: Columns, coefficients: Sequence[float]) -> tuple[float, float]:
        """Return the variance of Σ coefficient · estimate over the last column's cells, and its 95 % half-width."""


class SoftEstimates(SoftNoise, Protocol):
    """Unbiased estimates of tables with an amount as their last column, and the noise in sums along it."""

    def estimate(self, table: Columns) -> Floats:
        """Return the estimate of each cell, in rows."""

    def variance_along(self, table: Columns, coefficients: Sequence[float]) -> float:
        """Return the variance of Σ coefficient · estimate over the last column's cells."""

    def covariance_along(self, table: Columns, along: Columns) -> Floats:
        """Return the covariance of the estimates of the cells along some columns, the others fixed."""


@dataclass(frozen=True, slots=True, eq=False)
class AmountTable:
    """An amount in each cell of a table: people with a known value, and the sum of values in steps above the low end.

    All arrays have one axis for each of `columns`. `expected` is the mean, in steps, that is expected in cells
    where no value is known, and 0 elsewhere; None in releases of earlier versions.
    """

    columns: Columns
    amount: str
    known: Ints
    steps: Ints
    expected: Floats | None = None

    def project(self, onto: Columns) -> AmountTable:
        """Sum over all columns except `onto`, and order the axes like these."""
        axes = [self.columns.index(name) for name in onto]
        others = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
        remaining = sorted(axes)
        order = [remaining.index(axis) for axis in axes]
        known, steps = (np.asarray(each.sum(axis=others)).transpose(order) for each in (self.known, self.steps))
        means = None if self.expected is None else np.asarray(self.expected.mean(axis=others)).transpose(order)
        return AmountTable(onto, self.amount, known, steps, means)


def fit_amount(
    amount: Amount,
    tables: Iterable[Columns],
    count: Callable[[Columns], Ints],
    soft: SoftEstimates,
    ordered: Callable[[str], int],
) -> tuple[AmountTable, ...]:
    """Return tables of an amount that agree with each other and with the counts that `count` gives for some columns.

    `tables` are those in which it is measured. If they overlap in a ring, the results are sums of one table of all
    columns. `ordered` gives the number of a column's cells that have an order; cells of odd or missing values follow.
    """
    cliques = maximal(list(tables))
    subsets = _subsets(cliques)
    knots, missing = amount.knot_fractions, [0.0] if amount.missing else []
    done: list[AmountTable] = []
    for clique in junction_order(cliques) or [tuple(sorted({name for each in cliques for name in each}))]:
        nearest = max(done, key=lambda each: len({*each.columns} & {*clique}), default=None)
        agreed: dict[str, tuple[Columns, Ints]] = {}
        if nearest is not None:
            shared = nearest.project(tuple(name for name in clique if name in nearest.columns))
            agreed = {"known": (shared.columns, shared.known), "steps": (shared.columns, shared.steps)}
        stages = sorted((part for part in subsets if {*part} <= {*clique}), key=len)
        fit = partial(fit_deviations, ordered=[ordered(name) for name in clique])
        people = count(clique)
        known = people
        if amount.missing:
            share = means_of(amount, clique, people, [1.0] * len(knots) + missing, stages, soft, fit)
            known = _agreeing(people * share, people, clique, agreed.get("known"))
        among = [1.0] * len(knots) + missing
        means = means_of(amount, clique, known, [*knots, *missing], stages, soft, fit, among)
        limits = known * amount.grid.steps
        steps = _agreeing(limits * means, limits, clique, agreed.get("steps"))
        expected = np.where(known == 0, np.round(means * amount.grid.steps, EXPECTED_DECIMALS), 0.0)
        done.append(AmountTable(clique, amount.name, known, steps, expected))
    return tuple(done)


def _subsets(cliques: Sequence[Columns]) -> set[Columns]:
    """Return all subsets of each clique; if these are too many, those of up to two columns, and the cliques."""
    subsets = {part for clique in cliques for size in range(len(clique) + 1) for part in combinations(clique, size)}
    return subsets if len(subsets) <= MAX_STAGES else {part for part in subsets if len(part) <= 2 or part in cliques}


def join(tables: Sequence[AmountTable], people: Ints, top: int) -> AmountTable:
    """Return one table over all columns of `tables`, whose sums are close to theirs, to generate rows from.

    `people` are the rows in each of its cells, and `top` is the last place of the amount's grid. Source: iterative
    proportional fitting, as for counts.
    """
    columns = tuple(sorted({name for each in tables for name in each.columns}))

    def fitted(start: Ints, limits: Ints, sums: Sequence[Ints]) -> Ints:
        axes = [tuple(map(columns.index, each.columns)) for each in tables]
        joined = rake(start.astype(np.float64), list(zip(axes, sums, strict=True)), SWEEPS)
        total = np.array([sums[0].sum()])
        return round_within(joined.reshape(1, -1), limits.reshape(1, -1), total).reshape(people.shape)

    known = fitted(people, people, [each.known for each in tables])
    return AmountTable(columns, tables[0].amount, known, fitted(known, known * top, [each.steps for each in tables]))


def means_of(
    amount: Amount,
    clique: Columns,
    people: Ints,
    values: Sequence[float],
    stages: Sequence[Columns],
    soft: SoftEstimates,
    fit: Fit,
    among: Sequence[float] | None = None,
) -> Floats:
    """Return the mean in each cell of a quantity with these `values` in the amount's cells.

    It is a mean over the people that `among` counts, by default all. `fit` is as for `fit_means`.
    """
    weights = np.ones(len(values)) if among is None else np.array(among)
    total = soft.estimate((amount.name,))
    start = min(max(float(total @ values) / max(float(total @ weights), 1.0), 0.0), 1.0)
    centred = (np.array(values) - start) * weights

    def observed(part: Columns) -> tuple[Floats, float]:
        table = (*part, amount.name)
        return soft.estimate(table) @ centred, soft.variance_along(table, centred.tolist())

    known, parts = people.astype(np.float64), [stage for stage in stages if stage]
    return fit_means(clique, known, start, observed, parts, fit)


def _agreeing(wanted: Floats, limits: Ints, clique: Columns, shared: tuple[Columns, Ints] | None) -> Ints:
    """Round `wanted` so that its sums over each set of columns in `shared` are the numbers given there."""
    columns, sums = shared or ((), np.array(round(float(wanted.sum()))))
    order = [clique.index(name) for name in (*columns, *(name for name in clique if name not in columns))]
    turned = wanted.transpose(order)
    rows = round_within(turned.reshape(sums.size, -1), limits.transpose(order).reshape(sums.size, -1), sums.ravel())
    return np.ascontiguousarray(rows.reshape(turned.shape).transpose(np.argsort(order)))


def fit_means(
    columns: Columns, people: Floats, start: float, observed: Observed, stages: Sequence[Columns], fit: Fit
) -> Floats:
    """Return the mean of a quantity between 0 and 1 in each cell of a table of `columns`, given the people in it.

    `observed` gives, for the columns of each of `stages`, an unbiased estimate of Σ (value − `start`) over the people
    in each of their cells, and its variance. A stage comes after those of fewer columns; `fit` estimates by how much
    means differ from what stages before it say.

    >>> fit_means(("a",), np.array([1e6, 1e6]), 0.5, lambda columns: (np.array([1e5, -1e5]), 1.0), [("a",)],
    ...           lambda sums, people, variance: sums / people)
    array([0.6, 0.4])
    """
    means = np.full(people.shape, start)
    for part in stages:
        others = tuple(axis for axis, name in enumerate(columns) if name not in part)
        size = np.asarray(people.sum(axis=others, keepdims=True))
        sums, variance = observed(part)
        difference = sums.reshape(size.shape) - (people * (means - start)).sum(axis=others, keepdims=True)
        means = np.clip(means + fit(difference, size, variance), 0.0, 1.0)
    return means


def round_within(wanted: Floats, limits: Ints, totals: Ints) -> Ints:
    """Round each row of `wanted` to whole numbers from 0 to `limits` that add up to its entry of `totals`.

    Each row is moved to its total by one shift in proportion to the limits: of sums, this moves all means alike. Totals
    lie between 0 and the sums of the limits.

    >>> round_within(np.array([[5.0, 5.0, 0.0]]), np.array([[10, 6, 4]]), np.array([15]))
    array([[8, 6, 1]])
    """
    weights = limits.astype(np.float64)
    low, high = np.full(len(wanted), -1.0), np.full(len(wanted), 1.0)
    reach = np.abs(wanted / np.maximum(weights, 1)).max(axis=1, initial=0.0) + 1
    low, high = low * reach, high * reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        sums = np.clip(wanted + middle[:, None] * weights, 0, weights).sum(axis=1)
        low, high = np.where(sums < totals, middle, low), np.where(sums < totals, high, middle)
    moved = np.clip(wanted + high[:, None] * weights, 0, weights)
    rounded = np.minimum(round_to_totals(moved, totals), limits)
    lacking = totals - rounded.sum(axis=1)
    while lacking.any():  # by a unit or two, from rounding in floating point
        room = np.where(lacking[:, None] > 0, limits - rounded, rounded)
        place = room.argmax(axis=1)
        rows = np.arange(len(rounded))
        step = np.sign(lacking) * np.minimum(np.abs(lacking), room[rows, place])
        rounded[rows, place] += step
        lacking = lacking - step
    return rounded


def means(table: AmountTable, total: AmountTable) -> Floats:
    """Return the mean of each cell, in steps; if nobody's value is known in it, the one that is expected.

    In releases of earlier versions, that is the mean of all people.
    """
    everybody = float(total.steps) / max(float(total.known), 1.0)
    mean = np.full(table.known.shape, everybody) if table.expected is None else table.expected.copy()
    np.divide(table.steps, table.known, out=mean, where=table.known > 0)
    return mean


def sum_intervals(amount: Amount, table: Columns, soft: SoftEstimates) -> tuple[Floats, float]:
    """Return the unbiased estimate of the sum in each cell of `table`, and the half-width of its 95 % interval."""
    return soft.estimate((*table, amount.name)) @ np.array(_values(amount)), sum_half_width(amount, table, soft)


def sum_half_width(amount: Amount, table: Columns, soft: SoftNoise) -> float:
    """Return the half-width of the 95 % interval of the sum in a cell of `table`."""
    return soft.noise_along((*table, amount.name), _values(amount))[1]


def _values(amount: Amount) -> list[float]:
    """Return what a row in each of the amount's cells adds to a sum."""
    return [*amount.knot_values, *([0.0] if amount.missing else [])]


def mean_intervals(amount: Amount, table: Columns, soft: SoftEstimates) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % interval of the mean in each cell of `table`, between 0 and 1 of the range."""
    knots = np.array(amount.knot_fractions)
    estimate = soft.estimate((*table, amount.name))
    shape = estimate.shape[:-1]
    cells = estimate.reshape(-1, estimate.shape[-1])[:, : len(knots)]
    sums, people = cells @ knots, cells.sum(axis=1)
    reach = mean_reach(amount, table, soft)
    ends = [_solve(sums[k : k + AT_ONCE], people[k : k + AT_ONCE], reach) for k in range(0, len(sums), AT_ONCE)]
    low, high = (np.concatenate(each).reshape(shape) for each in zip(*ends, strict=True))
    return low, high


def mean_half_widths(amount: Amount, rows: Floats, table: Columns, soft: SoftEstimates) -> Floats:
    """Predict the half-widths of intervals of means, in the amount's own unit.

    `rows` are the expected rows of each cell of `table` with the amount as last axis. No interval is wider than the
    amount's whole range.
    """
    knots = np.array(amount.knot_fractions)
    people = rows[..., : len(knots)].sum(axis=-1)
    means = np.divide(rows[..., : len(knots)] @ knots, people, out=np.full(people.shape, 0.5), where=people > 0)
    widths = mean_reach(amount, table, soft)(means) / np.maximum(people, 1e-9)
    half_widths: Floats = np.minimum(widths, 0.5) * float(amount.high - amount.low)
    return half_widths


def mean_reach(amount: Amount, table: Columns, soft: SoftNoise) -> Callable[[Floats], Floats]:
    """Return the half-width of the noise in the sum of value − μ over the people of a cell, as a function of μ."""
    knots, missing = np.array(amount.knot_fractions), [0.0] if amount.missing else []
    return _half_widths(
        np.array([soft.noise_along((*table, amount.name), [*(knots - mean), *missing]) for mean in ANCHORS])
    )


def _half_widths(at_anchors: Floats) -> Callable[[Floats], Floats]:
    """Return the half-width of the noise in the sum of value − μ, as a function of μ.

    `at_anchors` has the variance and the half-width for each of `ANCHORS`. The variance is quadratic in μ. The ratio of
    half-width to standard deviation hardly changes: the larger one of the anchors on both sides is taken.
    """
    variance = np.polynomial.Polynomial.fit(ANCHORS, at_anchors[:, 0], 2)
    ratios = at_anchors[:, 1] / np.sqrt(np.maximum(at_anchors[:, 0], 1e-300))
    larger = np.maximum(ratios[:-1], ratios[1:])

    def half_width(means: Floats) -> Floats:
        piece = np.clip((means * (len(ANCHORS) - 1)).astype(np.int64), 0, len(larger) - 1)
        width: Floats = larger[piece] * np.sqrt(np.maximum(variance(means), 0.0))
        return width

    return half_width


def _solve(sums: Floats, people: Floats, half_width: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return the smallest and the largest μ with |sum − μ·people| ≤ half_width(μ), for each of some cells."""

    def fits(means: Floats) -> npt.NDArray[np.bool_]:
        return np.abs(sums - means * people) <= half_width(means)

    guess = np.clip(sums / np.where(people > 0, people, 1.0), 0.0, 1.0)
    at_guess = fits(guess) & (people > 0)
    tried = np.abs(sums[:, None] - GRID * people[:, None]) <= half_width(GRID)
    some = at_guess | tried.any(axis=1)
    first = np.where(tried.any(axis=1), GRID[tried.argmax(axis=1)], 1.0)
    last = np.where(tried.any(axis=1), GRID[len(GRID) - 1 - tried[:, ::-1].argmax(axis=1)], 0.0)
    first, last = np.where(at_guess, np.minimum(first, guess), first), np.where(at_guess, np.maximum(last, guess), last)
    low_out, high_out = np.maximum(first - GRID[1], 0.0), np.minimum(last + GRID[1], 1.0)
    low, high = _border(low_out, first, fits), _border(high_out, last, fits)
    return np.where(some, low, 0.0), np.where(some, high, 1.0)


def _border(outside: Floats, inside: Floats, fits: Callable[[Floats], npt.NDArray[np.bool_]]) -> Floats:
    """Return the last point that fits between `inside` and `outside`, by bisection."""
    fits_outside = fits(outside)
    far, near = outside, inside
    for _ in range(HALVINGS):
        middle = (far + near) / 2
        within = fits(middle)
        near, far = np.where(within, middle, near), np.where(within, far, middle)
    return np.where(fits_outside, outside, far)
