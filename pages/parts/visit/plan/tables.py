"""The tables that the entries of a plan make: by a layout, or as the owner's list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

from dpengine.spec.categories.tree import split_name
from dpengine.spec.limits import MAX_TABLE_COLUMNS, MAX_TABLES
from dpengine.spec.published_table import PublishedTable
from pages.parts.visit.plan.column_entry import coarser
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.table_measures import RANGES, joined, measures_of, table_of

__all__ = [
    "as_list", "counting_persons", "counting_rows", "declared_name", "has_ranges", "in_layout", "is_ordered",
    "published", "rows_and_persons", "saying_more", "tables_of", "too_many", "too_many_pairs", "used",
    "with_cells_as_before",
]  # fmt: skip


def tables_of(entries: Entries) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each published table, without repeats."""
    return tuple(table.columns for table in published(entries))


def published(entries: Entries) -> tuple[PublishedTable, ...]:
    """Return the tables that the layout makes of the chosen columns, without repeats, with their measures.

    An amount is no column of a table: if it is chosen, tables publish measures of it instead.
    """
    return entries.once("published", lambda: _published(entries))


def _published(entries: Entries) -> tuple[PublishedTable, ...]:
    if too_many(entries) or too_many_pairs(entries)[0]:
        return ()
    amounts, counted = _parted(entries)
    tables = [_with_measures(entries, table, amounts) for table in _laid_out_columns(entries, counted)]
    tables = [table for table in tables if table.columns]
    if entries.margins and entries.layout != "single":
        rows = [{*table.columns} for table in tables if not table.distinct]  # listed as such, which stands
        margins = _margins(entries, [table for table in tables if len(table.columns) > 1])
        tables += [each for each in margins if not (each.distinct and {*each.columns} in rows)]
    distinct: dict[frozenset[str], PublishedTable] = {}
    for table in tables:
        known = distinct.get(key := frozenset(table.columns))
        distinct[key] = table if known is None else _merged(known, table)
    return tuple(distinct.values())


