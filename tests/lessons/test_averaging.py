"""Averaging defeats fresh noise, and gains nothing against rounding or a stored answer."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.averaging import MAX_OTHERS, MIN_OTHERS, ask_engine, averaging_attack
from dpengine.lessons.defences import RAW, engine, rounded, unbudgeted
from tests.binomial import agrees, within
from tests.lessons.rounding import share_of_steps

ONE = Fraction(1)
GAMES = 4000


def test_averages_of_fresh_noise_reveal_the_person() -> None:
    # Mean of 1,000 Laplace draws beyond ½: at most exp(−500λ − 1000·ln(1 − λ²)) < 3e-26 at λ = 0.23.
    assert averaging_attack(unbudgeted(ONE), 1000, GAMES).share == 1


@pytest.mark.parametrize("base", [5, 10, 100])
def test_rounded_answers_do_not_average_away(base: int) -> None:
    once, often = (averaging_attack(rounded(base), asks, GAMES, seed=7) for asks in (1, 1000))
    assert once == often
    assert agrees(once, 0.5 + share_of_steps(base, MIN_OTHERS, MAX_OTHERS) / 2)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE, Fraction(3)])
@pytest.mark.parametrize("asks", [1, 1000])
def test_asking_this_engine_again_reveals_nothing_more(epsilon: Fraction, asks: int) -> None:
    assert agrees(averaging_attack(engine(epsilon), asks, GAMES), posterior(0.5, epsilon))


def test_half_the_noise_breaks_the_bound() -> None:
    assert within(averaging_attack(engine(ONE), 10, GAMES), posterior(0.5, ONE))
    assert not within(averaging_attack(engine(2 * ONE), 10, GAMES), posterior(0.5, ONE))


def test_the_whole_engine_gives_the_stored_answer_and_charges_once() -> None:
    answers, spent = ask_engine(203, 5, ONE)
    assert len(set(answers)) == 1
    assert spent == 1


def test_an_attack_without_games_is_refused() -> None:
    with pytest.raises(PlanError, match="at least one ask"):
        averaging_attack(RAW, 5, 0)
