"""Read the rows of a plain text table, as made by `text.to_plain_utf8`, with DuckDB.

If no row has a quote or is blank, each line end is the end of a row, and the file is read by several threads. In other
files, a thread that starts in the middle would have to guess whether it is inside a quote, and might refuse the file or
misread rows. These files are read by one thread. It silently drops everything after a quote that is never closed, so
`check_quotes` looks for such a quote first.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools
from dpengine.errors import TableError
from dpengine.sources.files.text import DELIMITERS, MAX_LINE
from dpengine.sql import literal
from dpengine.translation.catalogue import _, number

__all__ = ["check_quotes", "has_plain_lines", "relation", "rows_of_simple_lines", "whole_cells_and_rows"]

Words: TypeAlias = npt.NDArray[np.uint64]

_CHUNK = 1 << 20  # bytes: a piece and its bits stay in a processor's caches
_THREADS = 2
_LINE_END = ord("\n")
_ONE, _LAST = np.uint64(1), np.uint64(63)  # bit
_WIDTHS = [np.uint64(1 << k) for k in range(6)]


def relation(
    path: Path, columns: int, delimiter: str, quote: str = '"', *, plain_lines: bool, max_line: int = MAX_LINE
) -> str:
    """Return SQL for the rows of a plain text table: texts ``c0``, ``c1``, …

    `quote` is the quote of cells, `plain_lines` the result of `has_plain_lines`, `max_line` the bytes of the longest
    line.
    """
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(columns))
    return (
        f"read_csv({literal(str(path))}, columns = {{{types}}}, delim = {literal(delimiter)}, "
        f"quote = {literal(quote)}, escape = {literal(quote)}, "
        "new_line = '\\n', header = true, auto_detect = false, strict_mode = true, "
        f"hive_partitioning = false, max_line_size = {max_line}, buffer_size = {2 * max_line}, "
        f"parallel = {str(plain_lines).lower()})"
    )


def has_plain_lines(path: Path, quote: str = '"') -> bool:
    """Return whether no line after the header has a quote or is blank."""
    ended = True  # with a line end
    with path.open("rb") as raw:
        raw.readline()
        while chunk := raw.read(_CHUNK):
            ends = np.frombuffer(chunk, np.uint8) == _LINE_END  # looking for two line ends takes ten times as long
            if quote.encode() in chunk or (ended and ends[0]) or (ends[1:] & ends[:-1]).any():
                return False
            ended = bool(ends[-1])
    return True


def rows_of_simple_lines(path: Path, columns: int, delimiter: str, quote: str = '"') -> int | None:
    """Return the number of rows of a plain text table if each has `columns` cells; None if DuckDB has to look.

    After the header, quotes are only around whole cells, and each line end ends a row.
    """
    if delimiter not in DELIMITERS:  # a table that only DuckDB reads
        return None
    rows = 0
    with path.open("rb") as raw:
        header = raw.readline()
        if not header.endswith(b"\n") or not all(
            whole_cells_and_rows(np.frombuffer(header, np.uint8), ord(delimiter), ord(quote))
        ):
            return None
        raw.seek(0)
        while chunk := raw.read(_CHUNK):
            lines = chunk + raw.readline()
            more = _rows_of(lines if lines.endswith(b"\n") else lines + b"\n", columns, ord(delimiter), ord(quote))
            if more is None:
                return None
            rows += more
    return rows - 1


def _rows_of(lines: bytes, columns: int, delimiter: int, quote: int) -> int | None:
    """Return the number of whole lines with quotes around whole cells; None unless each has `columns` cells."""
    letters = np.frombuffer(lines, np.uint8)
    ends = letters == _LINE_END
    borders = ends | (letters == delimiter)
    if quote in lines:
        inside = _parities(_bits(letters == quote)).view(np.uint8)
        borders &= np.unpackbits(inside, count=letters.size, bitorder="little") == 0
    of_rows = np.flatnonzero(borders)[columns - 1 :: columns]
    rows = len(of_rows)
    whole = rows * columns == np.count_nonzero(borders) and np.count_nonzero(ends) == rows and ends[of_rows].all()
    return rows if whole else None


def check_quotes(path: Path, delimiter: str, quote: str = '"') -> bool:
    """Refuse a plain text table with a quote that is not closed before a delimiter, a line end or the end of the file.

    As in DuckDB, a quote opens only as the first character of a cell, or after one blank. Raises `TableError`, which
    names the line. Return whether quotes are certainly only around whole cells, and each line end ends a row.
    """
    between, cell = re.escape(delimiter).encode(), _cell(delimiter, quote)
    with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
        seen, whole = _around_whole_cells(content, delimiter, quote)  # many times as fast
        ended = re.compile(rb"(?:%b(?:%b|\n))*+" % (cell, between)).match(content, seen)
        assert ended is not None  # it matches at least the empty text
        if not re.compile(rb"%b\Z" % cell).match(content, ended.end()):
            line = sum(1 for _ in re.compile(rb"\n").finditer(content, 0, ended.end())) + 1
            raise TableError(
                _(
                    "line {line} of the file opens a quote that is not closed properly; write a quote inside of a cell "
                    "twice",
                    line=number(line),
                )
            )
        return whole


def _around_whole_cells(content: mmap.mmap, delimiter: str, quote: str) -> tuple[int, bool]:
    """Return up to where lines certainly have quotes only around whole cells.

    Also return whether that is the whole file, and each line end in it ends a row.
    """
    if len(delimiter.encode()) > 1:
        return 0, False
    begin, rows = 0, True

    def piece_of(begin: int, end: int) -> npt.NDArray[np.uint8]:
        return np.frombuffer(content, np.uint8, end - begin, begin)

    with ThreadPoolExecutor(_THREADS) as pool:
        pieces = list(_whole_lines(content))
        quoted = pool.map(lambda piece: whole_cells_and_rows(piece_of(*piece), ord(delimiter), ord(quote)), pieces)
        for (_begin, end), (whole_cells, whole_rows) in zip(pieces, quoted, strict=True):
            if not whole_cells:
                return begin, False
            begin, rows = end, rows and whole_rows
    return begin, rows and begin == len(content)


def _whole_lines(content: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield where pieces of whole lines begin and end."""
    begin = 0
    while (end := content.rfind(b"\n", begin, begin + _CHUNK) + 1) > begin:
        yield begin, end
        begin = end


