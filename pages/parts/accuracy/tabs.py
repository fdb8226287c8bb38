"""Tabs of the accuracy page: each takes the plan at the chosen ε and one of its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.exact import exact_text
from dpengine.results.alternatives import allocations_of, compare_allocations, predict_table, simulate_errors
from dpengine.results.mock_table import ASSUMED_ROWS
from dpengine.spec.plan import Plan
from pages.parts.accuracy.charts import meaning_figure, noise_figure, simulation_figure
from pages.parts.accuracy.numbers import EPSILONS, all_errors, curve, noise_shares, predictions_csv
from pages.parts.shared.data_twin import measured_columns, predicted_columns, twin
from pages.parts.shared.figures import draw
from pages.parts.shared.made_on_click import made_on_click
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import (
    factor,
    headed,
    heading_of,
    noun,
    people,
    percent,
    percent_at_least,
    percent_at_most,
    plain,
    protected,
    sure,
    why_measured,
)
from pages.parts.visit.state import visit

__all__ = ["all_tables", "meaning", "measured_tables", "mostly_noise", "small_cells"]

MAX_CURVES = 10  # other tables that are drawn beside the chosen one
PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)


def all_tables(plan: Plan, table: Columns) -> None:
    """List the predicted errors of every published table."""
    frame = all_errors(plan).drop(columns="total_half_width_95")
    if plan.rows_about is not None:
        frame["average"] = (plan.rows_about / frame["cells"]).round(1)
        frame["relative"] = frame["half_width_95"] / frame["average"]
        widths = frame["half_width_95"]
        noisy = [float(noise_shares(plan, each, widths[k : k + 1])[0]) for k, each in enumerate(plan.marginals)]
        frame["noisy"] = [*noisy, float(widths.iloc[-1] >= plan.rows_about)]
    st.markdown(f"**Every published table at ε = {exact_text(plan.epsilon)}**")
    show_numbers(headed(plan, frame), predicted_columns() | measured_columns(plan))
    st.caption(
        f"Errors of the unbiased *estimate*, counted in {noun(plan)}. {_spread(plan)} The total is always published."
    )
    st.download_button(
        "Predictions as CSV",
        made_on_click(lambda: predictions_csv(plan), "predicted-errors.csv", "text/csv"),
        file_name="predicted-errors.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        help=f"Every table at {len(EPSILONS)} values of ε, from the plan alone. It says nothing about your data.",
    )


def _spread(plan: Plan) -> str:
    """Say by how much the errors of the cells of one table differ."""
    if not plan.resolution.levels:
        return "Every cell of a table has the same error."
    levels = " and ".join(plain(heading_of(plan, (name,))) for name in plan.resolution.levels)
    return (
        f"Each level ({levels}) has an error of its own, about the same for large groups and small ones; where the "
        "cells of a level differ, the largest is shown."
    )


def mostly_noise(plan: Plan, table: Columns) -> None:
    """Draw the share of cells that would be mostly noise, over ε."""
    if plan.rows_about is None:
        st.markdown("Enter a rough size at the top of the page to see how many cells would be mostly noise.")
        return
    others = [other for other in plan.marginals if other != table and len(plan.marginals) <= MAX_CURVES]
    shares = {heading_of(plan, t): noise_shares(plan, t, curve(plan, t)["half_width_95"]) for t in (table, *others)}
    here = float(noise_shares(plan, table, predict_table(plan, table)["half_width_95"])[0])
    name, epsilons = heading_of(plan, table), curve(plan, table)["epsilon"].tolist()
    cells = plan.cells(table)
    line = f"{name}: at ε = {exact_text(plan.epsilon)}, {round(here * cells):,} of {cells:,} cells are mostly noise"
    st.markdown(f"**{plain(line)}**")
    draw(noise_figure(epsilons, shares, name, float(plan.epsilon)), line, "noise-over-epsilon")
    st.caption(
        f"On a made-up table of about {plan.rows_about:,} {noun(plan)}. A cell is mostly noise if its interval "
        "reaches 0: it might as well be empty. Fewer or wider groups help as much as a larger ε."
    )
    frame = pd.DataFrame({"epsilon": epsilons} | shares)
    percents = {each: st.column_config.NumberColumn(each, format="percent") for each in shares}
    twin(frame, "noise-over-epsilon", predicted_columns() | percents)


def small_cells(plan: Plan, table: Columns) -> None:
    """Explain why negative estimates are not simply set to 0, and simulate the effect when asked."""
    excess = float(predict_table(plan, table)["mean_abs_error"].iloc[0]) / 2
    st.markdown(
        "Noise is positive as often as negative, so the *estimate* of an empty cell is right on average. Setting "
        f"negative estimates to 0 would spoil this: each empty cell would read **{people(excess)}** too high on "
        f"average, half its typical error. A thousand empty cells would add **{people(1000 * excess)}** {noun(plan)} "
        "that do not exist."
    )
    st.markdown(
        "So the published *count* is not corrected cell by cell. All cells together become whole numbers, none below "
        "0, that keep the estimated total and agree with every other table. Small cells still read a little high and "
        "large cells a little low. Use the estimate for sums and averages, and the count for a table to read."
    )
    asked = plan.model_dump_json(), table
    if st.button(
        "Simulate both",
        icon=":material/casino:",
        key="accuracy_simulate",
        help="Draws the noise many times on a made-up table. Your table is not read; nothing is spent.",
    ):
        with st.spinner("Drawing on the made-up table"):
            visit().keep("simulation", asked, simulate_errors(plan, table))
    if (simulated := visit().recall("simulation", asked)) is None:
        return
    errors, draws = simulated
    size = f"about {plan.rows_about:,}" if plan.rows_about else f"an assumed {ASSUMED_ROWS:,}"
    times = "once" if draws == 1 else f"{draws} times"
    st.caption(
        f"Simulated on a made-up table of {size} {noun(plan)}. Noise was drawn {times}; another run differs a little."
    )
    left, right = st.columns(2)
    for place, column, axis, title in (
        (left, "off", "off by, on average", "How far off, in either direction"),
        (right, "bias", "too high (+) or too low (−)", "Too high or too low on average"),
    ):
        with place:
            st.markdown(f"**{title}**")
            draw(simulation_figure(errors, column, axis), _simulated(errors, column, title), f"simulated-{column}")
    number = st.column_config.NumberColumn
    columns = {"off": number("off by, on average", format="%.2f"), "bias": number("too high by", format="%.2f")}
    twin(errors, "simulated", columns)


def _simulated(errors: pd.DataFrame, column: str, title: str) -> str:
    """Say what the simulation shows for the smallest cells, where the three kinds of number differ most."""
    size = errors["true size of the cell"].iloc[0]
    smallest = errors[errors["true size of the cell"] == size]
    by = "; ".join(f"{row['number']}: {row[column]:.1f}" for _, row in smallest.iterrows())
    return f"{title}. For cells of true size {size}, {by}."


def measured_tables(plan: Plan, table: Columns) -> None:
    """List the tables that are measured with their share of ε, and compare other ways to spend ε."""
    allocations = allocations_of(plan)
    st.markdown(why_measured(plan, allocations))
    frame = pd.DataFrame(
        {
            "measured": [heading_of(plan, allocation.columns) for allocation in allocations],
            "part": [float(allocation.epsilon / plan.epsilon) for allocation in allocations],
            "epsilon": [float(allocation.epsilon) for allocation in allocations],
            "cells": [plan.cells(allocation.columns) for allocation in allocations],
            "scale": [float(allocation.scale) for allocation in allocations],
        }
    )
    columns = predicted_columns() | {
        "measured": st.column_config.TextColumn("table that is measured"),
        "part": st.column_config.ProgressColumn("share of ε", format="percent", min_value=0, max_value=1),
        "epsilon": st.column_config.NumberColumn("its ε", format="%.4g"),
        "scale": st.column_config.NumberColumn(
            "scale of its noise", format="%.4g", help="Discrete Laplace noise; scale = rows a person may have / its ε."
        ),
    }
    show_numbers(frame, columns, alt="Measured tables with their share of ε")
    if len(plan.marginals) > 1 and not plan.resolution.levels:  # strategies that measure each table by itself
        st.markdown("**The same ε spent in other ways** (95 in 100 counts are within ±)")
        ways = compare_allocations(plan)
        numbers = {each: st.column_config.NumberColumn(each, format="%.3g") for each in ways.columns[1:]}
        show_numbers(headed(plan, ways), numbers)
        st.caption(
            "*ε split evenly* measures each table by itself, so the tables would not agree. *One table of all columns* "
            "is empty if that table would be too large. This plan gives larger tables more of ε, because more counts "
            "depend on them."
        )


def meaning(plan: Plan, table: Columns) -> None:
    """Say what anyone can learn about one person, or about a group, at this ε."""
    epsilon = plan.epsilon
    low, high = percent_at_least(posterior(0.5, -epsilon)), sure(posterior(0.5, epsilon))
    st.markdown(
        f"Someone who is 50 % sure that a person is in the table can become **{high}** by seeing the release, and at "
        f"least {low} sure, whatever else they know. The release changes the odds by a factor of at most "
        f"e^ε = {factor(epsilon)}."
    )
    before = np.linspace(0.005, 0.995, 100)
    most = np.array([posterior(p, epsilon) for p in before])
    least = np.array([posterior(p, -epsilon) for p in before])
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        st.markdown("**How far the release can move anyone's belief about one person**")
        alt = f"Someone who was 50 % sure ends between {low} sure and {high.removeprefix('at most ')}."
        draw(meaning_figure(before, most, least), alt, "meaning-of-epsilon")
    with words:
        rows = [
            (percent(p), percent_at_least(posterior(p, -epsilon)), percent_at_most(posterior(p, epsilon)))
            for p in PRIORS
        ]
        st.table(pd.DataFrame(rows, columns=["sure before", "after, at least", "after, at most"]), hide_index=True)
        size = st.number_input(
            "A family or group of", min_value=2, max_value=1000, value=4, step=1, key="accuracy_group",
            help="People who are either all in the table or all absent.",
        )  # fmt: skip
        together = size * epsilon
        st.markdown(
            f"For a group of {size} the factor is e^({size}·ε) = **{factor(together)}**: "
            f"50 % sure becomes at most **{percent_at_most(posterior(0.5, together))}** sure."
        )
    st.caption(
        f"The guarantee protects {protected(plan)}. It limits what anyone learns from that person's presence in the "
        "table, not what the table teaches about people in general."
    )
