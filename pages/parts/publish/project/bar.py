"""The bar above the steps: undo and redo, the list of decisions, and the project's menu."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpengine.translation.catalogue import _, mark, number
from pages.parts.publish.project import menu
from pages.parts.server import lifespan
from pages.parts.shared.wording import plain
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.state import visit

__all__ = ["show"]

MAX_LETTERS = 26  # letters of a button's name
MAX_SHOWN = 60  # decisions in the list


def show() -> None:
    """Note the decisions of this run, and show the bar; to be called once the steps are drawn."""
    here = visit()
    here.note()
    with st.container(horizontal=True, key="project-bar", gap="small"):
        if here.table is not None:
            past, undoes, redoes = here.history.past, here.history.undoes, here.history.redoes
            _button(mark("Undo"), undoes, "undo", here.undo)
            _button(mark("Redo"), redoes, "redo", here.redo)
            if past:
                _history()
        menu.show()
    if here.continued:
        _say_that_the_plan_continues()
    if lifespan.is_served():
        from pages.parts.publish.project.undo_keys import listen  # its component needs a running server

        listen()


def _button(verb: str, decision: str, key: str, act: Callable[[], None]) -> None:
    """Show the button for undo or redo, which names the decision."""
    short = decision if len(decision) <= MAX_LETTERS else f"{decision[: MAX_LETTERS - 1].rstrip(' ,;:')}…"
    keys = {"undo": _("Ctrl+Z"), "redo": _("Ctrl+Y or Ctrl+Shift+Z")}[key]
    st.button(
        f"{_(verb)}: {plain(short)}" if decision else _(verb),
        key=key,
        icon=f":material/{key}:",
        on_click=act,
        disabled=not decision,
        type="tertiary",
        help=f"{plain(decision)} ({keys})" if decision else None,
    )


def _history() -> None:
    box = st.popover(_("History"), icon=":material/history:", type="tertiary", key="history-box", on_change="rerun")
    if not box.open:
        return
    history = visit().history
    past = [place for place, each in enumerate(history.moments[: history.place + 1]) if each.words]
    with box:
        st.markdown(_("**What was decided, the latest first**"))
        lines = [
            f"- {history.moments[place].at} · {plain(history.in_words(place))}" for place in reversed(past[-MAX_SHOWN:])
        ]
        st.markdown("\n".join(lines))
        if len(past) > MAX_SHOWN:
            st.caption(_("and {n} earlier ones", n=number(len(past) - MAX_SHOWN)))
        st.caption(_("Kept in this visit, and in the project file when you save it. It holds decisions, no data."))


def _say_that_the_plan_continues() -> None:
    """Say that the plan now uses a new file with the same columns, and offer to start afresh."""
    here = visit()
    st.info(
        _(
            "The plan for {table} continues with this table: its columns are the same. It spends the budget of "
            "**{dataset}**, too. Values that the plan does not list fall in *(other)*. To see whether rows do, *Check "
            "the fit* in step 3.",
            table=plain(here.continued),
            dataset=plain(here.entries.dataset),
        ),
        icon=":material/sync:",
    )
    with st.container(horizontal=True):
        st.button(
            _("Keep the plan"), key="carried-right", on_click=_end_notice, type="tertiary", icon=":material/check:"
        )
        st.button(
            _("Go to the values"),
            key="carried-values",
            on_click=here.open_step,
            args=("domain",),
            type="tertiary",
            icon=":material/fact_check:",
        )
        st.button(_("Begin a new plan instead"), key="begin-anew", on_click=_begin_anew, type="tertiary")


def _end_notice() -> None:
    visit().continued = ""


def _begin_anew() -> None:
    here = visit()
    title = here.table_name.split(".")[0]
    here.continued, here.made_before = "", False
    here.refresh(Entries(dataset=plan_form.stem(title), title=title), lambda: _("begin a new plan"))
    here.settled = {"table"}
    here.settle()
