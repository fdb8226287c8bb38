"""The probability that one more person changes a rounded count."""

from __future__ import annotations


def share_of_steps(base: int, low: int, high: int) -> float:
    """Return the share of counts from `low` to below `high` whose rounding to `base` changes with one more person."""
    return sum((k + 1 + base // 2) // base > (k + base // 2) // base for k in range(low, high)) / (high - low)
