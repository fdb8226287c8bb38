"""Differencing defeats true and rounded counts; this engine limits it to what ε allows.

Bounds on hits are binomial quantiles at 1e-9 a side, so the chance of a false alarm is known.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.defences import RAW, engine, jittered, rounded, unbudgeted
from dpengine.lessons.differencing import MAX_OTHERS, MIN_OTHERS, differencing_attack
from tests.binomial import agrees, within
from tests.lessons.rounding import share_of_steps

ONE = Fraction(1)
GAMES = 4000


def test_one_difference_of_true_counts_reveals_the_person() -> None:
    assert differencing_attack(RAW, 1, GAMES).share == 1


@pytest.mark.by_day(3)
@pytest.mark.parametrize("base", [5, 10, 100])
@pytest.mark.parametrize("pairs", [1, 100, 1000])
def test_enough_differences_of_rounded_counts_reveal_the_person(base: int, pairs: int) -> None:
    missed = (1 - share_of_steps(base, MIN_OTHERS, MAX_OTHERS)) ** pairs
    assert agrees(differencing_attack(rounded(base), pairs, GAMES), 1 - missed / 2)


def test_many_differences_with_fresh_noise_reveal_the_person() -> None:
    # Sums of 2,000 Laplace draws pass 500 with a chance of at most exp(−500λ − 2000·ln(1 − λ²)), 4e-14 at λ = 1/8.
    assert differencing_attack(unbudgeted(ONE), 1000, GAMES).share == 1
    # Draws from −5…5 mislead at most exp(−2·500²/(2000·10²)) < 0.083 of games (Hoeffding); 12 in 100 of them, never.
    assert differencing_attack(jittered(5), 1000, GAMES).share > 0.88


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE, Fraction(3)])
@pytest.mark.parametrize("pairs", [1, 1000])
def test_differences_of_this_engine_reveal_exactly_what_epsilon_allows(epsilon: Fraction, pairs: int) -> None:
    assert agrees(differencing_attack(engine(epsilon), pairs, GAMES), posterior(0.5, epsilon))


def test_half_the_noise_breaks_the_bound() -> None:
    assert within(differencing_attack(engine(ONE), 10, GAMES), posterior(0.5, ONE))
    assert not within(differencing_attack(engine(2 * ONE), 10, GAMES), posterior(0.5, ONE))


def test_an_attack_without_questions_is_refused() -> None:
    with pytest.raises(PlanError, match="at least one pair"):
        differencing_attack(RAW, 0, 5)
