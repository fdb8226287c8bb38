"""Rows that stream by, in batches, become codes and are added up: SQL gives values, tables of numbers the codes.

The codes are those of `counting.encode_sql`. Many comparisons in SQL are what counting would spend most of its
time on; here a number or a day is looked up (`counting.lookup`), a day that is written as declared is one of a
list of texts, and SQL decides on the rest alone.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import arrow as arrays
from dpengine.counting.bin_boundaries import Steps, family_of, loosened, marked, steps_of
from dpengine.counting.encode_sql import Coding, code_of, number_of
from dpengine.counting.fingerprint import Told
from dpengine.counting.lookup import lookup
from dpengine.spec.domain import Column, Date, Number

__all__ = ["Streamed", "Totals", "as_it_is", "of_frame", "query", "streamed"]

Codes: TypeAlias = npt.NDArray[np.int32]
Coder: TypeAlias = Callable[[npt.NDArray[Any]], Codes]

_WHOLE = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_MOST = 10_000  # cells; finding the first value of each cell takes a while
_DAYS = 100_000  # that are listed as texts
_EPOCH = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Streamed:
    """One column: ``cells`` are SQL by alias over the relation ``rows``, ``shown`` SQL over the aliases.

    ``codes`` makes codes of the arrays of what is shown: the index of each row's cell, or -1. The texts of
    ``lists`` are to be enumerated under their names before, ``functions`` to be known. ``bare`` says that the values
    themselves are shown.
    """

    cells: dict[str, str]
    shown: tuple[str, ...]
    codes: Callable[[Sequence[Any]], Codes]
    whole: bool
    lists: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    bare: bool = False


def query(columns: Sequence[Streamed | Told], source: str = "rows") -> tuple[str, list[int]]:
    """SQL for what the columns show of a relation, and the place in it of each thing shown, one after the other.

    A value that several of them show as it is comes once.
    """
    cells = {alias: cell for column in columns for alias, cell in column.cells.items()}
    shown = [sql for column in columns for sql in column.shown]
    values = [cells.get(sql, sql) for sql in shown]
    once = dict(zip(values, shown, strict=True))
    inner = ", ".join(f"{cell} AS {alias}" for alias, cell in cells.items())
    sql = f"SELECT {', '.join(once.values())} FROM (SELECT {inner or '1'} FROM {source}) AS cells"
    order = list(once)
    return sql, [order.index(value) for value in values]


def of_frame(
    frame: pa.Table,
    columns: Sequence[Streamed],
    places: Sequence[int],
    rows: int,
    knowing: Callable[[Sequence[Streamed]], AbstractContextManager[Any]],
) -> tuple[Iterator[Any] | None, Sequence[Streamed]]:
    """Batches of at most ``rows`` rows of a table in memory, and the columns for these; no batches where SQL is needed.

    It is not for numbers, truths and days, nor for a column that is a list of entries and one's place for each row:
    there the entries are coded, by an engine that knows the column, and rows look their code up.
    """
    frame = frame.select(places).unify_dictionaries()
    found = []
    for column, place, values in zip(columns, places, frame.columns, strict=True):
        if pa.types.is_dictionary(values.type) and values.num_chunks:
            with knowing([column]) as connection:
                found.append(_by_entry(connection, column, place, values.chunk(0).dictionary))
        elif column.bare and not pa.types.is_date64(values.type):
            found.append(column)
        else:
            return None, columns
    return iter(frame.to_batches(rows)), found


def _by_entry(connection: Any, column: Streamed, place: int, entries: pa.Array) -> Streamed:
    entries = pa.concat_arrays([entries, pa.nulls(1, entries.type)])  # the last stands for rows without one
    order = arrays.from_numpy(np.arange(len(entries), dtype=np.int64))
    connection.register("entries", pa.table({f"c{place}": entries, "entry": order}))
    numbered = replace(column, cells=column.cells | {"of_entry": "entry"}, shown=(*column.shown, "of_entry"))
    try:
        sql, places = query([numbered], "entries")
        found = connection.sql(sql).to_arrow_table().combine_chunks()
        *shown, at = [found.column(place) for place in places]
    finally:
        connection.unregister("entries")
    codes = np.empty(len(entries), dtype=np.int32)  # the engine answers in an order of its own
    codes[arrays.to_numpy(at)] = column.codes([_one(part) for part in shown])
    return Streamed({}, ("entry",), partial(_of_entries, codes), column.whole)


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _of_entries(codes: Codes, shown: Sequence[Any]) -> Codes:
    places, absent = arrays.values_and_nulls(shown[0].indices)
    found = codes.take(places, mode="clip")
    if absent is not None:
        found[absent] = codes[-1]
    return found


def streamed(column: Column, index: int, type_name: str) -> Streamed:
    """The codes of the table's column ``c{index}``, which is of the given type."""
    family = family_of(type_name) or "text"
    whole = min(column.other_code, column.missing_code) >= 0
    own = {f"own_{index}": f"c{index}"}
    typed = steps_of(column, type_name, _MOST) if type_name in (*_WHOLE, "FLOAT", "DOUBLE") else None
    if typed is not None:
        codes = partial(_looked_up, _coder(typed, type_name), typed.missing)
        return Streamed(own, (f"own_{index}",), codes, whole, bare=True)
    if isinstance(column, Date) and family in ("date", "timestamp") and not marked(column, type_name):
        day = f"c{index}::DATE" if family == "date" else f"c{index}::TIMESTAMP::DATE"
        days = partial(_looked_up, _days(column), column.missing_code)
        return Streamed({f"day_{index}": day}, (f"day_{index}",), days, whole, bare=family == "date")
    if isinstance(column, Number) and column.size <= _MOST:
        cells, value, rest = number_of(column, index, family)
        numbers = steps_of(column, "DOUBLE", _MOST)
        if numbers is not None:
            missing = f"CASE WHEN NOT coalesce(isfinite({value}), false) THEN ({rest})::INTEGER END"
            return Streamed(cells, (value, missing), partial(_unless, _coder(numbers, "DOUBLE")), whole)
    coding = code_of(column, index, type_name)
    if isinstance(column, Date) and family == "text" and column.format is None and (listed := _listed(column)):
        text, found, day = f"own_{index}", f"listed_{index}", f"day_{index}"
        span = f"{text} BETWEEN '{column.first.isoformat()}' AND '{column.last.isoformat()}' AND strlen({text}) = 10"
        cells = coding.cells | {
            found: f"enum_code(TRY_CAST({text} AS days_{index}))::INTEGER",
            day: f"CASE WHEN {span} THEN NULL ELSE {coding.cells[day]} END",  # days in the span are listed
        }
        rest = f"CASE WHEN {found} IS NULL THEN ({coding.code})::INTEGER END"
        places = np.array(list(listed.values()), dtype=np.int32)
        return Streamed(
            cells,
            (found, rest),
            partial(_unless, partial(_taken, places)),
            whole,
            {f"days_{index}": list(listed)},
        )
    return as_it_is(coding)


