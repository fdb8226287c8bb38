"""Normalise text tables (CSV, TSV) to UTF-8, one kind of line end, and a known header and delimiter.

Properties of the whole file (encoding, delimiter, names) follow from the caller's options, the byte order mark or the
header line. The content of a single row changes only how that row is read: each line is decoded separately, except in
UTF-16 and UTF-32, whose characters have a fixed width.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import mmap
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from dpengine.errors import Fault, TableError
from dpengine.translation.catalogue import _, mark, number

__all__ = [
    "DELIMITERS", "MAX_LINE", "as_utf8", "completed", "encoding_of", "estimated_rows", "header", "invented",
    "is_suspicious", "to_plain_utf8", "with_header",
]  # fmt: skip

DELIMITERS = ",;\t|"
MAX_LINE = 4 << 20  # bytes
_MAX_HEADER = 1 << 20  # bytes
_MAX_NAME = 10_000  # characters
_CHUNK = 1 << 20  # bytes: what is looked at several times stays in a processor's caches
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN = (
    (b"PK\x03\x04", mark("an Excel workbook or a zip archive")),
    (b"\xd0\xcf\x11\xe0", mark("an old Excel workbook, or one with a password")),
    (b"PAR1", mark("a Parquet file")),
    (b"ARROW1", mark("an Arrow file")),
    (b"FEA1", mark("a Feather file")),
    (b"\x1f\x8b", mark("a gzip archive")),
    (b"%PDF", mark("a PDF document")),
    (b"\xff\xd8\xff", mark("a picture")),
    (b"\x89PNG", mark("a picture")),
    (b"SQLite format 3", mark("a database")),
)
_SHIFTS = rb"[\x0e\x0f\x1b~+\\]"  # bytes that begin other characters in encodings of seven bits
_NOT_TEXT = mark(
    "the file is not a text table: it holds NUL bytes, as files of other programs do. Export the table as CSV or "
    "Excel. If it is UTF-16 without a mark, state the encoding utf-16-le"
)


def is_suspicious(packed: int, unpacked: int) -> bool:
    """Return whether an archive of `packed` bytes unpacks to suspiciously many `unpacked` bytes.

    >>> is_suspicious(packed=10**6, unpacked=10**9), is_suspicious(packed=10**6, unpacked=10**7)
    (True, False)
    """
    return unpacked > 100 << 20 and unpacked > 100 * packed


def to_plain_utf8(path: Path, folder: Path, *, packed: bool, encoding: str | None) -> Path:
    """Return the path of a file with the rows of `path` in UTF-8, with line feeds and without a byte order mark.

    This is `path` itself if it is such a file, and otherwise a new file in `folder`. `packed` says that `path` is
    gzipped. Without `encoding` and without a mark, each line that is not valid UTF-8 is read as Windows-1252. Raises
    `TableError`.
    """
    codec = _codec(encoding)
    packed_size = path.stat().st_size if packed else None
    with _open(path, packed) as raw:
        head = raw.read(4096)
        if not head:
            raise TableError(_("the file is empty; a table needs a header line"))
        for magic, what in _FOREIGN:
            if head.startswith(magic):
                raise TableError(_("this is {what}, not a text table; give the file its right ending", what=_(what)))
        raw.seek(0)
        order, marked = _mark_of(head)
        codec = codec or marked
        if codec is not None and codec != "utf-8":
            return _write(folder, _decode(raw, codec), packed_size)
        if not packed and not order and _is_plain(raw):
            return path
        raw.seek(len(order))
        return _write(folder, (_utf8_lines(piece) for piece in _pieces(raw)), packed_size)


def encoding_of(path: Path, *, packed: bool, encoding: str | None) -> str:
    """Say how a text file is decoded: as stated, by its byte order mark, or otherwise as UTF-8.

    It follows from the first bytes of the file. Raises `TableError` for an unknown encoding.
    """
    with _open(path, packed) as raw:
        codec = _codec(encoding) or _mark_of(raw.read(4))[1]
    return codec.upper() if codec not in (None, "utf-8") else mark("UTF-8 (lines that are not, as Windows-1252)")


def _mark_of(head: bytes) -> tuple[bytes, str | None]:
    """Return the byte order mark with which a file begins, and the encoding that it means; b"" and None without any."""
    return next(((order, name) for order, name in _BYTE_ORDER_MARKS if head.startswith(order)), (b"", None))


def with_header(path: Path, folder: Path, *, skip: int, names: bool, delimiter: str | None, last: int = 0) -> Path:
    """Return the path of a new file in `folder`: `path` without its first `skip` lines, and with a line of names.

    With `names`, the first remaining line holds them; otherwise columns are called column_1, column_2, … The `last`
    lines that are not blank are left out too. Raises `TableError` if no line is left.
    """
    copy = folder / "headed.csv"
    with path.open("rb") as raw, copy.open("wb") as file:
        for _line in range(skip):
            raw.readline()
        begin = raw.tell()
        if not raw.read(1):
            raise TableError(
                _("the file has no more than {skip} lines, which were all to be skipped", skip=number(skip))
            )
        raw.seek(begin)
        if not names:
            header, delimiter = _header_of(raw, delimiter)
            file.write((delimiter.join(invented(len(header))) + "\n").encode())
            raw.seek(begin)
        shutil.copyfileobj(raw, file, _CHUNK)
    if last:
        _leave_out(copy, last)
    return copy


def _leave_out(path: Path, last: int) -> None:
    """Shorten a file by its `last` lines that are not blank; the first line stays."""
    with path.open("r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            end, names = len(text), text.find(b"\n") + 1
            left = last
            while left and end:
                while end and text[end - 1 : end].isspace():
                    end -= 1
                end = text.rfind(b"\n", 0, end) + 1
                left -= 1
            if left or not 0 < names <= end:
                raise TableError(_("the file has fewer than {last} lines to leave out at its end", last=number(last)))
        file.truncate(end)


def invented(columns: int) -> list[str]:
    """Return names for the columns of a table that has none.

    >>> invented(2)
    ['column_1', 'column_2']
    """
    return [f"column_{number}" for number in range(1, columns + 1)]


def completed(names: list[str]) -> list[str]:
    """Return names in which a few columns without a name are called by their places.

    Sheets have empty columns between others, and programs write row numbers below no name. If half of the columns lack
    a name, the names are rather in another row.

    >>> completed(["", "age", "sex"]), completed(["", "age", "column_1"]), completed(["Title", ""])
    (['column_1', 'age', 'sex'], ['column_1_', 'age', 'column_1'], ['Title', ''])
    """
    blank = [not name.strip() for name in names]
    if 2 * sum(blank) >= len(names):
        return names
    return [_unused(by_place, names) if missing else name
            for name, by_place, missing in zip(names, invented(len(names)), blank, strict=True)]  # fmt: skip


def _unused(name: str, names: list[str]) -> str:
    while name in names:
        name += "_"
    return name


def header(path: Path, delimiter: str | None) -> tuple[list[str], str, str]:
    """Return the `completed` names in the first line of a text table, the delimiter, and the quote around cells.

    The default is the most common delimiter in that line. The quote is " unless each name is in single quotes. Raises
    `TableError`.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise TableError(_("the delimiter must be one character, such as , or ; or a tab"))
    with path.open("rb") as raw:
        line = raw.readline(_MAX_HEADER).decode("utf-8", "ignore").removesuffix("\n")
        for separator in DELIMITERS if delimiter is None else delimiter.replace("'", ""):
            if re.fullmatch(f"'[^']+'(?:{re.escape(separator)}'[^']+')*", line):
                return _names(line, separator, "'"), separator, "'"
        raw.seek(0)
        names, delimiter = _header_of(raw, delimiter)
        return completed(names), delimiter, '"'


