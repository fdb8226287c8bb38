"""Reconstruction reveals nearly everybody where errors are small, and stays within ε on this engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted
from dpengine.lessons.reconstruction import (
    METHODS,
    Method,
    least_absolute_error,
    least_squares,
    random_groups,
    reconstruct,
)
from dpengine.lessons.success_rate import Rate
from tests.binomial import within

GAMES = 4000
PEOPLE, QUESTIONS = 40, 160


def guesses_of_one(defence: Defence) -> Rate:
    """Return how often least squares is right on one person, over independent registers and one list of questions."""
    rng = np.random.default_rng()
    groups = random_groups(PEOPLE, QUESTIONS, rng)
    secrets = rng.integers(0, 2, (PEOPLE, GAMES))
    answers = defence.answer(groups @ secrets, int(groups.sum(axis=0).max()), rng)
    guess = np.linalg.pinv(groups.astype(np.float64))[0] @ (answers - groups.sum(axis=1)[:, None] / 2) > 0
    return Rate.of(guess == (secrets[0] == 1))


@pytest.mark.parametrize("method", METHODS.values())
def test_true_answers_reveal_everybody(method: Method) -> None:
    assert reconstruct(RAW, 60, 180, method=method, seed=1).rate.share == 1


@pytest.mark.by_day(2)
@pytest.mark.parametrize("defence", [rounded(5), rounded(10), jittered(5), unbudgeted(Fraction(1))])
def test_small_errors_do_not_hinder_reconstruction_of_five_hundred(defence: Defence) -> None:
    assert reconstruct(defence, 500, 4000, seed=2).rate.share > 0.99


def test_a_linear_program_withstands_a_tenth_of_random_answers_and_least_squares_does_not() -> None:
    rng = np.random.default_rng(3)
    groups, secret = random_groups(60, 600, rng), rng.integers(0, 2, 60)
    answers = (groups @ secret).astype(float)
    answers[:60] = rng.integers(0, 60, 60)
    assert ((least_absolute_error(groups, answers) > 0.5) == secret).all()
    assert ((least_squares(groups, answers) > 0.5) == secret).mean() < 0.95


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_reconstruction_stays_within_epsilon_on_this_engine_and_wins_without_a_budget(epsilon: Fraction) -> None:
    assert within(guesses_of_one(engine(epsilon)), posterior(0.5, epsilon))
    # the same noise for each question, and no budget over all of them
    assert not within(guesses_of_one(unbudgeted(epsilon)), posterior(0.5, epsilon))


def test_few_questions_leave_most_people_undecided() -> None:
    assert within(reconstruct(RAW, 400, 4, seed=4).rate, 0.6)


@pytest.mark.parametrize(("people", "questions"), [(1, 5), (5, 0)])
def test_an_attack_needs_two_people_and_a_question(people: int, questions: int) -> None:
    with pytest.raises(PlanError, match="at least two people"):
        reconstruct(RAW, people, questions)
