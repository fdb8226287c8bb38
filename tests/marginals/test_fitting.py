"""Fitting to known sums: raking meets margins, projections are nearest points, roundings add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpengine.array_types import Floats
from dpengine.marginals.fitting import (
    largest_remainders,
    project,
    project_on_margins,
    rake,
    rake_three,
    round_to_total,
    round_to_totals,
    shift_to_margins,
)

counts = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1000))
points = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1000, 1000))
tables = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 30)), elements=st.floats(0, 1000))


def test_raking_meets_every_margin() -> None:
    margins = [((0,), np.array([4.0, 6.0])), ((1,), np.array([5.0, 3.0, 2.0]))]
    raked = rake(np.ones((2, 3)), margins, sweeps=15)
    assert raked.sum(axis=1) == pytest.approx([4, 6])
    assert raked.sum(axis=0) == pytest.approx([5, 3, 2])


def test_raking_meets_margins_of_several_axes() -> None:
    """A ring of pairs that one table has: the fitted table has the same pairs."""
    table = np.arange(1.0, 25.0).reshape(2, 3, 4)
    margins = [(axes, table.sum(axis=3 - sum(axes))) for axes in ((0, 1), (1, 2), (0, 2))]
    raked = rake(np.ones(table.shape), margins, sweeps=200)
    for axes, wanted in margins:
        assert raked.sum(axis=3 - sum(axes)) == pytest.approx(wanted, rel=1e-6)


@given(
    arrays(np.float64, st.tuples(*(3 * [st.integers(1, 4)])), elements=st.just(0.0) | st.floats(0.01, 100)),
    st.integers(1, 6),
)
def test_three_factors_are_what_raking_ones_leads_to(table: Floats, sweeps: int) -> None:
    """Some of the sums are 0."""
    pairs = [((0, 1), table.sum(axis=2)), ((0, 2), table.sum(axis=1)), ((1, 2), table.sum(axis=0))]
    factors = rake_three(*(wanted for _, wanted in pairs), sweeps=sweeps)
    assert factors == pytest.approx(rake(np.ones(table.shape), pairs, sweeps), rel=1e-6, abs=1e-9)


def test_raking_leaves_its_argument_and_empty_slices_alone() -> None:
    table = np.array([[0.0, 0.0], [1.0, 1.0]])
    raked = rake(table, [((0,), np.array([5.0, 3.0]))], sweeps=2)
    assert raked.tolist() == [[0.0, 0.0], [1.5, 1.5]]
    assert table.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_raking_ends_when_the_margins_are_near_enough() -> None:
    table = np.random.default_rng(5).random((6, 7))
    margins = [((0,), np.arange(1.0, 7.0)), ((1,), np.full(7, 3.0))]
    early, late = rake(table, margins, 100, tolerance=1.0), rake(table, margins, 100)
    assert np.abs(early.sum(axis=1) - margins[0][1]).sum() <= 1
    assert not np.array_equal(early, late)


@given(points, st.floats(0, 200))
def test_a_projection_is_on_the_simplex_and_no_corner_lies_beyond_it(point: Floats, total: float) -> None:
    """The nearest point of a convex set is the one from which no other lies in the direction of `point`."""
    nearest = project(point, total)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(total, abs=1e-9 * (1 + np.abs(point).sum()))
    for corner in total * np.eye(point.size):
        assert (point - nearest) @ (corner - nearest) <= 1e-6 * (1 + np.abs(point).max()) ** 2


@given(tables, st.data())
def test_roundings_add_up_and_stretches_keep_their_sums(expected: Floats, data: st.DataObject) -> None:
    totals = np.array([data.draw(st.integers(0, 10_000)) for _ in expected])
    rounded = round_to_totals(expected, totals)
    assert (rounded.sum(axis=1) == totals).all()
    assert rounded.min() >= 0
    sums = expected.sum(axis=1, keepdims=True)
    parts = np.where(sums > 0, expected / np.where(sums > 0, sums, 1), 1 / expected.shape[1])
    assert np.abs(np.cumsum(rounded - parts * totals[:, None], axis=1)).max() <= 0.5 + 1e-6
    assert (round_to_total(expected[0], int(totals[0])) == rounded[0]).all()


@given(counts.filter(lambda each: each.sum() > 1e-6), st.integers(0, 10_000))
def test_largest_remainders_add_up_and_change_no_value_by_one(expected: Floats, total: int) -> None:
    rounded = largest_remainders(expected, total)
    assert rounded.sum() == total
    assert np.abs(rounded - expected * (total / expected.sum())).max() < 1 + 1e-9


@given(tables, tables)
def test_shifted_tables_have_the_margins_and_keep_all_other_differences(values: Floats, other: Floats) -> None:
    """Least squares change nothing that the margins do not decide: differences of differences."""
    rows, columns = np.resize(other, values.shape).sum(axis=1), np.resize(other, values.shape).sum(axis=0)
    shifted = shift_to_margins(values, rows, columns)
    assert shifted.sum(axis=1) == pytest.approx(rows, abs=1e-6)
    assert shifted.sum(axis=0) == pytest.approx(columns, abs=1e-6)
    assert np.diff(np.diff(shifted, axis=0), axis=1) == pytest.approx(
        np.diff(np.diff(values, axis=0), axis=1), abs=1e-6
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (2, 2), (5, 3), (20, 30)])
def test_no_table_with_the_margins_lies_beyond_the_projection(shape: tuple[int, int]) -> None:
    """The nearest point of a convex set is the one from which no other lies in the direction of the point."""
    chance = np.random.default_rng(7)
    for empty in (0.0, 0.6):
        others = [chance.exponential(5, shape) * (chance.random(shape) >= empty) for _ in range(4)]
        rows, columns = others[0].sum(axis=1), others[0].sum(axis=0)
        margins = [((0,), rows), ((1,), columns)]
        values = others[0] + chance.laplace(0, 10, shape) - 5  # some rows have no positive cell
        nearest = project_on_margins(values, rows, columns, sweeps=2000)
        assert nearest.min() >= 0
        assert nearest.sum(axis=1) == pytest.approx(rows, abs=1e-4)
        assert nearest.sum(axis=0) == pytest.approx(columns, abs=1e-4)
        for other in [others[0], *(rake(each + 1e-9, margins, 500) for each in others[1:])]:
            assert ((values - nearest) * (other - nearest)).sum() <= 0.01 * rows.sum()


def test_projections_end_when_the_margins_are_near_enough() -> None:
    values, margins = np.random.default_rng(5).normal(size=(6, 7)), (np.arange(1.0, 7.0), np.full(7, 3.0))
    early, late = project_on_margins(values, *margins, 100, tolerance=1.0), project_on_margins(values, *margins, 100)
    assert np.abs(early.sum(axis=1) - margins[0]).sum() <= 1
    assert not np.array_equal(early, late)