def as_it_is(coding: Coding) -> Streamed:
    """A column that is coded by SQL alone."""
    shown = f"({coding.code})::INTEGER"
    return Streamed(coding.cells, (shown,), _as_they_are, coding.whole, coding.lists, coding.functions)


class Totals:
    """Exact counts of the cells of some joint tables, each of the columns at its places in ``columns``.

    Rows without a cell in any column count nowhere.
    """

    def __init__(self, columns: Sequence[Streamed], joints: Sequence[Sequence[int]], sizes: Sequence[int]) -> None:
        self.counts = [np.zeros([sizes[place] for place in joint], dtype=np.int64) for joint in joints]
        self.columns = columns
        self._joints = joints
        self._adding = threading.Lock()

    def add(self, shown: Sequence[Any], number: int) -> None:
        """A batch of that number of rows; ``shown`` is what the columns show, one after the other."""
        arrays_shown = iter(shown)
        codes = [column.codes(list(islice(arrays_shown, len(column.shown)))) for column in self.columns]
        lacking = [own < 0 for own, column in zip(codes, self.columns, strict=True) if not column.whole]
        if lacking and (gone := np.logical_or.reduce(lacking)).any():
            codes = [own[~gone] for own in codes]
        rows = len(codes[0]) if codes else number
        cells = np.empty(rows, dtype=np.int64)
        for total, joint in zip(self.counts, self._joints, strict=True):
            _place(cells, [codes[place] for place in joint], total.shape)
            if total.size <= rows:
                found = np.bincount(cells, minlength=total.size)
                with self._adding:
                    total += found.reshape(total.shape)
            else:
                with self._adding:
                    np.add.at(total.reshape(-1), cells, 1)


def _place(cells: npt.NDArray[np.int64], codes: Sequence[Codes], shape: Sequence[int]) -> None:
    """Fill ``cells`` with the places of rows in a flat table."""
    np.copyto(cells, codes[0] if codes else 0)
    for own, size in zip(codes[1:], shape[1:], strict=True):
        cells *= size
        cells += own


def _as_they_are(shown: Sequence[Any]) -> Codes:
    codes: Codes = arrays.to_numpy(shown[0])
    return codes


def _looked_up(coder: Coder, missing: int, shown: Sequence[Any]) -> Codes:
    values, absent = arrays.values_and_nulls(shown[0])
    codes = coder(values)
    if absent is not None:
        codes[absent] = missing
    return codes


def _unless(coder: Coder, shown: Sequence[Any]) -> Codes:
    """Codes of values, but for the rows that have a code already."""
    values, _ = arrays.values_and_nulls(shown[0])
    others, none = arrays.values_and_nulls(shown[1])
    codes = coder(values)
    if none is None:
        return others
    if shown[1].null_count < len(others):
        np.copyto(codes, others, where=~none)
    return codes


def _taken(codes: Codes, places: npt.NDArray[Any]) -> Codes:
    return np.asarray(codes.take(places, mode="clip"), dtype=np.int32)  # a null may hide any place


def _coder(steps: Steps, type_name: str) -> Coder:
    real = type_name in ("FLOAT", "DOUBLE")
    cuts = np.array(steps.cuts, dtype=np.float64 if real else np.int64)
    return lookup(cuts, np.array(steps.codes, dtype=np.int32), steps.missing)


def _days(column: Date) -> Coder:
    """Of days counted from 1970."""
    first = column.ordinal(column.first)
    starts = [column.period(first + k)[0].toordinal() - _EPOCH for k in range(len(column.declared))]
    cuts = np.array([*starts, column.last.toordinal() + 1 - _EPOCH], dtype=np.int64)
    return lookup(cuts, np.array([column.other_code, *range(len(starts)), column.other_code], np.int32), 0)


def _listed(column: Date) -> dict[str, int]:
    """Codes of the declared days by how most files write them; none of too many."""
    first, last = column.first.toordinal(), column.last.toordinal()
    if last - first >= _DAYS:
        return {}
    codes = _days(column)(np.arange(first, last + 1) - _EPOCH).tolist()
    marks = {*column.missing_as, *map(loosened, column.missing_as)}
    days = {dt.date.fromordinal(first + k).isoformat(): code for k, code in enumerate(codes)}
    return {day: column.missing_code if day in marks else code for day, code in days.items()}
