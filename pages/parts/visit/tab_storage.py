"""The storage of the visitor's tab: entries are saved there, and asked for when a session begins without them."""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from pages.parts.server import tab_route, upload_route
from pages.parts.server.tab_route import Question
from pages.parts.shared import language
from pages.parts.visit import saved_draft
from pages.parts.visit.state import visit

__all__ = ["forget", "recall", "remember"]

# Seconds that the first page waits for the answer, which a slow network or a busy machine may delay; a later answer is
# used by the next run. A click ends the wait at any time.
MAX_WAIT = 30.0
EVERY = 0.05  # seconds between two points at which a click may interrupt

_memory = st.components.v2.component("tab", js=Path(__file__).with_name("tab.js").read_text(encoding="utf-8"))


def recall() -> None:
    """Restore the plan of an earlier session once the tab has answered; to be called at the beginning of a run.

    Another click may interrupt a run anywhere, so the answer is noted last, and all before can be done twice.
    """
    here = visit()
    answer = here.tab_question.answer
    if here.tab_answered or answer is None:
        return
    draft = saved_draft.from_text(answer, here.account.owner) if here.table is None else None
    if draft is not None:
        here.waiting = draft
    here.tab_answered = True


def remember(spoken: str) -> None:
    """Send the entries and the page's language to the tab; to be drawn last, when all entries are known."""
    here = visit()
    draft = saved_draft.current()
    text = None if draft is None else saved_draft.to_text(draft)
    asks = text is None and not here.tab_answered and not saved_draft.has_another_subject()
    if text is not None:
        todo = "keep"
        here.tab_answered = True
    elif here.tab_answered:
        todo = "forget"
    else:
        todo = "send" if asks else ""
    question = here.tab_question
    to = {"token": question.token, "address": upload_route.address(tab_route.ADDRESS)} if asks else {}
    with st.container(key="tab-memory"):
        _memory(key="tab", data={"todo": todo, "plan": text, **_languages(spoken), **to})
    if asks:
        _await(question)


def forget() -> None:
    """Have the tab forget what it keeps, since the person who typed it has signed out."""
    with st.container(key="tab-memory"):
        _memory(key="tab", data={"todo": "forget", "plan": None, **_languages(language.chosen())})


def _languages(spoken: str) -> dict[str, str]:
    return {"language": language.chosen(), "unless": language.of_browser(), "spoken": spoken}


def _await(question: Question) -> None:
    """Wait until the tab has answered, and draw the page again if it keeps a plan."""
    until = time.monotonic() + MAX_WAIT
    while not question.waited and not question.wait(EVERY):
        _let_interrupt()
        question.waited = time.monotonic() > until
    if question.answer:
        _let_interrupt()
        st.rerun()


def _let_interrupt() -> None:
    """Let a click that came in the meantime interrupt this run; the next run asks again, or has the answer.

    Reading the session state does this. Without it, a rerun from here would undo a click on another page's name.
    """
    visit()
