"""Coarser levels as sums of the finest ones: what is measured, what it costs, and when *auto* does so."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpengine import Plan
from dpengine.measure.adaptive_strategy import Adaptive
from dpengine.measure.direct_strategy import Direct
from dpengine.measure.level_strategies import Levels, LevelsApart
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.summed_strategy import Summed

AGE = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": 20}}
OTHERS = [{"name": f"c{k}", "kind": "category", "values": [f"v{j}" for j in range(6)]} for k in range(5)]
PAIRS = [list(pair) for pair in combinations(["age", *(f"c{k}" for k in range(5))], 2)]


def plan_of(tables: list[Any], epsilon: str = "1", rows: int | None = 2_000, **more: Any) -> Plan:
    fields: dict[str, Any] = {"dataset": "d", "epsilon": epsilon, "rows_about": rows, "columns": [AGE, *OTHERS]}
    return Plan(**(fields | {"tables": tables} | more))


def of_finest(plan: Plan) -> type:
    strategy = decide(plan)
    assert isinstance(strategy, Summed)
    return type(strategy.of_finest)


def test_many_tables_with_a_coarser_one_are_measured_like_those_without_it() -> None:
    alone, beside = plan_of(PAIRS, "20"), plan_of([*PAIRS, ["age@20-year"]], "20")
    assert of_finest(beside) is Direct
    assert decide(beside).allocations == decide(alone).allocations
    assert decide(beside).plan.coarser_levels == "summed"


def test_they_get_a_model_where_they_would_have_much_noise() -> None:
    beside = plan_of([*PAIRS, ["age@20-year", "c0"]], "1/5")
    assert of_finest(beside) is Adaptive
    assert decide(beside).plan.strategy == "adaptive"
    assert "Coarser levels are sums of the finest ones." in decide(beside).why


def test_levels_that_add_no_cells_are_measured_themselves() -> None:
    assert type(decide(plan_of([["age", "c0"], ["age@20-year", "c0"], ["age@20-year"]]))) is Levels


def test_few_tables_with_different_columns_are_measured_at_their_own_levels() -> None:
    by_year = AGE | {"edges": list(range(81))}
    tables = [["age"], ["age@20-year", "c0"], ["age@20-year", "c1"]]
    assert type(decide(plan_of(tables, columns=[by_year, *OTHERS]))) is LevelsApart


def test_levels_that_cannot_be_crossed_are_apart_or_sums() -> None:
    """Not even in parts: those with levels would be crossed with four columns."""
    wide = [{"name": f"c{k}", "kind": "number", "edges": list(range(41))} for k in range(6)]
    tables = [["age", "c0"], *(["age@20-year", f"c{k}"] for k in (1, 2, 3)), ["c4", "c5"]]
    for epsilon in ("1/10", "1", "20", "500"):
        strategy = decide(plan_of(tables, epsilon, 100_000, columns=[AGE, *wide]))
        strategy.check()
        assert isinstance(strategy, LevelsApart | Summed)


@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
def test_sums_cost_nothing_beside_the_measured_tables(strategy: str) -> None:
    plan = plan_of([*PAIRS, ["age@20-year", "c1"]], strategy=strategy, coarser_levels="summed")
    chosen = decide(plan)
    measured = chosen.measure(lambda marginals: [np.zeros(plan.shape(each), dtype=np.int64) for each in marginals])
    assert measured.cost == plan.epsilon
    assert all("age@20-year" not in columns for columns in chosen.marginals)


def test_a_release_of_the_finest_tables_is_the_same_as_one_with_sums() -> None:
    alone = plan_of(PAIRS, strategy="direct")
    beside = plan_of([*PAIRS, ["age@20-year"]], strategy="direct", coarser_levels="summed")
    assert decide(beside).plan_id == decide(alone).plan_id
    assert decide(beside).at("1/2").plan_id == decide(alone.at("1/2")).plan_id != decide(alone).plan_id


def test_a_release_is_read_with_the_strategy_that_its_plan_states() -> None:
    decided = decide(plan_of([*PAIRS, ["age@20-year", "c0"]], "1/5"))
    again = resolved(Plan.loads(decided.plan.dumps()))
    assert isinstance(again, Summed)
    assert type(again.of_finest) is Adaptive
    assert again.plan_id == decided.plan_id
