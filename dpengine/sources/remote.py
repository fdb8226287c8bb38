"""Tables whose rows stay in an engine elsewhere, reached through Ibis: only sums of rows leave it.

An engine is sent one projection of its rows to small whole numbers, and one statement that groups them
(``GROUPING SETS``). PostgreSQL, Spark and DuckDB are known well enough for that; the rows of a
table in any other engine are copied here, to a private file that goes when the table is closed, and counted
like those of a file.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpengine.errors import TableError
from dpengine.sources.dialects import DIALECTS
from dpengine.sources.relation import check_names
from dpengine.sources.table import Field, Table, hint_of_type

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["RemoteTable", "copied", "known"]

_WORDS = {
    "string": "VARCHAR", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT", "float32": "FLOAT",
    "float64": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "time": "TIME", "uuid": "UUID", "unknown": "VARCHAR",
}  # fmt: skip
_INTERRUPTED = "spark.job.interruptOnCancel"
_AGAIN, _PATIENCE = 0.2, 5.0  # seconds between two orders to stop, and for as long as they are given


def known(source: ir.Table) -> bool:
    """Whether the engine of the table can be asked to count."""
    return source.get_backend().name in DIALECTS


@dataclass(frozen=True, slots=True)
class _Statement:
    """What an engine is at work on, and how it is told to stop."""

    cancel: Callable[[], object]
    stopped: threading.Event = field(default_factory=threading.Event)


class RemoteTable(Table):
    """Rows in an engine elsewhere: column i of ``columns`` is ``c{i}`` of the subquery ``rows``."""

    def __init__(self, source: ir.Table) -> None:
        names = list(source.columns)
        check_names(names)
        self._backend = source.get_backend()
        self.dialect = DIALECTS[self._backend.name]
        self._lock = threading.RLock()
        self._ended = threading.Condition()
        self._under_way: _Statement | None = None
        self._open = True
        self._leave: Callable[[], object] = bool
        types = {name: _type_name(source.schema()[name]) for name in names}
        # A number of any length and scale is read as the text that the engine writes of it.
        cells = {
            f"c{i}": source[name].cast("string") if kind == "DECIMAL" else source[name]
            for i, (name, kind) in enumerate(types.items())
        }
        self.columns = tuple(
            Field(name, hint_of_type(kind), "VARCHAR" if kind == "DECIMAL" else kind) for name, kind in types.items()
        )
        with _plainly():
            self.rows = f"({self._backend.compile(source.select(**cells))}) AS t"

    def close(self) -> None:
        """Break off what is read, and let go of the table; the connection stays open, unless it was `given`."""
        self._open = False
        while not self._lock.acquire(timeout=_AGAIN):
            self.interrupt()
        try:
            self._leave()
        finally:
            self._lock.release()

    def given(self, leave: Callable[[], object]) -> None:
        """Take over the connection, which ``leave`` ends: with the table, or when that is forgotten."""
        self._leave = weakref.finalize(self, leave)

    def interrupt(self) -> None:
        """Break off the statement that another thread waits for; the connection stays good for others.

        The order is repeated until the statement has ended, for a few seconds: an engine that is between two parts
        of its work does not hear it.
        """
        with self._ended:
            meant, until = self._under_way, time.monotonic() + _PATIENCE
            while meant is not None and self._under_way is meant and time.monotonic() < until:
                meant.stopped.set()
                with suppress(TableError), _plainly():  # out of reach: it will not answer the other thread either
                    meant.cancel()
                self._ended.wait(_AGAIN)

    def ask(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        """The answer to a query whose columns are of these types, in Ibis's words, by their names."""
        with self._lock:
            if not self._open:
                raise TableError("the table is closed; open it again")
            ask = self._ask_spark if self._backend.name == "pyspark" else self._ask_sql
            return ask(statement, types)

    def _ask_sql(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        import ibis

        connection = self._backend.con
        stop = connection.interrupt if self._backend.name == "duckdb" else partial(connection.cancel_safe, timeout=5.0)
        with self._breakable(stop):
            return self._backend.sql(statement, schema=ibis.schema(dict(types))).to_pyarrow()

    def _ask_spark(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        """As it is: Ibis would write its literals anew, and change some."""
        with _plainly():
            frame = self._backend.raw_sql(statement)
        context, tag = frame.sparkSession.sparkContext, f"private-release-{secrets.token_hex(8)}"
        context.addJobTag(tag)  # what this thread runs, and nobody else's work in the session that all share
        before = context.getLocalProperty(_INTERRUPTED)
        context.setLocalProperty(_INTERRUPTED, "true")  # else tasks go on though nobody waits for them
        try:
            with self._breakable(partial(context.cancelJobsWithTag, tag)):
                answer = [tuple(row) for row in frame.collect()]
        finally:
            context.removeJobTag(tag)
            context.setLocalProperty(_INTERRUPTED, before)
        columns = zip(*answer, strict=True) if answer else [()] * len(types)
        kinds = [pa.int64() if kind == "int64" else pa.string() for kind in types.values()]
        return pa.table([pa.array(*each) for each in zip(columns, kinds, strict=True)], list(types))

    @contextmanager
    def _breakable(self, cancel: Callable[[], object]) -> Iterator[None]:
        """A statement that `interrupt` can break off; no order to stop it reaches the next one."""
        self._under_way = statement = _Statement(cancel)
        try:
            with _plainly():
                yield
        except TableError:
            if statement.stopped.is_set():
                raise TableError("the reading was stopped, and nothing was counted; ask again to start over") from None
            raise
        finally:
            with self._ended:
                self._under_way = None
                self._ended.notify_all()


def _type_name(dtype: Any) -> str:
    """A type of Ibis in DuckDB's words; what cannot be counted keeps Ibis's."""
    if dtype.is_decimal():
        return f"DECIMAL({dtype.precision},{dtype.scale})" if dtype.precision and dtype.scale is not None else "DECIMAL"
    if dtype.is_timestamp():
        return "TIMESTAMP WITH TIME ZONE" if dtype.timezone else "TIMESTAMP"
    return _WORDS.get(type(dtype).__name__.lower(), str(dtype).upper())


@contextmanager
def _plainly() -> Iterator[None]:
    """Tell an engine's errors in our own words: theirs may quote rows and addresses."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - each engine has errors of its own
        raise TableError(
            f"the engine did not answer ({type(error).__name__}); see that it runs and that this account may read "
            "the table"
        ) from None


def copied(source: ir.Table, folder: Path) -> Path:
    """The rows of a table as a Parquet file in ``folder``, batch by batch. Raises `TableError`."""
    path = folder / "copied.parquet"
    with _plainly():
        batches = source.to_pyarrow_batches()
        with pq.ParquetWriter(path, batches.schema) as file:
            for batch in batches:
                file.write_batch(batch)
    return path
