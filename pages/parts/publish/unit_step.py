"""Step 4: whom the guarantee protects, and roughly how many they are."""

from __future__ import annotations

import streamlit as st

from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.publish.noun_box import ask_noun
from pages.parts.publish.person_ids import ids_by_rows, likely_ids
from pages.parts.publish.rough_size import ask_rough_size
from pages.parts.publish.rows_kept import show_rows_kept
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain_name
from pages.parts.visit import background_read
from pages.parts.visit.plan.tables import counting_persons, published, used
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.state import visit

__all__ = ["choose_unit", "summary"]


def choose_unit() -> None:
    """Ask whom the guarantee protects, and roughly how many rows the table has."""
    if counts := visit().read_as.get("frequency"):
        text = _(
            "A row of the file stands for as many people as {name} says: here, each of them is a row.",
            name=plain_name(counts),
        )
        st.caption(f":material/groups: {text}")
    several = _ask_whether_several()
    if several:
        _ask_who_and_how_many()
    ask_rough_size()
    if st.button(
        _("Go on to how private"),
        type="primary",
        key=visit().key("unit-done"),
        disabled=several is None or (several and visit().entries.id_column is None),
    ):
        visit().settle("unit")
        st.rerun()


def _ask_whether_several() -> bool | None:
    """Ask whether a person may have several rows; a column that looks like an ID of persons suggests it."""
    answer = visit().entries.several_rows
    if answer is None and likely_ids():
        answer = True
    words = {"one": mark("each row is a different person"), "several": mark("a person may have several rows")}
    chosen = st.radio(
        _("In this table"),
        list(words),
        index=None if answer is None else int(answer),
        format_func=lambda rows: _(words[rows]),
        key=visit().key("several"),
        help=term(
            "unit",
            _("If people can have several rows and you say otherwise, they are protected less than you promise."),
        ),
    )
    several = None if chosen is None else chosen == "several"
    visit().change(several_rows=several)
    return several


def _ask_who_and_how_many() -> None:
    """Ask for the column that says who a person is, and how many rows of each are counted."""
    table, entries = visit().table, visit().entries
    assert table is not None
    published = {table_column(entries.declared, name) for name in used(entries)}
    names = [field.name for field in table.columns if field.name not in published]
    who, most = st.columns(2)
    id_column = who.selectbox(
        _("Column that identifies the person"),
        names,
        index=names.index(guess) if (guess := entries.id_column or next(iter(likely_ids()), None)) in names else None,
        placeholder=_("such as patient_id"),
        key=visit().key("id"),
    )
    if id_column is not None:
        _warn_if_it_numbers_rows(table, id_column)
    rows = int(
        most.number_input(
            _("Rows per person, at most"),
            1,
            1_000_000,
            max(entries.rows, 1),
            key=visit().key("rows"),
            help=term("rows-kept"),
        )
    )
    st.caption(
        plural(
            "If a person has more than {n} row, {n} of them, drawn at random, is counted; the others are left out "
            "of every table. All counts, and their total, then count only these rows.",
            "If a person has more than {n} rows, {n} of them, drawn at random, are counted; the others are left "
            "out of every table. All counts, and their total, then count only these rows.",
            rows,
        )
    )
    _say_what_is_counted(rows)
    ask_noun("people")
    if id_column is not None:
        show_rows_kept(table, id_column)
    visit().change(id_column=id_column, rows=rows)


def _say_what_is_counted(rows: int) -> None:
    """Say whether rows or persons are counted, and offer to count persons once if their tables can."""
    persons = counting_persons(visit().entries) if rows > 1 else None
    if rows == 1:
        text = _(
            "So this counts persons, each in one of their rows. To count what the rows are, such as loans or visits, "
            "take as many as most persons have at most."
        )
    elif all(table.distinct for table in published(visit().entries)):
        text = _("Your tables count persons: each of them once in a cell, however many rows they have.")
    elif persons is None:
        text = _("A table can also count each person once in each cell: choose it in step 2, *A list of my own*.")
    else:
        text = _("Your tables count rows: a person with {n} rows counts {n} times.", n=number(rows))
    st.caption(f":material/group: {text}")
    if persons is not None:
        st.button(
            _("Count each person once instead"),
            icon=":material/group:",
            key=visit().key("count-persons"),
            on_click=_count_persons,
            help=_(
                "In the cell of one of their rows, drawn at random, and with less noise. In step 2, a person may also "
                "count in several cells, such as one for each diagnosis."
            ),
        )


def _count_persons() -> None:
    if (persons := counting_persons(visit().entries)) is not None:
        visit().refresh(persons)


def _warn_if_it_numbers_rows(table: Table, column: str) -> None:
    """Warn the owner of a column that tells rows apart, such as a visit's number: it would protect a row, not a person.

    The rows are read in the background, and the result is shown to the owner alone and kept nowhere.
    """
    names = [column]
    if background_read.glance(
        "id-of-rows", lambda _progress: ids_by_rows(table, names), table, question=column, patient=False
    ):
        text = _(
            "**{column}** has another value in nearly every row. Only you see this. If it numbers the rows, such as "
            "visits, a person with several rows is protected less than you promise: choose the column that names the "
            "person.",
            column=plain_name(column),
        )
        st.warning(text, icon=":material/badge:")


def summary() -> str:
    """Return what a folded step shows, in one line."""
    entries = visit().entries
    if entries.several_rows is None:
        return _("still to be answered")
    whom = _("each row is one person")
    if entries.several_rows:
        whom = plural(
            "each person, identified by {column}, with at most {n} row",
            "each person, identified by {column}, with at most {n} rows",
            entries.rows,
            column=plain_name(str(entries.id_column)),
        )
    about = _("about {rows} rows", rows=number(entries.rows_about)) if entries.rows_about else ""
    return f"{whom} · {about}" if about else whom
