"""Covariance, correlation and slope of two amounts in each cell of a table, from noisy tables that have both.

The standard deviation of one amount is here, too: the square root of its covariance with itself.

Each of them is the θ for which, over the people of a cell whose two values s and t are known,

    Σ (s − s̄)(t − t̄)  =  θ · Σ w,    w = 1                                          of the covariance
                                        w = (t − t̄)²                                  of the slope of s on t
                                        w = (k·(t − t̄)² + (s − s̄)²/k)/2              of the correlation

with k the ratio of the standard deviations, which minimises the last sum, so that an error in k hardly matters. Sums of
products follow from cells whose weights multiply, sums of squares from amounts that are shared in three
(`spec.numeric.amount_squares`); so all sums come from one measurement. Everything here is post-processing of noisy
numbers (Dwork & Roth 2014, Proposition 2.1).

An interval is the set of all θ that the noisy sums do not contradict (Fieller 1954): the left side less θ times the
right one has expectation 0, and its noise is a sum of independent Laplace draws, whose variance is quadratic in θ. A
sum of such draws keeps within as many standard deviations as a single one, ln 20/√2, in 95 of 100 cases at least: a
single one has the heaviest tail. Because the means are themselves noisy, the square of their noise divided by the
people is added, and one unit of noise per cell makes up for noise that is mostly 0. If the right side might be 0,
nothing is known about θ, and the interval is its whole possible range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.spec.numeric.amount import Amount
from dpengine.spec.numeric.association import Association, limit_of, unit_of

__all__ = ["associations", "half_widths"]

REACH = math.log(20) / math.sqrt(2)  # 95 % half-width of Laplace noise, in standard deviations


@dataclass(frozen=True, eq=False)
class _Sums:
    """Rows of some groups in the cells of two amounts, or of one, with the covariance of their noise.

    Amounts are from 0 to 1. `s`, `t`, `ss` and `tt` are the values in these cells whose weighted sums are those of both
    amounts and of their squares.
    """

    rows: Floats  # one line a group
    noise: Floats
    s: Floats
    t: Floats
    ss: Floats
    tt: Floats

    @cached_property
    def people(self) -> Floats:
        people: Floats = self.rows.sum(axis=1)
        return people

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """The means of both amounts, a column each, limited to the range even if there is more noise than people."""
        people = np.where(self.people > 0, self.people, np.inf)
        s, t = (np.clip(self.rows @ values / people, 0.0, 1.0)[:, None] for values in (self.s, self.t))
        return s, t

    @cached_property
    def products(self) -> tuple[Floats, Floats, Floats]:
        """(s − s̄)(t − t̄), (s − s̄)² and (t − t̄)² in each cell of each group."""
        s, t = self.means
        return (self.s - s) * (self.t - t), self.ss - 2 * s * self.s + s**2, self.tt - 2 * t * self.t + t**2

    def along(self, first: Floats, second: Floats) -> Floats:
        """Return the covariance of the noise in two sums over the cells, for each group."""
        covariance: Floats = np.einsum("gk,kl,gl->g", first, self.noise, second)
        return covariance


def associations(
    association: Association, of: Amount, on: Amount, table: Columns, soft: SoftEstimates
) -> tuple[Floats, Floats, Floats]:
    """Return an association in each cell of `table`, and the ends of its 95 % interval, in the amounts' own units."""
    everybody = np.zeros(1)
    for part in [(), table] if table else [()]:
        rows = soft.estimate((*part, *association.amounts))
        sums = _sums(association, rows, of, on, part, soft)
        everybody, low, high = _solve(association, sums, limit_of(association, on), float(everybody[0]))
    shape = rows.shape[: len(table)]
    middle, low, high = (_in_units(association, values, of, on).reshape(shape) for values in (everybody, low, high))
    return middle, low, high


def half_widths(
    association: Association, of: Amount, on: Amount, rows: Floats, table: Columns, soft: SoftEstimates
) -> Floats:
    """Predict the half-widths of intervals, in the amounts' own units.

    `rows` are the expected rows of each cell of `table` with the amounts as last axes.
    """
    _, low, high = _solve(association, _sums(association, rows, of, on, table, soft), limit_of(association, on), 0.0)
    low, high = (_in_units(association, values, of, on) for values in (low, high))
    widths: Floats = (high - low).reshape(rows.shape[: len(table)]) / 2
    return widths


