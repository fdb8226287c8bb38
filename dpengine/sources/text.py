"""Text tables (CSV and kin) normalised to UTF-8, one kind of line end, and a known header and delimiter.

Every decision about the whole file (encoding, delimiter, names) rests on what the caller says, on the byte order mark
or on the header line. The content of a single row changes only how that row is read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from dpengine.errors import TableError

__all__ = ["MAX_LINE", "estimated_rows", "header", "is_suspicious", "to_plain_utf8"]

MAX_LINE = 4 << 20
_CHUNK = 8 << 20
_DELIMITERS = ",;\t|"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook, or one with a password"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "a Feather file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "a database"),
)
_NOT_TEXT = "is not a text table: it holds NUL bytes. If it is UTF-16 without a mark, give encoding='utf-16-le'"


def is_suspicious(packed: int, unpacked: int) -> bool:
    """Return whether an archive of `packed` bytes unpacks to so many that it seems made to exhaust the machine.

    >>> is_suspicious(packed=10**6, unpacked=10**9), is_suspicious(packed=10**6, unpacked=10**7)
    (True, False)
    """
    return unpacked > 100 << 20 and unpacked > 200 * packed


def to_plain_utf8(path: Path, folder: Path, *, packed: bool, encoding: str | None) -> Path:
    """Return the path of a file with the rows of `path` in UTF-8, with line feeds and without a byte order mark.

    It is `path` itself if that is so already, else a new file in `folder`. Without `encoding` and without a mark,
    lines that are not valid UTF-8 are read, each on its own, as Windows-1252. Raises `TableError`.
    """
    codec = _codec(encoding)
    with _opened(path, packed) as raw:
        head = raw.read(4096)
        if not head:
            raise TableError("the file is empty; a table needs a header line")
        for magic, what in _FOREIGN:
            if head.startswith(magic):
                raise TableError(f"this is {what}, not a text table; give the file its right ending")
        raw.seek(0)
        mark, marked = next(((mark, name) for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), (b"", None))
        codec = codec or marked
        if codec is not None and codec != "utf-8":
            return _written(folder, _decoded(raw, codec))
        if not packed and not mark and _is_plain(raw):
            return path
        raw.seek(len(mark))
        return _written(folder, (_utf8_lines(piece) for piece in _pieces(raw)), path.stat().st_size if packed else None)


def header(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    """Return the names in the first line of a plain text table, and the delimiter, by default the one in that line."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise TableError("the delimiter must be one character, such as , or ; or a tab")
    with path.open("rb") as raw:
        head = raw.read(1 << 20).decode("utf-8", "ignore")
    unquoted = re.sub(r'"(?:[^"]|"")*"', "", head).split("\n", 1)[0]
    if delimiter is None:
        counts = Counter(letter for letter in unquoted if letter in _DELIMITERS)
        delimiter = max(_DELIMITERS, key=lambda letter: counts[letter])
    try:
        names = next(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter))
    except (csv.Error, StopIteration):
        names = []
    if not names:
        raise TableError("the first line must hold the names of the columns, but it is blank or cannot be read")
    return names, delimiter


def estimated_rows(path: Path) -> int:
    """Estimate the number of lines of a text file from the length of its first ones."""
    with path.open("rb") as raw:
        head = raw.read(1 << 20)
    return path.stat().st_size * head.count(b"\n") // max(len(head), 1)


def _codec(encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        b"a".decode(encoding, "replace")
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise TableError(
            f"the encoding {encoding!r} is not known; try utf-8, utf-16, cp1252 (Windows), latin-1, cp437, shift_jis"
        ) from None


def _opened(path: Path, packed: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _is_plain(raw: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    while chunk := raw.read(_CHUNK):
        if b"\0" in chunk:
            raise TableError(f"the file {_NOT_TEXT}")
        if b"\r" in chunk:
            return False
        if chunk.isascii() and not decoder.getstate()[0]:  # as most are, and it is checked much faster
            continue
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return False
    return decoder.getstate()[0] == b""


def _pieces(raw: BinaryIO) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines."""
    rest = b""
    while chunk := raw.read(_CHUNK):
        rest += chunk
        # A carriage return at the very end may be the first half of a line end, so it waits.
        cut = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, len(rest) - 1)) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > MAX_LINE:
            raise TableError(f"a line is longer than {MAX_LINE >> 20} MB; is this a text table?")
    yield rest


def _utf8_lines(piece: bytes) -> bytes:
    if b"\0" in piece:
        raise TableError(f"the file {_NOT_TEXT}")
    try:
        piece.decode()
    except UnicodeDecodeError:
        lines = piece.splitlines(keepends=True)
        piece = b"".join(_as_utf8(line) for line in lines)
    return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _as_utf8(line: bytes) -> bytes:
    with suppress(UnicodeDecodeError):
        line.decode()
        return line
    return line.decode("cp1252", "replace").encode()


def _decoded(raw: BinaryIO, codec: str) -> Iterator[bytes]:
    text = io.TextIOWrapper(raw, encoding=codec, errors="replace", newline=None)
    try:
        if text.read(1) != "\ufeff":
            text.seek(0)
        while chunk := text.read(_CHUNK):
            if "\0" in chunk:
                raise TableError("the file does not hold text in the given encoding: it has NUL characters")
            yield chunk.encode("utf-8", "replace")
    finally:
        text.detach()  # the caller, who opened the file, closes it


def _written(folder: Path, pieces: Iterable[bytes], packed_size: int | None = None) -> Path:
    path, size = folder / "plain.csv", 0
    with path.open("wb") as file:
        for piece in pieces:
            size += file.write(piece)
            if packed_size is not None and is_suspicious(packed_size, size):
                raise TableError("the archive unpacks to far more than its size; unpack it yourself if it is sound")
    return path
