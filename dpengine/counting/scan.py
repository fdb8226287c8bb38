"""Count and digest the rows of a table opened here, in one stream of batches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from dpengine import arrow
from dpengine.array_types import Ints
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows, coded_rows
from dpengine.counting.encoding.coding import Coding
from dpengine.counting.encoding.local_sql import LISTS, code_of, identity, key_text
from dpengine.counting.encoding.numpy_lookup import BatchCoding, Codes, by_sql, coding_of
from dpengine.counting.fingerprint import HashedColumn, RowSums, hashed_columns
from dpengine.counting.joint_tables import JointTables
from dpengine.counting.pieces import arrow_table, parquet_file, text_file
from dpengine.counting.text_digest import digest_of_text_sums, text_sums
from dpengine.counting.totals import Totals
from dpengine.counting.universe_keys import counts_by_place, keys_query, universe_of
from dpengine.sources.databases.dialects import LOCAL
from dpengine.sources.mixed import text_of
from dpengine.sources.table import LocalTable, plain_errors
from dpengine.spec.domain import Category, Column, Date, Time
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Plan, Unit
from dpengine.sql import literal
from dpengine.translation.catalogue import _

__all__ = ["LocalRows", "prepared_connection"]

_BATCH = 1 << 15  # rows
_WORKERS = 4  # each holds a few batches
_BLOCK = 8 << 20  # bytes of the largest block that the C library keeps after it is freed
_KINDS = arrow_table, parquet_file, text_file  # kinds of tables that are counted in pieces


@dataclass(frozen=True, slots=True)
class LocalRows:
    """The rows of a table opened here: counts, digests and checks. `pushdown.RemoteRows` has the same methods."""

    table: LocalTable

    def faults(self, columns: Sequence[Column | Grid]) -> list[str]:
        """Return a sentence for each date format that the engine does not know."""
        of_times = (each for each in columns if isinstance(each, Date | Time))
        formats = {each.name: each.format for each in of_times if each.format is not None}
        return [
            _(
                "column {name}: the format {form} is not one of dates; try %d/%m/%Y",
                name=repr(name),
                form=repr(date_format),
            )
            for name, date_format in formats.items()
            if not self._knows(date_format)
        ]

    def _knows(self, date_format: str) -> bool:
        """Return whether the engine reads dates in a format."""
        import duckdb  # loaded by the connection

        with self.table.connection() as connection:
            try:
                connection.execute(f"SELECT try_strptime('', {literal(date_format)})").fetchall()
            except duckdb.Error:
                return False
        return True

    def count(
        self, plan: Plan, joints: JointTables, limit: RowLimit, key: bytes, progress: Callable[[float], None]
    ) -> list[Ints]:
        """Count the joint tables exactly; `limit` bounds the rows of each person, which `key` chooses."""
        if plan.unit.id is None:
            return self._read(joints, digest=False, progress=progress)[1]
        # The choice among a person's rows depends on their codes, so the engine needs all codes.
        codings = [code_of(column, *self._place_and_type(column.table_column)) for column in joints.columns]
        number, type_name = self._place_and_type(plan.unit.id)
        coded = coded_rows(codings, identity(number, type_name))
        totals = Totals([by_sql(coding) for coding in codings], joints)
        bounded = bounded_rows(coded, len(codings), limit, key, LOCAL, joints.places(limit.columns))
        self._scan(totals.columns, [totals], progress, bounded)
        return totals.counts

    def count_keys(self, column: Category, unit: Unit, key: bytes) -> tuple[Ints, Ints]:
        """Return the places of the keys that people have in the column's universe, in order, and their counts."""
        text = key_text(*self._place_and_type(column.name), points=universe_of(column).has_points)
        person = None if unit.id is None else identity(*self._place_and_type(unit.id))
        coded = coded_rows([Coding((), text, True)], person)
        query = keys_query(column, coded, None if person is None else RowLimit(unit.rows), key, LOCAL)
        with self.table.connection() as connection:
            keys = connection.execute(query).fetchall()
        return counts_by_place(column, keys)

    def digest(self) -> bytes:
        """Return the digest of the content (`fingerprint`)."""
        return self._read(None)[0]

    def digest_and_count(self, joints: JointTables) -> tuple[bytes, list[Ints]]:
        """Return the digest and the counts of the joint tables in one scan, for a unit of one row."""
        return self._read(joints)

    def digest_of_texts(self) -> bytes:
        """Return the digest that the same rows have in another engine."""
        with self.table.connection() as connection:
            rows, *sums = connection.execute(text_sums(self.table.columns, "rows", LOCAL)).fetchall()[0]
        return digest_of_text_sums(self.table.places, rows, [[each] for each in sums])

    def row_count(self) -> int:
        """Return the exact number of rows."""
        with self.table.connection() as connection:
            return int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])

    def distinct_texts(self, place: int, limit: int) -> list[str]:
        """Return up to `limit` different texts of a column, in the order of their code points."""
        text = text_of(f"c{place}", self.table.columns[place].type)
        query = f"SELECT DISTINCT {text} AS t FROM rows WHERE trim({text}) <> '' ORDER BY t LIMIT {limit:d}"
        with self.table.connection() as connection:
            return [row[0] for row in connection.execute(query).fetchall()]

    def check_unchanged(self) -> None:
        """Raise `TableError` if a file has changed since it was opened."""
        self.table.check_unchanged()

    def _place_and_type(self, name: str) -> tuple[int, str]:
        place = self.table.places[name]
        return place, self.table.columns[place].type

    def _read(
        self, joints: JointTables | None, *, digest: bool = True, progress: Callable[[float], None] = lambda part: None
    ) -> tuple[bytes, list[Ints]]:
        """Return the digest and the counts, each if asked for, from one scan: in pieces, unless rows need SQL."""
        places = self.table.places
        columns = [] if joints is None else [(places[each.table_column], each) for each in joints.columns]
        hashed = [place for _name, place in sorted(places.items())] if digest else []
        with plain_errors():
            try:
                of_kind = (kind.pieces_of(self.table, columns, hashed, self._codes_of_texts) for kind in _KINDS)
                if (pieces := next(filter(None, of_kind), None)) is not None:
                    return self._added_up(joints, pieces.codings, pieces.hashed, progress, pieces.batches)
            except (pa.ArrowException, OSError):
                pass  # for example a line with too few cells: the engine reports its number
        types = [column.type for column in self.table.columns]
        codings = [coding_of(column, place, types[place]) for place, column in columns]
        words = hashed_columns([(place, types[place]) for place in hashed], _listed(codings))
        return self._added_up(joints, codings, words, progress)

    def _added_up(
        self,
        joints: JointTables | None,
        codings: Sequence[BatchCoding],
        hashed: Sequence[HashedColumn],
        progress: Callable[[float], None],
        pieces: Iterator[Any] | None = None,
    ) -> tuple[bytes, list[Ints]]:
        """Scan the rows; return the digest of the `hashed` columns, if there are any, and the counts."""
        totals = [] if joints is None else [Totals(codings, joints)]
        sums = [RowSums(hashed)] if hashed else []
        self._scan([*codings, *hashed], [*totals, *sums], progress, pieces)
        for each in sums:
            self.table.histograms = each.histograms
        digests = (each.digest(self.table.places) for each in sums)
        return b"".join(digests), [one for each in totals for one in each.counts]

    def _codes_of_texts(self, column: BatchCoding, place: int, entries: Any) -> Codes:
        """Return the codes of some texts of a column, by SQL."""
        with prepared_connection(self.table, [column]) as connection:
            return _codes_of_all(connection, column, place, entries)

    def _scan(
        self,
        columns: Sequence[BatchCoding | HashedColumn],
        sums: Sequence[Totals | RowSums],
        progress: Callable[[float], None],
        rows: Iterator[Any] | str | None,
    ) -> None:
        """Stream all rows once; each of `sums` adds up the outputs of its own columns.

        `columns` are the columns of all `sums` in turn. `rows` are batches of the outputs of all `columns`, or SQL for
        them; by default the SQL of the columns.
        """
        sql, places = _query(columns)
        if rows is not None:
            places = list(range(len(places)))

        def add(batch: Any) -> None:
            arrays = iter([batch.column(place) for place in places])
            for each in sums:
                each.add(list(islice(arrays, sum(len(column.outputs) for column in each.columns))), batch.num_rows)

        def advance(done: int) -> None:
            progress(min(1.0, done / self.table.rows) if self.table.rows else 0.0)

        if rows is not None and not isinstance(rows, str):  # no engine is needed
            _work_through(rows, add, advance)
            return
        with prepared_connection(self.table, columns) as connection:
            _work_through(connection.sql(rows or sql).to_arrow_reader(_BATCH), add, advance)


