"""Tables in memory, converted so that DuckDB can read every column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpengine import arrow
from dpengine.sources.cells import cell_text, object_array, text_array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_pandas", "kinds_of_objects", "widen"]

_TICKS = {"s": 1, "ms": 1000}
_WRITTEN_AS_DATES = ("d", "b", "h", "min", "s", "ms", "us", "ns")  # lengths of periods, from days on
_NO_CELLS: tuple[tuple[Any, str], ...] = (
    (dt.timedelta, "duration"),
    ((list, tuple, set, frozenset, np.ndarray), "list"),
    (Mapping, "dict"),
)
_YEAR_0_ENDS, _YEAR_10000 = -62_135_596_801, 253_402_300_800  # seconds from 1970


def widen(table: pa.Table) -> pa.Table:
    """Return the table with types that DuckDB reads.

    16-bit floats are in 32 bits, decimals of 256 bits are the floats of their texts, as in Parquet files, and
    timestamps of seconds or milliseconds are in microseconds.

    DuckDB fails on a timestamp whose microseconds do not fit in 64 bits, also on one in a dictionary. A timestamp
    before year 1 or after year 9999 becomes the last second of year 0 or the first of year 10000, which no plan can
    declare.
    """
    for i, field in enumerate(table.schema):
        inner = field.type.value_type if pa.types.is_dictionary(field.type) else pa.null()
        if pa.types.is_timestamp(inner) or pa.types.is_decimal256(inner):
            field = pa.field(field.name, inner)
            table = table.set_column(i, field, table.column(i).cast(field.type))
        if pa.types.is_float16(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float32()))
        elif pa.types.is_decimal256(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()).cast(pa.float64()))
        elif pa.types.is_timestamp(field.type) and field.type.unit in _TICKS:
            table = table.set_column(i, field.name, _in_microseconds(table.column(i)))
    return table


def _in_microseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    per_second = _TICKS[times.type.unit]
    ticks = times.cast(pa.int64())
    first, last, factor = arrow.from_numpy(
        np.array([_YEAR_0_ENDS * per_second, _YEAR_10000 * per_second, 10**6 // per_second])
    )
    ticks = pc.min_element_wise(ticks, last, skip_nulls=False)
    ticks = pc.max_element_wise(ticks, first, skip_nulls=False)
    return pc.multiply(ticks, factor).cast(pa.timestamp("us", times.type.tz))


def from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Convert the columns of a frame to Arrow, without its index."""
    names = [str(name) for name in frame.columns]
    return pa.Table.from_arrays([_from_series(frame.iloc[:, i]) for i in range(len(names))], names)


def kinds_of_objects(frame: pd.DataFrame) -> list[str]:
    """Return for each column what its cells are, if they can only be read as Python writes them; else a blank text.

    An enumeration also tells its name. Only the type of a column is looked at; of objects, that of the first one which
    is not missing.
    """
    return [_kind_of_objects(frame.iloc[:, i]) for i in range(frame.shape[1])]


def _kind_of_objects(series: pd.Series[Any]) -> str:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    match dtype:
        case pd.PeriodDtype():
            return "" if dtype.freq.rule_code.lower() in _WRITTEN_AS_DATES else "period"
        case pd.IntervalDtype():
            return "interval"
        case _ if dtype.kind in "mc":
            return "duration" if dtype.kind == "m" else "complex"
    first = next((each for each in series if cell_text(each) is not None), None) if dtype.kind == "O" else None
    # One that is a text or a number is read as such; another may write itself in a way of its own.
    if isinstance(first, Enum) and not isinstance(first, str | int) and type(first).__str__ is Enum.__str__:
        return f"enum {type(first).__name__}"
    return next((kind for types, kind in _NO_CELLS if isinstance(first, types)), "")


def _from_series(series: pd.Series[Any]) -> Any:
    """Convert a typed column unchanged, categories to text, and objects each by its own type."""
    dtype = series.dtype
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        texts = text_array(dtype.categories)
        return pa.DictionaryArray.from_arrays(pa.array(series.cat.codes, mask=series.cat.codes == -1), texts)
    if dtype.kind in "biufM" or isinstance(dtype, pd.StringDtype):
        with suppress(pa.ArrowException, UnicodeError):
            return pa.array(series, from_pandas=True)
    return object_array(series)
