"""Copy the rows of a table in an engine that cannot count to a private file, by Ibis.

Such an engine runs only one statement with plain columns and casts to text, so its collation, time zone and order of
values do not matter: the copy is counted like any file. `ENGINES` lists the engines for which this is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpengine.errors import TableError
from dpengine.sources.cells import MIXED, object_array
from dpengine.sources.relation import check_names
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["ENGINES", "copy_rows", "says_types"]

# Ibis names of engines: those that the tests run, and those whose statement is only checked as text.
ENGINES = {
    "tested": {"sqlite": "SQLite", "clickhouse": "ClickHouse", "datafusion": "DataFusion"},
    "as text": {
        "bigquery": "BigQuery", "snowflake": "Snowflake", "databricks": "Databricks", "mssql": "SQL Server",
        "trino": "Trino",
    },
}  # fmt: skip
_TOGETHER = 50_000  # rows of SQLite
_MAX_DIGITS = 38  # of a decimal that the copy can hold as one


def says_types(source: ir.Table) -> bool:
    """Return whether the engine enforces the declared types of columns; SQLite does not."""
    return bool(source.get_backend().name != "sqlite")


def copy_rows(source: ir.Table, folder: Path) -> Path:
    """Copy the rows of a table to a Parquet file in `folder`, batch by batch. Raises `TableError`."""
    check_names(list(source.columns))
    path = folder / "copied.parquet"
    with _plain_errors(source.get_backend().name):
        schema, batches = _typed_rows(source) if says_types(source) else _sqlite_rows(source)
        with pq.ParquetWriter(path, schema) as file:
            for batch in batches:
                file.write_batch(batch)
    return path


def select(source: ir.Table) -> ir.Table:
    """Return the columns of a table as c0, c1, …, with unsafe types cast to text.

    Ibis reads some engines through pandas. There, a missing value turns a batch of integers into floats, which changes
    those above 2^53; decimals become floats too. In SQL Server it writes a missing boolean as false, unless it is cast.
    """
    return source.select(
        **{
            f"c{i}": source[name].cast("string") if _by_text(kind) else source[name]
            for i, (name, kind) in enumerate(source.schema().items())
        }
    )


def _by_text(kind: Any) -> bool:
    return bool(
        kind.is_boolean() or kind.is_decimal() or kind.is_uuid() or str(kind).lstrip("!") in ("int64", "uint64")
    )


def _typed_rows(source: ir.Table) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    batches = select(source).to_pyarrow_batches()
    kinds = [
        _kind(kind) if _by_text(kind) else each.type
        for kind, each in zip(source.schema().types, batches.schema, strict=True)
    ]
    schema = pa.schema(list(zip(source.columns, kinds, strict=True)))
    return schema, (
        pa.record_batch([column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)], schema)
        for batch in batches
    )


def _kind(kind: Any) -> pa.DataType:
    """Return the type to which the texts of a column are converted back; UUIDs and unbounded decimals stay texts."""
    if kind.is_uuid() or (kind.is_decimal() and not (kind.precision and kind.precision <= _MAX_DIGITS)):
        return pa.string()
    return kind.to_pyarrow()


def _sqlite_rows(source: ir.Table) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Read each cell by its own type, since SQLite stores any value in any column, whatever its declared type."""
    schema = pa.schema([(name, MIXED) for name in source.columns])
    booleans = [kind.is_boolean() for kind in source.schema().types]
    return schema, _sqlite_batches(source, schema, booleans)


def _sqlite_batches(source: ir.Table, schema: pa.Schema, booleans: list[bool]) -> Iterator[pa.RecordBatch]:
    backend = source.get_backend()
    connection: Any = backend.con
    before = connection.text_factory
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")  # one invalid text would stop everything
    try:
        cursor = backend.raw_sql(backend.compile(source))
        while rows := cursor.fetchmany(_TOGETHER):
            columns = zip(zip(*rows, strict=True), booleans, strict=True)
            cells = [map(_as_boolean, column) if boolean else column for column, boolean in columns]
            yield pa.record_batch([object_array(column, mixed=True) for column in cells], schema=schema)
    finally:
        connection.text_factory = before


def _as_boolean(cell: object) -> object:
    return bool(cell) if cell in (0, 1) else cell


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Replace an engine's errors, which may quote rows and addresses, by a `TableError`."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - each engine has errors of its own
        raise TableError(
            _(
                "the rows could not be copied from the engine {name!r} ({fault}); see that it runs and that this "
                "account may read the table, or export it to a Parquet file. Copies of {tested} are tested; those of "
                "{checked} are checked as SQL text only",
                name=name,
                fault=type(error).__name__,
                tested=", ".join(ENGINES["tested"].values()),
                checked=", ".join(ENGINES["as text"].values()),
            )
        ) from None
