"""The language of the page: English, or the one that the visitor chose or that the address names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date
from decimal import Decimal
from numbers import Real

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpengine.translation.catalogue import ENGLISH, _, choose_by, languages, speaking

__all__ = ["KEY", "chosen", "offer", "show_choice", "use_visitors_language"]

KEY = "language"  # its name in the session's state, in the address, and as a cookie


def use_visitors_language() -> None:
    """Show all texts in the language that the visitor has chosen; background jobs use English."""
    choose_by(_language_of_run)
    if KEY not in st.session_state:
        wanted = st.query_params.get(KEY) or st.context.cookies.get(KEY)
        st.session_state[KEY] = wanted if isinstance(wanted, str) and wanted in languages() else ENGLISH


def _language_of_run() -> str:
    """Return the language of this run of a page; a job in the background, which is none, speaks English."""
    return ENGLISH if get_script_run_ctx(suppress_warning=True) is None else chosen()


def chosen() -> str:
    """Return the code of the visitor's language."""
    return str(st.session_state.get(KEY, ENGLISH))


def show_choice(forget: Callable[[], None]) -> None:
    """Show the language of the page, and once its box is open, the others.

    `forget` is called when another language is chosen, to drop texts in the old one.
    """
    spoken = chosen()
    name = "English" if spoken == ENGLISH else languages()[spoken]
    with st.container(key="language-choice"):
        box = st.popover(
            name, icon=":material/translate:", type="tertiary", key=f"language-box-{spoken}", on_change="rerun"
        )
    if not box.open:
        return
    with box:
        for code, own_name in languages().items():
            icon = ":material/check:" if code == spoken else ":material/translate:"
            st.button(
                own_name, key=f"language-{code}", icon=icon, type="tertiary", on_click=_choose, args=(code, forget)
            )


def offer(forget: Callable[[], None]) -> None:
    """Offer, in the language of the visitor's browser, to change to it, unless it is English.

    `forget` is called when the visitor accepts, to drop texts in English.
    """
    if chosen() != ENGLISH:
        return
    code = (st.context.locale or ENGLISH).partition("-")[0].lower()
    if code == ENGLISH or code not in languages():
        return
    with speaking(code):
        label = _("This page in English")  # in each translation, this names its own language
    st.button(
        label, key="language-offer", icon=":material/translate:", type="tertiary", on_click=_choose, args=(code, forget)
    )


def _choose(code: str, forget: Callable[[], None]) -> None:
    forget()
    st.query_params.pop(KEY, None)  # otherwise a reload would return to the language in the address
    _hold_choices()
    st.session_state[KEY] = code


def _hold_choices() -> None:
    """Set each choice in a box once more, by its value.

    A browser reports a choice by its words. Words in the old language are no options in the new one, and would be
    taken for the value itself.
    """
    for key, value in st.session_state.items():
        if _is_choice(value) and value != []:  # which may be that of an upload, which cannot be set
            st.session_state[key] = value


def _is_choice(value: object) -> bool:
    """Return whether a value is one that is chosen or typed: no state of a button, of a grid or of an upload.

    >>> [_is_choice(value) for value in ("auto", ("age", "sex"), [("mean", "pay")], 0.5, True, {"rows": []})]
    [True, True, True, True, False, False]
    """
    if isinstance(value, list | tuple):
        return all(map(_is_choice, value))
    if is_dataclass(value):
        return not isinstance(value, type)
    return isinstance(value, str | Real | Decimal | date) and not isinstance(value, bool)
