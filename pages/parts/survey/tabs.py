"""The closer looks of the Survey lab: coins against a curator, four cells, the AND of two answers, and every day."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.lessons import survey
from dpengine.mechanisms.local.coins import composed
from dpengine.mechanisms.local.randomized_response import RandomizedResponse
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import people, percent, plural
from pages.parts.survey.charts import and_figure, cells_figure, days_figure, people_figure
from pages.parts.survey.people import People

__all__ = ["VIEWS", "epsilon_words", "named"]

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 10**6, 3 * 10**6, 10**7)
CELLS = np.array([[0.4, 0.1], [0.2, 0.3]])
CELL_NAMES = ("neither", "second", "first", "both")
DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 250, 365)
BITS = {"00": "no, no", "01": "no, yes", "10": "yes, no", "11": "yes, yes"}


def epsilon_words(epsilon: Fraction) -> str:
    """An ε as one reads it: four digits after the point, never below the exact one.

    >>> epsilon_words(Fraction(1098612288669, 10**12)), epsilon_words(Fraction(1))
    ('1.0987', '1')
    """
    return f"{-(-epsilon * 10_000 // 1) / 10_000:.4f}".rstrip("0").rstrip(".")


def named(protocol: survey.Protocol) -> tuple[object, ...]:
    """What tells a protocol from others: sketches are equal to no other, since each draws its hash functions."""
    return type(protocol).__name__, protocol.answers, protocol.ratio


def against_curator(asked: People, protocol: survey.Protocol, run: int) -> None:
    key = (asked.name, named(protocol), run)
    if st.session_state.get("survey_spread", (None,))[0] != key:
        st.session_state["survey_spread"] = (key, survey.errors_by_size(protocol, asked.counts, SIZES))
    spreads: list[survey.SurveyError] = st.session_state["survey_spread"][1]
    here = survey.local_error(protocol, asked.counts / asked.size, asked.size)
    constant = survey.curator_error(protocol.epsilon)
    line = (
        f"At {asked.size:,} people a count is off by about {people(here)} with coins, and by {people(constant)} with "
        "a curator"
    )
    st.markdown(f"**{line}**")
    draw(people_figure(spreads, asked.size), f"{line}; coins grow as √n, the curator's line is flat.", "survey-people")
    st.caption(
        "A hundred times as many people: ten times the error of coins, and the same error of the curator. As a share "
        "of all people both shrink. Lines are computed, dots are measured in one run each, for the same ε."
    )
    columns = ("people", "coins, predicted", "curator, predicted", "coins, in one run", "curator, in one run")
    frame = pd.DataFrame(
        [(s.people, s.local, s.curator, s.local_observed, s.curator_observed) for s in spreads], columns=list(columns)
    )
    twin(frame, "survey-people", _numbers(columns, "%.4g"))


def four_cells(asked: People, protocol: survey.Protocol, run: int) -> None:
    coin = _coin("survey_cells_coin")
    total = composed(coin.ratio, 2)
    cells = survey.scaled_counts(CELLS.ravel(), asked.size).reshape(2, 2)
    key = (asked.size, coin, run)
    if st.session_state.get("survey_cells", (None,))[0] != key:
        st.session_state["survey_cells"] = (key, *survey.ask_pairs(coin, cells))
    _, told, published = st.session_state["survey_cells"]
    size = asked.size
    estimate, within = (told.shares * size).ravel(), (told.half_widths() * size).ravel()
    worst, typical = float(within.max()), survey.curator_error(total)
    line = (
        f"The four cells of {size:,} people: within ±{people(worst)} by coins, off by about {people(typical)} by a "
        "curator"
    )
    st.markdown(f"**{line}**")
    coins, noise = estimate - cells.ravel(), (published - cells).ravel()
    draw(cells_figure(CELL_NAMES, coins, within, noise), f"{line}.", "survey-cells", 320)
    st.caption(
        f"Two yes-or-no questions to made-up people, both ways with ε = {epsilon_words(total)} for a person's two "
        "answers. The curator publishes the four-cell contingency table with an error that does not depend on n. That "
        "table is what Publish makes."
    )
    frame = pd.DataFrame(
        {
            "yes to": CELL_NAMES,
            "truth": cells.ravel(),
            "coins": estimate,
            "±": within,
            "curator": published.ravel(),
            "coins off by": coins,
            "curator off by": noise,
        }
    )
    twin(frame, "survey-cells", _numbers(frame.columns[1:], "%.0f"))


def logical_and(asked: People, protocol: survey.Protocol, run: int) -> None:
    coin = _coin("survey_and_coin")
    laws = survey.pair_distributions(coin)
    both = [law[3] for law in laws.values()]
    one, pair = coin.epsilon, composed(coin.ratio, 2)
    with st.grid(3, min_column_width=150):
        st.metric("ε of one answer", epsilon_words(one), border=True, help="ln 3 with fair coins; rounded up.")
        st.metric("ε of both", epsilon_words(pair), border=True, help="ln 9 with fair coins: the two add up.")
        st.metric("yes, yes over no, no", f"{float(max(both) / min(both)):.4g} times", border=True)
    texts = [str(each) if each.denominator < 10_000 else f"{float(each):.3f}" for each in both]
    line = f"Both reports say yes with chance {texts[3]} if both answers are yes, and {texts[0]} if both are no"
    st.markdown(f"**{line}**")
    draw(and_figure(list(BITS.values()), [float(each) for each in both], texts), f"{line}.", "survey-and", 300)
    st.caption(
        "Two answers, each protected by coins of its own. Whoever looks at their AND learns more than from either: "
        "what is told of a person adds up, however well each piece is protected. Exact, not simulated."
    )
    rows = [[BITS[bits], *map(float, law)] for bits, law in laws.items()]
    frame = pd.DataFrame(rows, columns=["truth", *(f"report {words}" for words in BITS.values())])
    twin(frame, "survey-and", _numbers(frame.columns[1:], "%.4f"))


def every_day(asked: People, protocol: survey.Protocol, run: int) -> None:
    days = st.select_slider("The same question, asked on so many days", DAYS, value=30, key="survey_days")
    ratio = protocol.ratio
    known = [survey.repeated_guess(ratio, each) for each in range(1, DAYS[-1] + 1)]
    right, total = known[days - 1][0], composed(ratio, days)
    with st.grid(2, min_column_width=150):
        st.metric("ε after all days", epsilon_words(total), border=True, help="Independent reports add up.")
        st.metric("A guess is right", percent(right), border=True, help="By what most of the reports say.")
    line = (
        f"After {plural(days, 'fresh report')} at ε = {epsilon_words(protocol.epsilon)} a guess at one's answer is "
        f"right {percent(right)} of the time"
    )
    st.markdown(f"**{line}**")
    places = list(range(1, DAYS[-1] + 1))
    figure = days_figure(places, [r for r, _ in known], [b for _, b in known], known[0][0], days)
    draw(figure, f"{line}; the first report repeated stays at {percent(known[0][0])}.", "survey-days", 320)
    st.caption(
        "A yes-or-no question whose answer stays the same. Fresh coins every day let anyone who keeps the reports "
        "average them away. To draw once and repeat that report keeps ε, as long as the truth does not change. A limit "
        "on reports a day is no limit on reports a year (Tang et al. 2017, of Apple's collection)."
    )
    frame = pd.DataFrame([(each, float(composed(ratio, each)), *known[each - 1]) for each in DAYS],
                         columns=["days", "ε", "a guess is right", "at most, by ε"])  # fmt: skip
    columns = _numbers(("days", "ε"), "%.5g") | {
        name: st.column_config.NumberColumn(name, format="percent") for name in frame.columns[2:]
    }
    twin(frame, "survey-days", columns)


VIEWS = {
    "Coins against a curator": against_curator,
    "Two questions, four cells": four_cells,
    "The AND of two answers": logical_and,
    "Every day again": every_day,
}


def _coin(key: str) -> RandomizedResponse:
    chances = tuple(Fraction(k, 20) for k in range(1, 20))
    chance = st.select_slider(
        "Chance that a person answers each question by a fair coin instead of the truth",
        chances,
        value=Fraction(1, 2),
        format_func=lambda each: percent(float(each)),
        key=key,
    )
    return RandomizedResponse(chance)


def _numbers(names: Iterable[str], form: str) -> dict[str, object]:
    return {name: st.column_config.NumberColumn(name, format=form) for name in names}
