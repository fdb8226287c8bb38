"""Bounds in whole numbers hold the true value, at every precision: else a late bit of a draw would be wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as pairs

import pytest

from dpengine.noise import laplace
from dpengine.noise.exact_exp import Bounds, complement, product, quotient

BITS = 3
INTERVALS = [(low, high) for low in range(2**BITS + 1) for high in range(low, 2**BITS + 1)]
CLOSE = 400  # bits: far closer than what is compared with it


def holds(bounds: Bounds, value: Fraction, bits: int) -> bool:
    low, high = bounds
    return low <= value * 2**bits <= high


def test_bounds_hold_for_every_number_between_those_that_they_are_made_of() -> None:
    one = 2**BITS
    for a, b in pairs(INTERVALS, repeat=2):
        for x, y in pairs(a, b):  # the ends are the worst
            assert holds(product(a, b, BITS), Fraction(x, one) * Fraction(y, one), BITS), (a, b)
            assert not b[0] or holds(quotient(a, b, BITS), Fraction(x, y), BITS), (a, b)
    for a in INTERVALS:
        assert all(holds(complement(a, BITS), 1 - Fraction(x, one), BITS) for x in a)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(3, 7), Fraction(1, 10), Fraction(5)])
@pytest.mark.parametrize("span", [0, 8])
def test_bounds_on_the_distribution_of_a_draw_hold_it_however_few_bits_they_have(rate: Fraction, span: int) -> None:
    distribution = laplace._Distribution(rate, 2, span)
    close = distribution.bounds(CLOSE)
    for bits in range(2, 40):
        rough = distribution.bounds(bits)
        for k in range(span - 1) if span else range(-4, 4):
            low, high = rough(k)
            least, most = (Fraction(end, 2**CLOSE) * 2**bits for end in close(k))
            assert low <= least, (bits, k)
            assert most <= high, (bits, k)
