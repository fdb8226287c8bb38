"""Attacks on tables without names, run on made-up people."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons.deanonymisation import Search
from dpengine.lessons.success_rate import Rate
from dpengine.spec.wording import factor, percent
from dpengine.translation.catalogue import _, localised, mark, number, plural
from pages.parts.risk import made_up_people
from pages.parts.risk.charts import curve_figure, rates_figure
from pages.parts.shared.choices import choose_one
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.visit.state import visit

__all__ = ["films", "names_back", "two_tables"]

KS = (2, 3, 4, 5, 6, 8, 10)
COARSE = {mark("exact date"): 1, mark("month"): 30, mark("year"): 365}
EPSILONS = tuple(map(exact_text, rungs("0.01", "5")))
KNOWS = (mark("zip code, birth and sex"), mark("everyone else's condition too"))


def _seed(lesson: str) -> int:
    """Return the seed of a lesson's made-up people, and show a button for the next seed."""
    name = f"risk-{lesson}"
    note = _("With other made-up people. A seed lets you see the same people again; a release never has one.")
    st.button(
        _("Run it again"),
        icon=":material/casino:",
        key=f"risk_again_{lesson}",
        on_click=visit().renew,
        args=(name,),
        help=note,
    )
    return visit().renewals(name)


def _share(rate: Rate) -> str:
    """Return a measured rate as a percentage, 100 % only if every try succeeded."""
    return "100 %" if rate.successes == rate.tries else percent(rate.share)


def _interval(rate: Rate) -> str:
    low, high = rate.interval()
    return _(
        "{share} (95 %: {low} to {high})",
        share=_share(rate),
        low=number(100 * low, ".1f"),
        high=number(100 * high, ".1f"),
    )


def two_tables() -> None:
    """Show that two k-anonymous tables together are not k-anonymous."""
    st.markdown(
        _(
            "400 people were patients of two hospitals, and each hospital publishes a k-anonymous table of its own "
            "patients. How often do the tables reveal a patient's condition?"
        )
    )
    k = st.select_slider("k", KS, value=3, key="risk_k")
    seed = _seed("two")
    rates = made_up_people.given_away(seed, KS)
    one, two = rates[KS.index(k)]
    with st.grid(2, min_column_width=150):
        st.metric(_("By one table"), _share(one), border=True)
        st.metric(_("By both together"), _share(two), border=True)
    line = _(
        "With k = {k}, one table reveals the condition of {one} of people, and both together of {both}",
        k=k,
        one=_share(one),
        both=_share(two),
    )
    st.markdown(f"**{line}.**")
    lines = {_("both tables"): [each[1] for each in rates], _("one table"): [each[0] for each in rates]}
    axes = _("k of both tables"), _("conditions revealed")
    draw(curve_figure(KS, lines, k, axes), f"{line}.", "risk-two", 320)
    rows = [
        {"k": each, "one table": _interval(a), "both tables": _interval(b)}
        for each, (a, b) in zip(KS, rates, strict=True)
    ]
    columns = {"k": "k", "one table": _("one table"), "both tables": _("both tables")}
    twin(pd.DataFrame(rows), "risk-two", columns)
    st.markdown(
        _(
            "k-anonymity says nothing about what several tables reveal together. Privacy budgets add up: two releases "
            "with ε/2 each count as one with ε, whatever their tables."
        )
    )


def names_back() -> None:
    """Show Sweeney's linkage, and what an attacker learns without any name."""
    st.markdown(
        _(
            "In a made-up town of 40,000, a hospital publishes 4,000 rows without names. Seven in ten residents are on "
            "a public list of voters with ZIP code, date of birth and sex. Conditions do not depend on any of these."
        )
    )
    seed = _seed("names")
    _show_names_found(seed)
    st.markdown(
        _("**Names are not needed.** How often does someone guess a patient's condition, knowing …"),
        help=term("linkage"),
    )
    knows = choose_one(_("Knows"), KNOWS, "risk_knows", label_visibility="collapsed")
    left, right = st.columns(2)
    k = left.select_slider(_("k of the k-anonymous table"), (2, 5, 10, 50, 500), value=5, key="risk_town_k")
    epsilon = right.select_slider(
        _("ε of our release"), EPSILONS, value="0.1", format_func=localised, key="risk_town_epsilon"
    )
    _show_guesses(seed, KNOWS.index(knows), k, epsilon)
    st.markdown(
        _(
            "With ε = {epsilon}, being in the table makes a right guess at most {factor} times as likely, whatever the "
            "attacker knows. Always guessing the most common condition is right for 1 in 5. A k-anonymous table has no "
            "such bound: whoever knows the others' conditions can read off the last one, for any k.",
            epsilon=localised(epsilon),
            factor=factor(Fraction(epsilon)),
        )
    )
    st.caption(
        _("Our release, drawn anew, counts people by ZIP code, decade of birth, sex and condition. After Sweeney 2000.")
    )


