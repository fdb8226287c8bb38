"""The levels at which the tables of a plan use its columns, and how coarser tables follow from finer ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeVar

from dpengine import shapes as outlines
from dpengine.array_types import Columns, Floats, Ints
from dpengine.spec.categories.tree import MARK, groups, split_name, sum_groups
from dpengine.spec.column import ColumnBase
from dpengine.spec.declared import close_match
from dpengine.spec.domain import Amount, Category, Column, cells_payload
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.translation.catalogue import _, number

Numbers = TypeVar("Numbers", Ints, Floats)

__all__ = ["Resolution", "coarser_columns"]


def coarser_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """Return the columns of all coarser levels by their names, such as county@state. Raises ValueError."""
    columns = list(columns)
    names = {column.name for column in columns}
    coarser: dict[str, Column] = {}
    for column in columns:
        coarser |= {f"{column.name}{MARK}{level}": _coarser_level(column, level) for level in column.groupings}
    if repeated := names & coarser.keys():
        raise ValueError(
            _("the column {name!r} is called like a level of another column; rename one of them", name=min(repeated))
        )
    return coarser


@dataclass(frozen=True)
class Resolution:
    """The columns of a plan, declared ones and coarser levels of these by name, and those that its tables use.

    A column that is used at several levels has a chain: the names at which it is used, from the coarsest to the finest.
    One such column may be measured at all of these (`column`, at `levels`); others are measured at their finest level,
    and coarser ones are sums of it. So are all if levels are `summed`. A column that is used at only one level is
    treated like any other.
    """

    columns: Mapping[str, Column]
    used: frozenset[str]
    summed: bool = False

    @cached_property
    def chains(self) -> dict[str, Columns]:
        """For each declared column used at several levels, sorted, the names at which it is used."""
        times = Counter(self.declared_columns(self.used))
        chains = {}
        for declared in sorted(name for name in times if times[name] > 1):
            names = (*(f"{declared}{MARK}{level}" for level in self.columns[declared].groupings), declared)
            chains[declared] = tuple(name for name in names if name in self.used)
        return chains

    @cached_property
    def column(self) -> str | None:
        """Name of the declared column that is measured at several levels, that of most parts; None if there is none."""
        if self.summed:
            return None
        ratios = {name: self.columns[of[-1]].size / self.columns[of[0]].size for name, of in self.chains.items()}
        return max(ratios, key=lambda name: ratios[name], default=None)

    @cached_property
    def levels(self) -> Columns:
        """Names at which that column is used, from the coarsest to the finest."""
        return self.chains[self.column] if self.column is not None else ()

    @property
    def others(self) -> Columns:
        """Names of all other used columns that have cells to count in, each at its finest level, sorted."""
        counted = (name for name in self.used if not isinstance(self.columns[name], Amount))
        return tuple(sorted({*self.finest_columns(sorted(counted))} - {*self.levels}))

    def chain(self, name: str) -> Columns:
        """Return the names at which the column of `name` is used, if they are several."""
        return self.chains.get(self.column_of(name), ())

    def _parent_of(self, name: str) -> Column | None:
        """Return the declared column that has `name` as a coarser level."""
        declared, level = split_name(name)
        column = self.columns.get(declared) if level else None
        return column if column is not None and level in column.groupings else None

    def column_of(self, name: str) -> str:
        """Return the declared column of which `name` is a level, or which it names."""
        return parent.name if (parent := self._parent_of(name)) else name

    def declared_columns(self, table: Iterable[str]) -> Columns:
        """Return the declared columns in which the rows of `table` are counted."""
        return tuple(map(self.column_of, table))

    def finest_columns(self, table: Iterable[str]) -> Columns:
        """Return the columns of the finest used table that has `table` as a sum."""
        return tuple((self.chain(name) or (name,))[-1] for name in table)

    def coarser(self, name: str) -> Columns:
        """Return the used levels of a column that are coarser than `name`, and `name` itself, finest first."""
        chain = self.chain(name) or (name,)
        return chain[chain.index(name) :: -1] if name in chain else (name,)

    def coarser_tables(self, table: Columns) -> list[Columns]:
        """Return `table`, and the same at all used levels that are coarser than its own."""
        return list(product(*map(self.coarser, table)))

    def finer_columns(self, table: Iterable[str], columns: Iterable[str]) -> Columns | None:
        """Return the `columns` that determine those of `table`, at its level or a finer one; None if one is missing."""
        table, columns = tuple(table), tuple(columns)
        if not self.chains and {*table} <= {*columns}:  # each column has one level
            return table
        by_column: dict[str, list[str]] = {}
        for name in columns:
            by_column.setdefault(self.column_of(name), []).append(name)
        determining: list[str] = []
        for name in table:
            able = [each for each in by_column.get(self.column_of(name), ()) if self._is_finer(each, name)]
            if not able:
                return None
            determining.append(able[0])
        return tuple(determining)

    def _is_finer(self, fine: str, coarse: str) -> bool:
        """Return whether `fine` is the level `coarse` of the same column, or a finer one."""
        if fine == coarse or split_name(fine)[0] == fine:
            return True
        levels = [*self.columns[self.column_of(fine)].groupings]
        return split_name(coarse)[1] in levels[: levels.index(split_name(fine)[1])]

    def shared_columns(self, one: Iterable[str], other: Iterable[str]) -> Columns:
        """Return the finest columns that two tables both determine, in the order of the first."""
        other = tuple(other)
        finest = []
        for name in one:
            of = [each for each in other if self.column_of(each) == self.column_of(name)]
            if any(self._is_finer(each, name) for each in of):
                finest.append(name)
            elif of:
                finest.append(next(each for each in of if all(self._is_finer(each, than) for than in of)))
        return tuple(finest)

    def determined_columns(self, table: Iterable[str]) -> Columns:
        """Return the columns that a table determines: its own, then the coarser levels in use."""
        names = tuple(table)
        return (*names, *(each for name in names for each in self.coarser(name)[1:]))

    def groups(self, fine: str, coarse: str) -> Ints:
        """Return for each cell of a level the index of its cell at a coarser one."""
        return _cell_groups(self.columns[fine], split_name(coarse)[1])

    def coarsen(self, counts: Numbers, finer: Sequence[str], coarser: Sequence[str]) -> Numbers:
        """Add up `counts` over the columns `finer` to the levels that `coarser` names in the same places."""
        for axis, (fine, coarse) in enumerate(zip(finer, coarser, strict=True)):
            if fine != coarse:
                counts = sum_groups(counts, axis, self.groups(fine, coarse))
        return counts

    def with_coarser(self, rows: Mapping[str, Ints]) -> dict[str, Ints]:
        """Return rows, as cells of each column, with the coarser levels of the finest one."""
        coarser = {each: self.groups(name, each)[rows[name]] for name in rows for each in self.coarser(name)[1:]}
        return {**rows, **coarser}

    def payload(self, table: Iterable[str]) -> list[dict[str, object]]:
        """Return the part of a plan's identity that assigns values to cells at the coarser levels among `table`."""
        entries: list[dict[str, object]] = []
        for name in table:
            if parent := self._parent_of(name):
                groups = parent.groupings[split_name(name)[1]]
                entries.append({**cells_payload(self.columns[name]), "groups": list(groups)})
        return entries

    def check(self, tables: Sequence[Columns], *, together: bool) -> None:
        """Raise ValueError for tables whose levels cannot be published; `together` if all are sums of one table."""
        for table in tables:
            declared = self.declared_columns(table)
            if twice := [name for name in declared if declared.count(name) > 1]:
                raise ValueError(
                    _(
                        "table {name}: {column!r} stands there at two levels; the finer one is enough",
                        name=" × ".join(table),
                        column=twice[0],
                    )
                )
        for joint in self._joints if together else ():
            if (cells := math.prod(self.columns[name].size for name in joint)) > MAX_TABLE_CELLS:
                raise ValueError(
                    _(
                        "tables at several levels of {column!r} are sums of one table {name}, which would have {cells} "
                        "cells, above the limit of {most}: use fewer columns, or a plan for each table",
                        column=self.column,
                        name=" × ".join(joint),
                        cells=number(cells),
                        most=number(MAX_TABLE_CELLS),
                    )
                )

    @property
    def _joints(self) -> list[Columns]:
        """The table that has all tables at levels as sums, and the one in which its rows are counted."""
        joint = (*self.levels[-1:], *self.others)
        return [joint, self.declared_columns(joint)] if self.levels else []

    @property
    def is_small(self) -> bool:
        """Whether the table that has all tables as sums can be written down."""
        return all(math.prod(self.columns[name].size for name in joint) <= MAX_TABLE_CELLS for joint in self._joints)

    def check_counting(self, tables: Sequence[Columns]) -> None:
        """Raise ValueError if counting a measured table, at the finest level, needs too many cells."""
        if self.chains or not any(self._parent_of(name) for name in self.used):
            return
        declared = {name: self.column_of(name) for name in self.used}
        finer = math.prod(self.columns[fine].size / self.columns[name].size for name, fine in declared.items())
        sizes = [math.prod(self.columns[name].size for name in table) for table in tables]
        joint = math.prod(self.columns[name].size for name in self.used)  # measured if it is small enough
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
            if meant := close_match(name, self.columns):
                return _("there is no column {column!r} under 'columns'; did you mean {meant!r}?", column=name,
                         meant=meant)  # fmt: skip
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


