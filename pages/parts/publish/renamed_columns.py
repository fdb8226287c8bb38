"""Ask which columns of a table have another name than in the plan that waits for it, as after a year of changes."""

from __future__ import annotations

import streamlit as st

from dpengine.translation.catalogue import _
from pages.parts.publish import reading_options
from pages.parts.shared.wording import plain_name
from pages.parts.visit import saved_draft
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
    if not free or not missed or len(missed) > MAX_ASKED or len(missed) == len(needed):
        return
    with st.container(border=True):
        st.markdown(_("If a column only has another name in this table, say which one it is."))
        chosen = {
            name: st.selectbox(
                _("The plan's {column} is", column=plain_name(name)), free, key=here.key(f"renamed-{name}"),
                index=next((k for k, each in enumerate(free) if _alike(each) == _alike(name)), None),
                placeholder=_("Choose a column"),
            )
            for name in missed
        }  # fmt: skip
        names = {old: name for name, old in chosen.items() if old is not None}
        ready = len(names) == len(missed)
        st.button(
            _("Read the table under the plan's names"), key=here.key("read-renamed"), type="primary",
            disabled=not ready, on_click=reading_options.rename_columns, args=(names,),
        )  # fmt: skip


def _alike(name: str) -> str:
    """Return what names that are written a little differently have in common.

    >>> _alike("Year_of birth") == _alike("year of Birth")
    True
    """
    return "".join(filter(str.isalnum, name.casefold()))
