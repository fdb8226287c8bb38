"""Plans whose coarser levels are sums: what is measured for them, and which plans cannot be made so."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine import Plan, PlanError

AGE = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"10-year": 10, "20-year": 20}}
ILL, SEX = {"name": "ill", "kind": "yesno"}, {"name": "sex", "kind": "category", "values": ["f", "m"]}
PAY = {"name": "pay", "kind": "amount", "from": 0, "to": 100, "step": 10}


def summed_plan(*tables: Any, **more: Any) -> Plan:
    fields: dict[str, Any] = {"dataset": "d", "epsilon": "1", "columns": [AGE, ILL, SEX], "coarser_levels": "summed"}
    return Plan(**(fields | {"tables": list(tables)} | more))


def test_tables_are_measured_at_the_finest_level_in_use() -> None:
    plan = summed_plan(["age@20-year", "sex"], ["ill", "age@10-year"], ["age@20-year"])
    assert plan.finest.marginals == (("age@10-year", "sex"), ("ill", "age@10-year"), ("age@10-year",))
    assert not plan.finest.resolution.chains
    assert plan.marginals == (("age@20-year", "sex"), ("ill", "age@10-year"), ("age@20-year",))


def test_a_measured_table_is_as_important_as_the_most_important_of_its_sums() -> None:
    plan = summed_plan(["age", "sex"], {"columns": ["age@20-year", "sex"], "weight": 4}, ["ill"])
    assert plan.finest.weights == {("age", "sex"): 4, ("ill",): 1}


def test_the_measured_plan_keeps_up_with_epsilon_and_strategy() -> None:
    plan = summed_plan(["age", "sex"], ["age@20-year"])
    assert plan.finest.epsilon == 1
    assert plan.at("1/2").finest.epsilon * 2 == 1
    assert plan.model_copy(update={"strategy": "adaptive"}).finest.strategy == "adaptive"
    assert plan.finest is plan.finest


def test_a_plan_without_sums_is_measured_as_it_is() -> None:
    plan = summed_plan(["age", "sex"], ["age@20-year"], coarser_levels=None)
    assert plan.finest is plan
    at_one_level = summed_plan(["age@20-year", "sex"], ["age@20-year"])
    assert at_one_level.finest is at_one_level


def test_sums_are_part_of_what_a_plan_publishes_and_of_its_file() -> None:
    plan = summed_plan(["age", "sex"], ["age@20-year"])
    assert Plan.loads(plan.dumps()) == plan
    assert "coarser_levels: summed" in plan.dumps()
    assert plan.key != summed_plan(["age", "sex"], ["age@20-year"], coarser_levels=None).key


@pytest.mark.parametrize("table", [
    {"columns": ["sex"], "mean": ["pay"]},
    {"columns": ["age"], "ranges": True},
    {"columns": ["sex"], "distinct": True},
])  # fmt: skip
def test_sums_are_refused_beside_other_statistics(table: dict[str, Any]) -> None:
    unit = {"id": "person", "rows": 3}
    with pytest.raises(PlanError, match="coarser levels can be sums only of tables of counts"):
        summed_plan(["age@20-year", "ill"], ["age@10-year", "ill"], table, columns=[AGE, ILL, SEX, PAY], unit=unit)


def test_sums_of_a_table_that_is_too_large_are_refused() -> None:
    wide = [{"name": name, "kind": "number", "edges": list(range(3001)), "levels": {"wide": 100}} for name in "ab"]
    tables = [["a@wide", "b@wide"], ["a"], ["b"]]
    with pytest.raises(PlanError, match="not too large"):
        summed_plan(*tables, columns=wide)


def test_a_plan_may_have_levels_that_could_not_be_crossed() -> None:
    wide = [{"name": f"c{k}", "kind": "number", "edges": list(range(41))} for k in range(5)]
    pairs = [["age", f"c{k}"] for k in range(5)]
    plan = summed_plan(*pairs, ["age@20-year"], columns=[AGE, *wide], coarser_levels=None)
    assert plan.strategy == "auto"
    with pytest.raises(PlanError, match="sums of one table"):
        summed_plan(*pairs, ["age@20-year"], columns=[AGE, *wide], coarser_levels=None, strategy="direct")
