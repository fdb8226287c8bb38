"""Attacks of the Risk lab on made-up people, cached because sliders move often."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import streamlit as st

from dpengine.lessons import deanonymisation, linkage
from dpengine.lessons.deanonymisation import Ratings, Search
from dpengine.lessons.linkage import Guesses, Linked, Town
from dpengine.lessons.success_rate import Rate
from dpengine.translation.catalogue import _, mark

__all__ = ["KNOWN", "TARGETS", "films", "given_away", "guesses", "names_found"]

KNOWN = (1, 2, 3, 4, 6, 8)
TARGETS = 150

_kept = st.cache_data(scope="session", max_entries=128, show_spinner=False)


@_kept
def _town(seed: int) -> Town:
    return linkage.made_up_town(seed=seed)


@_kept
def names_found(seed: int, days: int) -> Linked:
    """Link names to the hospital's table, with dates of birth as coarse as `days`."""
    return linkage.link_names(_town(seed), days=days)


@_kept
def guesses(seed: int, defence: str, number: str) -> tuple[Guesses, Guesses]:
    """Guess conditions from a table, both as someone who knows the person and as someone who also knows all others.

    `defence` is "raw", "k" or "release"; `number` is k or ε.
    """
    town = _town(seed)
    if defence == "raw":
        published = linkage.publish_raw(town)
    elif defence == "k":
        published = linkage.publish_k_anonymous(town, int(number))
    else:
        published = linkage.publish_release(town, Fraction(number))
    return linkage.guess_conditions(town, published), linkage.guess_conditions(town, published, informed=True)


@_kept
def given_away(seed: int, ks: Sequence[int]) -> list[tuple[Rate, Rate]]:
    """Measure for each k how often one k-anonymous table, and two together, reveal a condition."""
    return [linkage.composition_attack(_town(seed), k) for k in ks]


@_kept
def _ratings(seed: int) -> Ratings:
    return deanonymisation.made_up_ratings(seed=seed)


@_kept
def _published(seed: int, epsilon: str) -> dict[str, Ratings]:
    ratings = _ratings(seed)
    return {
        mark("names removed"): ratings,
        mark("days removed too"): deanonymisation.without_days(ratings),
        mark("our release"): deanonymisation.synthetic_ratings(ratings, Fraction(epsilon)),
    }


def films(seed: int, epsilon: str, wrong: int) -> dict[str, list[Search]]:
    """Search for people by each number of known films, in every kind of table that might be published."""
    with st.spinner(_("Looking for people")):
        return _find_people(seed, epsilon, wrong)


@st.cache_data(scope="session", max_entries=16, show_spinner=False)
def _find_people(seed: int, epsilon: str, wrong: int) -> dict[str, list[Search]]:
    return {
        name: [
            deanonymisation.find_people(
                _ratings(seed), each, known, wrong=min(wrong, known - 1), targets=TARGETS, seed=seed
            )
            for known in KNOWN
        ]
        for name, each in _published(seed, epsilon).items()
    }