def whole_cells_and_rows(lines: npt.NDArray[np.uint8], delimiter: int, quote: int) -> tuple[bool, bool]:
    """Return whether quotes in whole lines are only around whole cells, and whether each line end ends a row.

    `lines` are bytes that end with a line end; `delimiter` and `quote` are one byte each. Each odd quote follows a
    delimiter, a line end or nothing, and a delimiter or line end follows each even quote; then no line is blank, and no
    line end is between an odd quote and the next one. Bytes become bits, and 64 bits are looked at at once.
    """
    ends, quotes = _bits(lines == _LINE_END), _bits(lines == quote)
    borders = ends | _bits(lines == delimiter)
    inside = _parities(quotes)
    whole = (
        not inside[-1] >> _LAST  # the number of quotes is even
        and not (quotes & inside & ~_moved_up(borders)).any()
        and not (quotes & ~inside & ~_moved_down(borders)).any()
    )
    return whole, not (ends & (inside | _moved_up(ends))).any()


def _bits(letters: Bools) -> Words:
    """Return bits, from the lowest one of the first word on, and at least one more, which is 0."""
    packed = np.zeros(8 * (letters.size // 64 + 1), dtype=np.uint8)
    packed[: -(-letters.size // 8)] = np.packbits(letters, bitorder="little")
    return packed.view("<u8")


def _parities(bits: Words) -> Words:
    """Return for each bit whether the number of ones up to it, and with it, is odd."""
    odd = bits.copy()
    for width in _WIDTHS:
        odd ^= odd << width
    before = np.bitwise_xor.accumulate(odd >> _LAST)[:-1]
    odd[1:] ^= np.uint64(0) - before  # all bits of a word, if the number before it is odd
    return odd


def _moved_up(bits: Words) -> Words:
    """Return the bit before each bit; 1 before the first, where lines begin."""
    moved = bits << _ONE
    moved[1:] |= bits[:-1] >> _LAST
    moved[0] |= _ONE
    return moved


def _moved_down(bits: Words) -> Words:
    """Return the bit after each bit."""
    moved = bits >> _ONE
    moved[:-1] |= bits[1:] << _LAST
    return moved


def _cell(delimiter: str, quote: str) -> bytes:
    """Return a pattern for one cell, with or without quotes. It never backtracks, so its time is linear."""
    mark = quote.encode()
    before, after = (b"", b"") if delimiter == " " else (b" ?+", b" *+")
    quoted = before + rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b" % ((mark,) * 6) + after
    letter = rb"[^\n%b]" if len(delimiter.encode()) == 1 else rb"(?!%b)[^\n]"
    plain = rb"(?!%b%b)(?:" % (before, mark) + letter % re.escape(delimiter).encode() + rb")*+"
    return rb"(?:%b|%b)" % (quoted, plain)
