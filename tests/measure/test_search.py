"""The search for cells costs its share of ε exactly, and sees the rows only through noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpengine import Plan, PlanError, preview
from dpengine.estimate.found_cells import resolve
from dpengine.measure.search import blank_searches, search
from dpengine.measure.strategy import decide
from tests.replay import Tape, price, recorded_work, replayed_work

STEPS = 40


def plan_of(rows: int = 1, share: str = "1/5", epsilon: str = "1/2") -> Plan:
    column = {"name": "pay", "kind": "number", "from": 0, "to": STEPS, "bins": {"count": 5, "share": share}}
    unit = {"rows": rows, "id": "who"} if rows > 1 else {"rows": 1}
    return Plan(dataset="pay", epsilon=epsilon, columns=[column], tables=[["pay"]], unit=unit)


def searched(plan: Plan, counts: np.ndarray, first: Tape | None = None) -> Tape:
    def work(tape: Tape) -> None:
        tape.messages.append(repr(resolve(plan, search(plan, [counts])).column("pay").labels))

    return recorded_work(work) if first is None else replayed_work(work, first)


@given(st.lists(st.integers(0, 60), min_size=STEPS, max_size=STEPS), st.integers(0, STEPS - 1), st.sampled_from([1, 3]))
def test_one_person_moves_the_outcome_by_their_rows_of_the_share_exactly(
    counts: list[int], step: int, rows: int
) -> None:
    """The log of the greatest ratio of any outcome is the share of ε for all rows of a person, and no more."""
    plan = plan_of(rows)
    exact = np.array(counts)
    first = searched(plan, exact)
    there = searched(plan, exact + rows * (np.arange(STEPS) == step), first)
    assert there.messages == first.messages, "cells follow from noisy counts alone"
    assert price(first, there) == Fraction(1, 10)


def amounts_of(rows: int = 1) -> Plan:
    """30 steps: candidates for the upper bound are 10, 15, 20 and 30."""
    columns = [
        {"name": "pay", "kind": "amount", "from": 0, "to": 30, "upper": {"share": "1/5"}},
        {"name": "sex", "kind": "yesno"},
    ]
    unit = {"rows": rows, "id": "who"} if rows > 1 else {"rows": 1}
    tables = [{"columns": ["sex"], "mean": ["pay"]}]
    return Plan(dataset="pay", epsilon="1/2", columns=columns, tables=tables, unit=unit)


@example([5, 0, 0, 0], 3, 1)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=4), st.integers(0, 3), st.sampled_from([1, 3]))
def test_one_person_moves_the_upper_bound_by_their_rows_of_the_share_exactly(
    counts: list[int], place: int, rows: int
) -> None:
    plan = amounts_of(rows)
    exact = np.array(counts)
    first = searched(plan, exact)
    there = searched(plan, exact + rows * (np.arange(4) == place), first)
    assert there.messages == first.messages, "the bound follows from noisy counts alone"
    assert price(first, there) == Fraction(1, 10)


def test_the_blank_search_for_an_upper_bound_costs_its_share() -> None:
    plan = amounts_of()
    (blank,) = blank_searches(plan)
    assert blank.cost == Fraction(1, 10)
    assert blank.cost + plan.epsilon_for_tables == plan.epsilon
    assert resolve(plan, [blank]).column("pay").labels == ("0", "30", "(missing)")


def test_what_is_left_for_the_tables_and_the_shares_are_epsilon() -> None:
    plan = plan_of(share="1/3", epsilon="1/7")
    (result,) = search(plan, [np.zeros(STEPS, dtype=np.int64)])
    assert result.cost == Fraction(1, 21)
    assert result.cost + plan.epsilon_for_tables == plan.epsilon
    assert [each.cost for each in blank_searches(plan)] == [result.cost]
    assert len(resolve(plan, blank_searches(plan)).column("pay").labels) == 7


@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
def test_a_share_with_which_nothing_would_be_found_is_refused(strategy: str) -> None:
    def at(epsilon: str) -> Plan:
        return plan_of(epsilon=epsilon).model_copy(update={"strategy": strategy})

    decide(at("0.05")).check()
    with pytest.raises(PlanError, match="too small to find the cells of pay"):
        decide(at("0.0001")).check()
    with pytest.raises(PlanError, match="too small to find the cells of pay"):
        preview(at("0.0001"))
    with pytest.raises(PlanError, match="too small to find the cells of pay"):  # the noise of 11 rows a person
        decide(plan_of(11, epsilon="0.05").model_copy(update={"strategy": strategy})).check()
