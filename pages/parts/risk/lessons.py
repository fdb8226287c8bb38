"""Why a table without names, or a k-anonymous one, is not a private one: shown on a textbook's patients, measured on
made-up people."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import streamlit as st

from dpengine.lessons import textbook_patients
from dpengine.lessons.success_rate import Rate
from dpengine.lessons.textbook_patients import Patient
from pages.parts.risk import numbers as numbers
from pages.parts.risk.charts import curve_figure, rates_figure
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import percent

__all__ = ["LESSONS", "patients_frame", "run_again"]

KS = (2, 3, 4, 5, 6, 8, 10)
COARSE = {"exact date": 1, "month": 30, "year": 365}
EPSILONS = ("0.01", "0.1", "0.5", "1", "2", "5")
KNOWS = ("how the person looks", "everyone else's condition too")


def patients_frame(table: tuple[Patient, ...]) -> pd.DataFrame:
    """A table of the textbook as one would read it."""
    return pd.DataFrame(
        [(each.zip, each.age, each.nationality, each.condition) for each in table],
        columns=["zip code", "age", "nationality", "condition"],
        index=pd.RangeIndex(1, len(table) + 1),
    )


def run_again(key: str) -> int:
    """The seed of this lesson's people: another one at each press."""
    seed = int(st.session_state.setdefault(f"risk_seed_{key}", 0))
    what = "With other made-up people. Seeds make these people come again; the release never has one."
    again = f"risk_again_{key}"
    st.button("Run it again", icon=":material/casino:", key=again, on_click=_other, args=(key,), help=what)
    return seed


def _other(key: str) -> None:
    st.session_state[f"risk_seed_{key}"] += 1


def _said(rate: Rate) -> str:
    """A measured rate; where all tries succeeded it is 100 %, of so many tries."""
    return "100 %" if rate.successes == rate.tries else percent(rate.share)


def _interval(rate: Rate) -> str:
    low, high = rate.interval()
    return f"{_said(rate)} (95 %: {100 * low:.1f} to {100 * high:.1f})"


def homogeneity() -> None:
    """All of a class have the same, or all but what one can rule out."""
    stories = {story.title: story for story in textbook_patients.STORIES}
    chosen = st.segmented_control("Attack", list(stories), default="Homogeneity", required=True, key="risk_story")
    story = stories[chosen]
    look = textbook_patients.FOUR_ANONYMOUS[story.patient].quasi_identifiers
    left, right = st.columns([3, 2], gap="large")
    with left:
        frame = patients_frame(textbook_patients.FOUR_ANONYMOUS).drop(columns="nationality")  # * for all
        frame.insert(
            0, "fits", ["◀" if each.quasi_identifiers == look else "" for each in textbook_patients.FOUR_ANONYMOUS]
        )
        st.dataframe(
            frame, height="content", alt="The 4-anonymous inpatient table, with the rows that fit the person marked"
        )
    with right:
        st.markdown(f"*{story.knows}*")
        remaining = sorted(set(story.remaining))
        st.metric("Conditions left", len(remaining), border=True)
        named = f"**{' or '.join(remaining).lower()}**"
        told = (
            f". Without {' and '.join(story.never).lower()}, {named} is left" if story.never else f": all have {named}"
        )
        st.markdown(f"Four rows fit, as 4-anonymity says{told}. No name was needed.")


def two_tables() -> None:
    """Each of two tables keeps its k; together they do not."""
    st.markdown(
        "400 people were in two hospitals, and each hospital publishes a k-anonymous table of its own patients. "
        "How often is one's condition given away?"
    )
    k = st.select_slider("k", KS, value=3, key="risk_k")
    seed = run_again("two")
    rates = numbers.given_away(seed, KS)
    one, two = rates[KS.index(k)]
    with st.grid(2, min_column_width=150):
        st.metric("By one table", _said(one), border=True)
        st.metric("By both together", _said(two), border=True)
    line = f"With k = {k}, one table gives away {_said(one)} of people, and both together {_said(two)}"
    st.markdown(f"**{line}.**")
    lines = {"both tables": [each[1] for each in rates], "one table": [each[0] for each in rates]}
    draw(curve_figure(KS, lines, k, ("k of both tables", "given away")), f"{line}.", "risk-two", 320)
    _twin(
        [
            {"k": each, "one table": _interval(a), "both tables": _interval(b)}
            for each, (a, b) in zip(KS, rates, strict=True)
        ]
    )
    st.markdown(
        "Nothing in k-anonymity says what happens when tables meet. Budgets add up: two releases of ε/2 are "
        "together one of ε, whatever their tables."
    )


def one_more() -> None:
    """The table of today and that of tomorrow."""
    after = (*textbook_patients.FOUR_ANONYMOUS, textbook_patients.NEWCOMER)
    new = textbook_patients.added_rows(textbook_patients.FOUR_ANONYMOUS, after)[0]
    st.markdown(
        "The hospital publishes its 4-anonymous table on Monday, and again on Tuesday. A neighbour, 44 years old, "
        "zip code 14853, was taken there on Tuesday."
    )
    class_ = [
        each.condition for each in textbook_patients.FOUR_ANONYMOUS if each.quasi_identifiers == new.quasi_identifiers
    ]
    counts = pd.DataFrame({"Monday": pd.Series(class_).value_counts(),
                           "Tuesday": pd.Series([*class_, new.condition]).value_counts()})  # fmt: skip
    counts["difference"] = counts["Tuesday"] - counts["Monday"]
    st.dataframe(counts.rename_axis("condition of people like them").reset_index(), hide_index=True)
    st.markdown(
        f"Both tables are 4-anonymous. Their difference is one row: **{new.condition.lower()}**. With noise in both, "
        "the difference is mostly noise, and its price is the sum of the two ε."
    )


