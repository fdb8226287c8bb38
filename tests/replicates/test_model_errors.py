"""Errors that replicates give the cells of a model: of the stated size, around 0, and of each table its own.

Replicates are a fixed function of a release's name, so these tests have no false alarms: with these names they hold,
with much room. Faults would move the numbers by several times that room.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpengine as dpe
from dpengine.array_types import Columns, Floats
from dpengine.replicates import DRAWS, Basis, basis_of
from dpengine.replicates.draw import SLOPE, SPREAD, TREND, _errors_of_cells
from tests.plans import letters_plan

SIZE, MEAN, NAMES = 5, 10.0, 40
MODELLED = letters_plan([SIZE] * 3, {"each": 2}, strategy="adaptive", rows_about=2000)


@pytest.fixture(scope="module")
def basis() -> Basis:
    """A model whose cells are all off by ten people on average, whatever they hold."""
    return replace(basis_of(dpe.preview(MODELLED)), mean_errors=lambda expected: np.full(expected.shape, MEAN))


def errors_of(basis: Basis, table: Columns) -> Floats:
    """Return the errors of the cells of a table under many names, if those of its columns are 0."""
    none = [np.zeros((DRAWS, SIZE)) for _ in table]
    return np.concatenate([_errors_of_cells(replace(basis, release_id=f"name {k}"), table, none) for k in range(NAMES)])


def test_errors_of_cells_are_as_large_as_the_audit_says_given_the_sums_of_their_columns(basis: Basis) -> None:
    """Without its means along both columns, an independent part keeps (1 − 1/n)² of its variance.

    A trend is the product of a line or independent steps along each column. A line through n places from −√3 to √3 has
    the mean square (n + 1)/(n − 1).
    """
    kept = 1 - 1 / SIZE
    along = SLOPE * (SIZE + 1) / (SIZE - 1) + (1 - SLOPE) * kept
    variance = (SPREAD * MEAN) ** 2 * ((1 - TREND) * kept**2 + TREND * along**2)
    errors = errors_of(basis, ("a", "b"))
    assert (errors**2).mean() == pytest.approx(variance, rel=0.05)
    for axis in (1, 2):
        np.testing.assert_allclose(errors.sum(axis=axis), 0, atol=1e-5)


def test_no_cell_is_off_to_one_side(basis: Basis) -> None:
    """Trends along two columns have directions of their own: else cells in two corners would always be too large."""
    errors = errors_of(basis, ("a", "b"))
    assert np.abs(errors.mean(axis=0)).max() < 5 * SPREAD * MEAN / np.sqrt(len(errors))


def test_errors_of_different_tables_are_independent(basis: Basis) -> None:
    first, second = (errors_of(basis, table).ravel() for table in (("a", "b"), ("b", "c")))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
