"""The tour: five steps over three pages, with a box at the top that says where one is and what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from pages.parts.publish import table_step
from pages.parts.shared.wording import OURS
from pages.parts.visit import session

__all__ = ["STEPS", "Step", "invite", "show"]


def _nothing() -> None:
    """Some steps find their page as it is."""


def _attack(defence: str) -> Callable[[], None]:
    def prepare() -> None:
        st.session_state["attacks_attack"] = "Differencing"
        st.session_state["attacks_defence"] = defence

    return prepare


def _sample() -> None:
    """A sample to publish, unless the visitor has a table of their own at hand."""
    if session.table() is None:
        table_step.load_sample("census")


@dataclass(frozen=True, slots=True)
class Step:
    """One stop: its page, by file and address, what to say there, and what is made ready for it."""

    page: str
    url: str
    title: str
    said: str
    prepare: Callable[[], None] = _nothing


STEPS = (
    Step(
        "pages/labs/definition.py",
        "definition",
        "What is promised",
        "Two tables differ in one person, and every answer is nearly as likely from both. Move ε: smaller brings the "
        "two nearer together.",
    ),
    Step(
        "pages/labs/attacks.py",
        "attacks",
        "Why true counts are not safe",
        "Two harmless questions about true counts tell who is in a register. Choose *Rounded to 10s*: it only takes "
        "more questions.",
        _attack("True counts"),
    ),
    Step(
        "pages/labs/attacks.py",
        "attacks",
        "The same attack here",
        "On this engine the attacker stays within what ε allows, however many questions are asked. Move ε to 0.1, and "
        "a coin does nearly as well.",
        _attack(OURS),
    ),
    Step(
        "pages/publish.py",
        "",
        "What it costs",
        "A sample is loaded. Move ε in step 5 and watch how wrong the made-up table becomes: that is the price, seen "
        "before anything is spent.",
        _sample,
    ),
    Step(
        "pages/publish.py",
        "",
        "Publish once",
        "Press *Publish once* in step 6: noise is drawn a single time, ε is taken from the budget, and readers get "
        "counts with honest intervals.",
        _sample,
    ),
)


def invite() -> None:
    """A button that begins the tour, where none is under way."""
    if "tour" in st.session_state:
        return
    if st.button("Take the five-minute tour", icon=":material/tour:", key="tour_begin"):
        _go(0)


def show(url: str) -> None:
    """The box of the step at hand, on the page at ``url``; nothing while there is no tour."""
    at: int | None = st.session_state.get("tour")
    if at is None:
        return
    step = STEPS[at]
    here = url == step.url
    said = step.said if here else "You have left the tour for a while; it waits where you left it."
    with st.container(border=True, key="tour"):
        left, right = st.columns([5, 2], vertical_alignment="center")
        left.markdown(f":material/tour: **Step {at + 1} of {len(STEPS)} · {step.title}.** {said}")
        with right.container(horizontal=True, horizontal_alignment="right"):
            if here and at:
                _button("Back", "back", at - 1)
            if not here:
                _button("Back to the tour", "return", at, first=True)
            elif at + 1 < len(STEPS):
                _button("Next", "next", at + 1, first=True)
            st.button("End the tour", key="tour_end", on_click=_end, type="tertiary")


def _button(label: str, name: str, to: int, *, first: bool = False) -> None:
    if st.button(label, key=f"tour_{name}", type="primary" if first else "secondary"):
        _go(to)


def _go(to: int) -> None:
    st.session_state["tour"] = to
    STEPS[to].prepare()
    st.switch_page(STEPS[to].page)


def _end() -> None:
    st.session_state.pop("tour", None)
