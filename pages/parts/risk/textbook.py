"""Show what a 4-anonymous table of a textbook reveals: by itself, and one day later."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpengine.charts.style import join_names
from dpengine.lessons import textbook_patients
from dpengine.lessons.textbook_patients import Patient
from dpengine.translation.catalogue import _
from pages.parts.shared.choices import choose_one

__all__ = ["homogeneity", "one_more", "patients_frame"]


def patients_frame(table: tuple[Patient, ...]) -> pd.DataFrame:
    """Return a table of the textbook for display, its rows numbered from 1."""
    return pd.DataFrame(
        [(each.zip, each.age, _(each.nationality), _(each.condition)) for each in table],
        columns=[_("zip code"), _("age"), _("nationality"), _("condition")],
        index=pd.RangeIndex(1, len(table) + 1),
    )


def homogeneity() -> None:
    """Show a class whose members all have the same condition once impossible ones are ruled out."""
    stories = {story.title: story for story in textbook_patients.STORIES}
    chosen = choose_one(_("Attack"), stories, "risk_story")
    story = stories[chosen]
    look = textbook_patients.FOUR_ANONYMOUS[story.patient].quasi_identifiers
    left, right = st.columns([3, 2], gap="large")
    with left:
        frame = patients_frame(textbook_patients.FOUR_ANONYMOUS).drop(columns=_("nationality"))  # * means all
        fits = ["◀" if each.quasi_identifiers == look else "" for each in textbook_patients.FOUR_ANONYMOUS]
        frame.insert(0, _("fits"), fits)
        alt = _("The 4-anonymous inpatient table, with the rows that fit the person marked")
        st.dataframe(frame, height="content", alt=alt)
    with right:
        st.markdown(f"*{_(story.knows)}*")
        remaining = sorted(set(story.remaining))
        st.metric(_("Conditions left"), len(remaining), border=True)
        named = _(" or ").join(_(each.lower()) for each in remaining)
        if story.never:
            never = join_names(_(each.lower()) for each in story.never)
            result = _(
                "Four rows fit, as 4-anonymity promises. Without {never}, only **{named}** is left. No name was "
                "needed.",
                never=never,
                named=named,
            )
        else:
            result = _(
                "Four rows fit, as 4-anonymity promises. All four have **{named}**. No name was needed.", named=named
            )
        st.markdown(result)


def one_more() -> None:
    """Show what today's table and tomorrow's together reveal about a new patient."""
    after = (*textbook_patients.FOUR_ANONYMOUS, textbook_patients.NEWCOMER)
    new = textbook_patients.added_rows(textbook_patients.FOUR_ANONYMOUS, after)[0]
    st.markdown(
        _(
            "The hospital publishes its 4-anonymous table on Monday, and again on Tuesday. A neighbour, 44 years old, "
            "zip code 14853, was admitted on Tuesday."
        )
    )
    class_ = [
        each.condition for each in textbook_patients.FOUR_ANONYMOUS if each.quasi_identifiers == new.quasi_identifiers
    ]
    counts = pd.DataFrame({"Monday": pd.Series(class_).value_counts(),
                           "Tuesday": pd.Series([*class_, new.condition]).value_counts()})  # fmt: skip
    counts["difference"] = counts["Tuesday"] - counts["Monday"]
    columns = {
        "condition": _("condition of people like them"),
        "Monday": _("Monday"),
        "Tuesday": _("Tuesday"),
        "difference": _("difference"),
    }
    st.dataframe(counts.rename(_).rename_axis("condition").reset_index(), hide_index=True, column_config=columns)
    st.markdown(
        _(
            "Both tables are 4-anonymous. Their difference is one row: **{condition}**. If both tables had noise, the "
            "difference would be mostly noise, and it would cost the sum of the two ε.",
            condition=_(new.condition.lower()),
        )
    )
