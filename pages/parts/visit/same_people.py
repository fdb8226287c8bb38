"""The question whether a table that looks like an earlier one is of the same people: they share a budget, or not."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpengine.accounting.entry import Resemblance
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["other_people"]

SAME, OTHERS = "The same people: share one budget", "Other people: a budget of their own"


def other_people(data: bytes, alike: Sequence[Resemblance]) -> bool:
    """Ask about the tables that this one resembles, if any; return whether they are said to be of other people."""
    if not alike:
        return False
    likes = ", ".join(f"**{plain(each.dataset)}** (about {each.overlap:.0%} of its rows)" for each in alike)
    with st.container(border=True):
        said = st.radio(
            f"This table looks like {likes}. Is it of the same people?",
            [SAME, OTHERS],
            key=visit().key(f"same-people-{data.hex()[:16]}"),
            captions=[
                "Also if single rows or columns are new, left out or corrected.",
                "Your word is recorded in the budget's history with the release.",
            ],
        )
    return bool(said == OTHERS)
