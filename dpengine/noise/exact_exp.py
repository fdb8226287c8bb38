"""Interval arithmetic in whole numbers: bounds on exp(−x), products, quotients and complements, to any precision.

A value between 0 and 1 is held as `(low, high)` with low ≤ value·2^bits ≤ high. Comparing a uniform number with
such bounds, and with closer ones while it lies between them, makes coins of probability exp(−x) exact.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

__all__ = ["Bounds", "complement", "exp_bounds", "product", "quotient"]

Bounds = tuple[int, int]


@lru_cache(maxsize=64)
def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Return bounds on exp(−x), x > 0.

    >>> exp_bounds(Fraction(1), 16)  # 65536/e = 24109.3…
    (24109, 24110)
    """
    if x > bits:
        return 0, 1
    digits = bits // 3 + 12  # 2^-bits needs 0.302·bits; the rest is for the whole part of x and rounding
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    ratio = Decimal(-x.numerator), Decimal(x.denominator)
    low = down.next_minus(down.exp(down.divide(*ratio)))
    high = up.next_plus(up.exp(up.divide(*ratio)))
    return math.floor(Fraction(low) * 2**bits), math.ceil(Fraction(high) * 2**bits)


def product(a: Bounds, b: Bounds, bits: int) -> Bounds:
    """Return bounds on a·b.

    >>> product((2, 2), (3, 3), 2)  # ½ · ¾, in quarters
    (1, 2)
    """
    return a[0] * b[0] >> bits, (a[1] * b[1] >> bits) + 1


def quotient(a: Bounds, b: Bounds, bits: int) -> Bounds:
    """Return bounds on a/b, b > 0.

    >>> quotient((1, 1), (3, 3), 2)  # ¼ : ¾, in quarters
    (1, 2)
    """
    return (a[0] << bits) // b[1], (a[1] << bits) // b[0] + 1


def complement(a: Bounds, bits: int) -> Bounds:
    """Return bounds on 1 − a.

    >>> complement((1, 2), 2)  # in quarters
    (2, 3)
    """
    return (1 << bits) - a[1], (1 << bits) - a[0]
