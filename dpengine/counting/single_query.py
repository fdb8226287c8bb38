"""Exact numbers for single questions: rows that meet a condition, sums, and histograms of one column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpengine.array_types import Ints
from dpengine.counting.compatibility import column_faults
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows, coded_rows, is_one_of
from dpengine.counting.encoding.coding import Coding
from dpengine.counting.encoding.local_sql import code_of, grid_code_of, identity
from dpengine.counting.scan import LocalRows, prepared_connection
from dpengine.errors import TableError
from dpengine.sources.databases.dialects import LOCAL
from dpengine.sources.table import LocalTable, Table
from dpengine.spec.domain import Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Unit
from dpengine.spec.query import Condition
from dpengine.translation.catalogue import _

__all__ = ["Selection", "check", "coding_query", "count_matching", "histogram", "local_table", "sums"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a question reads: at most ``unit.rows`` of each person, which all meet `where`.

    A person's rows are chosen by `truncation_key` as in `count`, but among those that meet `where`. With columns in
    `by`, each group of rows has its own answer; a row without a cell in one of these columns is in no group.
    """

    where: tuple[Condition, ...]
    unit: Unit
    truncation_key: bytes
    by: tuple[Column, ...] = ()


def check(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> None:
    """Raise `TableError` with every reason why a question about `columns` cannot be answered; reads no row."""
    local_table(table, columns, unit)


def count_matching(table: Table, selection: Selection, conditions: Sequence[Condition] = ()) -> list[tuple[int, ...]]:
    """Return for each group the exact numbers of selected rows that meet all `conditions`, and of the others."""
    met = " AND ".join(["true", *(is_one_of(f"k{k}", condition.codes) for k, condition in enumerate(conditions))])
    columns = [condition.column for condition in conditions]
    sums = f"count(*) FILTER ({met}), count(*) FILTER (NOT ({met}))"
    return _by_group(table, selection, columns, sums, 2, complete=False)


def sums(table: Table, selection: Selection, grid: Grid, *, squares: bool = False) -> list[tuple[int, ...]]:
    """Return for each group the number of selected rows with a place on `grid`, and the sums of places and of squares.

    Without `squares`, which only a variance needs, the last sum is 0.
    """
    place = "k0::HUGEINT"
    totals = f"count(*), coalesce(sum({place}), 0), " + (f"coalesce(sum({place} * {place}), 0)" if squares else "0")
    return _by_group(table, selection, [grid], totals, 3)


def histogram(table: Table, selection: Selection, column: Column | Grid) -> Ints:
    """Return the exact number of selected rows in each cell of a column, or at each point of a grid, by code."""
    counts = np.zeros(column.steps + 1 if isinstance(column, Grid) else column.size, dtype=np.int64)
    for code, rows in _select(table, selection, [column], "k0, count(*)", ["k0"]):
        counts[code] = rows
    return counts


def local_table(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> LocalTable:
    """Return the table if a question about `columns` can be answered from it, else raise `TableError`."""
    if not isinstance(table, LocalTable):
        raise TableError(
            _(
                "a single question cannot be asked about rows that stay in their database; publish a table of "
                "them, or export them to a file"
            )
        )
    if faults := column_faults(table.columns, columns, unit, table.index) + LocalRows(table).faults(columns):
        raise TableError(list(dict.fromkeys(faults)))
    return table


def coding_query(
    local: LocalTable, columns: Sequence[Column | Grid], person: str | None, conditions: Sequence[str] | None = None
) -> tuple[list[Coding], str]:
    """Return the codings of `columns`, and the query of `coded_rows` for their codes.

    Several of them may read one column of the table. `person` names the column with the ID.
    """
    place = local.places
    names = [column.table_column for column in columns] + ([] if person is None else [person])
    types = [local.columns[place[name]].type for name in names]
    codings = [
        grid_code_of(column, k, types[k]) if isinstance(column, Grid) else code_of(column, k, types[k])
        for k, column in enumerate(columns)
    ] or [Coding((), "0", True)]
    cells = ", ".join(f"c{place[name]} AS c{k}" for k, name in enumerate(names)) or "1"
    person_id = None if person is None else identity(len(columns), types[-1])
    return codings, coded_rows(codings, person_id, f"(SELECT {cells} FROM rows) AS rows", conditions)


def _by_group(
    table: Table,
    selection: Selection,
    outputs: Sequence[Column | Grid],
    sums: str,
    width: int,
    *,
    complete: bool = True,
) -> list[tuple[int, ...]]:
    """Return `sums`, which are `width` expressions, for each group in declared order; 0 where there is no row."""
    keys = [f"k{k}" for k in range(len(outputs), len(outputs) + len(selection.by))]
    numbers: list[tuple[int, ...]] = [(0,) * width] * math.prod(column.size for column in selection.by)
    for codes_and_sums in _select(table, selection, outputs, ", ".join([*keys, sums]), keys, complete=complete):
        place = 0
        for column, code in zip(selection.by, codes_and_sums, strict=False):
            place = place * column.size + code
        numbers[place] = tuple(map(int, codes_and_sums[len(keys) :]))
    return numbers


def _select(
    table: Table,
    selection: Selection,
    outputs: Sequence[Column | Grid],
    select: str,
    group: Sequence[str],
    *,
    complete: bool = True,
) -> list[tuple[Any, ...]]:
    """Select from the codes k0, k1, … of the columns `outputs`, then those of ``selection.by``, in the selected rows.

    A column that is used several times has several codes. If `complete`, rows without a cell in one of `outputs` are
    left out before a person's rows are chosen.
    """
    unit = selection.unit
    columns = [*outputs, *selection.by, *(condition.column for condition in selection.where)]
    local = local_table(table, columns, unit)
    first_condition = len(outputs) + len(selection.by)
    conditions = [f"k{k} >= 0" for k in range(0 if complete else len(outputs), first_condition)]
    conditions += [is_one_of(f"k{k}", condition.codes) for k, condition in enumerate(selection.where, first_condition)]
    codings, rows = coding_query(local, columns, unit.id, conditions)
    if unit.id is not None:
        rows = bounded_rows(rows, len(codings), RowLimit(unit.rows), selection.truncation_key, LOCAL)
    with prepared_connection(local, codings) as connection:
        groups = f"GROUP BY {', '.join(group)}" if group else ""
        query = f"SELECT {select} FROM ({rows}) AS selected {groups}"
        answer: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return answer
