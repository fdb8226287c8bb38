"""Moments and quantiles of discrete Laplace noise, in closed form.

With a = exp(−1/scale), P(Z = z) = (1−a)/(1+a)·a^|z|. These floats predict and describe errors; they draw no noise
and decide no budget.

Source: Inusah & Kozubowski 2006, who call it a discrete analogue of the Laplace distribution.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["MAX_SCALE", "half_width", "mean_absolute", "nearby", "scale_of", "variance"]

MAX_SCALE = 2**40  # the widest noise that is drawn


def variance(scale: Fraction | float) -> float:
    """Return the variance of noise of this scale: 1/(cosh(1/scale) − 1), written so as not to cancel.

    >>> round(variance(Fraction(1)), 4), round(variance(1000), 2)
    (1.8413, 1999999.83)
    """
    half = min(1 / (2 * float(scale)), 350.0)
    return 1 / (2 * math.sinh(half) ** 2)


def scale_of(variance: float) -> float:
    """Return the scale of noise of this variance.

    >>> round(scale_of(variance(10)), 9)
    10.0
    """
    return 1 / (2 * math.asinh(math.sqrt(1 / (2 * variance))))


def nearby(scale: float) -> Fraction:
    """Return a scale near this one, as a fraction of denominator 10^6 at most; never 0, however small the noise.

    >>> nearby(2.5), nearby(1e-9)
    (Fraction(5, 2), Fraction(1, 1000000))
    """
    return max(Fraction(scale).limit_denominator(10**6), Fraction(1, 10**6))


def mean_absolute(scale: Fraction | float) -> float:
    """Return the mean absolute value E|Z| = 2a/(1−a²) = 1/sinh(1/scale).

    >>> round(mean_absolute(Fraction(1)), 4), round(mean_absolute(1000), 2)
    (0.8509, 1000.0)
    """
    return 1 / math.sinh(min(1 / float(scale), 700.0))


def half_width(scale: Fraction | float, confidence: float = 0.95) -> float:
    """Return the least whole h with P(|Z| ≤ h) ≥ `confidence`, from P(|Z| > h) = 2a^(h+1)/(1+a).

    >>> half_width(1), half_width(10, confidence=0.5)
    (3.0, 7.0)
    """
    scale = float(scale)
    least = scale * math.log(2 / ((1 - confidence) * (1 + math.exp(-1 / scale)))) - 1
    return max(0.0, float(math.ceil(least - 1e-9)))
