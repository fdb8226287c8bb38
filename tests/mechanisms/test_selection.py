"""Permute-and-flip: its probabilities are those of its definition, and move by no more than e^ε between neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from dpengine.mechanisms.selection import _coins, _settle, permute_and_flip

ALPHA = 1e-9  # false alarms: three tests of a distribution


def chances(scores: Sequence[int], epsilon: float, sensitivity: int = 1) -> list[float]:
    """Probability of each candidate, by walking through every order of them."""
    top, found = max(scores), [0.0] * len(scores)
    heads = [math.exp(epsilon * (score - top) / (2 * sensitivity)) for score in scores]
    for order in permutations(range(len(scores))):
        still = 1.0 / math.factorial(len(scores))
        for k in order:
            found[k] += still * heads[k]
            still *= 1 - heads[k]
    return found


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity"), [([3, 1, 0, 0], "1", 1), ([10, 9, 7, 3], "1/2", 1), ([512, 256, 0], "2", 256)]
)
def test_candidates_come_as_often_as_the_definition_says(scores: list[int], epsilon: str, sensitivity: int) -> None:
    draws = 20_000
    wanted = np.array(chances(scores, float(Fraction(epsilon)), sensitivity)) * draws
    seen = np.zeros(len(scores))
    for _ in range(draws):
        seen[permute_and_flip(np.array(scores), Fraction(epsilon), sensitivity)] += 1
    assert stats.chisquare(seen, wanted).pvalue > ALPHA
    if epsilon == "1":
        wrong = np.array(chances(scores, 1.3)) * draws
        assert stats.chisquare(seen, wrong).pvalue < ALPHA, "negative control: another ε is told apart"


def test_no_neighbours_differ_by_more_than_epsilon() -> None:
    """Over all score vectors of three candidates with values 0 to 3, and all neighbours one step away in any score."""
    epsilon, furthest = 1.0, 0.0
    for scores in product(range(4), repeat=3):
        here = chances(scores, epsilon)
        for step in product((-1, 0, 1), repeat=3):
            there = chances([a + b for a, b in zip(scores, step, strict=True)], epsilon)
            furthest = max(furthest, *(abs(math.log(a / b)) for a, b in zip(here, there, strict=True)))
    assert 0.8 * epsilon < furthest <= epsilon + 1e-12


def test_a_coin_that_a_word_cannot_decide_is_decided_by_more_bits() -> None:
    x = Fraction(1, 3)
    edge = int(math.exp(-1 / 3) * 2**64)
    assert _settle(edge - 2**20, x)
    assert not _settle(edge + 2**20, x)
    assert not _settle(1, Fraction(100)), "exp(−100) lies below 2^−64, whatever follows a first word of 1"
    assert _coins(np.array([0, 0]), Fraction(1)).all(), "the best always lands heads"


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="candidate"):
        permute_and_flip(np.array([], dtype=np.int64), Fraction(1))
    with pytest.raises(ValueError, match="above 0"):
        permute_and_flip(np.array([1]), Fraction(0))