def _laid_out_columns(entries: Entries, counted: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
    """Return the columns of each table of the layout; those of a list may be amounts, too."""
    match entries.layout:
        case "together":
            return [counted] if counted else []
        case "pairs":
            return list(combinations(counted, 2)) or [counted]
        case "single":
            return [(name,) for name in counted]
    own = (tuple(name for name in table if declared_name(entries, name)) for table in entries.own)
    return [columns for columns in own if columns]


def too_many(entries: Entries) -> int:
    """Return how many columns, or amounts, the layout would put into one table if those are too many; else 0.

    >>> names = tuple(f"question {k}" for k in range(40))
    >>> [too_many(Entries(chosen=names, layout=layout)) for layout in ("together", "pairs")]
    [40, 0]
    """
    if entries.layout == "own":
        return 0  # the boxes of a list allow no more
    amounts, counted = _parted(entries)
    most = max(len(amounts), len(counted) if entries.layout == "together" else 0)
    return most if most > MAX_TABLE_COLUMNS else 0


def too_many_pairs(entries: Entries) -> tuple[int, int]:
    """Return how many tables the pairs of all columns make, and how many columns a plan can have in pairs.

    Both are 0 if a plan can have these tables.

    >>> [too_many_pairs(Entries(chosen=tuple(map(str, range(n))), layout="pairs", margins=False)) for n in (300, 141)]
    [(44850, 141), (0, 0)]
    """
    if entries.layout != "pairs":
        return 0, 0
    single = int(entries.margins)
    tables = _pairs(len(_parted(entries)[1]), single)
    most = max(n for n in range(2, math.isqrt(2 * MAX_TABLES) + 2) if _pairs(n, single) <= MAX_TABLES)
    return (tables, most) if tables > MAX_TABLES else (0, 0)


def _pairs(columns: int, single: int) -> int:
    """Return how many tables there are of pairs of columns, with those of `single` columns."""
    return math.comb(columns, 2) + single * columns


def _parted(entries: Entries) -> tuple[list[str], tuple[str, ...]]:
    """Return the chosen columns that are amounts, and those by which people are counted."""
    amounts = [name for name in entries.chosen if _is_amount(entries, name)]
    return amounts, tuple(name for name in entries.chosen if name not in amounts)


def _is_amount(entries: Entries, name: str) -> bool:
    return bool(entries.declared.get(name, {}).get("kind") == "amount")


def declared_name(entries: Entries, name: str) -> str:
    """Return the chosen column that a name in a table means, as itself or as one of its levels; "" if there is none.

    >>> place = {"name": "place", "kind": "category", "levels": ["land", "place"]}
    >>> declared_name(Entries(chosen=("place",), declared={"place": place}), "place@land")
    'place'
    """
    if name in entries.chosen:
        return name
    column, level = split_name(name)
    return column if column in entries.chosen and level in coarser(entries.declared.get(column, {})) else ""


def _with_measures(entries: Entries, table: tuple[str, ...], amounts: Sequence[str]) -> PublishedTable:
    """Return a table with its measures: those entered for it, or the same of all amounts."""
    columns = tuple(name for name in table if name not in amounts)
    own = entries.layout == "own"
    inner = [(what, name) for name in (table if own else amounts) if name in amounts for what in entries.of_amounts]
    more = [table for table in entries.more if own and {*table.columns} == {*columns}]
    if not inner and not more:
        return table_of(columns, [])
    requested = dict.fromkeys([*(each for table in more for each in measures_of(table)), *inner])
    weight = max((table.weight for table in more), default=Decimal(1))
    left_out = () if is_ordered(entries, columns) else (RANGES,)
    possible = [each for each in requested if {*each[1:]} <= {*entries.chosen} and each not in left_out]
    return table_of(columns, possible, weight).model_copy(update=_person_fields(more))


def rows_and_persons(entries: Entries) -> list[tuple[str, ...]]:
    """Return the columns of tables that are listed both to count rows and to count each person once.

    A plan has one table of the same columns, which counts either.
    """
    if entries.layout != "own":
        return []
    listed = Counter(frozenset(table) for table in entries.own)
    persons = Counter(frozenset(table.columns) for table in entries.more if table.distinct)
    both = [table for table in entries.own if 0 < persons[frozenset(table)] < listed[frozenset(table)]]
    return list({frozenset(table): table for table in both}.values())


def counting_rows(table: PublishedTable) -> PublishedTable:
    """Return a table that counts rows, where this one may count each person once."""
    return table.model_copy(update={"distinct": False, "cells_per_person": 1})


def counting_persons(entries: Entries) -> Entries | None:
    """Return entries whose tables count each person once; None if some do so already, or cannot.

    Tables of persons publish nothing of amounts or ranges, and stand beside no levels.

    >>> [table.distinct for table in published(counting_persons(Entries(chosen=("age", "sex"))))]
    [True, True, True]
    """
    tables = published(entries)
    if not tables or any(each.distinct or each.amounts or each.ranges for each in tables) or _has_levels(tables):
        return None
    listed = as_list(entries, tables)
    own = [table for table in tables if table.columns in listed.own]
    return listed.with_(more=tuple(table.model_copy(update={"distinct": True}) for table in own))


def _has_levels(tables: Sequence[PublishedTable]) -> bool:
    """Whether one of the tables has a coarser level of a column."""
    return any(split_name(name)[1] for table in tables for name in table.columns)


def saying_more(tables: Sequence[PublishedTable]) -> tuple[PublishedTable, ...]:
    """Return the tables with more than counts, or with a weight."""
    return tuple(table for table in tables if table.amounts or table.ranges or table.weight != 1 or table.distinct)


def with_cells_as_before(entries: Entries, table: PublishedTable) -> PublishedTable:
    """Return a table of distinct persons with the bound on their cells that the entries have.

    >>> persons = PublishedTable(columns=("age",), distinct=True, cells_per_person=3)
    >>> with_cells_as_before(Entries(more=(persons,)), PublishedTable(columns=("age",), distinct=True)).cells_per_person
    3
    """
    known = [each for each in entries.more if {*each.columns} == {*table.columns}]
    return table.model_copy(update=_person_fields(known)) if table.distinct else table


def _person_fields(tables: Sequence[PublishedTable]) -> dict[str, Any]:
    """Return the fields by which one of these tables counts distinct persons, if one does."""
    fields = ("distinct", "cells_per_person")
    return next(({field: getattr(table, field) for field in fields} for table in tables if table.distinct), {})


def _merged(one: PublishedTable, other: PublishedTable) -> PublishedTable:
    more = {"weight": max(one.weight, other.weight), "ranges": one.ranges or other.ranges}
    return joined(one.columns, [one, other]).model_copy(update=more | _person_fields([one, other]))


def _margins(entries: Entries, tables: Sequence[PublishedTable]) -> list[PublishedTable]:
    """Return a table for each single column of these, in the order of the chosen columns, with its measures.

    It counts what the tables count whose sum it is. A table in which a person counts in several cells has no such sums.

    >>> persons = PublishedTable(columns=("age", "sex"), distinct=True)
    >>> [each.distinct for each in _margins(Entries(chosen=("age", "sex")), [persons])]
    [True, True]
    """
    summable = [table for table in tables if table.cells_per_person == 1]
    within: dict[str, list[PublishedTable]] = {}
    for table in summable:
        for name in table.columns:
            within.setdefault(name, []).append(table)
    place = {name: k for k, name in enumerate(entries.chosen)}
    found = []
    for name in sorted(within, key=lambda name: place[declared_name(entries, name)]):
        wider = within[name]
        margin = joined((name,), wider)
        persons = _person_fields(wider) if all(table.distinct for table in wider) else {}
        found.append(margin.model_copy(update=persons))
    return found


def has_ranges(entries: Entries) -> bool:
    """Whether a single table has all columns and one of them is ordered, so that sums over ranges can matter."""
    names = used(entries)
    tables = published(entries)
    alone = not any(table.ranges for table in tables)
    return alone and is_ordered(entries, names) and any(set(table.columns) == set(names) for table in tables)


def is_ordered(entries: Entries, names: Sequence[str]) -> bool:
    """Whether one of these columns is ordered, so that sums over its ranges can matter."""
    return any(entries.declared.get(name, {}).get("kind") in ("number", "date") for name in names)


def used(entries: Entries) -> list[str]:
    """Return the chosen columns that are in a table, or of which a table has measures."""
    return list(entries.once("used", lambda: _used(entries)))


def _used(entries: Entries) -> tuple[str, ...]:
    tables = published(entries)
    within = {declared_name(entries, name) for name in {name for table in tables for name in table.columns}}
    within |= {name for table in tables for name in table.amounts}
    return tuple(name for name in entries.chosen if name in within)


def in_layout(entries: Entries, tables: Sequence[PublishedTable]) -> Entries:
    """Return entries that make exactly these tables: by a layout if one gives them, else as a list."""
    return _laid_out(entries, tables) or as_list(entries, tables)


def _laid_out(entries: Entries, tables: Sequence[PublishedTable]) -> Entries | None:
    """Return entries with the layout that makes exactly these tables; None if only a list does.

    >>> singles = [PublishedTable(columns=(name,)) for name in ("age", "sex", "job")]
    >>> found = _laid_out(Entries(chosen=("age", "sex", "job")), singles)
    >>> found and found.layout
    'single'
    """
    counted = sum(not _is_amount(entries, name) for name in entries.chosen)
    widest = max((len(table.columns) for table in tables), default=0)
    layout = {1: "single", 2: "pairs", counted: "together"}.get(widest)
    if layout is None or len(tables) > math.comb(counted, widest) + counted:
        return None
    for margins in (True, False):
        laid_out = entries.with_(layout=layout, margins=margins)
        if published(laid_out) == tuple(tables):
            return laid_out
    return None


def as_list(entries: Entries, tables: Sequence[PublishedTable]) -> Entries:
    """Return entries with the tables as the owner's list; the box for single columns replaces these if it can.

    >>> listed = [PublishedTable(columns=names) for names in (("age", "sex"), ("age",), ("sex",))]
    >>> found = as_list(Entries(chosen=("age", "sex")), listed)
    >>> found.own, found.margins
    ((('age', 'sex'),), True)
    >>> found = as_list(Entries(chosen=("age", "sex")), listed[:2])
    >>> found.own, found.margins
    ((('age', 'sex'), ('age',)), False)
    """
    within = {name for table in tables if len(table.columns) > 1 for name in table.columns}
    wider = [table for table in tables if len(table.columns) > 1 or table.columns[0] not in within]
    for chosen, margins in ((wider, True), (tables, False)):
        listed = entries.with_(
            layout="own", own=tuple(table.columns for table in chosen), margins=margins,
            more=saying_more(chosen),
        )  # fmt: skip
        if not margins or (within and published(listed) == tuple(tables)):
            break
    return listed
