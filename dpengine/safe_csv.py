"""Write CSV that a spreadsheet opens without running a formula, and read back the same texts.

The form is that of RFC 4180 in UTF-8: commas, doubled quotes, CRLF. A spreadsheet takes a text that begins with = + - @
for a formula, so such a text gets a leading '. Plain numbers get none, since it would turn them into texts.

Source: OWASP, "CSV injection"; CWE-1236.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpengine import arrow
from dpengine.array_types import Ints

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "field", "from_frame", "guard", "header_line", "label_column", "label_reader", "number_column", "read_blocks",
    "read_numbers", "text_column", "unguard", "write_rows",
]  # fmt: skip

BLOCK_BYTES = 2**24
MAX_LINE_BYTES = 2**26

# Texts that already have a ' before such a sign get one more, so that reading back is unambiguous.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Where a reader with other separators may see a cell that begins with such a sign, except in intervals such as
# [-10;-5).
_LATER = re.compile(r"""([;\t\r\n]"*)(?![+-][\d.,]+[)\]]?(?:[;\t\r\n]|$))('*[=+\-@＝＋－＠])""", re.ASCII)
_LATER_GUARDED = re.compile(r"""([;\t\r\n]"*)'('*[=+\-@＝＋－＠])""")
# What `number_column` never writes: signs and zeros that say nothing, hexadecimals, exponents.
_NOT_AS_WRITTEN = r"^-?0[0-9xX]|^-0$|[+eE]|\.$|\.[0-9]*0$|^-?\."
_QUOTED = re.compile('[",\r\n\ufeff]|^\\s|\\s$')


def guard(text: str) -> str:
    """Put a ' before any part of a text that a spreadsheet could take for a formula, also after a separator in it.

    >>> guard("=1+1"), guard("-5"), guard("North"), guard("x;=1+1")
    ("'=1+1", '-5', 'North', "x;'=1+1")
    """
    later = _LATER.sub(r"\1'\2", text)
    return f"'{later}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else later


def unguard(text: str) -> str:
    """Undo `guard`.

    >>> [unguard(guard(text)) for text in ("=1+1", "'=1+1", "-5", "'-5", "'n")]
    ['=1+1', "'=1+1", '-5', "'-5", "'n"]
    """
    first = text[1:] if text.startswith("'") and _FORMULA.match(text) else text
    return _LATER_GUARDED.sub(r"\1\2", first)


def from_frame(frame: pd.DataFrame) -> bytes:
    """Write a small data frame as a CSV file, without its index. Numbers have at most 10 decimals.

    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"=title": ["=1+1", "-5"], "epsilon": [0.5, -2]}))
    b"'=title,epsilon\\r\\n'=1+1,0.5\\r\\n-5,-2\\r\\n"
    """
    guarded = frame.map(lambda cell: guard(cell) if isinstance(cell, str) else cell).rename(columns=guard)
    return guarded.to_csv(index=False, lineterminator="\r\n", float_format=_decimal).encode()


def _decimal(value: Any) -> str:
    return np.format_float_positional(round(value, 10), trim="-")


def field(text: str) -> str:
    """Return a text as it is written in a file.

    >>> field("Paris, TX"), field("=1+1")
    ('"Paris, TX"', "'=1+1")
    """
    guarded = guard(text)
    return '"' + guarded.replace('"', '""') + '"' if _QUOTED.search(guarded) else guarded


def label_column(texts: Sequence[str], positions: Ints) -> Any:
    """Make a column for `write_rows`: entry k is ``texts[positions[k]]``."""
    return arrow.from_texts([field(text) for text in texts]).take(arrow.from_numpy(positions))


def text_column(texts: Any) -> Any:
    """Make a column for `write_rows` from an Arrow array of texts."""
    encoded = texts.dictionary_encode()
    return arrow.from_texts([field(text) for text in encoded.dictionary.to_pylist()]).take(encoded.indices)


