"""The entries of a half-filled plan, and the plan that they make: plain values, no widgets.

Nothing here ever sees a row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.spec.categories.tree import split_name
from dpengine.spec.domain import FOR_READERS
from dpengine.spec.plan import Plan, PublishedTable, Strategy
from dpengine.translation.catalogue import ENGLISH, _, mark
from pages.parts.visit.asked import RANGES, joined, measures_of, table_of
from pages.parts.visit.column_entry import (
    BOUNDS,
    HOW_WRITTEN,
    TO_CONFIRM,
    all_whole,
    alone,
    cleaned,
    coarser,
    confirmed,
    edges_of,
    entry,
    is_from_file,
    open_questions,
    said,
    same_cells,
    suggestion,
    undressed,
    waits_for_a_list,
    with_even_knots,
)
from pages.parts.visit.fault_text import sentence

__all__ = [
    "HOW_WRITTEN", "LAYOUTS", "TO_CONFIRM", "Draft", "Entries", "all_whole", "coarser", "column_faults", "confirmed",
    "declared_name", "edges_of", "entry", "from_plan", "has_ranges", "is_from_file", "is_ordered", "published", "said",
    "same_cells", "shareable", "size_of", "stem", "suggestion", "tables_of", "to_plan", "undressed", "used",
    "waits_for_a_list",
]  # fmt: skip

LAYOUTS = {
    "together": mark("One table of all of them"),
    "pairs": mark("Every pair of them"),
    "single": mark("Each by itself"),
    "own": mark("A list of my own"),
}
WHOLE = re.compile(r"(^|[^a-z])(age|ages|year|years|yr|alter|jahr)($|[^a-z])")  # names of whole numbers


@dataclass(frozen=True)
class Entries:
    """One visitor's half-filled plan; `declared` holds the plan file's entry of each column, by name."""

    title: str = ""
    dataset: str = ""
    chosen: tuple[str, ...] = ()
    layout: str = "together"
    own: tuple[tuple[str, ...], ...] = ()
    margins: bool = True
    ranges: bool = False
    more: tuple[PublishedTable, ...] = ()  # of one's own tables, those that are asked for more than counts
    of_amounts: tuple[str, ...] = ("mean",)  # what the tables of all other layouts say of each amount
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    several_rows: bool | None = None
    id_column: str | None = None
    rows: int = 1
    rows_about: int | None = None
    epsilon: str = "1"
    strategy: Strategy = "auto"
    notes: str = ""
    language: str = ENGLISH
    about: dict[str, str] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)  # by column: what readers see of it

    def with_(self, **changes: Any) -> Entries:
        """Return the entries with some of them changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Draft:
    """Entries for a table, by the table's name; `sample` is its key if it is one of the samples.

    `owner` is whose entries they are, as the ledger names them.
    """

    table: str
    sample: str
    settled: tuple[str, ...]
    entries: Entries
    owner: str = ""


def shareable(entries: Entries) -> Entries:
    """Return the entries as they may leave this visit, in a file or with the tab.

    A list of values that a data file itself suggests may be made from its rows: until a person confirms it, it is left
    out. So are words and shapes for values that are not, or no longer, listed.
    """
    declared = {name: _confirmed_lists(column) for name, column in entries.declared.items()}
    told = {name: _of_its_values(fields, declared.get(name, {})) for name, fields in entries.told.items()}
    return entries.with_(declared=declared, told=told)


def _confirmed_lists(column: dict[str, Any]) -> dict[str, Any]:
    return column | {"values": []} if is_from_file(column) and "values" in column else column


