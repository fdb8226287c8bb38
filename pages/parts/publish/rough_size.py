"""The rough public size of a table: asked in step 4, and once more in step 5 if nobody has said it.

The exact number of rows is private and used nowhere. A rough one that anybody may know shows how much would be noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpengine.array_types import Columns, Ints
from dpengine.exact import exactly
from dpengine.results.alternatives import rows_beyond_noise
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number
from pages.parts.publish.outlook.trial import KEPT, question_of
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import is_adaptive

__all__ = ["ask_if_unsaid", "ask_rough_size", "left_aside", "rows_of_use"]

SIZES = (100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000)
CLEAR = 5  # times as many rows as make half of the cells exceed their noise: these are then within ±20 %
EXACT_SIZE, ROUGH_SIZE = "about", "about-steps"  # names of both boxes


def ask_rough_size() -> None:
    """Ask for a public figure of the table's size: as a number, or by a click on its order of magnitude."""
    about = visit().entries.rows_about
    exact, rough = visit().fresh_key(EXACT_SIZE), visit().fresh_key(ROUGH_SIZE)
    st.number_input(
        _("Roughly how many rows (public knowledge)"),
        min_value=1,
        max_value=10**12,
        value=about,
        placeholder=_("for instance 5000"),
        key=exact,
        help=_(
            "A public figure, not the exact number. It scales the made-up preview, and where a table would be mostly "
            "noise, it decides how the tables are measured."
        ),
        on_change=visit().while_shown(_change_size),
        args=(exact, ROUGH_SIZE),
    )
    st.pills(
        _("An order of magnitude is enough"),
        SIZES,
        default=about if about in SIZES else None,
        format_func=number,
        key=rough,
        on_change=visit().while_shown(_change_size),
        args=(rough, EXACT_SIZE),
    )
    if visit().entries.several_rows:
        _say_what_is_counted(visit().entries.rows)


def _say_what_is_counted(most: int) -> None:
    """Say that only the counted rows of each person make the size: a table of heavy users would else look too good."""
    text = (
        _("Only one row of each person is counted: say roughly how many persons there are.")
        if most == 1
        else _("At most {n} rows of each person are counted: leave out the others in this number.", n=number(most))
    )
    st.caption(f":material/info: {text}")


def _change_size(key: str, other: str) -> None:
    """Put a size into the entries before the page is drawn, and show it in the other box too."""
    size = st.session_state[key]
    visit().change(rows_about=None if size is None else int(size))
    visit().renew(other)


def ask_if_unsaid(plan: Plan) -> None:
    """If nobody has said how large the table is, ask for it; say from which size on this plan is of use."""
    if plan.rows_about is not None:
        _say_if_small(plan, plan.rows_about)
        return
    with st.container(border=True, key="rough-size"):
        text = _("**How large is your table, roughly?** Whether the noise matters depends on it.")
        st.markdown(f":material/groups: {text}")
        if (least := _least_rows(plan)) is not None:
            text = _(
                "At ε = {epsilon}, with fewer than about **{rows} rows**, most of the published cells would be "
                "mostly noise; with about {more}, half of them are within ±20 % of their size. A small table needs "
                "fewer tables, wider bins or a larger ε.",
                epsilon=exactly(plan.epsilon),
                rows=number(least),
                more=number(CLEAR * least),
            )
            st.markdown(f"{text} {left_aside(plan, plan.marginals)}")
        ask_rough_size()


def _say_if_small(plan: Plan, rows: int) -> None:
    """Say so if most cells are not mostly noise, but hardly exceed it; if they are, `advise` has more to say."""
    least = _least_rows(plan)
    if least is not None and least <= rows < CLEAR * least:
        text = _(
            "About {rows} rows are few for this plan: at ε = {epsilon}, half of the published cells are within ±20 % "
            "of their size only from about {more} rows on. Fewer tables, wider bins or a larger ε make them more "
            "exact.",
            rows=number(rows),
            epsilon=exactly(plan.epsilon),
            more=number(CLEAR * least),
        )
        st.warning(f"{text} {left_aside(plan, plan.marginals)}", icon=":material/groups:")


def left_aside(plan: Plan, tables: Sequence[Columns]) -> str:
    """Say which cells are not among those that are said to be noise, if the tables have them."""
    columns = [plan.column(name) for table in tables for name in table]
    if all(column.size == column.declared_size for column in columns):
        return ""
    return _("*(other)* and *(missing)* are left aside here: they may well be empty.")


def _least_rows(plan: Plan) -> int | None:
    """Return from how many rows on at most half of the cells are mostly noise; None if unknown or of no matter."""
    return None if is_adaptive(plan) else rows_of_use(plan, plan.marginals)


def rows_of_use(plan: Plan, tables: Sequence[Columns]) -> int | None:
    """Return from how many rows on at most half of the cells of `tables` are mostly noise, once for each ε."""
    shape = question_of(plan.at(1))
    known: dict[Columns, Ints] = visit().once("cells-by-rows", shape, dict, most=KEPT)  # the same at every ε
    question = question_of(plan), tuple(tables)
    return visit().once("rows-of-use", question, lambda: rows_beyond_noise(plan, tables, known), most=2 * KEPT)