def number_column(values: npt.NDArray[Any]) -> Any:
    """Make a column for `write_rows` from numbers: integers if all are whole, else at most 6 decimals.

    >>> number_column(np.array([0.5, 2.0])).to_pylist()
    ['0.5', '2']
    """
    whole = np.rint(values)
    if np.array_equal(whole, values):
        return arrow.from_numpy(whole.astype(np.int64)).cast(pa.large_string())
    text = arrow.from_numpy(values).cast(pa.decimal128(38, 6), safe=False).cast(pa.large_string())
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def write_rows(columns: Sequence[Any]) -> memoryview:
    """Write the rows of a CSV file from columns made by `label_column`, `text_column` and `number_column`."""
    comma, end, empty = arrow.from_texts([",", "\r\n", ""])
    if len(columns) == 1:  # readers skip an empty line
        columns = [pc.if_else(pc.equal(columns[0], empty), arrow.text('""'), columns[0])]
    pieces = [piece for column in columns for piece in (column, comma)]
    # Joined without a separator, the rows are contiguous in memory: that buffer is the file.
    joined = pc.binary_join_element_wise(*pieces[:-1], end, empty)
    return memoryview(joined.buffers()[2] or b"")


def header_line(names: Sequence[str]) -> bytes:
    r"""Write the first line of a CSV file.

    >>> header_line(["age", "size, in cm"])
    b'age,"size, in cm"\r\n'
    """
    return (",".join(map(field, names)) + "\r\n").encode()


def read_blocks(pieces: Iterable[bytes], names: Sequence[str]) -> Iterator[list[Any]]:
    """Read the columns of a CSV file whose header is `names`, some megabytes of rows at a time.

    Yields Arrow arrays of texts as they are in the file. Raises ValueError with a message that continues a sentence
    after the file's name.
    """
    blocks = _whole_lines(pieces)
    first = _columns(next(blocks), len(names))
    if [unguard(column[0].as_py()) for column in first] != list(names):
        listed = ", ".join(names)
        raise ValueError(f"does not have the header {listed if len(listed) < 1000 else 'of its columns'}")
    yield [column.slice(1) for column in first]
    for block in blocks:
        yield _columns(block, len(names))


def _columns(payload: bytes, number: int) -> list[Any]:
    keys = [str(k) for k in range(number)]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(payload),
            # Handing a small file to other threads takes longer than reading it.
            read_options=pyarrow.csv.ReadOptions(
                column_names=keys, block_size=min(max(len(payload), 1), 2**30), use_threads=len(payload) > 2**16
            ),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(keys, pa.string())),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(f"is not a CSV file of {number} columns") from error
    return [table.column(key) for key in keys]


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces of a CSV file into blocks that end where a line does; the last may end anywhere.

    Raises ValueError if a line is longer than any block may be.
    """
    pending: list[bytes] = []
    size, wanted, yielded = 0, BLOCK_BYTES, False
    for piece in pieces:
        pending.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        joined = b"".join(pending)
        end = _last_end(joined)
        if end:
            yield joined[:end]
            yielded = True
        pending = [joined[end:]]
        size -= end
        if size > MAX_LINE_BYTES:
            raise ValueError("has a line that is too long")
        wanted = min(max(BLOCK_BYTES, 2 * size), MAX_LINE_BYTES + 1)
    if size or not yielded:
        yield b"".join(pending)


def _last_end(text: bytes) -> int:
    """Return where the last whole line ends, or 0 if there is none; `text` begins outside of quotes."""
    last = text.rfind(b"\n") + 1
    if text.count(b'"', 0, last) % 2 == 0:
        return last
    letters = np.frombuffer(text, dtype=np.uint8)
    inside = np.bitwise_xor.accumulate(letters == ord('"'))
    ends = np.flatnonzero((letters == ord("\n")) & ~inside)
    return int(ends[-1]) + 1 if ends.size else 0


def label_reader(texts: Sequence[str]) -> Callable[[Any], Ints]:
    """Return a function from a column of `read_blocks` to the position in `texts` of each entry; -1 for any other."""
    positions = {text: k for k, text in enumerate(texts)}

    def codes_of(column: Any) -> Ints:
        encoded = column.combine_chunks().dictionary_encode()
        known = np.array([positions.get(unguard(text), -1) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
        codes: Ints = known[arrow.to_numpy(encoded.indices)]
        return codes

    return codes_of


def read_numbers(column: Any, type_: pa.DataType) -> npt.NDArray[Any]:
    """Read the numbers of a column from `read_blocks`.

    Raises ValueError if an entry is no number of type `type_`, or is written in another way than by `number_column`:
    programs may read 0x10 or 010 as different numbers.
    """
    if pc.any(pc.match_substring_regex(column, _NOT_AS_WRITTEN)).as_py():
        raise ValueError("a number is written in another form")
    return arrow.to_numpy(column.cast(type_))
