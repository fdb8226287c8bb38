"""Synthetic rows, counted again, are the published tables: no more and no less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.estimate.consistency import ConsistentTables, make_consistent
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.measure.strategy import decide
from dpengine.synthesis import resample
from dpengine.synthesis.generate_rows import SyntheticRows
from dpengine.synthesis.resample import expand, rescale, unique_rows
from tests.plans import noisy_values, plans
from tests.synthesis.every_row import every_row


def counted(rows: dict[str, np.ndarray], plan: Plan, table: tuple[str, ...]) -> np.ndarray:
    shape = plan.shape(table)
    codes = np.ravel_multi_index([rows[name] for name in table], shape)
    return np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)


@settings(max_examples=60)
@given(plans(), st.data())
def test_rows_count_to_every_table(plan: Plan, data: st.DataObject) -> None:
    allocations = decide(plan).allocations
    values = noisy_values(data, plan, allocations, -10, 30)
    model = make_consistent(least_squares(plan, allocations), values)
    rows = every_row(model)
    assert set(rows) == set(plan.used)
    for table in plan.marginals:
        assert (counted(rows, plan, table) == model.table(table)).all()


def test_tables_joined_along_a_column_are_paired_evenly_within_it() -> None:
    """Given the shared column, the others are nearly independent, not sorted against each other."""
    left, right = np.full((10, 2), 50), np.full((2, 10), 50)
    rows = every_row(ConsistentTables((Marginal(("a", "b"), left), Marginal(("b", "c"), right))))
    joint = np.zeros((10, 2, 10))
    np.add.at(joint, (rows["a"], rows["b"], rows["c"]), 1)
    assert np.abs(joint - 5).max() <= 2


def test_tables_without_a_shared_column_are_paired_evenly() -> None:
    rows = every_row(ConsistentTables((Marginal(("a",), np.array([300, 700])), Marginal(("b",), np.array([500, 500])))))
    joint = np.zeros((2, 2))
    np.add.at(joint, (rows["a"], rows["b"]), 1)
    assert np.abs(joint - [[150, 150], [350, 350]]).max() <= 3


def test_an_empty_model_gives_no_rows() -> None:
    left, right = np.zeros((2, 2), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)
    rows = every_row(ConsistentTables((Marginal(("a", "b"), left), Marginal(("b", "c"), right))))
    assert all(len(codes) == 0 for codes in rows.values())


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 50)), min_size=1), st.integers(0, 2000))
def test_weighted_rows_are_scaled_to_any_number(held: list[tuple[int, int, int]], count: int) -> None:
    a, b, often = np.array(held, dtype=np.int64).T
    rows, weights = unique_rows(SyntheticRows(Domain(("a", "b"), (4, 3)), np.stack([a, b]).astype(np.int32), often))
    taken = rescale(rows, weights, count, [("a", "b")], {"a": 4, "b": 3})
    assert taken.sum() == count
    assert (weights * count // weights.sum() <= taken).all()
    assert (taken <= -(-weights * count // weights.sum())).all()
    places = expand(taken)
    cells = (rows["a"] * 3 + rows["b"])[places]
    assert np.array_equal(np.bincount(cells, minlength=12), np.bincount(a * 3 + b, taken, 12))


def test_swaps_bring_tables_nearer_to_the_scaled_ones() -> None:
    """A swap is made only if it helps, so the more often rows are looked at, the nearer they are."""
    chance = np.random.default_rng(3)
    sizes, count = {"a": 6, "b": 5, "c": 4}, 700
    rows = {name: chance.integers(0, size, 2000) for name, size in sizes.items()}
    tables = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    weights = np.ones(2000, dtype=np.int64)

    def off(taken: np.ndarray) -> float:
        errors = 0.0
        for table in tables:
            domain = Domain(table, tuple(sizes[name] for name in table))
            cells = domain.cells([rows[name] for name in table])
            errors += float((np.bincount(cells, taken - count / 2000, domain.size) ** 2).sum())
        return errors

    left = []
    for passes in range(len(resample.ACCEPTED) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resample, "ACCEPTED", resample.ACCEPTED[:passes])
            left.append(off(rescale(rows, weights, count, tables, sizes)))
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.4 * sum(np.prod([sizes[name] for name in table]) for table in tables), "in each cell on average"
