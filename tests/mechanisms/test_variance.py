"""The variance from three sums: exact weights, and tails and intervals compared with the noise distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from dpengine.mechanisms.variance import (
    MEAN_CONFIDENCE,
    VARIANCE_CONFIDENCE,
    beyond_noise,
    three_sums,
    variance_interval,
)
from dpengine.noise.laplace import discrete_laplace

ALPHA = 2e-9  # false alarms: one assertion about draws for each of six groups


def sums_of(places: list[int], steps: int) -> tuple[int, int, int]:
    return three_sums(len(places), sum(places), sum(place**2 for place in places), steps)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_row_moves_the_three_sums_by_its_units_exactly_and_they_give_count_mean_and_variance(steps: int) -> None:
    """Over all tables of up to three rows on a small grid, and every row that may be added."""
    for size in range(4):
        for table in combinations_with_replacement(range(steps + 1), size):
            here = sums_of(list(table), steps)
            for row in range(steps + 1):
                moved = [b - a for a, b in zip(here, sums_of([*table, row], steps), strict=True)]
                assert min(moved) >= 0
                assert sum(map(abs, moved)) == steps**2, "in L1, whatever the value"
            if table:
                units = sum(here)
                mean, squares = Fraction(here[1] + 2 * here[2], 2 * units), Fraction(here[2], units)
                parts = [Fraction(place, steps) for place in table]
                assert (units, mean) == (size * steps**2, sum(parts) / size)
                assert squares - mean**2 == sum((part - mean) ** 2 for part in parts) / size


@pytest.mark.parametrize("shares", [(1.0, 0.0, 0.0), (0.25, -0.25, 0.25), (0.09, -0.21, 0.49), (0.3, 0.3, 0.1)])
@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_noise_alone_counts_as_beyond_noise_in_no_more_draws_than_stated(
    shares: tuple[float, ...], scale: float
) -> None:
    """By the exact distribution of three discrete Laplace draws; and the bound is not far above what is needed."""
    a, most = math.exp(-1 / scale), int(9 * scale) + 9
    values = np.arange(-most, most + 1)
    chance = (1 - a) / (1 + a) * a ** np.abs(values)
    off = np.abs(sum(share * each for share, each in zip(shares, np.ix_(values, values, values), strict=True))).ravel()
    chances = math.prod(np.ix_(chance, chance, chance)).ravel()
    tried = np.linspace(0, 9 * scale * max(map(abs, shares)) + 1, 400)
    outside = beyond_noise(np.tile(shares, (400, 1)), tried, scale, 0.95)
    assert not outside[0]
    assert (np.diff(outside.astype(int)) >= 0).all(), "and so is whatever is farther off"
    least = tried[outside.argmax()]
    assert chances[off > least].sum() <= 0.05
    assert chances[off > least - 2 * sum(map(abs, shares)) - 0.1 * scale].sum() > 0.05


def test_the_mean_and_the_variance_are_in_their_sets_together_as_often_as_is_stated_of_the_interval() -> None:
    """The interval fails at most where one of the two does, and is stated to hold in 95 of 100 cases."""
    assert (1 - MEAN_CONFIDENCE) + (1 - VARIANCE_CONFIDENCE) <= 0.05 + 1e-12


@pytest.mark.parametrize(
    ("steps", "values", "epsilon"),
    [
        (10, list(range(11)) * 30, "1"),  # even
        (2, [0] * 450 + [2] * 50, "0.5"),  # two points
        (20, [0] * 27 + [20] * 3, "1"),  # few rows, skewed
        (100, [10] * 2000, "1"),  # no variance at all, and so at a bound
        (50, [0] * 400, "0.1"),  # and the mean at a bound as well
        (1, [0, 1] * 200, "0.3"),  # as much variance as there can be
    ],
)
@pytest.mark.by_day(2)
def test_the_interval_holds_the_variance_in_95_of_100_draws(steps: int, values: list[int], epsilon: str) -> None:
    runs, scale = 60, Fraction(steps**2) / Fraction(epsilon)
    exact = sums_of(values, steps)
    truth, hits = float(np.var(np.array(values) / steps)), 0
    for noise in discrete_laplace(scale, (runs, 3)).tolist():
        estimate, low, high = variance_interval([a + b for a, b in zip(exact, noise, strict=True)], scale)
        assert 0 <= low <= estimate <= high <= 0.25
        hits += low - 1e-9 <= truth <= high + 1e-9
    assert stats.binom.cdf(hits, runs, 0.95) > ALPHA


def test_few_rows_give_all_that_a_variance_can_be_and_many_a_narrow_interval() -> None:
    for drawn in product((-20, 5), repeat=3):
        assert variance_interval(drawn, Fraction(10))[1:] == (0.0, 0.25)
    estimate, low, high = variance_interval([250_000, 0, 750_000], Fraction(10))
    assert estimate == 0.1875
    assert 0.1874 < low < 0.1875 < high < 0.1876
