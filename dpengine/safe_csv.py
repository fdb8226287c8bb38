"""CSV that reads back to the same texts and does nothing when a spreadsheet opens it.

UTF-8, RFC 4180 (commas, doubled quotes, CRLF). A spreadsheet takes a text that begins with = + - @ for
a formula, so a text that does gets a leading ' (OWASP, CSV injection; CWE-1236). Plain numbers go
without, and so do number columns: there a ' would spoil the number.
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

__all__ = ["codes", "fields", "guard", "labels", "numbers", "read", "rows", "unguard", "values"]

# Texts that already carry a ' before such a sign get one more, so that reading back is unambiguous.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED = re.compile('[",\r\n\ufeff]|^\\s|\\s$')


def guard(text: str) -> str:
    """The text as it stands in a cell: with a leading ' where a spreadsheet would take it for a formula.

    >>> guard("=1+1"), guard("-5"), guard("North")
    ("'=1+1", '-5', 'North')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguard(text: str) -> str:
    """The text that `guard` was given.

    >>> [unguard(guard(text)) for text in ("=1+1", "'=1+1", "-5", "'-5", "'n")]
    ['=1+1', "'=1+1", '-5', "'-5", "'n"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _field(text: str) -> str:
    guarded = guard(text)
    return '"' + guarded.replace('"', '""') + '"' if _QUOTED.search(guarded) else guarded


def labels(texts: Sequence[str], positions: npt.NDArray[np.int64]) -> Any:
    """A column of texts for `rows`: entry k is ``texts[positions[k]]``."""
    return arrow.of_texts([_field(text) for text in texts]).take(arrow.of_numbers(positions))


def fields(texts: Any) -> Any:
    """A column for `rows` from an Arrow array of texts."""
    encoded = texts.dictionary_encode()
    return arrow.of_texts([_field(text) for text in encoded.dictionary.to_pylist()]).take(encoded.indices)


def numbers(values: npt.NDArray[Any]) -> Any:
    """A column of numbers for `rows`: whole ones as such, others with at most 6 decimals."""
    whole = np.rint(values)
    if np.array_equal(whole, values):
        return arrow.of_numbers(whole.astype(np.int64)).cast(pa.large_string())
    text = arrow.of_numbers(values).cast(pa.decimal128(38, 6), safe=False).cast(pa.large_string())
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def rows(columns: Sequence[Any]) -> memoryview:
    """The rows of a CSV file as bytes, from columns made by `labels`, `fields` and `numbers`."""
    comma, end, nothing = arrow.of_texts([",", "\r\n", ""])
    if len(columns) == 1:  # a line with nothing on it would be taken for none
        columns = [pc.if_else(pc.equal(columns[0], nothing), arrow.text('""'), columns[0])]
    pieces = [piece for column in columns for piece in (column, comma)]
    # Joined without anything between, the rows lie in memory one after the other: that is the file.
    joined = pc.binary_join_element_wise(*pieces[:-1], end, nothing)
    return memoryview(joined.buffers()[2] or b"")


def header(names: Sequence[str]) -> bytes:
    """The first line of a CSV file."""
    return (",".join(map(_field, names)) + "\r\n").encode()


def read(payload: bytes, names: Sequence[str]) -> list[Any]:
    """The columns of a CSV file whose first line is ``names``, each an Arrow array of texts as they stand.

    Raises `ValueError` that says what is wrong.
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


def codes(column: Any, texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Position in ``texts`` of each entry of a column that `read` gave; -1 for any other text."""
    encoded = column.combine_chunks().dictionary_encode()
    place = {text: k for k, text in enumerate(texts)}
    known = np.array([place.get(unguard(text), -1) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    found: npt.NDArray[np.int64] = known[arrow.numbers(encoded.indices)]
    return found


def values(column: Any, kind: pa.DataType) -> npt.NDArray[Any]:
    """The numbers of a column that `read` gave. Raises `ValueError` where one is none of that kind."""
    return arrow.numbers(column.cast(kind))
