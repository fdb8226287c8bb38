"""Encode batches of rows in NumPy: SQL reads the values, and arrays of codes are indexed by them.

The codes are those of `local_sql`, whose many comparisons would take most of the time of counting. Here a number or a
date is looked up among its bin boundaries, and a date in the declared format in a list of texts; SQL encodes the rest.

To look a value up, it is put in a bucket by an increasing function (subtract, multiply, truncate). Buckets are so
narrow that no two boundaries share one, so one comparison is left. Exactness needs only that the function is
increasing: a value below a boundary is then in no later bucket than the boundary. Subtraction, multiplication by a
positive number and truncation increase in floating-point arithmetic too, because each result is rounded correctly.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpengine import arrow
from dpengine.counting.encoding.bin_boundaries import (
    Boundaries,
    boundaries_of,
    family_of,
    missing_scalars,
    period_boundaries,
)
from dpengine.counting.encoding.clock import has_clock
from dpengine.counting.encoding.coding import Coding, is_complete
from dpengine.counting.encoding.declared_texts import codes_by_text, normalised
from dpengine.counting.encoding.local_sql import code_of, is_marker, number_of
from dpengine.sources.mixed import member_types
from dpengine.spec.domain import Amount, Category, Column, Date, Number
from dpengine.spec.numeric.grid import Grid

__all__ = ["BatchCoding", "Codes", "by_sql", "coding_of", "lookup", "of_declared", "of_numerals"]

Codes: TypeAlias = npt.NDArray[np.int32]
Values: TypeAlias = npt.NDArray[Any]
Lookup: TypeAlias = Callable[[Values], Codes]
Bucket: TypeAlias = Callable[[Values], Any]

_INTEGERS = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_MAX_CELLS = 10_000  # finding the first value of each cell takes a while
_MAX_DAYS = 100_000  # listed as texts
_EPOCH = dt.date(1970, 1, 1).toordinal()
_BUCKETS = (1 << 12, 1 << 16)  # tried in turn: fewer stay in a processor's nearest cache
_PIECE = 1 << 15  # values processed at once, so that they stay in a processor's cache


@dataclass(frozen=True, slots=True)
class BatchCoding:
    """The encoding of one column, batch by batch.

    `cells` are SQL by alias over the relation `rows`, `outputs` SQL over the aliases. `codes` turns the arrays of the
    outputs into codes: the index of each row's cell, or -1. `complete`, `lists` and `functions` are as in
    `coding.Coding`. `bare` says that the only output is the unchanged column, so rows in memory need no SQL.
    """

    cells: dict[str, str]
    outputs: tuple[str, ...]
    codes: Callable[[Sequence[Any]], Codes]
    complete: bool
    lists: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    bare: bool = False


def coding_of(column: Column, index: int, type_name: str) -> BatchCoding:
    """Return the coding of the table's column ``c{index}``, which has the given DuckDB type."""
    if member_types(type_name):
        return by_sql(code_of(column, index, type_name))
    family = family_of(type_name) or "text"
    if isinstance(column, Amount):
        return _amount(column, index, type_name)
    complete = is_complete(column)
    raw = f"raw_{index}"
    typed = boundaries_of(column, type_name, _MAX_CELLS) if type_name in (*_INTEGERS, "FLOAT", "DOUBLE") else None
    if typed is not None:
        codes = partial(_by_value, _lookup_of(typed, type_name), typed.missing)
        return BatchCoding({raw: f"c{index}"}, (raw,), codes, complete, bare=True)
    by_day = isinstance(column, Date) and family in ("date", "timestamp") and not has_clock(column, type_name)
    if isinstance(column, Date) and by_day and not missing_scalars(column, type_name):
        day = f"c{index}::DATE" if family == "date" else f"c{index}::TIMESTAMP::DATE"
        codes = partial(_by_value, _day_lookup(column), column.missing_code)
        return BatchCoding({f"day_{index}": day}, (f"day_{index}",), codes, complete, bare=family == "date")
    if isinstance(column, Number) and column.size <= _MAX_CELLS:
        cells, value, rest = number_of(column, str(index), family)
        numbers = boundaries_of(column, "DOUBLE", _MAX_CELLS)
        if numbers is not None:
            others = f"CASE WHEN NOT coalesce(isfinite({value}), false) THEN ({rest})::INTEGER END"
            return BatchCoding(cells, (value, others), partial(_combine, _lookup_of(numbers, "DOUBLE")), complete)
    coding = by_sql(code_of(column, index, type_name))
    if isinstance(column, Date) and family == "text" and column.format is None and (listed := _listed(column)):
        return _by_listed_day(column, index, coding, listed)
    return coding


