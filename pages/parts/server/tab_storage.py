"""The tab's own memory: what is entered is put there, and asked for once when a session begins without it."""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from pages.parts.server import session_resources, tab_route, upload_route
from pages.parts.server.tab_route import Question
from pages.parts.visit import saved_draft, session

__all__ = ["recall", "remember"]

PATIENCE = 5.0  # seconds that the first page is held open for the answer; one that comes later waits for the next run
GLANCE = 0.05  # seconds after which another click is let through

_memory = st.components.v2.component("tab", js=Path(__file__).with_name("tab.js").read_text(encoding="utf-8"))


def recall() -> None:
    """To be called as a run begins: take up the plan of a session that is gone, once the tab has told it.

    Another click may break a run off anywhere: that it is told is noted last, and all else may be done twice.
    """
    question = _question()
    if "tab_told" in st.session_state or question.answer is None:
        return
    kept = saved_draft.from_text(question.answer) if session.table() is None else None
    if kept is not None:
        saved_draft.take_back(kept)
    st.session_state["tab_told"] = True


def remember() -> None:
    """To be drawn last, when all that was entered is known."""
    kept = saved_draft.current()
    text = None if kept is None else saved_draft.to_text(kept)
    asks = text is None and "tab_told" not in st.session_state and not saved_draft.another_matter()
    if text is not None:
        todo = "keep"
        st.session_state["tab_told"] = True
    elif "tab_told" in st.session_state:
        todo = "forget"
    else:
        todo = "tell" if asks else ""
    question = _question()
    to = {"token": question.token, "address": upload_route.address(tab_route.ADDRESS)} if asks else {}
    with st.container(key="tab-memory"):
        _memory(key="tab", data={"todo": todo, "plan": text, **to})
    if asks:
        _listen(question)


def _question() -> Question:
    """What this session asks of its tab."""
    question: Question | None = st.session_state.get("tab_question")
    if question is None:
        question = st.session_state["tab_question"] = Question(session_resources.here())
    return question


def _listen(question: Question) -> None:
    """Hold the page open until the tab has told, and draw it again where it keeps a plan."""
    until = time.monotonic() + PATIENCE
    while not question.waited and not question.wait(GLANCE):
        _let_through()
        question.waited = time.monotonic() > until
    if question.answer:
        _let_through()
        st.rerun()


def _let_through() -> None:
    """Let a click that has come meanwhile break this run off; the run it leads to asks again, or has the answer.

    Looking into the session does that. Without it, a rerun asked for here would undo a click on another page's name.
    """
    _ = "tab_told" in st.session_state
