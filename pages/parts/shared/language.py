"""The language of the page: the one that the visitor chose, that the address names, or that of the browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date
from decimal import Decimal
from numbers import Real

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpengine.translation.catalogue import ENGLISH, choose_by, languages

__all__ = ["KEY", "chosen", "of_browser", "show_choice", "use_visitors_language"]

KEY = "language"  # its name in the session's state, in the address, and as a cookie


def use_visitors_language() -> None:
    """Show all texts in the language that the visitor has chosen, or begin in that of the browser.

    Background jobs use English.
    """
    choose_by(_language_of_run)
    if KEY not in st.session_state:
        wanted = (st.query_params.get(KEY), st.context.cookies.get(KEY))
        st.session_state[KEY] = next(filter(_is_known, wanted), None) or of_browser()


def of_browser() -> str:
    """Return the code of the browser's language, or English if the page has no texts in it."""
    locale = st.context.locale
    code = locale.partition("-")[0].lower() if isinstance(locale, str) else ENGLISH
    return code if _is_known(code) else ENGLISH


def _is_known(code: object) -> bool:
    return code == ENGLISH or (isinstance(code, str) and code in languages())  # English needs no list, which is slow


def _language_of_run() -> str:
    """Return the language of this run of a page; a job in the background belongs to no run, and speaks English."""
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
