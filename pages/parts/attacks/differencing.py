"""The Attacks lab's differencing and averaging: cheap, so they run at each change, over a ladder of questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.exact import exact_text
from dpengine.lessons.averaging import ask_engine, averaging_attack
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted
from dpengine.lessons.differencing import differencing_attack
from dpengine.lessons.success_rate import Rate
from pages.parts.attacks.charts import rates_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS, percent

__all__ = ["AVERAGING", "DEFENCES", "DIFFERENCING", "Counted", "again", "choose", "counts", "measured",
           "rate_rows", "said"]  # fmt: skip

GAMES = 1000
CERTAIN = 0.999_999
LADDER = (1, 3, 10, 30, 100, 300, 1000)
EPSILONS = tuple(map(Fraction, ("0.1", "0.2", "0.5", "1", "2", "4")))
RATE_COLUMNS = {
    "right": st.column_config.NumberColumn("right", format="localized"),
    "of": st.column_config.NumberColumn("of", format="localized"),
    "low": st.column_config.NumberColumn("95 % interval from", format="percent"),
    "high": st.column_config.NumberColumn("to", format="percent"),
}

DEFENCES: dict[str, Callable[[Fraction], Defence]] = {
    "True counts": lambda epsilon: RAW,
    "Rounded to 5s": lambda epsilon: rounded(5),
    "Rounded to 10s": lambda epsilon: rounded(10),
    "Rounded to 100s": lambda epsilon: rounded(100),
    "± 5 at random, afresh each time": lambda epsilon: jittered(5),
    "Laplace noise, no budget": unbudgeted,
    OURS: engine,
}


@dataclass(frozen=True, slots=True)
class Counted:
    """An attack that asks counting questions: how it is told, what it asks, and how it is run."""

    name: str
    story: str
    asked: str
    unit: str
    run: Callable[[Defence, int, int], Rate]


DIFFERENCING = Counted(
    "differencing",
    "Ask how many people of a group are in the register, and how many of the same group *but for one person*. Neither "
    "question looks like one about her; the difference is her. More pairs of questions, about other groups, make sure.",
    "pairs of questions asked",
    "pairs of questions",
    differencing_attack,
)
AVERAGING = Counted(
    "averaging",
    "Ask the same count again and again. Noise that is drawn afresh each time averages away; who knows everybody else "
    "in the register then sees whether one more person is in it.",
    "times that the same is asked",
    "asks",
    lambda defence, asks, games: averaging_attack(defence, asks, games).rate,
)


def choose() -> tuple[str, Fraction]:
    """Whom the attack meets, and at what ε."""
    left, right = st.columns([3, 2], gap="large")
    name = left.selectbox("Defence", list(DEFENCES), key="attacks_defence")
    epsilon = right.select_slider(
        "ε, where noise has one", EPSILONS, value=Fraction(1), format_func=exact_text, key="attacks_epsilon",
        help="Of Laplace noise without a budget: for each answer. Of this engine: for all answers together.",
    )  # fmt: skip
    return name, epsilon


def again() -> int:
    """How often this visitor has asked to run it again."""
    return int(st.session_state.get("attacks_again", 0))


def run_again() -> None:
    st.session_state["attacks_again"] = again() + 1


def measured(asked: tuple[object, ...], run: Callable[[], object]) -> object:
    """What ``run`` found for ``asked``; kept, so that looking does not draw again."""
    asked = (*asked, again())
    held = st.session_state.setdefault("attacks_found", {})
    if asked not in held:
        while len(held) >= 16:
            held.pop(next(iter(held)))
        held[asked] = run()
    return held[asked]


def counts(attack: Counted) -> None:
    name, epsilon = choose()
    names = list(dict.fromkeys([name, OURS]))

    def run() -> dict[str, dict[int, Rate]]:
        return {each: {k: attack.run(DEFENCES[each](epsilon), k, GAMES) for k in LADDER} for each in names}

    lines: dict[str, dict[int, Rate]] = measured((attack.name, name, epsilon), run)  # type: ignore[assignment]
    most = posterior(0.5, epsilon)
    numbers(lines, most, attack.unit)
    line = said(name, lines[name], most, attack.unit)
    st.markdown(f"**{line}**")
    draw(rates_figure(lines, OURS, most, attack.asked), line, f"attacks-{attack.name}", 380)
    buttons(f"{GAMES:,} games at each point, all played just now; in each a fair coin puts her in the register or not.")
    twin(rate_rows(lines, attack.asked), f"attacks-{attack.name}", RATE_COLUMNS)
    if attack is AVERAGING and name == OURS:
        the_whole_engine(epsilon)


def buttons(told: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run it again", icon=":material/replay:", key="attacks_run_again", on_click=run_again)
        st.caption(told, width="content")


def numbers(lines: Mapping[str, Mapping[int, Rate]], most: float, unit: str) -> None:
    with st.grid(3, min_column_width=150):
        for name, rates in lines.items():
            last, rate = list(rates.items())[-1]
            ends = " to ".join(map(percent, rate.interval()))
            told = f"Right guesses after {last:,} {unit}; 95 % interval {ends}."
            st.metric(name, f"{rate.share:.1%}", border=True, help=told)
        st.metric("ε allows at most", f"{most:.1%}", border=True, help="e^ε/(1 + e^ε), whatever is asked.")


def said(name: str, rates: Mapping[int, Rate], most: float, unit: str) -> str:
    """What came of it, in a sentence. An attack has won where chance would hardly ever bring so much."""
    last, rate = list(rates.items())[-1]
    low, _ = rate.interval(CERTAIN)
    told = f"{name}: after {last:,} {unit}, right in {rate.successes:,} of {rate.tries:,}"
    if low > most:
        return f"{told}. The attack wins"
    if name == OURS:
        return f"{told}. That is within what ε allows, and more {unit} do not help"
    return f"{told}. This attack does not get through; a defence has to withstand every attack"


def rate_rows(lines: Mapping[str, Mapping[int, Rate]], asked: str) -> pd.DataFrame:
    rows = [
        {"defence": name, asked: k, "right": rate.successes, "of": rate.tries, "low": ends[0], "high": ends[1]}
        for name, rates in lines.items()
        for k, rate in rates.items()
        for ends in [rate.interval()]
    ]
    return pd.DataFrame(rows)


def the_whole_engine(epsilon: Fraction) -> None:
    """The same through every room of the engine, ledger included."""
    answers, spent = measured(("asked", epsilon), lambda: ask_engine(203, 10, epsilon))  # type: ignore[misc]
    st.markdown(
        f"**Through the whole engine**: a made-up register of 203 people, asked 10 times. Answers: "
        f"{', '.join(map(str, answers))}. Spent: ε = {exact_text(spent)}, once; the stored release is given again."
    )
