"""Parquet files are counted and digested in pieces with the same result as by SQL."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine.counting.count import count, digest, digest_and_count
from dpengine.counting.pieces import parquet_file
from dpengine.counting.pieces.text_cache import TextCache
from dpengine.errors import TableError
from dpengine.sources.files import parquet
from dpengine.sources.open import open_table
from dpengine.sources.table import LocalTable
from dpengine.spec.plan import Plan

NUMBERS = [0.0, -0.0, 0.1, 0.7, 18, -9, 1e300, -5e-324, math.nan, math.inf, -math.inf, 2.675, 17.5, None]
WHOLE = [0, 1, -9, 17, 18, 99, 100, -1, None, 2]
DAYS = [dt.date(2024, 1, 1), dt.date(2024, 3, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2024, 2, 29)]
TEXTS = ["a", "é", "2.0", " a", "", "?", "e\u0301", "b", None, "A", "2", "\u00a0a", "x" * 2000, "1.50", "\0", "ß"]
ROWS = 3000
VALUES: Mapping[str, tuple[list[Any], pa.DataType]] = {
    "y": (TEXTS, pa.string()),
    "listed": (TEXTS, pa.dictionary(pa.int32(), pa.string())),
    "large": (TEXTS, pa.large_string()),
    "x": (NUMBERS, pa.float64()),
    "age": (WHOLE, pa.int64()),
    "small": ([0, 1, 100, None], pa.int8()),
    "unsigned": ([0, 17, 2**32 - 1, None], pa.uint32()),
    "yes": ([True, False, None], pa.bool_()),
    "day": (DAYS, pa.date32()),
    "none": ([None], pa.string()),
    "paid": (["0.5", None, "", "40", "none", "17.25"], pa.string()),
    "wide": ([0, 2**64 - 1, None], pa.uint64()),
}
EDGES = ["-9", "0", "0.1", "0.7", "2.675", "18", "100"]
COLUMNS = [
    *({"name": name, "kind": "category", "values": ["a", "é", "2", "ß"], "missing_as": ["?"], "other": True}
      for name in ("y", "listed", "large", "none")),
    {"name": "x", "kind": "number", "edges": EDGES, "missing_as": ["-9"]},
    {"name": "age", "kind": "number", "edges": EDGES, "missing_as": ["-9"], "other": False},
    {"name": "small", "kind": "amount", "from": 0, "to": 40, "step": "0.5"},
    {"name": "paid", "kind": "amount", "from": 0, "to": 40, "step": "0.5", "knots": [0, 10, 40]},
    {"name": "unsigned", "kind": "category", "values": ["0", "17", "4294967295"]},
    {"name": "yes", "kind": "yesno"},
    {"name": "day", "kind": "date", "from": "2024-01-01", "to": "2024-03-31", "by": "month"},
]  # fmt: skip
TABLES = [["y", "listed"], ["large", "none", "yes"], ["x", "age"], {"columns": ["day"], "mean": ["small", "paid"]},
          ["unsigned", "y"]]  # fmt: skip
PLAN = Plan(dataset="d", epsilon="1", columns=COLUMNS, tables=TABLES, strategy="direct")


def made(more: Mapping[str, pa.Array] = {}) -> pa.Table:
    """Return rows in which each value of a column stands beside many of the others."""
    columns = {}
    for k, (name, (values, kind)) in enumerate(VALUES.items()):
        columns[name] = pa.array([values[(i * (k + 1) + i // 97) % len(values)] for i in range(ROWS)], kind)
    return pa.table(columns | dict(more))


def results_of(source: Any, *, pieces: bool, plan: Plan = PLAN) -> tuple[object, ...]:
    """Return digest, counts and histograms of a Parquet file or a table in memory, found in pieces or by SQL."""
    with open_table(source) as table, open_table(source) as again:
        for each in (table, again):
            assert isinstance(each, LocalTable)
            assert (each.parquet is None) != (each.frame is None)
            if not pieces:
                each.parquet = each.frame = None
        key, counts = digest_and_count(table, plan, plan.estimated_tables)
        assert counts is not None
        assert table.histograms is not None
        assert digest(again) == key
        single = count(again, plan, plan.estimated_tables, truncation_key=b"")
        assert [each.tolist() for each in single] == [each.tolist() for each in counts]
        return key, [each.tolist() for each in counts], table.histograms.tolist()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pieces that Arrow reads."""
    pieces: list[Any] = []
    monkeypatch.setattr(parquet_file, "_MIN_GROUP", 1)
    monkeypatch.setattr(parquet, "_PIECE_ROWS", (100, 700))
    ordered = parquet_file._ordered
    monkeypatch.setattr(parquet_file, "_ordered", lambda *given: pieces.append(given) or ordered(*given))
    return pieces


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "written",
    [
        {"row_group_size": 1000},
        {"row_group_size": 100},
        {"use_dictionary": False, "store_schema": False},
        {"data_page_size": 64},
    ],
    ids=["groups of rows", "many groups, in parts", "texts in full", "small pages"],
)
def test_pieces_are_counted_and_digested_as_by_sql(tmp_path, seen, written):
    pq.write_table(made(), path := tmp_path / "t.parquet", **written)
    first = results_of(path, pieces=True)
    assert len(seen) > 12
    seen.clear()
    assert first == results_of(path, pieces=False)
    assert not seen


