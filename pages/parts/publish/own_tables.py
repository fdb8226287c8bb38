"""The owner's list of tables, a row each: by which columns people are counted, and what is said of amounts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any

import streamlit as st

from dpengine.sources.table import Table
from dpengine.spec.categories.tree import MARK
from dpengine.spec.plan import PublishedTable
from dpengine.translation.catalogue import _, plural
from pages.parts.publish.column_card import of_kind
from pages.parts.shared.wording import plain
from pages.parts.visit import asked, plan_form
from pages.parts.visit.asked import OF_AMOUNTS, Measure, in_words, named
from pages.parts.visit.plan_form import Entries
from pages.parts.visit.state import visit

__all__ = ["ask_of_amounts", "ask_own_tables"]

MAX_OWN = 12


def ask_own_tables(entries: Entries) -> Entries:
    """Ask for the columns of each table and for what it says of amounts, with an empty row to add the next.

    A row stays the same one while it is filled or emptied, so that several columns are picked in one go. A column that
    is averaged in a table is an amount in all of them; one that people are counted by is none.
    """
    rows = max(MAX_OWN, len(entries.own) + 1)
    by, also = ([visit().key(f"{what}-{k}") for k in range(rows)] for what in ("own", "own-also"))
    if by[0] not in st.session_state:
        _fill(entries, by, also)
    numeric = _numeric(entries)
    names = _names(entries)
    known = {*names}
    for key in by:
        _keep(key, known)
    for key in also:
        _keep(key, {each for each in st.session_state.get(key, []) if {*each[1:]} <= {*numeric}})
    last = max((k for k in range(rows) if any(map(st.session_state.get, (by[k], also[k])))), default=-1)
    tables: list[PublishedTable] = []
    for k in range(min(last + 2, rows)):
        row = _ask_row(k, k > last, by, also, entries, names, numeric)
        if row is not None:
            tables.append(row)
    tables = _weighted(entries, [plan_form.as_before(entries, table) for table in tables])
    entries = entries.with_(own=tuple(table.columns for table in tables), more=plan_form.saying_more(tables))
    for table in entries.more:
        if table.distinct:
            st.caption(f":material/info: {_counts_people(table)}")
    entries = entries.with_(declared=_kinds(entries))
    if absent := [name for name in entries.chosen if name not in plan_form.used(entries)]:
        text = _(
            "In no table: {columns}. They are not published; to publish them, pick them in a table.",
            columns=plain(", ".join(absent)),
        )
        st.caption(f":material/info: {text}")
    return entries


def ask_of_amounts(entries: Entries) -> Entries:
    """Ask which of the chosen columns are averaged instead of crossed, and what is said of them in each table."""
    numeric = _numeric(entries)
    if not numeric:
        return entries
    now = [name for name in numeric if entries.declared[name]["kind"] == "amount"]
    picked, kinds = st.columns([1, 1], vertical_alignment="bottom")
    amounts = picked.multiselect(
        _("Averaged or added up"),
        numeric,
        default=now,
        key=visit().key(f"amounts-{'-'.join(now)}"),
        placeholder=_("No column"),
        help=_("Amounts such as an income. They are no columns of a table: each cell says their average instead."),
    )
    declared = dict(entries.declared)
    for name in numeric:
        if (name in amounts) != (declared[name]["kind"] == "amount"):
            declared[name] = of_kind(name, "amount" if name in amounts else "number", declared[name])
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
    return entries.with_(declared=declared, of_amounts=measures)


def _ask_row(
    k: int, fresh: bool, by: list[str], also: list[str], entries: Entries, names: dict[str, str], numeric: list[str]
) -> PublishedTable | None:
    """Ask for one table; None while it has no columns."""
    measured = {name for key in also for measure in st.session_state.get(key, []) for name in measure[1:]}
    crossed = {name for key in by for name in st.session_state.get(key, [])}
    label, more = _("Table {number}: people by", number=k + 1), _("Table {number}: also", number=k + 1)
    if fresh:
        label = _("First table: people by") if k == 0 else _("Another table: people by")
        more = _("First table: also")
    amounts = [name for name in numeric if name not in crossed]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    columns = row.multiselect(
        label,
        [name for name in names if name not in measured],
        key=by[k],
        format_func=names.__getitem__,
        placeholder=_("Columns"),
        help=_("Pick all columns that are to be crossed in it.") if fresh else None,
    )
    measures: list[Measure] = []
    ranges = (
        [asked.RANGES] if _may_have_ranges(k, by, entries) or asked.RANGES in st.session_state.get(also[k], []) else []
    )
    if (amounts or ranges) and (k == 0 or not fresh):
        measures = st.multiselect(
            more,
            list(dict.fromkeys([*_offered(entries, amounts), *st.session_state.get(also[k], []), *ranges])),
            key=also[k],
            format_func=in_words,
            placeholder=_("Average, total or median of an amount") if amounts else _("Only the number of people"),
        )
    if not fresh:
        row.button(
            _("Remove"),
            icon=":material/close:",
            key=visit().key(f"own-remove-{k}"),
            type="tertiary",
            help=_("Remove this table"),
            on_click=_remove,
            args=(k, by, also),
        )
    if measures and not columns:
        text = _("Pick the columns by which this is shown; the figure of everybody together comes with it.")
        st.caption(f":material/info: {text}")
    return asked.table_of(tuple(columns), measures) if columns else None


def _weighted(entries: Entries, tables: list[PublishedTable]) -> list[PublishedTable]:
    """Ask, folded, how important each table is, once there are several."""
    known = {frozenset(table.columns): table.weight for table in entries.more}
    weights = [known.get(frozenset(table.columns), Decimal(1)) for table in tables]
    if len({frozenset(table.columns) for table in tables}) > 1:
        with st.expander(_("Importance of each table"), icon=":material/balance:"):
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
    return [table.model_copy(update={"weight": w.normalize()}) for table, w in zip(tables, weights, strict=True)]


def _counts_people(table: PublishedTable) -> str:
    """Say of a table from a plan file that it counts distinct persons."""
    return plural(
        "{table}, from your plan file, counts people, each in one cell.",
        "{table}, from your plan file, counts people, each in at most {n} cells.",
        table.cells_per_person,
        table=plain(" × ".join(table.columns)),
    )


def _offered(entries: Entries, names: list[str]) -> list[Measure]:
    """Return what can be asked of each of these columns, and of each two of those that are amounts already."""
    amounts = [name for name in names if entries.declared[name]["kind"] == "amount"]
    pairs = [("correlation", *pair) for pair in combinations(amounts, 2)]
    slopes = [("slope", *pair) for pair in permutations(amounts, 2)]
    return [*((what, name) for name in names for what in OF_AMOUNTS), *pairs, *slopes]


def _may_have_ranges(k: int, by: list[str], entries: Entries) -> bool:
    """Whether sums over ranges can be asked for in a row: beside others, since one table alone has a box for it."""
    filled = [names for key in by if (names := st.session_state.get(key))]
    mine = st.session_state.get(by[k]) or []
    return len(filled) > 1 and plan_form.is_ordered(entries, mine) and not plan_form.has_ranges(entries)


def _fill(entries: Entries, by: Sequence[str], also: Sequence[str]) -> None:
    """Put the tables of the entries into the rows."""
    tables = plan_form.published(entries.with_(layout="own", margins=False))
    for k, table in enumerate(tables[: len(by)]):
        st.session_state[by[k]] = list(table.columns)
        st.session_state[also[k]] = asked.measures_of(table)


def _remove(k: int, by: Sequence[str], also: Sequence[str]) -> None:
    """Take the table of one row out; those below move up."""
    for keys in (by, also):
        kept = [st.session_state.get(key, []) for key in keys]
        st.session_state.update(zip(keys, [*kept[:k], *kept[k + 1 :], []], strict=True))


def _keep(key: str, known: set[Any]) -> None:
    """Leave out of a box what cannot be picked in it any more."""
    picked = st.session_state.get(key, [])
    if any(each not in known for each in picked):
        st.session_state[key] = [each for each in picked if each in known]


def _numeric(entries: Entries) -> list[str]:
    """Return the chosen columns that can be amounts, by their declared kind or by the type that the table states."""
    table = visit().table
    assert isinstance(table, Table)
    numbers = {field.name for field in table.columns if field.kind_hint == "number"}
    return [name for name in entries.chosen if name in numbers or entries.declared[name]["kind"] == "amount"]


def _names(entries: Entries) -> dict[str, str]:
    """Return what people can be counted by, as it is offered: columns, each after its levels, the coarsest first."""
    found = {}
    for name in entries.chosen:
        for level in plan_form.coarser(entries.declared[name]):
            found[f"{name}{MARK}{level}"] = _("{level} (of {column})", level=level, column=name)
        found[name] = name
    return found


def _kinds(entries: Entries) -> dict[str, dict[str, Any]]:
    """Return the entries of all columns, as amounts where a table averages them and as others where it crosses them."""
    declared = dict(entries.declared)
    measured = {name for table in entries.more for name in table.amounts}
    crossed = {name for table in entries.own for name in table if name in declared}
    for name in measured:
        if declared[name]["kind"] != "amount":
            declared[name] = of_kind(name, "amount", declared[name])
    for name in crossed - measured:
        if declared[name]["kind"] == "amount":
            declared[name] = of_kind(name, "number", declared[name])
    return declared
