"""Between Python, numpy and Arrow without pandas, which Arrow's own ways load and which takes a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["absent", "nothing", "number", "numbers", "of_numbers", "of_texts", "plain", "text"]


def of_texts(texts: Sequence[str]) -> Any:
    """An Arrow array of texts, none of them null."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.Array.from_buffers(
        pa.large_string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def of_numbers(values: npt.NDArray[Any]) -> Any:
    """An Arrow array of the numbers in ``values``, which has one axis."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def numbers(column: Any) -> npt.NDArray[Any]:
    """A numpy array of the numbers in an Arrow array; NaN for null, which only floats may have."""
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if flat.null_count:
        flat = pc.fill_null(flat, of_numbers(np.array([np.nan], dtype=flat.type.to_pandas_dtype()))[0])
    return np.from_dlpack(flat)


def plain(column: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers of an Arrow array, without a copy where that can be; and where it is null (there, anything).

    Truths are 0 and 1, days the days since 1970.
    """
    if pa.types.is_boolean(column.type):
        values = _bits(column, 1)
    elif pa.types.is_date32(column.type):
        values, _ = plain(column.view(pa.int32()))
    else:
        kind = column.type.to_pandas_dtype()
        values = np.frombuffer(column.buffers()[1], dtype=kind, count=column.offset + len(column))[column.offset :]
    return values, absent(column) if column.null_count else None


def absent(column: Any) -> npt.NDArray[np.bool_]:
    """Where an Arrow array is null, of which some is."""
    return np.equal(_bits(column, 0), 0)


def _bits(column: Any, buffer: int) -> npt.NDArray[np.uint8]:
    packed = np.frombuffer(column.buffers()[buffer], dtype=np.uint8)
    return np.unpackbits(packed, count=column.offset + len(column), bitorder="little")[column.offset :]


def number(value: int) -> Any:
    """An Arrow scalar of a whole number."""
    return of_numbers(np.array([value], dtype=np.int64))[0]


def text(value: str) -> Any:
    """An Arrow scalar of a text."""
    return of_texts([value])[0]


def nothing(kind: pa.DataType) -> Any:
    """An Arrow scalar of a type, null."""
    return pa.nulls(1, kind)[0]
