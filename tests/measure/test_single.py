"""One table by itself: what its sums tell of its cells, and when its columns and pairs are measured beside it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import Ledger, Plan, preview, release, verify
from dpengine.estimate.consistency import make_consistent
from dpengine.marginals.fitting import project, rake
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.moments import variance
from dpengine.results.mock_table import mock_counts
from tests.plans import letters_plan


def noisy(counts: np.ndarray, epsilon: str) -> Measurement:
    allocation = Allocation(tuple("abcd"[: counts.ndim]), Fraction(epsilon), 1)
    return Measurement(allocation, counts + discrete_laplace(allocation.scale, counts.shape))


def dependent() -> np.ndarray:
    """20,000 people in 30 × 20 × 4 cells, near a line, most cells empty."""
    a, b, c = np.indices((30, 20, 4))
    shape = np.exp(-(((a / 30 - b / 20) / 0.12) ** 2)) * 0.5**c
    return np.round(20_000 * shape / shape.sum()).astype(np.int64)


def published(one: Measurement) -> np.ndarray:
    values = one.values
    sizes = dict(zip(one.allocation.columns, values.shape, strict=True))
    squares = LeastSquares(sizes, (one.allocation.columns,), (variance(one.allocation.scale),))
    return make_consistent(squares, [values]).table(one.allocation.columns)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(2, 2), (1, 5), (7, 9), (3, 4, 5), (2, 2, 2, 3)]),
    st.integers(0, 300),
    st.sampled_from(["0.05", "1", "5"]),
)
def test_counts_are_whole_and_add_up_to_the_noisy_total(shape: tuple[int, ...], most: int, epsilon: str) -> None:
    counts = (np.arange(np.prod(shape)).reshape(shape) * 7919) % (most + 1)
    one = noisy(counts, epsilon)
    whole = published(one)
    assert whole.dtype == np.int64
    assert whole.min() >= 0
    assert whole.sum() == max(0, one.values.sum())
    assert (published(one) == whole).all()


def test_counts_are_nearer_the_truth_than_projected_ones() -> None:
    """They are off by half as much in the mean; three quarters never came in a thousand trials."""
    counts = dependent()
    ours, projected = 0.0, 0.0
    for _ in range(10):
        one = noisy(counts, "0.1")
        total = float(one.values.sum())
        single = {name: project(one.values.sum(axis=tuple({0, 1, 2} - {k})), total) for k, name in enumerate("abc")}
        ours += np.abs(published(one) - counts).sum()
        margins = [((k,), each) for k, each in enumerate(single.values())]
        projected += np.abs(rake(project(one.values, total), margins, 10) - counts).sum()
    assert ours < 0.75 * projected


def sparse(**more: object) -> Plan:
    return letters_plan([30, 20, 9], [["c", "a", "b"], ["a"]], **({"epsilon": "0.1", "rows_about": 2000} | more))


def test_auto_measures_columns_and_pairs_beside_a_table_too_large_for_its_rows() -> None:
    assert decide(sparse()).plan.strategy == "adaptive"
    assert "noise would bury" in decide(sparse()).why
    dense = [sparse(rows_about=200_000), sparse(rows_about=None), sparse(epsilon="2", rows_about=100)]
    assert [decide(plan).plan.strategy for plan in dense] == ["auto"] * 3
    alone = letters_plan([30, 20, 9], [["a", "b", "c"]], epsilon="0.1", rows_about=2000)
    assert decide(alone).plan_id == decide(sparse()).plan_id != decide(sparse(strategy="direct")).plan_id


@pytest.mark.parametrize("rows", [1, 500, 3000, 10**6])
@pytest.mark.parametrize("sizes", [[12, 9], [30, 20, 4], [4, 3, 2, 5]])
def test_the_table_itself_gets_what_is_left_of_epsilon(sizes: list[int], rows: int) -> None:
    table = list("abcd"[: len(sizes)])
    plan = letters_plan(sizes, [table], epsilon="0.1", rows_about=rows, strategy="adaptive")
    measured = decide(plan).measure(lambda tables: [mock_counts(plan, one) for one in tables])
    parts = [one.allocation.epsilon for one in measured.marginals] + [one.epsilon for one in measured.choices]
    assert measured.audit is not None
    assert sum(parts, measured.audit.epsilon) == plan.epsilon
    last = measured.marginals[-1]
    assert last.allocation.columns == tuple(table)
    assert not last.merged
    assert last.allocation.epsilon > Fraction(3, 100)


def test_such_a_release_is_whole_and_verified(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": ["a1", "a2"] * 900, "b": ["b3"] * 1800, "c": ["c0", "c0", "c8"] * 600})
    ledger = Ledger.in_memory()
    done = release(people, sparse(), ledger)
    done.save(tmp_path / "r.zip")
    assert "the rest the whole table" in verify(tmp_path / "r.zip")["strategy"]
    assert done.tables["c", "a", "b"]["count"].sum() == done.tables[()]["count"].item()
    alone = letters_plan([30, 20, 9], [["a", "b", "c"]], epsilon="0.1", rows_about=2000)
    assert release(people, alone, ledger).release_id == done.release_id
    assert preview(sparse()).plan.strategy == "adaptive"
