"""Rows of engines that do not count here are copied: the same counts as here, of whatever the rows hold.

ClickHouse, DataFusion and Spark Connect (which does count) are in an environment of their own (`tests/engines.txt`),
which the nightly run makes; there this file runs too. For engines that cannot run here, the statement is checked as
text.
"""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from ibis.backends.sql import compilers
from sqlglot import expressions as sql

from dpengine.counting.count import count, digest
from dpengine.errors import TableError
from dpengine.measure.strategy import decide
from dpengine.sources import connections
from dpengine.sources.databases.copying import ENGINES, select
from dpengine.sources.open import open_table
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan
from tests import engines, ibis_tables

pytestmark = ibis_tables.TOLERATED

CANARY = "ZZ_CANARY_7f3a"
ODD = "a \"b\" [c] `d` 'e'; --"  # a name
HEAVY = [pytest.param(name, marks=pytest.mark.engines) for name in ("clickhouse", "datafusion", "spark connect")]


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[Any]:
    with engines.clickhouse() as backend:
        yield backend


@pytest.fixture(scope="module")
def spark_connect() -> Iterator[Any]:
    with engines.spark(connect=True) as session:
        yield session


@pytest.fixture(params=["sqlite", *HEAVY])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table], Any]:
    """A function from an Arrow table to an Ibis table in an engine that does not count here."""

    def put(table: pa.Table) -> Any:
        match request.param:
            case "sqlite":
                return ibis_tables.in_sqlite(table, tmp_path)
            case "clickhouse":
                return ibis_tables.in_clickhouse(table, request.getfixturevalue("clickhouse"), tmp_path)
            case "spark connect":
                return ibis_tables.in_spark(table, request.getfixturevalue("spark_connect"), tmp_path)
        return ibis_tables.in_datafusion(table)

    return put


TEXTS = [
    None, "", " ", "\u00a0", "a", "A", " a ", "a  ", "é", "e\u0301", "É", "ß", "SS", "it's", 'say "so"', "NaN", "nan",
    "null", "1,5", "1E+1", "1e400", "0.30000000000000004", "18", "18.0", "017", "100", "9007199254740993", "=cmd",
    "2024-01-05", "2024-01-05T23:30:00-01:00", "1899-12-31", "日本", "\\", "a\nb", "'; DROP TABLE t; --", CANARY,
]  # fmt: skip
WHOLE = [None, 0, 1, -9, 17, 18, 100, 101, 2**53 + 1, 2**53 + 2, -(2**63), 2**63 - 1]
REAL = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 0.1, 0.1 + 0.2, 0.7, 18.0, 100.0, 100.00000000000001,
        -9.0, 1e300]  # fmt: skip
EXACT = [None, *map(Decimal, ("0.00", "0.10", "0.69", "0.70", "18.00", "100.00", "100.01", "-9.00", "9999999.99"))]
DAYS = [None, *map(dt.date.fromisoformat, ("1900-01-01", "2023-12-30", "2024-01-05", "2024-02-29", "2024-03-11"))]
TIMES = [None, *map(dt.datetime.fromisoformat, (
    "1900-01-01 00:00", "2023-12-29 23:59:59.999999", "2023-12-30", "2024-01-31 23:30", "2024-03-10 23:59:59.999999",
    "2024-03-31 02:30",
))]  # fmt: skip
CELLS = {
    ODD: (pa.string(), TEXTS), "whole": (pa.int64(), WHOLE), "real": (pa.float64(), REAL),
    "exact": (pa.decimal128(9, 2), EXACT), "truth": (pa.bool_(), [True, None, False]), "day": (pa.date32(), DAYS),
    "moment": (pa.timestamp("us"), TIMES), "zoned": (pa.timestamp("us", "UTC"), TIMES),
    "who": (pa.string(), ["p1", " p1", "p2", "P2", "1.0", "1", None, ""]),
}  # fmt: skip
ROWS = 120  # each value of each column several times, beside others of the other columns
AWKWARD = pa.table(
    {name: pa.array([values[i % len(values)] for i in range(ROWS)], type) for name, (type, values) in CELLS.items()}
)
CATEGORY = {"kind": "category", "values": ["a", "É", "ß", "18", "017", "0.7", "True", "9007199254740993", "2024-01-05",
                                           "it's", 'say "so"', "\\", "日本"], "missing_as": ["null"]}  # fmt: skip
