"""The threshold is the smallest that keeps the stated probability, for universes of any size."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from dpengine.noise.threshold import chance_of_reaching, release_threshold, tail

DEEP = Context(prec=80)


def reaching(least: int, scale: Fraction) -> Decimal:
    """P(X ≥ least) by the definition of the noise: the sum of (1 − a)/(1 + a)·a^k from `least` on."""
    a = DEEP.exp(DEEP.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
    return DEEP.divide(DEEP.power(a, least), DEEP.add(Decimal(1), a))


@pytest.mark.parametrize("keys", [1, 2, 50, 10**5, 26**12, 2**62])
@pytest.mark.parametrize("scale", ["1/20", "1/3", "1", "4", "1000", "1099511627776"])
@pytest.mark.parametrize("chance", ["1/2", "1/1000", "1/1000000000"])
def test_it_keeps_the_chance_and_one_less_would_not(keys: int, scale: str, chance: str) -> None:
    wide, rare = Fraction(scale), Fraction(chance)
    least = release_threshold(keys, wide, rare)
    limit = DEEP.divide(Decimal(rare.numerator), Decimal(rare.denominator))
    assert least >= 1
    assert DEEP.multiply(Decimal(keys), reaching(least, wide)) <= limit
    assert least == 1 or DEEP.multiply(Decimal(keys), reaching(least - 1, wide)) > limit


@pytest.mark.parametrize("bits", [40, 224])
@pytest.mark.parametrize("least", [1, 7, 90])
def test_bounds_of_a_tail_hold_it_and_are_close(bits: int, least: int) -> None:
    for scale in (Fraction(1, 2), Fraction(4)):
        low, high = tail(scale, least, bits)
        assert low <= DEEP.multiply(reaching(least, scale), Decimal(2**bits)) <= high <= low + 8


def test_a_key_with_people_is_shown_as_often_as_the_noise_says() -> None:
    a = math.exp(-1 / 4)
    chances = [(1 - a) / (1 + a) * a ** abs(k) for k in range(-400, 401)]
    for count in (0, 71, 72, 73, 200):
        wanted = math.fsum(chance for k, chance in zip(range(-400, 401), chances, strict=True) if count + k >= 72)
        assert chance_of_reaching(count, Fraction(4), 72) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(2, 3)])
def test_an_invalid_chance_is_refused(chance: Fraction) -> None:
    with pytest.raises(ValueError, match="chance"):
        release_threshold(10, Fraction(1), chance)