def _coarser_level(column: ColumnBase, name: str) -> Category:
    """Return the column of one of the coarser levels, called like county@state: a category whose values are the groups.

    A level of a date or of a number is a category of periods or bins as texts. So a synthetic row has the name of the
    group of its own value there, not another date or number from that group.

    >>> county = Category(name="county", values={"CA": ["Kern"], "TX": ["Travis"]}, levels=["state", "county"])
    >>> _coarser_level(county, "state").name, _coarser_level(county, "state").values
    ('county@state', ('CA', 'TX'))
    """
    names = [*column.groupings]
    index = names.index(name)
    rows = zip(*(column.groupings[each] for each in names[: index + 1]), strict=True)
    paths = [*dict.fromkeys(rows)]  # a group as the path to it
    values = [path[-1] for path in paths]
    words = column.group_words
    return Category(
        name=f"{column.name}{MARK}{name}", label=column.level_heading(name), values=values, other=column.other,
        missing=column.missing, source=column.source, levels=names[: index + 1] if index else (),
        parents=[[path[k] for path in paths] for k in range(index)],
        words={value: words[value] for value in values if value in words},
        shapes=_shapes(column, column.groupings[name]) if isinstance(column, Category) and column.shapes else {},
    )  # fmt: skip


def _shapes(column: Category, groups: Sequence[str]) -> dict[str, str]:
    """Return the outlines of groups whose parts all have one: a gap would look like foreign territory."""
    inside: dict[str, list[str]] = {}
    for value, group in zip(column.values, groups, strict=True):
        inside.setdefault(group, []).append(column.shapes.get(value, ""))
    shapes = {group: outlines.together(parts) for group, parts in inside.items() if all(parts)}
    return {group: outline for group, outline in shapes.items() if outline}


def _cell_groups(column: ColumnBase, name: str) -> Ints:
    """Return for each cell the index of its cell at the coarser level `name`.

    >>> county = Category(name="county", values={"CA": ["Kern"], "TX": ["Travis"]}, levels=["state", "county"])
    >>> _cell_groups(county, "state")
    array([0, 1, 2, 3])
    """
    of_values = column.groupings[name]
    return groups(of_values, tuple(dict.fromkeys(of_values)), column.other + column.missing)
