"""CSV that reads back to the same texts and runs no formula when a spreadsheet opens it.

UTF-8 in the form of RFC 4180: commas, doubled quotes, CRLF. A spreadsheet takes a text that begins with = + - @ for a
formula, so such a text gets a leading '. Plain numbers and columns of numbers get none, since it would make them texts.

Source: OWASP, "CSV injection"; CWE-1236.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpengine import arrow
from dpengine.array_types import Ints

__all__ = [
    "guard", "header_line", "label_codes", "label_column", "number_column", "read_columns", "read_numbers",
    "text_column", "unguard", "write_rows",
]  # fmt: skip

# Texts that already have a ' before such a sign get one more, so that reading back is unambiguous.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED = re.compile('[",\r\n\ufeff]|^\\s|\\s$')


def guard(text: str) -> str:
    """Prefix a text with ' where a spreadsheet would take it for a formula.

    >>> guard("=1+1"), guard("-5"), guard("North")
    ("'=1+1", '-5', 'North')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguard(text: str) -> str:
    """Undo `guard`.

    >>> [unguard(guard(text)) for text in ("=1+1", "'=1+1", "-5", "'-5", "'n")]
    ['=1+1', "'=1+1", '-5', "'-5", "'n"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _field(text: str) -> str:
    guarded = guard(text)
    return '"' + guarded.replace('"', '""') + '"' if _QUOTED.search(guarded) else guarded


def label_column(texts: Sequence[str], positions: Ints) -> Any:
    """Make a column for `write_rows`: entry k is ``texts[positions[k]]``."""
    return arrow.from_texts([_field(text) for text in texts]).take(arrow.from_numpy(positions))


def text_column(texts: Any) -> Any:
    """Make a column for `write_rows` from an Arrow array of texts."""
    encoded = texts.dictionary_encode()
    return arrow.from_texts([_field(text) for text in encoded.dictionary.to_pylist()]).take(encoded.indices)


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
    return (",".join(map(_field, names)) + "\r\n").encode()


def read_columns(payload: bytes, names: Sequence[str]) -> list[Any]:
    """Read the columns of a CSV file whose header is `names`, as Arrow arrays of texts still guarded.

    Raises ValueError with a message that continues a sentence after the file's name.
    """
    keys = [str(k) for k in range(len(names))]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(payload),
            read_options=pyarrow.csv.ReadOptions(column_names=keys, block_size=min(max(len(payload), 1), 2**30)),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(keys, pa.string())),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(f"is not a CSV file of {len(names)} columns") from error
    columns = [table.column(key) for key in keys]
    if [unguard(column[0].as_py()) for column in columns] != list(names):
        raise ValueError(f"does not have the header {', '.join(names)}")
    return [column.slice(1) for column in columns]


def label_codes(column: Any, texts: Sequence[str]) -> Ints:
    """Return the position in `texts` of each entry of a column from `read_columns`; -1 for any other text."""
    encoded = column.combine_chunks().dictionary_encode()
    positions = {text: k for k, text in enumerate(texts)}
    known = np.array([positions.get(unguard(text), -1) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    codes: Ints = known[arrow.to_numpy(encoded.indices)]
    return codes


def read_numbers(column: Any, kind: pa.DataType) -> npt.NDArray[Any]:
    """Read the numbers of a column from `read_columns`. Raises ValueError if an entry is no number of type `kind`."""
    return arrow.to_numpy(column.cast(kind))
