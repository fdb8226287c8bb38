"""Entries of the ledger that are no release of tables: an answer to a question, or a choice."""

from __future__ import annotations

import streamlit as st

from dpengine import choose
from dpengine.accounting.entry import Kind
from dpengine.results.answer import reopen as reopen_answer
from pages.parts.ask.history import show_answer
from pages.parts.choose.draw import show_drawn

__all__ = ["show_kept"]

ASK = "pages/ask.py"


def show_kept(kind: Kind, payload: bytes) -> None:
    """Show the answer or the choice, as it may be passed on."""
    if kind is Kind.CHOICE:
        with st.container(border=True):
            show_drawn(choose.reopen(payload))
        return
    answer = reopen_answer(payload)
    show_answer(answer)
    st.page_link(ASK, label="Open on Ask", icon=":material/open_in_new:", query_params={"answer": answer.answer_id})
