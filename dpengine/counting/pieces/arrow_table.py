"""Count and digest the rows of a table in memory in several threads, without SQL for each row.

Columns of few different texts are dictionary-encoded piece by piece: each text is encoded and hashed once
(`text_cache`), and rows look up the results. Whole numbers, floating-point numbers, booleans and dates need no SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dpengine import arrow
from dpengine.counting.encoding.numpy_lookup import BatchCoding, coding_of
from dpengine.counting.fingerprint import FIXED_WIDTH, HashedColumn, hashed_columns, words_of_texts
from dpengine.counting.pieces.text_cache import Encode, Pieces, coding_of_few, has_few_texts, hashing_of_few
from dpengine.sources.table import LocalTable
from dpengine.spec.domain import Column

__all__ = ["pieces_of"]

_ROWS = 1 << 15  # most rows of a piece


def pieces_of(
    table: LocalTable, columns: Sequence[tuple[int, Column]], hashed: Sequence[int], encode: Encode
) -> Pieces | None:
    """Return the pieces of a table in memory; None for other tables, or if its rows need SQL.

    `columns` are those to encode, with their places; `hashed` are the places of those to hash.
    """
    order = [*(place for place, _ in columns), *hashed]
    if table.frame is None or not order:
        return None
    kinds = {place: _kind(table, table.frame.column(place), place) for place in order}
    codings = [_coding(table, place, column, kinds[place], encode) for place, column in columns]
    words = [_hashed(place, kinds[place]) for place in hashed]
    if None in codings or None in words:
        return None
    few = frozenset(place for place in order if kinds[place] == "few")
    pieces = _pieces(table, table.frame, few, order)
    return Pieces(pieces, [each for each in codings if each is not None], [each for each in words if each is not None])


class _Piece:
    """Some rows, whose texts are dictionary-encoded by the thread that asks for them."""

    def __init__(self, rows: pa.RecordBatch, few: frozenset[int], order: Sequence[int]) -> None:
        self._rows, self._few, self._order = rows, few, order
        self._cells: dict[int, Any] = {}
        self.num_rows = rows.num_rows

    def column(self, output: int) -> Any:
        """Return the cells of an output, by its place in the order of outputs."""
        place = self._order[output]
        if place not in self._cells:
            cells = self._rows.column(place)
            self._cells[place] = _encoded(cells) if place in self._few else _decoded(cells)
        return self._cells[place]


def _pieces(table: LocalTable, frame: pa.Table, few: frozenset[int], order: Sequence[int]) -> Iterator[_Piece]:
    """Yield the pieces. Raises `TableError` once the table is interrupted."""
    before = table.interrupts
    for rows in frame.to_batches(_ROWS):
        yield _Piece(rows, few, order)
        table.check_not_interrupted(before)


def _kind(table: LocalTable, cells: pa.ChunkedArray, place: int) -> str:
    """Return how a column is read: few texts, many texts, or its type in DuckDB; empty if only SQL reads it."""
    kind = table.columns[place].type
    value_type = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if kind != "VARCHAR":
        return "" if pa.types.is_date64(value_type) else kind
    if not (pa.types.is_string(value_type) or pa.types.is_large_string(value_type)):
        return ""
    few = all(has_few_texts(_encoded(arrow.one_chunk(each))) for each in _sample(cells))
    return "few" if few else "texts"


def _sample(cells: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield cells from the beginning, the middle and the end: rows in order of frequency have few texts at first."""
    last = max(0, len(cells) - _ROWS)
    for start in sorted({0, last // 2, last}):
        yield cells.slice(start, _ROWS)


def _encoded(cells: Any) -> Any:
    return cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()


def _decoded(cells: Any) -> Any:
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def _coding(table: LocalTable, place: int, column: Column, kind: str, encode: Encode) -> BatchCoding | None:
    """Return the coding of a column; None if its rows need SQL."""
    if kind == "few":
        return coding_of_few(table, place, column, encode)
    coding = coding_of(column, place, kind) if kind not in ("", "texts") else None
    return coding if coding is not None and coding.bare else None


def _hashed(place: int, kind: str) -> HashedColumn | None:
    """Return the hashing of a column; None if its rows need SQL."""
    if kind == "few":
        return hashing_of_few()
    if kind == "texts":
        return HashedColumn({}, ("",), lambda texts: words_of_texts(texts)[0])
    return hashed_columns([(place, kind)])[0] if kind in FIXED_WIDTH else None
