"""Draw once: as a lesson that costs nothing, or for a dataset, whose budget pays."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.choose import Candidates, Drawn, draw_once, published, sample
from dpengine.errors import BudgetError, LedgerError
from dpengine.exact import exact_text
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["draw_part", "show_drawn"]

LESSON, CHARGED = "Made-up: a lesson", "Private: charge a dataset"


def draw_part(candidates: Candidates, question: str, *, own: bool) -> None:
    """The button, and what it costs."""
    with st.container(border=True):
        st.markdown("**Draw once**")
        way = st.radio(
            "These scores are",
            (LESSON, CHARGED),
            index=int(own),
            key=f"choose_way_{own}",
            horizontal=True,
        )
        if way == LESSON:
            _lesson(candidates)
        else:
            _charged(candidates, question)


def _lesson(candidates: Candidates) -> None:
    st.caption("Free, and not private for anybody: nothing is charged or kept, and it may be drawn again and again.")
    if st.button("Draw", icon=":material/casino:", key="choose_lesson", width="stretch"):
        drawn = [(candidates, sample(candidates)), *st.session_state.get("choose_drawn", [])]
        st.session_state["choose_drawn"] = [each for each in drawn if each[0] == candidates][:12]
    names = [name for held, name in st.session_state.get("choose_drawn", []) if held == candidates]
    if names:
        st.markdown(f"Drawn in a lesson: **{plain(names[0])}**")
    if len(names) > 1:
        st.caption("before: " + ", ".join(map(plain, names[1:])))


def _charged(candidates: Candidates, question: str) -> None:
    book = visit().ledger
    dataset = st.text_input(
        "Dataset whose budget is spent",
        key="choose_dataset",
        placeholder="such as clinic-2026",
        help="Keep one name for the same people. Scores typed in under another name cannot be recognised as theirs.",
    ).strip()
    if not dataset:
        st.caption("Name the dataset that the scores come from. Nothing is spent until you draw.")
        return
    try:
        before = published(candidates, dataset, book)
        if before is not None:
            st.markdown("**Already drawn: costs 0.** The same choice on the same scores is the same answer.")
            show_drawn(before)
            return
        left, price = book.left(dataset), candidates.epsilon
        after = "it has no cap" if left is None else f"{exact_text(max(left - price, Fraction(0)))} left after"
        st.markdown(f"Spends **ε = {exact_text(price)}** of the budget of **{plain(dataset)}** for good; {after}.")
        if st.button("Draw once", type="primary", icon=":material/casino:", key="choose_charge", width="stretch"):
            draw_once(candidates, dataset, book, question)
            st.rerun()
    except (BudgetError, LedgerError) as refused:
        st.warning(plain(" ".join(map(str, refused.faults))), icon=":material/block:")
        st.caption("Nothing was drawn, and nothing spent.")


def show_drawn(drawn: Drawn) -> None:
    """The answer, which may be passed on."""
    if drawn.question:
        st.markdown(plain(drawn.question))
    st.markdown(f"### {plain(drawn.name)}")
    st.caption(
        f"Drawn by {drawn.mechanism.value} at ε = {exact_text(drawn.epsilon)} from {len(drawn.names):,} candidates "
        f"on {drawn.created[:10]}; it may be told to anyone. In the ledger as {drawn.release_id}."
    )