LEFT_TO_SQL = {
    "a type that is hashed as text": pa.array([1.5] * ROWS, pa.float32()),
    "times": pa.array([0] * ROWS, pa.timestamp("us")),
    "a type that the engine reads as another": pa.array([0] * ROWS, pa.duration("us")),
    "bytes": pa.array([b"a"] * ROWS),
    "nested": pa.array([{"a": 1}] * ROWS),
    "many different texts": pa.array([f"t{k}" for k in range(ROWS)]),
}


@pytest.mark.parametrize("column", LEFT_TO_SQL.values(), ids=LEFT_TO_SQL)
def test_other_columns_are_left_to_sql(tmp_path, seen, column):
    pq.write_table(made({"more": column}), path := tmp_path / "t.parquet")
    with open_table(path) as table:
        digest(table)
        assert not seen
        count(table, PLAN, PLAN.marginals, truncation_key=b"")
        assert seen, "a column that is not counted does not matter"


def test_names_that_look_nested_are_left_to_sql(tmp_path, seen):
    pq.write_table(made({"y.z": pa.array(TEXTS[:1] * ROWS)}), path := tmp_path / "t.parquet")
    with open_table(path) as table:
        count(table, PLAN, PLAN.marginals, truncation_key=b"")
    assert not seen


def test_what_arrow_cannot_trust_is_left_to_sql(tmp_path, seen):
    """The engine checks every text; Arrow's reader does not."""
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pq.write_table(made(), good)
    table, data = made(), b"\xff" * ROWS
    ends = pa.array(range(ROWS + 1), pa.int32()).buffers()[1]
    torn = pa.Array.from_buffers(pa.string(), ROWS, [None, ends, pa.py_buffer(data)])
    pq.write_table(table.set_column(0, "y", torn), bad)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:4] + bytes(20000) + good.read_bytes()[20004:])
    expected = results_of(good, pieces=False)[1]
    for path in (bad, cut):
        with open_table(good) as opened:
            assert isinstance(opened, LocalTable)
            opened.parquet = path
            counts = count(opened, PLAN, PLAN.estimated_tables, truncation_key=b"")
        assert [each.tolist() for each in counts] == expected
        with pytest.raises(TableError):
            results_of(path, pieces=True)


@pytest.mark.parametrize("kind", [np.int8, np.int32])
@pytest.mark.parametrize(
    ("places", "nulls", "dictionary", "whole"),
    [
        ([0, 1, 2, 1], [], ["a", "b", "é"], True), ([], [], [], True), ([0, 3], [], ["a", "b", "é"], False),
        ([0, -1], [], ["a", "b", "é"], False), ([0, 3], [1], ["a", "b", "é"], True), ([0], [], [], False),
        ([0, 3, 3], [1], ["a", "b", "é"], False), ([0, 1, 1], [], [b"a", b"\xff"], False),
    ],
)  # fmt: skip
def test_texts_are_checked_as_by_arrow(kind, places, nulls, dictionary, whole):
    lacking = np.isin(np.arange(len(places)), nulls)
    validity = pa.py_buffer(np.packbits(~lacking, bitorder="little")) if nulls else None
    data = pa.py_buffer(np.array(places, dtype=kind))
    indices = pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(places), [validity, data])
    letters = [each if isinstance(each, bytes) else each.encode() for each in dictionary]
    entries = pa.array(letters, pa.binary()).view(pa.string())
    texts = pa.DictionaryArray.from_arrays(indices, entries, safe=False)
    for check in (parquet._check_texts, lambda each: each.validate(full=True)):
        with nullcontext() if whole else pytest.raises(pa.ArrowInvalid):
            check(texts)


def test_texts_get_their_own_results_in_any_order():
    asked = []

    def lengths(texts):
        asked.extend(texts.to_pylist())
        return np.array([len(each) for each in texts.to_pylist()])

    known = TextCache(lengths)
    for texts in (["a", "bb"], ["bb", "a"], ["a", "bb"], ["ccc", "a"], ["ccc"], [], ["dddd", "bb"], ["a", "bb"]):
        assert known.of(pa.array(texts, pa.string())).tolist() == [len(each) for each in texts]
    assert sorted(asked) == ["a", "bb", "ccc", "dddd"], "each is looked at once"


@pytest.mark.parametrize("groups", range(1, 40))
def test_every_group_of_rows_is_in_one_part(groups, monkeypatch):
    """No row is left out or counted twice, however many groups there are; few are not divided."""
    file = SimpleNamespace(metadata=SimpleNamespace(num_row_groups=groups))
    monkeypatch.setattr(parquet_file.pq, "ParquetFile", lambda path: nullcontext(file))
    parts = parquet_file._parts(Path("t.parquet"))
    assert [group for part in parts for group in part] == (list(range(groups)) if groups >= 8 else [])
    assert len(parts) <= 16


def test_small_groups_of_rows_are_left_to_sql(tmp_path, seen, monkeypatch):
    pq.write_table(made(), path := tmp_path / "t.parquet", row_group_size=1000)
    monkeypatch.setattr(parquet_file, "_MIN_GROUP", 1001)
    results_of(path, pieces=True)
    assert not seen


@pytest.mark.parametrize("rows_of_group", [ROWS, 100])
def test_a_reading_in_pieces_can_be_stopped(tmp_path, seen, rows_of_group):
    pq.write_table(made(), path := tmp_path / "t.parquet", row_group_size=rows_of_group)
    with open_table(path) as table:
        with pytest.raises(TableError, match="was stopped"):
            count(table, PLAN, PLAN.marginals, truncation_key=b"", progress=lambda part: part and table.interrupt())
        counts = count(table, PLAN, PLAN.marginals, truncation_key=b"")
        assert counts[0].sum() > 0, "it stops what runs, not what follows"
