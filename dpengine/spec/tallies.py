"""Tables that count persons beside tables that count rows.

A table of *distinct* persons counts each of them at most once in a cell, and in at most `cells_per_person` of its
cells. So one person moves it by that number, not by the rows that they have. The rows of a person are put in a random
order; the person counts in the first different cells of the table that these rows lie in.

At one cell per person, a person counts where the first of their rows lies. This is the same row in all such tables, so
these are tables of one row a person: their cells are a partition of the persons, their sums are those of persons, and
they agree on what they share. At more cells per person this is not so: a person who counts in two cells would count
twice in a sum of both. Such a table stands alone, and agrees with no other.

A *tally* is a set of tables that agree since they count the same: all tables of rows, all tables of one cell per
person, or one table of several. What follows from measurements is computed for each tally by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from dpengine.spec.published_table import PublishedTable, read_table
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["Tally", "WithTallies", "check_distinct", "tallies_of"]


@dataclass(frozen=True)
class Tally:
    """Tables of a plan that count the same, as an ordinary plan in which one person moves each table by `bound`.

    `cells` is the most cells of a person if persons are counted, else None.
    """

    plan: Plan
    cells: int | None = None

    @property
    def bound(self) -> int:
        """How far one person moves each table, in L1: the L1 sensitivity of its counts."""
        return self.plan.unit.rows


class WithTallies:
    """What a plan knows of its tallies."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The tables by what they count: rows, persons, or the different cells of persons."""
        return self._tallies or (Tally(self._plan),)

    @cached_property
    def _tallies(self) -> tuple[Tally, ...]:
        return tallies_of(self._plan)

    @property
    def tallied(self) -> bool:
        """Whether some tables count distinct persons, who may have several rows."""
        return bool(self._tallies)

    @property
    def of_rows(self) -> Plan:
        """The plan of the first tally: that of the total and of synthetic rows."""
        return self.tallies[0].plan

    def tally_of(self, table: Iterable[str]) -> int:
        """Return the place of the tally that counts `table`: a published one, the total, or a sum of either."""
        names = frozenset(table)
        if names in self._tally_by_table or not self._tallies:
            return self._tally_by_table.get(names, 0)
        return next((k for one, k in self._tally_by_table.items() if names <= one), 0)

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
        *([Tally(_only(plan, map(_plain, persons), 1), 1)] if persons else []),
        *(Tally(_only(plan, [_plain(each)], each.cells_per_person), each.cells_per_person) for each in several),
    )


def _distinct(plan: Plan) -> list[PublishedTable]:
    return [table for table in plan.listed if isinstance(table, PublishedTable) and table.distinct]


def _plain(table: PublishedTable) -> PublishedTable | tuple[str, ...]:
    """Return a table as one of rows, of which each person then has no more than they count in."""
    return read_table({"columns": table.columns, "weight": table.weight})  # type: ignore[no-any-return]


def _only(plan: Plan, tables: Iterable[Any], rows: int) -> Plan:
    """Return `plan` with some of its tables only, and with so many rows a person; the rough size shrinks with these."""
    fields = {name: getattr(plan, name) for name in type(plan).model_fields}
    unit = plan.unit.model_copy(update={"rows": rows})
    about = plan.rows_about and max(1, plan.rows_about * rows // plan.unit.rows)
    changes = {"tables": tuple(tables), "unit": unit, "rows_about": about, "strategy": "direct"}
    return type(plan).model_construct(**fields | changes)


def check_distinct(plan: Plan) -> None:
    """Raise ValueError where tables of distinct persons ask for what is not sound, or not made."""
    distinct = _distinct(plan)
    for table in distinct:
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
        if table.cells_per_person > 1 and plan.resolution.declared(table.columns) != table.columns:
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
    if distinct and plan.strategy in ("adaptive", "optimised"):
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
