"""Predicted error is computed, not guessed: against closed forms, exact enumeration, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpengine.estimate.error_distribution import _weighted_sum
from dpengine.estimate.table_errors import table_error
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from tests.plans import letters_plan


@pytest.mark.parametrize("epsilon", ["1/1000", "0.1", "0.5", "1", "3/7", "2", "10"])
def test_one_draw_has_the_closed_forms_of_discrete_laplace_noise(epsilon: str) -> None:
    plan = letters_plan([4], [["a"]], epsilon=epsilon)
    error = table_error(plan, decide(plan).allocations, ("a",))
    oracle = stats.dlaplace(float(plan.epsilon))
    reach = np.arange(int(60 / float(plan.epsilon)) + 2)
    assert error.mean_abs == pytest.approx(2 * (reach * oracle.pmf(reach)).sum(), rel=1e-9)
    for confidence in [0.5, 0.9, 0.95, 0.99, 0.999999]:
        half_width = int(error.half_width(confidence))
        within = oracle.cdf(reach) - oracle.cdf(-reach - 1)
        assert half_width == int(np.argmax(within >= confidence - 1e-12))


def test_half_widths_are_those_worked_out_by_hand() -> None:
    expected = {"0.1": (30, 46), "0.5": (6, 9), "1": (3, 4), "2": (1, 2)}
    for epsilon, (at_95, at_99) in expected.items():
        plan = letters_plan([4], [["a"]], epsilon=epsilon)
        error = table_error(plan, decide(plan).allocations, ("a",))
        assert (error.half_width(), error.half_width(0.99)) == (at_95, at_99)


@pytest.mark.parametrize(("epsilon", "times", "expected"), [("0.5", 2, 8), ("1", 10, 9), ("0.1", 50, 196)])
def test_sums_of_draws_have_exact_half_widths(epsilon: str, times: int, expected: int) -> None:
    assert _weighted_sum(((1.0, times, 1 / Fraction(epsilon)),)).half_width() == expected


@pytest.mark.parametrize("times", [2, 3, 6])
def test_sums_of_draws_are_distributed_as_the_convolution(times: int) -> None:
    pmf = stats.dlaplace(1.0).pmf(np.arange(-60, 61))
    whole = pmf
    for _ in range(times - 1):
        whole = np.convolve(whole, pmf)
    distance = np.abs(np.arange(len(whole)) - len(whole) // 2)
    error = _weighted_sum(((1.0, times, Fraction(1)),))
    assert error.mean_abs == pytest.approx((whole * distance).sum(), rel=1e-9)
    for confidence in [0.5, 0.95, 0.999]:
        within = np.array([whole[distance <= m].sum() for m in range(60)])
        assert error.half_width(confidence) == int(np.argmax(within >= confidence))


@pytest.mark.parametrize(("one", "other"), [(2, 5), (3, 4), (7, 11), (10, 30), (4, 25)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_half_widths_of_draws_of_two_scales_are_never_too_small_and_hardly_too_large(
    one: int, other: int, confidence: float
) -> None:
    """They are computed on a grid finer than the whole numbers."""
    pmfs = [stats.dlaplace(1 / scale).pmf(np.arange(-900, 901)) for scale in (one, other)]
    exact = np.convolve(*pmfs)
    distance = np.abs(np.arange(exact.size) - exact.size // 2)
    within = np.bincount(distance, exact).cumsum()
    half_width = _weighted_sum(((1.0, 1, Fraction(one)), (1.0, 1, Fraction(other)))).half_width(confidence)
    least, deviation = int(np.argmax(within >= confidence)), math.sqrt((exact * distance**2).sum())
    assert least <= half_width <= least + 0.05 * deviation


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_many_draws_beside_a_wider_one_keep_all_of_their_variance(confidence: float) -> None:
    """The many are taken as normal on the grid; here, characteristic functions are multiplied."""
    size = 2**13
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size

    def characteristic(scale: int) -> np.ndarray:
        rest = math.exp(-1 / scale)
        return (1 - rest) ** 2 / (1 - 2 * rest * np.cos(angles) + rest**2)

    exact = np.fft.irfft(characteristic(1) ** 2000 * characteristic(45), n=size)
    distance = np.minimum(np.arange(size), size - np.arange(size))
    within = np.bincount(distance, exact).cumsum()
    least, deviation = int(np.argmax(within >= confidence)), math.sqrt((exact * distance**2).sum())
    half_width = _weighted_sum(((1.0, 2000, Fraction(1)), (1.0, 1, Fraction(45)))).half_width(confidence)
    assert least <= half_width <= least + 0.05 * deviation


@pytest.mark.parametrize("times", [2, 7])
def test_sums_on_a_lattice_too_fine_to_be_listed_are_as_wide_as_their_limit(times: int) -> None:
    """A sum of Laplace draws of scale 1 is the difference of two gamma variables."""
    scale = Fraction(10**6)
    error = _weighted_sum(((1e-6, times, scale),))
    assert len(error.within) < 2**18, "the work does not grow with the scale"
    gamma = stats.gamma(times)
    places = gamma.ppf((np.arange(20_000) + 0.5) / 20_000)
    for confidence in [0.5, 0.95, 0.999]:
        half_width = error.half_width(confidence)
        within = (gamma.cdf(places + half_width) - gamma.cdf(places - half_width)).mean()
        assert confidence <= within < confidence + 0.003 * (1 - confidence) + 0.001


def test_weighted_sums_agree_with_simulation() -> None:
    terms = ((0.7, 1, Fraction(3)), (0.2, 5, Fraction(4)), (0.05, 30, Fraction(3)))
    error = _weighted_sum(terms)
    draws = 200_000
    drawn = sum(w * discrete_laplace(scale, (times, draws)).sum(axis=0) for w, times, scale in terms)
    observed = np.abs(drawn)
    z = (observed.mean() - error.mean_abs) / (observed.std() / math.sqrt(draws))
    assert abs(z) < 6, "false alarm 2e-9"
    for confidence in [0.8, 0.95, 0.99]:
        covered = (observed <= error.half_width(confidence)).mean()
        assert covered > confidence - 6 * math.sqrt(confidence * (1 - confidence) / draws)
        assert covered < confidence + 0.01, "and the interval is not much wider than it must be"


@pytest.mark.parametrize("epsilon", [100, 700, 1000, 10_000])
def test_draws_that_are_never_other_than_0_have_no_width(epsilon: int) -> None:
    """A grid for so small a deviation would overflow."""
    error = _weighted_sum(((0.5, 3, Fraction(1, epsilon)), (0.25, 7, Fraction(2, epsilon))))
    assert error.half_width() == error.half_width(0.999999) == 0
    assert 0 <= error.mean_abs < 1e-6
    beside = _weighted_sum(((0.5, 3, Fraction(1, epsilon)), (0.25, 7, Fraction(1, 5))))
    assert beside.half_width() > 0.2
