"""The language of the page: English, until a visitor chooses another one."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpengine.translation.catalogue import ENGLISH, choose_by

__all__ = ["KEY", "speak_the_visitors"]

KEY = "language"  # in the session's state


def speak_the_visitors() -> None:
    """Show all texts in the language that the visitor has chosen; what runs beside the page speaks English."""
    choose_by(lambda: str(st.session_state.get(KEY, ENGLISH)) if get_script_run_ctx() is not None else ENGLISH)
