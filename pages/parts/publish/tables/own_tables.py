"""The owner's list of tables, a row each: the columns by which people are counted, and what is published of amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any

import streamlit as st

from dpengine import owner
from dpengine.sources.table import Table
from dpengine.spec.categories.tree import MARK
from dpengine.spec.limits import MAX_TABLE_COLUMNS
from dpengine.spec.published_table import PublishedTable
from dpengine.translation.catalogue import _, mark, plural, some_of
from pages.parts.publish.column_card import guessed_kind, of_kind
from pages.parts.publish.person_ids import may_have_several_rows
from pages.parts.publish.tables import persons_box
from pages.parts.publish.tables.rows import Rows
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.plan import table_measures
from pages.parts.visit.plan.column_entry import coarser
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.table_measures import OF_AMOUNTS, Measure, in_words, named
from pages.parts.visit.plan.tables import has_ranges, is_ordered, saying_more, used, with_cells_as_before
from pages.parts.visit.state import visit

__all__ = ["ask_of_amounts", "ask_own_tables"]

MAX_DRAWN = 25  # rows at once: each has several boxes, and hundreds of them are slow for the server and the browser
LAST = -1
NOTHING_MORE = mark("Only the number of people"), mark("Only the number of rows")


def ask_own_tables(entries: Entries) -> Entries:
    """Ask for the columns of each table and for what it publishes of amounts, with an empty row for another table.

    A row keeps its place while it is filled or emptied, so that several columns can be picked in one go. Of many rows,
    only those that the owner chooses are drawn. A column that is averaged in one table is an amount in all tables; one
    by which people are counted is not an amount.
    """
    numeric, names, persons = _numeric(entries), _names(entries), may_have_several_rows()

    def fits(measure: Measure) -> bool:
        return {*measure[1:]} <= {*numeric} and (persons or measure != table_measures.PERSONS)

    rows = Rows.of(entries, (names.__contains__, fits))
    offers = _offers(entries, rows, numeric, names, persons=persons)
    drawn = _rows_to_draw(rows.filled)
    asked = [_ask_row(k, rows, offers, entries) if k in drawn else _table_of_undrawn(k, rows, entries)
             for k in range(rows.filled + 1)]  # fmt: skip
    tables = _ask_weights(entries, [table for table in asked if table is not None])
    entries = entries.with_(own=tuple(table.columns for table in tables), more=saying_more(tables))
    rows.keep(entries)
    persons_box.say_what_it_does(entries)
    entries = entries.with_(declared=_kinds(entries))
    _say_what_is_in_no_table(entries)
    return entries


def _say_what_is_in_no_table(entries: Entries) -> None:
    in_tables = used(entries)
    if absent := [name for name in entries.chosen if name not in in_tables]:
        text = plural(
            "In no table: {columns}. It is not published; to publish it, pick it in a table.",
            "In no table: {columns}. They are not published; to publish them, pick them in a table.",
            len(absent),
            columns=plain(some_of(absent)),
        )
        st.caption(f":material/info: {text}")


def _offers(entries: Entries, rows: Rows, numeric: Sequence[str], names: dict[str, str], *, persons: bool) -> _Offers:
    """Return what can be picked: no column is both crossed and measured."""
    crossed = {name for columns, _measures in rows.picked for name in columns}
    measured = {name for _columns, measures in rows.picked for measure in measures for name in measure[1:]}
    several = sum(bool(columns) for columns, _measures in rows.picked) > 1
    return _Offers(
        [name for name in names if name not in measured],
        names,
        _offered(entries, [name for name in numeric if name not in crossed]),
        several and not has_ranges(entries),
        persons,
    )


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
        on_change=visit().while_shown(_change_amounts),
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


def _change_amounts(key: str) -> None:
    """Make exactly the picked columns amounts, before the page is drawn."""
    entries, amounts = visit().entries, st.session_state[key]
    declared = dict(entries.declared)
    for name in _numeric(entries):
        if (name in amounts) != (declared[name]["kind"] == "amount"):
            declared[name] = of_kind(name, "amount" if name in amounts else guessed_kind(name), declared[name])
    visit().change(declared=declared)


@dataclass(frozen=True, slots=True)
class _Offers:
    """The options that can be picked in all rows."""

    columns: list[str]
    names: dict[str, str]
    measures: list[Measure]
    ranges: bool  # whether sums over ranges can be picked; a single table has a box of its own for this
    persons: bool  # whether persons can be counted instead of rows, as they may have several


def _rows_to_draw(filled: int) -> range:
    """Return the rows to draw, the last one empty; if many are filled, the owner chooses which of them."""
    if filled <= MAX_DRAWN:
        return range(filled + 1)
    starts = [*range(0, filled - MAX_DRAWN, MAX_DRAWN), LAST]
    last = _("the last {n}, and a new one", n=MAX_DRAWN)  # the same words for any number, so that it stays chosen
    start = st.selectbox(
        _("Tables to change"),
        starts,
        index=len(starts) - 1,
        format_func=lambda k: last if k == LAST else _("{first} to {last}", first=k + 1, last=k + MAX_DRAWN),
        key=visit().key("own-start"),
    )
    return range(filled - MAX_DRAWN, filled + 1) if start == LAST else range(start, start + MAX_DRAWN)


def _table_of_undrawn(k: int, rows: Rows, entries: Entries) -> PublishedTable | None:
    """Return the table of a row that is not drawn; None if it has no columns."""
    columns, measures = rows.picked[k]
    return with_cells_as_before(entries, table_measures.table_of(tuple(columns), measures)) if columns else None


def _ask_row(k: int, rows: Rows, offers: _Offers, entries: Entries) -> PublishedTable | None:
    """Ask for one table; None while it has no columns."""
    fresh = k >= rows.filled
    label = _("Table {number}: counts by", number=k + 1)
    if fresh:
        label = _("First table: counts by") if k == 0 else _("Another table: counts by")
    (by, _also), (columns, _picked) = rows.boxes[k], rows.picked[k]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    columns = row.multiselect(
        label,
        list(dict.fromkeys([*offers.columns, *columns])),
        default=None if by in st.session_state else columns,
        key=by,
        format_func=offers.names.__getitem__,
        placeholder=_("Columns"),
        max_selections=MAX_TABLE_COLUMNS,
        wrap=True,  # in a row of boxes, those that do not fit would be out of sight
        help=_("Pick all columns that are to be crossed in it.") if fresh else None,
    )
    measures = _ask_measures(k, rows, offers, ordered=is_ordered(entries, columns))
    if not fresh:
        row.button(
            _("Remove"),
            icon=":material/close:",
            key=visit().key(f"own-remove-{k}"),
            type="tertiary",
            help=_("Remove this table"),
            on_click=rows.remove,
            args=(k,),
        )
    if measures and not columns:
        text = _("Pick the columns by which this is shown; the figure of everybody together comes with it.")
        st.caption(f":material/info: {text}")
    if not columns:
        return None
    table = with_cells_as_before(entries, table_measures.table_of(tuple(columns), measures))
    return persons_box.ask_cells(table, entries, k) if table.distinct else table


def _ask_measures(k: int, rows: Rows, offers: _Offers, *, ordered: bool) -> list[Measure]:
    """Ask what a table publishes in addition to counts; sums over ranges are offered if a column is `ordered`."""
    fresh, also, picked = k >= rows.filled, rows.boxes[k][1], rows.picked[k][1]
    offered = [*offers.measures, *([table_measures.RANGES] if offers.ranges and ordered else [])]
    if table_measures.PERSONS in picked:
        offered = [table_measures.PERSONS]  # such a table publishes nothing else
    elif offers.persons and not picked:
        offered = [*offered, table_measures.PERSONS]
    if not (offered or picked) or (fresh and k > 0):
        return []
    measures: list[Measure] = st.multiselect(
        _("First table: also") if fresh else _("Table {number}: also", number=k + 1),
        list(dict.fromkeys([*offered, *picked])),
        default=None if also in st.session_state else picked,
        key=also,
        format_func=in_words,
        max_selections=MAX_TABLE_COLUMNS,
        placeholder=_("Average, total or median of an amount") if offers.measures else _(NOTHING_MORE[offers.persons]),
    )
    return measures


def _ask_weights(entries: Entries, tables: list[PublishedTable]) -> list[PublishedTable]:
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
    return [table if table.weight == w else table.model_copy(update={"weight": w.normalize()})
            for table, w in zip(tables, weights, strict=True)]  # fmt: skip


def _offered(entries: Entries, names: list[str]) -> list[Measure]:
    """Return what can be published of each of these columns, and of each pair of those that are amounts already."""
    amounts = [name for name in names if entries.declared[name]["kind"] == "amount"]
    pairs = [("correlation", *pair) for pair in combinations(amounts, 2)]
    slopes = [("slope", *pair) for pair in permutations(amounts, 2)]
    return [*((what, name) for name in names for what in OF_AMOUNTS), *pairs, *slopes]


def _numeric(entries: Entries) -> list[str]:
    """Return the chosen columns that can be amounts: first those that look like one, then the undeclared ones.

    A text file states no types, so an undeclared column in it may hold numbers, unless its owner's rows hold none.
    """
    table = visit().table
    assert isinstance(table, Table)
    hints = {field.name: field.kind_hint for field in table.columns}
    amounts = [name for name in entries.chosen if entries.declared[name]["kind"] == "amount"]
    numbers = [name for name in entries.chosen if hints.get(name) == "number"]
    undeclared = [
        name for name in entries.chosen if hints.get(name) == "category" and _is_undeclared(entries.declared[name])
    ]
    if undeclared:
        words = background_read.glance("words", lambda _progress: owner.columns_without_numbers(table), table) or ()
        undeclared = [name for name in undeclared if name not in words]
    return [*dict.fromkeys([*amounts, *numbers, *undeclared])]


def _is_undeclared(column: dict[str, Any]) -> bool:
    """Whether nothing is declared about a column yet."""
    return column["kind"] == "category" and not column.get("values") and not column.get("codebook")


def _names(entries: Entries) -> dict[str, str]:
    """Return by what people can be counted, in the order of the box: each column after its coarser levels."""
    names = {}
    for name in entries.chosen:
        for level in coarser(entries.declared[name]):
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
            declared[name] = of_kind(name, guessed_kind(name), declared[name])
    return declared
