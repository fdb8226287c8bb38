"""Guesses at a pair of columns: compared before one is carried out, and updated in merged bins too."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.noisy_pair import NoisyPair, merge

SCALE = 4
BINS = (np.repeat(np.arange(12), 2), np.arange(10))


def bump() -> np.ndarray:
    """Counts of 24 × 10 cells, in a part of which neighbouring cells hold twice what independence expects."""
    table = np.full((24, 10), 200)
    table[:12, :5] += 200
    return table


def noisy_pair(merged: tuple[np.ndarray, ...]) -> NoisyPair:
    """Return a measurement of `bump` with noise of `SCALE` that alternates, and so adds up to nearly nothing."""
    values = merge(bump(), merged)
    signs = (-1) ** np.indices(values.shape).sum(axis=0)
    measured = Measurement(Allocation(("a", "b"), Fraction(1, SCALE), 1), values + SCALE * signs, merged)
    one = {"a": bump().sum(axis=1).astype(float), "b": bump().sum(axis=0).astype(float)}
    return NoisyPair.of(measured, one, apart=True)


def independent() -> np.ndarray:
    table = bump()
    return np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()


@pytest.mark.parametrize("merged", [(), BINS], ids=["cells", "merged bins"])
def test_an_updated_guess_is_near_the_noisy_table_with_the_columns_counts(merged: tuple[np.ndarray, ...]) -> None:
    weighed = noisy_pair(merged).weigh(independent())
    nearby = weighed.by_neighbours()
    assert not np.allclose(nearby.weighed.guess, weighed.weighed.guess), "neighbours have errors in common"
    for guess in (weighed, nearby):
        table = guess.updated()
        assert np.abs(merge(table, merged) - merge(bump(), merged)).mean() <= 1.5 * SCALE
        assert table.sum(axis=1) == pytest.approx(bump().sum(axis=1), rel=1e-4)
        assert table.sum(axis=0) == pytest.approx(bump().sum(axis=0), rel=1e-4)


def test_the_truth_is_a_likelier_guess_than_independence() -> None:
    noisy = noisy_pair(())
    assert noisy.weigh(bump().astype(float)).likelihood > noisy.weigh(independent()).likelihood + 100


def test_empty_cells_stay_empty_where_a_column_decides_the_other() -> None:
    """The counts of the columns are off by 25 up and down, and 40 cells of 1,600 hold everybody."""
    counts = np.diag(np.full(40, 500))
    noise = np.rint(np.random.default_rng(8).laplace(0, 10, counts.shape)).astype(np.int64)
    measured = Measurement(Allocation(("a", "b"), Fraction(1, 10), 1), counts + noise)
    off = 25 * (-1.0) ** np.arange(40)
    one = {"a": 500 + off, "b": 500 - off}
    weighed = NoisyPair.of(measured, one, apart=True).weigh(np.full(counts.shape, 12.5))
    assert weighed.weighed.sparse is not None
    table = weighed.updated()
    assert table[counts == 0].sum() < 0.01 * counts.sum()
    assert np.diag(table) == pytest.approx(np.full(40, 500), abs=30)
    filled = NoisyPair.of(measured, one, apart=False).weigh(np.full(counts.shape, 12.5)).updated()
    assert filled[counts == 0].sum() > 0.02 * counts.sum(), "the sums are the pair's own: no better than its cells"
