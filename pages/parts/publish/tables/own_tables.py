"""The owner's list of tables, a row each: the columns by which people are counted, and what is published of amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any

import streamlit as st

from dpengine.sources.table import Table
from dpengine.spec.categories.tree import MARK
from dpengine.spec.limits import MAX_TABLE_COLUMNS
from dpengine.spec.plan import PublishedTable
from dpengine.translation.catalogue import _, mark
from pages.parts.publish.column_card import of_kind
from pages.parts.publish.person_ids import may_have_several_rows
from pages.parts.publish.tables import persons_box
from pages.parts.shared.wording import plain
from pages.parts.visit.plan import plan_form, table_measures
from pages.parts.visit.plan.plan_form import Entries
from pages.parts.visit.plan.table_measures import OF_AMOUNTS, Measure, in_words, named
from pages.parts.visit.plan.tables import saying_more, with_cells_as_before
from pages.parts.visit.state import visit

__all__ = ["ask_of_amounts", "ask_own_tables"]

MAX_OWN = 12
NOTHING_MORE = mark("Only the number of people"), mark("Only the number of rows")


def ask_own_tables(entries: Entries) -> Entries:
    """Ask for the columns of each table and for what it publishes of amounts, with an empty row for another table.

    A row keeps its place while it is filled or emptied, so that several columns can be picked in one go. A column that
    is averaged in one table is an amount in all tables; one by which people are counted is not an amount.
    """
    rows = max(MAX_OWN, len(entries.own) + 1)
    key = visit().key  # worked out once: for a hundred rows it is slow
    by, also, out = ([key(f"{what}-{k}") for k in range(rows)] for what in ("own", "own-also", "own-remove"))
    if by[0] not in st.session_state:
        _fill(entries, by, also)
    numeric = _numeric(entries)
    names = _names(entries)
    known = {*names}
    for box in by:
        _keep(box, known)
    persons = may_have_several_rows()
    for box in also:
        picked = [each for each in st.session_state.get(box, []) if {*each[1:]} <= {*numeric}]
        _keep(box, {each for each in picked if persons or each != table_measures.PERSONS})
    last = max((k for k in range(rows) if any(map(st.session_state.get, (by[k], also[k])))), default=-1)
    crossed = {name for box in by for name in st.session_state.get(box, [])}
    measured = {name for box in also for measure in st.session_state.get(box, []) for name in measure[1:]}
    several = sum(bool(st.session_state.get(box)) for box in by) > 1
    shared = _Rows(
        by,
        also,
        out,
        [name for name in names if name not in measured],
        names,
        _offered(entries, [name for name in numeric if name not in crossed]),
        several and not plan_form.has_ranges(entries),
        persons,
    )
    shown = range(min(last + 2, rows))
    tables = [table for k in shown if (table := _ask_row(k, k > last, shared, entries)) is not None]
    tables = _weighted(entries, tables)
    entries = entries.with_(own=tuple(table.columns for table in tables), more=saying_more(tables))
    persons_box.say_what_it_does(entries)
    entries = entries.with_(declared=_kinds(entries))
    used = plan_form.used(entries)
    if absent := [name for name in entries.chosen if name not in used]:
        text = _(
            "In no table: {columns}. They are not published; to publish them, pick them in a table.",
            columns=plain(", ".join(absent)),
        )
        st.caption(f":material/info: {text}")
    return entries


def ask_of_amounts(entries: Entries) -> Entries:
    """Ask which of the chosen columns are averaged instead of crossed, and what each table publishes of them."""
    numeric = _numeric(entries)
    if not numeric:
        return entries
    amounts = [name for name in numeric if entries.declared[name]["kind"] == "amount"]
    picked, kinds = st.columns([1, 1])
    key = visit().key("amounts")
    st.session_state[key] = amounts  # the grid may have changed kinds too
    picked.multiselect(
        _("Averaged or added up"),
        numeric,
        key=key,
        placeholder=_("No column"),
        help=_("Amounts such as an income. They are no columns of a table: each cell says their average instead."),
        on_change=_take_amounts,
        args=(key,),
    )
    measures = entries.of_amounts
    if amounts:
        with kinds:
            measures = tuple(
                st.pills(
                    _("Published of them"),
                    list(OF_AMOUNTS),
                    selection_mode="multi",
                    default=entries.of_amounts,
                    format_func=lambda what: _(OF_AMOUNTS[what]),
                    key=visit().key("of-amounts"),
                )
            )
    return entries.with_(of_amounts=measures)


def _take_amounts(key: str) -> None:
    """Make exactly the picked columns amounts, before the page is drawn."""
    entries, amounts = visit().entries, st.session_state[key]
    declared = dict(entries.declared)
    for name in _numeric(entries):
        if (name in amounts) != (declared[name]["kind"] == "amount"):
            declared[name] = of_kind(name, "amount" if name in amounts else _without_amounts(name), declared[name])
    visit().change(declared=declared)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What all rows share: the keys of their boxes, and what can be picked in them."""

    by: list[str]
    also: list[str]
    out: list[str]
    columns: list[str]
    names: dict[str, str]
    offered: list[Measure]
    ranges: bool  # whether sums over ranges can be picked; a single table has a box of its own for this
    persons: bool  # whether persons can be counted instead of rows, as they may have several


