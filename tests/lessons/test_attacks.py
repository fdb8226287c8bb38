"""Attacks by counting questions: they win where they should, and on this engine they stay within what ε allows.

Every chance of a false alarm is computed: bounds on hits are binomial quantiles at 1e-9 a side.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.averaging import ask_engine, averaging_attack
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted
from dpengine.lessons.differencing import MAX_OTHERS, MIN_OTHERS, differencing_attack
from dpengine.lessons.reconstruction import (
    METHODS,
    least_absolute_error,
    least_squares,
    random_groups,
    reconstruct,
    reconstruct_one,
)
from tests.binomial import agrees, within

ONE = Fraction(1)
GAMES = 4000
EPSILONS = [Fraction(1, 2), ONE, Fraction(3)]


def tells(base: int, low: int, high: int) -> float:
    """The share of numbers from ``low`` to below ``high`` after which rounding to ``base`` steps up."""
    return sum((k + 1 + base // 2) // base > (k + base // 2) // base for k in range(low, high)) / (high - low)


def test_true_counts_lose_to_one_difference() -> None:
    assert differencing_attack(RAW, 1, GAMES).share == 1


@pytest.mark.parametrize("base", [5, 10, 100])
@pytest.mark.parametrize("pairs", [1, 100, 1000])
def test_rounding_loses_to_as_many_differences_as_it_takes(base: int, pairs: int) -> None:
    missed = (1 - tells(base, MIN_OTHERS, MAX_OTHERS)) ** pairs
    assert agrees(differencing_attack(rounded(base), pairs, GAMES), 1 - missed / 2)


def test_noise_that_is_drawn_afresh_loses_to_many_differences() -> None:
    # Sums of 2,000 Laplace draws pass 500 with a chance of at most exp(−500λ − 2000·ln(1 − λ²)), 4e-14 at λ = 1/8.
    assert differencing_attack(unbudgeted(ONE), 1000, GAMES).share == 1
    # Draws from −5…5 mislead at most exp(−2·500²/(2000·10²)) < 0.083 of games (Hoeffding); 12 in 100 of them, never.
    assert differencing_attack(jittered(5), 1000, GAMES).share > 0.88


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("pairs", [1, 1000])
def test_differences_of_this_engine_show_as_much_as_epsilon_allows_and_no_more(epsilon: Fraction, pairs: int) -> None:
    assert agrees(differencing_attack(engine(epsilon), pairs, GAMES), posterior(0.5, epsilon))


@pytest.mark.parametrize(
    "attack", [lambda d: differencing_attack(d, 10, GAMES), lambda d: averaging_attack(d, 10, GAMES).rate]
)
def test_noise_half_as_wide_is_seen_to_break_the_bound(attack: object) -> None:
    assert within(attack(engine(ONE)), posterior(0.5, ONE))  # type: ignore[operator]
    assert not within(attack(engine(2 * ONE)), posterior(0.5, ONE))  # type: ignore[operator]


def test_averages_of_noise_drawn_afresh_tell_a_person() -> None:
    # Mean of 1,000 Laplace draws beyond ½: at most exp(−500λ − 1000·ln(1 − λ²)) < 3e-26 at λ = 0.23.
    many = averaging_attack(unbudgeted(ONE), 1000, GAMES)
    assert many.rate.share == 1
    assert many.mean_error < 0.1 < 0.8 < averaging_attack(unbudgeted(ONE), 1, GAMES).mean_error


@pytest.mark.parametrize("base", [5, 10, 100])
def test_rounded_answers_do_not_average_away(base: int) -> None:
    once, often = (averaging_attack(rounded(base), asks, GAMES, seed=7) for asks in (1, 1000))
    assert once == often
    assert agrees(once.rate, 0.5 + tells(base, 100, 300) / 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("asks", [1, 1000])
def test_asking_this_engine_again_shows_nothing_more(epsilon: Fraction, asks: int) -> None:
    assert agrees(averaging_attack(engine(epsilon), asks, GAMES).rate, posterior(0.5, epsilon))


def test_the_whole_engine_gives_the_stored_answer_and_takes_the_price_once() -> None:
    answers, spent = ask_engine(203, 5, ONE)
    assert len(set(answers)) == 1
    assert spent == 1


@pytest.mark.parametrize("method", METHODS.values())
def test_true_answers_give_everybody_away(method: object) -> None:
    assert reconstruct(RAW, 60, 180, method=method, seed=1).rate.share == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("defence", [rounded(5), rounded(10), jittered(5), unbudgeted(ONE)])
def test_small_errors_do_not_hinder_reconstruction_of_five_hundred(defence: Defence) -> None:
    assert reconstruct(defence, 500, 4000, seed=2).rate.share > 0.99


def test_a_linear_program_sees_through_a_tenth_of_wild_answers_where_least_squares_does_not() -> None:
    rng = np.random.default_rng(3)
    asked, secret = random_groups(60, 600, rng), rng.integers(0, 2, 60)
    answers = (asked @ secret).astype(float)
    answers[:60] = rng.integers(0, 60, 60)
    assert ((least_absolute_error(asked, answers) > 0.5) == secret).all()
    assert ((least_squares(asked, answers) > 0.5) == secret).mean() < 0.95


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_reconstruction_stays_within_epsilon_on_this_engine_and_wins_without_a_budget(epsilon: Fraction) -> None:
    assert within(reconstruct_one(engine(epsilon), 40, 160, GAMES), posterior(0.5, epsilon))
    # the same noise for each question, and no budget over all of them
    assert not within(reconstruct_one(unbudgeted(epsilon), 40, 160, GAMES), posterior(0.5, epsilon))


def test_few_questions_leave_the_others_undecided() -> None:
    assert within(reconstruct(RAW, 400, 4, seed=4).rate, 0.6)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rounded(0),
        lambda: jittered(0),
        lambda: engine(Fraction(0)),
        lambda: unbudgeted(Fraction(-1)),
        lambda: differencing_attack(RAW, 0, 5),
        lambda: averaging_attack(RAW, 5, 0),
        lambda: reconstruct(RAW, 1, 5),
        lambda: reconstruct(RAW, 5, 0),
    ],
)
def test_what_cannot_be_tried_is_refused(wrong: object) -> None:
    with pytest.raises(PlanError):
        wrong()  # type: ignore[operator]
