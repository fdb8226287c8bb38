"""Why a table without names, or a k-anonymous one, is not private: with a textbook's patients and made-up people."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons import textbook_patients
from dpengine.lessons.success_rate import Rate
from dpengine.lessons.textbook_patients import Patient
from pages.parts.risk import numbers
from pages.parts.risk.charts import curve_figure, rates_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import factor, percent, plural
from pages.parts.visit.state import visit

__all__ = ["LESSONS", "patients_frame"]

KS = (2, 3, 4, 5, 6, 8, 10)
COARSE = {"exact date": 1, "month": 30, "year": 365}
EPSILONS = tuple(map(exact_text, rungs("0.01", "5")))
KNOWS = ("zip code, birth and sex", "everyone else's condition too")


def patients_frame(table: tuple[Patient, ...]) -> pd.DataFrame:
    """Return a table of the textbook for display."""
    return pd.DataFrame(
        [(each.zip, each.age, each.nationality, each.condition) for each in table],
        columns=["zip code", "age", "nationality", "condition"],
        index=pd.RangeIndex(1, len(table) + 1),
    )


def _seed(lesson: str) -> int:
    """Return the seed of a lesson's made-up people, and show a button for the next seed."""
    name = f"risk-{lesson}"
    note = "With other made-up people. A seed lets you see the same people again; a release never has one."
    st.button(
        "Run it again",
        icon=":material/casino:",
        key=f"risk_again_{lesson}",
        on_click=visit().turn,
        args=(name,),
        help=note,
    )
    return visit().turns(name)


def _share(rate: Rate) -> str:
    """Return a measured rate as a percentage, 100 % only if every try succeeded."""
    return "100 %" if rate.successes == rate.tries else percent(rate.share)


def _interval(rate: Rate) -> str:
    low, high = rate.interval()
    return f"{_share(rate)} (95 %: {100 * low:.1f} to {100 * high:.1f})"


def homogeneity() -> None:
    """Show a class whose members all have the same condition once impossible ones are ruled out."""
    stories = {story.title: story for story in textbook_patients.STORIES}
    chosen = st.segmented_control("Attack", list(stories), default="Homogeneity", required=True, key="risk_story")
    story = stories[chosen]
    look = textbook_patients.FOUR_ANONYMOUS[story.patient].quasi_identifiers
    left, right = st.columns([3, 2], gap="large")
    with left:
        frame = patients_frame(textbook_patients.FOUR_ANONYMOUS).drop(columns="nationality")  # * means all
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
        if story.never:
            result = f"Without {' and '.join(story.never).lower()}, only {named} is left"
        else:
            result = f"All four have {named}"
        st.markdown(f"Four rows fit, as 4-anonymity promises. {result}. No name was needed.")


def two_tables() -> None:
    """Show that two k-anonymous tables together are not k-anonymous."""
    st.markdown(
        "400 people were patients of two hospitals, and each hospital publishes a k-anonymous table of its own "
        "patients. How often do the tables reveal a patient's condition?"
    )
    k = st.select_slider("k", KS, value=3, key="risk_k")
    seed = _seed("two")
    rates = numbers.given_away(seed, KS)
    one, two = rates[KS.index(k)]
    with st.grid(2, min_column_width=150):
        st.metric("By one table", _share(one), border=True)
        st.metric("By both together", _share(two), border=True)
    line = (
        f"With k = {k}, one table reveals the condition of {_share(one)} of people, and both together of {_share(two)}"
    )
    st.markdown(f"**{line}.**")
    lines = {"both tables": [each[1] for each in rates], "one table": [each[0] for each in rates]}
    draw(curve_figure(KS, lines, k, ("k of both tables", "conditions revealed")), f"{line}.", "risk-two", 320)
    rows = [
        {"k": each, "one table": _interval(a), "both tables": _interval(b)}
        for each, (a, b) in zip(KS, rates, strict=True)
    ]
    twin(pd.DataFrame(rows), "risk-two")
    st.markdown(
        "k-anonymity says nothing about what several tables reveal together. Privacy budgets add up: two releases with "
        "ε/2 each count as one with ε, whatever their tables."
    )


def one_more() -> None:
    """Show what today's table and tomorrow's together reveal about a new patient."""
    after = (*textbook_patients.FOUR_ANONYMOUS, textbook_patients.NEWCOMER)
    new = textbook_patients.added_rows(textbook_patients.FOUR_ANONYMOUS, after)[0]
    st.markdown(
        "The hospital publishes its 4-anonymous table on Monday, and again on Tuesday. A neighbour, 44 years old, zip "
        "code 14853, was admitted on Tuesday."
    )
    class_ = [
        each.condition for each in textbook_patients.FOUR_ANONYMOUS if each.quasi_identifiers == new.quasi_identifiers
    ]
    counts = pd.DataFrame({"Monday": pd.Series(class_).value_counts(),
                           "Tuesday": pd.Series([*class_, new.condition]).value_counts()})  # fmt: skip
    counts["difference"] = counts["Tuesday"] - counts["Monday"]
    st.dataframe(counts.rename_axis("condition of people like them").reset_index(), hide_index=True)
    st.markdown(
        f"Both tables are 4-anonymous. Their difference is one row: **{new.condition.lower()}**. If both tables had "
        "noise, the difference would be mostly noise, and it would cost the sum of the two ε."
    )


