"""The distribution of each estimate's error, computed from the plan alone.

The error of an estimated cell is a weighted sum of independent discrete Laplace draws. Its characteristic function
is a product of factors known in closed form. So standard errors, mean absolute errors and half-widths are
calculated, not simulated, before anything is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.errors import PlanError
from dpengine.marginals.least_squares import LeastSquares, NoiseTerm
from dpengine.marginals.measurement import Allocation
from dpengine.noise import moments
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = [
    "CONFIDENCE",
    "ErrorDistribution",
    "error_of_terms",
    "least_squares",
    "noise_along",
    "sum_error",
]

CONFIDENCE = 0.95
NEVER = 1e-12  # chance that any of some draws is not 0, below which all are taken as 0
MAX_STEPS = 2000  # standard deviation of a sum, in lattice steps, beyond which a fine grid is as good


def least_squares(plan: Plan, allocations: Sequence[Allocation]) -> LeastSquares:
    """Return the estimator for marginals of `plan` measured with these `allocations`."""
    return LeastSquares(
        plan.sizes | {name: plan.column(name).size for each in allocations for name in each.columns},
        tuple(allocation.columns for allocation in allocations),
        tuple(moments.variance(each.scale_in_units) / each.grain**2 for each in allocations),
    )


@dataclass(frozen=True)
class ErrorDistribution:
    """Symmetric distribution of the error of an estimate.

    `within[m]` is P(|error| ≤ m·step). For a sum of whole numbers `step` is 1 and the probabilities are exact to
    rounding; otherwise the grid is fine, and half-widths are rounded up by `slack` steps. One draw has a closed form,
    given by its `scale`, and no grid.
    """

    mean_abs: float
    scale: float | None = None
    step: float = 1.0
    slack: int = 0
    within: Floats | None = None

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """Return the least h with P(|error| ≤ h) ≥ `confidence`. Raises `PlanError` outside 0 < confidence < 1."""
        if not 0 < confidence < 1:
            raise PlanError(_("a confidence lies between 0 and 1, such as 0.95"))
        if self.within is None:
            assert self.scale is not None
            return moments.half_width(self.scale, confidence)
        return (int(np.searchsorted(self.within, confidence - 1e-12)) + self.slack) * self.step


@lru_cache(maxsize=4096)
def _weighted_sum(terms: tuple[tuple[float, int, Fraction], ...]) -> ErrorDistribution:
    """Return the distribution of Σ weight·(sum of `times` draws at `scale`) over `terms` = (weight, times, scale)."""
    if len(terms) == 1 and terms[0][:2] == (1.0, 1):
        scale = terms[0][2]
        return ErrorDistribution(moments.mean_absolute(scale), scale=float(scale))
    mean_abs = math.fsum(abs(weight) * times * moments.mean_absolute(scale) for weight, times, scale in terms)
    if math.fsum(times * moments.mean_absolute(scale) for _, times, scale in terms) < NEVER:
        return ErrorDistribution(mean_abs, within=np.ones(1))  # a grid for so small a deviation could overflow
    variances = [moments.variance(scale) for _, _, scale in terms]
    each_variance = [weight**2 * times * each for (weight, times, _), each in zip(terms, variances, strict=True)]
    variance = math.fsum(each_variance)
    sd = math.sqrt(variance)
    lattice = len(terms) == 1 and sd < MAX_STEPS * abs(terms[0][0])
    step, points = _grid(terms, sd, lattice=lattice)
    theta = 2 * np.pi * np.arange(points // 2 + 1) / (points * step)
    log_phi = np.zeros_like(theta)
    gaussian = 0.0 if lattice else (1.5 * step) ** 2  # smooths any lattice finer than the grid
    for (weight, times, scale), each, part in zip(terms, variances, each_variance, strict=True):
        if not lattice and (part < 1e-4 * variance or (times > 500 and abs(weight) * float(scale) < 0.05 * sd)):
            gaussian += part  # small terms, or many draws: the central limit is exact to the grid
            continue
        # φ(t) = (1−a)²/(1−2a cos t + a²) = 1/(1 + 2·Var·sin²(t/2)), a form that does not cancel
        log_phi -= times * np.log1p(2 * each * np.sin(weight * theta / 2) ** 2)
    density = np.fft.irfft(np.exp(log_phi - gaussian * theta**2 / 2), n=points)
    half = np.maximum(density[: points // 2], 0)
    half[1:] *= 2
    half /= half.sum()
    distance = step * np.arange(len(half))
    return ErrorDistribution(float(half @ distance), step=step, slack=0 if lattice else 4, within=np.cumsum(half))


def _grid(terms: Sequence[tuple[float, int, Fraction]], sd: float, *, lattice: bool) -> tuple[float, int]:
    """Return the step and the number of points of the grid for a sum; on a `lattice`, all values are points."""
    if lattice:
        ((weight, _, scale),) = terms
        width = 80 * sd / abs(weight) + 120 * float(scale) + 16
        return abs(weight), 2 ** math.ceil(math.log2(width))
    if len(terms) == 1:
        return sd / 2048, 2**17  # one factor is cheap, so half-widths gain only a thousandth by `slack`
    return sd / 256, 2**14


def sum_error(times: int, scale: Fraction) -> ErrorDistribution:
    """Return the distribution of a sum of `times` independent discrete Laplace draws of one `scale`.

    >>> sum_error(1, Fraction(10)).half_width(), sum_error(4, Fraction(10)).half_width()
    (30.0, 57.0)
    """
    return _weighted_sum(((1.0, times, scale),))


def error_of_terms(allocations: Sequence[Allocation]) -> Callable[[tuple[NoiseTerm, ...]], ErrorDistribution]:
    """Return the distribution of a weighted sum of draws, in rows, as a function of its terms."""
    scales = [allocation.scale_in_units for allocation in allocations]
    places = {scale: index for index, scale in enumerate(scales)}
    kinds = [places[scale] for scale in scales]  # fractions are slow to hash

    @cache  # tables that are alike have one sequence of terms
    def error(terms: tuple[NoiseTerm, ...]) -> ErrorDistribution:
        merged: dict[tuple[float, int], int] = {}
        for term in terms:
            weight = abs(term.weight) / allocations[term.measured].grain
            key = (float(f"{weight:.12g}"), kinds[term.measured])
            merged[key] = merged.get(key, 0) + term.times
        # Sorted, so that tables with equal sums share a distribution.
        return _weighted_sum(tuple((weight, times, scales[kind]) for (weight, kind), times in sorted(merged.items())))

    return error


def noise_along(
    squares: LeastSquares, allocations: Sequence[Allocation], table: Columns, coefficients: Sequence[float]
) -> tuple[float, float]:
    """Return the variance of Σ coefficient · estimate over the last column's cells, and its 95 % half-width."""
    terms = squares.noise(table, table[-1], coefficients)
    variance = math.fsum(term.weight**2 * term.times * squares.variances[term.measured] for term in terms)
    return variance, error_of_terms(allocations)(terms).half_width()
