"""Boxes and buttons that the questions about a column share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.spec import notation
from dpengine.translation.catalogue import _
from pages.parts.shared.wording import plain
from pages.parts.visit.plan.column_entry import confirmed
from pages.parts.visit.state import visit

__all__ = ["ask_texts", "change_columns", "fill_in_button", "filling_popover", "key_for"]


def key_for(what: str, name: str) -> str:
    """Return the key of a widget about one column; `renew` changes it, as does a change of the column elsewhere."""
    return f"{visit().fresh_key(f'{what}-{name}')}-{visit().renewals(f'card-{name}')}"


def ask_texts(label: str, now: list[str], **box: Any) -> list[str]:
    """Ask for several texts in one box and return them; if they cannot be read, say why, and return those of `now`."""
    typed = st.text_input(label, notation.write({"kind": "category", "values": now}), **box)
    try:
        texts: list[str] = notation.read(typed, "category", strict=True)["values"] if typed.strip() else []
    except ValueError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return now
    return texts


def filling_popover(place: DeltaGenerator, what: str, label: str, icon: str, box: str, name: str) -> DeltaGenerator:
    """Return a popover beside the `box` of a column; it closes when a button in it fills this box."""
    return place.popover(
        label, icon=f":material/{icon}:", width="stretch", key=key_for(box, name) + what, on_change="rerun"
    )


def change_columns(names: Iterable[str], fields: Mapping[str, Any], widget: str) -> None:
    """Change some fields in the entries of columns of these names, and draw the `widget` of each column anew."""
    declared, names = visit().entries.declared, list(names)
    visit().change(declared=declared | {name: {**declared[name], **fields} for name in names})
    for name in names:
        visit().renew(f"{widget}-{name}")


def fill_in_button(
    key: str, name: str, *, label: str = "", disabled: bool = False, renewed: Sequence[str] = (), **entry: Any
) -> None:
    """Show a button that puts `entry` into the entry of a column; its box and the widgets in `renewed` begin anew."""
    box = "edges" if "edges" in entry else "values"
    st.button(
        label or _("Fill in"),
        key=visit().key(key),
        disabled=disabled,
        on_click=_fill_in,
        args=(name, [f"{box}-{name}", *renewed], entry),
    )


def _fill_in(name: str, renewed: list[str], entry: dict[str, Any]) -> None:
    entries = visit().entries
    visit().change(declared=entries.declared | {name: confirmed(entries.declared[name]) | entry})
    for widget in renewed:
        visit().renew(widget)