def _ask_row(k: int, fresh: bool, rows: _Rows, entries: Entries) -> PublishedTable | None:
    """Ask for one table; None while it has no columns."""
    label, more = _("Table {number}: counts by", number=k + 1), _("Table {number}: also", number=k + 1)
    if fresh:
        label = _("First table: counts by") if k == 0 else _("Another table: counts by")
        more = _("First table: also")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    columns = row.multiselect(
        label,
        rows.columns,
        key=rows.by[k],
        format_func=rows.names.__getitem__,
        placeholder=_("Columns"),
        max_selections=MAX_TABLE_COLUMNS,
        help=_("Pick all columns that are to be crossed in it.") if fresh else None,
    )
    measures: list[Measure] = []
    picked = st.session_state.get(rows.also[k], [])
    offered = [
        *rows.offered,
        *([table_measures.RANGES] if rows.ranges and plan_form.is_ordered(entries, columns) else []),
    ]
    if table_measures.PERSONS in picked:
        offered = [table_measures.PERSONS]  # such a table publishes nothing else
    elif rows.persons and not picked:
        offered = [*offered, table_measures.PERSONS]
    if (offered or picked) and (k == 0 or not fresh):
        measures = st.multiselect(
            more,
            list(dict.fromkeys([*offered, *picked])),
            key=rows.also[k],
            format_func=in_words,
            max_selections=MAX_TABLE_COLUMNS,
            placeholder=_("Average, total or median of an amount") if rows.offered else _(NOTHING_MORE[rows.persons]),
        )
    if not fresh:
        row.button(
            _("Remove"),
            icon=":material/close:",
            key=rows.out[k],
            type="tertiary",
            help=_("Remove this table"),
            on_click=_remove,
            args=(k, rows.by, rows.also),
        )
    if measures and not columns:
        text = _("Pick the columns by which this is shown; the figure of everybody together comes with it.")
        st.caption(f":material/info: {text}")
    if not columns:
        return None
    table = table_measures.table_of(tuple(columns), measures)
    return persons_box.ask_cells(with_cells_as_before(entries, table), entries, k) if table.distinct else table


def _weighted(entries: Entries, tables: list[PublishedTable]) -> list[PublishedTable]:
    """Ask, in a folded box, how important each table is, if there are several."""
    known = {frozenset(table.columns): table.weight for table in entries.more}
    weights = [known.get(frozenset(table.columns), Decimal(1)) for table in tables]
    if len({frozenset(table.columns) for table in tables}) > 1:
        folded = st.expander(
            _("Importance of each table"), icon=":material/balance:", key=visit().key("weights"), on_change="rerun"
        )
        if not folded.open:  # drawn only when open: a hundred boxes are slow
            return _with_weights(tables, weights)
        with folded:
            st.caption(
                _(
                    "A table of importance 3 is three times as important as one of importance 1: it gets more of the "
                    "privacy budget, and its numbers less noise. The others get less."
                )
            )
            keys = [visit().key(f"weight-{'-'.join(sorted(table.columns))}") for table in tables]
            weights = [
                Decimal(str(st.number_input(plain(named(table)), 0.001, 1000.0, float(weight), 1.0, "%g", key=key)))
                if key not in keys[:k] else weight
                for k, (table, weight, key) in enumerate(zip(tables, weights, keys, strict=True))
            ]  # fmt: skip
    return _with_weights(tables, weights)


