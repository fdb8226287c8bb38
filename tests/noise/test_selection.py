"""Private selection: probabilities are those of the definitions, and move by no more than e^ε between neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from dpengine.noise import selection
from dpengine.noise.exact_exp import exp_bounds
from dpengine.noise.selection import (
    _below_exp,
    exp_coins,
    exponential_mechanism,
    exponential_probabilities,
    permute_and_flip,
    permute_and_flip_probabilities,
    uniform_below,
)

ALPHA = 1e-9  # false alarms of each test of a distribution
PMFS = {permute_and_flip: permute_and_flip_probabilities, exponential_mechanism: exponential_probabilities}


def walked(scores: Sequence[int], epsilon: float) -> list[float]:
    """Probability of each candidate of permute-and-flip, by walking through every order of them."""
    top, probabilities = max(scores), [0.0] * len(scores)
    heads = [math.exp(epsilon * (score - top) / 2) for score in scores]
    for order in permutations(range(len(scores))):
        still = 1.0 / math.factorial(len(scores))
        for k in order:
            probabilities[k] += still * heads[k]
            still *= 1 - heads[k]
    return probabilities


@pytest.mark.parametrize("scores", [[3, 1, 0, 0], [10, 9, 7, 3, 0, 0], [4, 4, 4, 4], [0], [10**6, 0, 10**6 - 1]])
@pytest.mark.parametrize("epsilon", ["1", "1/100", "20"])
def test_probabilities_are_those_of_the_definition(scores: list[int], epsilon: str) -> None:
    each, whole = Fraction(epsilon), np.array(scores)
    weights = [math.exp(each * (score - max(scores)) / 2) for score in scores]
    assert permute_and_flip_probabilities(whole, each) == pytest.approx(walked(scores, float(each)), abs=1e-14)
    assert exponential_probabilities(whole, each) == pytest.approx(np.array(weights) / sum(weights), abs=1e-14)


@pytest.mark.parametrize("count", [1000, 5000])
def test_probabilities_hold_for_thousands_of_candidates(count: int) -> None:
    for scores in (np.arange(count), np.zeros(count, dtype=int), np.repeat([0, 10, 20], [count, 10, 1])):
        for pmf in PMFS.values():
            probabilities = pmf(scores, Fraction(1, 2))
            assert probabilities.sum() == pytest.approx(1, abs=1e-12)
            assert (np.diff(probabilities) * np.sign(np.diff(scores)) >= 0).all()
    assert permute_and_flip_probabilities(np.zeros(count, dtype=int), Fraction(1)) == pytest.approx(1 / count)


def test_permute_and_flip_is_never_worse() -> None:
    scores = np.array([10, 9, 7, 3, 0, 0])
    lost = {pmf: 10 - float(pmf(scores, Fraction(1)) @ scores) for pmf in PMFS.values()}
    assert lost == {permute_and_flip_probabilities: pytest.approx(0.669, abs=5e-4),
                    exponential_probabilities: pytest.approx(0.866, abs=5e-4)}  # fmt: skip
    for ordered in product(range(4), repeat=4):
        flipped, drawn = (pmf(np.array(ordered), Fraction(1)) @ np.array(ordered) for pmf in PMFS.values())
        assert flipped >= drawn - 1e-12


@pytest.mark.parametrize("draw", PMFS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity", "monotone"),
    [([3, 1, 0, 0], "1", 1, False), ([10, 9, 7, 3], "1/2", 1, True), ([512, 256, 0], "2", 256, False)],
)
@pytest.mark.by_day(2)
def test_candidates_come_as_often_as_the_definition_says(
    draw: selection.Draw, scores: list[int], epsilon: str, sensitivity: int, monotone: bool
) -> None:
    draws, whole, each = 20_000, np.array(scores), Fraction(epsilon)
    wanted = PMFS[draw](whole, each, sensitivity, monotone=monotone) * draws
    seen = np.zeros(len(scores))
    for _ in range(draws):
        seen[draw(whole, each, sensitivity, monotone=monotone)] += 1
    assert stats.chisquare(seen, wanted).pvalue > ALPHA
    wrong = PMFS[draw](whole, each * Fraction(13, 10), sensitivity, monotone=monotone) * draws
    if epsilon == "1":
        assert stats.chisquare(seen, wrong).pvalue < ALPHA, "negative control: another ε is rejected"


@pytest.mark.by_day(2)
@pytest.mark.parametrize("draw", PMFS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("monotone", [False, True])
def test_no_neighbours_differ_by_more_than_epsilon(draw: selection.Draw, monotone: bool) -> None:
    """Over all score vectors of three candidates with values 0 to 3, and all neighbours one step away in any score."""
    pmf, epsilon, furthest = PMFS[draw], Fraction(1), 0.0
    for scores in product(range(4), repeat=3):
        here = pmf(np.array(scores), epsilon, monotone=monotone)
        for step in product((0, 1) if monotone else (-1, 0, 1), repeat=3):
            there = pmf(np.add(scores, step), epsilon, monotone=monotone)
            furthest = max(furthest, float(np.abs(np.log(here / there)).max()))
    assert 0.8 < furthest <= 1 + 1e-12


@pytest.mark.parametrize("draw", PMFS, ids=lambda draw: draw.__name__)
def test_scores_that_move_both_ways_are_not_monotone(draw: selection.Draw) -> None:
    """Negative control: without the 2, neighbours whose scores move apart differ by more than ε."""
    here, there = (PMFS[draw](np.array(s), Fraction(1), monotone=True) for s in ([0, 3, 3], [1, 2, 2]))
    assert float(np.abs(np.log(here / there)).max()) > 1.2


def test_uniform_draws_are_even_also_where_words_do_not_divide() -> None:
    assert stats.chisquare(np.bincount(uniform_below(7, 70_000), minlength=7)).pvalue > ALPHA
    assert (uniform_below(1, 5) == 0).all()
    bound = 3 * 2**61  # a quarter of the words are past the last whole run: left in, they would favour small values
    assert stats.binomtest(int((uniform_below(bound, 40_000) < bound // 2).sum()), 40_000).pvalue > ALPHA


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 2**32 + 1, 2**63, 3 * 2**61])
def test_every_word_of_a_whole_run_counts_and_no_word_past_it(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    """One word more or less would favour a number by 2^-64: too little to be seen in draws, and no longer exact."""
    last = 2**64 // bound * bound - 1
    drawn = iter([last, *([last + 1] if last + 1 < 2**64 else []), 0])
    monkeypatch.setattr(selection, "random_words", lambda size: np.array([next(drawn) for _ in range(size)], np.uint64))
    assert uniform_below(bound, 1).tolist() == [bound - 1]
    assert uniform_below(bound, 1).tolist() == [0], "the first word past the last whole run is drawn again"
    assert next(drawn, None) is None


def test_a_coin_that_a_word_cannot_decide_is_decided_by_more_bits() -> None:
    x = Fraction(1, 3)
    edge = int(math.exp(-1 / 3) * 2**64)
    assert _below_exp(edge - 2**20, x)
    assert not _below_exp(edge + 2**20, x)
    assert not _below_exp(1, Fraction(100)), "exp(−100) lies below 2^−64, whatever follows a first word of 1"
    assert exp_coins(np.array([0, 0]), Fraction(1)).all(), "the best always lands heads"


def test_the_best_lands_heads_whatever_word_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the best would be drawn a little too seldom, and nobody at all where no other lands heads."""
    monkeypatch.setattr(selection, "random_words", lambda size: np.full(size, 2**64 - 1, np.uint64))
    assert exp_coins(np.array([0, 0, 1]), Fraction(1)).tolist() == [True, True, False]


