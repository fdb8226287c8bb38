"""At which levels the tables of a plan use its columns, and how tables at coarser levels follow from finer ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from dpengine.array_types import Columns, Floats, Ints
from dpengine.spec.categories.levels import cell_groups, coarser_level
from dpengine.spec.categories.tree import MARK, split_name, sum_groups
from dpengine.spec.domain import Amount, Category, Column, cells_payload
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.translation.catalogue import _, number

Numbers = TypeVar("Numbers", Ints, Floats)

__all__ = ["Resolution", "coarser_columns"]


def coarser_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """Return the columns of all coarser levels by their names, such as county@state. Raises ValueError."""
    columns = list(columns)
    taken = {column.name for column in columns}
    found: dict[str, Column] = {}
    for column in columns:
        found |= {f"{column.name}{MARK}{level}": coarser_level(column, level) for level in column.groupings}
    if twice := taken & found.keys():
        raise ValueError(
            _("the column {name!r} is called like a level of another column; rename one of them", name=min(twice))
        )
    return found


@dataclass(frozen=True)
class Resolution:
    """The columns of a plan, declared ones and coarser levels of these by name, and those that its tables use.

    At most one column is used at several levels: `column`, at `levels`, names of columns from the coarsest to the
    finest. A column that is used at one level alone is a column like any other, whatever the level.
    """

    columns: Mapping[str, Column]
    used: frozenset[str]

    @cached_property
    def column(self) -> str | None:
        """Name of the declared column that is used at several levels; None if there is none."""
        return next(iter(self._at_several), None)

    @cached_property
    def _at_several(self) -> list[str]:
        """Declared columns that are used at several levels, sorted."""
        times = Counter(self.declared(self.used))
        return sorted(name for name in times if times[name] > 1)

    @cached_property
    def levels(self) -> Columns:
        """Names at which that column is used, from the coarsest to the finest."""
        if self.column is None:
            return ()
        coarser = self.columns[self.column].groupings
        names = (*(f"{self.column}{MARK}{level}" for level in coarser), self.column)
        return tuple(name for name in names if name in self.used)

    @property
    def others(self) -> Columns:
        """Names of all other used columns that have cells to count in, sorted."""
        counted = (name for name in self.used if not isinstance(self.columns[name], Amount))
        return tuple(sorted({*counted} - {*self.levels}))

    def _parent_of(self, name: str) -> Column | None:
        """Return the declared column of which `name` is a coarser level."""
        declared, level = split_name(name)
        column = self.columns.get(declared)
        return column if column is not None and level in column.groupings else None

    def declared(self, table: Iterable[str]) -> Columns:
        """Return the declared columns in which the rows of `table` are counted."""
        return tuple(parent.name if (parent := self._parent_of(name)) else name for name in table)

    def finest(self, table: Iterable[str]) -> Columns:
        """Return the columns of the finest table that is used and of which `table` is a sum."""
        return tuple(self.levels[-1] if name in self.levels else name for name in table)

    def coarser_tables(self, table: Columns) -> list[Columns]:
        """Return `table`, and the same at all used levels that are coarser than its own."""
        place = next((k for k, name in enumerate(self.levels) if name in table), 0)
        coarser = [tuple(name if each in self.levels else each for each in table) for name in self.levels[:place]]
        return [table, *coarser[::-1]]

    def groups(self, fine: str, coarse: str) -> Ints:
        """Return for each cell of a level the place of its cell at a coarser one."""
        return cell_groups(self.columns[fine], split_name(coarse)[1])

    def coarsen(self, counts: Numbers, held: Sequence[str], wanted: Sequence[str]) -> Numbers:
        """Add up `counts` over the columns `held` to the levels that `wanted` names in the same places."""
        for axis, (fine, coarse) in enumerate(zip(held, wanted, strict=True)):
            if fine != coarse:
                counts = sum_groups(counts, axis, self.groups(fine, coarse))
        return counts

    def with_coarser(self, rows: Mapping[str, Ints]) -> dict[str, Ints]:
        """Return rows, as cells of each column, with the coarser levels of the finest one."""
        finest = self.levels[-1:]
        coarser = {name: self.groups(finest[0], name)[rows[finest[0]]] for name in self.levels[:-1]}
        return {**rows, **coarser}

    def payload(self, table: Iterable[str]) -> list[dict[str, object]]:
        """Return what decides where a value is counted at the coarser levels among `table`, for a plan's identity."""
        found: list[dict[str, object]] = []
        for name in table:
            if parent := self._parent_of(name):
                groups = parent.groupings[split_name(name)[1]]
                found.append({**cells_payload(self.columns[name]), "groups": list(groups)})
        return found

    def check(self, tables: Sequence[Columns], *, alone: bool) -> None:
        """Raise ValueError for tables whose levels cannot be published; `alone` if nothing else is asked for."""
        if not self._at_several:
            return
        if len(self._at_several) > 1:
            raise ValueError(
                _(
                    "{first!r} and {second!r} are asked for at several levels each; a plan does this with one column: "
                    "ask for one of them at the same level everywhere, or make a plan for each of them",
                    first=self._at_several[0],
                    second=self._at_several[1],
                )
            )
        column = self._at_several[0]
        for table in tables:
            if len({*table} & {*self.levels}) > 1:
                raise ValueError(
                    _(
                        "table {name}: {column!r} stands there at two levels; the finer one is enough",
                        name=" × ".join(table),
                        column=column,
                    )
                )
        if not alone:
            raise ValueError(
                _(
                    "{column!r} is asked for at several levels; beside these, ranges and the strategy adaptive cannot "
                    "be had yet: put them into a plan of their own",
                    column=column,
                )
            )
        for joint in ((self.levels[-1], *self.others), self.declared((self.levels[-1], *self.others))):
            if (cells := math.prod(self.columns[name].size for name in joint)) > MAX_TABLE_CELLS:
                raise ValueError(
                    _(
                        "tables at several levels of {column!r} are sums of one table {name}, which would have {cells} "
                        "cells, above the limit of {most}: use fewer columns, or a plan for each table",
                        column=column,
                        name=" × ".join(joint),
                        cells=number(cells),
                        most=number(MAX_TABLE_CELLS),
                    )
                )

    def check_counting(self, tables: Sequence[Columns]) -> None:
        """Raise ValueError if what is measured would be counted in too many cells: rows are counted at the finest."""
        if self._at_several or not any(self._parent_of(name) for name in self.used):
            return
        declared = {name: self.declared((name,))[0] for name in self.used}
        finer = math.prod(self.columns[fine].size / self.columns[name].size for name, fine in declared.items())
        sizes = [math.prod(self.columns[name].size for name in table) for table in tables]
        joint = math.prod(self.columns[name].size for name in self.used)  # measured where it is small enough
        if max(*sizes, joint if joint <= MAX_TABLE_CELLS else 0) * finer > MAX_TABLE_CELLS:
            coarse = next(name for name in sorted(self.used) if self._parent_of(name))
            raise ValueError(
                _(
                    "rows are counted by {column!r} before they are added up to {level!r}, and that would take more "
                    "than {most} cells: declare the coarser level as a column of its own, or use fewer columns",
                    column=split_name(coarse)[0],
                    level=coarse,
                    most=number(MAX_TABLE_CELLS),
                )
            )

    def unknown(self, name: str) -> str:
        """Return a sentence for a column of a table that is none of the plan's."""
        declared, level = split_name(name)
        column = self.columns.get(declared)
        if not level or column is None:
            return _("there is no column {column!r}; declare it under 'columns'", column=name)
        levels = column.levels if isinstance(column, Category) else (*column.groupings,)
        if not levels:
            return _("the column {column!r} has no levels; declare them as its 'levels'", column=declared)
        if level not in column.groupings and level in (*levels, getattr(column, "by", "")):
            return _("{level!r} is the finest level: write {column!r} alone", level=level, column=declared)
        return _(
            "{column!r} has no level {level!r}; its levels are {levels}",
            column=declared,
            level=level,
            levels=", ".join(levels),
        )
