"""How wrong a release will be, said before anything is spent: functions of the plan alone.

The estimate of a cell is wrong by a weighted sum of independent discrete Laplace draws. Its law is
computed from the characteristic function, which is a product of factors known in closed form, so
standard errors, mean absolute errors and intervals are not simulated but calculated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns, Floats
from dpengine.errors import PlanError
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation
from dpengine.measure.strategy import ADAPTIVE, choose, settled
from dpengine.spec.plan import MAX_EPSILON, MIN_EPSILON, Plan

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ErrorLaw", "epsilon_for", "error_law", "least_squares", "noise_variance", "posterior", "predict", "sum_law"]

CONFIDENCE = 0.95
PREDICTED = ("table", "cells", "mean_abs_error", "half_width_95", "total_half_width_95")


def noise_variance(scale: Fraction) -> float:
    """Variance of discrete Laplace noise: 1/(cosh(1/scale) − 1), written so as not to cancel."""
    half = min(1 / (2 * float(scale)), 350.0)
    return 1 / (2 * math.sinh(half) ** 2)


def least_squares(plan: Plan, allocations: Sequence[Allocation]) -> LeastSquares:
    """The estimator of a plan whose ``shares`` are measured."""
    return LeastSquares(
        {name: plan.column(name).size for name in plan.used},
        tuple(allocation.columns for allocation in allocations),
        tuple(noise_variance(allocation.scale) for allocation in allocations),
    )


@dataclass(frozen=True)
class ErrorLaw:
    """The symmetric law of the error of an estimate: ``within[m]`` is P(|error| ≤ m·step).

    For one draw ``scale`` is given instead, and all is closed form. Where the error is a sum of whole
    numbers, step is 1 and the law is exact to rounding; otherwise it is a fine grid, and half-widths
    are rounded up by ``slack`` steps.
    """

    sd: float
    mean_abs: float
    scale: float | None = None
    step: float = 1.0
    slack: int = 0
    within: Floats | None = None

    @property
    def empty_cell_bias(self) -> float:
        """How much too high a truly empty cell reads on average once negative numbers are cut off at 0.

        E[max(0, error)], which is half the mean absolute error of a symmetric law.
        """
        return self.mean_abs / 2

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """The least h with P(|error| ≤ h) ≥ ``confidence``."""
        if not 0 < confidence < 1:
            raise PlanError("a confidence lies between 0 and 1, such as 0.95")
        if self.within is None:  # P(|Z| > m) = 2a^(m+1)/(1+a), with a = exp(−1/scale)
            assert self.scale is not None
            least = self.scale * math.log(2 / ((1 - confidence) * (1 + math.exp(-1 / self.scale)))) - 1
            return max(0.0, float(math.ceil(least - 1e-9)))
        return (int(np.searchsorted(self.within, confidence - 1e-12)) + self.slack) * self.step


@lru_cache(maxsize=4096)
def _law(terms: tuple[tuple[float, int, Fraction], ...]) -> ErrorLaw:
    """Law of Σ weight·(sum of ``times`` draws at ``scale``) over ``terms`` = (weight, times, scale)."""
    variance = math.fsum(weight**2 * times * noise_variance(scale) for weight, times, scale in terms)
    sd = math.sqrt(variance)
    if len(terms) == 1 and terms[0][:2] == (1.0, 1):
        one = float(terms[0][2])  # E|Z| = 2a/(1−a²) = 1/sinh(1/scale)
        return ErrorLaw(sd, 1 / math.sinh(min(1 / one, 700.0)), scale=one)
    lattice = len(terms) == 1 and sd < 2000
    if lattice:
        step, width = abs(terms[0][0]), 80 * sd / abs(terms[0][0]) + 120 * float(terms[0][2]) + 16
        points = 2 ** math.ceil(math.log2(width))
    else:
        step, points = sd / 256, 2**14
    theta = 2 * np.pi * np.arange(points // 2 + 1) / (points * step)
    log_phi = np.zeros_like(theta)
    gaussian = 0.0 if lattice else (1.5 * step) ** 2  # smooths what lattice there is below the grid
    for weight, times, scale in terms:
        part = weight**2 * times * noise_variance(scale)
        if not lattice and (part < 1e-4 * variance or (times > 500 and abs(weight) * float(scale) < 0.05 * sd)):
            gaussian += part  # so many or so small that the central limit is exact to the grid
            continue
        # φ(t) = (1−a)²/(1−2a cos t + a²) = 1/(1 + 2·Var·sin²(t/2)), a form that does not cancel
        log_phi -= times * np.log1p(2 * noise_variance(scale) * np.sin(weight * theta / 2) ** 2)
    density = np.fft.irfft(np.exp(log_phi - gaussian * theta**2 / 2), n=points)
    half = np.maximum(density[: points // 2], 0)
    half[1:] *= 2
    half /= half.sum()
    distance = step * np.arange(len(half))
    return ErrorLaw(sd, float(half @ distance), step=step, slack=0 if lattice else 4, within=np.cumsum(half))


def sum_law(times: int, scale: Fraction) -> ErrorLaw:
    """Law of a sum of ``times`` independent discrete Laplace draws of ``scale``."""
    return _law(((1.0, times, scale),))


def error_law(plan: Plan, allocations: Sequence[Allocation], table: Columns) -> ErrorLaw:
    """The law of the error of ``estimate`` in each cell of ``table`` (all cells share it)."""
    merged: dict[tuple[float, Fraction], int] = {}
    for term in least_squares(plan, allocations).noise(table):
        key = (float(f"{abs(term.weight):.12g}"), allocations[term.measured].scale)
        merged[key] = merged.get(key, 0) + term.times
    return _law(tuple((weight, times, scale) for (weight, scale), times in merged.items()))


def predict(plan: Plan) -> pd.DataFrame:
    """One row a table of ``plan``, which is not adaptive, then the total; the columns are `PREDICTED`."""
    import pandas as pd

    allocations = choose(plan)
    total = error_law(plan, allocations, ()).half_width()
    rows = []
    for table in (*plan.marginals, ()):
        law = error_law(plan, allocations, table)
        name = " × ".join(table) or "total"
        rows.append((name, plan.cells(table), law.mean_abs, law.half_width(), total))
    return pd.DataFrame(rows, columns=list(PREDICTED))


def epsilon_for(plan: Plan, half_width: float, confidence: float = CONFIDENCE) -> Fraction:
    """The least ε, in millionths, at which every cell of every published table is within ±``half_width``.

    "Within" holds with probability ``confidence`` for each cell by itself. Raises `PlanError`
    where no ε in range does it, and for an adaptive plan, whose errors follow no law: try `predict` there.
    """
    if settled(plan).strategy == ADAPTIVE:
        raise PlanError("no law gives the ε of an adaptive plan: try several with predict(plan, epsilons=[0.1, 1, 10])")
    if not isinstance(half_width, Real) or not 0 <= half_width < math.inf:
        raise PlanError("a half-width is a number, 0 or more")
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise PlanError("a confidence lies between 0 and 1, such as 0.95")

    def width(table: Columns, millionths: int) -> float:
        at = plan.at(Fraction(millionths, 10**6))
        return error_law(at, choose(at), table).half_width(confidence)

    low, high = int(MIN_EPSILON * 10**6), int(MAX_EPSILON * 10**6)
    # The widest table decides: look for its ε, then raise that only for tables that still fall short.
    tables = sorted(plan.marginals, key=lambda table: width(table, int(plan.epsilon * 10**6) or 1), reverse=True)
    for table in tables:
        if width(table, low) <= half_width:
            continue
        if width(table, high) > half_width:
            raise PlanError(f"no ε up to {MAX_EPSILON} brings every cell within ±{half_width:g}")
        least, enough = low, high
        while enough - least > 1:
            middle = math.isqrt(least * enough) if enough > 2 * least else (least + enough) // 2
            least, enough = (least, middle) if width(table, middle) <= half_width else (middle, enough)
        low = enough
    return Fraction(low, 10**6)
