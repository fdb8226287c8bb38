"""Columns under wide noise: exact posteriors, and what columns say of each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpengine.marginals import dirichlet
from dpengine.marginals.dirichlet import CONCENTRATIONS, Posterior, pool_prior, posterior


@pytest.mark.parametrize("noisy", [[70.0, 20.0, -10.0], [30.0, -45.0, 160.0, 12.0]])
def test_the_posterior_is_that_of_all_counts(noisy: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve steps, so that all counts with the given total can be weighed one by one."""
    monkeypatch.setattr(dirichlet, "MIN_STEPS", 12)
    total, scale, cells = 120.0, 25.0, len(noisy)
    found = posterior(np.array(noisy), scale, total)
    bounds = np.array([0.0, *(np.arange(12) + 0.5), 12.0])
    for place, concentration in enumerate(CONCENTRATIONS):
        prior = np.diff(bounds**concentration)
        counts = [each for each in product(range(13), repeat=cells) if sum(each) == 12]
        before = np.array([prior[list(each)].prod() for each in counts])
        seen = np.exp(-np.abs(np.array(noisy) - 10.0 * np.array(counts)).sum(axis=1) / scale) / (2 * scale) ** cells
        both = before * seen
        assert found.log_likelihoods[place] == pytest.approx(np.log(both.sum() / before.sum()))
        assert found.means[place] == pytest.approx(both @ (10.0 * np.array(counts)) / both.sum())


def test_means_add_up_to_the_total_however_wide_the_noise() -> None:
    for cells, scale in product((2, 30, 128), (10.0, 1e4, 1e9)):
        noisy = np.linspace(-2 * scale, 3 * scale, cells)
        found = posterior(noisy, scale, 1000.0)
        assert np.isfinite(found.log_likelihoods).all()
        assert (found.means >= 0).all()
        assert found.means.sum(axis=1) == pytest.approx(np.full(len(CONCENTRATIONS), 1000.0))


def test_a_low_concentration_puts_people_into_one_cell_and_a_high_one_spreads_them() -> None:
    means = posterior(np.array([900.0, 300.0, 100.0, -200.0]), 400.0, 1000.0).means
    assert (np.diff(means[:, 0]) < 0).all()
    assert means[0, 0] > 800
    assert means[-1] == pytest.approx(np.full(4, 250.0), abs=80)


def test_columns_that_clearly_have_one_concentration_say_what_the_others_are_like() -> None:
    clear = Posterior(np.array([0.0, -60, -60, -60, -60]), np.zeros((5, 1)))
    says_nothing = Posterior(np.zeros(5), np.zeros((5, 1)))
    common = np.exp(pool_prior([clear, clear, clear, says_nothing]))
    assert common.sum() == pytest.approx(1)
    assert common[0] == pytest.approx(0.8, abs=0.001)  # where common[0] = (3 + common[0] + 1/5) / (4 + 1)
    assert common[1:] == pytest.approx(np.full(4, 0.05), abs=0.001)
    assert np.exp(pool_prior([says_nothing])) == pytest.approx(np.full(5, 0.2))


def test_a_prior_weighs_the_means_and_their_likelihoods() -> None:
    column = Posterior(np.log([0.1, 0.1, 0.2, 0.4, 0.8]), np.arange(10.0).reshape(5, 2))
    likelihood, mean = column.mean(np.log([0.5, 0.5, 1e-300, 1e-300, 1e-300]))
    assert likelihood == pytest.approx(np.log(0.1))
    assert mean == pytest.approx([1.0, 2.0])
