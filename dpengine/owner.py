"""Exact facts about a table, for its owner's eyes only: nothing here is published, recorded or exported."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from dpengine.array_types import Ints
from dpengine.counting.count import check, check_unchanged, count, count_keys, distinct_texts, row_count
from dpengine.counting.equivalence_classes import (
    Classes,
    Uniqueness,
    cells_by_person,
    class_sizes,
    people_count,
    rows_by_person,
    unique_people,
)
from dpengine.counting.numbers_in_texts import affixes_found, columns_without_numbers, thousands_found
from dpengine.counting.oddities import (
    columns_of_several_answers,
    date_formats_found,
    encoding_found,
    frequency_column,
    rows_below,
)
from dpengine.counting.single_query import check as check_asked
from dpengine.sources.table import Table
from dpengine.spec.domain import Amount, Category, Column, Number
from dpengine.spec.plan import Plan

__all__ = [
    "BOUNDS", "BeyondBounds", "CellsKept", "Classes", "RowsKept", "Uniqueness", "affixes_found", "around_bounds",
    "beyond_bounds", "cells_kept", "check", "check_asked", "check_unchanged", "class_sizes",
    "columns_of_several_answers", "columns_without_numbers", "date_formats_found", "distinct_texts",
    "encoding_found", "frequency_column", "people_count", "row_count", "rows_below", "rows_by_cell", "rows_kept",
    "rows_not_findable", "thousands_found", "unique_people",
]  # fmt: skip

FAR = Decimal(10**30)  # the largest number that an edge can be
BOUNDS = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class RowsKept:
    """Numbers of a table's `rows` with an ID that are kept under bounds on the rows of a person; all are private.

    `kept` and `people`, those whose rows are all kept, have one number for each of `bounds`.
    """

    rows: int
    bounds: tuple[int, ...]
    kept: tuple[int, ...]
    people: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellsKept:
    """The pairs of a person and one of their `cells` in a table, and how many of these are kept under bounds.

    All of it is private. `kept` and `people`, those who are kept in all of their cells, have one number for each of
    `bounds`.
    """

    cells: int
    bounds: tuple[int, ...]
    kept: tuple[int, ...]
    people: tuple[int, ...]


def rows_kept(table: Table, person: str, bounds: Sequence[int] = BOUNDS) -> RowsKept:
    """Return how many rows are kept at each of the `bounds` on the rows of a person, named by the column `person`.

    The numbers are private. A bound chosen by them is published with the plan, and so reveals a little about them. Rows
    with values that have no cell count here, since columns may not be declared yet. Raises `TableError` if there is no
    such column, or the rows stay in their database.
    """
    return RowsKept(*_under(bounds, *rows_by_person(table, person)))


def cells_kept(table: Table, columns: Sequence[Column], person: str, bounds: Sequence[int] = BOUNDS) -> CellsKept:
    """Return how much a table of distinct persons keeps at each of the `bounds` on a person's cells.

    The table is over `columns`, and the column `person` names the people; all of their rows are used, also those that a
    bound on rows would leave out. The numbers are private, like those of `rows_kept`. Raises `TableError` if there is
    no such column, or the rows stay in their database.
    """
    return CellsKept(*_under(bounds, *cells_by_person(table, columns, person)))


def _under(
    bounds: Sequence[int], sizes: Ints, people: Ints
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the total of `sizes` over `people`, the `bounds`, and the total and the people kept under each."""
    kept = tuple(int(np.minimum(sizes, bound) @ people) for bound in bounds)
    complete = tuple(int(people[sizes <= bound].sum()) for bound in bounds)
    return int(sizes @ people), tuple(bounds), kept, complete


@dataclass(frozen=True, slots=True)
class BeyondBounds:
    """Numbers of a table's `rows` that are outside the bounds of an amount, and so count as the nearer bound.

    `upper` are those in the upper half of the range or above it; `unread` are rows whose value is not a number. All are
    private.
    """

    rows: int
    below: int
    above: int
    upper: int
    unread: int


def beyond_bounds(table: Table, amounts: Sequence[Amount]) -> dict[str, BeyondBounds]:
    """Return how many rows lie outside the bounds of each amount, by its name.

    The numbers are private. Bounds chosen by them are published with the plan, and so reveal a little about them.
    Raises `TableError` as `rows_by_cell` does.
    """
    by_amount = rows_by_cell(table, list(map(around_bounds, amounts))) if amounts else {}
    beyond = {}
    for name, counts in by_amount.items():
        below, lower, upper, above, unread, _missing = map(int, counts)
        beyond[name] = BeyondBounds(below + lower + upper + above, below, above, upper + above, unread)
    return beyond


def around_bounds(amount: Amount) -> Number:
    """Return the amount's column in four bins: below its bounds, both halves of its range, and above."""
    half = amount.step / 2  # a value that is rounded to a bound lies within
    edges = [-FAR, amount.low - half, (amount.low + amount.high) / 2, amount.high + half, FAR]
    return Number(
        name=amount.name, edges=edges, format=amount.format, affixes=amount.affixes, missing_as=amount.missing_as
    )


def rows_by_cell(
    table: Table, columns: Sequence[Column], progress: Callable[[float], None] | None = None
) -> dict[str, NDArray[np.int64]]:
    """Return the exact number of rows in each cell of each column, by column name; every row counts once.

    `progress` receives the part that is done, from 0 to 1; an exception it raises ends the counting.
    Raises `TableError` if the table lacks one of these columns, or cannot be read.
    """
    plan = Plan(dataset="owner", epsilon="1", columns=list(columns), tables=[[column.name] for column in columns])
    # A unit of one row leaves out no rows, so any key will do.
    counts = count(table, plan, plan.marginals, truncation_key=os.urandom(16), progress=progress)
    return {column.name: cells for column, cells in zip(columns, counts, strict=True)}


def rows_not_findable(table: Table, columns: Sequence[Category]) -> dict[str, tuple[int, int]]:
    """Return, by column whose values are found, the rows with an impossible value, and all rows that have a value.

    A value is impossible if it is no key of the column's universe: it can only count in *(other)*. Raises `TableError`
    if the table lacks one of these columns, or cannot be read.
    """
    told = {}
    for column in columns:
        plan = Plan(dataset="owner", epsilon="1", columns=[column], tables=[[column.name]])
        _places, counts = count_keys(table, plan, column.name, truncation_key=os.urandom(16))
        anything = Category(name=column.name, values=["(any)"], missing_as=column.missing_as)
        cells = rows_by_cell(table, [anything])[column.name]
        known = int(cells.sum() - cells[anything.missing_code])
        told[column.name] = known - int(counts.sum()), known
    return told
