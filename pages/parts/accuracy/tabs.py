"""Tabs of the accuracy page: each takes the plan at the chosen ε and one of its tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.exact import exactly
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Allocation
from dpengine.results.alternatives import ALL_CELLS, allocations_of, compare_allocations, predict_table, simulate_errors
from dpengine.results.mock_table import ASSUMED_ROWS
from dpengine.spec.counted_wording import noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty, factor, heading_of, people, percent, percent_at_least, percent_at_most
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.accuracy.charts import meaning_figure, noise_figure, simulation_figure
from pages.parts.accuracy.predictions import EPSILONS, all_errors, curve, noise_shares, predictions_csv
from pages.parts.shared.data_twin import measured_columns, predicted_columns, twin
from pages.parts.shared.figures import draw
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain, protected, rows_noun, with_headings
from pages.parts.visit.state import visit

__all__ = ["all_tables", "meaning", "measured_tables", "mostly_noise", "small_cells", "why_measured"]

MAX_CURVES = 10  # other tables that are drawn beside the chosen one
PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)
WAYS = (
    mark("this plan"),
    mark("ε split evenly"),
    mark("one table of all columns"),
)  # as `compare_allocations` has them


def all_tables(plan: Plan, table: Columns) -> None:
    """List the predicted errors of every published table."""
    frame = all_errors(plan).drop(columns="total_half_width_95")
    if plan.rows_about is not None:
        frame["average"] = (plan.rows_about / frame["cells"]).round(1)
        frame["relative"] = frame["half_width_95"] / frame["average"]
        widths = frame["half_width_95"]
        noisy = [float(noise_shares(plan, each, widths[k : k + 1])[0]) for k, each in enumerate(plan.marginals)]
        frame["noisy"] = [*noisy, float(widths.iloc[-1] >= plan.rows_about)]
    st.markdown(_("**Every published table at ε = {epsilon}**", epsilon=exactly(plan.epsilon)))
    show_numbers(with_headings(plan, frame), predicted_columns() | measured_columns(plan))
    st.caption(
        _(
            "Errors of the unbiased *estimate*, counted in {unit}. {spread} The total is always published.",
            unit=noun(plan),
            spread=_spread(plan),
        )
    )
    offer_file(
        _("Predictions as CSV"),
        lambda: predictions_csv(plan),
        "predicted-errors.csv",
        "text/csv",
        key="predictions",
        icon=":material/download:",
        help=_(
            "Every table at {n} values of ε, from the plan alone. It says nothing about your data.",
            n=number(len(EPSILONS)),
        ),
    )


def _spread(plan: Plan) -> str:
    """Say by how much the errors of the cells of one table differ."""
    if not plan.resolution.chains:
        return _("Every cell of a table has the same error.")
    used = plan.resolution.levels or [name for chain in plan.resolution.chains.values() for name in chain]
    levels = _(" and ").join(plain(heading_of(plan, (name,))) for name in used)
    return _(
        "Each level ({levels}) has an error of its own, about the same for large groups and small ones; where the "
        "cells of a level differ, the largest is shown.",
        levels=levels,
    )


def mostly_noise(plan: Plan, table: Columns) -> None:
    """Draw the share of cells that would be mostly noise, over ε."""
    if plan.rows_about is None:
        st.markdown(_("Enter a rough size at the top of the page to see how many cells would be mostly noise."))
        return
    others = [other for other in plan.marginals if other != table and len(plan.marginals) <= MAX_CURVES]
    shares = {heading_of(plan, t): noise_shares(plan, t, curve(plan, t)["half_width_95"]) for t in (table, *others)}
    here = float(noise_shares(plan, table, predict_table(plan, table)["half_width_95"])[0])
    name, epsilons = heading_of(plan, table), curve(plan, table)["epsilon"].tolist()
    cells = plan.cells(table)
    line = _(
        "{table}: at ε = {epsilon}, {noisy} of {cells} cells are mostly noise",
        table=name,
        epsilon=exactly(plan.epsilon),
        noisy=number(round(here * cells)),
        cells=number(cells),
    )
    st.markdown(f"**{plain(line)}**")
    draw(noise_figure(epsilons, shares, name, float(plan.epsilon)), line, "noise-over-epsilon")
    st.caption(
        _(
            "On a made-up table of about {rows} {unit}. A cell is mostly noise if its interval reaches 0: it might as "
            "well be empty. Fewer or wider groups help as much as a larger ε.",
            rows=number(plan.rows_about),
            unit=rows_noun(plan),
        )
    )
    frame = pd.DataFrame({"epsilon": epsilons} | shares)
    percents = {each: st.column_config.NumberColumn(each, format="percent") for each in shares}
    twin(frame, "noise-over-epsilon", predicted_columns() | percents)


def small_cells(plan: Plan, table: Columns) -> None:
    """Explain why negative estimates are not simply set to 0, and simulate the effect when asked."""
    excess = float(predict_table(plan, table)["mean_abs_error"].iloc[0]) / 2
    st.markdown(
        _(
            "Noise is positive as often as negative, so the *estimate* of an empty cell is right on average. Setting "
            "negative estimates to 0 would spoil this: each empty cell would read **{one}** too high on average, half "
            "its typical error. A thousand empty cells would add **{thousand}** {unit} that do not exist.",
            one=people(excess),
            thousand=people(1000 * excess),
            unit=noun(plan, table),
        )
    )
    st.markdown(
        _(
            "So the published *count* is not corrected cell by cell. All cells together become whole numbers, none "
            "below 0, that keep the estimated total and agree with every other table. Small cells still read a little "
            "high and large cells a little low. Use the estimate for sums and averages, and the count for a table to "
            "read."
        )
    )
    _simulate(plan, table)


def _simulate(plan: Plan, table: Columns) -> None:
    """Simulate the errors of the three kinds of number on request, and show them by size of the cell."""
    asked = plan.model_dump_json(), table
    if st.button(
        _("Simulate both"),
        icon=":material/casino:",
        key="accuracy_simulate",
        help=_("Draws the noise many times on a made-up table. Your table is not read; nothing is spent."),
    ):
        with st.spinner(_("Drawing on the made-up table")):
            visit().keep("simulation", asked, simulate_errors(plan, table))
    if (simulated := visit().recall("simulation", asked)) is None:
        return
    errors, draws = simulated
    st.caption(_how_simulated(plan, draws))
    left, right = st.columns(2)
    for place, column, axis, title in (
        (left, "off", _("off by, on average"), _("How far off, in either direction")),
        (right, "bias", _("too high (+) or too low (−)"), _("Too high or too low on average")),
    ):
        with place:
            st.markdown(f"**{title}**")
            draw(simulation_figure(errors, column, axis), _simulated(errors, column, title), f"simulated-{column}")
    text, numeric = st.column_config.TextColumn, st.column_config.NumberColumn
    columns = {
        "true size of the cell": text(_("true size of the cell")),
        "cells": numeric(_("cells"), format="%,d"),
        "number": text(_("number")),
        "off": numeric(_("off by, on average"), format="%.2f"),
        "bias": numeric(_("too high by"), format="%.2f"),
    }
    words = {name: errors[name].map(_) for name in ("true size of the cell", "number")}
    twin(errors.assign(**words), "simulated", columns)


def _how_simulated(plan: Plan, draws: int) -> str:
    """Say on which made-up table, and how often, noise was drawn."""
    size = number(plan.rows_about or ASSUMED_ROWS)
    table_of = (
        _("Simulated on a made-up table of about {rows} {unit}.", rows=size, unit=rows_noun(plan))
        if plan.rows_about
        else _("Simulated on a made-up table of an assumed {rows} {unit}.", rows=size, unit=rows_noun(plan))
    )
    drawn = plural(
        "Noise was drawn once; another run differs a little.",
        "Noise was drawn {n} times; another run differs a little.",
        draws,
    )
    return f"{table_of} {drawn}"


def _simulated(errors: pd.DataFrame, column: str, title: str) -> str:
    """Say what the simulation shows for the smallest cells, where the three kinds of number differ most."""
    size = errors["true size of the cell"].iloc[0]
    smallest = errors[errors["true size of the cell"] == size]
    by = "; ".join(f"{_(row['number'])}: {number(row[column], '.1f')}" for _place, row in smallest.iterrows())
    return _("{title}. For cells of true size {size}, {by}.", title=title, size=_(size), by=by)


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
        "measured": st.column_config.TextColumn(_("table that is measured")),
        "part": st.column_config.ProgressColumn(_("share of ε"), format="percent", min_value=0, max_value=1),
        "epsilon": st.column_config.NumberColumn(_("its ε"), format="%.4g"),
        "scale": st.column_config.NumberColumn(
            _("scale of its noise"),
            format="%.4g",
            help=_("Discrete Laplace noise; scale = rows a person may have / its ε."),
        ),
    }
    show_numbers(frame, columns, alt=_("Measured tables with their share of ε"))
    if len(plan.marginals) > 1 and not plan.resolution.chains:  # strategies that measure each table by itself
        st.markdown(_("**The same ε spent in other ways** (95 in 100 counts are within ±)"))
        ways = compare_allocations(plan)
        names = zip(ways.columns[1:], WAYS, strict=True)
        numbers = {each: st.column_config.NumberColumn(_(name), format="%.3g") for each, name in names}
        shown = with_headings(plan, ways.assign(table=ways["table"].replace(ALL_CELLS, _(ALL_CELLS))))
        show_numbers(shown, {"table": st.column_config.TextColumn(_("table"))} | numbers)
        st.caption(
            _(
                "*ε split evenly* measures each table by itself, so the tables would not agree. *One table of all "
                "columns* is empty if that table would be too large. This plan gives larger tables more of ε, because "
                "more counts depend on them."
            )
        )


def why_measured(plan: Plan, allocations: tuple[Allocation, ...]) -> str:
    """Explain why these tables are measured and no others, in a sentence or two."""
    published, measured = {frozenset(table) for table in plan.marginals}, frozenset(allocations[0].columns)
    contained = len(plan.marginals) - len(maximal(plan.marginals))
    if len(allocations) > 1:
        text = _(
            "ε is split over {n} tables, larger ones getting more (in proportion to the cube root of their cells, "
            "which makes the error in total least). Where tables share columns, each improves the other.",
            n=len(allocations),
        )
        if contained == 1:
            text += _(" One table is contained in a larger one: its counts are sums, and cost nothing.")
        elif contained:
            text += _(
                " {n} tables are each contained in a larger one: its counts are sums, and cost nothing.", n=contained
            )
        return text
    if len(plan.marginals) == 1:
        return _("There is one table, and it is measured with all of ε. Its total is the sum of its cells.")
    if measured in published:
        return _(
            "One table contains all the others, so it alone is measured, with all of ε. The others are sums of it."
        )
    return _(
        "One table of all {n} columns is measured with all of ε, and each of yours is a sum of it. That makes the "
        "error in total less than splitting ε over the tables would.",
        n=len(plan.used),
    )


def meaning(plan: Plan, table: Columns) -> None:
    """Say what anyone can learn about one person, or about a group, at this ε."""
    epsilon = plan.epsilon
    st.markdown(
        _(
            "Someone who is 50 % sure that a person is in the table can become **{high}** by seeing the release, and "
            "at least {low} sure, whatever else they know. The release changes the odds by a factor of at most "
            "e^ε = {factor}.",
            high=certainty(posterior(0.5, epsilon)),
            low=percent_at_least(posterior(0.5, -epsilon)),
            factor=factor(epsilon),
        )
    )
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        _draw_beliefs(epsilon)
    with words:
        _list_beliefs(epsilon)
        _ask_group(epsilon)
    st.caption(
        _(
            "The guarantee protects {whom}. It limits what anyone learns from that person's presence in the table, not "
            "what the table teaches about people in general.",
            whom=protected(plan),
        )
    )


def _draw_beliefs(epsilon: Fraction) -> None:
    before = np.linspace(0.005, 0.995, 100)
    most = np.array([posterior(p, epsilon) for p in before])
    least = np.array([posterior(p, -epsilon) for p in before])
    st.markdown(_("**How far the release can move anyone's belief about one person**"))
    low, high = percent_at_least(posterior(0.5, -epsilon)), percent_at_most(posterior(0.5, epsilon))
    alt = _("Someone who was 50 % sure ends between {low} sure and {high} sure.", low=low, high=high)
    draw(meaning_figure(before, most, least), alt, "meaning-of-epsilon")


def _list_beliefs(epsilon: Fraction) -> None:
    rows = [
        (percent(p), percent_at_least(posterior(p, -epsilon)), percent_at_most(posterior(p, epsilon))) for p in PRIORS
    ]
    heads = [_("sure before"), _("after, at least"), _("after, at most")]
    st.table(pd.DataFrame(rows, columns=heads), hide_index=True)


def _ask_group(epsilon: Fraction) -> None:
    """Ask for the size of a group, and say how far its people are protected together."""
    size = st.number_input(
        _("A family or group of"), min_value=2, max_value=1000, value=4, step=1, key="accuracy_group",
        help=_("People who are either all in the table or all absent."),
    )  # fmt: skip
    together = size * epsilon
    st.markdown(
        _(
            "For a group of {size} the factor is e^({size}·ε) = **{factor}**: 50 % sure becomes at most **{part}** "
            "sure.",
            size=number(size),
            factor=factor(together),
            part=percent_at_most(posterior(0.5, together)),
        )
    )
