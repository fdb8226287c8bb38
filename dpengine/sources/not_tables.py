"""What is given in place of a table, and what to give instead."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpengine.translation.catalogue import mark

__all__ = ["index_names", "not_a_table"]

TABLES = mark("a table is given as a path or paths, a DataFrame of pandas or polars, a pyarrow or an Ibis table")
_INSTEAD = {  # by the name of the type
    "LazyFrame": mark("a query of polars that was not run has no rows yet: give what its .collect() returns"),
    "Series": mark("one column is no table: make it a data frame, with .to_frame()"),
    "ChunkedArray": mark("one column is no table: make it one, such as with pyarrow.table([column], ['age'])"),
    "DataFrameGroupBy": mark("a frame in groups is no table: give the frame itself"),
}
_MADE = mark("make a data frame of these rows, such as with pandas.DataFrame(rows), and give that")
_BATCHES = mark("make a table of these record batches, with pyarrow.Table.from_batches(batches), and give that")
_SCANNED = mark("give the rows of this dataset, which its .to_table() returns")
_STREAM = mark(
    "the table has a column of a type that Arrow does not know here, such as whole numbers of 128 bits: cast that "
    "column to another type"
)


def not_a_table(source: object) -> str:
    """Return why an object is no table and what to give instead, as a text of the catalogue.

    >>> not_a_table([{"age": 3}])
    'make a data frame of these rows, such as with pandas.DataFrame(rows), and give that'
    """
    name = type(source).__name__
    if name in _INSTEAD:
        return _INSTEAD[name]
    if hasattr(source, "__arrow_c_stream__"):  # and yet it could not be read as one
        return _STREAM
    if hasattr(source, "to_table") and hasattr(source, "scanner"):
        return _SCANNED
    if isinstance(source, Iterator) or (isinstance(source, list | tuple) and _are_batches(source)):
        return _BATCHES
    if isinstance(source, np.ndarray | Mapping | list | tuple):
        return _MADE
    return TABLES


def _are_batches(rows: list[Any] | tuple[Any, ...]) -> bool:
    return bool(rows) and type(rows[0]).__name__ == "RecordBatch"


def index_names(source: object) -> tuple[str, ...]:
    """Return the names of what a pandas frame has as its index, which is no column; none for other sources."""
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    names: Any = source.index.names if isinstance(source, frames) else ()
    return tuple(str(name) for name in names if name is not None)
