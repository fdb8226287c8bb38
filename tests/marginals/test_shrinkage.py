"""Shrinkage: noisy counts come nearer to the truth where a guess is good, and are left alone where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.marginals.shrinkage import (
    MIN_GUESS,
    POWERS,
    SPREADS,
    density,
    likeliest_spread,
    posterior_median,
    shrink,
    weigh,
)
from dpengine.quasi_random import golden_fractions
from tests.given_noise import laplace

counts = st.lists(st.floats(-50, 50), min_size=1, max_size=30).map(np.array)


@given(noisy=counts, guess=st.floats(0, 40), scale=st.floats(0.5, 20))
def test_shrunk_counts_lie_between_the_noisy_ones_and_the_guess_or_nought(
    noisy: np.ndarray, guess: float, scale: float
) -> None:
    """All of a table towards the same: the guess, or nought if most cells seem to be empty."""
    guesses = np.full(noisy.shape, guess)
    better = shrink(noisy, guesses, scale)
    assert np.isfinite(weigh(noisy, guesses, scale).likelihood)
    assert any(
        (np.abs(better - centre) <= np.abs(noisy - centre) + 1e-9).all()
        and ((better - centre) * (noisy - centre) >= -1e-9).all()
        for centre in (guesses, np.zeros(noisy.shape))
    )


def test_a_good_guess_helps_and_a_bad_one_hurts_little() -> None:
    """400 cells, noise of scale 20, the same in every run: so nothing fails by chance.

    In 900 other draws, errors of the shrunk counts were 0.05 times those of the noisy ones (0.04 to 0.18) by the good
    guess, and 0.50 times (0.44 to 0.58) by the bad one; the likelihoods differed by 45 (19 to 73). A guess without use
    leaves 1, and one that is followed blindly 20.
    """
    truth = 5.0 * (np.arange(400) % 7)
    noisy = truth + laplace(20, 400, np.random.default_rng(1))
    near, far = truth + 1, np.full(400, 500.0)
    raw = np.abs(noisy - truth).mean()
    assert np.abs(shrink(noisy, near, 20.0) - truth).mean() < 0.3 * raw
    assert np.abs(shrink(noisy, far, 20.0) - truth).mean() < 1.3 * raw
    assert weigh(noisy, near, 20.0).likelihood > weigh(noisy, far, 20.0).likelihood, "likelihood ranks guesses"


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
    plain = weigh(noisy, guess, scale)
    better = plain.by_neighbours()
    assert better is plain or better.likelihood > plain.likelihood + 1
    assert np.isfinite(better.shrunk()).all()


@pytest.mark.by_day(12)
@pytest.mark.parametrize("spread", [0.02, 0.5, 3.0, 1000.0])
@pytest.mark.parametrize("scale", [0.3, 3.0, 300.0])
@pytest.mark.parametrize("cells", [40, 400, 4000])
def test_the_likeliest_spread_is_found_without_trying_all(
    cells: int, scale: float, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts with Laplace errors from their guesses; all of the grid is tried beside it."""
    places = 2 * golden_fractions(np.arange(1, 2 * cells + 1)).reshape(2, cells) - 1
    errors, noise = np.sign(places) * -np.log1p(-np.abs(places))
    guess = np.maximum(50 * golden_fractions(np.arange(5, cells + 5)) ** 3, MIN_GUESS)
    distance = np.abs(spread * guess**0.75 * errors + scale * noise)
    grid = [c * guess**power for power in POWERS for c in SPREADS]
    likelihoods = [float(np.log(density(distance, each, scale)).sum()) for each in grid]
    tried: list[np.ndarray] = []

    def counted(distance: np.ndarray, spread: np.ndarray, *others: Any) -> np.ndarray:
        tried.extend(spread)
        return density(distance, spread, *others)

    monkeypatch.setattr("dpengine.marginals.shrinkage.density", counted)
    likelihood, found = likeliest_spread(distance, guess, scale, SPREADS, POWERS)
    assert likelihood == pytest.approx(max(likelihoods))
    assert found == pytest.approx(grid[int(np.argmax(likelihoods))])
    assert len(tried) <= (0.7 if cells > 400 else 1.0) * len(grid)
