"""Single private queries: noise for counts and sums, scores for quantiles, and intervals for the answers.

Noise is exact, from `noise.laplace`. Everything else here is arithmetic on numbers that are public or already noisy.
Neighbouring tables differ in one person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq

from dpengine.array_types import Ints
from dpengine.noise.laplace import perturb

__all__ = ["add_noise", "quantile_scores", "ratio_half_width", "ratio_interval", "selection_error"]

CONFIDENCE = 0.95


def add_noise(values: Sequence[int], scale: Fraction) -> list[int]:
    """Add independent discrete Laplace noise of `scale` = Δ/ε to each of `values`, exactly.

    ε-differentially private if one person changes the values by at most Δ in total (in L1): then the probability of any
    outcome changes by a factor of at most exp(Δ/scale).

    Source: Dwork, McSherry, Nissim & Smith 2006; Ghosh, Roughgarden & Sundararajan 2009 (discrete noise).

    >>> len(add_noise([12, 7], Fraction(2)))
    2
    """
    noisy: list[int] = perturb(np.array(values, dtype=object), scale).tolist()  # sums may need more than 64 bits
    return noisy


def quantile_scores(counts: Ints, level: Fraction) -> Ints:
    """Score each point of a grid as the quantile at `level` = a/b: minus its distance from it, in b-ths of a rank.

    `counts` holds the number n_j of values at each point. Point j is a quantile if at most n·a/b values lie below it
    and at least n·a/b at or below it. Its score is −max(0, b·Σ_{i<j} n_i − a·n, a·n − b·Σ_{i≤j} n_i): the distance of
    n·a/b from the ranks of the values at j, in whole numbers even where many values are equal.

    Sensitivity: one more row adds 1 to n, and 1 or 0 to either sum. It changes the first difference by b − a or −a, the
    second by a − b or a, hence their maximum with 0 by at most max(a, b − a). A person with k rows changes it by at
    most k times as much.

    Raises ValueError if there are too many rows for the digits of `level`: scores must fit in 64 bits.

    Source: Smith 2011, "Privacy-preserving statistical estimation": the utility |rank − n·a/b|, here for values that
    may be equal.

    >>> quantile_scores(np.array([1, 1, 1]), Fraction(1, 2)).tolist()
    [-1, 0, -1]
    """
    a, b = level.numerator, level.denominator
    upto = np.cumsum(counts, dtype=np.int64)
    total = int(upto[-1])
    if total * b >= 2**62:
        raise ValueError("there are too many rows for a level of so many digits")
    scores: Ints = -np.maximum(np.maximum(b * (upto - counts) - a * total, a * total - b * upto), 0)
    return scores


def selection_error(candidates: int, unit: Fraction) -> int:
    """Return a whole t such that permute-and-flip picks a score within t of the best, with probability `CONFIDENCE`.

    `unit` is the weight of one step of score in the exponent: ε/2Δ, or ε/Δ for monotone scores. A candidate that is
    worse than the best by t is picked only if its own coin lands heads, which has probability exp(−t·unit). So a
    candidate that is worse by more than t is picked with probability at most (candidates − 1)·exp(−(t + 1)·unit).

    >>> selection_error(1, Fraction(1)), selection_error(100, Fraction(1, 2))
    (0, 15)
    """
    if candidates < 2:
        return 0
    return max(0, math.ceil(math.log((candidates - 1) / (1 - CONFIDENCE)) / float(unit) - 1 - 1e-9))


def ratio_half_width(part: float, scale: float) -> float:
    """Return h with P(|(1 − part)·Z₁ − part·Z₂| ≤ h) ≥ `CONFIDENCE`, for discrete Laplace noise Z₁, Z₂ of `scale`.

    For continuous Laplace noise of that scale and weights w > v the tail beyond t is
    (w²·exp(−t/(w·scale)) − v²·exp(−t/(v·scale)))/(w² − v²), and (1 + t/(2w·scale))·exp(−t/(w·scale)) where they are
    equal. A discrete Laplace number is the difference of the floors of two exponential numbers, whose own difference is
    Laplace. So each Z is within 1 of a continuous one, and the weighted difference too: h is the continuous half-width
    plus 1.

    >>> round(ratio_half_width(0.5, 10.0), 2)
    21.57
    """
    wide, narrow = max(part, 1 - part), min(part, 1 - part)

    def survival(t: float) -> float:
        if wide - narrow < 1e-4:  # the two forms agree there to 1e-8, and the first would cancel
            return (1 + t / (2 * wide)) * math.exp(-t / wide)
        tail = wide**2 * math.exp(-t / wide)
        return (tail - (narrow**2 * math.exp(-t / narrow) if narrow else 0.0)) / (wide**2 - narrow**2)

    return scale * brentq(lambda t: 1 - CONFIDENCE - survival(t), 0.0, 60.0) + 1


def ratio_interval(first: int, second: int, scale: Fraction) -> tuple[float, float, float]:
    """Estimate the part A/(A + B) from A and B with noise of `scale`: (estimate, low, high), each in [0, 1].

    At the true part θ, (1 − θ)·A − θ·B is 0, so the same expression in the noisy numbers is noise alone. It is within
    `ratio_half_width` of 0 with probability at least `CONFIDENCE`, whatever A and B are. The interval holds every θ for
    which it is. A noisy total of up to four times the scale is too small for that: the interval is all of [0, 1].

    Source: Fieller 1954, without the normal approximation.

    >>> [round(part, 2) for part in ratio_interval(300, 700, Fraction(2))]
    [0.3, 0.29, 0.31]
    """
    total, width = first + second, float(scale)
    estimate = min(1.0, max(0.0, first / total)) if total > 0 else 0.5
    if total <= 4 * width + 1:  # above, θ·total outgrows the half-width, which changes by at most ln 20 < 3 scales
        return estimate, 0.0, 1.0

    def above(part: float) -> float:
        return part * total - first - ratio_half_width(part, width)

    def below(part: float) -> float:
        return part * total - first + ratio_half_width(part, width)

    low = 0.0 if below(0.0) >= 0 else brentq(below, 0.0, 1.0) if below(1.0) > 0 else 1.0
    high = 1.0 if above(1.0) <= 0 else brentq(above, 0.0, 1.0) if above(0.0) < 0 else 0.0
    # If noise makes A or B so negative that no θ fits, the interval is the nearest θ with a margin.
    margin = ratio_half_width(0.0, width) / total
    return estimate, min(low, max(0.0, 1 - margin)), max(high, min(1.0, margin))
