"""Published methods for ranges, as in benchmarks/ranges.py: exact without noise, and of known error with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.peers import range_methods as peers

LINE = np.array([0, 0, 0, 0, 900, 900, 40, 0, 7, 7, 7, 7, 0, 0, 0, 3000])
NO_NOISE = 1e9  # of ε
EXACT = [peers.identity, peers.hb, peers.privelet, peers.greedy_h, peers.dawa, peers.ahp, peers.efpa]


@pytest.mark.parametrize("method", EXACT)
def test_without_noise_a_method_returns_the_counts(method: peers.Method) -> None:
    assert np.allclose(method(LINE, NO_NOISE), LINE, atol=1e-3)


def test_without_noise_methods_of_two_axes_return_the_counts() -> None:
    square = np.zeros((16, 16))
    square[:, 3], square[9, 14] = LINE, 5000
    for method in (peers.hb, peers.privelet, peers.quad_tree, peers.dawa, peers.ahp):
        assert np.allclose(method(square, NO_NOISE), square, atol=1e-3)
    assert peers.agrid(square, NO_NOISE).sum() == pytest.approx(square.sum())
    assert peers.ugrid(square, 1.0).shape == square.shape


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("method", "variance"),
    [
        (peers.identity, 2.0),
        # Two halves of 8 cells: each cell is the mean ± differences, with noise of scale 5 ÷ the cells they are about.
        (peers.privelet, 2 * 25 * (1 / 16**2 + sum(1 / size**2 for size in (16, 8, 4, 2)))),
        (lambda line, epsilon: peers.full_tree(line, 16, [epsilon / 2] * 2), 8 * (1 - 1 / 17)),
    ],
)
def test_the_variance_of_a_cell_is_known(method: Callable[..., np.ndarray], variance: float) -> None:
    """Within 6 %, from 40,000 cells of fixed seed."""
    peers.noise = np.random.default_rng(8)
    off = np.array([method(LINE, 1.0) - LINE for _ in range(2500)])
    assert np.mean(off**2) == pytest.approx(variance, rel=0.06)


def test_greedy_parts_add_up_to_epsilon_and_give_the_error_that_they_promise() -> None:
    workload = np.tri(12)
    ends, parts = peers.halves(workload)
    holds = (ends[:, :1] <= np.arange(12)) & (np.arange(12) < ends[:, 1:])
    assert np.allclose((holds * parts[:, None]).sum(axis=0), 1)
    measured = holds[parts > 0] * parts[parts > 0][:, None]
    promised = 2 * np.trace(workload @ np.linalg.inv(measured.T @ measured) @ workload.T)
    assert promised < 2 * (workload**2).sum()  # that of single cells
    peers.noise = np.random.default_rng(9)
    line = np.zeros(12)
    off = np.array([workload @ peers._on_halves(line, ends, parts, 1.0) for _ in range(1500)])
    assert np.mean((off**2).sum(axis=1)) == pytest.approx(promised, rel=0.1)


def test_stretches_are_those_of_least_cost() -> None:
    line = np.r_[LINE[:12], 0, 0, 500, 3000].astype(float)
    assert peers.l1_partition(line, NO_NOISE, 1.0) == [0, 4, 6, 7, 8, 12, 14, 15]
    assert peers.l1_partition(np.full(16, 3.0), NO_NOISE, 1.0) == [0]
    assert peers._prefix_spreads(np.array([1.0, 3.0, 8.0])).tolist() == [0, 2, 8]


def test_partitions_of_counts_that_are_even_in_halves_are_found() -> None:
    line = np.repeat([10_000.0, 0.0], [4, 12])
    peers.noise = np.random.default_rng(10)
    for method in (peers.php, peers.ahp):
        assert np.allclose(method(line, 5.0), line, atol=10)


def test_a_hilbert_curve_goes_from_cell_to_neighbouring_cell() -> None:
    rows, columns = np.divmod(peers._order((16, 16)), 16)
    assert sorted(rows * 16 + columns) == list(range(256))
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()


def test_the_exponential_mechanism_chooses_as_often_as_it_should() -> None:
    peers.noise = np.random.default_rng(11)
    picks = np.bincount([peers._chosen(np.array([0.0, 2.0]), 1.0) for _ in range(4000)]) / 4000
    assert picks[1] == pytest.approx(np.e / (1 + np.e), abs=0.05)


def test_a_model_by_multiplicative_weights_keeps_the_number_of_rows() -> None:
    peers.noise = np.random.default_rng(12)
    model = peers.mwem(LINE.astype(float), 50.0)
    assert model.sum() == pytest.approx(LINE.sum())
    assert np.abs(np.cumsum(model - LINE)).mean() < np.abs(np.cumsum(LINE.mean() - LINE)).mean() / 2
