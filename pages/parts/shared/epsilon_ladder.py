"""The values of ε that sliders offer and curves are drawn over, the same on every page."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["LADDER", "TICKS", "coarse", "rungs"]

LADDER = tuple(
    Fraction(text)
    for text in (
        "0.01", "0.015", "0.02", "0.03", "0.05", "0.07", "0.1", "0.15", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8",
        "1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20", "30", "50", "100",
    )
)  # fmt: skip
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # where a logarithmic axis is labelled


def rungs(low: str | Fraction, high: str | Fraction) -> tuple[Fraction, ...]:
    """Return the values of the ladder from `low` to `high`, both included.

    >>> [str(epsilon) for epsilon in rungs("0.5", "1.5")]
    ['1/2', '3/5', '4/5', '1', '3/2']
    """
    return tuple(epsilon for epsilon in LADDER if Fraction(low) <= epsilon <= Fraction(high))


def coarse(low: str | Fraction, high: str | Fraction) -> tuple[Fraction, ...]:
    """Return two values of the ladder for each power of ten, for curves whose points take long to compute.

    >>> [float(epsilon) for epsilon in coarse("0.1", "10")]
    [0.1, 0.3, 1.0, 3.0, 10.0]
    """
    return tuple(epsilon for epsilon in rungs(low, high) if float(epsilon) in TICKS)