def _amount(column: Amount, index: int, type_name: str) -> BatchCoding:
    """Encode an amount by its place on its grid."""
    grid, raw = column.grid, f"raw_{index}"
    if type_name in (*_INTEGERS, "DOUBLE") and not is_marker(grid, raw):
        return BatchCoding({raw: f"c{index}"}, (raw,), partial(_places_by_value, grid), is_complete(grid), bare=True)
    cells, value, rest = number_of(grid, str(index), family_of(type_name) or "text")
    marked = is_marker(grid, value)
    marked = f"WHEN {marked} THEN {grid.missing_code}" if marked else ""
    others = f"CASE WHEN NOT coalesce(isfinite({value}), false) THEN ({rest})::INTEGER {marked} END"
    return BatchCoding(cells, (value, others), partial(_combine, _places_of(grid)), is_complete(grid))


def of_numerals(column: Column) -> Lookup | None:
    """Return the function from the finite numbers of texts to the codes that `coding_of` gives these texts.

    Return None if a column's texts are written otherwise, or if other parts of `coding_of` decide on some of them.
    """
    if isinstance(column, Amount):
        grid = column.grid
        return _places_of(grid) if grid.format == "1234.5" and not is_marker(grid, "value") else None
    if not isinstance(column, Number) or column.size > _MAX_CELLS or column.format != "1234.5":
        return None
    numbers = boundaries_of(column, "DOUBLE", _MAX_CELLS)
    return None if numbers is None else _lookup_of(numbers, "DOUBLE")


def of_declared(column: Column) -> dict[str, int]:
    """Return the codes of texts that are written exactly as declared, as `coding_of` gives them; possibly none."""
    if isinstance(column, Category):
        return codes_by_text(column, "text")[0]
    return _listed(column) if isinstance(column, Date) and column.format is None else {}


def by_sql(coding: Coding) -> BatchCoding:
    """Return the coding of a column that SQL alone encodes."""
    (cells,), code = coding.layers, f"({coding.code})::INTEGER"
    return BatchCoding(cells, (code,), _unchanged, coding.complete, coding.lists, coding.functions)


def _by_listed_day(column: Date, index: int, coding: BatchCoding, listed: dict[str, int]) -> BatchCoding:
    """Look a text up in a list of the declared days; SQL encodes texts that are not in it."""
    raw, place, day = f"raw_{index}", f"place_{index}", f"day_{index}"
    span = f"{raw} BETWEEN '{column.first.isoformat()}' AND '{column.last.isoformat()}' AND strlen({raw}) = 10"
    cells = coding.cells | {
        place: f"enum_code(TRY_CAST({raw} AS days_{index}))::INTEGER",
        day: f"CASE WHEN {span} THEN NULL ELSE {coding.cells[day]} END",  # days within the span are in the list
    }
    outputs = place, f"CASE WHEN {place} IS NULL THEN {coding.outputs[0]} END"
    codes = partial(_combine, partial(_codes_at, np.array(list(listed.values()), dtype=np.int32)))
    return BatchCoding(cells, outputs, codes, coding.complete, {f"days_{index}": list(listed)})


def _listed(column: Date) -> dict[str, int]:
    """Return the codes of the declared days by their ISO texts; empty if there are too many days."""
    first, last = column.first.toordinal(), column.last.toordinal()
    if last - first >= _MAX_DAYS:
        return {}
    codes = _day_lookup(column)(np.arange(first, last + 1) - _EPOCH).tolist()
    markers = {*column.missing_as, *map(normalised, column.missing_as)}
    days = {dt.date.fromordinal(first + k).isoformat(): code for k, code in enumerate(codes)}
    return {day: column.missing_code if day in markers else code for day, code in days.items()}


def _unchanged(arrays: Sequence[Any]) -> Codes:
    codes: Codes = arrow.to_numpy(arrays[0])
    return codes


def _by_value(code_of_value: Lookup, missing: int, arrays: Sequence[Any]) -> Codes:
    values, null = arrow.values_and_nulls(arrays[0])
    codes = code_of_value(values)
    if null is not None:
        codes[null] = missing
    return codes


def _places_of(grid: Grid) -> Lookup:
    return lambda values: grid.places_of(values).astype(np.int32)


def _places_by_value(grid: Grid, arrays: Sequence[Any]) -> Codes:
    values, null = arrow.values_and_nulls(arrays[0])
    codes = _places_of(grid)(values)
    codes[~np.isfinite(values)] = grid.missing_code
    if null is not None:
        codes[null] = grid.missing_code
    return codes


def _combine(code_of_value: Lookup, arrays: Sequence[Any]) -> Codes:
    """Encode values; rows already encoded in SQL keep their code."""
    values, _ = arrow.values_and_nulls(arrays[0])
    sql_codes, null = arrow.values_and_nulls(arrays[1])
    codes = code_of_value(values)
    if null is None:
        return sql_codes
    if arrays[1].null_count < len(sql_codes):
        np.copyto(codes, sql_codes, where=~null)
    return codes


