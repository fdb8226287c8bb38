"""Step 3: what is publicly known about all columns, in a grid, with one column in detail.

Nothing is taken from the rows unless the owner looks at them and confirms each value as public. Suggestions from names
and types of columns are marked, and wait for a person to confirm them.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine.spec.categories.tree import MARK
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, mark, plural, some_of
from pages.parts.publish import codebook_box
from pages.parts.publish.clock_box import ask_clock
from pages.parts.publish.column_card import ask_column, guessed_kind
from pages.parts.publish.date_formats import ask_how_written
from pages.parts.publish.grid import show_grid
from pages.parts.publish.outlook import fit
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import edge_or_day, plain, plain_name
from pages.parts.visit.plan.column_checks import check_columns, faults_of, faulty
from pages.parts.visit.plan.column_entry import (
    HOW_WRITTEN,
    TO_CONFIRM,
    coarser,
    confirmed,
    finds_cells,
    has_found_bins,
    has_found_upper,
    is_blank,
    is_found,
    is_from_file,
)
from pages.parts.visit.plan.table_measures import level_of
from pages.parts.visit.plan.tables import tables_of, used
from pages.parts.visit.state import visit

__all__ = ["declare_columns", "summary"]

MAX_FAULTS = 6  # below the grid these are written in full
MAX_NAMED = 8  # columns named as still to be filled in
MIN_ALIKE = 3  # blank columns from which they may be the questions of a survey, with the same answers
BY = {
    "day": mark("by day, {first} to {last}"),
    "week": mark("by week, {first} to {last}"),
    "month": mark("by month, {first} to {last}"),
    "quarter": mark("by quarter, {first} to {last}"),
    "year": mark("by year, {first} to {last}"),
}
HOW_TO_WRITE = mark(
    """\
| Kind | Write | It means |
|---|---|---|
| number | `0, 18, 65, 120` | 0 to under 18, 18 to under 65, 65 to 120 |
| | `18 to 90 by 5` | bins of width 5; the last may be narrower |
| | `0, 18 to 65 by 5, 120` | both together |
| category | `North, South, "Paris, TX"` | these values; quotes keep a comma |
| | `1..12` | the codes 1, 2, … 12 |
| | `us-states` | a standard list: {lists} |
| | `found among #####` | those of all codes of five digits that many people have: nobody can list them |
| date | `2020 to 2024 by month` | also `2024 by month` or `2020-03-01 to 2024-06-30 by week` |
| hour or weekday | `by hour`, `by weekday` | the hour of the day, the day of the week |
| yes or no | `yes, no` | yes/no, true/false, y/n, t/f or 1/0 |
| amount | `0 to 200000 by 100` | averages and totals of values from 0 to 200000, rounded to 100 |
| | `0 to 200000 by 100 in 40 parts` | finer medians and quartiles; without it, there are 20 parts |

If numbers or dates are written in another way in your file, add it: `0 to 5000 by 500, written 1.234,5` or
`2020 to 2024 by year, written 31/12/2024`.