def _header_of(raw: BinaryIO, delimiter: str | None) -> tuple[list[str], str]:
    head = raw.read(_MAX_HEADER + 1).partition(b"\n")[0]
    if len(head) > _MAX_HEADER:
        raise TableError(
            _("the first line, with the names of the columns, is longer than {most} MB", most=_MAX_HEADER >> 20)
        )
    line = head.decode("utf-8", "ignore")
    if delimiter is None:
        counts = Counter(letter for letter in re.sub(r'"(?:[^"]|"")*"', "", line) if letter in DELIMITERS)
        delimiter = max(DELIMITERS, key=lambda letter: counts[letter])
    return _names(line, delimiter), delimiter


def _names(line: str, delimiter: str, quote: str = '"') -> list[str]:
    """Return the cells of the header line. With an unclosed quote, rows would become part of a name."""
    if max(map(len, line.split(delimiter))) > _MAX_NAME:
        raise TableError(
            _("a column's name is longer than {most} characters; is this a text table?", most=number(_MAX_NAME))
        )
    try:
        names = next(csv.reader([line], delimiter=delimiter, quotechar=quote, strict=True), [])
    except csv.Error:
        raise TableError(
            _(
                "the first line, with the names of the columns, opens a quote that is not closed properly; write "
                'each name on one line, and " inside of a name as ""'
            )
        ) from None
    if not names:
        text = _("the first line must hold the names of the columns, but it is blank or cannot be read")
        raise TableError(Fault(("header",), text))
    return names


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
            _(
                "the encoding {encoding!r} is not known; try utf-8, utf-16, cp1252 (Windows), latin-1, cp437, "
                "shift_jis",
                encoding=encoding,
            )
        ) from None


