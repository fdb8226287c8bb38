"""Blocks of people add up to the whole, agree within themselves, and keep memory small."""

from __future__ import annotations

import io
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import preview, verify
from dpengine.bundle import write
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.graphs import maximal
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.results.fidelity import compare
from dpengine.results.result import Result
from dpengine.results.views import synthetic
from dpengine.spec.plan import Plan
from dpengine.synthesis.blocks import blocks
from dpengine.synthesis.generate_rows import SyntheticRows
from dpengine.synthesis.resample import expand, unique_rows
from tests.calls_and_memory import peak_bytes
from tests.plans import CLINIC, letters_plan, plans

CHAIN = [("a", "b"), ("b", "c"), ("d",)]


def chain(counts: list[int]) -> ConsistentTables:
    """Tables along a tree, of people given by their numbers in the cells of all columns."""
    joint = np.array(counts).reshape(2, 3, 2, 2)
    whole = Marginal(("a", "b", "c", "d"), joint)
    return ConsistentTables(tuple(Marginal(table, whole.project(table).values.copy()) for table in CHAIN))


@given(st.lists(st.integers(0, 50), min_size=24, max_size=24), st.integers(1, 200))
def test_blocks_of_tables_add_up_and_agree(counts: list[int], people: int) -> None:
    model = chain(counts)
    parts = list(blocks(model, people))
    for table in CHAIN:
        assert sum(part.table(table) for part in parts).tolist() == model.table(table).tolist()
    for part in parts:
        assert isinstance(part, ConsistentTables)
        assert int(part.table(())) <= people
        assert all((table.values >= 0).all() for table in part.tables)
        for one, other in combinations(part.tables, 2):
            shared = sorted({*one.columns} & {*other.columns})
            assert one.project(shared).values.tolist() == other.project(shared).values.tolist()
        rows, weights = unique_rows(part)
        assert len(expand(weights)) == len(rows["a"]) == int(part.table(()))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), st.integers(1000, 10**6))
def test_blocks_of_weighted_rows_add_up(weights: list[int], people: int) -> None:
    codes = np.arange(len(weights), dtype=np.int32)
    model = SyntheticRows(Domain(("a",), (len(weights),)), codes[None], np.array(weights))
    parts = list(blocks(model, people))
    assert sum(part.table(("a",)) for part in parts).tolist() == weights
    assert all(int(part.table(())) <= people for part in parts)


def test_a_model_that_is_small_enough_stays_as_it_is() -> None:
    model = chain([1] * 24)
    assert [part is model for part in blocks(model, 24)] == [True]
    empty = chain([0] * 24)
    assert [part is empty for part in blocks(empty, 1)] == [True]


@given(plans(), st.integers(1, 400))
@pytest.mark.nightly
def test_rows_in_blocks_give_the_published_tables(plan: Plan, values: int) -> None:
    result = preview(plan.model_copy(update={"rows_about": 300}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "MAX_BLOCK_VALUES", values)
        frame = result.synthetic()
        assert (compare(result)["exact"] == 1).all()
        again = pd.concat(list(result.synthetic_blocks()), ignore_index=True)
    pd.testing.assert_frame_equal(frame, again)
    assert len(frame) == result.counts(())
    table = max(maximal(plan.marginals), key=len)
    counted = frame.groupby(list(table)).size()
    published = result.tables[next(each for each in plan.marginals if sorted(each) == list(table))]
    counts = published.set_index(list(table))["count"]
    assert counts[counts > 0].to_dict() == counted.to_dict()


def test_a_bundle_of_many_blocks_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    result = preview(Plan.loads(CLINIC))
    monkeypatch.setattr(synthetic, "MAX_BLOCK_VALUES", 1000)
    verify(io.BytesIO(write.pack(result)))


@pytest.mark.parametrize("tables", [[["a"], ["b"]], [["a", "b"], ["b", "c"], ["a", "c"]]], ids=["tables", "rows"])
def test_writing_takes_no_more_memory_for_more_people(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "MAX_BLOCK_VALUES", 40_000)
    pool = pa.default_memory_pool()

    def needed(people: int) -> int:
        plan = letters_plan([3, 4, 5][: len(tables)], tables, rows_about=people)
        result = Result.from_bytes(preview(plan).to_bytes())
        result.counts(())
        before, peak = pool.bytes_allocated(), [0]

        def lines() -> None:
            for piece in result.line_blocks():
                peak.append(len(piece) + pool.bytes_allocated() - before)

        return peak_bytes(lines) + max(peak)

    assert needed(400_000) < 1.5 * needed(150_000)
