"""Synthetic rows as lines of CSV.

Fields that are constant within a cell, such as the text of a category, are written once for each unique row and reused
for every row that repeats it. Only numbers and dates, which are spread within their cells, are written row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dpengine import arrow, safe_csv
from dpengine.array_types import Ints
from dpengine.spec.domain import Amount, Column, Date, Number
from dpengine.synthesis import cell_values

__all__ = ["is_spread", "lines"]


def is_spread(column: Column) -> bool:
    """Return whether the values of a column differ within a cell."""
    return isinstance(column, Number | Date | Amount)


def lines(
    columns: Sequence[Column], unique: Mapping[str, Ints], index: Ints, spread: Mapping[str, tuple[Any, Ints]]
) -> memoryview:
    """Return the lines of rows as one piece of a CSV file, in the order of `columns`.

    `unique` gives the cells of unique rows by column, and `index` the place of each row among them. `spread` gives
    the values and cells of each row, by each column that `is_spread`.
    """
    ends = [","] * (len(columns) - 1) + ["\r\n"]
    pieces: list[Any] = []
    for varies, group in groupby(zip(columns, ends, strict=True), lambda each: is_spread(each[0])):
        if varies:
            for column, end in group:
                pieces += [_texts(column, *spread[column.name], alone=len(columns) == 1), arrow.text(end)]
        else:
            fields = [_cells(column, end, alone=len(columns) == 1).take(arrow.from_numpy(unique[column.name]))
                      for column, end in group]  # fmt: skip
            pieces.append(_joined(fields).take(arrow.from_numpy(index)))
    return _content(_joined(pieces))


def _joined(pieces: Sequence[Any]) -> Any:
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, arrow.text(""))


def _content(texts: Any) -> memoryview:
    """Return the texts of an array one after the other, as they are in memory."""
    if not len(texts):
        return memoryview(b"")
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)
    return memoryview(data or b"")[ends[texts.offset] : ends[texts.offset + len(texts)]]


def _cells(column: Column, end: str, *, alone: bool) -> Any:
    """Return the field of each cell of a column, followed by `end`."""
    texts = cell_values.texts_of_cells(column)
    return arrow.from_texts([(safe_csv.field(text) or ('""' if alone else "")) + end for text in texts])


def _texts(column: Column, values: Any, codes: Ints, *, alone: bool) -> Any:
    """Return the field of each row in a column whose values are spread."""
    texts = cell_values.texts(column, values, codes)
    if isinstance(column, Date) and column.format is not None:  # all other numbers and days are plain
        texts = safe_csv.text_column(texts)
    if alone:  # readers skip an empty line
        texts = pc.if_else(pc.equal(texts, arrow.text("")), arrow.text('""'), texts)
    return texts
