"""Differencing and averaging in the Attacks lab: fast attacks, run at each change, for growing numbers of questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.exact import exactly
from dpengine.lessons.averaging import ask_engine, averaging_attack
from dpengine.lessons.defences import Defence
from dpengine.lessons.differencing import differencing_attack
from dpengine.lessons.success_rate import Rate
from dpengine.translation.catalogue import _, mark, number
from pages.parts.attacks.charts import rates_figure
from pages.parts.attacks.outcome import (
    DEFENCES,
    choose_defence,
    measure,
    rate_columns,
    rate_rows,
    run_again_button,
    show_rates,
    verdict,
)
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import OURS

__all__ = ["AVERAGING", "DIFFERENCING", "CountingAttack", "show_attack"]

GAMES = 1000
QUESTIONS = (1, 3, 10, 30, 100, 300, 1000)


@dataclass(frozen=True, slots=True)
class CountingAttack:
    """An attack by counting questions: its story, the label of its x axis, and the function that runs it.

    `unit` is what stands after a number of its questions, `more` says that more of them do not help.
    """

    name: str
    story: str
    asked: str
    unit: str
    more: str
    run: Callable[[Defence, int, int], Rate]


DIFFERENCING = CountingAttack(
    "differencing",
    mark(
        "Ask how many people of a group are in the register. Then ask the same about the group *without one person*. "
        "Neither question looks like one about that person, but the difference of the two answers is. More pairs, "
        "about other groups, remove the doubt."
    ),
    mark("pairs of questions asked"),
    mark("pairs of questions"),
    mark("more pairs of questions do not help"),
    differencing_attack,
)
AVERAGING = CountingAttack(
    "averaging",
    mark(
        "Ask for the same count again and again. If new noise is drawn each time, it averages away. Someone who knows "
        "everybody else in the register then sees whether one more person is in it."
    ),
    mark("times the same question is asked"),
    mark("repetitions"),
    mark("more repetitions do not help"),
    averaging_attack,
)


def show_attack(attack: CountingAttack) -> None:
    """Run an attack on the chosen defence and on this engine, and show how often it is right."""
    st.markdown(_(attack.story), help=term(attack.name))
    name, epsilon = choose_defence()
    names = list(dict.fromkeys([name, OURS]))

    def run() -> dict[str, dict[int, Rate]]:
        return {each: {k: attack.run(DEFENCES[each](epsilon), k, GAMES) for k in QUESTIONS} for each in names}

    lines = measure(attack.name, (name, epsilon), run)
    bound = posterior(0.5, epsilon)
    show_rates(lines, bound, attack.unit)
    line = verdict(name, lines[name], bound, attack.unit, attack.more)
    st.markdown(f"**{line}**")
    draw(rates_figure(lines, bound, _(attack.asked)), line, f"attacks-{attack.name}", 380)
    run_again_button(
        _(
            "{games} games at each point, all played just now. In each, a fair coin puts the person in the register or "
            "not.",
            games=number(GAMES),
        )
    )
    twin(rate_rows(lines, attack.asked), f"attacks-{attack.name}", rate_columns(attack.asked))
    if attack is AVERAGING and name == OURS:
        _ask_engine(epsilon)


def _ask_engine(epsilon: Fraction) -> None:
    """Ask the engine ten times as a visitor would, with its ledger."""
    answers, spent = measure("engine", epsilon, lambda: ask_engine(203, 10, epsilon))
    st.markdown(
        _(
            "**Through the whole engine**: a made-up register of 203 people was asked 10 times. Answers: {answers}. "
            "Spent: ε = {epsilon}, once; every later answer is the stored release.",
            answers=", ".join(map(str, answers)),
            epsilon=exactly(spent),
        )
    )
