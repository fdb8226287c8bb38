"""Keys to undo and redo decisions: Ctrl+Z, and Ctrl+Y or Ctrl+Shift+Z, unless a text box has the focus."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

__all__ = ["listen"]

_keys = st.components.v2.component("undo_keys", js=Path(__file__).with_name("undo_keys.js").read_text(encoding="utf-8"))


def listen() -> None:
    """Have the browser press the buttons of the bar when these keys are pressed."""
    with st.container(key="undo-keys"):
        _keys(key="undo-keys-component", data={})
