"""The question whether a table that looks like an earlier one is of the same people: they share a budget, or not."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpengine.accounting.entry import Resemblance
from dpengine.translation.catalogue import _, mark, number
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["other_people"]

SAME, OTHERS = mark("The same people: share one budget"), mark("Other people: a budget of their own")


def other_people(data: bytes, alike: Sequence[Resemblance]) -> bool:
    """Ask about the tables that this one resembles, if any; return whether they are said to be of other people."""
    if not alike:
        return False
    likes = ", ".join(
        _("**{dataset}** (about {share} of its rows)", dataset=plain(each.dataset), share=number(each.overlap, ".0%"))
        for each in alike
    )
    with st.container(border=True):
        said = st.radio(
            _("This table looks like {likes}. Is it of the same people?", likes=likes),
            [SAME, OTHERS],
            format_func=_,
            key=visit().key(f"same-people-{data.hex()[:16]}"),
            captions=[
                _("Also if single rows or columns are new, left out or corrected."),
                _("Your word is recorded in the budget's history with the release."),
            ],
        )
    return bool(said == OTHERS)