Copy a block from a spreadsheet and paste it onto a cell; drag the corner of a cell to fill down.
"""
)


def declare_columns() -> None:
    """Ask about all columns in a grid and about one of them in detail; offer to go on once all are complete."""
    st.caption(
        _(
            "Readers will see all these cells, whether or not anybody is in them. Values that you do not list count as "
            "*(other)*, empty ones as *(missing)*. So which cells are shown depends on no single person."
        ),
        help=term("other"),
    )
    _say_what_is_left_out()
    with st.container(horizontal=True):
        _confirm_all()
        codebook_box.show()
        with st.popover(_("How to write it"), icon=":material/help:", type="tertiary"):
            st.markdown(_(HOW_TO_WRITE, lists=", ".join(standard_lists())))
            st.markdown(_("Write codes as they stand in the table. Step 6, *Words for readers*, gives them words."))
    _say_what_the_file_says()
    with st.container(key="grid-of-columns"):
        show_grid()
    open_columns = faulty()
    _say_what_is_open(open_columns)
    ask_clock()
    names = used(visit().entries)
    if names:
        _show_detail(names, open_columns)
    if names and not open_columns:
        fit.show_on_request(names)
    disabled = bool(open_columns) or not names
    if st.button(_("Go on to whom it protects"), type="primary", key=visit().key("domain-done"), disabled=disabled):
        visit().settle("domain")
        st.rerun()


def _say_what_is_left_out() -> None:
    """Warn of columns without a cell for unlisted values: rows with such a value count in no table."""
    declared = visit().entries.declared
    without = [
        name
        for name in used(visit().entries)
        if declared[name]["kind"] != "amount" and not declared[name].get("other", True)
    ]
    if without:
        text = _(
            "There is no cell *(other)* for {columns}: rows with a value that is not listed are left out of every "
            "table.",
            columns=some_of(map(plain_name, without)),
        )
        st.caption(f":material/filter_alt: {text}")


def _confirm_all() -> None:
    declared = visit().entries.declared
    waiting = [name for name in used(visit().entries) if declared[name].get("suggested")]
    ready = [name for name, column in check_columns(waiting).items() if set(column.faults) == {TO_CONFIRM}]
    if ready:
        st.button(
            plural("Confirm {n} suggestion", "Confirm {n} suggestions", len(ready)),
            key=visit().key("confirm-all"),
            icon=":material/done_all:",
            on_click=_confirm,
            args=(ready,),
            help=_(
                "They follow from the names and types of the columns alone. Confirm what anyone could know without "
                "the data; correct the others first."
            ),
        )


def _confirm(names: list[str]) -> None:
    declared = visit().entries.declared
    visit().change(declared=declared | {name: confirmed(declared[name]) for name in names})


def _say_what_the_file_says() -> None:
    """Warn of lists that the file itself suggests: the program that wrote it may have made them from the rows."""
    declared = visit().entries.declared
    from_file = [name for name in used(visit().entries) if is_from_file(declared[name])]
    if from_file:
        text = _(
            "The file itself lists values of {columns}, with words for readers. Confirm such a list only if it is "
            "public knowledge, as in a questionnaire: some programs make it from the rows.",
            columns=some_of(map(plain_name, from_file)),
        )
        st.caption(f":material/menu_book: {text}")


def _say_what_is_open(names: list[str]) -> None:
    """Name each column that is not complete, with what to do."""
    if not names:
        return
    declared = visit().entries.declared
    wrong = {name: faults_of(name)[0] for name in names if "written" in declared[name]}
    dates = [name for name in names if declared[name].get("from") or declared[name]["kind"] == "time"]
    unwritten = [name for name in dates if name not in wrong and HOW_WRITTEN in faults_of(name)]
    for name, fault in list(wrong.items())[:MAX_FAULTS]:
        st.markdown(f":material/report: **{plain_name(name)}**: {plain(_(fault))}")
    if unwritten:
        ask_how_written(unwritten[: max(MAX_FAULTS - len(wrong), 0)])
    if (more := len(wrong) + len(unwritten) - MAX_FAULTS) > 0:
        st.caption(plural("and {n} more cell to correct", "and {n} more cells to correct", more))
    st.caption(_("Still to fill in: {columns}.", columns=some_of(map(plain_name, names), MAX_NAMED)))


def _show_detail(names: list[str], open_columns: list[str]) -> None:
    """Show the card of one column; at first, one that needs more than confirmation."""
    blank = (name for name in open_columns if set(faults_of(name)) != {TO_CONFIRM})
    name = st.selectbox(
        _("One column in detail"),
        names,
        index=names.index(next(blank, (open_columns or names)[0])),
        key=visit().key("detail"),
    )
    entries = visit().entries
    with st.container(border=True, key="column-card"):
        column = entries.declared[name]
        if (after := ask_column(name, column)) is not column:
            visit().change(declared=entries.declared | {name: after})
            st.rerun()
        if column.get("suggested"):
            st.button(
                _("Confirm this suggestion"), key=visit().key("confirm-one"), icon=":material/done:", on_click=_confirm,
                args=([name],),
            )  # fmt: skip
        for fault in faults_of(name):
            st.caption(f":material/arrow_right: {plain(_(fault))}")
        if name not in open_columns:
            _offer_to_others(name, open_columns)
        _say_where_levels_are_picked(name)


def _offer_to_others(name: str, open_columns: list[str]) -> None:
    """Offer what one column declares to others: to those like it that are blank, or to columns of a person's choice.

    Columns are alike if the same kind was guessed of them: a person who says that one is yes or no need not say so of
    each. Each column of dates or times is written in its own way.
    """
    declared = visit().entries.declared
    column = declared[name]
    others = [each for each in used(visit().entries) if each != name and not declared[each].get("of")]
    if column["kind"] in ("date", "time") or finds_cells(column) or not others:
        return
    open_ones = [each for each in open_columns if each != name and is_blank(declared[each])]
    blank = [each for each in open_ones if guessed_kind(each) == guessed_kind(name)]
    with st.container(horizontal=True):
        if len(blank) >= MIN_ALIKE:
            st.button(
                plural(
                    "The same for {n} column still to fill in", "The same for {n} columns still to fill in", len(blank)
                ),
                key=visit().key("same-for-others"), icon=":material/copy_all:", on_click=_copy, args=(column, blank),
            )  # fmt: skip
        if len(others) >= MIN_ALIKE:
            _offer_to_chosen(column, others, blank)


def _offer_to_chosen(column: dict[str, Any], others: list[str], blank: list[str]) -> None:
    """Ask which columns get what one declares, at first those that are `blank`; what they declare now is replaced."""
    chosen = st.popover(
        _("The same for columns of my choice"),
        icon=":material/checklist:",
        key=visit().fresh_key("same-box"),
        on_change="rerun",
    )
    if not chosen.open:
        return
    with chosen:
        names = st.multiselect(
            _("Columns with the same values or bins as {column}", column=plain_name(column["name"])),
            others,
            default=blank,
            key=visit().fresh_key(f"same-as-{column['name']}"),
            placeholder=_("Choose columns"),
            help=_("What they declare now is replaced. *Undo* takes it back."),
        )
        st.button(
            plural("Declare {n} column like it", "Declare {n} columns like it", len(names)),
            key=visit().key("same-for-chosen"),
            disabled=not names,
            on_click=_copy,
            args=(column, names),
        )  # fmt: skip


def _copy(column: dict[str, Any], names: list[str]) -> None:
    visit().change(declared=visit().entries.declared | {name: column | {"name": name} for name in names})
    for name in names:
        visit().renew(f"card-{name}")
    visit().renew("same-box")
    visit().renew(f"same-as-{column['name']}")


def _say_where_levels_are_picked(name: str) -> None:
    """Say how to use a level in a table, if no table uses one yet."""
    levels = coarser(visit().entries.declared[name])
    asked = {column for table in tables_of(visit().entries) for column in table}
    if levels and not any(f"{name}{MARK}{level}" in asked for level in levels):
        text = _("No table asks for {level} yet: change the columns, take *A list of my own*, and pick it there.",
                 level=plain(level_of(name, levels[0])))  # fmt: skip
        st.caption(f":material/info: {text}")


def _brief(name: str) -> str:
    column = visit().entries.declared[name]
    if faults_of(name):
        return _("to be filled in")
    match column["kind"]:
        case "number" if has_found_bins(column):
            return _("bins are found privately")
        case "number":
            edges = column["edges"]
            return plural(
                "{n} bin from {first} to {last}",
                "{n} bins from {first} to {last}",
                len(edges) - 1,
                first=plain(edge_or_day(edges[0])),
                last=plain(edge_or_day(edges[-1])),
            )
        case "amount":
            low, high = plain(edge_or_day(column["from"])), plain(edge_or_day(column["to"]))
            if has_found_upper(column):
                return _("an amount from {low} to {high}, upper bound found", low=low, high=high)
            return _("an amount from {low} to {high}", low=low, high=high)
        case "category" if is_found(column):
            return _("values are found privately")
        case "category":
            return plural("{n} value", "{n} values", len(column["values"]))
        case "date":
            period, first, last = column["by"], edge_or_day(column["from"]), edge_or_day(column["to"])
            return _(BY[period], first=first, last=last)
        case "time":
            return _("by hour of the day") if column["by"] == "hour" else _("by day of the week")
        case _:
            return _("yes or no")


def summary() -> str:
    """Return what a folded step shows, in one line."""
    names = used(visit().entries)
    return " · ".join(f"{plain_name(name)}: {_brief(name)}" for name in names[:4]) + (" · …" if len(names) > 4 else "")
