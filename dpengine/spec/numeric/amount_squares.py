"""Amounts whose squares are measured too, for standard deviations, slopes and correlations.

A value at the fraction t of its range, from 0 to 1, has the weights (1 − t)², 2t(1 − t) and t² in three cells. They are
never negative and add up to 1, so a row changes any table over such columns by exactly 1 in L1, as in a table of
counts. The middles of these cells, 0, ½ and 1, averaged with the weights, give t; and the last weight is t². So counts,
sums and sums of squares follow from one measurement. With a second amount in the table, weights multiply and still add
up to (1 − s + s)·(1 − t + t)² = 1, and sums of products follow too.

These are the weights of two copies of the amount, each shared between the two ends of the range, with the two cells in
which the copies differ added up: Bernstein polynomials of degree 2 (Farouki 2012).
"""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import ClassVar

from dpengine.spec.declared import as_kind
from dpengine.spec.numeric.amount import Amount

__all__ = ["AmountWithSquares", "with_squares"]


class AmountWithSquares(Amount):
    """An amount shared between its two ends and the middle, so that its squares can be added up. It has no knots."""

    degree: ClassVar[int] = 2

    @property
    def all_knots(self) -> tuple[Decimal, ...]:
        """The middles of the three cells."""
        return self.low, (self.low + self.high) / 2, self.high

    @cached_property
    def knot_places(self) -> tuple[int, ...]:
        """The places between which each copy is shared: the ends of the grid."""
        return 0, self.grid.steps


def with_squares(amount: Amount) -> Amount:
    """Return the same amount with its squares.

    >>> amount = with_squares(Amount(name="x", low="0", high="10"))
    >>> amount.declared, amount.grain, amount.knot_fractions
    (('0', '5', '10'), 100, (0.0, 0.5, 1.0))
    """
    return as_kind(AmountWithSquares, amount)
