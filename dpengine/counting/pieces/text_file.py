"""Count and digest the rows of a plain text file in several threads, without SQL for each cell.

If quotes are only around whole cells, and no line is blank, each line end ends a row, so pieces of whole lines can be
parsed separately; any other file is left to the engine (`sources.files.text_rows`). In a column of few distinct texts,
each text is encoded and hashed once (`text_cache`), and rows look up the results. In a column of
many numerals, these are read as 64-bit numbers, exactly as the engine reads them; only texts that are not plain
numerals go through SQL.

The first rows decide how a column is read. This affects only the time that counting takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dpengine import arrow
from dpengine.counting.encoding.coding import is_complete
from dpengine.counting.encoding.numpy_lookup import BatchCoding, Codes, of_numerals
from dpengine.counting.fingerprint import (
    HashedColumn,
    Words,
    words_of_bytes,
    words_of_numbers,
    words_of_texts,
)
from dpengine.counting.pieces.numerals import Numerals
from dpengine.counting.pieces.text_cache import (
    Encode,
    Pieces,
    TextCache,
    by_entry,
    code_cache,
    coding_of_few,
    has_few_texts,
    hashing_of_few,
    word_cache,
)
from dpengine.sources.files.text import DELIMITERS
from dpengine.sources.files.text_rows import whole_cells_and_rows
from dpengine.sources.table import LocalTable, TextFile
from dpengine.spec.domain import Column

__all__ = ["pieces_of"]

_SAMPLE = 1 << 20  # bytes
_ROWS = 1 << 15  # rows of a piece, about
_BYTES = 1 << 16, 1 << 23  # least and most bytes of a piece


def pieces_of(
    table: LocalTable, columns: Sequence[tuple[int, Column]], hashed: Sequence[int], encode: Encode
) -> Pieces | None:
    """Return the pieces of a table that is a plain text file; None for other tables, or if every row needs SQL.

    `columns` are those to encode, with their places; `hashed` are the places of those to hash.
    """
    if table.text is None or table.text.delimiter not in DELIMITERS:
        return None
    sample, kinds = _kinds(table)
    codings = []
    for place, column in columns:
        coding = _coding(table, place, column, kinds[place], encode)
        if coding is None:
            return None
        codings.append(coding)
    words = [_hashed(kinds[place]) for place in hashed]
    order = [*(place for place, _ in columns), *hashed]
    size = len(sample) * _ROWS // max(1, bytes(sample).count(b"\n"))
    parse = partial(_parse, table, kinds={place: kinds[place] for place in order})
    batches = (
        _Piece(content, parse, order, kinds) for content in _contents(table, min(max(size, _BYTES[0]), _BYTES[1]))
    )
    return Pieces(batches, codings, words)


class _Piece:
    """Whole lines, parsed by the thread that asks for their columns."""

    def __init__(
        self, content: memoryview, parse: Callable[[memoryview], pa.Table], order: Sequence[int], kinds: Sequence[str]
    ) -> None:
        self._content, self._parse, self._order, self._kinds = content, parse, order, kinds
        self._cells: dict[int, Any] | None = None  # no cached_property: in Python 3.11, all pieces would share its lock

    def column(self, output: int) -> Any:
        """Return the cells of an output, by its place in the order of outputs."""
        if self._cells is None:
            parsed, self._content = self._parse(self._content), memoryview(b"")
            self.num_rows = parsed.num_rows
            chunks = {int(name[1:]): arrow.one_chunk(parsed.column(name)) for name in parsed.column_names}
            self._cells = {k: Numerals(each) if self._kinds[k] == "numerals" else each for k, each in chunks.items()}
        return self._cells[self._order[output]]


def _contents(table: LocalTable, size: int) -> Iterator[memoryview]:
    """Yield the file after its header in pieces of whole lines. Raises `TableError` once the table is interrupted."""
    assert table.text is not None
    before = table.interrupts
    with table.text.path.open("rb") as raw:
        raw.readline()
        while content := raw.read(size):
            end = content.rfind(b"\n") + 1
            if end:  # reading the begun line again is faster than copying the piece to append its end
                raw.seek(end - len(content), os.SEEK_CUR)
                yield memoryview(content)[:end]
            else:
                yield memoryview(content + raw.readline())
            table.check_not_interrupted(before)


def _kinds(table: LocalTable) -> tuple[memoryview, list[str]]:
    """Return the first lines and each column's kind, inferred from them: few texts, numerals or texts."""
    sample = next(_contents(table, _SAMPLE), memoryview(b""))
    parsed = _parse(table, sample, dict.fromkeys(range(len(table.columns)), "texts"))
    kinds = []
    for column in map(arrow.one_chunk, parsed.columns):
        if has_few_texts(column.dictionary_encode()):
            kinds.append("few")
        else:
            kinds.append("numerals" if len(Numerals(column).odd) * 2 < len(column) else "texts")
    return sample, kinds


