"""A table with a larger weight gets a larger share of ε, shares add up to ε, and equal weights change nothing."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpengine import Plan, PlanError, predict, release, verify
from dpengine.marginals.least_squares import LeastSquares
from dpengine.measure.strategy import decide
from dpengine.measure.workload import Workload
from tests.plans import geography_plan, letters_plan

SIZES = [20, 10, 8]
STRATEGIES = ["direct", "optimised", "adaptive"]


def ring(weight: Any = 1, strategy: str = "direct", **more: Any) -> Plan:
    """Three tables in a ring, the first of some weight."""
    tables = [{"columns": ["a", "b"], "weight": weight}, ["b", "c"], ["a", "c"]]
    return letters_plan(SIZES, tables, strategy=strategy, **more)


def headline(weight: Any = 1, strategy: str = "direct", **more: Any) -> Plan:
    """A table of some weight, and a larger one that contains it."""
    return letters_plan(SIZES, [{"columns": ["a"], "weight": weight}, ["a", "b", "c"]], strategy=strategy, **more)


@pytest.mark.parametrize("weight", ["3", "0.2", "41.5"])
def test_direct_shares_follow_the_cube_root_of_weighted_cells_and_are_exact(weight: str) -> None:
    plan = ring(weight, epsilon="1/3")
    shares = {each.columns: each.epsilon for each in decide(plan).allocations}
    least = min(Fraction(weight), Fraction(1))
    weights = {("a", "b"): Fraction(weight) / least * 200, ("b", "c"): 80 / least, ("a", "c"): 160 / least}
    parts = {table: round(1000 * float(each) ** (1 / 3)) for table, each in weights.items()}
    assert shares == {table: Fraction(1, 3) * part / sum(parts.values()) for table, part in parts.items()}
    assert sum(shares.values()) == plan.epsilon


@pytest.mark.by_day(2)
@pytest.mark.parametrize(("make", "strategy"), list(product((ring, headline), ("direct", "optimised"))))
def test_errors_fall_with_the_weight_and_no_other_weight_serves_better(make: Any, strategy: str) -> None:
    """The weighted sum of variances of each plan, under the allocation for each weight."""
    weights = ("2", "5", "40")
    plans = {weight: make(weight, strategy) for weight in weights}
    variances = {weight: variances_of(plan) for weight, plan in plans.items()}
    for weight, other in product(weights, weights):
        best, others = (loss(plans[weight], variances[each]) for each in (weight, other))
        assert best <= others * 1.001, "direct shares are not quite the best"
    first, last = plans["2"].marginals[0], plans["2"].marginals[-1]
    widths = [predict(plan).set_index("table")["half_width_95"] for plan in plans.values()]
    heavy, light = ([width[" × ".join(table)] for width in widths] for table in (first, last))
    assert heavy == sorted(heavy, reverse=True)
    assert heavy[-1] < 0.75 * heavy[0]
    assert light == sorted(light)


def variances_of(plan: Plan) -> dict[tuple[str, ...], float]:
    allocations = decide(plan).allocations
    assert sum((each.epsilon for each in allocations), Fraction(0)) == plan.epsilon
    sizes = {name: plan.column(name).size for name in plan.used}
    noise = tuple(float(2 * each.scale**2) for each in allocations)
    squares = LeastSquares(sizes, tuple(each.columns for each in allocations), noise)
    return {table: squares.variance(table) for table in plan.marginals}


def loss(plan: Plan, variances: dict[tuple[str, ...], float]) -> float:
    return sum(float(plan.weights.get(table, 1)) * plan.cells(table) * variances[table] for table in plan.marginals)


def test_a_table_of_more_weight_is_measured_beside_the_one_that_contains_it() -> None:
    assert [each.columns for each in decide(headline()).allocations] == [("a", "b", "c")]
    assert [each.columns for each in decide(headline(3)).allocations] == [("a",), ("a", "b", "c")]
    assert [each.columns for each in decide(headline("0.5")).allocations] == [("a", "b", "c")], "less weight is no gain"


def test_a_level_of_more_weight_is_known_better() -> None:
    def at(weight: int) -> Plan:
        zones = {"columns": ["place@zone", "sex"], "weight": weight}
        return geography_plan(1, [zones, ["place", "sex"]])

    light, heavy = at(1), at(10)
    widths = [predict(plan)["half_width_95"] for plan in (light, heavy)]
    assert widths[1][0] < 0.9 * widths[0][0]
    assert sum((each.epsilon for each in decide(heavy).allocations), Fraction(0)) == heavy.epsilon
    assert decide(light).plan_id != decide(heavy).plan_id


def test_in_an_adaptive_plan_a_pair_weighs_as_much_as_its_heaviest_table_and_at_most_1() -> None:
    plan = letters_plan([4, 4, 4], [["a", "b", "c"], {"columns": ["b", "a"], "weight": 4}], strategy="adaptive")
    workload = Workload.of(plan)
    assert [workload.weight(pair) for pair in workload.pairs] == [1, Fraction(1, 4), Fraction(1, 4)]
    assert [workload.weight((name,)) for name in "abc"] == [1, 1, Fraction(1, 4)]
    assert Workload.of(letters_plan([4, 4], [["a", "b"]], strategy="adaptive")).weights == {}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_weights_change_nothing(strategy: str) -> None:
    plain = letters_plan(SIZES, [["a", "b"], ["b", "c"], ["a", "c"]], strategy=strategy)
    tables = [{"columns": list(table), "weight": "2.50"} for table in plain.marginals]
    alike = letters_plan(SIZES, tables, strategy=strategy)
    assert ring(1, strategy).dumps() == plain.dumps()
    assert "weight" not in plain.dumps()
    assert decide(alike).plan_id == decide(plain).plan_id
    assert alike.key == plain.key
    assert decide(alike).allocations == decide(plain).allocations


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_weights_are_part_of_the_identity_of_a_release(strategy: str) -> None:
    ids = {decide(make(weight, strategy)).plan_id for make in (ring, headline) for weight in (1, 3, 4)}
    assert len(ids) == 6
    twice = letters_plan(SIZES, [{"columns": list(table), "weight": 6 if table == ("a", "b") else "2.0"}
                                 for table in ring().marginals], strategy=strategy)  # fmt: skip
    assert decide(twice).plan_id == decide(ring(3, strategy)).plan_id, "only their ratios count"


def test_a_weight_is_kept_in_the_plan_file_as_it_is() -> None:
    plan = ring("0.30")
    assert "weight: '0.3'" in plan.dumps()
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert Plan.loads(plan.dumps().replace("'0.3'", "0.3")) == plan
    assert again.weights == {("a", "b"): 1, ("b", "c"): Fraction(10, 3), ("a", "c"): Fraction(10, 3)}


@pytest.mark.parametrize("weight", [0, -1, "1/3", "much", True, 1001, "0.0009", "1.0000001", None])
def test_an_invalid_weight_is_refused(weight: Any) -> None:
    with pytest.raises(PlanError, match="a weight is a number from"):
        ring(weight)


@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
def test_a_release_with_weights_verifies(strategy: str, tmp_path: Path) -> None:
    plan = headline(5, strategy)
    rows = pd.DataFrame({name: [f"{name}{k * k % plan.column(name).size}" for k in range(300)] for name in "abc"})
    made = release(rows, plan)
    made.save(tmp_path / "release.zip")
    verify(tmp_path / "release.zip")
    assert made.measured.cost == plan.epsilon
    assert made.counts(("a", "b", "c")).sum(axis=(1, 2)).tolist() == made.counts(("a",)).tolist()
