"""The definition of ε-differential privacy, looked at: one answer's exact law on two neighbouring tables.

A mechanism is ε-differentially private if, for all tables that differ in one person and every set of answers,
the probability on one is at most e^ε times that on the other (Dwork, McSherry, Nissim & Smith 2006; Dwork &
Roth 2014, Definition 2.4). Here the mechanism is a whole number plus discrete Laplace noise, whose law is known
in closed form, so nothing is simulated.

Logarithms of ratios are exact: whole multiples of ε/Δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError

__all__ = [
    "Comparison", "Trade", "at_least", "bounded_mean", "clamped_sum", "compare", "law", "reach", "reader",
    "sum_sensitivity",
]  # fmt: skip


MAX_ANSWERS = 2_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The law of one noisy answer on two tables.

    ``answers`` are the possible answers that are looked at, ``first`` and ``second`` their probabilities on the
    two tables, each of one axis. ``steps`` are whole numbers: ln(first/second) = steps · ``per_step`` exactly.
    """

    answers: Ints
    first: Floats
    second: Floats
    steps: Ints
    per_step: Fraction
    apart: int

    @property
    def log_ratio(self) -> Floats:
        """ln of the ratio of the probabilities, answer by answer."""
        ratios: Floats = np.multiply(self.steps, float(self.per_step))
        return ratios

    @property
    def most(self) -> Fraction:
        """The largest |ln ratio| over all integers, also those not looked at: |f(D) − f(D′)|·ε/Δ."""
        return self.apart * self.per_step

    @property
    def attained(self) -> npt.NDArray[np.bool_]:
        """Where the ratio is the largest there is, one way or the other."""
        largest: npt.NDArray[np.bool_] = np.abs(self.steps) == self.apart
        return largest

    @property
    def total_variation(self) -> float:
        """How much more often some set of answers comes from one table than from the other, at the most.

        max_S |P(S) − P′(S)|. Who has to tell the two tables apart from one answer, each as likely before, is right
        with probability (1 + this)/2, and no way of guessing does better.
        """
        if self.apart == 0:
            return 0.0
        a = math.exp(-float(self.per_step))
        nearer = (self.apart - 1) // 2  # the last answer that lies nearer to the lower true one
        return 1 - (a ** (nearer + 1) + a ** (self.apart - nearer)) / (1 + a)


def law(true: int, scale: Fraction, answers: Ints) -> Floats:
    """P(true + Z = x) for each x of ``answers``, Z discrete Laplace: tanh(1/2s)·exp(−|x − true|/s).

    The geometric mechanism of Ghosh, Roughgarden & Sundararajan 2009, with scale s = Δ/ε.
    """
    rate = float(1 / scale)
    probabilities: Floats = math.tanh(rate / 2) * np.exp(-rate * np.abs(answers - true))
    return probabilities


def at_least(true: int, scale: Fraction, bound: int) -> float:
    """P(true + Z ≥ bound), in closed form.

    >>> round(at_least(68, Fraction(1), 70) / at_least(67, Fraction(1), 70), 6), round(math.e, 6)
    (2.718282, 2.718282)
    """
    a = math.exp(-float(1 / scale))
    beyond = bound - true
    return a**beyond / (1 + a) if beyond > 0 else 1 - a ** (1 - beyond) / (1 + a)


def reach(first: int, second: int, scale: Fraction, beyond: float = 0.002) -> Ints:
    """The answers worth looking at: all within the distance that noise passes with probability ``beyond``.

    Where they are more than `MAX_ANSWERS` they are thinned evenly; the two true answers always stay.
    """
    rate = float(1 / scale)
    width = max(3, math.ceil((math.log(2 / beyond) - math.log1p(math.exp(-rate))) / rate))
    low, high = min(first, second) - width, max(first, second) + width
    step = max(1, -(-(high - low) // MAX_ANSWERS))
    spread: Ints = np.union1d(np.arange(low, high + 1, step, dtype=np.int64), [first, second])
    return spread


def compare(first: int, second: int, sensitivity: int, epsilon: Fraction, answers: Ints | None = None) -> Comparison:
    """The laws of ``first`` + Z and ``second`` + Z, with noise made for ``sensitivity`` and ``epsilon``.

    Where |first − second| ≤ ``sensitivity`` the ratio is everywhere within e^ε, since
    | |x − f′| − |x − f| | ≤ |f − f′|, and it is the largest there is for each x that does not lie between the two.
    A sensitivity that is claimed too small breaks this, and the comparison shows by how much.

    Raises `PlanError` for ε or a sensitivity that is not positive.
    """
    if epsilon <= 0 or sensitivity <= 0:
        raise PlanError("ε and the sensitivity must be above 0")
    scale = Fraction(sensitivity) / epsilon
    shown = reach(first, second, scale) if answers is None else np.asarray(answers, dtype=np.int64)
    steps = np.abs(shown - second) - np.abs(shown - first)
    return Comparison(shown, law(first, scale, shown), law(second, scale, shown), steps, 1 / scale, abs(first - second))


def reader(prior: float, comparison: Comparison) -> Floats:
    """How sure a reader is of the first table, once they have seen each answer; ``prior`` is how sure before.

    Bayes' rule: odds after = odds before · ratio. The ratio is within e^±ε, so the odds cannot move further, whatever
    else the reader knows. Raises `PlanError` unless 0 < ``prior`` < 1.
    """
    if not 0 < prior < 1:
        raise PlanError("how sure a reader was before must lie between 0 and 1, both excluded")
    logit = math.log(prior) - math.log1p(-prior) + comparison.log_ratio
    after: Floats = np.exp(-np.logaddexp(0.0, -logit))
    return after


def clamped_sum(values: Sequence[int], low: int, high: int) -> int:
    """The sum of ``values``, each first brought within [``low``, ``high``]."""
    _check_bounds(low, high)
    return sum(min(max(value, low), high) for value in values)


def sum_sensitivity(low: int, high: int) -> int:
    """By how much one person more or less can change a sum of values within [``low``, ``high``].

    >>> sum_sensitivity(0, 100), sum_sensitivity(-5, 2)
    (100, 5)
    """
    _check_bounds(low, high)
    return max(abs(low), abs(high))


@dataclass(frozen=True, slots=True)
class Trade:
    """What bounds do to a mean of known group size, all in the unit of the values."""

    true: float
    bounded: float
    noise: float

    @property
    def cut(self) -> float:
        """How far the bounds alone move the mean."""
        return self.bounded - self.true


def bounded_mean(values: Sequence[int], low: int, high: int, epsilon: Fraction) -> Trade:
    """The mean of ``values`` within bounds, and the typical error E|Z|/n that its noise has.

    The sum is taken of the distances from ``low``, so that its sensitivity is high − ``low`` for a person more or
    less; the number of values counts as known. E|Z| = 1/sinh(ε/Δ) for discrete Laplace noise. Narrow bounds cut
    honest values off, wide ones pay for people who are not there with noise.

    Raises `PlanError` for no values, or bounds that are not in order.
    """
    _check_bounds(low, high)
    if not values:
        raise PlanError("a mean needs at least one value")
    if low == high:
        return Trade(sum(values) / len(values), float(low), 0.0)
    rate = min(float(epsilon / (high - low)), 700.0)
    bounded = clamped_sum(values, low, high) / len(values)
    return Trade(sum(values) / len(values), bounded, 1 / math.sinh(rate) / len(values))


def _check_bounds(low: int, high: int) -> None:
    if low > high:
        raise PlanError(f"the lower bound {low} lies above the upper one, {high}")