def _parse(table: LocalTable, content: memoryview, kinds: Mapping[int, str]) -> pa.Table:
    """Parse whole lines to texts, null if empty.

    Raises `pa.ArrowInvalid` if a line has the wrong number of cells, or if its quotes are not simple.
    """
    from pyarrow import csv

    text = table.text
    assert text is not None
    if not text.whole_cells:
        _check_lines(content, text)
    names = [f"c{place}" for place in range(len(table.columns))]
    few, texts = pa.dictionary(pa.int32(), pa.string()), pa.string()
    types = {names[place]: few if kind == "few" else texts for place, kind in kinds.items()}
    return csv.read_csv(
        pa.BufferReader(content),
        csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
        csv.ParseOptions(
            delimiter=text.delimiter, quote_char=False if text.plain_lines else text.quote, double_quote=False,
            ignore_empty_lines=False,
        ),
        csv.ConvertOptions(
            column_types=types, include_columns=list(types), check_utf8=False, null_values=[""],
            strings_can_be_null=True,
        ),
    )  # fmt: skip


def _check_lines(content: memoryview, text: TextFile) -> None:
    """Raise `pa.ArrowInvalid` unless no line is blank and quotes are only around whole cells.

    Then the text between quotes has no quote and no line end.
    """
    lines = np.frombuffer(content if bytes(content[-1:]) == b"\n" else bytes(content) + b"\n", dtype=np.uint8)
    if not all(whole_cells_and_rows(lines, ord(text.delimiter), ord(text.quote))):
        raise pa.ArrowInvalid("quotes or blank lines that the engine has to read")


def _coding(table: LocalTable, place: int, column: Column, kind: str, encode: Encode) -> BatchCoding | None:
    """Return the coding of a column of the given kind; None if its rows need SQL."""
    if kind == "few":
        return coding_of_few(table, place, column, encode)
    if kind == "numerals" and (lookup := of_numerals(column)) is not None:
        cache, _by_sql = code_cache(table, place, column, encode)
        codes = partial(_codes_of_numerals, cache, lookup, column.missing_place)
        return BatchCoding({}, ("",), codes, is_complete(column))
    return None


def _hashed(kind: str) -> HashedColumn:
    if kind == "few":
        return hashing_of_few()
    return HashedColumn({}, ("",), _HashedNumerals() if kind == "numerals" else lambda texts: words_of_texts(texts)[0])


def _codes_of_numerals(
    cache: TextCache, lookup: Callable[[Any], Codes], missing: int, arrays: Sequence[Numerals]
) -> Codes:
    cells = arrays[0]
    codes = lookup(cells.values)
    if cells.lacking is not None:
        codes[cells.lacking] = missing
    if len(cells.odd):
        codes[cells.odd] = by_entry(cache, cells.odd_texts, missing)
    return codes


class _HashedNumerals:
    """The words of texts that are mostly numerals, as `fingerprint` has them for texts in any other format."""

    def __init__(self) -> None:
        self._cache = word_cache()

    def __call__(self, cells: Numerals) -> Words:
        others = np.flatnonzero(~cells.shortest)
        words = words_of_numbers(cells.values)
        words[others] = words_of_bytes(cells.buffer, cells.starts[others], cells.lengths[others])  # 0 for an empty text
        if len(cells.odd):
            words[cells.odd] = by_entry(self._cache, cells.odd_texts, 0)
        return words
