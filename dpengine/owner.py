"""Exact facts about a table, for its owner's eyes only: nothing here is published, recorded or exported."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpengine.counting.count import check, check_unchanged, count, distinct_texts, row_count
from dpengine.counting.equivalence_classes import (
    Classes,
    Uniqueness,
    class_sizes,
    people_count,
    rows_by_person,
    unique_people,
)
from dpengine.counting.single_query import check as check_asked
from dpengine.sources.table import Table
from dpengine.spec.domain import Column
from dpengine.spec.plan import Plan

__all__ = [
    "BOUNDS", "Classes", "RowsKept", "Uniqueness", "check", "check_asked", "check_unchanged", "class_sizes",
    "distinct_texts", "people_count", "row_count", "rows_by_cell", "rows_kept", "unique_people",
]  # fmt: skip

BOUNDS = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class RowsKept:
    """How many of a table's `rows` with an ID are kept under bounds on the rows of a person; all of it is private.

    `kept` and `people`, those whose rows are all kept, have one number for each of `bounds`.
    """

    rows: int
    bounds: tuple[int, ...]
    kept: tuple[int, ...]
    people: tuple[int, ...]


def rows_kept(table: Table, person: str, bounds: Sequence[int] = BOUNDS) -> RowsKept:
    """Return how many rows are kept if each person, named by the column `person`, keeps at most so many.

    The numbers are private; a bound that is chosen by them is published with the plan, and so says a little about them.
    Rows with values that have no cell count here, since columns may not be declared yet.
    Raises `TableError` if there is no such column, or the rows stay in their database.
    """
    each, people = rows_by_person(table, person)
    kept = tuple(int(np.minimum(each, bound) @ people) for bound in bounds)
    whole = tuple(int(people[each <= bound].sum()) for bound in bounds)
    return RowsKept(int(each @ people), tuple(bounds), kept, whole)


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
