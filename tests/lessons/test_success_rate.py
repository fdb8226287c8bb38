"""Success rates with exact intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from dpengine.errors import PlanError
from dpengine.lessons.success_rate import Rate


@given(st.integers(1, 300), st.integers(0, 300), st.sampled_from([0.9, 0.95, 0.999]))
def test_intervals_are_those_of_the_exact_binomial_test(tries: int, successes: int, confidence: float) -> None:
    successes = min(successes, tries)
    known = binomtest(successes, tries).proportion_ci(confidence, "exact")
    assert Rate(successes, tries).interval(confidence) == pytest.approx((known.low, known.high), abs=1e-9)


def test_an_interval_covers_the_true_rate_at_least_as_often_as_it_says() -> None:
    true, tries = 0.13, 40
    covered = [low <= true <= high for low, high in (Rate(k, tries).interval() for k in range(tries + 1))]
    chances = [np.exp(_log_binomial(k, tries, true)) for k in range(tries + 1)]
    assert np.dot(covered, chances) >= 0.95


def _log_binomial(k: int, n: int, p: float) -> float:
    return float(np.log(np.arange(1, n + 1)).sum() - np.log(np.arange(1, k + 1)).sum()
                 - np.log(np.arange(1, n - k + 1)).sum() + k * np.log(p) + (n - k) * np.log1p(-p))  # fmt: skip


@pytest.mark.parametrize(("successes", "tries"), [(0, 0), (3, 2), (-1, 5)])
def test_impossible_numbers_of_successes_are_refused(successes: int, tries: int) -> None:
    with pytest.raises(PlanError, match="at least one try"):
        Rate(successes, tries)
