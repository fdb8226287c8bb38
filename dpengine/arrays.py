"""Between Python, numpy and Arrow without pandas, which Arrow's own ways load and which takes a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["nothing", "number", "numbers", "of_numbers", "of_texts", "text"]


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


def number(value: int) -> Any:
    """An Arrow scalar of a whole number."""
    return of_numbers(np.array([value], dtype=np.int64))[0]


def text(value: str) -> Any:
    """An Arrow scalar of a text."""
    return of_texts([value])[0]


def nothing(kind: pa.DataType) -> Any:
    """An Arrow scalar of a type, null."""
    return pa.nulls(1, kind)[0]
