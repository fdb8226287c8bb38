"""Values of synthetic rows, typed like the declared columns, from their cells; and cells from written values.

A release holds only the cell of a row. Within a cell, values are spread evenly by a fixed rule, not at random:

* numbers on the grid of the edges' own decimals (whole numbers where all edges are whole), from the lower edge to
  below the upper one, which the last bin includes; a bin that holds one grid value gives just that one;
* dates on the days of the period that lie within the declared span;
* categories, yes and no stand for themselves, *other* for its label, and *missing* is empty.

Every value of a bin's grid is used by equally many rows, to within one. A hash of the row's place decides which row
gets which, so values in two columns are unrelated within their cells. Missing markers of the plan are skipped. So a row
counted by the plan falls in its own cells again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpengine import arrow, safe_csv
from dpengine.array_types import Ints
from dpengine.exact import decimal
from dpengine.quasi_random import shuffled
from dpengine.spec.domain import OTHER, Amount, Column, Date, Number
from dpengine.spec.numeric.number import number_codes
from dpengine.synthesis.date_texts import read_day, write_day

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["amounts", "cells", "reader", "series", "texts", "texts_of_cells", "values"]

OFF_GRID = 1e-9  # of an amount, for its rounding in 64 bits
MAX_DIGITS = 15  # of numbers that 64-bit floats can distinguish
EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class _Grid:
    """Grid of each declared cell: its first step, the number of its steps, and the steps to skip, increasing."""

    first: Ints
    steps: Ints
    skipped: Ints
    decimals: int = 0

    def at(self, codes: Ints, salt: int) -> Ints:
        """Return the step of each row; `codes` gives its declared cell."""
        before = np.searchsorted(self.skipped, self.first)
        free = self.steps - (np.searchsorted(self.skipped, self.first + self.steps) - before)
        free = np.where(free > 0, free, self.steps)  # a cell that has only missing markers keeps them
        place = _even(codes, salt)
        steps: Ints = self.first[codes] + np.minimum((place * free[codes]).astype(np.int64), free[codes] - 1)
        for step in self.skipped:
            steps += (self.first[codes] <= step) & (step <= steps)
        last = self.first[codes] + self.steps[codes] - 1
        bounded: Ints = np.minimum(steps, last)
        return bounded


def values(column: Column, codes: Ints, salt: int) -> Any:
    """Return a value for each row's cell as an Arrow array, null in *other* and *missing*.

    Numbers are int64 or float64, dates date32, everything else dictionary-encoded texts. Columns should differ in
    `salt`.
    """
    size = column.declared_size
    filled: npt.NDArray[Any] = codes.astype(np.int32)
    if isinstance(column, Number | Date):
        inside = codes < size
        placed = (
            _numbers(column, codes[inside], salt) if isinstance(column, Number) else _days(column, codes[inside], salt)
        )
        filled = np.zeros(len(codes), dtype=placed.dtype)
        filled[inside] = placed
    array = arrow.from_numpy(filled)
    array = pc.if_else(pc.less(arrow.from_numpy(codes), arrow.integer(size)), array, arrow.null(array.type))
    if isinstance(column, Number):
        return array
    if isinstance(column, Date):
        return array.view(pa.date32())
    return pa.DictionaryArray.from_arrays(array, arrow.from_texts(column.declared))


def texts(column: Column, array: Any, codes: Ints) -> Any:
    """Return an array that `values` made for `codes` as texts.

    Dates are in the plan's format or else in ISO 8601, *other* is its label, *missing* is empty.
    """
    if isinstance(column, Date) and column.format is not None:
        array = _formatted(column, array)
    if not column.other:
        return pc.fill_null(array.cast(pa.large_string()), arrow.text(""))
    label = arrow.text(other_text(column))
    other = pc.equal(arrow.from_numpy(codes), arrow.integer(column.other_code))
    return pc.fill_null(pc.if_else(other, label, array.cast(pa.large_string())), arrow.text(""))


def texts_of_cells(column: Column) -> list[str]:
    """Return the text of each cell, by code, of a column whose values are constant within a cell.

    >>> from dpengine.spec.domain import YesNo
    >>> texts_of_cells(YesNo(name="smokes"))
    ['yes', 'no', '(other)', '']
    """
    written = [*column.declared, *[""] * (column.size - column.declared_size)]
    if column.other:
        written[column.other_code] = other_text(column)
    return written


def amounts(column: Amount, places: Ints) -> tuple[Any, Ints]:
    """Return the values of an amount at some places of its grid as an Arrow array, null at −1, and their cells.

    Values are int64 or float64; the cell is 0, or that for missing values.
    """
    decimals = max(0, *(-int(each.normalize().as_tuple().exponent) for each in (column.low, column.step)))
    first, step = (int(each.scaleb(decimals)) for each in (column.low, column.step))
    numbers: npt.NDArray[Any] = first + step * places
    array = arrow.from_numpy(numbers if decimals == 0 else numbers / 10**decimals)
    known = places >= 0
    array = pc.if_else(pc.greater_equal(arrow.from_numpy(places), arrow.integer(0)), array, arrow.null(array.type))
    return array, np.where(known, 0, column.missing_code)


def series(column: Column, array: Any, codes: Ints) -> pd.Series[Any]:
    """Return values of rows as a pandas column: of their own type, or of Python objects if *other* occurs.

    `array` holds the values, as `values` made them for `codes`.
    """
    import pandas as pd

    other = (codes == column.other_code) & column.other
    if other.any():
        if isinstance(column, Date) and column.format is not None:
            array = pc.if_else(array.is_valid(), texts(column, array, codes), arrow.null(pa.large_string()))
        objects = np.array([*array.to_pylist(), None], dtype=object)[:-1]  # None keeps NumPy from converting dates
        objects[other] = other_text(column)
        return pd.Series(objects, dtype=object)
    if isinstance(column, Date):
        array = array.cast(pa.timestamp("s"))
    elif not isinstance(column, Number | Amount):
        array = array.cast(pa.large_string())
    typed: pd.Series[Any] = array.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return typed


def reader(column: Column) -> Callable[[Any], Ints]:
    """Return a function from texts that `texts` may have written, as read from a file, to cells; −1 for any other.

    For an amount it gives places on the grid, and `missing_place` for missing values.
    """
    if isinstance(column, Number):
        declared = _number_reader(column)
    elif isinstance(column, Amount):
        declared = _amount_reader(column)
    elif isinstance(column, Date):
        declared = partial(_day_cells, column)
    else:
        declared = partial(_value_cells, {text: k for k, text in enumerate(column.declared)})
    outside = {other_text(column): column.other_code} if column.other else {}
    if column.missing:
        outside[""] = column.missing_place

    def cells_of(written: Any) -> Ints:
        flat = written.combine_chunks() if isinstance(written, pa.ChunkedArray) else written
        encoded = flat.dictionary_encode()
        known = [safe_csv.unguard(text) for text in encoded.dictionary.to_pylist()]
        codes = declared(known)
        for k, text in enumerate(known):
            codes[k] = outside.get(text, codes[k])
        cells: Ints = codes[arrow.to_numpy(encoded.indices)]
        return cells

    return cells_of


def cells(column: Column, written: Any) -> Ints:
    """Return the cell of each text that `texts` may have written, as read from a file; −1 for any other text."""
    return reader(column)(written)


def other_text(column: Column) -> str:
    """Return `(other)`, in more brackets if that is a value or missing marker of the plan."""
    label = OTHER
    while label in column.missing_as or label in column.declared:
        label = f"({label})"
    return label


def _even(codes: Ints, salt: int) -> npt.NDArray[np.float64]:
    """Return a place between 0 and 1 for each row: the middles of n equal parts, shuffled, for the n rows of a cell."""
    order = shuffled(len(codes), salt)
    small = codes.astype(np.min_scalar_type(codes.max(initial=0)))  # small integers are sorted by their digits
    order = order[np.argsort(small[order], kind="stable")]
    sizes = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(codes))
    places[order] = (rank + 0.5) / np.repeat(sizes, sizes)
    return places


def _numbers(column: Number, codes: Ints, salt: int) -> npt.NDArray[Any]:
    edges = column.edges
    decimals = max(0, *(-int(edge.normalize().as_tuple().exponent) for edge in edges))
    missing = _missing_numbers(column)
    while max(abs(edge) for edge in edges) * 10**decimals < 10**MAX_DIGITS:
        grid = _number_grid(edges, missing, decimals)
        if (np.diff(np.searchsorted(grid.skipped, [grid.first, grid.first + grid.steps]), axis=0) < grid.steps).all():
            numbers = grid.at(codes, salt)
            return numbers if decimals == 0 else numbers / 10**decimals
        decimals += 1  # a bin whose grid values are all missing markers uses a finer grid
    low, high = (np.array([float(edge) for edge in side]) for side in (edges[:-1], edges[1:]))
    between = low[codes] + (high - low)[codes] * _even(codes, salt)
    clipped: npt.NDArray[np.float64] = np.clip(between, low[codes], np.nextafter(high, -np.inf)[codes])
    return clipped


def _number_grid(edges: Sequence[Decimal], missing: Sequence[Decimal], decimals: int) -> _Grid:
    ends = np.array([int(edge.scaleb(decimals)) for edge in edges], dtype=np.int64)
    steps = np.diff(ends)
    steps[-1] += 1  # the last bin is closed
    scaled = (Fraction(number) * 10**decimals for number in missing)
    low, high = int(ends[0]), int(ends[-1])
    skipped = sorted({int(number) for number in scaled if number.denominator == 1 and low <= number <= high})
    return _Grid(ends[:-1], steps, np.array(skipped, dtype=np.int64))


def _missing_numbers(column: Number) -> list[Decimal]:
    """Return the missing markers that are numbers."""
    numbers = []
    for text in column.missing_as:
        with suppress(ValueError):  # a text that is no number
            numbers.append(decimal(text))
    return numbers


def _number_reader(column: Number) -> Callable[[Sequence[str]], Ints]:
    codes_of = number_codes(column)

    def cells_of(known: Sequence[str]) -> Ints:
        codes = codes_of(_read_numbers(known))
        codes[codes >= column.declared_size] = -1
        return codes

    return cells_of


def _amount_reader(column: Amount) -> Callable[[Sequence[str]], Ints]:
    def cells_of(known: Sequence[str]) -> Ints:
        numbers = _read_numbers(known)
        low, step = float(column.low), float(column.step)
        with np.errstate(invalid="ignore"):
            places = np.rint((numbers - low) / step)
            on_grid = np.abs(low + places * step - numbers) <= OFF_GRID * (np.abs(numbers) + step)
            inside = on_grid & (places >= 0) & (places <= column.grid.steps)
        return np.where(inside, places, -1).astype(np.int64)

    return cells_of


def _read_numbers(known: Sequence[str]) -> npt.NDArray[np.float64]:
    texts = arrow.from_texts(known)
    number = pc.match_substring_regex(texts, r"^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[+-]?[0-9]+)?$")
    return arrow.to_numpy(pc.if_else(number, texts, arrow.null(texts.type)).cast(pa.float64()))


def _day_cells(column: Date, known: Sequence[str]) -> Ints:
    days = [read_day(text, column.format) for text in known]
    return np.array([-1 if day is None else _period(column, day) for day in days], dtype=np.int64)


def _value_cells(places: Mapping[str, int], known: Sequence[str]) -> Ints:
    return np.array([places.get(text, -1) for text in known], dtype=np.int64)


def _days(column: Date, codes: Ints, salt: int) -> npt.NDArray[np.int32]:
    start = column.ordinal(column.first)
    spans = [column.period(start + k) for k in range(column.declared_size)]
    first = np.array([low.toordinal() for low, _ in spans]) - EPOCH
    steps = np.array([(high - low).days + 1 for low, high in spans])
    markers = [read_day(text, column.format) for text in column.missing_as]
    skipped = sorted({day.toordinal() - EPOCH for day in markers if day and column.first <= day <= column.last})
    return _Grid(first, steps, np.array(skipped, dtype=np.int64)).at(codes, salt).astype(np.int32)


def _formatted(column: Date, days: Any) -> Any:
    """Return days in the plan's format, or in ISO 8601 if that format would not read them back to the same period."""
    encoded = days.dictionary_encode()
    known = encoded.dictionary
    texts = []
    for day in known.to_pylist():
        text = write_day(day, column.format or "")
        read = read_day(text, column.format)
        texts.append(text if read is not None and _period(column, read) == _period(column, day) else day.isoformat())
    return arrow.from_texts(texts).take(encoded.indices)


def _period(column: Date, day: date) -> int:
    """Return the cell of a day, −1 outside of the span."""
    inside = column.first <= day <= column.last
    return column.ordinal(day) - column.ordinal(column.first) if inside else -1
