"""Single queries: sensitivities by enumeration, errors and intervals against the distributions of the noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpengine.mechanisms.scalar_queries import (
    add_noise,
    quantile_scores,
    ratio_half_width,
    ratio_interval,
    selection_error,
)
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.selection import permute_and_flip_probabilities

ALPHA = 2e-9  # false alarms: five assertions about draws


def distance_in_ranks(values: list[int], point: int, level: Fraction) -> Fraction:
    """Return how far n·level lies from the ranks of the values at a point, by looking at every value."""
    below, upto = sum(value < point for value in values), sum(value <= point for value in values)
    wanted = level * len(values)
    return max(Fraction(0), below - wanted, wanted - upto)


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 3)])
def test_quantile_scores_are_distances_in_ranks_and_one_row_moves_them_by_the_sensitivity(level: Fraction) -> None:
    """Over all tables of up to four rows with four different values, and every row that may be added."""
    delta, furthest = max(level.numerator, level.denominator - level.numerator), 0
    for counts in product(range(3), repeat=4):
        values = [point for point, times in enumerate(counts) for _ in range(times)]
        scores = quantile_scores(np.array(counts), level)
        assert [-score for score in scores.tolist()] == [
            level.denominator * distance_in_ranks(values, point, level) for point in range(4)
        ]
        for row in range(4):
            more = np.array(counts) + (np.arange(4) == row)
            furthest = max(furthest, int(np.abs(quantile_scores(more, level) - scores).max()))
    assert furthest == delta, "the bound is reached and never exceeded"


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(3, 4)])
def test_a_quantile_is_private_by_its_exact_probabilities(level: Fraction) -> None:
    epsilon, delta, furthest = Fraction(1), max(level.numerator, level.denominator - level.numerator), 0.0
    for counts in product(range(3), repeat=3):
        here = permute_and_flip_probabilities(quantile_scores(np.array(counts), level), epsilon, delta)
        for row in range(3):
            more = np.array(counts) + (np.arange(3) == row)
            there = permute_and_flip_probabilities(quantile_scores(more, level), epsilon, delta)
            furthest = max(furthest, float(np.abs(np.log(here / there)).max()))
    assert 0.4 < furthest <= 1 + 1e-9


def test_too_many_rows_for_the_digits_of_a_level_are_refused() -> None:
    with pytest.raises(ValueError, match="too many rows"):
        quantile_scores(np.array([2**50, 2**50]), Fraction(1, 10**6))


@pytest.mark.parametrize(("candidates", "unit"), [(2, "1/2"), (50, "1/4"), (1000, "1/3"), (50, "30")])
def test_a_selection_is_within_its_error_with_the_stated_probability(candidates: int, unit: str) -> None:
    """By exact probabilities, on many different scores; and the bound is not far above what is needed."""
    step = Fraction(unit)
    error = selection_error(candidates, step)
    for gap in range(1, error + 40):
        scores = np.array([0] + [-gap] * (candidates - 1))
        beyond = permute_and_flip_probabilities(scores, 2 * step)[scores < -error].sum()
        assert beyond <= 0.05
    needed = next(
        gap
        for gap in range(error + 2)
        if permute_and_flip_probabilities(np.array([0] + [-gap - 1] * (candidates - 1)), 2 * step)[0] >= 0.95
    )
    assert needed <= error <= needed + math.ceil(1.2 / float(step))


def exact_beyond(part: float, scale: float, t: float) -> float:
    """P(|(1 − part)·Z₁ − part·Z₂| > t), summed over all pairs that matter."""
    a, most = math.exp(-1 / scale), int(40 * scale) + 40
    values = np.arange(-most, most + 1)
    chance = (1 - a) / (1 + a) * a ** np.abs(values)
    off = np.abs((1 - part) * values[:, None] - part * values) > t
    return float((chance[:, None] * chance * off).sum())


@pytest.mark.parametrize("part", [0.0, 0.03, 0.3, 0.49999, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.0])
def test_the_noise_of_a_ratio_stays_within_its_half_width(part: float, scale: float) -> None:
    half = ratio_half_width(part, scale)
    assert exact_beyond(part, scale, half) <= 0.05
    if half > 3:
        assert exact_beyond(part, scale, half - 2) > 0.05, "too wide by no more than two"


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("first", "second"), [(300, 700), (0, 1000), (500, 500), (20, 20), (1, 1), (0, 0), (5000, 3)])
def test_the_interval_of_a_ratio_holds_it_in_95_of_100_draws(first: int, second: int) -> None:
    runs, scale = 1500, Fraction(10)
    truth = first / (first + second) if first + second else 0.5
    hits = 0
    for noise in discrete_laplace(scale, (runs, 2)).tolist():
        estimate, low, high = ratio_interval(first + noise[0], second + noise[1], scale)
        assert 0 <= low <= high <= 1
        assert low <= estimate <= high
        hits += low <= truth <= high
    assert stats.binom.cdf(hits, runs, 0.95) > ALPHA


def test_few_rows_give_the_whole_interval_and_many_a_narrow_one() -> None:
    assert ratio_interval(1, 1, Fraction(10))[1:] == (0.0, 1.0)
    assert ratio_interval(-5, 2, Fraction(10))[1:] == (0.0, 1.0)
    _, low, high = ratio_interval(300_000, 700_000, Fraction(10))
    assert 0.2999 < low < 0.3 < high < 0.3001


@pytest.mark.parametrize(("first", "second"), [(-200, 700), (-60, 560)])
def test_an_interval_that_noise_pushed_beyond_the_end_keeps_a_width(first: int, second: int) -> None:
    """Where no share fits what was drawn, one near the end is still far likelier than that none are there."""
    scale = Fraction(10)
    margin = ratio_half_width(0.0, float(scale)) / (first + second)
    assert ratio_interval(first, second, scale)[:2] == (0.0, 0.0)
    assert ratio_interval(first, second, scale)[2] == pytest.approx(margin)
    assert ratio_interval(second, first, scale)[1:] == (pytest.approx(1 - margin), 1.0)


def test_noise_is_added_to_whole_numbers_of_any_size() -> None:
    large = 2**70
    draws = [add_noise([large, -large], Fraction(5)) for _ in range(4000)]
    off = np.array([[a - large, b + large] for a, b in draws], dtype=float)
    sd = 1 / (math.sqrt(2) * math.sinh(1 / 10))  # of discrete Laplace noise
    z = off.mean(axis=0) / (sd / math.sqrt(len(draws)))
    assert (np.abs(z) < stats.norm.isf(ALPHA / 2)).all(), "unbiased"
    assert np.allclose(off.std(axis=0), sd, rtol=0.2), "of the variance of that noise (20 % is 8 standard errors)"


@pytest.mark.parametrize("values", [[2**63 + 1, -1], [2**64 - 1, 5], [-(2**63) - 1, 2**70 + 1]])
def test_noise_is_added_to_numbers_of_any_size_exactly(values: list[int]) -> None:
    """At a scale of 1/1000, noise other than 0 has a probability of e^−1000. NumPy takes such numbers as floats."""
    noisy = add_noise(values, Fraction(1, 1000))
    assert noisy == values
    assert all(isinstance(each, int) for each in noisy)
