"""What an entry of the ledger bought, where that is not a release of tables: an answer, or a choice."""

from __future__ import annotations

import json

import streamlit as st

from dpengine import asking, choice
from dpengine.plan import epsilon_text
from pages.parts.choose_draw import show_drawn
from pages.parts.words import plain

__all__ = ["is_release", "show_kept"]


def is_release(payload: bytes) -> bool:
    """Whether an entry is a release of tables: answers and choices are kept as JSON."""
    return not payload.startswith(b"{")


def show_kept(payload: bytes) -> None:
    """The answer or the choice, as it may be passed on."""
    kind = json.loads(payload).get("kind")
    with st.container(border=True):
        if kind == asking.KIND:
            _show_answer(asking.reopen(payload))
        else:
            show_drawn(choice.reopen(payload))


def _show_answer(answer: asking.Answer) -> None:
    st.markdown(plain(answer.question.words))
    st.markdown(f"### {plain(str(answer.value))}")
    within = "" if answer.low is None else f"95 % interval {answer.low} to {answer.high}. "
    st.caption(
        f"{within}Asked at ε = {epsilon_text(answer.question.epsilon)} on {answer.created[:10]}; it may be told to "
        f"anyone. In the ledger as {answer.answer_id}."
    )
