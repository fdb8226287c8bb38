"""Entries of the ledger other than releases of tables: answers to questions, and choices."""

from __future__ import annotations

import streamlit as st

from dpengine import choose
from dpengine.accounting.entry import Kind
from dpengine.choose import Drawn
from dpengine.exact import exact_text
from dpengine.results.answer import Answer
from dpengine.results.answer import reopen as reopen_answer
from pages.parts.shared.answer_wording import answer_sentence
from pages.parts.shared.wording import plain

__all__ = ["show_answer", "show_drawn", "show_entry"]

ASK = "pages/ask.py"


def show_entry(kind: Kind, payload: bytes) -> None:
    """Show a stored answer or choice, as it may be published."""
    if kind is Kind.CHOICE:
        with st.container(border=True):
            show_drawn(choose.reopen(payload))
        return
    answer = reopen_answer(payload)
    show_answer(answer)
    st.page_link(ASK, label="Open on Ask", icon=":material/open_in_new:", query_params={"answer": answer.answer_id})


def show_answer(answer: Answer) -> None:
    """Show one answer, as it may be published."""
    with st.container(border=True):
        st.markdown(answer_sentence(answer))
        st.caption(
            "Paid once and stored: asking again costs nothing. It may be published. "
            f"Answered on {answer.created[:10]}, ledger entry {answer.answer_id}."
        )


def show_drawn(drawn: Drawn) -> None:
    """Show the answer, which may be published."""
    if drawn.question:
        st.markdown(plain(drawn.question))
    st.markdown(f"### {plain(drawn.name)}")
    st.caption(
        f"Drawn by {drawn.mechanism.value} at ε = {exact_text(drawn.epsilon)} from {len(drawn.names):,} candidates "
        f"on {drawn.created[:10]}. It may be published. Ledger entry {drawn.release_id}."
    )
