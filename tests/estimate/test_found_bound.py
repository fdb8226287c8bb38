"""The upper bound that follows from noisy counts: few rows above it, and no far noise taken for people."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.estimate.found_bound import EMPTY, MOST_ABOVE, bound_place, rows_above
from dpengine.spec.numeric.found_upper import candidate_steps

NONE = Fraction(0)


def plan_of(epsilon: str = "1", rows: int = 1, **more: object) -> Plan:
    columns = [
        {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "upper": {"share": "1/5"}},
        {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False},
        {"name": "land", "kind": "category", "values": ["a", "b", "c", "d"], "other": False, "missing": False},
    ]
    unit = {"rows": rows, "id": "who"} if rows > 1 else {"rows": 1}
    tables = more.pop("tables", [{"columns": ["sex"], "mean": ["pay"]}])
    return Plan(dataset="d", epsilon=epsilon, columns=columns, tables=tables, unit=unit)


def test_rows_above_are_those_where_clamping_and_noise_balance() -> None:
    """1.4 · rows · tables · groups ÷ (4/5 ε)."""
    assert rows_above(plan_of(), "pay") == Fraction(7, 5) * 2 / Fraction(4, 5)
    assert rows_above(plan_of("1/2", rows=3), "pay") == Fraction(7, 5) * 3 * 2 / Fraction(2, 5)
    tables = [{"columns": ["sex"], "mean": ["pay"]}, {"columns": ["land"], "mean": ["pay"]}, ["sex", "land"]]
    assert rows_above(plan_of(tables=tables), "pay") == Fraction(7, 5) * 3 * 3 / Fraction(4, 5)


@given(st.lists(st.integers(-60, 900), min_size=1, max_size=30), st.integers(1, 20), st.integers(0, 60))
def test_the_bound_is_the_lowest_with_few_rows_above(counts: list[int], scale: int, above: int) -> None:
    place = bound_place(counts, Fraction(scale), Fraction(above))
    costs = (np.cumsum(np.maximum(counts, 0) - float(cost) * scale) for cost in EMPTY)
    sums = next((each for each in costs if each.max() > 0), None)
    if sums is None:
        assert place == len(counts) - 1
        return
    people = np.maximum(counts, 0)[: int(sums.argmax()) + 1]
    few = min(above, people.sum() / MOST_ABOVE)
    assert people[place + 1 :].sum() <= few
    assert place == 0 or people[place:].sum() > few


def test_noise_far_above_all_people_moves_nothing() -> None:
    """In 24 empty cells above 3,000 rows, noise of scale 10 is below 120 with a chance of 99.98 %."""
    counts = [1000, 2000, 400, *([0] * 24)]
    generator = np.random.default_rng(1)
    places = []
    for _ in range(400):
        noise = np.rint(generator.laplace(scale=10, size=len(counts))).astype(int)
        places.append(bound_place((counts + noise).tolist(), Fraction(10), NONE))
    assert np.mean(np.array(places) == 2) > 0.85
    assert max(places) <= 5
    assert bound_place([*counts[:-1], 120], Fraction(10), NONE) == 2


def test_many_rows_beyond_a_gap_are_people() -> None:
    assert bound_place([3000, 0, 0, 0, 0, 0, 500, 0], Fraction(10), NONE) == 6


def test_where_no_people_are_seen_the_stated_end_stays() -> None:
    assert bound_place([3, 4, -9, *([0] * 16), 2], Fraction(10), NONE) == 19


def test_few_people_are_seen_where_candidates_cost_less() -> None:
    """As many as one and a half times the noise in each of four candidates: together they are not noise."""
    assert bound_place([15, 16, 14, 15, *([0] * 16)], Fraction(10), NONE) == 3


def test_at_most_one_row_in_twenty_is_above_however_many_groups_there_are() -> None:
    assert bound_place([900, 60, 40], Fraction(1, 10), Fraction(10**6)) == 1


@pytest.mark.parametrize("steps", [11, 15, 16, 99, 100, 101, 12_345, 2**31 - 2])
def test_candidates_rise_to_the_stated_end_in_like_proportions(steps: int) -> None:
    candidates = candidate_steps(steps)
    assert (candidates[0], candidates[-1]) == (10, steps)
    assert all(a < b <= 2 * a for a, b in pairwise(candidates))
    assert len(candidates) <= 60