def _with_weights(tables: list[PublishedTable], weights: list[Decimal]) -> list[PublishedTable]:
    return [table.model_copy(update={"weight": w.normalize()}) for table, w in zip(tables, weights, strict=True)]


def _offered(entries: Entries, names: list[str]) -> list[Measure]:
    """Return what can be published of each of these columns, and of each pair of those that are amounts already."""
    amounts = [name for name in names if entries.declared[name]["kind"] == "amount"]
    pairs = [("correlation", *pair) for pair in combinations(amounts, 2)]
    slopes = [("slope", *pair) for pair in permutations(amounts, 2)]
    return [*((what, name) for name in names for what in OF_AMOUNTS), *pairs, *slopes]


def _fill(entries: Entries, by: Sequence[str], also: Sequence[str]) -> None:
    """Put the tables of the entries into the rows."""
    tables = plan_form.published(entries.with_(layout="own", margins=False))
    for k, table in enumerate(tables[: len(by)]):
        st.session_state[by[k]] = list(table.columns)
        st.session_state[also[k]] = table_measures.measures_of(table)


def _remove(k: int, by: Sequence[str], also: Sequence[str]) -> None:
    """Remove the table of one row; those below move up."""
    for keys in (by, also):
        chosen = [st.session_state.get(key, []) for key in keys]
        st.session_state.update(zip(keys, [*chosen[:k], *chosen[k + 1 :], []], strict=True))


def _keep(key: str, known: set[Any]) -> None:
    """Remove from a box what can no longer be picked in it."""
    picked = st.session_state.get(key, [])
    if any(each not in known for each in picked):
        st.session_state[key] = [each for each in picked if each in known]


def _numeric(entries: Entries) -> list[str]:
    """Return the chosen columns that can be amounts: first those that look like one, then the undeclared ones.

    A text file states no types, so any undeclared column in it may hold numbers.
    """
    table = visit().table
    assert isinstance(table, Table)
    hints = {field.name: field.kind_hint for field in table.columns}
    amounts = [name for name in entries.chosen if entries.declared[name]["kind"] == "amount"]
    numbers = [name for name in entries.chosen if hints.get(name) == "number"]
    undeclared = [
        name for name in entries.chosen if hints.get(name) == "category" and _is_undeclared(entries.declared[name])
    ]
    return [*dict.fromkeys([*amounts, *numbers, *undeclared])]


def _is_undeclared(column: dict[str, Any]) -> bool:
    """Whether nothing is declared about a column yet."""
    return column["kind"] == "category" and not column.get("values") and not column.get("codebook")


def _without_amounts(name: str) -> str:
    """Return the kind of a column that is no longer an amount, as its name or type suggests."""
    table = visit().table
    assert isinstance(table, Table)
    return next((field.kind_hint for field in table.columns if field.name == name), "number")


def _names(entries: Entries) -> dict[str, str]:
    """Return by what people can be counted, in the order of the box: each column after its coarser levels."""
    names = {}
    for name in entries.chosen:
        for level in plan_form.coarser(entries.declared[name]):
            names[f"{name}{MARK}{level}"] = table_measures.level_of(name, level)
        names[name] = name
    return names


def _kinds(entries: Entries) -> dict[str, dict[str, Any]]:
    """Return the entries of all columns: amounts if a table averages them, other kinds if it counts people by them."""
    declared = dict(entries.declared)
    measured = {name for table in entries.more for name in table.amounts}
    crossed = {name for table in entries.own for name in table if name in declared}
    for name in measured:
        if declared[name]["kind"] != "amount":
            declared[name] = of_kind(name, "amount", declared[name])
    for name in crossed - measured:
        if declared[name]["kind"] == "amount":
            declared[name] = of_kind(name, _without_amounts(name), declared[name])
    return declared
