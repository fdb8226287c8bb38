"""Closed forms of discrete Laplace noise, against scipy's distribution and extreme scales."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpengine.noise import moments

SCALES = [Fraction(1, 5), Fraction(1), Fraction(10), Fraction(1000, 3)]


@pytest.mark.parametrize("scale", SCALES)
def test_moments_are_those_of_the_distribution(scale: Fraction) -> None:
    oracle, values = stats.dlaplace(float(1 / scale)), np.arange(-20_000, 20_001)
    assert moments.variance(scale) == pytest.approx(oracle.var(), rel=1e-9)
    assert moments.mean_absolute(scale) == pytest.approx(np.abs(values) @ oracle.pmf(values), rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
def test_a_half_width_is_the_least_that_holds(scale: Fraction, confidence: float) -> None:
    half, oracle = moments.half_width(scale, confidence), stats.dlaplace(float(1 / scale))
    assert oracle.cdf(half) - oracle.cdf(-half - 1) >= confidence - 1e-9
    assert half == 0 or oracle.cdf(half - 1) - oracle.cdf(-half) < confidence


def test_variance_does_not_cancel() -> None:
    assert moments.variance(Fraction(10**6)) == pytest.approx(2e12, rel=1e-9)
    assert moments.variance(Fraction(1, 2)) == pytest.approx(1 / (math.cosh(2) - 1), rel=1e-12)


def test_tiny_scales_underflow_and_do_not_overflow() -> None:
    tiny = Fraction(1, 10**9)
    assert moments.variance(tiny) < 1e-300
    assert moments.mean_absolute(tiny) < 1e-300
    assert moments.half_width(tiny) == 0
