"""Coins have exactly the stated bias, and their ε is never understated."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpengine.errors import PlanError
from dpengine.mechanisms.local.coins import COIN_STEPS, coins, composed, flip, log_rounded_up, min_chance
from dpengine.noise.exact_exp import exp_bounds

ALPHA = 1e-9


class Script:
    """Bits that were written down, instead of random ones; each part serves one request."""

    def __init__(self, *parts: Any) -> None:
        self.parts = [np.asarray(part, dtype=np.uint8) for part in parts]

    def __call__(self, buffer: np.ndarray) -> None:
        buffer[:] = self.parts.pop(0)


@pytest.mark.parametrize("chance", [Fraction(k, 256) for k in (0, 1, 37, 128, 255, 256)])
def test_eight_bits_decide_a_coin_of_eight_bits(chance: Fraction) -> None:
    heads = np.empty(256, dtype=np.bool_)
    flip(heads, chance, Script(range(256)))
    assert heads.sum() == chance * 256


@pytest.mark.parametrize("k", [1, 255, 256, 0x5500, 0x5537, 0xFFFF])
def test_sixteen_bits_decide_a_coin_of_sixteen(k: int) -> None:
    """All words whose first byte is that of the chance; their second bytes take every value."""
    heads = np.empty(256, dtype=np.bool_)
    script = Script(np.full(256, k >> 8), range(256))
    flip(heads, Fraction(k, 2**16), script)
    assert heads.sum() == k % 256
    assert len(script.parts) == (k % 256 == 0), "an equal byte is decided at once where nothing follows"


def test_a_third_is_distinguished_from_neighbours_however_many_bits_agree() -> None:
    for last, wanted in ((0x54, True), (0x56, False)):  # 1/3 is 0x55 for ever
        heads = np.empty(1, dtype=np.bool_)
        flip(heads, Fraction(1, 3), Script(*[[0x55]] * 20, [last]))
        assert heads[0] == wanted


@pytest.mark.parametrize(
    "chance", [Fraction(1, 3), Fraction(1, 1000), Fraction(37, 256), Fraction(COIN_STEPS - 1, COIN_STEPS)]
)
def test_heads_are_as_frequent_as_stated(chance: Fraction) -> None:
    people = 600_001  # more than one block, and an odd number of them
    seen = int(coins(chance, people).sum())
    assert stats.binomtest(seen, people, float(chance)).pvalue > ALPHA


def test_another_probability_is_detected() -> None:
    seen = int(coins(Fraction(1, 3), 600_001).sum())
    assert stats.binomtest(seen, 600_001, 1 / 3 + 0.01).pvalue < ALPHA


def test_coins_are_drawn_afresh_each_time() -> None:
    first, second = (coins(Fraction(1, 2), 1000) for _ in range(2))
    assert (first != second).any()
    assert coins(Fraction(1, 2), 0).size == 0


@pytest.mark.parametrize("chance", [Fraction(-1, 9), Fraction(10, 9)])
def test_an_invalid_probability_is_refused(chance: Fraction) -> None:
    with pytest.raises(PlanError, match="between 0 and 1"):
        coins(chance, 3)


@pytest.mark.parametrize(
    "ratio", ["1", "1000001/1000000", "3", "9", "271828182845904523536/100000000000000000000", "7" * 60]
)
def test_a_logarithm_is_rounded_up_and_by_no_more_than_the_last_digit(ratio: str) -> None:
    exact = Fraction(ratio)
    epsilon = log_rounded_up(exact)
    _, most = exp_bounds(epsilon, 256) if epsilon else (0, 2**256)
    assert exact * most <= 2**256, "e^ε is no less than the ratio"
    if epsilon:
        least, _ = exp_bounds(epsilon - Fraction(1, 10**12), 256)
        assert exact * least > 2**256, "and would be with one less in the last digit"


def test_the_least_chance_is_the_least() -> None:
    def ratio(chance: Fraction) -> Fraction:
        return (2 - chance) / chance

    for epsilon in (Fraction(1, 7), Fraction(1), Fraction(5)):
        chance = min_chance(epsilon, ratio)
        assert log_rounded_up(ratio(chance)) <= epsilon < log_rounded_up(ratio(chance - Fraction(1, COIN_STEPS)))
        assert float(chance) == pytest.approx(2 / (math.exp(epsilon) + 1))


@pytest.mark.parametrize("times", [0, -1, 1.5, True, 10**6])
def test_reports_that_cannot_be_counted_do_not_compose(times: int) -> None:
    with pytest.raises(PlanError, match="must number"):
        composed(Fraction(3), times)
    with pytest.raises(PlanError, match="1 or more"):
        log_rounded_up(Fraction(1, 2))
