"""Edges of bins of one width, exact where they have an end."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dpengine.exact import rational
from dpengine.spec.limits import check_column_size

__all__ = ["equal_edges"]


def equal_edges(low: object, high: object, bins: object) -> tuple[Decimal, ...]:
    """Return the edges of `bins` equally wide bins from `low` to `high`.

    Edges that are no finite decimal (thirds, say) are rounded, by far less than the width of a bin. Raises ValueError.

    >>> [str(edge) for edge in equal_edges(0, 1, 4)]
    ['0', '0.25', '0.5', '0.75', '1']
    """
    try:
        start, stop, bins_given = (rational(str(value)) for value in (low, high, bins))
        if bins_given.denominator != 1:
            raise ValueError
    except ValueError:
        raise ValueError("equal bins need two numbers and a whole number of bins") from None
    count = int(bins_given)
    if count < 1 or start >= stop:
        raise ValueError("equal bins need at least one bin, and a start below the end")
    check_column_size(count)
    step = (stop - start) / count
    if max(abs(start), abs(stop)) > 10**30 or step < Fraction(1, 10**24):
        raise ValueError("equal bins need numbers up to 1e30, and steps of 1e-24 or more")
    digits = 0
    while digits < 12 and (step * 10**digits).denominator != 1:
        digits += 1
    while 10**digits * step < 10**6 and (step * 10**digits).denominator != 1:
        digits += 1
    # Over one denominator, in whole numbers: a million fractions would each look for their common divisors.
    below = math.lcm(start.denominator, step.denominator)
    first, ahead = int(start * below) * 10**digits, int(step * below) * 10**digits
    edges = []
    for k in range(count + 1):
        whole, rest = divmod(first + k * ahead, below)
        whole += 2 * rest > below or (2 * rest == below and whole % 2)  # halves go to the even neighbour
        edges.append(Decimal(whole).scaleb(-digits).normalize())
    return tuple(edge if "E" not in str(edge) else Decimal(f"{edge:f}") for edge in edges)
