"""Exact facts about a table, for its owner's eyes only: nothing here is published, recorded or exported."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpengine.counting.count import check, check_unchanged, count, distinct_texts, row_count
from dpengine.counting.equivalence_classes import Classes, Uniqueness, class_sizes, people_count, unique_people
from dpengine.counting.single_query import check as check_asked
from dpengine.sources.table import Table
from dpengine.spec.domain import Column
from dpengine.spec.plan import Plan

__all__ = [
    "Classes", "Uniqueness", "check", "check_asked", "check_unchanged", "class_sizes", "distinct_texts",
    "people_count", "row_count", "rows_by_cell", "unique_people",
]  # fmt: skip


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