def _in_units(association: Association, values: Floats, of: Amount, on: Amount) -> Floats:
    """Return values of `_solve` in the amounts' own units; a standard deviation is solved for its square."""
    scaled: Floats = unit_of(association, of, on) * (
        np.sqrt(values) if association.kind == "standard_deviation" else values
    )
    return scaled


def _sums(association: Association, rows: Floats, of: Amount, on: Amount, table: Columns, soft: SoftEstimates) -> _Sums:
    """Return the sums over the people whose amounts are known."""
    a, b = of.declared_size, on.declared_size
    along = association.amounts
    if len(along) == 1:
        noise = soft.covariance_along((*table, *along), along)[:a, :a] + np.eye(a) / of.grain**2
        value, square = np.array(of.knot_fractions), (np.arange(a) == a - 1).astype(np.float64)
        return _Sums(rows[..., :a].reshape(-1, a), noise, value, value, square, square)
    noise = soft.covariance_along((*table, *along), along)[:a, :b, :a, :b].reshape(a * b, a * b)
    s, t = (np.array(amount.knot_fractions) for amount in (of, on))
    # Exact where an amount is shared in three (`spec.numeric.amount_squares`), and used nowhere else.
    ss, tt = ((np.arange(size) == size - 1).astype(np.float64) for size in (a, b))
    return _Sums(
        rows[..., :a, :b].reshape(-1, a * b),
        noise + np.eye(a * b) / (of.grain * on.grain) ** 2,
        np.repeat(s, b), np.tile(t, a), np.repeat(ss, b), np.tile(tt, a),
    )  # fmt: skip


def _solve(association: Association, sums: _Sums, limit: float, others: float) -> tuple[Floats, Floats, Floats]:
    """Return θ for each group, shrunk towards that of `others` as far as it is noise, and its interval.

    For a standard deviation, θ is its square. `limit` limits the association itself.
    """
    product, of_s, of_t = sums.products
    weights = np.ones_like(product)
    s, t = (values - mean for values, mean in zip((sums.s, sums.t), sums.means, strict=True))
    var_s, var_t = sums.along(s, s), sums.along(t, t)
    people = np.maximum(sums.people, 1e-9)
    extra_variance = np.zeros_like(people)  # the variance from the squares of noisy means in the right side
    limits, times = (-limit, limit), 1
    if association.kind == "standard_deviation":
        product, limits, times = of_s, (0.0, limit**2), 3  # E[z⁴] of a normal z; of two, E[y²z²] is 1
    if association.kind == "slope":
        weights, extra_variance = of_t, 3 * (var_t / people) ** 2
    if association.kind == "correlation":
        ratio = np.sqrt(
            np.maximum((sums.rows * of_s).sum(axis=1), 1e-9) / np.maximum((sums.rows * of_t).sum(axis=1), 1e-9)
        )[:, None]
        weights = (ratio * of_t + of_s / ratio) / 2
        extra_variance = 0.75 * ((ratio[:, 0] * var_t) ** 2 + (var_s / ratio[:, 0]) ** 2) / people**2
    left, right = (sums.rows * product).sum(axis=1), (sums.rows * weights).sum(axis=1)
    noise = sums.along(product, product) + times * var_s * var_t / people**2
    both, in_right = sums.along(product, weights), sums.along(weights, weights) + extra_variance
    # (left − θ·right)² ≤ REACH²·variance is a·θ² − 2b·θ + c ≤ 0, a piece between two roots where a > 0.
    a, b, c = right**2 - REACH**2 * in_right, left * right - REACH**2 * both, left**2 - REACH**2 * noise
    known = (a > 0) & (right > 0) & (sums.people > 0)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    ends = ((b + sign * root) / np.where(known, a, 1.0) for sign in (-1, 1))
    low, high = (np.where(known, np.clip(end, *limits), all_of) for end, all_of in zip(ends, limits, strict=True))
    shift = (left - others * right) * np.maximum(right, 0.0) / np.maximum(right**2 + in_right, 1e-300)
    return np.clip(others + shift, low, high), low, high