NUMBER = {"kind": "number", "edges": ["-1", "0", "0.1", "0.3", "0.7", "18", "100", 2**53 + 2, 2**54],
          "missing_as": ["-9"]}  # fmt: skip
DATE = {"kind": "date", "from": "2023-12-30", "to": "2024-03-10", "by": "month"}
AMOUNT = {"kind": "amount", "from": 0, "to": 100, "step": "0.5", "missing_as": ["-9"]}
YESNO = {"kind": "yesno"}
KINDS = {
    ODD: [CATEGORY, NUMBER, YESNO, DATE, AMOUNT], "whole": [CATEGORY, NUMBER, YESNO, AMOUNT],
    "real": [CATEGORY, NUMBER, YESNO, AMOUNT], "exact": [CATEGORY, NUMBER, YESNO, AMOUNT], "truth": [CATEGORY, YESNO],
    "day": [CATEGORY, DATE], "moment": [DATE], "zoned": [DATE],
}  # fmt: skip


def marginals(table: Table, plan: Plan) -> dict[str, Any]:
    how = decide(plan)
    counts = count(table, plan, how.marginals, truncation_key=b"any", tallies=how.tallies)
    return {", ".join(columns): each.tolist() for columns, each in zip(how.marginals, counts, strict=True)}


def test_awkward_cells_are_counted_as_they_are_here(elsewhere: Callable[[pa.Table], Any]) -> None:
    with open_table(AWKWARD) as here, open_table(elsewhere(AWKWARD)) as there:
        for name, kind in ((name, kind) for name, kinds in KINDS.items() for kind in kinds):
            columns = [{"name": name, **kind}, {"name": "truth" if name != "truth" else ODD, **YESNO}]
            tables: Any = [{"columns": [columns[1]["name"]], "mean": [name]}] if kind is AMOUNT else {"each": 2}
            plan = Plan(dataset="d", epsilon="1", strategy="direct", columns=columns, tables=tables)
            expected = marginals(here, plan)
            assert marginals(there, plan) == expected, (name, kind["kind"])
            assert np.count_nonzero([*expected.values()]) >= 4


def test_the_same_rows_and_cells_of_each_person_are_kept(elsewhere: Callable[[pa.Table], Any]) -> None:
    columns = [{"name": ODD, **CATEGORY}, {"name": "truth", **YESNO}]
    tables = [["truth"], {"columns": [ODD, "truth"], "distinct": True, "cells_per_person": 2}]
    unit = {"id": "who", "rows": 3}
    plan = Plan(dataset="d", epsilon="1", strategy="direct", columns=columns, tables=tables, unit=unit)
    with open_table(AWKWARD) as here, open_table(elsewhere(AWKWARD)) as there:
        rows, cells = (expected := marginals(here, plan)).values()
        assert marginals(there, plan) == expected
    assert 4 < np.sum(cells) <= 2 * 4 < np.sum(rows) <= 3 * 4


def test_a_copy_is_recognised_when_it_is_made_again(elsewhere: Callable[[pa.Table], Any]) -> None:
    there = elsewhere(AWKWARD)
    with open_table(there) as one, open_table(there) as again, open_table(elsewhere(AWKWARD.slice(1))) as other:
        assert digest(one) == digest(again) != digest(other)


@pytest.mark.engines
def test_a_statement_is_cancelled_by_spark_connect(spark_connect: Any) -> None:
    endless = ibis.pyspark.connect(spark_connect).sql("SELECT id % 100 AS x FROM range(100000000000)")
    with open_table(endless) as table, ThreadPoolExecutor(1) as pool:
        work = pool.submit(digest, table)
        time.sleep(3)
        table.interrupt()
        with pytest.raises(TableError, match="was stopped"):
            work.result(60)


# SQLite stores anything anywhere


