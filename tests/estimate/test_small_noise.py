"""Counts of a table that was measured with hardly any noise: exact ones stay."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpengine.estimate.small_noise import keep_exact
from dpengine.marginals.fitting import project, round_to_total
from dpengine.noise.laplace import discrete_laplace


@given(arrays(np.int64, st.tuples(*[st.integers(1, 5)] * 3), elements=st.integers(-3, 4)))
def test_counts_are_not_negative_keep_the_total_and_grow_only_to_nought(noisy: np.ndarray) -> None:
    total = max(0, int(noisy.sum()))
    counts = keep_exact(noisy, total)
    assert counts.min() >= 0
    assert counts.sum() == total
    assert (counts <= np.maximum(noisy, 0)).all()


def test_few_exact_counts_change() -> None:
    """2,000 cells, one in ten with people; noise of scale 1/4 is 0 in 96 of 100 cells."""
    truth = np.where(np.arange(2000) % 10 == 0, np.arange(2000) % 97, 0).reshape(50, 40)
    noisy = truth + discrete_laplace("0.25", truth.size).reshape(truth.shape)
    total = int(noisy.sum())
    projected = round_to_total(project(noisy.astype(float), total), total)
    assert np.abs(keep_exact(noisy, total) - truth).sum() < 0.7 * np.abs(projected - truth).sum()