def _of_its_values(told: dict[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a column, of its words and shapes only those of its values."""
    if not told.keys() & {"words", "shapes"}:
        return told
    known = set(map(str, column.get("values", ())))
    mine = {
        key: {value: text for value, text in told.get(key, {}).items() if value in known} for key in ("words", "shapes")
    }
    return {key: said for key, said in (told | mine).items() if key not in mine or said}


def tables_of(entries: Entries) -> tuple[tuple[str, ...], ...]:
    """Return the columns of the tables that are published, without repeats."""
    return tuple(table.columns for table in published(entries))


def published(entries: Entries) -> tuple[PublishedTable, ...]:
    """Return the tables that the layout makes of the chosen columns, without repeats, and what each says of amounts.

    An amount is no column of a table: where it is chosen as one, the table says more of it.
    """
    amounts = [name for name in entries.chosen if _is_amount(entries, name)]
    counted = tuple(name for name in entries.chosen if name not in amounts)
    match entries.layout:
        case "together":
            found: Sequence[tuple[str, ...]] = [counted] if counted else []
        case "pairs":
            found = list(combinations(counted, 2)) or [counted]
        case "single":
            found = [(name,) for name in counted]
        case _:
            found = [kept for table in entries.own if (kept := tuple(n for n in table if declared_name(entries, n)))]
    tables = [_with_measures(entries, table, amounts) for table in found]
    tables = [table for table in tables if table.columns]
    if entries.margins and entries.layout != "single":
        tables += _margins(entries, [table for table in tables if len(table.columns) > 1])
    distinct: dict[frozenset[str], PublishedTable] = {}
    for table in tables:
        known = distinct.get(key := frozenset(table.columns))
        distinct[key] = table if known is None else _both(known, table)
    return tuple(distinct.values())


def _is_amount(entries: Entries, name: str) -> bool:
    return bool(entries.declared.get(name, {}).get("kind") == "amount")


def declared_name(entries: Entries, name: str) -> str:
    """Return which chosen column a name in a table stands for, itself or one of its levels; "" if it is none.

    >>> place = {"name": "place", "kind": "category", "levels": ["land", "place"]}
    >>> declared_name(Entries(chosen=("place",), declared={"place": place}), "place@land")
    'place'
    """
    if name in entries.chosen:
        return name
    column, level = split_name(name)
    return column if column in entries.chosen and level in coarser(entries.declared.get(column, {})) else ""


def _with_measures(entries: Entries, table: tuple[str, ...], amounts: Sequence[str]) -> PublishedTable:
    """Return a table with what it says of amounts: what is asked for, or the same of all of them."""
    columns = tuple(name for name in table if name not in amounts)
    own = entries.layout == "own"
    inner = [(what, name) for name in (table if own else amounts) if name in amounts for what in entries.of_amounts]
    more = [table for table in entries.more if own and {*table.columns} == {*columns}]
    asked = dict.fromkeys([*(each for table in more for each in measures_of(table)), *inner])
    weight = max((table.weight for table in more), default=Decimal(1))
    left_out = () if is_ordered(entries, columns) else (RANGES,)
    kept = [each for each in asked if {*each[1:]} <= {*entries.chosen} and each not in left_out]
    return table_of(columns, kept, weight).model_copy(update=_of_persons(more))


def saying_more(tables: Sequence[PublishedTable]) -> tuple[PublishedTable, ...]:
    """Return the tables that say more than their columns."""
    return tuple(table for table in tables if table.amounts or table.ranges or table.weight != 1 or table.distinct)


def as_before(entries: Entries, table: PublishedTable) -> PublishedTable:
    """Return a table that counts distinct persons as it does in the entries: the page itself does not ask for it.

    >>> persons = PublishedTable(columns=("age",), distinct=True)
    >>> as_before(Entries(more=(persons,)), PublishedTable(columns=("age",))).distinct
    True
    """
    known = [each for each in entries.more if {*each.columns} == {*table.columns}]
    return table.model_copy(update=_of_persons(known))


def _of_persons(tables: Sequence[PublishedTable]) -> dict[str, Any]:
    """Return how these tables count distinct persons, if one of them does."""
    fields = ("distinct", "cells_per_person")
    return next(({field: getattr(table, field) for field in fields} for table in tables if table.distinct), {})


def _both(one: PublishedTable, other: PublishedTable) -> PublishedTable:
    more = {"weight": max(one.weight, other.weight), "ranges": one.ranges or other.ranges}
    return joined(one.columns, [one, other]).model_copy(update=more | _of_persons([one, other]))


def _margins(entries: Entries, tables: Sequence[PublishedTable]) -> list[PublishedTable]:
    """Return a table of each column of these, in the order of the chosen columns, that says what they say of it."""
    within = dict.fromkeys(name for table in tables for name in table.columns)
    order = sorted(within, key=lambda name: entries.chosen.index(declared_name(entries, name)))
    return [joined((name,), [table for table in tables if name in table.columns]) for name in order]


def has_ranges(entries: Entries) -> bool:
    """Whether one table holds all columns and one of them is ordered, so that sums over ranges can matter."""
    names = used(entries)
    tables = published(entries)
    alone = not any(table.ranges for table in tables)
    return alone and is_ordered(entries, names) and any(set(table.columns) == set(names) for table in tables)


def is_ordered(entries: Entries, names: Sequence[str]) -> bool:
    """Whether one of these columns has an order, so that sums over its ranges can matter."""
    return any(entries.declared.get(name, {}).get("kind") in ("number", "date") for name in names)


def to_plan(entries: Entries) -> Plan:
    """Return the plan as entered. Raises `PlanError` with every fault."""
    tables = list(published(entries))
    if entries.ranges and has_ranges(entries):
        everything = set(used(entries))
        tables = [t.model_copy(update={"ranges": True}) if set(t.columns) == everything else t for t in tables]
    if entries.several_rows is None:
        raise PlanError(_("say whether a person may have several rows"))
    if waiting := [
        f"{name}: " + _(open_) for name in used(entries) for open_ in open_questions(entries.declared[name])
    ]:
        raise PlanError(waiting)
    parted = {name for table in tables for name in table.quantiles}
    unit: dict[str, Any] = {"rows": 1}
    if entries.several_rows:
        if entries.id_column is None:
            raise PlanError(_("choose the column that identifies the person"))
        unit = {"id": entries.id_column, "rows": entries.rows}
    return Plan(
        title=entries.title,
        dataset=entries.dataset,
        epsilon=entries.epsilon,
        unit=unit,
        rows_about=entries.rows_about,
        columns=[_column(entries, name, parted=name in parted) for name in used(entries)],
        tables=tables,
        strategy=entries.strategy,
        notes=entries.notes,
        language=entries.language,
        about=entries.about,
    )


def _column(entries: Entries, name: str, *, parted: bool) -> dict[str, Any]:
    """Return a column as a plan declares it; if `parted`, for quantiles, with knots where none were declared."""
    column = cleaned(entries.declared[name])
    if parted and column["kind"] == "amount" and not column.get("knots"):
        column = with_even_knots(column)
    return column | _told(entries, name)


def _told(entries: Entries, name: str) -> dict[str, Any]:
    """Return what readers are told of a column, as far as it fits what is declared of it now."""
    told, column = entries.told.get(name, {}), entries.declared[name]
    fields: dict[str, Any] = {key: told[key] for key in ("label", "description") if told.get(key)}
    whole = told.get("whole", bool(WHOLE.search(name.lower())))
    if column["kind"] == "number" and whole and all_whole(column.get("edges", ())):
        fields["whole"] = True
    if column["kind"] == "category":
        known = set(map(str, column.get("values", ())))
        for key in ("words", "shapes"):
            fields[key] = {value: text for value, text in told.get(key, {}).items() if value in known}
    return fields


def column_faults(entries: Entries, name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    open_ = open_questions(entries.declared[name])
    if BOUNDS in open_:
        return open_
    try:
        alone(cleaned(entries.declared[name]), name)
    except PlanError as error:
        return (*open_, *(sentence(fault) for fault in error.faults))
    return open_


def size_of(entries: Entries, name: str) -> int | None:
    """Return the number of cells of a column, or of one of its levels; None while its entry is incomplete."""
    try:
        return alone(cleaned(entries.declared[declared_name(entries, name) or name]), name).column(name).size
    except PlanError:
        return None


def stem(title: str) -> str:
    """Return a name for a dataset from the title of its table.

    >>> stem("Visits 2026 (all)"), stem("…")
    ('visits-2026-all', 'my-table')
    """
    return re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "my-table"


def used(entries: Entries) -> list[str]:
    """Return the chosen columns that stand in a table, or of which a table says more."""
    tables = published(entries)
    within = {declared_name(entries, name) for table in tables for name in table.columns}
    within |= {name for table in tables for name in table.amounts}
    return [name for name in entries.chosen if name in within]


def from_plan(plan: Plan) -> Entries:
    """Return the entries that would make `plan`."""
    of_all = plan.ranged is not None and {*plan.ranged} == {*plan.used}
    entries = Entries(
        title=plan.title,
        dataset=plan.dataset,
        chosen=tuple(column.name for column in plan.columns),
        ranges=of_all,
        declared={column.name: undressed(column) for column in plan.columns},
        notes=plan.notes,
        language=plan.language,
        about={key: text for key, text in plan.about.model_dump().items() if text},
        told={column.name: column.model_dump(include={*FOR_READERS}) for column in plan.columns},
        several_rows=plan.unit.id is not None,
        id_column=plan.unit.id,
        rows=plan.unit.rows,
        rows_about=plan.rows_about,
        epsilon=exact_text(plan.epsilon),
        strategy=plan.strategy,
    )
    listed = plan.tables if isinstance(plan.tables, tuple) else plan.marginals
    tables = [t if isinstance(t, PublishedTable) else PublishedTable(columns=t) for t in listed]
    if of_all:
        tables = [table.model_copy(update={"ranges": False}) for table in tables]
    return _laid_out(entries, tables) or _listed(entries, tables)


def _laid_out(entries: Entries, tables: Sequence[PublishedTable]) -> Entries | None:
    """Return entries with the layout that makes exactly these tables; None if only a list of one's own does.

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
        found = entries.with_(layout=layout, margins=margins)
        if published(found) == tuple(tables):
            return found
    return None


def _listed(entries: Entries, tables: Sequence[PublishedTable]) -> Entries:
    """Return entries with the tables as a list of one's own, without the single columns where ticking their box
    gives them all.

    >>> listed = [PublishedTable(columns=names) for names in (("age", "sex"), ("age",), ("sex",))]
    >>> found = _listed(Entries(chosen=("age", "sex")), listed)
    >>> found.own, found.margins
    ((('age', 'sex'),), True)
    >>> found = _listed(Entries(chosen=("age", "sex")), listed[:2])
    >>> found.own, found.margins
    ((('age', 'sex'), ('age',)), False)
    """
    within = {name for table in tables if len(table.columns) > 1 for name in table.columns}
    kept = [table for table in tables if len(table.columns) > 1 or table.columns[0] not in within]
    for own, margins in ((kept, True), (tables, False)):
        found = entries.with_(
            layout="own", own=tuple(table.columns for table in own), margins=margins,
            more=saying_more(own),
        )  # fmt: skip
        if not margins or (within and published(found) == tuple(tables)):
            break
    return found
