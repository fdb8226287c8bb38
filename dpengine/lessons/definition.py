"""ε-differential privacy by its definition: exact distributions of one noisy answer on two neighbouring tables.

A mechanism is ε-differentially private if, for all tables that differ in one person and every set of answers, the
probability on one table is at most e^ε times the probability on the other. Here the mechanism is a whole number plus
discrete Laplace noise, whose distribution is known in closed form: nothing is simulated. Logarithms of ratios are
exact, as whole multiples of ε/Δ.

Source: Dwork, McSherry, Nissim & Smith 2006; Dwork & Roth 2014, Definition 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError
from dpengine.noise.moments import mean_absolute

__all__ = [
    "BoundedMean", "Comparison", "belief_after", "bounded_mean", "clamped_sum", "compare", "probabilities",
    "sum_sensitivity", "tail_probability",
]  # fmt: skip

MAX_ANSWERS = 2_000
UNPLOTTED = 0.002  # probability of the answers beyond those that are plotted


@dataclass(frozen=True, slots=True)
class Comparison:
    """Distributions of one noisy answer on two tables.

    `answers` are the possible answers that are compared; `first` and `second` are their probabilities on the two
    tables. `steps` are whole numbers with ln(first/second) = steps · `per_step`, exactly. `gap` is |f(D) − f(D′)|.
    """

    answers: Ints
    first: Floats
    second: Floats
    steps: Ints
    per_step: Fraction
    gap: int

    @property
    def log_ratio(self) -> Floats:
        """ln(first/second) of each answer."""
        ratios: Floats = np.multiply(self.steps, float(self.per_step))
        return ratios

    @property
    def max_log_ratio(self) -> Fraction:
        """Largest |ln(first/second)| over all integers, not only `answers`: |f(D) − f(D′)|·ε/Δ."""
        return self.gap * self.per_step

    @property
    def total_variation(self) -> float:
        """Total variation distance max_S |P(S) − P′(S)| of the two distributions.

        If the two tables are equally likely, a guess which of them gave an answer is right with probability at most
        (1 + distance)/2.
        """
        if self.gap == 0:
            return 0.0
        a = math.exp(-float(self.per_step))
        nearer = (self.gap - 1) // 2  # the last answer that is closer to the lower true one
        return 1 - (a ** (nearer + 1) + a ** (self.gap - nearer)) / (1 + a)


def probabilities(true: int, scale: Fraction, answers: Ints) -> Floats:
    """Return P(true + Z = x) for each x of `answers`, Z discrete Laplace: tanh(1/2s)·exp(−|x − true|/s).

    Source: the geometric mechanism of Ghosh, Roughgarden & Sundararajan 2009, with scale s = Δ/ε.

    >>> probabilities(3, Fraction(1), np.array([2, 3, 4])).round(3).tolist()
    [0.17, 0.462, 0.17]
    """
    rate = float(1 / scale)
    mass: Floats = math.tanh(rate / 2) * np.exp(-rate * np.abs(answers - true))
    return mass


def tail_probability(true: int, scale: Fraction, bound: int) -> float:
    """Return P(true + Z ≥ bound) in closed form, Z discrete Laplace.

    >>> round(tail_probability(68, Fraction(1), 70) / tail_probability(67, Fraction(1), 70), 6), round(math.e, 6)
    (2.718282, 2.718282)
    """
    a = math.exp(-float(1 / scale))
    beyond = bound - true
    return a**beyond / (1 + a) if beyond > 0 else 1 - a ** (1 - beyond) / (1 + a)


def _plotted_answers(first: int, second: int, scale: Fraction) -> Ints:
    """Return the answers worth plotting: all that noise reaches except with probability `UNPLOTTED`.

    If there are more than `MAX_ANSWERS` they are thinned evenly; the two true answers always stay.
    """
    rate = float(1 / scale)
    width = max(3, math.ceil((math.log(2 / UNPLOTTED) - math.log1p(math.exp(-rate))) / rate))
    low, high = min(first, second) - width, max(first, second) + width
    step = max(1, -(-(high - low) // MAX_ANSWERS))
    answers: Ints = np.union1d(np.arange(low, high + 1, step, dtype=np.int64), [first, second])
    return answers


def compare(first: int, second: int, sensitivity: int, epsilon: Fraction, answers: Ints | None = None) -> Comparison:
    """Compare the distributions of `first` + Z and `second` + Z, with noise Z for `sensitivity` and `epsilon`.

    If |first − second| ≤ `sensitivity`, the ratio is everywhere within e^±ε, since | |x − f′| − |x − f| | ≤ |f − f′|;
    it is largest at each x that does not lie between the two. If the claimed sensitivity is too small, the comparison
    shows by how much the ratio exceeds e^ε. `answers` defaults to those worth plotting.

    Raises `PlanError` unless ε and the sensitivity are positive.

    >>> compare(8, 7, 1, Fraction(1, 2)).max_log_ratio
    Fraction(1, 2)
    """
    if epsilon <= 0 or sensitivity <= 0:
        raise PlanError("ε and the sensitivity must be above 0")
    scale = Fraction(sensitivity) / epsilon
    x = _plotted_answers(first, second, scale) if answers is None else np.asarray(answers, dtype=np.int64)
    steps = np.abs(x - second) - np.abs(x - first)
    here, there = probabilities(first, scale, x), probabilities(second, scale, x)
    return Comparison(x, here, there, steps, 1 / scale, abs(first - second))


def belief_after(prior: float, comparison: Comparison) -> Floats:
    """Return a reader's posterior probability of the first table after each answer, from their `prior` one.

    Bayes' rule: posterior odds = prior odds · ratio. The ratio is within e^±ε, so the odds move no further, whatever
    else the reader knows. Raises `PlanError` unless 0 < `prior` < 1.
    """
    if not 0 < prior < 1:
        raise PlanError("the prior probability must lie between 0 and 1, both excluded")
    logit = math.log(prior) - math.log1p(-prior) + comparison.log_ratio
    after: Floats = np.exp(-np.logaddexp(0.0, -logit))
    return after


def clamped_sum(values: Sequence[int], low: int, high: int) -> int:
    """Sum `values`, each clamped to [`low`, `high`]. Raises `PlanError` if the bounds are not in order.

    >>> clamped_sum([5, 20, -3], 0, 10)
    15
    """
    _check_bounds(low, high)
    return sum(min(max(value, low), high) for value in values)


def sum_sensitivity(low: int, high: int) -> int:
    """Return the sensitivity of a sum of values in [`low`, `high`]: its largest change by one person more or less.

    Raises `PlanError` if the bounds are not in order.

    >>> sum_sensitivity(0, 100), sum_sensitivity(-5, 2)
    (100, 5)
    """
    _check_bounds(low, high)
    return max(abs(low), abs(high))


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """Mean of a group of known size: the `true` one, the one of clamped values, and the mean |error| of its noise."""

    true: float
    bounded: float
    noise: float

    @property
    def bias(self) -> float:
        """The change of the mean by clamping alone."""
        return self.bounded - self.true


def bounded_mean(values: Sequence[int], low: int, high: int, epsilon: Fraction) -> BoundedMean:
    """Return the mean of `values` clamped to bounds, and the mean error E|Z|/n of its noise.

    The number n of values is public. Noise is added to the sum of the distances from `low`, which one person moves by
    at most `high` − `low`. Narrow bounds cut off honest values; wide bounds pay with noise for people who are not
    there.

    Raises `PlanError` for no values, or bounds that are not in order.
    """
    _check_bounds(low, high)
    if not values:
        raise PlanError("a mean needs at least one value")
    if low == high:
        return BoundedMean(sum(values) / len(values), float(low), 0.0)
    bounded = clamped_sum(values, low, high) / len(values)
    return BoundedMean(sum(values) / len(values), bounded, mean_absolute((high - low) / epsilon) / len(values))


def _check_bounds(low: int, high: int) -> None:
    if low > high:
        raise PlanError(f"the lower bound {low} lies above the upper one, {high}")
