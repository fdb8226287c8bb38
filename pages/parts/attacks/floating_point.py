"""Floating point in the Attacks lab: impossible outputs of Laplace samplers, and the doubles around one output."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.lessons.floating_point import (
    SAMPLERS,
    Neighbourhood,
    Sampler,
    Verdicts,
    attack_engine,
    attack_sampler,
    neighbourhood,
)
from pages.parts.attacks.charts import doubles_figure, samplers_figure
from pages.parts.attacks.outcome import RATE_COLUMNS, measure, run_again_button
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS, percent, percent_at_most
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["floating_point_tab"]

GAMES = 1000
DOUBLES = {"33": 16, "129": 64, "513": 256, "2,049": 1024}
STORY = (
    "The true answer is 0 or 1. Laplace noise is added to it the way programs usually do: as floating-point numbers. "
    "Only some numbers can come out at all, and which ones depends on the true answer. A number that is impossible "
    "for 0 proves that the answer was 1."
)


def floating_point_tab() -> None:
    """Attack a sampler many times, then show one output with the doubles around it."""
    st.markdown(STORY)
    left, right = st.columns([3, 2], gap="large")
    names = {sampler.name: sampler for sampler in SAMPLERS}
    sampler = names[left.segmented_control("Sampler", list(names), default=next(iter(names)), required=True,
                                           key="attacks_sampler")]  # fmt: skip
    epsilon = right.select_slider(
        "Privacy budget ε",
        rungs("0.01", "2"),
        value=Fraction(1, 10),
        format_func=exact_text,
        key="attacks_bits_epsilon",
    )
    _show_success(sampler, epsilon)
    st.subheader("The smoking gun")
    _show_output(sampler, epsilon)
    with st.expander("The sampler's formula", icon=":material/code:"):
        st.code(sampler.code, language="python")


def _show_success(sampler: Sampler, epsilon: Fraction) -> None:
    """Show how often one output proves the true answer, for this sampler and for the engine's noise."""

    def run() -> dict[str, Verdicts]:
        return {sampler.name: attack_sampler(sampler, epsilon, GAMES), OURS: attack_engine(epsilon, GAMES)}

    results = measure("sampler", (sampler.name, epsilon), run)
    theirs, bound = results[sampler.name], posterior(0.5, epsilon)
    low, high = theirs.proved.interval()
    with st.grid(3, min_column_width=170):
        st.metric("Proved", f"{100 * theirs.proved.share:.1f} %", border=True,
                  help=f"{theirs.proved.successes:,} of {GAMES:,}; 95 % interval {percent(low)} to {percent(high)}. "
                  f"Proofs that turned out wrong: {theirs.mistaken}.")  # fmt: skip
        st.metric(
            "Right in all",
            f"{100 * theirs.right.share:.1f} %",
            border=True,
            help="If nothing is proved, the guess is the nearer of the two.",
        )
        st.metric(
            "ε would allow",
            percent_at_most(bound),
            border=True,
            help="e^ε/(1 + e^ε): what the formula promises on paper.",
        )
    line = (
        f"{sampler.name}: {theirs.proved.successes:,} of {GAMES:,} outputs prove the true answer at ε = "
        f"{exact_text(epsilon)}. {OURS}: {results[OURS].proved.successes}, since every whole number is possible for "
        "both"
    )
    st.markdown(f"**{line}**")
    draw(samplers_figure({name: each.right for name, each in results.items()}, OURS, bound), line, "attacks-bits", 300)
    run_again_button(f"{GAMES:,} outputs of each, drawn just now.")
    rows = [
        {"noise": name, "proved": each.proved.successes, "right": each.right.successes, "of": GAMES, "low": ends[0],
         "high": ends[1]}
        for name, each in results.items() for ends in [each.right.interval()]
    ]  # fmt: skip
    twin(pd.DataFrame(rows), "attacks-bits", RATE_COLUMNS)


def _show_output(sampler: Sampler, epsilon: Fraction) -> None:
    """Show one output of the sampler, the doubles around it, and what they prove."""
    st.button(
        "Another output", icon=":material/replay:", key="attacks_another", on_click=visit().turn, args=("output",)
    )
    doubles = DOUBLES[st.segmented_control("Doubles to look at", list(DOUBLES), default="129", required=True,
                                         key="attacks_reach")]  # fmt: skip

    def run() -> tuple[int, float]:
        truth = int(np.random.default_rng().integers(0, 2))
        return truth, float(sampler.draw(np.array([float(truth)]), 1 / float(epsilon), None)[0])

    truth, output = measure("output", (sampler.name, epsilon, visit().turns("output")), run)
    try:
        seen = neighbourhood(sampler, output, epsilon, doubles)
    except PlanError as refused:
        st.info(f"{all_faults(refused)}. Draw another output.", icon=":material/replay:")
        return
    st.markdown(f"Out came **{output!r}**, in memory `{output.hex()}`. {_conclusion(seen, truth)}")
    zeros, ones, both = (int(these.sum()) for these in (seen.zero, seen.one, seen.zero & seen.one))
    line = f"Of {len(seen.steps):,} doubles around it, {zeros} are possible for 0, {ones} for 1, and {both} for both"
    st.markdown(f"**{line}**")
    draw(doubles_figure(seen), f"{line}.", "attacks-doubles", 260, zoom=True)
    st.caption(
        "A stroke is possible only for that true answer, and proves it. A ring is possible for both. No other number "
        "can come out."
    )
    rows = pd.DataFrame(
        {"step": seen.steps, "double": [repr(float(each)) for each in seen.doubles], "zero": seen.zero, "one": seen.one}
    )
    box = st.column_config.CheckboxColumn
    columns = {"step": "doubles away", "double": "value", "zero": box("possible for 0"), "one": box("possible for 1")}
    twin(rows[seen.zero | seen.one], "attacks-doubles", columns)


def _conclusion(seen: Neighbourhood, truth: int) -> str:
    zero, one = (bool(these[len(these) // 2]) for these in (seen.zero, seen.one))
    if zero and one:
        return f"It is possible for both: nothing is proved this time. (The true answer was {truth}.) Draw another."
    impossible, proved = (1, 0) if zero else (0, 1)
    return (
        f"**It is impossible for {impossible}: no uniform number gives it. So the true answer was {proved}.** "
        f"(It was {truth}.)"
    )