def names_back() -> None:
    """Show Sweeney's linkage, and what an attacker learns without any name."""
    st.markdown(
        "In a made-up town of 40,000, a hospital publishes 4,000 rows without names. Seven in ten residents are on a "
        "public list of voters with ZIP code, date of birth and sex. Conditions do not depend on any of these."
    )
    seed = _seed("names")
    born = st.segmented_control("Date of birth as", list(COARSE), default="exact date", required=True, key="risk_birth")
    linked = numbers.names_found(seed, COARSE[born])
    with st.grid(2, min_column_width=150):
        st.metric("Names found", _share(linked.rate), border=True, help="Rows that get their own name back.")
        sure = percent(linked.right / linked.claimed) if linked.claimed else "no claims"
        st.metric("Claims that are right", sure, border=True)
    st.markdown(
        "**Names are not needed.** How often does someone guess a patient's condition, knowing …", help=term("linkage")
    )
    knows = st.segmented_control("Knows", KNOWS, default=KNOWS[0], required=True, key="risk_knows",
                                 label_visibility="collapsed")  # fmt: skip
    left, right = st.columns(2)
    k = left.select_slider("k of the k-anonymous table", (2, 5, 10, 50, 500), value=5, key="risk_town_k")
    epsilon = right.select_slider("ε of our release", EPSILONS, value="0.1", key="risk_town_epsilon")
    defences = {
        "names removed": ("raw", ""),
        f"{k}-anonymous": ("k", str(k)),
        f"ours, ε = {epsilon}": ("release", epsilon),
    }
    guesses = {name: numbers.guesses(seed, *which)[KNOWS.index(knows)] for name, which in defences.items()}
    ours = guesses[f"ours, ε = {epsilon}"]
    line = (
        f"Right for {_share(guesses[f'{k}-anonymous'].inside)} of the people in the {k}-anonymous table, and for "
        f"{_share(ours.inside)} of those in our release ({_share(ours.outside)} if they had been left out)"
    )
    st.markdown(f"**{line}.**")
    bars = {"with the person": [each.inside for each in guesses.values()],
            "without the person": [each.outside for each in guesses.values()]}  # fmt: skip
    draw(rates_figure(list(guesses), bars, "condition guessed right"), f"{line}.", "risk-guesses", 340)
    rows = [
        {"published": name, "with the person": _interval(each.inside), "without the person": _interval(each.outside)}
        for name, each in guesses.items()
    ]
    twin(pd.DataFrame(rows), "risk-guesses")
    st.markdown(
        f"With ε = {epsilon}, being in the table makes a right guess at most {factor(Fraction(epsilon))} times as "
        "likely, whatever the attacker knows. Always guessing the most common condition is right for 1 in 5. A "
        "k-anonymous table has no such bound: whoever knows the others' conditions can read off the last one, for "
        "any k."
    )
    st.caption(
        "Our release, drawn anew, counts people by ZIP code, decade of birth, sex and condition. After Sweeney 2000."
    )


def films() -> None:
    """Show Narayanan and Shmatikov's attack on ratings."""
    st.markdown(
        "2,000 made-up people rate films, and the ratings are published without names. Someone knows a few films that "
        "a friend has rated, with how many stars (to within one), and when (to within two weeks)."
    )
    left, right = st.columns(2)
    known = left.select_slider("Films known", numbers.KNOWN, value=4, key="risk_known")
    wrong = right.select_slider("Wrong films among them", (0, 1, 2), key="risk_wrong")
    epsilon = "1"
    seed = _seed("films")
    searches = numbers.films(seed, epsilon, wrong)
    at = numbers.KNOWN.index(known)
    with st.grid(3, min_column_width=150):
        for name, each in searches.items():
            st.metric(name.capitalize(), _share(each[at].rate), border=True, help="People whose record is found.")
    line = (
        f"Knowing {plural(known, 'film')} finds {_share(searches['names removed'][at].rate)} of people if only names "
        f"were removed, and {_share(searches['our release'][at].rate)} in our release"
    )
    st.markdown(f"**{line}.**")
    rates = {name: [each.rate for each in of_one] for name, of_one in searches.items()}
    draw(curve_figure(numbers.KNOWN, rates, known, ("films known", "people found")), f"{line}.", "risk-films", 340)
    rows = [
        {"films known": each, **{name: _interval(of_one[place]) for name, of_one in rates.items()}}
        for place, each in enumerate(numbers.KNOWN)
    ]
    twin(pd.DataFrame(rows), "risk-films")
    st.caption(
        f"Scoreboard-RH of Narayanan & Shmatikov 2008, searching for {numbers.TARGETS} people; a record is claimed if "
        f"its score stands out. Our release counts films by stars at ε = {epsilon}, with up to 40 ratings a person. "
        "Records are made from its counts and belong to nobody, so a claim is right only by chance, 1 in 2,000."
    )


LESSONS: dict[str, Callable[[], None]] = {
    "All the same": homogeneity,
    "Two tables": two_tables,
    "One more patient": one_more,
    "Names come back": names_back,
    "A few films": films,
}
