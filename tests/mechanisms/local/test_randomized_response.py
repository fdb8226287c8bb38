"""Randomized response: its exact cost, and the four cells of two questions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dpengine.mechanisms.local.coins import composed
from dpengine.mechanisms.local.frequency_oracles import UnaryEncoding
from dpengine.mechanisms.local.randomized_response import FAIR, KaryResponse, RandomizedResponse, pair_table
from tests.mechanisms.local.distributions import distribution_of

SIGMAS = 6.2  # a normal number lies beyond with probability 1e-9


def test_k_ary_response_beats_unary_encoding_only_for_few_answers() -> None:
    epsilon = Fraction(1)
    for answers in (2, 10, 11, 100):
        direct, unary = (each.of(answers, epsilon).variance([0.0], 1)[0] for each in (KaryResponse, UnaryEncoding))
        assert (direct < unary) == (answers < 3 * math.e + 2)


def test_one_answer_by_fair_coins_costs_ln_3_and_two_answers_cost_ln_9() -> None:
    assert FAIR.ratio == 3
    assert float(FAIR.epsilon) == pytest.approx(math.log(3), abs=1e-12)
    assert FAIR.epsilon >= Fraction(math.log(3))
    both = {
        (a, b): {
            (y, z): distribution_of(FAIR, a)[y] * distribution_of(FAIR, b)[z] for y, z in product((0, 1), repeat=2)
        }
        for a, b in product((0, 1), repeat=2)
    }
    assert (both[1, 1][1, 1], both[0, 0][1, 1]) == (Fraction(9, 16), Fraction(1, 16))
    assert max(here[y] / there[y] for here, there in permutations(both.values(), 2) for y in here) == FAIR.ratio**2
    assert float(composed(FAIR.ratio, 2)) == pytest.approx(math.log(9), abs=1e-12)


@pytest.mark.parametrize("times", [1, 2, 7, 64, 65, 1000])
def test_repeated_reports_compose(times: int) -> None:
    assert 0 <= float(composed(Fraction(3), times)) - times * math.log(3) < times * 2e-12


def test_the_four_cells_of_two_questions_are_unbiased_and_have_the_stated_variance() -> None:
    runs, people = 800, 400
    cells = np.array([[0.4, 0.1], [0.2, 0.3]])
    first = np.repeat([0, 0, 1, 1], np.rint(cells.ravel() * people).astype(int))
    second = np.repeat([0, 1, 0, 1], np.rint(cells.ravel() * people).astype(int))
    estimates = [pair_table(FAIR, FAIR.randomise(first), FAIR.randomise(second)) for _ in range(runs)]
    shares = np.array([each.shares for each in estimates])
    variances = np.mean([each.variances for each in estimates], axis=0)
    assert shares.sum(axis=(1, 2)) == pytest.approx(1)
    assert np.abs(shares.mean(axis=0) - cells).max() < SIGMAS * math.sqrt(variances.max() / runs)
    assert np.abs(shares.mean(axis=0) - cells.T).max() > SIGMAS * math.sqrt(variances.max() / runs), "negative control"
    ratios = shares.var(axis=0) / variances
    assert np.abs(ratios - 1).max() < SIGMAS * math.sqrt(2.4 / runs) + 0.02
    assert np.abs(ratios / 2 - 1).min() > SIGMAS * math.sqrt(2.4 / runs) / 2, "negative control: twice the variance"


def test_reports_that_are_nearly_always_true_leave_hardly_any_variance() -> None:
    """The people are given, so what varies is their coins alone."""
    nearly = RandomizedResponse(Fraction(1, 10**6))
    estimate = pair_table(nearly, [0, 1] * 50, [1] * 100)
    assert estimate.shares == pytest.approx(np.array([[0, 0.5], [0, 0.5]]), abs=1e-5)
    assert 0 <= estimate.variances.min() <= estimate.variances.max() < 1e-7
