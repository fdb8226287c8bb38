"""A comparison of strategies over ε for the owner's plan: predicted exactly, or simulated on a made-up table."""

from __future__ import annotations

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine.charts.style import apply_style
from dpengine.results.alternatives import compare_strategies
from dpengine.results.mock_table import ASSUMED_ROWS
from dpengine.spec.counted_wording import noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import portion
from dpengine.translation.catalogue import _, mark, number
from pages.parts.shared.epsilon_ladder import coarse
from pages.parts.shared.figures import add_line, buttons, is_dark, tones
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.strategy import why

__all__ = ["show_strategies"]

EPSILONS = tuple(f"{float(epsilon):g}" for epsilon in coarse("0.1", "10"))


def show_strategies(plan: Plan) -> None:
    """Show why the plan has its strategy, and on request compare all strategies, in the background."""
    st.markdown(f"**{plain(why(plan))}**")
    rows, unit = number(plan.rows_about or ASSUMED_ROWS), noun(plan)
    st.caption(
        _(
            "For *direct* and *optimised* the error is predicted exactly from the plan. For *adaptive* it cannot be "
            "computed beforehand, so it is simulated on a made-up table of about {rows} {unit}. That table knows "
            "nothing of yours: real tables may do better or worse. An adaptive release reports its own error, measured "
            "privately.",
            rows=rows,
            unit=unit,
        )
        if plan.rows_about
        else _(
            "For *direct* and *optimised* the error is predicted exactly from the plan. For *adaptive* it cannot be "
            "computed beforehand, so it is simulated on a made-up table of an assumed {rows} {unit}. That table knows "
            "nothing of yours: real tables may do better or worse. An adaptive release reports its own error, measured "
            "privately.",
            rows=rows,
            unit=unit,
        )
    )
    inputs = plan.at(1).model_dump_json()
    clicked = st.button(_("Compare the strategies over ε"), icon=":material/experiment:", key="compare-strategies")
    if clicked or background_read.job_for("strategies", inputs) is not None:
        compared = background_read.read(
            "strategies",
            partial(compare_strategies, plan, EPSILONS),
            None,
            question=inputs,
            doing=mark("Predicting and simulating"),
        )
        if compared is not None:
            _show(plan, *compared)


def _show(plan: Plan, errors: pd.DataFrame, faults: dict[str, str]) -> None:
    named = {
        name: _("{strategy} (simulated)", strategy=name)
        if name == "adaptive"
        else _("{strategy} (exact prediction)", strategy=name)
        for name in errors.columns[1:]
    }
    numbers = errors.rename(columns={"epsilon": "ε"} | named)
    nearest = numbers.set_index("ε").iloc[(numbers["ε"] - float(plan.epsilon)).abs().argmin()].astype(float)
    line = _(
        "Near ε = {epsilon}, {strategy} has the smallest error: {share} of all {unit}",
        epsilon=number(float(plan.epsilon), "g"),
        strategy=nearest.idxmin(),
        share=portion(nearest.min()),
        unit=noun(plan),
    )
    st.markdown(f"**{plain(line)}**")
    st.plotly_chart(
        _figure(numbers),
        key="strategies-curve",
        theme=None,
        config=buttons(),
        alt=_(
            "{line}. Errors of each strategy against the privacy budget; the table below has the numbers.", line=line
        ),
    )
    for name, fault in faults.items():
        st.caption(_("*{strategy}* is not possible for this plan: {fault}", strategy=name, fault=plain(fault)))
    with st.expander(_("The numbers"), icon=":material/table:"):
        percents = {name: st.column_config.NumberColumn(name, format="percent") for name in numbers.columns[1:]}
        st.dataframe(numbers, hide_index=True, column_config=percents)


def _figure(numbers: pd.DataFrame) -> go.Figure:
    """Draw the errors of each strategy over ε, on logarithmic axes."""
    shades, dark = tones(), is_dark()
    looks = (("grey", "dash", "square"), ("other", "dot", "diamond"), ("accent", "solid", "circle"))
    figure = go.Figure()
    names = [str(name) for name in numbers.columns[1:]]
    for name, (tone, dash, symbol) in zip(names, looks[-len(names) :], strict=True):
        hover, colour = "ε = %{x:g}: %{y:.1%}", shades[tone]
        add_line(figure, numbers["ε"], numbers[name], name, hover, colour=colour, dash=dash, symbol=symbol)
    figure.update_xaxes(type="log", title=_("privacy budget ε"), tickvals=list(numbers["ε"]))
    figure.update_yaxes(type="log", title=_("errors in a table, share of all"), tickformat=".3~%")
    return apply_style(figure, _("Error of the published counts at each ε"), dark).update_layout(height=380)
