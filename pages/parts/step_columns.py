"""Step 2: which columns matter, and in which tables."""

from __future__ import annotations

import streamlit as st

from dpengine.plan import Plan
from pages.parts import entries as draft
from pages.parts import session
from pages.parts.words import name_of, plain

__all__ = ["choose_columns", "summary"]

MOST_OWN = 12


def choose_columns() -> None:
    """Columns, how they make tables, and the list of tables that results."""
    table, entries = session.table(), session.entries()
    assert table is not None
    names = [field.name for field in table.columns]
    hints = {field.name: field.kind_hint for field in table.columns}
    chosen = st.multiselect(
        "Columns that matter",
        names,
        default=[name for name in entries.chosen if name in names],
        key=session.key("chosen"),
        help="Only these are read. Fewer columns mean fewer cells, and more people in each.",
    )
    declared = entries.declared | {
        name: draft.suggestion(name, hints[name]) for name in chosen if name not in entries.declared
    }
    layout = st.radio(
        "Published as",
        list(draft.LAYOUTS),
        index=list(draft.LAYOUTS).index(entries.layout),
        format_func=draft.LAYOUTS.__getitem__,
        horizontal=True,
        key=session.key("layout"),
    )
    own = entries.own
    if layout == "own":
        own = _own_tables(chosen, own)
    margins = entries.margins
    if layout != "single":
        margins = st.checkbox(
            "Also each column by itself, at no extra cost",
            value=entries.margins,
            key=session.key("margins"),
            help="Sums of a table that is published anyway. Their own intervals are narrower than adding cells up.",
        )
    session.change(chosen=tuple(chosen), declared=declared, layout=layout, own=own, margins=margins)
    tables = draft.tables_of(session.entries())
    if st.button("Go on to what is known", type="primary", key=session.key("columns-done"), disabled=not tables):
        session.settle("columns")
        st.rerun()


def _own_tables(chosen: list[str], own: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """A multiselect a table, and an empty one to add the next."""
    kept = [tuple(name for name in table if name in chosen) for table in own]
    rows = [table for table in kept if table]
    tables = []
    for k in range(min(MOST_OWN, len(rows) + 1)):
        table = st.multiselect(
            f"Table {k + 1}" if k < len(rows) else "Another table",
            chosen,
            default=list(rows[k]) if k < len(rows) else [],
            key=session.key(f"own-{k}-{len(rows)}"),
        )
        if table:
            tables.append(tuple(table))
    if len(tables) != len(rows):
        session.change(own=tuple(tables), chosen=tuple(chosen))
        st.rerun()
    return tuple(tables)


def summary(plan: Plan | None) -> str:
    """One line for the folded step."""
    tables = draft.tables_of(session.entries())
    named = ", ".join(plain(name_of(table)) for table in tables[:4]) + (", …" if len(tables) > 4 else "")
    if plan is None:
        return named or "nothing chosen yet"
    cells = sum(plan.cells(table) for table in plan.marginals)
    return f"{named} · {cells:,} cells"
