"""Means beside counts at several levels: what they cost together, what stays as it was, and what agrees."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, PlanError, draw_replicates, open_table, predict, preview, verify
from dpengine.array_types import Ints
from dpengine.bundle import write
from dpengine.counting import count as counting
from dpengine.marginals.plan_levels import of_counts
from dpengine.measure.level_strategies import Levels
from dpengine.measure.levels import allocate_levels
from dpengine.measure.strategy import decide
from dpengine.results.result import Result

TABLES: list[Any] = [{"columns": ["place@zone", "sex"], "mean": ["pay"]}, ["place"]]


def plan_of(*tables: Any, **more: Any) -> Plan:
    values = {f"z{z}": [f"p{z}{k}" for k in range(2 + 3 * z)] for z in range(3)}
    columns = [
        {"name": "place", "kind": "category", "values": values, "levels": ["zone", "place"]},
        {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False},
        {"name": "pay", "kind": "amount", "from": 0, "to": 10, "step": "0.5", "knots": [0, 1, 2, 4, 10]},
    ]
    return Plan(**{"dataset": "d", "epsilon": "1/3", "rows_about": 900, "columns": columns,
                   "tables": list(tables) or TABLES} | more)  # fmt: skip


def counted(plan: Plan, rows: list[tuple[str | None, ...]]) -> list[Ints]:
    with open_table(pd.DataFrame(rows, columns=["place", "sex", "pay"], dtype=object)) as table:
        return counting.count(table, plan, decide(plan).marginals, truncation_key=b"k" * 32)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("weight", [1, 9])
def test_no_row_moves_levels_and_means_together_by_more_than_epsilon(weight: int) -> None:
    """The logarithm of the greatest ratio of probabilities of any outcome, as an exact fraction, for every row."""
    plan = plan_of(TABLES[0] | {"weight": weight}, TABLES[1])
    allocations = decide(plan).allocations
    assert sum((each.epsilon for each in allocations), Fraction(0)) == plan.epsilon
    some: list[tuple[str | None, ...]] = [("p00", "f", "3"), ("p21", "m", "9.5"), ("odd", "f", None)]
    before, costs = counted(plan, some), set()
    for row in product(("p00", "p27", "odd", None), ("f",), ("0", "0.5", "3.3", "99", "much", None)):
        after = counted(plan, [*some, row])
        moved = [int(np.abs(x - y).sum()) for x, y in zip(before, after, strict=True)]
        parts = (units / each.scale_in_units for units, each in zip(moved, allocations, strict=True))
        costs.add(sum(parts, Fraction(0)))
    assert costs == {plan.epsilon}


def test_the_part_of_means_follows_their_weight_and_the_levels_have_the_rest() -> None:
    plan = plan_of()
    soft = [each for each in decide(plan).allocations if plan.has_amount(each.columns)]
    assert [each.columns for each in soft] == [("pay", "place@zone", "sex")]
    assert of_counts(plan, decide(plan).allocations) == allocate_levels(plan, plan.epsilon - soft[0].epsilon)
    heavy = decide(plan_of(TABLES[0] | {"weight": 20}, TABLES[1]))
    assert heavy.allocations[-1].epsilon > soft[0].epsilon
    assert heavy.plan_id != decide(plan).plan_id
    wider = [predict(each.plan)["mean_pay_half_width_95"][0] for each in (heavy, decide(plan))]
    assert wider[0] < wider[1]


def test_counts_have_the_errors_of_the_levels_alone_at_their_part_of_epsilon() -> None:
    plan = plan_of()
    rest = plan.epsilon - decide(plan).allocations[-1].epsilon
    alone = plan_of(["place@zone", "sex"], ["place"], epsilon=rest)
    assert isinstance(decide(plan), Levels)
    names = ["table", "mean_abs_error", "half_width_95", "total_half_width_95"]
    assert predict(plan)[names].equals(predict(alone)[names])


@pytest.mark.parametrize(
    "tables",
    [
        TABLES,
        [["place@zone"], {"columns": ["place"], "mean": ["pay"], "quantiles": {"pay": [0.5]}}, {"columns": ["sex"],
                                                                                              "sum": ["pay"]}],
    ],
)  # fmt: skip
def test_a_release_of_both_verifies_and_its_tables_agree(tables: list[Any], tmp_path: Path) -> None:
    made = preview(plan_of(*tables))
    assert made.measured.cost == made.plan.epsilon
    zones = made.plan.resolution.coarsen(made.counts(("place",)), ("place",), ("place@zone",))
    assert zones.tolist() == made.counts(("place@zone",)).tolist()
    for table in [table for table in made.plan.marginals if made.plan.amounts(table)]:
        of_table, total = made.amount_table(table, "pay"), made.amount_table((), "pay")
        assert (of_table.known <= made.counts(table)).all()
        assert of_table.known.sum() == total.known
        assert of_table.steps.sum() == total.steps
    write.save(made, tmp_path / "release.zip")
    verify(tmp_path / "release.zip")
    assert set(draw_replicates(tmp_path / "release.zip")) == {*made.plan.marginals, ()}
    again = Result.from_bytes(made.to_bytes())
    assert again.cells(made.plan.marginals[0]).keys() == made.cells(made.plan.marginals[0]).keys()


def test_an_amount_at_two_levels_is_refused_in_words() -> None:
    with pytest.raises(PlanError, match="'pay' are asked for at two levels, place@zone and place; ask for them at one"):
        plan_of({"columns": ["place@zone"], "mean": ["pay"]}, {"columns": ["place"], "sum": ["pay"]})
