"""The tour: five steps over three pages, with a box at the top that names the step and says what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from dpengine.translation.catalogue import _, mark
from pages.parts.access.accounts import May
from pages.parts.shared.wording import OURS
from pages.parts.visit.samples import load_sample
from pages.parts.visit.state import visit

__all__ = ["STEPS", "Step", "invite", "is_under_way", "show"]


def _nothing() -> None:
    """Prepare nothing."""


def _attack(defence: str) -> None:
    """Set the controls of the Attacks lab."""
    st.session_state["attacks_attack"] = "Differencing"
    st.session_state["attacks_defence"] = defence


def _sample() -> None:
    """Load a sample to publish, unless the visitor has opened a table of their own or may not publish."""
    if visit().table is None and May.PUBLISH in visit().account.may:
        load_sample("census")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the tour: the file and address of its page, its text, and a function that prepares the page."""

    page: str
    url: str
    title: str
    text: str
    prepare: Callable[[], None] = _nothing


STEPS = (
    Step(
        "pages/labs/definition.py",
        "definition",
        mark("What is promised"),
        mark(
            "Two tables differ in one person. At ε = 1, no answer is more than 2.72 times as likely from one as from "
            "the other: somebody who is 50 % sure that the person is in becomes **at most 73.2 % sure**. Move ε and "
            "see the curves come closer."
        ),
    ),
    Step(
        "pages/labs/attacks.py",
        "attacks",
        mark("Why true counts are not safe"),
        mark(
            "Harmless questions about true counts reveal who is in a register: **right in 1,000 of 1,000**. Choose "
            "*Rounded to 10s*: the attack only takes more questions."
        ),
        partial(_attack, "True counts"),
    ),
    Step(
        "pages/labs/attacks.py",
        "attacks",
        mark("The same attack here"),
        mark(
            "At ε = 1 it is **right about 73 times in 100**, where a coin is right 50 times, and more questions do not "
            "help. Move ε to 0.1: now tossing a coin works almost as well."
        ),
        partial(_attack, OURS),
    ),
    Step(
        "pages/publish.py",
        "",
        mark("What it costs"),
        mark(
            "In the census sample of 199,523 people, a typical count by age and sex is **off by about 4** at ε = 1, "
            "and by about 38 at ε = 0.1. You see it before anything is spent: move ε in step 5."
        ),
        _sample,
    ),
    Step(
        "pages/publish.py",
        "",
        mark("Publish once"),
        mark(
            "Press *Publish once* in step 6: noise is drawn a single time, ε is taken from the budget, and readers get "
            "counts with honest intervals. The same again **costs 0** and gives the same numbers."
        ),
        _sample,
    ),
)


def invite() -> None:
    """Show a button that begins the tour, unless it has begun."""
    if visit().tour is None and st.button(_("Take the five-minute tour"), icon=":material/tour:", key="tour_begin"):
        _go(0)


def is_under_way() -> bool:
    """Whether the visitor is taking the tour."""
    return visit().tour is not None


def show(url: str) -> None:
    """Show the box of the current step on the page at `url`; nothing without a tour."""
    at = visit().tour
    if at is None:
        return
    step = STEPS[at]
    here = url == step.url
    text = _(step.text) if here else _("The tour is paused; it goes on where you left it.")
    with st.container(border=True, key="tour"):
        left, right = st.columns([5, 2], vertical_alignment="center")
        title = _("Step {at} of {steps} · {title}.", at=at + 1, steps=len(STEPS), title=_(step.title))
        left.markdown(f":material/tour: **{title}** {text}")
        with right.container(horizontal=True, horizontal_alignment="right"):
            if here and at:
                _button(_("Back"), "back", at - 1)
            if not here:
                _button(_("Back to the tour"), "return", at, first=True)
            elif at + 1 < len(STEPS):
                _button(_("Next"), "next", at + 1, first=True)
            st.button(_("End the tour"), key="tour_end", on_click=_end, type="tertiary")


def _button(label: str, name: str, to: int, *, first: bool = False) -> None:
    if st.button(label, key=f"tour_{name}", type="primary" if first else "secondary"):
        _go(to)


def _go(to: int) -> None:
    visit().tour = to
    STEPS[to].prepare()
    st.switch_page(STEPS[to].page)


def _end() -> None:
    visit().tour = None
