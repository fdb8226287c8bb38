"""Tables whose rows stay in an engine elsewhere, reached through Ibis: only sums of rows leave it.

An engine is sent one projection of its rows to small whole numbers, and one statement that groups them
(``GROUPING SETS``). PostgreSQL, Spark and DuckDB are known well enough for that; the rows of a
table in any other engine are copied here, to a private file that goes when the table is closed, and counted
like those of a file.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpengine import arrow
from dpengine.counting.encode_remote import Pushed, code_of, identity, text_of, utc
from dpengine.errors import TableError
from dpengine.sources.dialects import DIALECTS, Dialect
from dpengine.sources.relation import check_names
from dpengine.sources.table import Field, Table, hint_of_type
from dpengine.spec.domain import Column
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["RemoteTable", "beyond", "copied", "count", "distinct_texts", "known", "row_count"]

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
        self.sql = DIALECTS[self._backend.name]
        self._lock = threading.RLock()
        self._ended = threading.Condition()
        self._under_way: _Statement | None = None
        self._open = True
        self._leave: Callable[[], object] = bool
        self._recognised: bytes | None = None
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

    def check_unchanged(self) -> None:
        """Raise `TableError` where the rows are not those that `digest` recognised: all are looked at again."""
        if self._recognised is None or self._digest() == self._recognised:
            return
        self._recognised = None
        raise TableError("the table has changed since it was recognised; try again when nobody writes to it")

    def digest(self) -> bytes:
        """32 bytes that identify the content, worked out where the rows are; see `counting.count.digest`."""
        if self._recognised is None:
            self._recognised = self._digest()
        return self._recognised

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

    def _digest(self) -> bytes:
        sql = self.sql
        order = sorted(range(len(self.columns)), key=lambda i: self.columns[i].name)
        cells = [utc(sql.name(f"c{i}"), self.columns[i].type, sql) for i in order]
        texts = [f"coalesce({text_of(cell, sql)}, '') AS {sql.name(f't{k}')}" for k, cell in enumerate(cells)]
        names = [sql.name(f"t{k}") for k in range(len(order))]
        row = " || ".join(f"{text_of(sql.bytes.format(x=name), sql)} || ':' || {name}" for name in names)
        # 128 bits as four words of four bytes each, the last byte first.
        words = [
            sql.hexadecimal.format(
                x="(" + " || ".join(f"substr(h, {8 * w + 2 * b + 1}, 2)" for b in (3, 2, 1, 0)) + ")"
            )
            for w in range(4)
        ]
        sums = [
            f"CAST(sum(CAST({word} AS DECIMAL(38, 0))) AS {sql.text}) AS {sql.name(f's{w}')}"
            for w, word in enumerate(words)
        ]
        hashed = f"SELECT md5({row}) AS h FROM (SELECT {', '.join(texts)} FROM {self.rows}) AS texts"
        answer = self.ask(
            f"SELECT count(*) AS {sql.name('n')}, {', '.join(sums)} FROM ({hashed}) AS hashed",
            {"n": "int64", **{f"s{w}": "string" for w in range(4)}},
        ).to_pylist()[0]
        added = sum(int((answer[f"s{w}"] or "0").partition(".")[0]) << 32 * w for w in range(4)) % 2**128
        listed = [self.columns[i].name for i in order]
        return hashlib.sha256(json.dumps([listed, answer["n"], f"{added:032x}"]).encode()).digest()


def beyond(table: RemoteTable, columns: Sequence[Column]) -> list[str]:
    """What the engine of the table cannot be asked for, one sentence each."""
    types = {field.name: field.type for field in table.columns}
    faults: list[str] = []
    for column in columns:
        try:
            code_of(column, "c", types.get(column.name, "VARCHAR"), table.sql)
        except TableError as error:
            faults += map(str, error.faults)
    return faults


def row_count(table: RemoteTable) -> int:
    """The exact number of rows."""
    return int(table.ask(f"SELECT count(*) AS n FROM {table.rows}", {"n": "int64"}).to_pylist()[0]["n"])


def distinct_texts(table: RemoteTable, place: int, most: int) -> list[str]:
    """Up to ``most`` different texts of a column, in the engine's order."""
    own = text_of(table.sql.name(f"c{place}"), table.sql)
    query = f"SELECT DISTINCT {own} AS v FROM {table.rows} WHERE trim({own}) <> '' ORDER BY v LIMIT {most:d}"
    return [row["v"] for row in table.ask(query, {"v": "string"}).to_pylist()]


