"""Read a few rows of a table, as texts without blanks around them, to recognise how the table is laid out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpengine.sources.cells import cell_text
from dpengine.sources.mixed import holds_texts
from dpengine.sources.table import LocalTable, Table, TextFile

__all__ = ["first_rows", "first_texts", "last_rows"]

_ROWS = 2_000  # that are looked at
_HEAD, _TAIL = 1 << 20, 1 << 16  # bytes of a text file in which rows are looked for


def first_texts(table: Table) -> dict[str, list[str]]:
    """Return the cells of the first rows that are not blank, by column, of all columns of texts.

    A table that stays in its database is not looked at.
    """
    places = [i for i, field in enumerate(table.columns) if holds_texts(field.type)]
    if not isinstance(table, LocalTable) or not places:
        return {}
    rows = first_rows(table)
    return {table.columns[i].name: [row[i] for row in rows if row[i]] for i in places}


def first_rows(table: LocalTable) -> list[list[str]]:
    """Return the first rows, at most `_ROWS`; of a table that only the engine can read, any rows.

    Of a text file, only the first megabyte is read.
    """
    if table.text is not None:
        with table.text.path.open("rb") as raw:
            next(raw)  # the names
            head = raw.read(_HEAD)
        whole = head if len(head) < _HEAD else head[: head.rfind(b"\n")]
        return _of_lines(whole, table.text, len(table.columns))[:_ROWS]
    if table.frame is not None:
        return _of_values(_rows_of(table.frame.slice(0, _ROWS)))
    if table.parquet is not None:
        return _of_parquet(table.parquet)
    with table.connection() as connection:
        rows = connection.execute(f"SELECT * FROM rows LIMIT {_ROWS:d}").fetchall()
    return _of_values(map(list, rows))


def last_rows(table: LocalTable, most: int) -> list[list[str]]:
    """Return up to `most` of the last rows of a table in memory or a text file; none of other tables."""
    if table.text is not None:
        with table.text.path.open("rb") as raw:
            next(raw)
            raw.seek(max(raw.tell(), raw.seek(0, 2) - _TAIL))
            return _of_lines(raw.read(), table.text, len(table.columns))[-most:]
    if table.frame is None:
        return []
    return _of_values(_rows_of(table.frame.slice(max(0, table.frame.num_rows - most))))


def _of_parquet(path: Path) -> list[list[str]]:
    """Return the first rows of a Parquet file."""
    import pyarrow.parquet as pq  # loaded by then

    with pq.ParquetFile(path) as file:
        batch = next(file.iter_batches(batch_size=_ROWS), None)
    return [] if batch is None else _of_values(_rows_of(batch))


def _of_lines(content: bytes, file: TextFile, columns: int) -> list[list[str]]:
    """Return the cells of all lines that have one for each column: the first may be cut off, or lie within quotes."""
    lines = io.StringIO(content.decode("utf-8", "replace"), newline="")
    rows = _readable(csv.reader(lines, delimiter=file.delimiter, quotechar=file.quote))
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]


def _readable(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows, except those that the CSV reader refuses, such as one with a very long cell."""
    while True:
        try:
            yield next(rows)
        except csv.Error:
            continue
        except StopIteration:
            return


def _rows_of(batch: Any) -> list[list[object]]:
    return [[*row.values()] for row in batch.to_pylist()]


def _of_values(rows: Iterable[list[object]]) -> list[list[str]]:
    return [[_text(cell) for cell in row] for row in rows]


def _text(cell: object) -> str:
    if isinstance(cell, dict):  # of a mixed column
        cell = next((value for value in cell.values() if value is not None), None)
    return (cell_text(cell) or "").strip()
