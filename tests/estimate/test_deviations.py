"""Deviations of cells from what is expected: the posterior that is described, and what it gains and does not spoil.

Noise is drawn from fixed seeds, so that no test can fail by chance.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.array_types import Floats
from dpengine.estimate import deviations
from dpengine.estimate.deviations import fit_deviations

AGES = 60


def by_itself(sums: Floats, people: Floats) -> Floats:
    """Return the mean of each cell, drawn towards 0 as far as all of them together look like noise of 1."""
    signal = max(float((sums**2).mean()) - 1, 0.0)
    return sums / people * signal / (signal + 1)


def test_means_are_those_of_a_gaussian_process_along_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """One prior, one kind of cells and of noise: the posterior follows from a matrix of all covariances."""
    own, smooth, length, person, variance = 0.04, 0.2, 5.0, 0.02, 30.0
    prior = deviations.Prior(*(np.array([[each]]) for each in (own, smooth, length, person)))
    monkeypatch.setattr(deviations, "_grid", lambda: prior)
    monkeypatch.setattr(deviations, "NONE", smooth)
    for name in ("OF_OWN", "OF_NOISE", "ODDS"):
        monkeypatch.setattr(deviations, name, np.ones((1, 1, 1)))
    rng = np.random.default_rng(1)
    people, ordered = rng.integers(1, 100, 12).astype(np.float64), 10
    sums = rng.normal(0, 10, 12)
    distance = np.abs(np.subtract.outer(np.arange(12), np.arange(12))) * np.sqrt(3) / length
    covariance = smooth**2 * (1 + distance) * np.exp(-distance)
    for cell in (10, 11):  # beyond the order
        covariance[cell, :cell] = covariance[:cell, cell] = 0
    covariance += np.diag(own**2 + person / people)
    expected = covariance @ np.linalg.solve(covariance + np.diag(variance / people**2), sums / people)
    assert fit_deviations(sums, people, variance, [ordered]) == pytest.approx(expected, abs=1e-9)


def test_ages_tell_of_those_beside_them() -> None:
    """Where means follow a curve, errors are less than half of those of each mean by itself."""
    rng, people = np.random.default_rng(2), np.full(AGES, 10.0)
    true = 0.2 * np.sin(np.arange(AGES) / 12)
    sums = true * people + rng.normal(0, 1, (20, AGES))
    fitted = np.stack([fit_deviations(each, people, 1.0, [AGES]) for each in sums])
    alone = np.stack([by_itself(each, people) for each in sums])
    assert np.square(fitted - true).mean() < 0.5**2 * np.square(alone - true).mean()


def test_columns_without_order_lose_next_to_nothing() -> None:
    rng, people = np.random.default_rng(3), np.full(AGES, 10.0)
    true = rng.normal(0, 0.2, (20, AGES))
    sums = true * people + rng.normal(0, 1, (20, AGES))
    fitted = np.stack([fit_deviations(each, people, 1.0, [AGES]) for each in sums])
    alone = np.stack([by_itself(each, people) for each in sums])
    assert np.square(fitted - true).mean() < 1.05 * np.square(alone - true).mean()


def test_the_smooth_column_of_two_is_found() -> None:
    """A curve along the second column that differs for each cell of the first gains as much."""
    rng, people = np.random.default_rng(4), np.full((4, AGES), 10.0)
    true = 0.2 * np.sin(np.arange(AGES) / 12 + np.array([[0.0], [1.5], [3.0], [4.5]]))
    sums = true * people + rng.normal(0, 1, people.shape)
    fitted, turned = fit_deviations(sums, people, 1.0, people.shape), fit_deviations(sums.T, people.T, 1.0, (AGES, 4))
    assert np.square(fitted - true).mean() < 0.5**2 * np.square(by_itself(sums, people) - true).mean()
    assert pytest.approx(fitted) == turned.T


def test_the_smooth_column_of_a_large_table_is_found() -> None:
    """Of many chains only some are learnt from, so the columns' likelihoods are of different numbers of cells."""
    rng, people = np.random.default_rng(7), np.full((30, 300), 10.0)
    true = 0.2 * np.sin(np.arange(30)[:, None] / 6 + rng.uniform(0, 6, 300))
    sums = true * people + rng.normal(0, 1, people.shape)
    for turned in (False, True):
        fitted = (
            fit_deviations(sums.T, people.T, 1.0, (300, 30)).T
            if turned
            else fit_deviations(sums, people, 1.0, people.shape)
        )
        assert np.square(fitted - true).mean() < 0.7**2 * np.square(by_itself(sums, people) - true).mean()


def test_missing_values_say_nothing_of_the_oldest() -> None:
    """The cell of missing values follows that of the highest age, of which few are: it must not be drawn to it."""
    people = np.array([200.0] * (AGES - 3) + [3.0, 3.0, 500.0])
    true = np.array([0.1] * (AGES - 1) + [-0.5])
    sums = true * people
    apart = fit_deviations(sums, people, 25.0, [AGES - 1])
    assert apart[-2] > 0.095
    assert apart[-1] == pytest.approx(-0.5, abs=0.01)
    assert fit_deviations(sums, people, 25.0, [AGES])[-2] < 0.09


def test_a_cell_unlike_all_others_is_believed() -> None:
    """Forty small cells hardly differ; one does, at a distance that is no noise."""
    rng, people = np.random.default_rng(5), np.full(41, 50.0)
    sums = rng.normal(0, 1, 41)
    sums[20] += 0.4 * 50
    fitted = fit_deviations(sums, people, 1.0, [41])
    assert fitted[20] == pytest.approx(0.4, abs=0.05)
    assert np.abs(np.delete(fitted, 20)).max() < 0.05


def test_noise_alone_is_drawn_to_nothing() -> None:
    rng, people = np.random.default_rng(6), np.array([3e3] * 4 + [100.0] * 30)
    fitted = np.stack([fit_deviations(each, people, 9.0, [34]) for each in rng.laplace(0, 3 / 2**0.5, (20, 34))])
    assert np.square(fitted).mean() < 0.05 * np.square(3 / people).mean()


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,), (1500,), (3, 1, 4), (2, 1100)])
def test_tables_of_any_shape_are_fitted(shape: tuple[int, ...]) -> None:
    """With many people and little noise, means are those of the sums; also along more cells than a chain may have."""
    true = np.linspace(-0.5, 0.5, int(np.prod(shape))).reshape(shape)
    people = np.full(shape, 1e4)
    assert fit_deviations(true * people, people, 1.0, shape) == pytest.approx(true, abs=1e-3)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0, 1e9)), min_size=1, max_size=9),
    st.floats(1e-9, 1e12),
    st.integers(0, 9),
)
def test_results_are_numbers(cells: list[tuple[float, float]], variance: float, ordered: int) -> None:
    sums, people = np.array(cells).T
    assert np.isfinite(fit_deviations(sums, people, variance, [min(ordered, len(cells))])).all()