def _codes_at(codes: Codes, places: Values) -> Codes:
    return np.asarray(codes.take(places, mode="clip"), dtype=np.int32)  # the place at a null is arbitrary


def _lookup_of(boundaries: Boundaries, type_name: str) -> Lookup:
    dtype = np.float64 if type_name in ("FLOAT", "DOUBLE") else np.int64
    bounds, codes = np.array(boundaries.bounds, dtype=dtype), np.array(boundaries.codes, dtype=np.int32)
    return lookup(bounds, codes, boundaries.missing)


def _day_lookup(column: Date) -> Lookup:
    """Return the function from days, counted from 1970, to codes."""
    periods = period_boundaries(column)
    bounds = np.array(periods.bounds, dtype=np.int64) - _EPOCH
    return lookup(bounds, np.array(periods.codes, dtype=np.int32), periods.missing)


def lookup(bounds: Values, codes: Codes, missing: int) -> Lookup:
    """Return the function from values to codes: ``codes[k]`` from ``bounds[k - 1]`` to below ``bounds[k]``.

    `bounds` increase, and are 64-bit integers or floating-point numbers; values are of the same kind, of any width. NaN
    has the code `missing`.

    >>> lookup(np.array([0.0, 18.0]), np.array([2, 0, 1], dtype=np.int32), missing=3)(np.array([17.5, np.nan, -1.0]))
    array([0, 3, 2], dtype=int32)
    """
    is_float = bounds.dtype.kind == "f"
    code_of_piece = _search(bounds, codes)

    def encode(values: Values) -> Codes:
        encoded = np.empty(len(values), dtype=np.int32)
        for start in range(0, len(values), _PIECE):
            piece = values[start : start + _PIECE]
            into = encoded[start : start + _PIECE]
            into[:] = code_of_piece(piece)
            if is_float:
                into[np.isnan(piece)] = missing
        return encoded

    return encode


def _search(bounds: Values, codes: Codes) -> Callable[[Values], Any]:
    """Return the function from values to codes; the code of NaN is arbitrary."""
    if not len(bounds):
        return lambda values: codes[0]
    for count in _BUCKETS:
        bucket, exact = _buckets(bounds, count)
        occupied = None if bucket is None else bucket(bounds)
        if bucket is None or occupied is None or (np.diff(occupied) == 0).any():
            continue
        numbers = np.arange(occupied[-1] + 1)
        earlier = np.searchsorted(occupied, numbers)  # how many boundaries are in earlier buckets
        if exact:
            return _by_bucket(bucket, codes[earlier + np.isin(numbers, occupied)])
        return _by_comparison(bucket, bounds[earlier], codes[earlier], codes[earlier + 1])
    return lambda values: codes.take(np.searchsorted(bounds, values, side="right"))


def _by_bucket(bucket: Bucket, codes: Codes) -> Callable[[Values], Any]:
    return lambda values: codes.take(bucket(values), mode="clip")


def _by_comparison(bucket: Bucket, bound: Values, below: Codes, above: Codes) -> Callable[[Values], Any]:
    """Return the function from values to codes: one comparison with the `bound` of the value's bucket decides.

    The bound of a bucket is the boundary in it, or else the next one; `below` and `above` are the codes on its sides.
    """
    sides = np.stack([below, above], axis=1).reshape(-1)

    def encode(values: Values) -> Any:
        place = bucket(values)
        passed = values >= bound.take(place, mode="clip")
        return sides.take(2 * place + passed, mode="clip")

    return encode


def _buckets(bounds: Values, count: int) -> tuple[Bucket | None, bool]:
    """Return an increasing function to integers: 0 below all bounds, and its largest value from the last bound on.

    Also return whether each bucket between the bounds holds a single value. The function is None if 64-bit arithmetic
    has none for these bounds.
    """
    if bounds.dtype.kind == "f":
        low, high = bounds[0], bounds[-1]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scale = count / (high - low)
        return (_float_bucket(low, high, scale) if 0 < scale < np.inf else None), False
    below, last = int(bounds[0]) - 1, int(bounds[-1])
    if below < -(2**63) or last - below >= 2**63:
        return None, False
    shift = max(0, (last - below).bit_length() - count.bit_length() + 1)
    return _integer_bucket(np.int64(below), np.int64(last), shift), shift == 0


def _float_bucket(low: Any, high: Any, scale: Any) -> Bucket:
    def bucket(values: Values) -> Any:
        with np.errstate(invalid="ignore"):  # of NaN
            return ((np.clip(values, low, high) - low) * scale).astype(np.int32)

    return bucket


def _integer_bucket(low: Any, high: Any, shift: int) -> Bucket:
    if shift == 0:
        return lambda values: np.clip(values, low, high) - low
    return lambda values: (np.clip(values, low, high) - low) >> shift