def names_back() -> None:
    """Sweeney's linkage, and what is learned without any name."""
    st.markdown(
        "A hospital publishes 4,000 rows without names, of a made-up town of 40,000; seven in ten residents stand on a "
        "public list of voters with ZIP code, date of birth and sex. Conditions are independent of all else."
    )
    seed = run_again("names")
    born = st.segmented_control("Date of birth as", list(COARSE), default="exact date", required=True, key="risk_birth")
    found = numbers.names_found(seed, COARSE[born])
    with st.grid(2, min_column_width=150):
        st.metric("Rows that get a name back", _said(found.rate), border=True)
        sure = percent(found.right / found.claimed) if found.claimed else "no claims"
        st.metric("Claims that are right", sure, border=True)
    st.markdown("**Names are not needed.** How often is a patient's condition guessed right by someone who knows …")
    knows = st.segmented_control("Knows", KNOWS, default=KNOWS[0], required=True, key="risk_knows",
                                 label_visibility="collapsed")  # fmt: skip
    left, right = st.columns(2)
    k = left.select_slider("k of the k-anonymous table", (2, 5, 10, 50, 500), value=5, key="risk_town_k")
    epsilon = right.select_slider("ε of our release", EPSILONS, value="0.1", key="risk_town_epsilon")
    defences = {
        "names removed": ("raw", ""),
        f"{k}-anonymous": ("k", str(k)),
        f"ours, ε = {epsilon}": ("ours", epsilon),
    }
    told = {name: numbers.guesses(seed, *which)[KNOWS.index(knows)] for name, which in defences.items()}
    ours = told[f"ours, ε = {epsilon}"]
    line = (
        f"Right for {_said(told[f'{k}-anonymous'].inside)} of those in the {k}-anonymous table, and for "
        f"{_said(ours.inside)} of those in our release; had they not been in it, {_said(ours.outside)}"
    )
    st.markdown(f"**{line}.**")
    bars = {"as it is": [each.inside for each in told.values()],
            "had the person not been in it": [each.outside for each in told.values()]}  # fmt: skip
    draw(rates_figure(list(told), bars, "condition guessed right"), f"{line}.", "risk-guesses", 340)
    _twin([{"published": name, "as it is": _interval(each.inside), "without the person": _interval(each.outside)}
           for name, each in told.items()])  # fmt: skip
    most = math.exp(float(epsilon))
    st.markdown(
        f"With ε = {epsilon}, being in the table makes a right guess at most {most:.3g} times as likely, whatever the "
        "attacker knows. The commonest condition alone is right for 1 in 5. A k-anonymous table has no "
        "such bound: who knows the others' conditions reads off the last one's, at any k."
    )
    st.caption("Our release is drawn afresh by ZIP code, decade of birth, sex and condition. After Sweeney 2000.")


def films() -> None:
    """Narayanan and Shmatikov's attack on ratings."""
    st.markdown(
        "2,000 made-up people rate films, and the ratings are published without names. Someone knows a few films that "
        "a friend has seen, how many stars they gave (give or take one), and when (within two weeks)."
    )
    left, right = st.columns(2)
    known = left.select_slider("Films known", numbers.KNOWN, value=4, key="risk_known")
    wrong = right.select_slider("of which wrong", (0, 1, 2), key="risk_wrong")
    epsilon = "1"
    seed = run_again("films")
    found = numbers.films(seed, epsilon, wrong)
    at = numbers.KNOWN.index(known)
    with st.grid(3, min_column_width=150):
        for name, each in found.items():
            st.metric(name.capitalize(), _said(each[at].rate), border=True, help="People whose record is found.")
    line = f"{known} films find {_said(found['names removed'][at].rate)} of people where only names were removed"
    line += f", and {_said(found['our release'][at].rate)} in our release"
    st.markdown(f"**{line}.**")
    rates = {name: [each.rate for each in own] for name, own in found.items()}
    draw(
        curve_figure(numbers.KNOWN, rates, known, ("films known", "people found again")), f"{line}.", "risk-films", 340
    )
    _twin([{"films known": each, **{name: _interval(own[place]) for name, own in rates.items()}}
           for place, each in enumerate(numbers.KNOWN)])  # fmt: skip
    st.caption(
        f"Scoreboard-RH of Narayanan & Shmatikov 2008, {numbers.TARGETS} people looked for; a record is claimed where "
        f"its score stands out. Our release counts films by stars at ε = {epsilon}, 40 ratings a person; records are "
        "dealt from its counts. They belong to nobody, so a claim is right by chance, 1 in 2,000."
    )


def _twin(rows: list[dict[str, object]]) -> None:
    with st.expander("The same as a table", icon=":material/table_rows:"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)


LESSONS: dict[str, Callable[[], None]] = {
    "All the same": homogeneity,
    "Two tables": two_tables,
    "One more patient": one_more,
    "Names come back": names_back,
    "A few films": films,
}
