"""What tabs of the Attacks lab share: the choice of a defence, and the outcome of an attack in numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted
from dpengine.lessons.success_rate import Rate
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import OURS, percent, percent_at_most
from pages.parts.visit.state import visit

__all__ = [
    "DEFENCES", "RATE_COLUMNS", "above_by_chance", "choose_defence", "measure", "rate_rows", "run_again_button",
    "show_rates", "verdict",
]  # fmt: skip

T = TypeVar("T")

CERTAIN = 0.999_999  # confidence at which an attack is called a success
RATE_COLUMNS = {
    "right": st.column_config.NumberColumn("right", format="%,d"),
    "of": st.column_config.NumberColumn("of", format="%,d"),
    "low": st.column_config.NumberColumn("95 % interval from", format="percent"),
    "high": st.column_config.NumberColumn("to", format="percent"),
}

DEFENCES: dict[str, Callable[[Fraction], Defence]] = {
    "True counts": lambda epsilon: RAW,
    "Rounded to 5s": lambda epsilon: rounded(5),
    "Rounded to 10s": lambda epsilon: rounded(10),
    "Rounded to 100s": lambda epsilon: rounded(100),
    "± 5 at random, new each time": lambda epsilon: jittered(5),
    "Laplace noise, no budget": unbudgeted,
    OURS: engine,
}


def choose_defence() -> tuple[str, Fraction]:
    """Return the defence under attack, and its ε."""
    left, right = st.columns([3, 2], gap="large")
    name = left.selectbox("Defence", list(DEFENCES), key="attacks_defence")
    epsilon = right.select_slider(
        "ε (for defences that use noise)", rungs("0.1", "5"), value=Fraction(1), format_func=exact_text,
        key="attacks_epsilon",
        help=term(
            "epsilon",
            "For Laplace noise without a budget, each answer has this ε. For this engine, all answers together do.",
        ),
    )  # fmt: skip
    return name, epsilon


def run_again_button(caption: str) -> None:
    """Show the button that runs the attack once more, with a caption beside it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run it again", icon=":material/replay:", key="attacks_run_again", on_click=visit().turn, args=("attacks",)
        )
        st.caption(caption, width="content")


def measure(attack: str, settings: object, run: Callable[[], T]) -> T:
    """Return the result of `run` for an attack with these settings; it is kept until the visitor runs it again."""
    return visit().once(f"attack-{attack}", (settings, visit().turns("attacks")), run)


def show_rates(lines: Mapping[str, Mapping[int, Rate]], bound: float, unit: str) -> None:
    """Show the success rate against each defence after the most questions, beside the bound that ε sets."""
    with st.grid(3, min_column_width=150):
        for name, rates in lines.items():
            last, rate = list(rates.items())[-1]
            low, high = rate.interval()
            note = f"Right guesses after {last:,} {unit}. By chance, the true rate may be anywhere in the interval."
            interval = f"95 %: {percent(low)} to {percent(high)}"
            st.metric(
                name,
                _share(rate),
                interval,
                delta_color="off",
                delta_arrow="off",
                border=True,
                help=note,
            )
        st.metric(
            "ε allows at most", percent_at_most(bound), "whatever is asked", delta_color="off", delta_arrow="off",
            border=True, help="e^ε/(1 + e^ε). The best attack comes out above it in half of all runs, by chance.",
        )  # fmt: skip

    if OURS in lines and (words := above_by_chance(list(lines[OURS].values())[-1], bound)):
        st.caption(words)


def _share(rate: Rate) -> str:
    """Write a rate with as many digits as the bound beside it.

    >>> _share(Rate(733, 1000)), _share(Rate(730, 1000)), _share(Rate(1000, 1000)), _share(Rate(9999, 10_000))
    ('73.3 %', '73 %', '100 %', 'over 99.9 %')
    """
    return percent(rate.share) if 0.999 < rate.share < 1 else f"{100 * rate.share:.1f}".removesuffix(".0") + " %"


def above_by_chance(rate: Rate, bound: float) -> str:
    """Say that a rate above the bound may be chance; "" if it lies below, or too far above for that.

    >>> above_by_chance(Rate(742, 1000), 0.7311)
    'This engine came out above the bound by chance: the bound lies within the interval.'
    >>> above_by_chance(Rate(700, 1000), 0.7311), above_by_chance(Rate(900, 1000), 0.7311)
    ('', '')
    """
    if rate.share <= bound or rate.interval(CERTAIN)[0] > bound:
        return ""
    if rate.interval()[0] <= bound:
        return f"{OURS} came out above the bound by chance: the bound lies within the interval."
    return (
        f"The interval of {OURS[0].lower()}{OURS[1:]} lies above the bound. Of 40 runs of the best attack, one does so "
        "by chance: run it again."
    )


def verdict(name: str, rates: Mapping[int, Rate], bound: float, unit: str) -> str:
    """Say how the attack went. It succeeds if so many right guesses would hardly ever come about by chance."""
    last, rate = list(rates.items())[-1]
    low, _ = rate.interval(CERTAIN)
    result = f"{name}: after {last:,} {unit}, right in {rate.successes:,} of {rate.tries:,}"
    if low > bound:
        return f"{result}. The attack wins"
    if name == OURS:
        return f"{result}. Counting chance, that is within what ε allows, and more {unit} do not help"
    return f"{result}. This attack fails here, but a defence has to withstand every attack"


def rate_rows(lines: Mapping[str, Mapping[int, Rate]], asked: str) -> pd.DataFrame:
    """Return the rates as rows, one for each defence and number of questions."""
    rows = [
        {"defence": name, asked: k, "right": rate.successes, "of": rate.tries, "low": ends[0], "high": ends[1]}
        for name, rates in lines.items()
        for k, rate in rates.items()
        for ends in [rate.interval()]
    ]
    return pd.DataFrame(rows)