def _show_names_found(seed: int) -> None:
    """Ask how exact dates of birth are, and show how many rows get their names back."""
    born = choose_one(_("Date of birth as"), COARSE, "risk_birth")
    linked = made_up_people.names_found(seed, COARSE[born])
    with st.grid(2, min_column_width=150):
        note = _("Rows that get their own name back.")
        st.metric(_("Names found"), _share(linked.rate), border=True, help=note)
        sure = percent(linked.correct / linked.claimed) if linked.claimed else _("no claims")
        st.metric(_("Claims that are right"), sure, border=True)


def _show_guesses(seed: int, knowledge: int, k: int, epsilon: str) -> None:
    """Show how often conditions are guessed right from three kinds of table; `knowledge` is a place in `KNOWS`."""
    defences = {
        _("names removed"): ("raw", ""),
        _("{k}-anonymous", k=k): ("k", str(k)),
        _("ours, ε = {epsilon}", epsilon=localised(epsilon)): ("release", epsilon),
    }
    guesses = {name: made_up_people.guesses(seed, *which)[knowledge] for name, which in defences.items()}
    _raw, anonymous, ours = guesses.values()
    line = _(
        "Right for {anonymous} of the people in the {k}-anonymous table, and for {ours} of those in our release "
        "({outside} if they had been left out)",
        anonymous=_share(anonymous.inside),
        k=k,
        ours=_share(ours.inside),
        outside=_share(ours.outside),
    )
    st.markdown(f"**{line}.**")
    bars = {_("with the person"): [each.inside for each in guesses.values()],
            _("without the person"): [each.outside for each in guesses.values()]}  # fmt: skip
    draw(rates_figure(list(guesses), bars, _("condition guessed right")), f"{line}.", "risk-guesses", 340)
    rows = [
        {
            "published": name,
            "with the person": _interval(each.inside),
            "without the person": _interval(each.outside),
        }
        for name, each in guesses.items()
    ]
    columns = {
        "published": _("published"),
        "with the person": _("with the person"),
        "without the person": _("without the person"),
    }
    twin(pd.DataFrame(rows), "risk-guesses", columns)


def films() -> None:
    """Show Narayanan and Shmatikov's attack on ratings."""
    st.markdown(
        _(
            "2,000 made-up people rate films, and the ratings are published without names. Someone knows a few films "
            "that a friend has rated, with how many stars (to within one), and when (to within two weeks)."
        )
    )
    left, right = st.columns(2)
    known = left.select_slider(_("Films known"), made_up_people.KNOWN, value=4, key="risk_known")
    wrong = right.select_slider(_("Wrong films among them"), (0, 1, 2), key="risk_wrong")
    epsilon = "1"
    seed = _seed("films")
    searches = made_up_people.films(seed, epsilon, wrong)
    with st.grid(3, min_column_width=150):
        for name, each in searches.items():
            label, note = _(name), _("People whose record is found.")
            rate = each[made_up_people.KNOWN.index(known)].rate
            st.metric(label[0].upper() + label[1:], _share(rate), border=True, help=note)
    _draw_searches(searches, known)
    st.caption(
        _(
            "Scoreboard-RH of Narayanan & Shmatikov 2008, searching for {targets} people; a record is claimed if its "
            "score stands out. Our release counts films by stars at ε = {epsilon}, with up to 40 ratings a person. "
            "Records are made from its counts and belong to nobody, so a claim is right only by chance, 1 in 2,000.",
            targets=made_up_people.TARGETS,
            epsilon=epsilon,
        )
    )


def _draw_searches(searches: dict[str, list[Search]], known: int) -> None:
    """Draw how many people are found over the number of known films; `known` is the chosen one."""
    at = made_up_people.KNOWN.index(known)
    line = plural(
        "Knowing {n} film finds {removed} of people if only names were removed, and {ours} in our release",
        "Knowing {n} films finds {removed} of people if only names were removed, and {ours} in our release",
        known,
        removed=_share(searches["names removed"][at].rate),
        ours=_share(searches["our release"][at].rate),
    )
    st.markdown(f"**{line}.**")
    rates = {name: [each.rate for each in of_one] for name, of_one in searches.items()}
    lines, axes = {_(name): each for name, each in rates.items()}, (_("films known"), _("people found"))
    draw(curve_figure(made_up_people.KNOWN, lines, known, axes), f"{line}.", "risk-films", 340)
    rows = [
        {"films known": each, **{name: _interval(of_one[place]) for name, of_one in rates.items()}}
        for place, each in enumerate(made_up_people.KNOWN)
    ]
    twin(pd.DataFrame(rows), "risk-films", {"films known": _("films known")} | {name: _(name) for name in rates})
