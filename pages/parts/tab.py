"""The tab's own memory: what is entered is put there, and asked for once when a session begins without it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import remembered, session, step_table

__all__ = ["remember"]

KEY = "tab"
ANOTHER_MATTER = ("release", "publishing", "answer")  # in the address: something that is finished, or nearly

_memory = st.components.v2.component("tab", js=Path(__file__).with_name("tab.js").read_text(encoding="utf-8"))


def remember() -> None:
    """To be drawn last, when all that was entered is known."""
    kept = remembered.current()
    text = None if kept is None else remembered.to_text(kept)
    if text is not None:
        todo = "keep"
        st.session_state["tab_told"] = True
    elif "tab_told" in st.session_state:
        todo = "forget"
    else:
        todo = "" if any(name in st.query_params for name in ANOTHER_MATTER) else "tell"
    asked = st.session_state["tab_asked"] = st.session_state.get("tab_asked", 0) + (todo == "tell")
    with st.container(key="tab-memory"):
        _memory(key=KEY, data={"todo": todo, "plan": text, "asked": asked}, on_found_change=_found)


def _found() -> None:
    """A plan is there, of a session that is gone: take it up, with its table where that is a sample."""
    if KEY not in st.session_state:  # lost, since the visitor was just leaving for another page, which asks again
        return
    st.session_state["tab_told"] = True
    found = st.session_state[KEY].get("found")
    text = found.get("plan") if isinstance(found, dict) else None
    kept = remembered.from_text(text) if isinstance(text, str) and session.table() is None else None
    if kept is not None:
        remembered.take_back(kept)
        if kept.sample in step_table.SAMPLES:
            step_table.load_sample(kept.sample)
