"""Tables in memory are counted and digested in pieces with the same result as by SQL."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dpengine.counting.count import count, digest
from dpengine.counting.pieces import arrow_table
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan
from tests.counting.test_pieces_of_parquet import COLUMNS, PLAN, ROWS, TEXTS, made, results_of

OBJECTS = ["yes", "day"]  # in pandas, objects, which are mixed types to the engine
OF_PANDAS = Plan(
    dataset="d", epsilon="1", strategy="direct", columns=[each for each in COLUMNS if each["name"] not in OBJECTS],
    tables=[["y", "listed"], ["large", "none"], ["x", "age"], ["unsigned", "y"]],
)  # fmt: skip

DICTIONARY_WITH_NULL = pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * (ROWS // 3)), pa.array(["a", None]))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of the pieces that were made, which are small."""
    rows: list[int] = []
    made_by = arrow_table._Piece.__init__

    def noting(self: Any, batch: pa.RecordBatch, *rest: Any) -> None:
        rows.append(batch.num_rows)
        made_by(self, batch, *rest)

    monkeypatch.setattr(arrow_table, "_ROWS", 700)
    monkeypatch.setattr(arrow_table._Piece, "__init__", noting)
    return rows


TABLES = {
    "Arrow": made(),
    "pieces of their own": pa.concat_tables([made()[:1000], made()[1000:1003], made()[1003:]]),
    "a null in a dictionary": made({"listed": DICTIONARY_WITH_NULL}),
    "many different texts": made({"more": pa.array([f"t{k}.5" for k in range(ROWS)])}),
    "numbers in a dictionary": made({"age": made()["age"].dictionary_encode()}),
    "pandas": made().to_pandas().drop(columns=OBJECTS),
    "categories": made().to_pandas().drop(columns=OBJECTS).assign(y=pd.Categorical(made()["y"].to_pylist())),
    "no rows": made()[:0],
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_pieces_are_counted_and_digested_as_by_sql(seen, table):
    plan = OF_PANDAS if isinstance(table, pd.DataFrame) else PLAN
    first = results_of(table, pieces=True, plan=plan)
    assert bool(seen) == bool(len(table))
    seen.clear()
    assert first == results_of(table, pieces=False, plan=plan)
    assert not seen


LEFT_TO_SQL = {
    "a type that is hashed as text": pa.array([1.5] * ROWS, pa.float32()),
    "times": pa.array([0] * ROWS, pa.timestamp("us")),
    "days in milliseconds": pa.array([0] * ROWS, pa.date64()),
    "such days in a dictionary": pa.array([0] * ROWS, pa.date64()).dictionary_encode(),
    "bytes": pa.array([b"a"] * ROWS),
    "nested": pa.array([{"a": 1}] * ROWS),
}


@pytest.mark.parametrize("column", LEFT_TO_SQL.values(), ids=LEFT_TO_SQL)
def test_other_columns_are_left_to_sql(seen, column):
    with open_table(made({"more": column})) as table:
        digest(table)
        assert not seen
        count(table, PLAN, PLAN.marginals, truncation_key=b"")
        assert seen, "a column that is not counted does not matter"


def test_many_different_texts_are_counted_by_sql(seen):
    table = made({"y": pa.array([f"t{k}" if k % 2 else TEXTS[k % 5] for k in range(ROWS)])})
    first = results_of(table, pieces=True)
    assert first == results_of(table, pieces=False)


@pytest.mark.nightly
def test_many_different_texts_at_the_end_are_counted_by_sql_too(seen):
    """In rows in order of frequency, the first texts are few; those of each later piece would be encoded by SQL."""
    texts = [f"t{k // 700 if k < ROWS // 2 else k}" for k in range(ROWS)]
    table = made({"y": pa.array(texts)})
    by_sql = results_of(table, pieces=False)
    with open_table(table) as opened:
        count(opened, PLAN, PLAN.marginals, truncation_key=b"")
    assert not seen
    assert results_of(table, pieces=True) == by_sql


def test_a_reading_in_pieces_can_be_stopped(seen):
    with open_table(made()) as table:

        def stop(part: float) -> None:
            table.interrupt()

        with pytest.raises(TableError, match="stopped"):
            count(table, PLAN, PLAN.marginals, truncation_key=b"", progress=stop)
        assert count(table, PLAN, PLAN.marginals, truncation_key=b"")
