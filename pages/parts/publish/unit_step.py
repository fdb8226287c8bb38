"""Step 4: whom the guarantee protects, and roughly how many they are."""

from __future__ import annotations

import streamlit as st

from dpengine.translation.catalogue import _, number, plural
from pages.parts.publish.person_ids import likely_ids
from pages.parts.publish.rows_kept import show_rows_kept
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain
from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["choose_unit", "summary"]


def choose_unit() -> None:
    """Ask whether each row is a person, or which column identifies the person and how many of their rows count."""
    table, entries = visit().table, visit().entries
    assert table is not None
    names = [field.name for field in table.columns if field.name not in plan_form.used(entries)]
    likely = likely_ids()
    answer = True if entries.several_rows is None and likely else entries.several_rows
    several = st.radio(
        _("In this table"),
        [False, True],
        index=None if answer is None else int(answer),
        format_func=lambda many: _("a person may have several rows") if many else _("each row is a different person"),
        key=visit().key("several"),
        help=term(
            "unit",
            _("If people can have several rows and you say otherwise, they are protected less than you promise."),
        ),
    )
    id_column, rows = entries.id_column, entries.rows
    if several:
        who, most = st.columns(2)
        id_column = who.selectbox(
            _("Column that identifies the person"),
            names,
            index=names.index(guess) if (guess := id_column or next(iter(likely), None)) in names else None,
            placeholder=_("such as patient_id"),
            key=visit().key("id"),
        )
        rows = most.number_input(
            _("Rows per person, at most"),
            1,
            1_000_000,
            max(rows, 1),
            key=visit().key("rows"),
            help=term("rows-kept"),
        )
        st.caption(
            plural(
                "If a person has more than {n} row, {n} of them, drawn at random, is counted; the others are left out "
                "of every table. All counts, and their total, then count only these rows.",
                "If a person has more than {n} rows, {n} of them, drawn at random, are counted; the others are left "
                "out of every table. All counts, and their total, then count only these rows.",
                int(rows),
            )
        )
        if rows > 1:
            text = _("A table can also count each person once in each cell: choose it in step 2, *A list of my own*.")
            st.caption(f":material/group: {text}")
        if id_column is not None:
            show_rows_kept(table, id_column)
    about = st.number_input(
        _("Roughly how many rows (public knowledge)"),
        min_value=1,
        max_value=10**12,
        value=entries.rows_about,
        placeholder=_("for instance 5000; used for the preview only"),
        key=visit().key("about"),
        help=_("A public figure, not the exact number. It only scales the made-up preview."),
    )
    rows_about = None if about is None else int(about)
    visit().change(several_rows=several, id_column=id_column, rows=int(rows), rows_about=rows_about)
    if rows_about != entries.rows_about:
        st.rerun()  # the preview still shows the plan from the beginning of this run
    if st.button(
        _("Go on to how private"),
        type="primary",
        key=visit().key("unit-done"),
        disabled=several is None or (several and id_column is None),
    ):
        visit().settle("unit")
        st.rerun()


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
            column=plain(str(entries.id_column)),
        )
    about = _("about {rows} rows", rows=number(entries.rows_about)) if entries.rows_about else ""
    return f"{whom} · {about}" if about else whom
