"""Arrow tables put into another engine, as Ibis tables."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine.sql import identifier

# Ibis calls the engines it drives by names that these have since given up; PySpark leaves its sockets for
# the garbage collector to close. For `pytestmark`.
TOLERATED = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
_POSTGRES_TYPES = {
    pa.string(): "text", pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.float32(): "real",
    pa.float64(): "double precision", pa.bool_(): "boolean", pa.date32(): "date", pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz", pa.decimal128(9, 2): "numeric(9, 2)",
}  # fmt: skip


def in_duckdb(table: pa.Table) -> Any:
    return ibis.duckdb.connect().create_table("rows of ours", table)


def in_postgres(table: pa.Table, address: str) -> Any:
    name = f"t{secrets.token_hex(8)}"
    columns = ", ".join(f'"{field.name}" {_POSTGRES_TYPES[field.type]}' for field in table.schema)
    with psycopg.connect(address) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return ibis.connect(address).table(name)


def in_spark(table: pa.Table, session: Any, folder: Path) -> Any:
    path = folder / f"{secrets.token_hex(4)}.parquet"
    pq.write_table(table, path)
    return ibis.pyspark.connect(session).read_parquet(path)


_SQLITE_TYPES = {
    pa.string(): "TEXT", pa.int64(): "BIGINT", pa.float64(): "REAL", pa.bool_(): "BOOLEAN", pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP", pa.timestamp("us", "UTC"): "TIMESTAMPTZ", pa.decimal128(9, 2): "DECIMAL(9, 2)",
}  # fmt: skip


def in_sqlite(table: pa.Table, folder: Path) -> Any:
    path = folder / f"{secrets.token_hex(4)}.db"
    columns = ", ".join(f"{identifier(field.name)} {_SQLITE_TYPES[field.type]}" for field in table.schema)
    rows = [tuple(map(_in_sqlite, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * table.num_columns)})", rows)
        connection.commit()
    return ibis.sqlite.connect(path).table("t")


def _in_sqlite(value: object) -> object:
    """A value as programs store it there: times and decimals as texts."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def in_clickhouse(table: pa.Table, backend: Any, folder: Path) -> Any:
    path, name = folder / f"{secrets.token_hex(4)}.parquet", f"t{secrets.token_hex(8)}"
    pq.write_table(table, path)
    backend.raw_sql(f"CREATE TABLE {name} ENGINE = Memory AS SELECT * FROM file('{path}')")
    return backend.table(name)


def in_datafusion(table: pa.Table) -> Any:
    return ibis.datafusion.connect().create_table(f"t{secrets.token_hex(8)}", table)
