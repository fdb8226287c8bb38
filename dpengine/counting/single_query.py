"""Exact answers to single questions: the rows that meet a condition, sums, and histograms of one column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpengine.array_types import Ints
from dpengine.counting.compatibility import column_faults
from dpengine.counting.contribution_bounding import among, bounded_rows, coded_rows
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

__all__ = ["Selection", "check", "histogram", "matching", "sums"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a question reads: those that meet all of `where`, and at most ``unit.rows`` of each person.

    A person's rows are chosen by `truncation_key`, as `count` does, but among those that meet `where`.
    """

    where: tuple[Condition, ...]
    unit: Unit
    truncation_key: bytes


def check(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> None:
    """Raise `TableError` with every reason why a question about `columns` cannot be answered; reads no row."""
    _local(table, columns, unit)


def matching(table: Table, selection: Selection, of: Sequence[Condition] = ()) -> tuple[int, int]:
    """Return the exact numbers of selected rows that meet all of `of`, and of those that do not."""
    met = " AND ".join(["true", *(among(f"k{k}", condition.codes) for k, condition in enumerate(of))])
    select = f"SELECT count(*) FILTER ({met}), count(*) FILTER (NOT ({met}))"
    columns = [condition.column for condition in of]
    ((meeting, others),) = _select(table, selection, columns, select, complete=False)
    return int(meeting), int(others)


def sums(table: Table, selection: Selection, grid: Grid) -> tuple[int, int]:
    """Return the exact number of selected rows whose value has a place on `grid`, and the sum of these places."""
    ((rows, total),) = _select(table, selection, [grid], "SELECT count(*), coalesce(sum(k0::HUGEINT), 0)")
    return int(rows), int(total)


def histogram(table: Table, selection: Selection, of: Column | Grid) -> Ints:
    """Return the exact number of selected rows in each cell of a column, or at each point of a grid, by code."""
    counts = np.zeros(of.steps + 1 if isinstance(of, Grid) else of.size, dtype=np.int64)
    for code, rows in _select(table, selection, [of], "SELECT k0, count(*)", "GROUP BY k0"):
        counts[code] = rows
    return counts


def _local(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> LocalTable:
    """Return the table if a question about `columns` can be answered from it, else raise `TableError`."""
    if not isinstance(table, LocalTable):
        raise TableError(
            _(
                "a single question cannot be asked about rows that stay in their database; publish a table of "
                "them, or export them to a file"
            )
        )
    if faults := column_faults(table.columns, columns, unit) + LocalRows(table).faults(columns):
        raise TableError(list(dict.fromkeys(faults)))
    return table


def _select(
    table: Table,
    selection: Selection,
    of: Sequence[Column | Grid],
    select: str,
    group: str = "",
    *,
    complete: bool = True,
) -> list[tuple[Any, ...]]:
    """Run `select` over the codes k0, k1, … of the columns `of` in the selected rows; `group` ends the query.

    A column that is used several times has several codes. If `complete`, rows without a cell in one of `of` are left
    out before a person's rows are chosen.
    """
    unit = selection.unit
    columns = [*of, *(condition.column for condition in selection.where)]
    local = _local(table, columns, unit)
    place = {column.name: i for i, column in enumerate(local.columns)}
    names = [column.name for column in columns] + ([] if unit.id is None else [unit.id])
    types = [local.columns[place[name]].type for name in names]
    codings = [
        grid_code_of(column, k, types[k]) if isinstance(column, Grid) else code_of(column, k, types[k])
        for k, column in enumerate(columns)
    ]
    conditions = [f"k{k} >= 0" for k in range(len(of))] if complete else []
    conditions += [among(f"k{k}", condition.codes) for k, condition in enumerate(selection.where, len(of))]
    codings = codings or [Coding((), "0", True)]
    cells = ", ".join(f"c{place[name]} AS c{k}" for k, name in enumerate(names)) or "1"
    person = None if unit.id is None else identity(len(columns), types[-1])
    rows = coded_rows(codings, person, f"(SELECT {cells} FROM rows) AS rows", conditions)
    if person is not None:
        rows = bounded_rows(rows, len(codings), unit.rows, selection.truncation_key, LOCAL)
    with prepared_connection(local, codings) as connection:
        answer: list[tuple[Any, ...]] = connection.execute(f"{select} FROM ({rows}) AS selected {group}").fetchall()
    return answer
