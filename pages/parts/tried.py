"""Errors of an adaptive plan: no law gives them, so they are tried out on a made-up table when asked for."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine import charts, predict
from dpengine.plan import Plan
from dpengine.standin import DEFAULT_ROWS
from dpengine.strategy import ADAPTIVE, DIRECT, settled, why
from pages.parts.words import noun, plain

__all__ = ["is_adaptive", "show_trial"]

EPSILONS = ("0.1", "0.3", "1", "3", "10")


def is_adaptive(plan: Plan) -> bool:
    return settled(plan).strategy == ADAPTIVE


def show_trial(plan: Plan) -> None:
    """Both strategies over ε: adaptive as tried on a made-up table, direct by its law; on request."""
    st.markdown(f"**{plain(why(plan))}**")
    rows = f"about {plan.rows_about:,}" if plan.rows_about else f"an assumed {DEFAULT_ROWS:,}"
    st.caption(
        f"No law tells beforehand how wrong such a release will be. It can be tried on a made-up table of {rows} "
        f"{noun(plan)}, which knows nothing of yours: real tables may do better or worse. The release itself will "
        "say how wrong it is, measured privately."
    )
    held = st.session_state.get("tried")
    key = plan.at(1).model_dump_json()
    if st.button("Try it over ε", icon=":material/experiment:", key="try-adaptive"):
        with st.status("Trying five values of ε on a made-up table", expanded=False):
            held = (key, _tried(plan))
        st.session_state["tried"] = held
    if held is None or held[0] != key:
        return
    numbers = held[1]
    st.plotly_chart(
        _figure(numbers, plan),
        key="tried-curve",
        theme=None,
        config=charts.CONFIG,
        alt="Error of both strategies against the privacy budget; the table below has the numbers.",
    )
    with st.expander("The numbers", icon=":material/table:"):
        percents = {name: st.column_config.NumberColumn(name, format="percent") for name in numbers.columns[1:]}
        st.dataframe(numbers, hide_index=True, column_config=percents)


def _tried(plan: Plan) -> pd.DataFrame:
    """For each ε, the sum of errors over the cells of a table as a part of all rows, in the mean over tables."""
    rows = plan.rows_about or DEFAULT_ROWS
    found: dict[str, list[float]] = {"ε": [float(each) for each in EPSILONS]}
    for strategy in (ADAPTIVE, DIRECT):
        each = plan.model_copy(update={"strategy": strategy})
        if strategy == DIRECT and max(map(len, plan.marginals)) > 2:
            continue  # tables of three columns that overlap so widely cannot be made to agree
        frame = predict(each, EPSILONS)
        frame = frame[frame["table"] != "total"]
        frame["part"] = frame["mean_abs_error"] * frame["cells"] / rows
        name = f"{strategy} (tried)" if strategy == ADAPTIVE else f"{strategy} (by law)"
        found[name] = list(frame.groupby("epsilon")["part"].mean())
    return pd.DataFrame(found)


def _figure(numbers: pd.DataFrame, plan: Plan) -> go.Figure:
    dark = st.context.theme.type == "dark"
    figure = go.Figure()
    for name, colour, dash in zip(
        numbers.columns[1:], (charts.ACCENT[dark], charts.GREY[dark]), ("solid", "dash"), strict=False
    ):
        figure.add_scatter(
            x=numbers["ε"],
            y=numbers[name],
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate="ε = %{x:g}: %{y:.1%}<extra></extra>",
        )
    figure.update_xaxes(type="log", title="privacy budget ε", tickvals=list(numbers["ε"]))
    figure.update_yaxes(type="log", title="errors in a table, part of all rows", tickformat=".0%")
    return charts.dressed(figure, "How wrong, for each ε", dark)
