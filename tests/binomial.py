"""Test whether a measured rate fits a probability, with a stated false alarm rate."""

from __future__ import annotations

from scipy.stats import binom

from dpengine.lessons.success_rate import Rate

__all__ = ["agrees", "within"]


def agrees(rate: Rate, probability: float) -> bool:
    """Return whether a rate fits ``probability``; if it does, this is false with a chance of at most 2e-9."""
    low, high = (float(binom.ppf(tail, rate.tries, probability)) for tail in (1e-9, 1 - 1e-9))
    return low <= rate.successes <= high


def within(rate: Rate, probability: float) -> bool:
    """Return whether a rate fits ``probability`` or less; if it does, this is false with a chance of at most 1e-9."""
    return bool(rate.successes <= binom.ppf(1 - 1e-9, rate.tries, probability))