@pytest.mark.parametrize(("gap", "unit"), [(1, Fraction(1)), (3, Fraction(2, 7)), (40, Fraction(1, 2))])
def test_a_coin_falls_by_every_bit_of_its_words(monkeypatch: pytest.MonkeyPatch, gap: int, unit: Fraction) -> None:
    """Words just below and above exp(−x) decide; if the first word is a tie, so do the bits that follow."""
    edge, rest = divmod(exp_bounds(gap * unit, 128)[0], 2**64)
    near = np.array([*range(-9, 0), *range(1, 10), -5000, 5000])
    monkeypatch.setattr(selection, "random_words", lambda size: np.array([edge + int(k) for k in near], np.uint64))
    assert exp_coins(np.full(near.size, gap), unit).tolist() == (near < 0).tolist()
    monkeypatch.setattr(selection, "random_words", lambda size: np.array([edge], np.uint64))
    for off in (-(2**40), 2**40):
        monkeypatch.setattr(selection.secrets, "randbits", lambda bits, off=off: (rest + off) >> (64 - bits))
        assert exp_coins(np.array([gap]), unit).tolist() == [off < 0]


@pytest.mark.parametrize("draw", PMFS, ids=lambda draw: draw.__name__)
def test_whole_numbers_beyond_64_bits_are_compared_as_they_are(draw: selection.Draw) -> None:
    """Gaps and sensitivity are both 10¹² times as large: the distribution and the draws are the same."""
    small, times = np.array([10, 9, 7, 0]), 10**30
    large = np.array([int(score) * times for score in small], dtype=object)
    assert PMFS[draw](large, Fraction(1), times) == pytest.approx(PMFS[draw](small, Fraction(1)), abs=1e-15)
    little = Fraction(1, 10**400)  # no float is so small: an ε that was made one would be 0
    assert PMFS[draw](large * 10**370, little) == pytest.approx(PMFS[draw](small, Fraction(1)), abs=1e-15)
    assert draw(large * 10**6, Fraction(1), times) == 0
    assert not exp_coins(np.array([10**400], dtype=object), Fraction(1, 10**9)).any()


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        permute_and_flip(np.array([0, 0.5], dtype=object), Fraction(1))
    with pytest.raises(ValueError, match="candidate"):
        permute_and_flip(np.array([], dtype=np.int64), Fraction(1))
    with pytest.raises(ValueError, match="above 0"):
        permute_and_flip(np.array([1]), Fraction(0))
    with pytest.raises(ValueError, match="whole numbers"):
        exponential_mechanism(np.array([0.5, 1.0]), Fraction(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too far apart"):
        exponential_mechanism(np.array([-(2**63), 2**63 - 1]), Fraction(1))