def _open(path: Path, packed: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _is_plain(raw: BinaryIO) -> bool:
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), _Lines()
    while chunk := raw.read(_CHUNK):
        if b"\0" in chunk:
            raise TableError(_(_NOT_TEXT))
        if b"\r" in chunk:
            return False
        lines.check(chunk)
        if chunk.isascii() and not decoder.getstate()[0]:  # most files are, and this check is much faster
            continue
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return False
    return decoder.getstate()[0] == b""


class _Lines:
    """Refuse lines that are too long, piece by piece. DuckDB would silently drop one at the end of a file."""

    def __init__(self) -> None:
        self._begun = 0  # bytes since the last line end

    def check(self, piece: bytes) -> None:
        """Raise `TableError` if a line, with what came before, is longer than `MAX_LINE`."""
        position = -self._begun  # where the line begins
        while position + MAX_LINE < len(piece):
            # Jumping from one line end to the last one within reach takes few steps, however short the lines are.
            ending = piece.rfind(b"\n", max(position, 0), position + MAX_LINE + 1)
            if ending < 0:
                raise TableError(
                    _(
                        "a line is longer than {most} MB; is a quote left open, or is this no text table?",
                        most=MAX_LINE >> 20,
                    )
                )
            position = ending + 1
        last = piece.rfind(b"\n")
        self._begun = len(piece) - 1 - last if last >= 0 else self._begun + len(piece)


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
            raise TableError(_("a line is longer than {most} MB; is this a text table?", most=MAX_LINE >> 20))
    yield rest


def _utf8_lines(piece: bytes) -> bytes:
    if b"\0" in piece:
        raise TableError(_(_NOT_TEXT))
    try:
        piece.decode()
    except UnicodeDecodeError:
        lines = piece.splitlines(keepends=True)
        piece = b"".join(as_utf8(line) for line in lines)
    return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def as_utf8(line: bytes) -> bytes:
    """Return a line in UTF-8: as it is, or if it is not UTF-8, as Windows-1252, in which spreadsheets write CSV."""
    with suppress(UnicodeDecodeError):
        line.decode()
        return line
    return line.decode("cp1252", "replace").encode()


def _decode(raw: BinaryIO, codec: str) -> Iterator[bytes]:
    decoded = _decode_units(raw, codec) if _width(codec) > 1 else _decode_lines(raw, codec)
    for part, text in enumerate(decoded):
        if "\0" in text:
            raise TableError(_("the file does not hold text in the given encoding: it has NUL characters"))
        plain = text.removeprefix("\ufeff") if part == 0 else text
        yield plain.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")


def _width(codec: str) -> int:
    """Return the size in bytes of an encoding's smallest unit."""
    return len("ab".encode(codec, "replace")) - len("a".encode(codec, "replace"))


def _decode_units(raw: BinaryIO, codec: str) -> Iterator[str]:
    """Decode UTF-16 or UTF-32. Raises `TableError` if a part of a character is missing, which shifts all others."""
    decoder, size = codecs.getincrementaldecoder(codec)("replace"), 0
    held = ""  # a carriage return that may be the first half of a line end
    while chunk := raw.read(_CHUNK):
        size += len(chunk)
        text = held + decoder.decode(chunk)
        held = "\r" if text.endswith("\r") else ""
        yield text.removesuffix(held)
    if size % _width(codec):
        raise TableError(_("the file is damaged: it does not end with a whole character of its encoding"))
    yield held + decoder.decode(b"", True)


def _decode_lines(raw: BinaryIO, codec: str) -> Iterator[str]:
    """Decode line by line: in some encodings (ISO-2022, HZ, UTF-7) a line may change how the next ones are read."""
    if b"a\n".decode(codec, "replace") != "a\n":  # not a superset of ASCII (EBCDIC): a byte is a character
        yield from (chunk.decode(codec, "replace") for chunk in iter(lambda: raw.read(_CHUNK), b""))
        return
    for piece in _pieces(raw):
        if piece.isascii() and not re.search(_SHIFTS, piece):
            yield piece.decode(codec, "replace")
        else:
            yield "".join(_decode_line(line, codec) for line in piece.splitlines(keepends=True))


def _decode_line(line: bytes, codec: str) -> str:
    text = line.rstrip(b"\r\n")
    return text.decode(codec, "replace") + line[len(text) :].decode("ascii")


def _write(folder: Path, pieces: Iterable[bytes], packed_size: int | None = None) -> Path:
    path, size, lines = folder / "plain.csv", 0, _Lines()
    with path.open("wb") as file:
        for piece in pieces:
            lines.check(piece)
            size += file.write(piece)
            if packed_size is not None and is_suspicious(packed_size, size):
                raise TableError(_("the archive unpacks to far more than its size; unpack it yourself if it is sound"))
    return path
