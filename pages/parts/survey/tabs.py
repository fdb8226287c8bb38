"""Tabs of the Survey lab: coins compared with a curator, four cells, the AND of two answers, and repeated questions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.lessons import survey
from dpengine.mechanisms.local.coins import composed
from dpengine.mechanisms.local.randomized_response import RandomizedResponse
from dpengine.spec.wording import people, percent
from dpengine.translation.catalogue import _, localised, mark, number, plural
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.survey.charts import and_figure, cells_figure, days_figure, people_figure
from pages.parts.survey.people import People
from pages.parts.visit.state import visit

__all__ = ["CHANCES", "VIEWS", "epsilon_words", "protocol_key"]

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 10**6, 3 * 10**6, 10**7)
CHANCES = tuple(Fraction(k, 20) for k in range(1, 20))
CELLS = np.array([[0.4, 0.1], [0.2, 0.3]])
CELL_NAMES = (mark("neither"), mark("second"), mark("first"), mark("both"))
DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 250, 365)
BITS = {"00": mark("no, no"), "01": mark("no, yes"), "10": mark("yes, no"), "11": mark("yes, yes")}


def epsilon_words(epsilon: Fraction) -> str:
    """Return ε with two decimals, or with four if it is below 1, rounded up.

    >>> epsilon_words(Fraction(2197224577336, 10**12)), epsilon_words(Fraction(1)), epsilon_words(Fraction(2, 3))
    ('2.2', '1', '0.6667')
    """
    units = 100 if epsilon >= 1 else 10_000
    return localised(f"{-(-epsilon * units // 1) / units:.4f}".rstrip("0").rstrip("."))


def protocol_key(protocol: survey.Protocol) -> tuple[object, ...]:
    """Return what identifies a protocol; no two sketches are equal, since each draws its own hash functions."""
    return type(protocol).__name__, protocol.answers, protocol.ratio


def against_curator(respondents: People, protocol: survey.Protocol, run: int) -> None:
    """Show how the error grows with the number of people, by coins and with a curator."""
    key = (respondents.name, protocol_key(protocol), run)
    errors = visit().once("survey-errors", key, lambda: survey.errors_by_size(protocol, respondents.counts, SIZES))
    here = survey.local_error(protocol, respondents.counts / respondents.size, respondents.size)
    constant = survey.curator_error(protocol.epsilon)
    line = _(
        "At {people} people a count is off by about {coins} with coins, and by {curator} with a curator",
        people=number(respondents.size),
        coins=people(here),
        curator=people(constant),
    )
    st.markdown(f"**{line}**")
    draw(
        people_figure(errors, respondents.size),
        _("{line}; the error of coins grows as √n, the curator's is constant.", line=line),
        "survey-people",
    )
    st.caption(
        _(
            "With a hundred times as many people, the error of coins is ten times as large; that of the curator stays "
            "the same. As a share of all people both shrink. Lines are computed, dots are measured in one run, at the "
            "same ε."
        )
    )
    columns = (
        mark("people"),
        mark("coins, predicted"),
        mark("curator, predicted"),
        mark("coins, in one run"),
        mark("curator, in one run"),
    )
    frame = pd.DataFrame(
        [(s.people, s.local, s.curator, s.local_observed, s.curator_observed) for s in errors], columns=list(columns)
    )
    twin(frame, "survey-people", _numbers(columns, "%.4g"))


def four_cells(respondents: People, protocol: survey.Protocol, run: int) -> None:
    """Compare the four cells of two yes-or-no questions, by coins and with a curator."""
    coin = _coin("survey_cells_coin")
    total = composed(coin.ratio, 2)
    cells = survey.scaled_counts(CELLS.ravel(), respondents.size).reshape(2, 2)
    key = (respondents.size, coin, run)
    result, published = visit().once("survey-cells", key, lambda: survey.ask_pairs(coin, cells))
    size = respondents.size
    estimate, within = (result.shares * size).ravel(), (result.half_widths() * size).ravel()
    worst, typical = float(within.max()), survey.curator_error(total)
    line = _(
        "The four cells of {people} people: within ±{coins} by coins, off by about {curator} with a curator",
        people=number(size),
        coins=people(worst),
        curator=people(typical),
    )
    st.markdown(f"**{line}**")
    coins, noise = estimate - cells.ravel(), (published - cells).ravel()
    names = list(map(_, CELL_NAMES))
    draw(cells_figure(names, coins, within, noise), f"{line}.", "survey-cells", 320)
    st.caption(
        _(
            "Two yes-or-no questions to made-up people. Both ways protect a person's two answers by ε = {epsilon}. The "
            "curator publishes the contingency table of four cells, with an error that does not depend on the number "
            "of people. Publish makes such a table.",
            epsilon=epsilon_words(total),
        )
    )
    frame = pd.DataFrame(
        {
            mark("yes to"): names,
            mark("truth"): cells.ravel(),
            mark("coins"): estimate,
            "±": within,
            mark("curator"): published.ravel(),
            mark("coins off by"): coins,
            mark("curator off by"): noise,
        }
    )
    twin(frame, "survey-cells", _numbers(frame.columns[1:], "%,.0f") | {"yes to": _("yes to")})


def logical_and(respondents: People, protocol: survey.Protocol, run: int) -> None:
    """Show how much the AND of two separately protected answers reveals."""
    coin = _coin("survey_and_coin")
    distributions = survey.pair_distributions(coin)
    both = [reports[3] for reports in distributions.values()]
    one, pair = coin.epsilon, composed(coin.ratio, 2)
    with st.grid(3, min_column_width=150):
        st.metric(_("ε of one answer"), epsilon_words(one), border=True, help=_("ln 3 with fair coins; rounded up."))
        note = _("ln 9 with fair coins: the two ε add up.")
        st.metric(_("ε of both"), epsilon_words(pair), border=True, help=note)
        times = _("{factor} times", factor=number(float(max(both) / min(both)), ".4g"))
        st.metric(_("yes, yes over no, no"), times, border=True)
    texts = [str(each) if each.denominator < 10_000 else number(float(each), ".3f") for each in both]
    line = _(
        "Both reports say yes with chance {yes} if both answers are yes, and {no} if both are no",
        yes=texts[3],
        no=texts[0],
    )
    st.markdown(f"**{line}**")
    truths = list(map(_, BITS.values()))
    draw(and_figure(truths, [float(each) for each in both], texts), f"{line}.", "survey-and", 300)
    st.caption(
        _(
            "Two answers, each protected by its own coins. Their AND reveals more than either answer: what becomes "
            "known about a person adds up, however well each answer is protected. Computed exactly, not simulated."
        )
    )
    rows = [[_(BITS[bits]), *map(float, reports)] for bits, reports in distributions.items()]
    frame = pd.DataFrame(rows, columns=["truth", *(f"report {words}" for words in BITS.values())])
    column = st.column_config.NumberColumn
    columns = {
        f"report {words}": column(_("report {answers}", answers=_(words)), format="%.4f") for words in BITS.values()
    }
    twin(frame, "survey-and", {"truth": _("truth")} | columns)


def every_day(respondents: People, protocol: survey.Protocol, run: int) -> None:
    """Show how repeated reports weaken privacy."""
    days = st.select_slider(_("Number of days on which the same question is asked"), DAYS, value=30, key="survey_days")
    ratio = protocol.ratio
    guesses = [survey.repeated_guess(ratio, each) for each in range(1, DAYS[-1] + 1)]
    right, total = guesses[days - 1][0], composed(ratio, days)
    with st.grid(2, min_column_width=150):
        st.metric(_("ε after all days"), epsilon_words(total), border=True, help=_("Independent reports add up."))
        note = _("A guess by the majority of the reports.")
        st.metric(_("A guess is right"), percent(right), border=True, help=note)
    line = plural(
        "After {n} fresh report at ε = {epsilon}, a guess at a person's answer is right {share} of the time",
        "After {n} fresh reports at ε = {epsilon}, a guess at a person's answer is right {share} of the time",
        days,
        epsilon=epsilon_words(protocol.epsilon),
        share=percent(right),
    )
    st.markdown(f"**{line}**")
    places = list(range(1, DAYS[-1] + 1))
    figure = days_figure(places, [r for r, _ in guesses], [b for _, b in guesses], guesses[0][0], days)
    alt = _("{line}; the first report repeated stays at {share}.", line=line, share=percent(guesses[0][0]))
    draw(figure, alt, "survey-days", 320)
    st.caption(
        _(
            "A yes-or-no question whose answer stays the same. If coins are flipped anew every day, anyone who keeps "
            "the reports can average them away. Repeating the first report keeps ε, as long as the true answer does "
            "not change. A limit on reports per day is no limit on reports per year (Tang et al. 2017, on Apple's "
            "collection)."
        )
    )
    frame = pd.DataFrame([(each, float(composed(ratio, each)), *guesses[each - 1]) for each in DAYS],
                         columns=[mark("days"), "ε", mark("a guess is right"), mark("at most, by ε")])  # fmt: skip
    columns = _numbers(("days", "ε"), "%.5g") | _numbers(frame.columns[2:], "percent")
    twin(frame, "survey-days", columns)


VIEWS = {
    mark("Coins against a curator"): against_curator,
    mark("Two questions, four cells"): four_cells,
    mark("The AND of two answers"): logical_and,
    mark("Every day again"): every_day,
}


def _coin(key: str) -> RandomizedResponse:
    chance = st.select_slider(
        _("Chance that a person answers each question by a fair coin instead of the truth"),
        CHANCES,
        value=Fraction(1, 2),
        format_func=lambda each: percent(float(each)),
        key=key,
    )
    return RandomizedResponse(chance)


def _numbers(names: Iterable[str], form: str) -> dict[str, object]:
    return {name: st.column_config.NumberColumn(_(name), format=form) for name in names}
