"""Tables whose rows stay in another engine, reached through Ibis: connection, types, statements, cancellation.

Counting is pushed down to PostgreSQL, Spark and DuckDB. The rows of a table in any other engine are copied (`copying`).
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
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpengine.errors import TableError
from dpengine.sources.databases.dialects import DIALECTS
from dpengine.sources.relation import check_names
from dpengine.sources.table import Field, Table, hint_of_name, hint_of_type
from dpengine.translation.catalogue import _, mark

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["RemoteTable", "can_count"]

_DUCKDB_TYPES = {
    "string": "VARCHAR", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT", "float32": "FLOAT",
    "float64": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "time": "TIME", "uuid": "UUID", "unknown": "VARCHAR",
}  # fmt: skip
_FAULTS = {  # by the names of PostgreSQL's errors
    "InsufficientPrivilege": mark(
        "this account may not read the table; have it granted the right to (GRANT SELECT), and to its schema "
        "(GRANT USAGE)"
    ),
    "UndefinedFunction": mark(
        "the engine cannot compare or convert the values of a column, such as amounts of money; make a view that "
        "leaves this column out, or holds it as numbers or text, and open that"
    ),
    "UndefinedTable": mark("the table is no longer there; see that it was not dropped or renamed, and open it again"),
}
_INTERRUPTED = "spark.job.interruptOnCancel"
_RETRY, _PATIENCE = 0.2, 5.0  # seconds between two attempts to cancel, and until the last one


def can_count(source: ir.Table) -> bool:
    """Return whether counting can be pushed down to the engine of a table.

    Raises `TableError` for rows in memory, which statements that Ibis does not run itself know nothing of, and for a
    table of no engine.
    """
    from ibis.expr.operations import InMemoryTable

    if source.op().find(InMemoryTable):
        raise TableError(
            _("this Ibis table has rows in memory: give them as a DataFrame or an Arrow table, or write them to a "
              "table of the engine")
        )  # fmt: skip
    with _plain_errors():
        return source.get_backend().name in DIALECTS


@dataclass(frozen=True, slots=True)
class _Statement:
    """A running statement, and how to cancel it."""

    cancel: Callable[[], object]
    cancelled: threading.Event = field(default_factory=threading.Event)


class RemoteTable(Table):
    """Rows in another engine: column i of `columns` is ``c{i}`` of the subquery `rows`, which is in `dialect`."""

    def __init__(self, source: ir.Table) -> None:
        names = list(source.columns)
        check_names(names)
        self._backend = source.get_backend()
        self.dialect = DIALECTS[self._backend.name]
        self._lock = threading.RLock()
        self._ended = threading.Condition()
        self._running: _Statement | None = None
        self._open = True
        self._disconnect: Callable[[], object] = lambda: None
        types = {name: _type_name(source.schema()[name]) for name in names} | self._instants(source)
        # A decimal of unknown length and scale is read as the engine's text of it.
        cells = {
            f"c{i}": source[name].cast("string") if kind == "DECIMAL" or self._unread(source, name) else source[name]
            for i, (name, kind) in enumerate(types.items())
        }
        self.columns = tuple(
            Field(
                name,
                # That of a domain, or of an engine's own type, is not known: cells are read as the engine writes them.
                hint_of_name(name) if source[name].type().is_unknown() else hint_of_type(kind),
                "VARCHAR" if kind == "DECIMAL" else kind,
            )
            for name, kind in types.items()
        )
        with _plain_errors():
            self.rows = f"({self._backend.compile(source.select(**cells))}) AS t"

    def _unread(self, source: ir.Table, name: str) -> bool:
        """Whether Ibis reads a column as PostGIS would, where the engine has no PostGIS: its text is read instead."""
        if not source[name].type().is_geospatial():
            return False
        try:
            with _plain_errors():
                self._backend.to_pyarrow(source.select(name).limit(0))
        except TableError:
            return True
        return False

    def _instants(self, source: ir.Table) -> dict[str, str]:
        """Return the types of columns of instants, which Ibis does not tell from local times in Spark."""
        if self._backend.name != "pyspark":
            return {}
        with _plain_errors():
            kinds = self._backend.raw_sql(self._backend.compile(source)).dtypes
        return {name: "TIMESTAMP WITH TIME ZONE" for name, kind in kinds if kind == "timestamp"}

    def close(self) -> None:
        """Cancel the running statement and close the table; the connection stays open, unless the table owns it."""
        self._open = False
        while not self._lock.acquire(timeout=_RETRY):
            self.interrupt()
        try:
            self._disconnect()
        finally:
            self._lock.release()

    def own_connection(self, disconnect: Callable[[], object]) -> None:
        """Take over the connection: `disconnect` ends it when the table is closed or collected."""
        self._disconnect = weakref.finalize(self, disconnect)

    def interrupt(self) -> None:
        """Cancel the statement that another thread waits for; the connection stays usable.

        The attempt is repeated for a few seconds until the statement has ended, since an engine between two parts of
        its work ignores it.
        """
        with self._ended:
            statement, until = self._running, time.monotonic() + _PATIENCE
            while statement is not None and self._running is statement and time.monotonic() < until:
                statement.cancelled.set()
                # An engine that cannot be reached will not answer the other thread either.
                with suppress(TableError), _plain_errors():
                    statement.cancel()
                self._ended.wait(_RETRY)

    def ask(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        """Run a query and return its answer; `types` gives Ibis's type of each of its columns. Raises `TableError`."""
        with self._lock:
            if not self._open:
                raise TableError(_("the table is closed; open it again"))
            ask = self._ask_spark if self._backend.name == "pyspark" else self._ask_sql
            return ask(statement, types)

    def _ask_sql(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        import ibis

        connection = self._backend.con
        stop = connection.interrupt if self._backend.name == "duckdb" else partial(connection.cancel_safe, timeout=5.0)
        with self._cancellable(stop):
            return self._backend.sql(statement, schema=ibis.schema(dict(types))).to_pyarrow()

    def _ask_spark(self, statement: str, types: Mapping[str, str]) -> pa.Table:
        """Run the statement as written; Ibis would re-parse it and alter literals."""
        with _plain_errors():
            frame = self._backend.raw_sql(statement)
        with _spark_jobs(frame.sparkSession) as cancel, self._cancellable(cancel):
            answer = [tuple(row) for row in frame.collect()]
        columns = zip(*answer, strict=True) if answer else [()] * len(types)
        kinds = [pa.int64() if kind == "int64" else pa.string() for kind in types.values()]
        return pa.table([pa.array(*each) for each in zip(columns, kinds, strict=True)], list(types))

    @contextmanager
    def _cancellable(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Run a statement that `interrupt` can cancel; a late attempt never reaches the next statement."""
        self._running = statement = _Statement(cancel)
        try:
            with _plain_errors():
                yield
        except TableError:
            if statement.cancelled.is_set():
                raise TableError(
                    _("the reading was stopped, and nothing was counted; ask again to start over")
                ) from None
            raise
        finally:
            with self._ended:
                self._running = None
                self._ended.notify_all()


@contextmanager
def _spark_jobs(session: Any) -> Iterator[Callable[[], object]]:
    """Yield a function that cancels only the jobs of this thread, since others share the session."""
    tag = f"private-release-{secrets.token_hex(8)}"
    if not hasattr(session, "sparkContext"):  # Spark Connect: the session is in another process
        session.addTag(tag)
        try:
            yield partial(session.interruptTag, tag)
        finally:
            session.removeTag(tag)
        return
    context = session.sparkContext
    context.addJobTag(tag)
    before = context.getLocalProperty(_INTERRUPTED)
    context.setLocalProperty(_INTERRUPTED, "true")  # otherwise its tasks go on after it is cancelled
    try:
        yield partial(context.cancelJobsWithTag, tag)
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(_INTERRUPTED, before)


def _type_name(dtype: Any) -> str:
    """Return the DuckDB type of an Ibis type; a type that cannot be counted keeps Ibis's name."""
    if dtype.is_decimal():
        return f"DECIMAL({dtype.precision},{dtype.scale})" if dtype.precision and dtype.scale is not None else "DECIMAL"
    if dtype.is_timestamp():
        return "TIMESTAMP WITH TIME ZONE" if dtype.timezone else "TIMESTAMP"
    return _DUCKDB_TYPES.get(type(dtype).__name__.lower(), str(dtype).upper())


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Replace an engine's errors, which may quote rows and addresses, by a `TableError`."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - each engine has errors of its own
        if known := _FAULTS.get(type(error).__name__):
            raise TableError(_(known)) from None
        raise TableError(
            _(
                "the engine did not answer ({fault}); see that it runs and that this account may read the table",
                fault=type(error).__name__,
            )
        ) from None