@contextmanager
def prepared_connection(table: LocalTable, columns: Sequence[Coding | BatchCoding | HashedColumn]) -> Iterator[Any]:
    """Yield the table's connection with the columns' enumerations and functions registered."""
    with table.connection() as connection, ExitStack() as scratch:
        for column in columns:
            if not isinstance(column, HashedColumn):
                _register(connection, column, scratch)
        yield connection


def _register(connection: Any, coding: Coding | BatchCoding, scratch: ExitStack) -> None:
    for name, texts in coding.lists.items():
        # With 100 texts in the statement it takes 0.8 ms; as a query over an Arrow table of them, 3 ms. With 100,000 it
        # takes 0.1 s longer than the query.
        connection.execute(f"CREATE TEMP TYPE {name} AS ENUM ({', '.join(map(literal, texts))})")
        scratch.callback(connection.execute, f"DROP TYPE {name}")
    for name, function in coding.functions.items():
        connection.create_function(name, function, ["DOUBLE"], "BIGINT", type="arrow")
        scratch.callback(connection.remove_function, name)


def _listed(codings: Sequence[BatchCoding]) -> dict[int, Sequence[str]]:
    """Return the lists in which raw texts are looked up, by the column's place in the table."""
    listed: dict[int, Sequence[str]] = {}
    for coding in codings:
        for name, texts in coding.lists.items():
            kind, _, place = name.rpartition("_")
            if kind in LISTS and place.isdecimal() and texts:
                listed[int(place)] = texts
    return listed


