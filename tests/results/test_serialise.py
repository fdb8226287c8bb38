"""A release as the ledger keeps it: what is read is what was written, by this version and by earlier ones."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import LedgerError, Plan, preview, release
from dpengine.marginals.marginal import Domain
from dpengine.marginals.measurement import Measurements
from dpengine.results.result import Result
from dpengine.results.serialise import STATED, Stored, pack, plan_of, unpack
from dpengine.results.stated import state
from dpengine.synthesis.generate_rows import SyntheticRows
from tests.plans import letters_plan

STORY = {"release_id": "1", "created": "now", "software": {}}


def reread(rows: SyntheticRows) -> SyntheticRows:
    back = unpack(pack(Stored({}, Measurements(()), rows, STORY))).model
    assert isinstance(back, SyntheticRows)
    return back


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 299), st.integers(0, 1), st.integers(1, 2**62)), max_size=20))
def test_rows_are_stored_with_their_weights(held: list[tuple[int, int, int]]) -> None:
    a, b, times = np.array(held, dtype=np.int64).reshape(-1, 3).T
    rows = SyntheticRows(Domain(("a", "b"), (300, 2)), np.stack([a, b]).astype(np.int32), times)
    back = reread(rows)
    assert back.domain == rows.domain
    assert np.array_equal(back.codes, rows.codes)
    assert np.array_equal(back.weights, rows.weights)
    assert (back.codes.dtype, back.weights.dtype) == (np.int32, np.int64)


@pytest.fixture(scope="module")
def unweighted() -> Result:
    finished = preview(letters_plan([20] * 6, {"each": 2}, rows_about=3000, strategy="adaptive"))
    assert isinstance(finished.model, SyntheticRows)
    return finished


def test_a_stored_release_without_weights_has_every_row_once(unweighted: Result) -> None:
    with np.load(io.BytesIO(unweighted.to_bytes())) as arrays:
        earlier = {name: arrays[name] for name in arrays.files if name != "times"}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **earlier)
    back = Result.from_bytes(buffer.getvalue())
    assert isinstance(back.model, SyntheticRows)
    assert (back.model.weights == 1).all()
    for table in (*unweighted.plan.marginals, ()):
        assert np.array_equal(back.counts(table), unweighted.counts(table))
    assert all(np.array_equal(a, b) for a, b in zip(back.rows().values(), unweighted.rows().values(), strict=True))


def test_stated_numbers_are_read_as_they_were_stored_at_first_with_arrays_of_their_own(unweighted: Result) -> None:
    kept = replace(unweighted, stated=state(unweighted.plan, unweighted.derive_numbers, unweighted.model_error))
    with np.load(io.BytesIO(kept.to_bytes())) as arrays:
        earlier = {name: arrays[name] for name in arrays.files if not name.startswith("stated_")}
        assert len(arrays.files) < 40, "an array takes as long to read as a thousand numbers"
    header = json.loads(earlier["header"].tobytes())
    header["stated"] = [(columns, half_width) for columns, half_width, _shape in header.pop("stated_tables")]
    earlier["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    for k, numbers in enumerate(kept.stated.tables.values()):
        earlier |= {f"stated{k}_{name}": getattr(numbers, name) for name in STATED}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **earlier)
    for payload in (kept.to_bytes(), buffer.getvalue()):
        stated = Result.from_bytes(payload).stated
        assert stated.model_error == kept.stated.model_error
        assert list(stated.tables) == list(kept.stated.tables)
        for table, numbers in kept.stated.tables.items():
            assert stated.tables[table].half_width == numbers.half_width
            for name in STATED:
                np.testing.assert_array_equal(getattr(stated.tables[table], name), getattr(numbers, name))


def test_stored_bytes_do_not_grow_with_the_number_of_people() -> None:
    plan = letters_plan([20] * 6, {"each": 2}, rows_about=1_000_000, strategy="adaptive")
    many = preview(plan)
    assert isinstance(many.model, SyntheticRows)
    assert many.model.weights.sum() > 900_000
    assert len(many.to_bytes()) < 1_500_000


def test_the_plan_alone_is_read_without_the_numbers() -> None:
    plan = letters_plan([3, 3], [["a", "b"]])
    whole = preview(plan).to_bytes()
    assert Plan(**plan_of(whole)) == plan
    with np.load(io.BytesIO(whole)) as arrays:
        header_only = {"header": arrays["header"]}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **header_only)
    assert Plan(**plan_of(buffer.getvalue())) == plan
    with pytest.raises(LedgerError, match="backup"):
        plan_of(whole[:100])


@pytest.mark.parametrize("by_classes", [False, True])
def test_the_use_of_latent_classes_is_stored_and_stated_only_if_they_are_used(by_classes: bool) -> None:
    rows = SyntheticRows(Domain(("a",), (1,)), np.zeros((1, 1), dtype=np.int32), np.ones(1, dtype=np.int64))
    payload = pack(Stored({}, Measurements((), by_classes=by_classes), rows, STORY))
    assert unpack(payload).measured.by_classes == by_classes
    with np.load(io.BytesIO(payload)) as arrays:
        assert ("by_classes" in json.loads(arrays["header"].tobytes())) == by_classes


def test_quantiles_of_earlier_releases_stay_as_they_were() -> None:
    """Their payloads do not say by which rule; releases of this version do, and read again are the same."""
    pay = {"name": "pay", "kind": "amount", "knots": [*range(0, 101, 10)], "step": "0.1", "missing": False}
    region = {"name": "region", "kind": "category", "values": ["a", "b"], "other": False, "missing": False}
    table = {"columns": ["region"], "mean": ["pay"], "quantiles": {"pay": [0.3, 0.5, 0.8]}}  # none is chosen
    plan = Plan(dataset="pay", epsilon=10, columns=[region, pay], tables=[table])
    frame = pd.DataFrame({"region": ["a", "b"] * 500, "pay": [round((k % 101) ** 3 / 10_000, 1) for k in range(1000)]})
    made = release(frame, plan)
    earlier = replace(made, legacy_quantiles=True)
    again, legacy = Result.from_bytes(made.to_bytes()), Result.from_bytes(_without_rule(made.to_bytes()))
    pd.testing.assert_frame_equal(again.tables["region",], made.tables["region",])
    pd.testing.assert_frame_equal(legacy.tables["region",], earlier.tables["region",])
    middles = [f"quantile_{part}_pay" for part in ("0.3", "0.5", "0.8")]
    assert not legacy.tables["region",][middles].equals(made.tables["region",][middles])
    assert legacy.to_bytes() != made.to_bytes()
    assert Result.from_bytes(legacy.to_bytes()).legacy_quantiles


def _without_rule(payload: bytes) -> bytes:
    """A payload as earlier versions wrote it."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
        arrays = dict(stored)
    header = json.loads(arrays["header"].tobytes())
    del header["quantiles_of_distributions"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
