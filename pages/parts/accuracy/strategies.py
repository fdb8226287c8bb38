"""Strategies side by side over ε, for the owner's plan: by law where there is one, else tried on a made-up table."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import streamlit as st

from dpengine import PlanError, predict
from dpengine.charts import figures
from dpengine.measure import strategy
from dpengine.measure.strategy import ADAPTIVE, DIRECT, OPTIMISED, settled, why
from dpengine.results.mock_table import DEFAULT_ROWS
from dpengine.spec.plan import Plan
from dpengine.spec.wording import portion
from pages.parts.accuracy.charts import strategies_figure
from pages.parts.shared.wording import noun, plain

__all__ = ["is_adaptive", "show_trial"]

EPSILONS = ("0.1", "0.3", "1", "3", "10")
KINDS = {DIRECT: "by law", OPTIMISED: "by law", ADAPTIVE: "tried"}

Told = tuple[pd.DataFrame, dict[str, str]]  # errors by strategy, one row an ε; why a strategy has none


def is_adaptive(plan: Plan) -> bool:
    return settled(plan).strategy == ADAPTIVE


def show_trial(plan: Plan) -> None:
    """All strategies over ε, on request: trying them takes some seconds."""
    st.markdown(f"**{plain(why(settled(plan)))}**")
    rows = f"about {plan.rows_about:,}" if plan.rows_about else f"an assumed {DEFAULT_ROWS:,}"
    st.caption(
        f"The errors of *direct* and *optimised* follow from the plan by law. No law tells those of *adaptive*, so it "
        f"is tried on a made-up table of {rows} {noun(plan)}, which knows nothing of yours: real tables may do better "
        "or worse. An adaptive release says itself how wrong it is, measured privately."
    )
    held = st.session_state.get("tried")
    key = plan.at(1).model_dump_json()
    if st.button("Compare the strategies over ε", icon=":material/experiment:", key="try-adaptive"):
        with st.status("Working out and trying five values of ε", expanded=False) as status:
            held = (key, _tried(plan, lambda stage: status.update(label=stage)))
            status.update(label="Worked out and tried", state="complete")
        st.session_state["tried"] = held
    if held is None or held[0] != key:
        return
    numbers, refused = held[1]
    least = numbers.iloc[(numbers["ε"] - float(plan.epsilon)).abs().argmin()]
    best = least.drop("ε").astype(float).idxmin()
    line = f"Near ε = {float(plan.epsilon):g}, {best} is least wrong: off by {portion(least[best])} of all {noun(plan)}"
    st.markdown(f"**{plain(line)}**")
    st.plotly_chart(
        strategies_figure(numbers),
        key="tried-curve",
        theme=None,
        config=figures.CONFIG,
        alt=f"{line}. Errors of each strategy against the privacy budget; the table below has the numbers.",
    )
    for name, fault in refused.items():
        st.caption(f"*{name}* is not for this plan: {plain(fault)}")
    with st.expander("The numbers", icon=":material/table:"):
        percents = {name: st.column_config.NumberColumn(name, format="percent") for name in numbers.columns[1:]}
        st.dataframe(numbers, hide_index=True, column_config=percents)


def _tried(plan: Plan, tell: Callable[[str], None]) -> Told:
    """For each ε, the sum of errors over the cells of a table as a part of all rows, in the mean over tables."""
    rows = plan.rows_about or DEFAULT_ROWS
    found: dict[str, list[float]] = {"ε": [float(each) for each in EPSILONS]}
    refused: dict[str, str] = {}
    for name, kind in KINDS.items():
        parts = []
        for epsilon in EPSILONS:
            tell(f"{name.capitalize()} at ε = {epsilon}")
            at = plan.model_copy(update={"strategy": name}).at(epsilon)
            try:
                strategy.check(at)
                frame = predict(at)
            except PlanError as error:
                refused[name] = " ".join(map(str, error.faults))
                parts.append(math.nan)
                continue
            frame = frame[frame["table"] != "total"]
            parts.append(float((frame["mean_abs_error"] * frame["cells"]).mean() / rows))
        if not all(map(math.isnan, parts)):
            found[f"{name} ({kind})"] = parts
            refused.pop(name, None)
    return pd.DataFrame(found), refused
