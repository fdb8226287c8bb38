"""The Attacks lab's floating point: impossible outputs of Laplace samplers, and the doubles around one of them."""

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
from pages.parts.attacks.charts import guns_figure, sides_figure
from pages.parts.attacks.differencing import RATE_COLUMNS, buttons, measured
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS, percent

__all__ = ["bits"]

GAMES = 1000
EPSILONS = tuple(map(Fraction, ("0.01", "0.1", "0.5", "1", "2")))
REACHES = {"33": 16, "129": 64, "513": 256, "2,049": 1024}
STORY = (
    "The true answer is 0 or 1, and Laplace noise is added to it, as programs usually draw it: as floating-point "
    "numbers. Only some numbers can come out at all, and which ones depends on the true answer. One that cannot come "
    "of 0 proves that it was 1."
)


def bits() -> None:
    st.markdown(STORY)
    left, right = st.columns([3, 2], gap="large")
    names = {sampler.name: sampler for sampler in SAMPLERS}
    sampler = names[left.segmented_control("Sampler", list(names), default=next(iter(names)), required=True,
                                           key="attacks_sampler")]  # fmt: skip
    epsilon = right.select_slider(
        "Privacy budget ε", EPSILONS, value=Fraction(1, 10), format_func=exact_text, key="attacks_bits_epsilon"
    )
    success(sampler, epsilon)
    st.subheader("The smoking gun")
    one_output(sampler, epsilon)
    with st.expander("The sampler's formula", icon=":material/code:"):
        st.code(sampler.code, language="python")


def success(sampler: Sampler, epsilon: Fraction) -> None:
    def run() -> dict[str, Verdicts]:
        return {sampler.name: attack_sampler(sampler, epsilon, GAMES), OURS: attack_engine(epsilon, GAMES)}

    found: dict[str, Verdicts] = measured(("bits", sampler.name, epsilon), run)  # type: ignore[assignment]
    theirs, most = found[sampler.name], posterior(0.5, epsilon)
    low, high = theirs.proved.interval()
    with st.grid(3, min_column_width=170):
        st.metric("Proved", f"{theirs.proved.share:.1%}", border=True,
                  help=f"{theirs.proved.successes:,} of {GAMES:,}; 95 % interval {percent(low)} to {percent(high)}. "
                  f"Proofs that turned out wrong: {theirs.mistaken}.")  # fmt: skip
        st.metric(
            "Right in all", f"{theirs.right.share:.1%}", border=True, help="Where nothing is proved: by distance."
        )
        st.metric(
            "ε would allow", f"{most:.1%}", border=True, help="e^ε/(1 + e^ε): what the formula promises on paper."
        )
    line = (
        f"{sampler.name}: {theirs.proved.successes:,} of {GAMES:,} outputs prove the true answer at ε = "
        f"{exact_text(epsilon)}. {OURS}: {found[OURS].proved.successes}, since every whole number can come of both"
    )
    st.markdown(f"**{line}**")
    draw(sides_figure({name: each.right for name, each in found.items()}, OURS, most), line, "attacks-bits", 300)
    buttons(f"{GAMES:,} outputs each, drawn just now.")
    rows = [
        {"noise": name, "proved": each.proved.successes, "right": each.right.successes, "of": GAMES, "low": ends[0],
         "high": ends[1]}
        for name, each in found.items() for ends in [each.right.interval()]
    ]  # fmt: skip
    twin(pd.DataFrame(rows), "attacks-bits", RATE_COLUMNS)


def one_output(sampler: Sampler, epsilon: Fraction) -> None:
    """One output of the sampler, the doubles around it, and what follows."""
    st.button("Another output", icon=":material/replay:", key="attacks_another", on_click=_another)
    reach = REACHES[st.segmented_control("Doubles to look at", list(REACHES), default="129", required=True,
                                         key="attacks_reach")]  # fmt: skip

    def run() -> tuple[int, float]:
        truth = int(np.random.default_rng().integers(0, 2))
        return truth, float(sampler.draw(np.array([float(truth)]), 1 / float(epsilon), None)[0])

    truth, output = measured(("output", sampler.name, epsilon, st.session_state.get("attacks_outputs", 0)), run)  # type: ignore[misc]
    try:
        seen = neighbourhood(sampler, output, epsilon, reach)
    except PlanError as refused:
        st.info(f"{' '.join(map(str, refused.faults))}. Take another output.", icon=":material/replay:")
        return
    st.markdown(f"Out came **{output!r}**, in memory `{output.hex()}`. {_conclusion(seen, truth)}")
    zeros, ones, both = (int(these.sum()) for these in (seen.zero, seen.one, seen.zero & seen.one))
    told = f"Of {len(seen.steps):,} doubles around it, {zeros} can come of 0 and {ones} of 1; {both} of both"
    st.markdown(f"**{told}**")
    draw(guns_figure(seen), f"{told}.", "attacks-guns", 260, zoom=True)
    st.caption(
        "A stroke can come only of that true answer, and proves it; a ring can come of both. Nothing else comes."
    )
    rows = pd.DataFrame(
        {"step": seen.steps, "double": [repr(float(each)) for each in seen.doubles], "zero": seen.zero, "one": seen.one}
    )
    box = st.column_config.CheckboxColumn
    shown = {"zero": box("can come of 0"), "one": box("can come of 1")}
    twin(rows[seen.zero | seen.one], "attacks-guns", {"step": "doubles away", "double": "value"} | shown)


def _another() -> None:
    st.session_state["attacks_outputs"] = st.session_state.get("attacks_outputs", 0) + 1


def _conclusion(seen: Neighbourhood, truth: int) -> str:
    zero, one = (bool(these[len(these) // 2]) for these in (seen.zero, seen.one))
    if zero and one:
        return f"It can come of both: nothing is proved this time. (The true answer was {truth}.) Take another output."
    impossible, proved = (1, 0) if zero else (0, 1)
    return (
        f"**It cannot come of {impossible}: no uniform number gives it. So the true answer was {proved}.** "
        f"(It was {truth}.)"
    )