def count(
    table: RemoteTable, plan: Plan, joints: Sequence[Sequence[str]], truncation_key: bytes
) -> list[NDArray[np.int64]]:
    """Exact counts as `counting.count` gives them: for each of ``joints`` of columns, which are in the
    order of the alphabet, an array of the shape of its columns.
    """
    sql, names = table.sql, sorted(plan.used)
    cell = {column.name: (sql.name(f"c{i}"), column.type) for i, column in enumerate(table.columns)}
    codes = [code_of(plan.column(name), *cell[name], sql, str(k)) for k, name in enumerate(names)]
    person = None if plan.unit.id is None else identity(*cell[plan.unit.id], sql)
    coded = _coded(codes, person, table.rows, sql)
    if person is not None:
        coded = _bounded(coded, len(codes), plan.unit.rows, truncation_key, sql)
    places = [[names.index(name) for name in joint] for joint in joints]
    used = sorted({place for joint in places for place in joint})
    sets = ", ".join(f"({', '.join(sql.name(f'k{place}') for place in joint)})" for joint in places)
    shown = [f"coalesce(CAST({sql.name(f'k{place}')} AS BIGINT), -1) AS {sql.name(f'g{place}')}" for place in used]
    shown.append(f"count(*) AS {sql.name('n')}")
    answer = table.ask(
        f"SELECT {', '.join(shown)} FROM ({coded}) AS d GROUP BY GROUPING SETS ({sets})",
        {**{f"g{place}": "int64" for place in used}, "n": "int64"},
    )
    columns = {name: arrow.to_numpy(answer.column(name)).astype(np.int64) for name in answer.column_names}
    counted = []
    for joint in places:
        own = np.ones(answer.num_rows, dtype=bool)  # the rows of the answer that are of this grouping set
        for place in used:
            own &= (columns[f"g{place}"] >= 0) == (place in joint)
        total = np.zeros([plan.column(names[place]).size for place in joint], dtype=np.int64)
        total[tuple(columns[f"g{place}"][own] for place in joint)] = columns["n"][own]
        counted.append(total)
    return counted


def _coded(codes: Sequence[Pushed], person: str | None, rows: str, sql: Dialect) -> str:
    """A query with columns k0, k1, … of codes (and ``person``), without the rows that count nowhere."""
    for level in range(max(len(column.layers) for column in codes)):
        layers = [column.layers[level] for column in codes if level < len(column.layers)]
        added = [f"{cell} AS {name}" for layer in layers for name, cell in layer.items()]
        rows = f"(SELECT *, {', '.join(added)} FROM {rows}{sql.fence}) AS t"
    shown = [f"{column.code} AS {sql.name(f'k{k}')}" for k, column in enumerate(codes)]
    where = [f"{sql.name(f'k{k}')} >= 0" for k in range(len(codes))]
    if person is not None:
        shown.append(f"{person} AS person")
        where.append("person IS NOT NULL")
    return f"SELECT * FROM (SELECT {', '.join(shown)} FROM {rows}{sql.fence}) AS coded WHERE {' AND '.join(where)}"


def _bounded(coded: str, width: int, rows: int, key: bytes, sql: Dialect) -> str:
    """The same choice as `counting.contribution_bounding.bounded` makes: the same hash of the same text."""
    names = [sql.name(f"k{k}") for k in range(width)]
    parts = [*(text_of(name, sql) for name in names), text_of("copy", sql), "person"]
    hashed = (
        f"md5({sql.literal(hashlib.sha256(key).hexdigest())}" + "".join(f" || ',' || {part}" for part in parts) + ")"
    )
    listed = ", ".join(names)
    copy = f"row_number() OVER (PARTITION BY person, {listed} ORDER BY {names[0]}) AS copy"
    place = f"row_number() OVER (PARTITION BY person ORDER BY {hashed}{sql.binary}) AS place"
    copies = f"SELECT *, {copy} FROM ({coded}) AS a"
    return f"SELECT {listed} FROM (SELECT {listed}, {place} FROM ({copies}) AS b) AS c WHERE place <= {rows}"


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
