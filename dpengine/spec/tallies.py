"""Tables that count persons beside tables that count rows.

A table of *distinct* persons counts each of them at most once in a cell, and in at most `cells_per_person` of its
cells. So one person changes it by at most that number, not by the number of their rows. The rows of a person are put in
a random order; the person counts in the first different cells of the table that these rows lie in.

With one cell per person, a person counts in the cell of their first row. This is the same row in all such tables, so
these are tables of one row per person: their cells partition the persons, their sums count persons, and they agree on
what they share. With more cells per person this does not hold: a person who counts in two cells would count twice in a
sum of both. Such a table is separate, and agrees with no other.

A *tally* is a set of tables that agree because they count the same: all tables of rows, all tables with one cell per
person, or one table with several. Everything that follows from measurements is computed separately for each tally.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from dpengine.spec.declared import changed
from dpengine.spec.published_table import PublishedTable, read_table
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["Tally", "WithTallies", "check_distinct"]


@dataclass(frozen=True)
class Tally:
    """Tables with one unit of counting, as an ordinary plan in which a person changes each by at most `bound`.

    `cells` is the bound on the cells of a person if persons are counted, and otherwise None.
    """

    plan: Plan
    cells: int | None = None

    @property
    def bound(self) -> int:
        """The L1 sensitivity of each table's counts to one person."""
        return self.plan.unit.rows


class WithTallies:
    """The part of a `Plan` that divides its tables into tallies."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The tables by their unit of counting: rows, persons, or the different cells of persons."""
        return self._tallies or (Tally(self._plan),)

    @cached_property
    def _tallies(self) -> tuple[Tally, ...]:
        return tallies_of(self._plan)

    @property
    def has_distinct(self) -> bool:
        """Whether some tables count distinct persons, who may have several rows."""
        return bool(self._tallies)

    @property
    def of_rows(self) -> Plan:
        """The plan of the first tally: that of the total and of synthetic rows."""
        return self.tallies[0].plan

    def tally_index(self, table: Iterable[str]) -> int:
        """Return the index of the tally that counts `table`: a published one, the total, or a sum of either."""
        names = frozenset(table)
        if names in self._tally_by_table or not self._tallies:
            return self._tally_by_table.get(names, 0)
        return next((k for one, k in self._tally_by_table.items() if names <= one), 0)

    def tally_of(self, table: Iterable[str]) -> Tally:
        """Return the tally that counts `table`, as `tally_index` says."""
        return self.tallies[self.tally_index(table)]

    @cached_property
    def _tally_by_table(self) -> dict[frozenset[str], int]:
        return {frozenset(one): k for k, each in enumerate(self._tallies) for one in each.plan.marginals}


def tallies_of(plan: Plan) -> tuple[Tally, ...]:
    """Return the tallies of `plan`: of rows, of persons, then each table with several cells per person.

    It has none if no table counts distinct persons; nor if each person has a single row, so that rows are persons.
    """
    distinct = _distinct(plan)
    if not distinct or plan.unit.rows == 1:
        return ()
    rows = [table for table in plan.listed if table not in distinct]
    persons = [table for table in distinct if table.cells_per_person == 1]
    several = sorted((table for table in distinct if table.cells_per_person > 1), key=lambda each: sorted(each.columns))
    return (
        *([Tally(_only(plan, rows, plan.unit.rows))] if rows else []),
        *([Tally(_only(plan, map(_counting_rows, persons), 1), 1)] if persons else []),
        *(Tally(_only(plan, [_counting_rows(each)], each.cells_per_person), each.cells_per_person) for each in several),
    )


def _distinct(plan: Plan) -> list[PublishedTable]:
    return [table for table in plan.listed if isinstance(table, PublishedTable) and table.distinct]


def _counting_rows(table: PublishedTable) -> PublishedTable | tuple[str, ...]:
    """Return a table of persons as a table of rows, for a plan that limits each person's rows to the counted cells."""
    return read_table({"columns": table.columns, "weight": table.weight})  # type: ignore[no-any-return]


def _only(plan: Plan, tables: Iterable[Any], rows: int) -> Plan:
    """Return `plan` with only some of its tables and `rows` rows per person; the rough size shrinks accordingly."""
    unit = plan.unit.model_copy(update={"rows": rows})
    about = plan.rows_about and max(1, plan.rows_about * rows // plan.unit.rows)
    return changed(plan, tables=tuple(tables), unit=unit, rows_about=about, strategy="direct")


def check_distinct(plan: Plan) -> None:
    """Raise ValueError if tables of distinct persons request something unsound or unsupported."""
    distinct = _distinct(plan)
    for table in distinct:
        _check_table(plan, table)
    if distinct and plan.unit.rows > 1 and plan.strategy in ("adaptive", "optimised"):  # else rows are persons
        raise ValueError(
            _(
                "tables of distinct persons are measured directly: use strategy: direct or auto, not {strategy}",
                strategy=plan.strategy,
            )
        )
    if distinct and plan.ranged:
        raise ValueError(_("tables of distinct persons cannot stand beside a table for ranges; use a plan for each"))
    if distinct and plan.resolution.levels:
        raise ValueError(
            _(
                "tables of distinct persons cannot stand beside levels of {column}; use a plan for each",
                column=plan.resolution.column,
            )
        )


def _check_table(plan: Plan, table: PublishedTable) -> None:
    name = " × ".join(table.columns)
    if table.amounts or table.ranges:
        raise ValueError(
            _(
                "table {name}: distinct persons are counted only; ask for means, sums, quantiles or ranges in a "
                "table without distinct",
                name=name,
            )
        )
    if plan.unit.id is None:
        raise ValueError(
            _(
                "table {name}: to count distinct persons, name the column that tells them apart, such as "
                "unit: {{id: patient_id, rows: 5}}",
                name=name,
            )
        )
    if table.cells_per_person > 1 and plan.resolution.declared_columns(table.columns) != table.columns:
        raise ValueError(
            _(
                "table {name}: at a coarser level of a column, a person is counted in one cell only; set "
                "cells_per_person to 1, or declare the coarser level as a column of its own",
                name=name,
            )
        )
    if table.cells_per_person > min(plan.unit.rows, plan.cells(table.columns)):
        raise ValueError(
            _(
                "table {name}: cells_per_person is {cells}, but a person with at most {rows} rows can be in at "
                "most {most} of its cells",
                name=name,
                cells=table.cells_per_person,
                rows=plan.unit.rows,
                most=min(plan.unit.rows, plan.cells(table.columns)),
            )
        )
