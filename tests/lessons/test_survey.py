"""Surveys: counts add up, errors are as predicted, and repeated questions wear privacy down."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpengine.errors import TableError
from dpengine.lessons import survey
from dpengine.mechanisms.local.randomized_response import FAIR, KaryResponse

SIGMAS = 6.2  # a normal number lies beyond with a chance below 1e-9


@pytest.mark.parametrize(("answers", "people"), [(2, 1), (5, 100), (7, 10**6), (100, 12_345)])
def test_made_up_counts_add_up(answers: int, people: int) -> None:
    counts = survey.made_up_counts(answers, people)
    assert counts.sum() == people
    assert (np.diff(counts) <= 0).all()
    assert counts.min() >= 0


def test_scaled_counts_keep_their_proportions() -> None:
    assert survey.scaled_counts(np.array([3, 0, 9]), 4).tolist() == [1, 0, 3]
    assert survey.scaled_counts(np.array([1, 1, 1]), 100).sum() == 100
    with pytest.raises(TableError, match="nobody"):
        survey.scaled_counts(np.array([0, 0]), 100)


@pytest.mark.parametrize("method", survey.METHODS)
def test_every_method_finds_the_shares(method: str) -> None:
    counts = survey.made_up_counts(5, 100_000)
    protocol = survey.METHODS[method](5, Fraction(2))
    estimate = survey.ask_people(protocol, counts)
    spread = np.sqrt(protocol.variance(counts / 100_000, 100_000))
    assert np.abs((estimate.shares - counts / 100_000) / spread).max() < SIGMAS


def test_the_error_of_coins_grows_as_the_root_of_people_and_the_curators_is_constant() -> None:
    protocol = KaryResponse.of(8, Fraction(1))
    shares = np.full(8, 1 / 8)
    assert survey.local_error(protocol, shares, 40_000) == pytest.approx(20 * survey.local_error(protocol, shares, 100))
    small, large, larger = survey.errors_by_size(protocol, survey.made_up_counts(8, 8000), [400, 40_000, 10**7])
    assert (larger.local_observed, larger.curator_observed) == (None, None)
    assert small.curator == large.curator == larger.curator
    for each in (small, large):
        assert each.local_observed is not None
        assert each.curator_observed is not None
        assert each.local / 40 < each.local_observed < 4 * each.local  # χ² of 7: beyond with a chance below 1e-9
        assert each.curator_observed < 30 * each.curator


def test_the_curator_hides_which_of_two_answers_was_given() -> None:
    """At scale 2/ε, since one changed answer moves two counts, probabilities change by at most e^ε."""
    variance = 1 / (math.cosh(0.5) - 1)
    assert survey.curator_error(Fraction(1)) == pytest.approx(math.sqrt(variance))
    noise = survey.curator_counts(np.zeros(40_000, dtype=np.int64), Fraction(1))
    kurtosis = 6  # of the discrete Laplace law, about
    assert abs(noise.var() / variance - 1) < SIGMAS * math.sqrt(kurtosis / noise.size)


def test_the_and_of_two_reports_is_nine_times_as_likely_if_both_are_true() -> None:
    laws = survey.pair_distributions(FAIR)
    assert all(sum(law) == 1 for law in laws.values())
    assert [law[3] for law in laws.values()] == [Fraction(k, 16) for k in (1, 3, 3, 9)]
    assert (
        max(here / there for a in laws.values() for b in laws.values() for here, there in zip(a, b, strict=True)) == 9
    )


def test_four_cells_are_estimated_by_coins_and_better_by_the_curator() -> None:
    cells = np.array([[40_000, 10_000], [20_000, 30_000]])
    estimate, published = survey.ask_pairs(FAIR, cells)
    assert np.abs((estimate.shares * 10**5 - cells) / (np.sqrt(estimate.variances) * 10**5)).max() < SIGMAS
    assert np.abs(published - cells).max() < 100, "noise of scale 2/ln 9 beyond it has a chance below 1e-40"


def test_for_two_questions_the_curator_has_the_noise_of_both_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = []

    def no_noise(scale: Fraction, size: tuple[int, ...]) -> np.ndarray:
        scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(survey, "discrete_laplace", no_noise)
    survey.ask_pairs(FAIR, np.array([[1, 1], [1, 1]]))
    assert scales == [1 / FAIR.epsilon], "2/ε for the ε of two reports"


def test_repeated_reports_reveal_the_answer() -> None:
    right = [survey.repeated_guess(FAIR.ratio, days)[0] for days in (1, 2, 3, 30, 365)]
    assert right[0] == right[1] == 0.75, "two reports that differ are no better than one"
    assert right[2] == pytest.approx(0.75**3 + 3 * 0.75**2 * 0.25)
    assert right[3] > 0.99
    assert right[4] > 1 - 1e-9
    for days in (1, 2, 3, 30, 365, 10_000):
        guess, bound = survey.repeated_guess(FAIR.ratio, days)
        assert guess <= bound + 1e-12
        assert bound <= 1
