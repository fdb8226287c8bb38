"""Shrinkage: noisy counts come nearer to the truth where a guess is good, and are left alone where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.marginals.shrinkage import posterior_median, shrink, shrink_nearby
from dpengine.noise.laplace import discrete_laplace
from dpengine.quasi_random import golden_fractions

counts = st.lists(st.floats(-50, 50), min_size=1, max_size=30).map(np.array)


@given(noisy=counts, guess=st.floats(0, 40), scale=st.floats(0.5, 20))
def test_shrunk_counts_lie_between_the_noisy_ones_and_the_guess_or_nought(
    noisy: np.ndarray, guess: float, scale: float
) -> None:
    """All of a table towards the same: the guess, or nought if most cells seem to be empty."""
    guesses = np.full(noisy.shape, guess)
    better, likelihood = shrink(noisy, guesses, scale)
    assert np.isfinite(likelihood)
    assert any(
        (np.abs(better - centre) <= np.abs(noisy - centre) + 1e-9).all()
        and ((better - centre) * (noisy - centre) >= -1e-9).all()
        for centre in (guesses, np.zeros(noisy.shape))
    )


def test_a_good_guess_helps_and_a_bad_one_hurts_little() -> None:
    """400 cells, noise of scale 20: errors of the shrunk counts against those of the noisy ones (sd of a mean: 3 %)."""
    truth = 5.0 * (np.arange(400) % 7)
    noisy = truth + discrete_laplace(20, 400)
    near, far = truth + 1, np.full(400, 500.0)
    raw = np.abs(noisy - truth).mean()
    assert np.abs(shrink(noisy, near, 20.0)[0] - truth).mean() < 0.3 * raw
    assert np.abs(shrink(noisy, far, 20.0)[0] - truth).mean() < 1.3 * raw
    assert shrink(noisy, near, 20.0)[1] > shrink(noisy, far, 20.0)[1], "likelihood ranks guesses"


def test_the_median_is_that_of_the_posterior() -> None:
    """One cell by itself: the posterior exp(−|t|/s − |r−t|/b), integrated on a grid."""
    grid = np.linspace(-400, 400, 400_001)
    for r, s, b in ((10.0, 5.0, 3.0), (10.0, 3.0, 5.0), (1.0, 4.0, 4.0), (200.0, 8.0, 2.0)):
        weight = np.exp(-np.abs(grid) / s - np.abs(r - grid) / b)
        middle = grid[np.searchsorted(np.cumsum(weight), weight.sum() / 2)]
        median = posterior_median(np.array([r]), np.array([s]), b)[0]
        assert median == pytest.approx(max(middle, 0.0), abs=0.02)


@given(rows=st.integers(1, 8), columns=st.integers(1, 8), scale=st.floats(0.5, 20), seed=st.integers(0, 100))
def test_neighbours_are_used_if_they_make_the_noisy_counts_more_likely(
    rows: int, columns: int, scale: float, seed: int
) -> None:
    noisy, guess = 20 * golden_fractions(np.arange(seed, seed + 2 * rows * columns)).reshape(2, rows, columns)
    (plain, likely), (better, likelier) = shrink(noisy, guess, scale), shrink_nearby(noisy, guess, scale)
    assert (likelier == likely and np.array_equal(better, plain)) or likelier > likely + 1
    assert np.isfinite(better).all()
