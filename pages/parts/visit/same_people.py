"""Ask whether a table that looks like an earlier one is of the same people, so that they share a budget."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpengine.accounting.entry import Resemblance
from dpengine.translation.catalogue import _, mark, number
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["alike_in_words", "other_people"]

SAME, OTHERS = mark("The same people: share one budget"), mark("Other people: a budget of their own")
NEAR_COPY = 0.9  # similarity from which on a caution says what follows if the answer is wrong


def alike_in_words(resemblance: Resemblance) -> str:
    """Say how alike two tables are: the share of their rows, or of their people, that they have in common.

    >>> alike_in_words(Resemblance("id", "clinic", 0.667))
    'about 67 % alike'
    """
    return _("about {share} % alike", share=number(100 * resemblance.overlap, ".0f"))


def other_people(data: bytes, alike: Sequence[Resemblance]) -> bool:
    """Ask about the tables that this one resembles, if any; return whether the owner says it is of others."""
    if not alike:
        return False
    likes = ", ".join(
        _("**{dataset}** ({alike})", dataset=plain(each.dataset), alike=alike_in_words(each)) for each in alike
    )
    with st.container(border=True):
        statement = st.radio(
            _("This table looks like {likes}. Is it of the same people?", likes=likes),
            [SAME, OTHERS],
            format_func=_,
            key=visit().key(f"same-people-{data.hex()[:16]}"),
            captions=[
                _("Even if single rows or columns are new, left out or corrected."),
                _("Your word is recorded in the budget's history with the release."),
            ],
        )
        if statement == OTHERS and any(each.overlap >= NEAR_COPY for each in alike):
            st.warning(
                _(
                    "The tables are nearly the same. If their people are the same after all, ε of both adds up for "
                    "them, no cap notices it, and the budget promises more than holds."
                ),
                icon=":material/group:",
            )
    return bool(statement == OTHERS)
