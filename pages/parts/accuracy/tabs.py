"""The closer looks of the accuracy page: each takes a plan at the ε that is looked at, and one of its tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.exact import exact_text
from dpengine.measure.strategy import choose
from dpengine.results.mock_table import DEFAULT_ROWS
from dpengine.spec.plan import Plan
from pages.parts.accuracy.charts import meaning_figure, noise_figure, simulation_figure
from pages.parts.accuracy.numbers import all_errors, compare, curve, errors, noise_shares, predictions, simulate
from pages.parts.shared.data_twin import PREDICTED, twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import name_of, noun, people, percent, plain, protected, sure, why_measured

__all__ = ["all_tables", "meaning", "measured", "mostly_noise", "small_cells"]

SHOWN = 10
PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)


def all_tables(plan: Plan, table: Columns) -> None:
    frame = all_errors(plan).drop(columns="total_half_width_95")
    if plan.rows_about is not None:
        frame["average"] = plan.rows_about / frame["cells"]
        frame["relative"] = frame["half_width_95"] / frame["average"]
        widths = frame["half_width_95"]
        noisy = [float(noise_shares(plan, each, widths[k : k + 1])[0]) for k, each in enumerate(plan.marginals)]
        frame["noisy"] = [*noisy, math.nan]
    st.markdown(f"**Every published table at ε = {exact_text(plan.epsilon)}**")
    st.dataframe(frame, hide_index=True, column_config=PREDICTED)
    st.caption(
        f"Errors are of the unbiased *estimate*, in {noun(plan)}, the same for every cell of a table. The total is "
        "always published."
    )
    st.download_button(
        "Predictions as CSV",
        lambda: predictions(plan),
        file_name="predicted-errors.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        help="For every table and 25 values of ε. It follows from the plan alone and says nothing about your data.",
    )


def mostly_noise(plan: Plan, table: Columns) -> None:
    if plan.rows_about is None:
        st.markdown("Give a rough size at the top of the page to see which part of the cells would be mostly noise.")
        return
    others = [other for other in plan.marginals if other != table and len(plan.marginals) <= SHOWN]
    shares = {name_of(t): noise_shares(plan, t, curve(plan, t)["half_width_95"]) for t in (table, *others)}
    here = float(noise_shares(plan, table, errors(plan, table)["half_width_95"])[0])
    name, epsilons = name_of(table), curve(plan, table)["epsilon"]
    cells = plan.cells(table)
    line = f"{name}: at ε = {exact_text(plan.epsilon)}, {round(here * cells):,} of {cells:,} cells are mostly noise"
    st.markdown(f"**{plain(line)}**")
    draw(noise_figure(epsilons, shares, name, float(plan.epsilon)), line, "noise-over-epsilon")
    st.caption(
        f"On a made-up table of about {plan.rows_about:,} {noun(plan)}. A cell counts as mostly noise when it is no "
        "larger than the ± beside it: it cannot be told from an empty cell. Fewer or wider groups help as a larger ε "
        "does."
    )
    frame = pd.DataFrame({"epsilon": epsilons} | shares)
    percents = {each: st.column_config.NumberColumn(each, format="percent") for each in shares}
    twin(frame, "noise-over-epsilon", PREDICTED | percents)


def small_cells(plan: Plan, table: Columns) -> None:
    excess = float(errors(plan, table)["mean_abs_error"].iloc[0]) / 2
    st.markdown(
        "The noise goes both ways, so the *estimate* of an empty cell is below zero as often as above, and right on "
        "average. Setting what is negative to 0 ends that: each empty cell then reads "
        f"**{people(excess)}** too high on average, half its typical error, and a thousand empty cells would add "
        f"**{people(1000 * excess)}** {noun(plan)} that are not there."
    )
    st.markdown(
        "The *count* that is published is therefore not clipped cell by cell: all cells are brought to whole numbers, "
        "none below 0, that keep the estimated total and agree with every other table. Small cells still read a little "
        "high and large ones a little low. For sums and averages use the estimate; for a table to read, the count."
    )
    made = (plan.model_dump_json(), table)
    if st.button(
        "Simulate both",
        icon=":material/casino:",
        key="accuracy_simulate",
        help="Draws the noise over and over on a made-up table. Your table is not read; nothing is spent.",
    ):
        with st.spinner("Drawing on the made-up table"):
            st.session_state["accuracy_simulation"] = (made, *simulate(plan, table))
    known = st.session_state.get("accuracy_simulation")
    if known is None or known[0] != made:
        return
    _, off, draws = known
    size = f"about {plan.rows_about:,}" if plan.rows_about else f"an assumed {DEFAULT_ROWS:,}"
    times = "once" if draws == 1 else f"{draws} times"
    st.caption(f"Simulated on a made-up table of {size} {noun(plan)}: noise drawn {times}, so figures wobble a little.")
    left, right = st.columns(2)
    for place, column, axis, title in (
        (left, "off", "off by, on average", "How far off, either way"),
        (right, "bias", "too high (+) or too low (−)", "How far off in one direction"),
    ):
        with place:
            st.markdown(f"**{title}**")
            draw(simulation_figure(off, column, axis), f"{title}, by true size of the cell.", f"simulated-{column}")
    number = st.column_config.NumberColumn
    named = {"off": number("off by, on average", format="%.2f"), "bias": number("too high by", format="%.2f")}
    twin(off, "simulated", named)


def measured(plan: Plan, table: Columns) -> None:
    allocations = choose(plan)
    st.markdown(why_measured(plan, allocations))
    frame = pd.DataFrame(
        {
            "measured": [name_of(allocation.columns) for allocation in allocations],
            "part": [float(allocation.epsilon / plan.epsilon) for allocation in allocations],
            "epsilon": [float(allocation.epsilon) for allocation in allocations],
            "cells": [plan.cells(allocation.columns) for allocation in allocations],
            "scale": [float(allocation.scale) for allocation in allocations],
        }
    )
    columns = PREDICTED | {
        "measured": st.column_config.TextColumn("table that is measured"),
        "part": st.column_config.ProgressColumn("part of ε", format="percent", min_value=0, max_value=1),
        "epsilon": st.column_config.NumberColumn("its ε", format="%.4g"),
        "scale": st.column_config.NumberColumn(
            "scale of its noise", format="%.4g", help="Discrete Laplace noise; scale = rows a person may have / its ε."
        ),
    }
    st.dataframe(frame, hide_index=True, column_config=columns, alt="Measured tables with their part of ε")
    if len(plan.marginals) > 1:
        st.markdown("**The same ε spent in other ways** (95 in 100 counts are within ±)")
        ways = compare(plan)
        numbers = {each: st.column_config.NumberColumn(each, format="%.4g") for each in ways.columns[1:]}
        st.dataframe(ways, hide_index=True, column_config=numbers)
        st.caption(
            "*ε split evenly* measures each table by itself, so the tables would not agree. *One table of all columns* "
            "is empty where it would be too large to draw. This plan gives large tables more, since more counts depend "
            "on them."
        )


def meaning(plan: Plan, table: Columns) -> None:
    epsilon = plan.epsilon
    low, high = percent(posterior(0.5, -epsilon)), sure(posterior(0.5, epsilon))
    st.markdown(
        f"Someone who is 50 % sure that a person is in the table can become **{high}** by seeing the "
        f"release, and no less than {low} sure, whatever else they know. It moves the odds by a factor of at most "
        f"e^ε = {_factor(float(epsilon))}."
    )
    before = np.linspace(0.005, 0.995, 100)
    most = np.array([posterior(p, epsilon) for p in before])
    least = np.array([posterior(p, -epsilon) for p in before])
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        st.markdown("**How far the release can move anyone's belief about one person**")
        alt = f"Someone 50 % sure ends between {low} sure and {high.removeprefix('at most ')}."
        draw(meaning_figure(before, most, least), alt, "meaning-of-epsilon")
    with words:
        rows = [(percent(p), percent(posterior(p, -epsilon)), percent(posterior(p, epsilon))) for p in PRIORS]
        st.table(pd.DataFrame(rows, columns=["sure before", "after, at least", "after, at most"]), hide_index=True)
        size = st.number_input(
            "A family or group of", min_value=2, max_value=1000, value=4, step=1, key="accuracy_group",
            help="People whose being there stands or falls together.",
        )  # fmt: skip
        together = size * epsilon
        st.markdown(
            f"For {size} people at once the factor is e^({size}·ε) = **{_factor(float(together))}**: "
            f"from 50 % to at most **{percent(posterior(0.5, together))}**."
        )
    st.caption(
        f"The guarantee is about {protected(plan)}. It bounds what is learned from that person's being in the table, "
        "not what the table teaches about people in general."
    )


def _factor(exponent: float) -> str:
    if exponent > 13:
        return f"10^{exponent / math.log(10):.0f}"
    return f"{math.exp(exponent):,.0f}" if exponent > 4 else f"{math.exp(exponent):.3g}"
