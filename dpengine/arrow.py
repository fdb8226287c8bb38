"""Convert between Python, NumPy and Arrow. Arrow's own converters would import pandas, which loads slowly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpengine.array_types import Bools

__all__ = [
    "from_numpy", "from_texts", "integer", "null", "null_mask", "one_chunk", "text", "to_numpy", "values_and_nulls",
]  # fmt: skip


def from_texts(texts: Sequence[str]) -> Any:
    """Make an Arrow array of texts, none of them null.

    >>> from_texts(["north", ""]).to_pylist()
    ['north', '']
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.Array.from_buffers(
        pa.large_string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def from_numpy(values: npt.NDArray[Any]) -> Any:
    """Make an Arrow array of a one-dimensional NumPy array, without a copy if it is contiguous."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def to_numpy(column: Any) -> npt.NDArray[Any]:
    """Return the numbers of an Arrow array as a NumPy array; a null becomes NaN, so only floats may have nulls.

    >>> to_numpy(pa.array([1.5, None])).tolist()
    [1.5, nan]
    """
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if flat.null_count:
        flat = pc.fill_null(flat, from_numpy(np.array([np.nan], dtype=flat.type.to_pandas_dtype()))[0])
    return np.from_dlpack(flat)


def values_and_nulls(column: Any) -> tuple[npt.NDArray[Any], Bools | None]:
    """Return the numbers of an Arrow array, without a copy if possible, and its null mask, or None without nulls.

    Booleans become 0 and 1, dates days since 1970-01-01. The number at a null is arbitrary.
    """
    if pa.types.is_boolean(column.type):
        values = _bits(column, 1)
    elif pa.types.is_date32(column.type):
        values, _ = values_and_nulls(column.view(pa.int32()))
    else:
        dtype = column.type.to_pandas_dtype()
        values = np.frombuffer(column.buffers()[1], dtype=dtype, count=column.offset + len(column))[column.offset :]
    return values, null_mask(column) if column.null_count else None


def one_chunk(column: pa.ChunkedArray) -> Any:
    """Return a column's chunks as one array, without a copy if there is only one."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def null_mask(column: Any) -> Bools:
    """Return the null mask of an Arrow array that has nulls.

    >>> null_mask(pa.array([1, None, 3])).tolist()
    [False, True, False]
    """
    return np.equal(_bits(column, 0), 0)


def _bits(column: Any, buffer: int) -> npt.NDArray[np.uint8]:
    packed = np.frombuffer(column.buffers()[buffer], dtype=np.uint8)
    return np.unpackbits(packed, count=column.offset + len(column), bitorder="little")[column.offset :]


def integer(value: int) -> Any:
    """Make an Arrow scalar of a whole number."""
    return from_numpy(np.array([value], dtype=np.int64))[0]


def text(value: str) -> Any:
    """Make an Arrow scalar of a text."""
    return from_texts([value])[0]


def null(type_: pa.DataType) -> Any:
    """Make an Arrow scalar that is null, of the given type."""
    return pa.nulls(1, type_)[0]
