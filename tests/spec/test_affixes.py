"""Texts that stand beside numbers are declared, cannot change a number, and are part of what a plan measures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Amount, Number, Plan, PlanError
from dpengine.spec.domain import cells_payload
from dpengine.spec.numeric.affixes import stands_after, stands_before
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query.question import Question
from dpengine.spec.query.statistic import Mean

COLUMNS: list[dict[str, Any]] = [
    {"name": "stay", "kind": "number", "edges": [0, 7, 30]},
    {"name": "pay", "kind": "amount", "from": 0, "to": 100},
]
NOT_NUMBERS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=9)


def plan_of(**more: Any) -> Plan:
    columns = [column | more for column in COLUMNS]
    return Plan(dataset="d", epsilon="1", columns=columns, tables=[{"columns": ["stay"], "mean": ["pay"]}])


@pytest.mark.parametrize("affixes", [["days"], ["€", "+", "<"], ["ca.", "m2", "per day"]])
def test_a_plan_file_keeps_them(affixes: list[str]) -> None:
    plan = plan_of(affixes=affixes)
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert [column.affixes for column in again.columns if isinstance(column, Number | Amount)] == [tuple(affixes)] * 2
    assert "affixes" not in plan_of().dumps()


def test_plans_that_read_numbers_otherwise_have_other_numbers() -> None:
    of_none = plan_of()
    assert len({each.identity() for each in (of_none, plan_of(affixes=["+"]), plan_of(affixes=["+", "€"]))}) == 3
    assert plan_of(affixes=["+", "€"]).identity() == plan_of(affixes=["€", "+", " + "]).identity(), (
        "the order is the same"
    )
    assert all("affixes" not in cells_payload(column) for column in of_none.columns), "earlier plans keep theirs"
    grids = [Grid(name="pay", low=0, high=9, affixes=affixes) for affixes in ([], ["€"], ["€", "+"], ["+", "€"])]
    keys = [Question(statistic=Mean(of=grid), dataset="d", epsilon="1", unit={"rows": 1}).key for grid in grids]
    assert len(set(keys)) == 3
    assert keys[2] == keys[3]


@pytest.mark.parametrize("affix", ["", " ", "-", "\u2212", "5", "007", " 1.0 ", "5 - 6", "x" * 51, "a\tb"])
def test_a_text_that_would_change_a_number_is_refused(affix: str) -> None:
    for column in COLUMNS:
        with pytest.raises(PlanError, match=r"cannot be left out beside a number|longer than|control character"):
            Plan(dataset="d", epsilon="1", columns=[column | {"affixes": [affix]}], tables={"each": 1})


def test_there_are_not_too_many() -> None:
    with pytest.raises(PlanError, match="at most 20 entries"):
        Number(name="x", edges=[0, 1], affixes=[f"x{'y' * k}" for k in range(21)])


def test_a_parenthesis_is_not_left_out_before_a_number() -> None:
    """Accounts write (5) for −5, so both together are never left out."""
    assert (stands_before("("), stands_after(")")) == (False, False)


@given(NOT_NUMBERS, st.integers(0, 10**9))
def test_beside_digits_no_digit_belongs_to_an_affix(affix: str, number: int) -> None:
    affix = affix.strip()
    assert not (affix[-1:] in "0123456789" and affix and stands_before(affix))
    assert not (affix[:1] in "0123456789" and affix and stands_after(affix))
    assert not stands_before(affix + str(number))
    assert not stands_after(str(number) + affix)
