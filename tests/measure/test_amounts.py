"""Tables with amounts get noise for a whole row, in the units in which they are counted."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, PlanError, open_table
from dpengine.array_types import Ints
from dpengine.counting import count as counting
from dpengine.measure import measure
from dpengine.measure.strategy import decide

UNIT = {"id": "who", "rows": 2}


def plan_of(strategy: str = "direct", tables: Any = None, **more: Any) -> Plan:
    columns = [
        {"name": "a", "kind": "category", "values": ["x", "y"]},
        {"name": "b", "kind": "yesno"},
        {"name": "pay", "kind": "amount", "from": 0, "to": 3, "step": "0.5"},
        {"name": "age", "kind": "amount", "from": 0, "to": 6, "knots": [0, 2, 6], "missing": False},
    ]
    tables = tables or [{"columns": ["a"], "mean": ["pay", "age"]}, ["a", "b"]]
    return Plan(dataset="d", epsilon="1/3", columns=columns, tables=tables, strategy=strategy, **more)


@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
def test_noise_is_drawn_for_a_row_and_paid_for(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, drawn = plan_of(strategy, unit=UNIT), []

    def watched(exact: Ints, scale: Fraction) -> Ints:
        drawn.append(scale)
        return exact

    monkeypatch.setattr(measure, "perturb", watched)
    chosen = decide(plan)
    measured = chosen.measure(lambda marginals: [np.zeros(plan.shape(each), dtype=np.int64) for each in marginals])
    assert measured.cost == plan.epsilon
    assert sorted(each.allocation.scale_in_units for each in measured.marginals) == sorted(drawn)
    soft = [each.allocation for each in measured.marginals if {"pay", "age"} & {*each.allocation.columns}]
    assert {each.columns for each in soft} >= {("a", "pay"), ("a", "age")} or len(soft) == 1
    for each in soft:
        grain = {"pay": 6, "age": 4}
        units = int(np.prod([grain[name] for name in each.columns if name in grain]))
        assert each.scale_in_units == Fraction(2 * units) / each.epsilon


@pytest.mark.parametrize(
    "tables",
    [
        None,
        [{"columns": ["a"], "sum": ["pay"]}],
        [{"columns": ["a", "b"], "mean": ["age"]}],
        [{"columns": ["a"], "covariance": [["pay", "age"]]}, {"columns": ["b"], "mean": ["age"]}],
        [{"columns": ["a"], "slope": [{"of": "age", "on": "pay"}]}],
    ],
)
@pytest.mark.by_day(1)
def test_no_row_moves_what_is_measured_by_more_than_epsilon(tables: Any) -> None:
    """The logarithm of the greatest ratio of probabilities of any outcome, as an exact fraction, for every row."""
    plan = plan_of(tables=tables)
    allocations = decide(plan).allocations

    def counted(rows: list[Any]) -> list[Ints]:
        with open_table(pd.DataFrame(rows, columns=["a", "b", "pay", "age"], dtype=object)) as table:
            marginals = [each.columns for each in allocations]
            return counting.count(table, plan, marginals, truncation_key=b"k" * 32)

    some = [("x", "yes", "1.5", "2"), ("y", "no", "", "5"), ("odd", None, "7", "0")]
    before = counted(some)
    costs = set()
    cells = [("x", "yes"), ("odd", "?"), (None, "yes")]
    for cell, *values in product(cells, ("-1", "0.24", "0.75", "3", "1e9", "many", None), ("1", "9")):
        after = counted([*some, (*cell, *values)])
        moved = [int(np.abs(x - y).sum()) for x, y in zip(before, after, strict=True)]
        shares = (units / each.scale_in_units for units, each in zip(moved, allocations, strict=True))
        costs.add(sum(shares, Fraction(0)))
    assert costs == {plan.epsilon}  # a row with a cell in each column costs exactly ε, whatever its amounts


def test_plans_that_cannot_be_measured_are_refused() -> None:
    for tables, fragment in [
        ([["a", "pay"]], "ask for its mean or sum"),
        ([{"columns": ["a"], "mean": ["b"]}], "of kind amount"),
        ([{"columns": ["a"], "mean": ["wage"]}], "none that is declared"),
        ([{"columns": ["a"], "covariance": [["pay", "b"]]}], "of kind amount"),
        ([{"columns": ["a"], "covariance": ["pay", "age"]}], "list pairs of amounts"),
        ([{"columns": ["a"], "covariance": [["pay", "pay"]]}], r"with itself; .* standard_deviation: \[pay\]"),
        ([{"columns": ["a"], "standard_deviation": ["b"]}], "of kind amount"),
        ([{"columns": ["a"], "standard_deviation": ["age"]}], "which has knots"),
        ([{"columns": ["a"], "slope": {"pay": "age"}}], r"list slopes, .* \[{of: income, on: hours}\]"),
        ([{"columns": ["a"], "slope": [{"of": "pay", "on": "age"}]}], "which has knots"),
        ([{"columns": ["a"], "correlation": [["pay", "age"]]}], "which has knots"),
    ]:
        with pytest.raises(PlanError, match=fragment):
            plan_of(tables=tables)


def test_amounts_leave_less_epsilon_to_choose_with() -> None:
    plan = plan_of("adaptive").at("0.0011")  # enough for 1,000 rows of noise, were there no amounts beside the counts
    with pytest.raises(PlanError, match="too small to choose"):
        decide(plan).check()
    decide(plan_of("adaptive", [["a", "b"]]).at("0.0011")).check()


def test_steps_too_fine_to_be_taken_together_are_refused() -> None:
    """So no sum of units passes 64 bits, whatever the plan says of rows: 2³⁰ units a row, of 2³² rows."""

    def refused(fragment: str, high: int, other: int, rows_about: int = 1, **asked: Any) -> None:
        columns = [
            {"name": "a", "kind": "yesno"},
            *({"name": name, "kind": "amount", "from": 0, "to": to} for name, to in (("x", high), ("y", other))),
        ]
        with pytest.raises(PlanError, match=fragment):
            Plan(dataset="d", epsilon=1, columns=columns, tables=[{"columns": ["a"]} | asked], rows_about=rows_about)

    refused("33,000 steps; at most 32,768", 33_000, 2, slope=[{"of": "y", "on": "x"}])
    refused("too fine to be taken together", 2**15, 2, slope=[{"of": "y", "on": "x"}])
    refused("too fine to be taken together", 2**20, 2**11, covariance=[["x", "y"]])
    refused("the step of 'x' is too fine for so many rows", 10**8, 2, mean=["x"], rows_about=10**12)
    refused("a column called 'covariance_x_y'", 4, 4, covariance=[["x", "y"], ["x", "y"]])
