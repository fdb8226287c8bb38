"""Count and digest the rows of one Parquet file without SQL for each row: Arrow decodes pieces of it.

A Parquet file mostly stores texts as indices into a dictionary. Here they stay indices, and each entry is encoded and
hashed once (`text_cache`). Whole numbers, 64-bit numbers, booleans and dates are encoded as in batches of the engine.
A file with other columns, with many different texts, or in small groups of rows, is left to the engine, and so is one
that Arrow cannot read.

The first rows and the file's metadata decide whether the file is read in this way. This affects only the time that
counting takes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpengine.counting.encoding.numpy_lookup import BatchCoding, coding_of
from dpengine.counting.fingerprint import FIXED_WIDTH, hashed_columns
from dpengine.counting.pieces.text_cache import Encode, Pieces, coding_of_few, has_few_texts, hashing_of_few
from dpengine.sources.files import parquet
from dpengine.sources.table import LocalTable
from dpengine.spec.domain import Column

__all__ = ["pieces_of"]

_MIN_GROUP = 1 << 14  # rows of a group, on average: each group has its own dictionaries
_MIN_GROUPS, _PARTS = 8, 16  # with this many row groups, a file is counted in parts; and how many parts


def pieces_of(
    table: LocalTable, columns: Sequence[tuple[int, Column]], hashed: Sequence[int], encode: Encode
) -> Pieces | None:
    """Return the pieces of a table that is a Parquet file; None for other tables, or if its rows need SQL.

    `columns` are those to encode, with their places; `hashed` are the places of those to hash.
    """
    order = [*(place for place, _ in columns), *hashed]
    if table.parquet is None or not order or not _is_plain(table, table.parquet, order):
        return None
    pieces = partial(_pieces, table, table.parquet, sorted({*order}), table.interrupts)
    batches = pieces(None)
    first = next(batches, None)
    codings = None if first is None else _codings(table, first, columns, hashed, encode)
    if codings is None:
        batches.close()
        return None
    kinds = [(place, table.columns[place].type) for place in hashed]
    words = [hashing_of_few() if kind == "VARCHAR" else hashed_columns([(place, kind)])[0] for place, kind in kinds]
    parts = _parts(table.parquet)
    read: list[Iterator[Any]] = [pieces(part) for part in parts] or [chain([first], batches)]
    rows = [map(_ordered, each, repeat(order)) for each in read]
    return Pieces(iter(rows) if parts else rows[0], codings, words)


def _is_plain(table: LocalTable, path: Path, places: Sequence[int]) -> bool:
    """Return whether Arrow reads these columns as the engine does, and in pieces that are large enough."""
    types = parquet.plain_types(path)
    with pq.ParquetFile(path) as file:
        rows, groups = file.metadata.num_rows, file.metadata.num_row_groups
    kinds = [table.columns[place].type for place in places]
    plain = all(kind in (*FIXED_WIDTH, "VARCHAR") for kind in kinds) and kinds == [types.get(each) for each in places]
    return plain and (groups == 1 or rows >= groups * _MIN_GROUP)


def _pieces(
    table: LocalTable, path: Path, places: Sequence[int], interrupts: int, groups: Sequence[int] | None
) -> Generator[Any]:
    """Yield the pieces. Raises `TableError` once the table was interrupted more often than `interrupts`."""
    for piece in parquet.in_pieces(path, places, groups):
        yield piece
        table.check_not_interrupted(interrupts)


def _parts(path: Path) -> list[range]:
    """Return the parts of a file's row groups that are each decoded and counted by one thread; none of few groups.

    Memory that a thread allocates and frees itself stays in its caches: this takes a quarter less memory, and on a busy
    machine a fifth less time. Each part opens the file, so there are not many.
    """
    with pq.ParquetFile(path) as file:
        groups = file.metadata.num_row_groups
    parts = [range(groups * k // _PARTS, groups * (k + 1) // _PARTS) for k in range(_PARTS)]
    return [part for part in parts if part] if groups >= _MIN_GROUPS else []


def _ordered(batch: Any, places: Sequence[int]) -> Any:
    columns = [batch.column(f"c{place}") for place in places]
    return pa.RecordBatch.from_arrays(columns, names=[str(k) for k in range(len(columns))])


def _codings(
    table: LocalTable, first: Any, columns: Sequence[tuple[int, Column]], hashed: Sequence[int], encode: Encode
) -> list[BatchCoding] | None:
    """Return the codings of `columns`; None if rows need SQL, or texts in the `first` piece are too many to look up."""
    kinds = {place: table.columns[place].type for place in (*(place for place, _ in columns), *hashed)}
    if not all(has_few_texts(first.column(f"c{place}")) for place, kind in kinds.items() if kind == "VARCHAR"):
        return None
    codings = []
    for place, column in columns:
        if kinds[place] == "VARCHAR":
            coding = coding_of_few(table, place, column, encode)
        else:
            coding = coding_of(column, place, kinds[place])
            if not coding.bare:
                return None
        codings.append(coding)
    return codings
