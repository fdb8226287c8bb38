"""The size of a random sample with the error of a release, compared with drawn samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.results.sample_share import sample_error, sample_share


@pytest.mark.by_day(2)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_the_error_of_a_sample_is_that_of_samples_that_are_drawn(share: float) -> None:
    """Each mean of 400,000 draws is within 6 standard errors, which fails by chance once in 10⁸ for one of 24."""
    sizes, draws = np.array([1, 2, 7, 30, 500, 20_000]), 400_000
    rng = np.random.default_rng(7)
    for size, expected in zip(sizes, sample_error(sizes, share), strict=True):
        off = np.abs(rng.binomial(size, share, draws) / share - size)
        assert abs(off.mean() - expected) < 6 * off.std() / np.sqrt(draws) + 1e-9


def test_an_empty_cell_is_never_off_and_one_row_by_twice_the_chance_to_miss_it() -> None:
    assert list(sample_error([0, 1], 0.25)) == pytest.approx([0, 2 * 0.75])


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=30), st.floats(0.001, 0.99))
def test_the_share_of_a_sample_is_found_from_its_error(sizes: list[int], share: float) -> None:
    counts = np.array(sizes)
    mean_off = float(sample_error(counts, share).mean())
    estimate = sample_share(counts, mean_off)
    if not counts.any():
        assert estimate == 1
    else:
        assert estimate is not None
        assert float(sample_error(counts, estimate).mean()) == pytest.approx(mean_off, rel=0.01)


def test_an_error_that_no_sample_reaches_is_reported() -> None:
    assert sample_share(np.array([5, 5]), 1000.0) is None
    assert sample_share(np.array([5, 5]), 0.0) == 1