def _query(columns: Sequence[BatchCoding | HashedColumn], source: str = "rows") -> tuple[str, list[int]]:
    """Return a query for the outputs of the columns, and the place of each output in its result.

    A cell that several columns output unchanged is selected once.
    """
    cells = {alias: cell for column in columns for alias, cell in column.cells.items()}
    outputs = [sql for column in columns for sql in column.outputs]
    values = [cells.get(sql, sql) for sql in outputs]
    selected = dict(zip(values, outputs, strict=True))
    inner = ", ".join(f"{cell} AS {alias}" for alias, cell in cells.items())
    sql = f"SELECT {', '.join(selected.values())} FROM (SELECT {inner or '1'} FROM {source}) AS cells"
    places = {value: place for place, value in enumerate(selected)}
    return sql, [places[value] for value in values]


def _work_through(batches: Iterable[Any], work: Callable[[Any], None], progress: Callable[[int], None]) -> None:
    """Call `work` with each batch, on several threads; an iterator among `batches` holds batches for one thread.

    `progress` receives the rows done so far; an exception it raises aborts the scan.
    """
    workers = min(_WORKERS, os.cpu_count() or 1)
    # The C library of Linux returns freed blocks to the system at once and gets new ones page by page, which takes a
    # quarter of the time. It keeps blocks that are not larger than the largest one that was ever freed.
    np.empty(_BLOCK, dtype=np.uint8)

    def work_on(part: Any) -> int:
        rows = 0
        for batch in part if isinstance(part, Iterator) else [part]:
            work(batch)
            rows += int(batch.num_rows)
        return rows

    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[int]] = deque()
        done = 0
        for batch in batches:
            begun.append(pool.submit(work_on, batch))
            if len(begun) > 2 * workers:
                done += begun.popleft().result()
                progress(done)
        for ended in begun:
            done += ended.result()
            progress(done)


def _codes_of_all(connection: Any, column: BatchCoding, place: int, entries: pa.Array) -> Codes:
    """Return the codes of some cells of a column, by SQL."""
    order = arrow.from_numpy(np.arange(len(entries), dtype=np.int64))
    connection.register("entries", pa.table({f"c{place}": entries, "entry": order}))
    numbered = replace(column, cells=column.cells | {"of_entry": "entry"}, outputs=(*column.outputs, "of_entry"))
    try:
        sql, places = _query([numbered], "entries")
        answer = connection.sql(sql).to_arrow_table().combine_chunks()
        *arrays, at = [answer.column(each) for each in places]
    finally:
        connection.unregister("entries")
    codes = np.empty(len(entries), dtype=np.int32)  # the engine returns rows in any order
    codes[arrow.to_numpy(at)] = column.codes([arrow.one_chunk(array) for array in arrays])
    return codes
