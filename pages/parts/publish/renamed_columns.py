"""Ask which columns of a table have another name than in the plan that waits for it, as after a year of changes."""

from __future__ import annotations

import streamlit as st

from dpengine.translation.catalogue import _, some_of
from pages.parts.publish import reading_options
from pages.parts.shared.wording import plain_name
from pages.parts.visit import saved_draft
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.state import visit

__all__ = ["ask"]

MAX_ASKED = 8  # columns; a plan that lacks more is rather for another table


def ask() -> None:
    """Ask for the columns that the waiting plan lacks in the open file, and read the file under its names."""
    here = visit()
    draft, table = here.waiting, here.table
    if draft is None or table is None or here.source is None:
        return
    missed, needed = saved_draft.lacking(draft), saved_draft.needed(draft)
    free = [field.name for field in table.columns if field.name not in needed]
    if not missed or len(missed) > MAX_ASKED or len(missed) == len(needed):
        return
    with st.container(border=True):
        if free:
            st.markdown(_("If a column only has another name in this table, say which one it is."))
        chosen = {
            name: st.selectbox(
                _("The plan's {column} is", column=plain_name(name)), free, key=here.key(f"renamed-{name}"),
                index=next((k for k, each in enumerate(free) if _alike(each) == _alike(name)), None),
                placeholder=_("Choose a column"),
            )
            for name in (missed if free else ())
        }  # fmt: skip
        names = {old: name for name, old in chosen.items() if old is not None}
        ready = len(names) == len(missed)
        gone = [name for name in missed if chosen.get(name) is None]
        if free:
            st.button(
                _("Read the table under the plan's names"), key=here.key("read-renamed"), type="primary",
                disabled=not ready, on_click=reading_options.rename_columns, args=(names,),
            )  # fmt: skip
        if gone and draft.entries.id_column not in gone:  # the people cannot be left out
            st.button(
                _("Go on without {columns}", columns=some_of(map(plain_name, gone))), key=here.key("go-without"),
                icon=":material/backspace:", on_click=_go_on_without, args=(draft, gone),
                help=_("For columns that this table does not have. The plan's tables are then without them."),
            )  # fmt: skip


def _go_on_without(draft: Draft, columns: list[str]) -> None:
    saved_draft.forget()
    saved_draft.take_over(saved_draft.without(draft, columns))  # which waits again if more columns are missing


def _alike(name: str) -> str:
    """Return what names that are written a little differently have in common.

    >>> _alike("Year_of birth") == _alike("year of Birth")
    True
    """
    return "".join(filter(str.isalnum, name.casefold()))
