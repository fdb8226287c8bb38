"""The right side: what the plan would give, shown on a made-up table that never saw the owner's."""

from __future__ import annotations

import streamlit as st

from dpengine import Plan, charts, predict, preview
from dpengine.plan import epsilon_text
from dpengine.result import Result
from dpengine.standin import DEFAULT_ROWS, mostly_noise_share
from pages.parts.release_view import figure_with_choice
from pages.parts.words import name_of, people, plain

__all__ = ["example", "show_consequence"]

EXAMPLE = """
title: An example
dataset: example
epsilon: "1"
rows_about: 3000
columns:
  - {name: age, kind: number, edges: [0, 18, 30, 45, 65, 120], missing: false}
  - {name: region, kind: category, values: [North, East, South, West], missing: false}
tables:
  - [age, region]
"""


def example() -> Plan:
    """A small plan that keeps the first screen alive before there is one of the owner's."""
    return Plan.loads(EXAMPLE)


def show_consequence(plan: Plan, *, own: bool) -> None:
    """The made-up release, its error in words, and error against ε."""
    with st.container(border=True):
        head, again = st.columns([3, 1], vertical_alignment="center")
        head.markdown("**What readers will see**" if own else "**What a release looks like**")
        redraw = again.button("Draw again", icon=":material/refresh:", key="redraw", width="stretch", type="tertiary")
        st.badge("Made-up numbers: your table has not been read for this", icon=":material/science:", color="blue")
        result = _previewed(plan, afresh=redraw)
        words = st.container()
        table = figure_with_choice(result, key="preview")
        words.markdown(_in_words(plan, table))
    with st.container(border=True):
        st.plotly_chart(
            charts.error_curve(plan, dark=is_dark()).update_layout(height=300),
            key="curve",
            theme=None,
            alt="Error against the privacy budget; the table below has the numbers.",
            config=charts.CONFIG,
        )
        with st.expander("The numbers", icon=":material/table:"):
            st.dataframe(predict(plan), hide_index=True, column_config=COLUMNS)


COLUMNS = {
    "table": "table",
    "cells": st.column_config.NumberColumn("cells", format="localized"),
    "mean_abs_error": st.column_config.NumberColumn("typically off by", format="%.1f"),
    "half_width_95": st.column_config.NumberColumn("95 in 100 within ±", format="%.0f"),
    "total_half_width_95": st.column_config.NumberColumn("total within ±", format="%.0f"),
}


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def _previewed(plan: Plan, *, afresh: bool) -> Result:
    """One draw for each plan, so that the picture stands still while other things change."""
    key = (plan.key, plan.rows_about, tuple(plan.marginals))
    held = st.session_state.get("preview")
    if afresh or held is None or held[0] != key:
        held = (key, preview(plan))
        st.session_state["preview"] = held
    result: Result = held[1]
    return result


def _in_words(plan: Plan, table: tuple[str, ...]) -> str:
    row = predict(plan).set_index("table").loc[name_of(table)]
    noisy = round(mostly_noise_share(plan, table) * plan.cells(table))
    size = f"{plan.rows_about or DEFAULT_ROWS:,}"
    words = (
        f"At ε = {epsilon_text(plan.epsilon)} a typical cell of {plain(name_of(table))} is off by about "
        f"**{people(row['mean_abs_error'])}**; 95 in 100 are within **{people(row['half_width_95'])}**; the total is "
        f"within **{people(row['total_half_width_95'])}**. "
    )
    if noisy:
        words += f"**{noisy:,} of {plan.cells(table):,} cells** would be mostly noise in a table of about {size} rows."
    else:
        words += f"No cell would be mostly noise in a table of about {size} rows."
    return words
