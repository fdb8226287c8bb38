"""Common parts of the tabs of the Attacks lab: the choice of a defence, and the outcome of an attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from dpengine.exact import exactly
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted
from dpengine.lessons.success_rate import Rate
from dpengine.spec.wording import percent, percent_at_most
from dpengine.translation.catalogue import _, localised, mark, number
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import OURS
from pages.parts.visit.state import visit

__all__ = [
    "DEFENCES", "choose_defence", "measure", "rate_columns", "rate_rows", "run_again_button",
    "show_rates", "verdict",
]  # fmt: skip

T = TypeVar("T")

CERTAIN = 0.999_999  # confidence at which an attack is called a success

DEFENCES: dict[str, Callable[[Fraction], Defence]] = {
    mark("True counts"): lambda epsilon: RAW,
    mark("Rounded to 5s"): lambda epsilon: rounded(5),
    mark("Rounded to 10s"): lambda epsilon: rounded(10),
    mark("Rounded to 100s"): lambda epsilon: rounded(100),
    mark("± 5 at random, new each time"): lambda epsilon: jittered(5),
    mark("Laplace noise, no budget"): unbudgeted,
    OURS: engine,
}


def choose_defence() -> tuple[str, Fraction]:
    """Return the defence under attack, and its ε."""
    left, right = st.columns([3, 2], gap="large")
    name = left.selectbox(_("Defence"), list(DEFENCES), format_func=_, key="attacks_defence")
    epsilon = right.select_slider(
        _("ε (for defences that use noise)"), rungs("0.1", "5"), value=Fraction(1), format_func=exactly,
        key="attacks_epsilon",
        help=term(
            "epsilon",
            _("For Laplace noise without a budget, each answer has this ε. For this engine, all answers together do."),
        ),
    )  # fmt: skip
    return name, epsilon


def run_again_button(caption: str) -> None:
    """Show the button that runs the attack once more, with a caption beside it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Run it again"),
            icon=":material/replay:",
            key="attacks_run_again",
            on_click=visit().renew,
            args=("attacks",),
        )
        st.caption(caption, width="content")


def measure(attack: str, settings: object, run: Callable[[], T]) -> T:
    """Return the result of `run` for an attack with these settings; it is kept until the visitor runs it again."""
    return visit().once(f"attack-{attack}", (settings, visit().renewals("attacks")), run)


def show_rates(lines: Mapping[str, Mapping[int, Rate]], bound: float, unit: str) -> None:
    """Show the success rate against each defence after the most questions, beside the bound that ε sets."""
    with st.grid(3, min_column_width=150):
        for name, rates in lines.items():
            last, rate = list(rates.items())[-1]
            low, high = rate.interval()
            note = _(
                "Right guesses after {n} {questions}. By chance, the true rate may be anywhere in the interval.",
                n=number(last),
                questions=_(unit),
            )
            interval = _("95 %: {low} to {high}", low=percent(low), high=percent(high))
            st.metric(
                _(name),
                _share(rate),
                interval,
                delta_color="off",
                delta_arrow="off",
                border=True,
                help=note,
            )
        st.metric(
            _("ε allows at most"), percent_at_most(bound), _("whatever is asked"), delta_color="off",
            delta_arrow="off", border=True,
            help=_("e^ε/(1 + e^ε). The best attack comes out above it in half of all runs, by chance."),
        )  # fmt: skip

    if OURS in lines and (words := above_by_chance(list(lines[OURS].values())[-1], bound)):
        st.caption(words)


def _share(rate: Rate) -> str:
    """Write a rate with as many digits as the bound beside it.

    >>> _share(Rate(733, 1000)), _share(Rate(730, 1000)), _share(Rate(1000, 1000)), _share(Rate(9999, 10_000))
    ('73.3 %', '73 %', '100 %', 'over 99.9 %')
    """
    if 0.999 < rate.share < 1:
        return percent(rate.share)
    return localised(f"{100 * rate.share:.1f}".removesuffix(".0")) + " %"


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
        return _("This engine came out above the bound by chance: the bound lies within the interval.")
    return _(
        "The interval of this engine lies above the bound. Of 40 runs of the best attack, one does so by chance: run "
        "it again."
    )


def verdict(name: str, rates: Mapping[int, Rate], bound: float, unit: str, more: str) -> str:
    """Say how the attack went. It succeeds if this many right guesses hardly ever come about by chance.

    `unit` is what stands after a number of questions, `more` says that more of them do not help; both in English.
    """
    last, rate = list(rates.items())[-1]
    result = _(
        "{name}: after {n} {questions}, right in {right} of {tries}",
        name=_(name),
        n=number(last),
        questions=_(unit),
        right=number(rate.successes),
        tries=number(rate.tries),
    )
    if rate.interval(CERTAIN)[0] > bound:
        return _("{result}. The attack wins", result=result)
    if name == OURS:
        return _("{result}. Counting chance, that is within what ε allows, and {more}", result=result, more=_(more))
    return _("{result}. This attack fails here, but a defence has to withstand every attack", result=result)


def rate_columns(asked: str = "") -> dict[str, Any]:
    """Return how to show the columns of `rate_rows`, and of other rates."""
    column = st.column_config.NumberColumn
    questions = {asked: column(_(asked), format="%,d")} if asked else {}
    return questions | {
        "defence": _("defence"),
        "right": column(_("right"), format="%,d"),
        "of": column(_("of"), format="%,d"),
        "low": column(_("95 % interval from"), format="percent"),
        "high": column(_("to"), format="percent"),
    }


def rate_rows(lines: Mapping[str, Mapping[int, Rate]], asked: str) -> pd.DataFrame:
    """Return the rates as rows, one for each defence and number of questions."""
    rows = [
        {"defence": _(name), asked: k, "right": rate.successes, "of": rate.tries, "low": ends[0], "high": ends[1]}
        for name, rates in lines.items()
        for k, rate in rates.items()
        for ends in [rate.interval()]
    ]
    return pd.DataFrame(rows)
