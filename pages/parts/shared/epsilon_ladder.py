"""Values of ε that are easy to say, for sliders and curves on every page; ε rounded to three digits; values of δ."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["DELTAS", "TICKS", "coarse", "rounded_down", "rounded_up", "rungs"]

# Six values for each power of ten: each is about 10^(1/6) = 1.47 times the one before, rounded to what is easy to say.
LADDER = (
    *(Fraction(step) * Fraction(10) ** power for power in range(-2, 2) for step in ("1", "1.5", "2", "3", "5", "7")),
    Fraction(100),
)
DELTAS = {"10⁻⁴": Fraction(1, 10**4), "10⁻⁶": Fraction(1, 10**6), "10⁻⁹": Fraction(1, 10**9)}
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # labels of a logarithmic axis


def rungs(low: str | Fraction, high: str | Fraction) -> tuple[Fraction, ...]:
    """Return the values of the ladder from `low` to `high`, both included.

    >>> [str(epsilon) for epsilon in rungs("0.5", "1.5")]
    ['1/2', '7/10', '1', '3/2']
    """
    return tuple(epsilon for epsilon in LADDER if Fraction(low) <= epsilon <= Fraction(high))


def coarse(low: str | Fraction, high: str | Fraction) -> tuple[Fraction, ...]:
    """Return two values of the ladder for each power of ten, for curves whose points take long to compute.

    >>> [float(epsilon) for epsilon in coarse("0.1", "10")]
    [0.1, 0.3, 1.0, 3.0, 10.0]
    """
    return tuple(epsilon for epsilon in rungs(low, high) if float(epsilon) in TICKS)


def rounded_up(epsilon: Fraction) -> Fraction:
    """Round ε up to three digits, which are easy to say, and still enough.

    >>> str(rounded_up(Fraction("1.840888"))), str(rounded_up(Fraction("0.0125")))
    ('37/20', '1/80')
    """
    unit = Fraction(1)
    while epsilon < 100 * unit:
        unit /= 10
    return -(-epsilon // unit) * unit


def rounded_down(epsilon: Fraction) -> Fraction:
    """Round ε down to three digits, which a person can type.

    >>> str(rounded_down(Fraction(2, 3))), str(rounded_down(Fraction(0)))
    ('333/500', '0')
    """
    if epsilon == 0:
        return epsilon
    step = Fraction(10) ** (math.floor(math.log10(epsilon)) - 2)
    return epsilon // step * step
