"""Answers to single questions: exact whole numbers in, noisy or chosen ones out, and how far off they may be.

Chance comes from `noise.discrete_laplace` and `noise.selection`, exactly; all else here is arithmetic
on what is public or already noisy. Neighbouring tables differ in one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from dpengine.array_types import Ints
from dpengine.noise.laplace import discrete_laplace

__all__ = ["noisy", "quantile_scores", "ratio", "ratio_half_width", "reach"]


CONFIDENCE = 0.95


def noisy(values: Sequence[int], scale: Fraction) -> list[int]:
    """Each of ``values`` with independent discrete Laplace noise of ``scale`` = Δ/ε, exactly.

    ε-differentially private if one person moves the values by at most Δ in all, in absolute amounts (L1): the
    probability of any outcome then changes by a factor of at most exp(Δ/scale) (Dwork, McSherry, Nissim & Smith 2006;
    Ghosh, Roughgarden & Sundararajan 2009).
    """
    return [value + int(noise) for value, noise in zip(values, discrete_laplace(scale, len(values)), strict=True)]


def quantile_scores(counts: Ints, level: Fraction) -> Ints:
    """How good each point of a grid is as the quantile at ``level`` = a/b: minus its distance in b-ths of a rank.

    ``counts`` holds the number n_j of values at each point. Point j is a quantile where at most n·a/b values lie below
    it and at least n·a/b at or below it; so its score is −max(0, b·Σ_{i<j} n_i − a·n, a·n − b·Σ_{i≤j} n_i), the
    distance of n·a/b from the ranks that j takes, in whole numbers even where many values are equal.

    One row more adds 1 to n, and 1 or 0 to either sum. It moves the first difference by b − a or −a, the second by
    a − b or a, hence their maximum with 0 by at most max(a, b − a): k times that for a person of k rows. (The utility
    of Smith 2011, "Privacy-preserving statistical estimation", |rank − n·a/b|, for values that may be equal.)
    """
    a, b = level.numerator, level.denominator
    upto = np.cumsum(counts, dtype=np.int64)
    total = int(upto[-1])
    if total * b >= 2**62:
        raise ValueError("there are too many rows for a level of so many digits")
    scores: Ints = -np.maximum(np.maximum(b * (upto - counts) - a * total, a * total - b * upto), 0)
    return scores


def reach(candidates: int, unit: Fraction, confidence: float = CONFIDENCE) -> int:
    """The least whole t for which permute-and-flip picks within t of the best score, with probability ``confidence``.

    ``unit`` is what one step of score weighs in the exponent: ε/2Δ, or ε/Δ for monotone scores. A candidate that is
    worse than the best by t is picked only if its own coin lands heads, which has probability exp(−t·unit); so one of
    all that are worse by more than t is picked with probability at most (candidates − 1)·exp(−(t + 1)·unit).
    """
    if candidates < 2:
        return 0
    return max(0, math.ceil(math.log((candidates - 1) / (1 - confidence)) / float(unit) - 1 - 1e-9))


def ratio_half_width(part: float, scale: float, confidence: float = CONFIDENCE) -> float:
    """h with P(|(1 − part)·Z₁ − part·Z₂| ≤ h) ≥ ``confidence``, for discrete Laplace noise Z₁, Z₂ of ``scale``.

    For continuous Laplace noise of that scale and weights w > v the tail beyond t is
    (w²·exp(−t/(w·scale)) − v²·exp(−t/(v·scale)))/(w² − v²), and (1 + t/(2w·scale))·exp(−t/(w·scale)) where they are
    equal. A discrete Laplace number is the difference of the floors of two exponential numbers whose difference is
    Laplace, so each Z is within 1 of a continuous one, and the weighted difference too: h is the continuous one plus 1.
    """
    wide, narrow = max(part, 1 - part), min(part, 1 - part)

    def beyond(t: float) -> float:
        if wide - narrow < 1e-4:  # the two forms agree there to 1e-8, and the first would cancel
            return (1 + t / (2 * wide)) * math.exp(-t / wide)
        tail = wide**2 * math.exp(-t / wide)
        return (tail - (narrow**2 * math.exp(-t / narrow) if narrow else 0.0)) / (wide**2 - narrow**2)

    return scale * _root(lambda t: 1 - confidence - beyond(t), 0.0, 60.0) + 1


def ratio(first: int, second: int, scale: Fraction, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """The part A/(A + B), from A and B with noise, and an interval for it: (estimate, low, high), each in [0, 1].

    Fieller's method (1954) without its normal approximation. At the true part θ, (1 − θ)·A − θ·B is 0, so what the
    noisy numbers make of it is noise alone, and stays within `ratio_half_width` of 0 with probability at least
    ``confidence``, whatever A and B are: the interval holds every θ for which it does. Where the noisy total is below
    four times the scale the interval is all of [0, 1]: there are too few rows to say anything.
    """
    total, width = first + second, float(scale)
    estimate = min(1.0, max(0.0, first / total)) if total > 0 else 0.5
    if total <= 4 * width + 1:  # above, θ·total outruns the half-width, which changes by at most ln 20 < 3 scales
        return estimate, 0.0, 1.0

    def above(part: float) -> float:
        return part * total - first - ratio_half_width(part, width, confidence)

    def below(part: float) -> float:
        return part * total - first + ratio_half_width(part, width, confidence)

    low = 0.0 if below(0.0) >= 0 else _root(below, 0.0, 1.0) if below(1.0) > 0 else 1.0
    high = 1.0 if above(1.0) <= 0 else _root(above, 0.0, 1.0) if above(0.0) < 0 else 0.0
    # Where noise has put A or B below zero even by this measure, no part fits: the nearest, with a margin.
    margin = ratio_half_width(0.0, width, confidence) / total
    return estimate, min(low, max(0.0, 1 - margin)), max(high, min(1.0, margin))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises from below 0 at ``low`` to above it at ``high`` crosses 0."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
