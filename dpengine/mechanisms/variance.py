"""The variance of a bounded number from one noisy measurement of three cells, with an interval.

A value at the place t of its range, 0 at the lower bound and 1 at the upper one, has the weights (1 − t)², 2t(1 − t)
and t². They are not negative and add up to 1, so one row more or less changes the three sums A, B and C of weights by
exactly 1 in L1, whatever its value; a person with k rows changes them by at most k. Laplace noise of scale k/ε in each
sum is therefore ε-differentially private, and the three numbers give the number of rows, the mean and the variance:

    n = A + B + C,   n·mean = B/2 + C,   n·mean of squares = C.

On a grid of m steps the weights are whole numbers of units of 1/m², so sums and noise are exact whole numbers.

Source: the weights are the Bernstein polynomials of degree two; the mechanism is that of Dwork, McSherry, Nissim &
Smith 2006 for a vector of sensitivity 1 in L1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats

__all__ = ["MEAN_CONFIDENCE", "VARIANCE_CONFIDENCE", "beyond_noise", "three_sums", "variance_interval"]

Bools: TypeAlias = "npt.NDArray[np.bool_]"

MEAN_CONFIDENCE = 0.995  # that the mean is in its set
VARIANCE_CONFIDENCE = 0.955  # that the variance is in its set, given the right mean: 95 % for both together
MIN_TOTAL = 12  # in scales: beyond it, totals grow faster than half-widths, which change by less than 8 scales
MEANS = 65  # means at which the confidence set of the variance is computed
APART = 1e-3  # weights are made to differ by this fraction of the largest, so that the tail has a closed form


def three_sums(rows: int, places: int, squares: int, steps: int) -> tuple[int, int, int]:
    """Return A, B and C in units of 1/steps², from the number of rows, the sum of their places, and that of squares.

    A row at place p adds (steps − p)², 2p(steps − p) and p² units, together steps².

    >>> three_sums(1, 0, 0, 2), three_sums(1, 1, 1, 2), three_sums(1, 2, 4, 2)
    ((4, 0, 0), (1, 2, 1), (0, 0, 4))
    """
    return rows * steps**2 - 2 * steps * places + squares, 2 * (steps * places - squares), squares


def variance_interval(drawn: Sequence[int], scale: Fraction) -> tuple[float, float, float]:
    """Estimate the variance from A, B and C with noise of `scale`: (estimate, low, high), as fractions of the range².

    It is the variance of the rows themselves, divided by their number. At the true mean μ and variance V, both
    Σ weights·(t − μ) and Σ weights·((t − μ)² − V) are 0, and the same expressions in the noisy numbers are noise
    alone, of a known distribution. The first is small with probability `MEAN_CONFIDENCE`, the second with
    `VARIANCE_CONFIDENCE`, so both are with at least 95 %. The interval holds every V that fits with some μ for which
    both are; 0 ≤ V ≤ μ(1 − μ) always holds. If the noisy total is too small, it is all of [0, 1/4].

    Source: Fieller 1954, for two ratios, without the normal approximation.

    >>> [round(part, 3) for part in variance_interval([400, 200, 400], Fraction(2))]
    [0.15, 0.147, 0.153]
    """
    first, middle, last = (float(part) for part in drawn)
    total, above, width = first + middle + last, middle / 2 + last, float(scale)
    rough = last / total - (above / total) ** 2 if total > 0 else 0.125
    estimate = min(0.25, max(0.0, rough))
    if total <= MIN_TOTAL * width + 3:
        return estimate, 0.0, 0.25

    def mean_off(means: Floats, side: int) -> Bools:
        return beyond_noise(_weights_for_mean(means), side * (above - means * total), width, MEAN_CONFIDENCE)

    least = _crossing(lambda means: mean_off(means, 1), 1.0, 1)[0]
    most = _crossing(lambda means: ~mean_off(means, -1), 1.0, 1)[0]
    means = np.unique(np.clip([*np.linspace(least, most, MEANS), above / total, 0.5], least, most))
    squares = first * means**2 - middle * means * (1 - means) + last * (1 - means) ** 2

    def off(variances: Floats, side: int) -> Bools:
        shares = _weights_for_variance(means, variances)
        return beyond_noise(shares, side * (squares - variances * total), width, VARIANCE_CONFIDENCE)

    low = _crossing(lambda variances: off(variances, 1), 0.25, len(means))
    high = _crossing(lambda variances: ~off(variances, -1), 0.25, len(means))
    around = np.pad(means * (1 - means), 1)
    possible = np.maximum(np.maximum(around[:-2], around[2:]), around[1:-1])  # also of the means between these
    fits = low <= possible
    if fits.any():
        low, high = low[fits], np.minimum(high, possible)[fits]
    ends = float(low.min()), float(high.max())
    return min(max(estimate, ends[0]), ends[1]), *ends


def beyond_noise(shares: Floats, off: Floats, scale: float, confidence: float) -> Bools:
    """Return whether `off` is larger than |Σ wᵢ·Zᵢ| is with probability `confidence`, for three draws Zᵢ of `scale`.

    `shares` has a row of three wᵢ for each of `off`. For continuous Laplace noise and different weights the tail beyond
    t is Σ cᵢ·exp(−t/(wᵢ·scale)) with cᵢ = wᵢ⁴/∏ⱼ(wᵢ² − wⱼ²). A larger weight only widens the sum of independent
    symmetric unimodal draws, so weights that are too close to each other are made larger. A discrete Laplace draw is
    within 1 of a continuous one, so the sum of the weights is subtracted first.

    Source: Anderson 1955 (sums of symmetric unimodal draws); Kotz, Kozubowski & Podgórski 2001 (the tail).

    >>> beyond_noise(np.array([[0.5, -0.5, 0.0]] * 2), np.array([20.0, 23.0]), 10.0, 0.95).tolist()
    [False, True]
    """
    sizes = np.sort(np.abs(shares), axis=1)
    largest = np.maximum(sizes[:, 2], 1e-300)
    ordered = sizes / largest[:, None]
    for i, least in enumerate((np.zeros(len(sizes)), ordered[:, 0], ordered[:, 1])):
        ordered[:, i] = np.maximum(ordered[:, i], least + APART)
    a, b, c = (ordered**2).T
    weights = np.stack([a**2 / ((a - b) * (a - c)), b**2 / ((b - a) * (b - c)), c**2 / ((c - a) * (c - b))], axis=1)
    far = (off - sizes.sum(axis=1)) / (largest * scale)
    tail = (weights * np.exp(-np.maximum(far, 0.0)[:, None] / ordered)).sum(axis=1)
    outside: Bools = (far > 0) & (tail < 1 - confidence)
    return outside


def _weights_for_mean(means: Floats) -> Floats:
    """Return the weights of A, B and C in Σ weights·(t − μ)."""
    return np.stack([-means, 0.5 - means, 1 - means], axis=1)


def _weights_for_variance(means: Floats, variances: Floats) -> Floats:
    """Return the weights of A, B and C in Σ weights·((t − μ)² − V)."""
    return np.stack([means**2, -means * (1 - means), (1 - means) ** 2], axis=1) - variances[:, None]


def _crossing(under: Callable[[Floats], Bools], end: float, count: int) -> Floats:
    """Return by bisection, for each of `count` numbers, the largest value from 0 to `end` at which `under` holds."""
    low, high = np.zeros(count), np.full(count, end)
    for _ in range(40):
        middle = (low + high) / 2
        short = under(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    crossing: Floats = (low + high) / 2
    return crossing