def test_a_cell_of_sqlite_is_read_by_its_own_type_and_not_by_what_its_column_says(tmp_path: Path) -> None:
    """Ibis would round the decimal to 18.00, take the day number for 1970, and refuse the table for its words."""
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (n INTEGER, d DECIMAL(9, 2), day DATE, y BOOLEAN, first)")
        rows = [(18, "17.999", "2024-01-05", 1, 7), ("x", 18, 2460000.5, 2, "7"), (17.5, "word", "x", "no", "seven")]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO t VALUES (x'ff', NULL, x'ff', x'ff', CAST(x'ff' AS TEXT))")
    number = {"kind": "number", "edges": [0, 18, 20]}
    columns = [{"name": "n", **number}, {"name": "d", **number}, {"name": "day", **DATE}, {"name": "y", **YESNO},
               {"name": "first", "kind": "category", "values": ["7"]}]  # fmt: skip
    plan = Plan(dataset="d", epsilon="1", strategy="direct", columns=columns, tables={"each": 1})
    with open_table(ibis.sqlite.connect(tmp_path / "t.db").table("t")) as table:
        assert marginals(table, plan) == {
            "n": [1, 1, 2, 0], "d": [1, 1, 1, 1], "day": [0, 1, 0, 0, 3, 0], "y": [1, 1, 2, 0], "first": [2, 2, 0],
        }  # fmt: skip
        assert [column.kind_hint for column in table.columns] == ["number", "category", "date", "category", "category"]


# What cannot be copied


def test_an_unreadable_engine_is_refused_with_a_list_of_readable_ones(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute(f"CREATE TABLE brief AS SELECT '{CANARY}' AS x")
        source = ibis.sqlite.connect(tmp_path / "t.db").table("brief")
        connection.execute("DROP TABLE brief")
    with pytest.raises(TableError, match=r"'sqlite' \(.*SQLite, .* are tested; .* as SQL text only") as caught:
        open_table(source)
    assert not any(hidden in str(caught.value) for hidden in (CANARY, "brief", str(tmp_path)))


def test_for_an_unknown_engine_the_log_names_the_tested_ones(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(TableError, match="'registry' cannot be read just now"):
        connections.open_connection("registry", {"url": f"nosuch://reader:{CANARY}@db.example.org/t"}, "t")
    (record,) = caplog.records
    assert "tested are postgres://, pyspark://, duckdb://, sqlite://, clickhouse://" in record.getMessage()
    assert CANARY not in record.getMessage()


# Engines that do not run here

TYPES = {
    ODD: "string", "SELECT": "int64", "wide": "uint64", "exact": "decimal(9, 2)", "any": "decimal", "real": "float64",
    "truth": "boolean", "day": "date", "moment": "timestamp", "zoned": "timestamp('UTC')", "id": "uuid",
    "small": "int16",
}  # fmt: skip
COMPILERS = {
    "sqlite": "SQLite", "clickhouse": "ClickHouse", "datafusion": "DataFusion", "bigquery": "BigQuery",
    "snowflake": "Snowflake", "databricks": "Databricks", "mssql": "MSSQL", "trino": "Trino",
}  # fmt: skip


def test_every_engine_that_is_named_is_checked_here() -> None:
    assert {engine for engines in ENGINES.values() for engine in engines} == set(COMPILERS)


@pytest.mark.parametrize("engine", COMPILERS)
def test_the_statement_asks_for_plain_columns_and_for_texts_of_any_length(engine: str) -> None:
    """Every other expression might be another one in another engine: Ibis reads no plain truth value in SQL Server."""
    names = {
        name: type for name, type in TYPES.items() if name != ODD or engine != "bigquery"
    }  # it allows no such name
    compiler = getattr(compilers, f"{COMPILERS[engine]}Compiler")()
    text = compiler.to_sqlglot(select(ibis.table(names, name="our \"rows'"))).sql(dialect=compiler.dialect)
    statement = sqlglot.parse_one(text, read=compiler.dialect)
    assert statement.sql(dialect=compiler.dialect).lower() == text.lower()
    assert {type(part) for part in statement.args.values() if part} <= {list, sql.From}
    assert [table.name for table in statement.find_all(sql.Table)] == ["our \"rows'"]
    assert statement.named_selects == [f"c{i}" for i in range(len(names))]
    selected = [each.unalias() for each in statement.selects]
    columns = [each.this if isinstance(each, sql.Cast) else each for each in selected]
    assert [type(column) for column in columns] == [sql.Column] * len(names)
    assert [column.name for column in columns] == list(names)
    assert all(column.this.quoted for column in columns)
    cast = {column.name: each.to for each, column in zip(selected, columns, strict=True) if isinstance(each, sql.Cast)}
    assert set(cast) == {"SELECT", "wide", "exact", "any", "truth", "id"}
    for kind in cast.values():
        assert kind.is_type(*sql.DataType.TEXT_TYPES)
        assert [str(size).lower() for size in kind.expressions] in ([], ["max"])  # no text is cut off
