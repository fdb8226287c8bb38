"""Ask how the dates of columns of texts are written, and offer the format in which they seem to be."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpengine import owner
from dpengine.spec.date_text import DATE_FORMATS, TIME_FORMATS
from dpengine.translation.catalogue import _
from pages.parts.publish.column_forms.boxes import change_columns
from pages.parts.shared.wording import plain_name
from pages.parts.visit import background_read
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.state import visit

__all__ = ["ask_how_written"]


def ask_how_written(names: Sequence[str]) -> None:
    """Ask for the format of each of these columns; only the owner sees which one their first rows seem to have."""
    table, declared = visit().table, visit().entries.declared
    assert table is not None
    places = {name: table_column(declared, name) for name in names}
    found = background_read.glance(
        "dates", lambda _progress: owner.date_formats_found(table, places.values()), table, question=repr(places)
    )
    for name in names:
        text = _(
            "say how its dates are written: choose it below, or add it at the end of its cell, such as *written "
            "31.12.2024* or, with a time, *written 31.12.2024 18:30*"
        )
        st.markdown(f":material/report: **{plain_name(name)}**: {text}")
        by_hour = declared[name]["kind"] == "time" and declared[name].get("by") == "hour"
        pattern = (found or {}).get(places[name])
        if pattern in (TIME_FORMATS if by_hour else DATE_FORMATS):
            _offer(name, str(pattern))


def _offer(name: str, pattern: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Read {column} as written like {example}", column=plain_name(name), example=DATE_FORMATS[pattern]),
            key=visit().key(f"dates-of-{name}"),
            on_click=change_columns,
            args=([name], {"format": pattern}, "card"),
        )
        st.caption(_("So its first rows look. Only you see this."), width="content")
