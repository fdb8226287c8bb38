"""Bin boundaries: as many bins as requested, the heaviest as light as can be, and heavy steps by themselves."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.estimate.found_cells import WEIGHTS, cut, resolve
from dpengine.measure.search import blank_searches


def weights(people: np.ndarray) -> np.ndarray:
    return WEIGHTS[0] * people.size * people + WEIGHTS[1] * max(1, int(people.sum()))


def heaviest(people: np.ndarray, places: list[int]) -> int:
    """The weight of the heaviest bin of more than one step."""
    each = weights(people)
    return max((int(each[a:b].sum()) for a, b in pairwise(places) if b - a > 1), default=0)


@given(st.lists(st.integers(0, 50), min_size=6, max_size=9).map(np.array), st.integers(2, 5))
def test_no_other_cuts_make_the_heaviest_bin_lighter(people: np.ndarray, bins: int) -> None:
    places = cut(people, bins)
    assert (places[0], places[-1], len(places)) == (0, people.size, bins + 1)
    assert all(a < b for a, b in pairwise(places))
    every = (
        [0, *inner, people.size]
        for inner in product(range(1, people.size), repeat=bins - 1)
        if all(a < b for a, b in pairwise(inner))
    )
    assert heaviest(people, places) == min(heaviest(people, each) for each in every)


def test_a_value_that_many_people_share_has_a_bin_of_its_own() -> None:
    people = np.full(100, 10)
    people[[0, 40]] = 5000
    assert {(0, 1), (40, 41)} <= {*pairwise(cut(people, 12))}


def test_even_people_and_nobody_give_bins_of_one_width() -> None:
    assert cut(np.full(12, 7), 4) == cut(np.zeros(12, dtype=np.int64), 4) == [0, 3, 6, 9, 12]
    assert cut(np.arange(5), 5) == [0, 1, 2, 3, 4, 5]


def test_a_billion_people_overflow_nothing() -> None:
    people = np.full(9990, 16 * 10**9 // 9990)
    people[7] = 16 * 10**12
    places = cut(people, 1000)
    assert (7, 8) in set(pairwise(places))
    assert np.diff(places).max() <= 12


def test_a_search_for_another_column_is_refused() -> None:
    column = {"name": "pay", "kind": "number", "from": 0, "to": 40, "bins": 5}
    plan = Plan(dataset="pay", epsilon="1", columns=[column, {**column, "name": "debt"}], tables=[["pay"], ["debt"]])
    with pytest.raises(ValueError, match="searched once"):
        resolve(plan, blank_searches(plan)[::-1])
