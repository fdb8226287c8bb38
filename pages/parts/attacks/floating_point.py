"""Floating point in the Attacks lab: impossible outputs of Laplace samplers, and the doubles around one output."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.exact import exactly
from dpengine.lessons.floating_point import (
    SAMPLERS,
    Neighbourhood,
    Sampler,
    Verdicts,
    attack_engine,
    attack_sampler,
    neighbourhood,
)
from dpengine.lessons.success_rate import Rate
from dpengine.spec.wording import percent, percent_at_most
from dpengine.translation.catalogue import _, localised, mark, number
from pages.parts.attacks.charts import doubles_figure, samplers_figure
from pages.parts.attacks.outcome import measure, rate_columns, run_again_button
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["floating_point_tab"]

GAMES = 1000
DOUBLES = {"33": 16, "129": 64, "513": 256, "2,049": 1024}
STORY = mark(
    "The true answer is 0 or 1. Laplace noise is added to it the way programs usually do: as floating-point numbers. "
    "Only some numbers can come out at all, and which ones depends on the true answer. A number that is impossible "
    "for 0 proves that the answer was 1."
)


def floating_point_tab() -> None:
    """Attack a sampler many times, then show one output with the doubles around it."""
    st.markdown(_(STORY))
    left, right = st.columns([3, 2], gap="large")
    names = {sampler.name: sampler for sampler in SAMPLERS}
    sampler = names[left.segmented_control(_("Sampler"), list(names), default=next(iter(names)), required=True,
                                           format_func=_, key="attacks_sampler")]  # fmt: skip
    epsilon = right.select_slider(
        _("Privacy budget ε"),
        rungs("0.01", "2"),
        value=Fraction(1, 10),
        format_func=exactly,
        key="attacks_bits_epsilon",
    )
    _show_success(sampler, epsilon)
    st.header(_("The smoking gun"))
    _show_output(sampler, epsilon)
    with st.expander(_("The sampler's formula"), icon=":material/code:"):
        st.code(sampler.code, language="python")


def _show_success(sampler: Sampler, epsilon: Fraction) -> None:
    """Show how often one output proves the true answer, for this sampler and for the engine's noise."""

    def run() -> dict[str, Verdicts]:
        return {sampler.name: attack_sampler(sampler, epsilon, GAMES), OURS: attack_engine(epsilon, GAMES)}

    results = measure("sampler", (sampler.name, epsilon), run)
    theirs, bound = results[sampler.name], posterior(0.5, epsilon)
    _show_numbers(theirs, bound)
    line = _(
        "{sampler}: {proved} of {tries} outputs prove the true answer at ε = {epsilon}. {ours}: {others}, since every "
        "whole number is possible for both",
        sampler=_(sampler.name),
        proved=number(theirs.proved.successes),
        tries=number(GAMES),
        epsilon=exactly(epsilon),
        ours=_(OURS),
        others=results[OURS].proved.successes,
    )
    st.markdown(f"**{line}**")
    draw(samplers_figure({name: each.correct for name, each in results.items()}, bound), line, "attacks-bits", 300)
    run_again_button(_("{n} outputs of each, drawn just now.", n=number(GAMES)))
    rows = [
        {"noise": _(name), "proved": each.proved.successes, "right": each.correct.successes, "of": GAMES,
         "low": ends[0], "high": ends[1]}
        for name, each in results.items() for ends in [each.correct.interval()]
    ]  # fmt: skip
    proved = st.column_config.NumberColumn(_("proved"), format="%,d")
    twin(pd.DataFrame(rows), "attacks-bits", rate_columns() | {"noise": _("noise"), "proved": proved})


def _show_numbers(verdicts: Verdicts, bound: float) -> None:
    """Show how often the attack on a sampler was right, beside the `bound` that ε sets on paper."""
    low, high = verdicts.proved.interval()
    with st.grid(3, min_column_width=170):
        note = _(
            "{right} of {tries}; 95 % interval {low} to {high}. Proofs that turned out wrong: {wrong}.",
            right=number(verdicts.proved.successes),
            tries=number(GAMES),
            low=percent(low),
            high=percent(high),
            wrong=verdicts.mistaken,
        )
        st.metric(_("Proved"), _share(verdicts.proved), border=True, help=note)
        note = _("If nothing is proved, the guess is the nearer of the two.")
        st.metric(_("Right in all"), _share(verdicts.correct), border=True, help=note)
        note = _("e^ε/(1 + e^ε): what the formula promises on paper.")
        st.metric(_("ε would allow"), percent_at_most(bound), border=True, help=note)


def _share(rate: Rate) -> str:
    return number(100 * rate.share, ".1f") + " %"


def _show_output(sampler: Sampler, epsilon: Fraction) -> None:
    """Show one output of the sampler, the doubles around it, and what they prove."""
    st.button(
        _("Another output"), icon=":material/replay:", key="attacks_another", on_click=visit().renew, args=("output",)
    )
    doubles = DOUBLES[st.segmented_control(_("Doubles to look at"), list(DOUBLES), default="129", required=True,
                                           format_func=localised, key="attacks_reach")]  # fmt: skip

    def draw_one() -> tuple[int, float]:
        truth = int(np.random.default_rng().integers(0, 2))
        return truth, float(sampler.draw(np.array([float(truth)]), 1 / float(epsilon), None)[0])

    truth, output = measure("output", (sampler.name, epsilon, visit().renewals("output")), draw_one)
    try:
        seen = neighbourhood(sampler, output, epsilon, doubles)
    except PlanError as refused:
        st.info(f"{all_faults(refused)}. " + _("Draw another output."), icon=":material/replay:")
        return
    came = _("Out came **{output}**, in memory `{memory}`.", output=localised(repr(output)), memory=output.hex())
    st.markdown(f"{came} {_conclusion(seen, truth)}")
    _show_doubles(seen)


def _show_doubles(seen: Neighbourhood) -> None:
    """Show which of the doubles around an output are possible for each true answer."""
    zeros, ones, both = (int(these.sum()) for these in (seen.zero, seen.one, seen.zero & seen.one))
    line = _(
        "Of {all} doubles around it, {zeros} are possible for 0, {ones} for 1, and {both} for both",
        all=number(len(seen.steps)),
        zeros=zeros,
        ones=ones,
        both=both,
    )
    st.markdown(f"**{line}**")
    draw(doubles_figure(seen), f"{line}.", "attacks-doubles", 260, zoom=True)
    st.caption(
        _(
            "A stroke is possible only for that true answer, and proves it. A ring is possible for both. No other "
            "number can come out."
        )
    )
    values = [localised(repr(float(each))) for each in seen.doubles]
    rows = pd.DataFrame({"step": seen.steps, "double": values, "zero": seen.zero, "one": seen.one})
    box = st.column_config.CheckboxColumn
    columns = {
        "step": _("doubles away"),
        "double": _("value"),
        "zero": box(_("possible for 0")),
        "one": box(_("possible for 1")),
    }
    twin(rows[seen.zero | seen.one], "attacks-doubles", columns)


def _conclusion(seen: Neighbourhood, truth: int) -> str:
    zero, one = (bool(these[len(these) // 2]) for these in (seen.zero, seen.one))
    if zero and one:
        return _(
            "It is possible for both: nothing is proved this time. (The true answer was {truth}.) Draw another.",
            truth=truth,
        )
    impossible, proved = (1, 0) if zero else (0, 1)
    return _(
        "**It is impossible for {impossible}: no uniform number gives it. So the true answer was {proved}.** (It was "
        "{truth}.)",
        impossible=impossible,
        proved=proved,
        truth=truth,
    )
