"""Amounts are declared in words that can be understood, and refused in such words."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine import Plan, PlanError
from dpengine.measure.strategy import decide
from dpengine.spec.domain import Amount

SEX = {"name": "sex", "kind": "yesno"}
TABLES = [{"columns": ["sex"], "mean": ["pay"]}]


@pytest.mark.parametrize(
    ("fields", "fragment"),
    [
        ({"from": 100, "to": 0}, "must be below the upper one"),
        ({"from": 0, "to": 100, "step": 0}, "must be above 0"),
        ({"from": 0, "to": 100, "step": 3}, "must be a multiple of the step"),
        ({"from": 0, "to": "much"}, "must be a finite number"),
        ({"from": 0, "to": 100, "knots": [0, 60, 50, 100]}, "knots rise from the lower bound to the upper one"),
        ({"from": 0, "to": 100, "knots": [10, 100]}, "knots rise from the lower bound to the upper one"),
        ({"from": 0, "to": 100, "knots": [0, 0.5, 100]}, "must be a multiple of the step"),
        ({"from": 0, "to": 10**15, "step": 1}, "choose a larger step"),
        ({"from": 0, "to": 100, "other": True}, "False"),
        ({"to": 100}, "needed"),
        ({"from": 0, "to": 100, "edges": [0, 1]}, "not known here"),
    ],
)
def test_a_fault_is_named(fields: dict[str, Any], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Plan(dataset="d", epsilon=1, columns=[SEX, {"name": "pay", "kind": "amount"} | fields], tables=TABLES)


def test_a_plan_is_what_is_read_from_its_file() -> None:
    pay = {"name": "pay", "kind": "amount", "knots": [0, "0.5", 10], "step": "0.5", "missing_as": ["-9"]}
    plan = Plan(
        dataset="d", epsilon=1, columns=[SEX, pay], tables=[{"columns": ["sex"], "mean": ["pay"], "sum": ["pay"]}]
    )
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert again.key == plan.key
    assert (plan.means(("sex",)), plan.sums(()), plan.estimated_tables) == (("pay",), ("pay",), (("sex", "pay"),))


def test_another_way_to_write_a_number_changes_no_identity() -> None:
    keys = {
        Plan(dataset="d", epsilon=1, columns=[SEX, {"name": "pay", "kind": "amount"} | fields], tables=TABLES).key
        for fields in ({"from": 0, "to": 10}, {"from": "0", "to": "1E+1"}, {"from": 0, "to": 10, "step": "1.0"},
                       {"knots": [0, 10]}, {"from": 0, "to": 10, "label": "Pay"})
    }  # fmt: skip
    assert len(keys) == 1


@pytest.mark.parametrize(
    "fields", [{"to": 11}, {"step": "0.5"}, {"knots": [0, 5, 10]}, {"missing": False}, {"missing_as": ["-9"]}]
)
def test_whatever_changes_what_is_counted_changes_the_identity(fields: dict[str, Any]) -> None:
    one, other = (
        Plan(dataset="d", epsilon=1, columns=[SEX, {"name": "pay", "kind": "amount", "from": 0, "to": 10} | more],
             tables=TABLES)
        for more in ({}, fields)
    )  # fmt: skip
    assert one.key != other.key


def test_amounts_whose_squares_are_measured_are_part_of_the_identity() -> None:
    """The same amounts of the same people are counted in other units for each of these, even at the same knots."""
    pair = ["pay", "hours"]
    plans = [
        Plan(dataset="d", epsilon=1, tables=[{"columns": ["sex"]} | asked],
             columns=[SEX, *({"name": name, "kind": "amount", "from": 0, "to": 10} | knots for name in pair)])
        for asked, knots in [
            ({"covariance": [pair]}, {}), ({"covariance": [pair]}, {"knots": [0, 5, 10]}),
            ({"correlation": [pair]}, {}),
            ({"slope": [{"of": "pay", "on": "hours"}]}, {}), ({"slope": [{"of": "hours", "on": "pay"}]}, {}),
        ]
    ]  # fmt: skip
    assert len({plan.estimated_tables for plan in plans}) == 1
    assert len({plan.key for plan in plans}) == len({decide(plan).plan_id for plan in plans}) == len(plans)


def test_the_grain_is_the_least_that_shares_every_point() -> None:
    assert Amount(name="a", low="0", high="200000", step="100").grain == 2000
    assert Amount(name="a", low="0", high="40", knots=["0", "10", "16", "40"]).grain == 120


def test_a_fault_in_a_table_says_in_which_and_hides_no_other() -> None:
    tables = [["sex"], {"columns": ["sex"], "means": ["pay"]}]
    with pytest.raises(PlanError) as wrong:
        Plan(dataset="d", epsilon=1, columns=[SEX, {"name": "pay", "kind": "amounts"}], tables=tables)
    column, table = wrong.value.faults
    assert column.path == ("columns", 2)
    assert str(table) == "tables → 2: means: this key is not known here; did you mean 'mean'?"


@pytest.mark.parametrize(
    ("columns", "tables", "fragment"),
    [
        (
            [{"name": "pay", "kind": "amount", "knots": [0, 10**7, 2 * 10**7, 3 * 10**7], "step": "0.01"}],
            TABLES,
            "choose a larger step",
        ),
        (
            [{"name": name, "kind": "amount", "from": 0, "to": 1} for name in ("x", "x_low")],
            [{"columns": ["sex"], "mean": ["x", "x_low"]}],
            "two amounts would have a column called 'mean_x_low'",
        ),
        (
            [{"name": "pay", "kind": "amount", "knots": list(range(100))},
             {"name": "n", "kind": "number", "edges": {"from": 0, "to": 90000, "bins": 90000}}],
            [{"columns": ["n"], "mean": ["pay"]}],
            "use fewer knots",
        ),
    ],
)  # fmt: skip
def test_an_amount_that_could_not_be_counted_is_refused(columns: list[Any], tables: list[Any], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Plan(dataset="d", epsilon=1, columns=[SEX, *columns], tables=tables)
