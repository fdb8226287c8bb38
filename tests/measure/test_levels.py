"""Levels are measured each with a part of ε, which a row spends exactly once, whatever its place in the tree."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Plan, open_table
from dpengine.array_types import Ints
from dpengine.counting import count as counting
from dpengine.marginals.plan_levels import level_of, measured_at, tree_of
from dpengine.measure import measure
from dpengine.measure.level_strategies import Levels
from dpengine.measure.levels import allocate_levels
from dpengine.measure.strategy import decide
from tests import ibis_tables
from tests.plans import geography_plan

pytestmark = ibis_tables.TOLERATED


def wide_plan(epsilon: str = "1/3", **more: object) -> Plan:
    """A plan whose levels are all worth measuring: many places in each land."""
    values = {f"z{z}": {f"l{z}{k}": [f"p{z}{k}{p}" for p in range(9)] for k in range(9)} for z in range(9)}
    columns = [{"name": "place", "kind": "category", "values": values, "levels": ["zone", "land", "place"]},
               {"name": "sex", "kind": "category", "values": ["f", "m"]}]  # fmt: skip
    tables = [["place@zone", "sex"], ["place@land", "sex"], ["place", "sex"], ["sex"]]
    return Plan(**{"dataset": "d", "epsilon": epsilon, "columns": columns, "tables": tables} | more)


def counted(plan: Plan, rows: list[tuple[str | None, str | None]]) -> list[Ints]:
    marginals = [each.columns for each in decide(plan).allocations]
    with open_table(pd.DataFrame(rows, columns=["place", "sex"], dtype=object)) as table:
        return counting.count(table, plan, marginals, truncation_key=b"k" * 32)


def test_all_levels_are_measured_and_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, drawn = wide_plan(), []

    def watched(exact: Ints, scale: Fraction) -> Ints:
        drawn.append(scale)
        return exact

    monkeypatch.setattr(measure, "perturb", watched)
    chosen = decide(plan)
    assert isinstance(chosen, Levels)
    measured = chosen.measure(lambda marginals: [np.zeros(plan.shape(each), dtype=np.int64) for each in marginals])
    assert [each.columns for each in chosen.allocations] == measured_at(plan)
    assert measured.cost == plan.epsilon == sum((1 / scale for scale in drawn), Fraction(0))


def test_a_level_that_is_charged_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted faults: each level in turn is measured with additional ε of its own."""
    plan = wide_plan()
    honest = allocate_levels(plan, plan.epsilon)
    for k, level in enumerate(honest):
        cheap = (*honest[:k], replace(level, epsilon=level.epsilon + Fraction(1, 10**6)), *honest[k + 1 :])
        monkeypatch.setattr(
            "dpengine.measure.level_strategies.allocate_levels", lambda plan, epsilon, allocation=cheap: allocation
        )
        with pytest.raises(ArithmeticError, match="does not cost"):
            decide(plan).measure(lambda marginals: [np.zeros(plan.shape(each), dtype=np.int64) for each in marginals])


def test_no_row_moves_all_levels_together_by_more_than_epsilon() -> None:
    """The logarithm of the greatest ratio of probabilities of any outcome, as an exact fraction, for every row."""
    plan = wide_plan()
    allocations = decide(plan).allocations
    some: list[tuple[str | None, str | None]] = [("p000", "f"), ("p128", "m"), ("odd", None), (None, "f")]
    before, costs = counted(plan, some), set()
    for row in product(("p000", "p248", "odd", None), ("f", None)):
        after = counted(plan, [*some, row])
        moved = [int(np.abs(x - y).sum()) for x, y in zip(before, after, strict=True)]
        costs.add(sum((rows / each.scale for rows, each in zip(moved, allocations, strict=True)), Fraction(0)))
    assert costs == {plan.epsilon}


def test_a_person_of_many_rows_moves_them_by_no_more() -> None:
    plan = wide_plan(unit={"id": "who", "rows": 2})
    marginals = [each.columns for each in decide(plan).allocations]

    def of(rows: list[tuple[str, str, str]]) -> list[Ints]:
        with open_table(pd.DataFrame(rows, columns=["who", "place", "sex"], dtype=object)) as table:
            return counting.count(table, plan, marginals, truncation_key=b"k" * 32)

    base = [("p", "p000", "f"), ("p", "p111", "m"), ("q", "p000", "m")]
    before = of(base)
    for places in [("p000",), ("p000", "p001", "p248"), ("p000", "odd", "p000", "p111")]:
        after = of([*base, *(("new", place, "f") for place in places)])
        moved = [int(np.abs(x - y).sum()) for x, y in zip(before, after, strict=True)]
        allocations = decide(plan).allocations
        assert sum(rows / each.scale for rows, each in zip(moved, allocations, strict=True)) <= plan.epsilon


def test_coarse_cells_are_sums_of_fine_ones_here_and_in_another_engine() -> None:
    plan = geography_plan(1)
    random = np.random.default_rng(0)
    places = [*plan.column("place").declared, "odd", None]
    frame = pd.DataFrame({"place": random.choice(np.array(places, dtype=object), 500),
                          "sex": random.choice(np.array(["f", "m"], dtype=object), 500)})  # fmt: skip
    tables = [("place@zone", "sex"), ("sex", "place@land"), ("sex", "place"), ("place@zone",)]
    answers = []
    for source in (frame, ibis_tables.in_duckdb(pa.Table.from_pandas(frame))):
        with open_table(source) as table:
            answers.append(counting.count(table, plan, tables, truncation_key=b"k" * 32))
    zones, lands, leaves, alone = answers[0]
    for k, expected in enumerate((zones, lands, leaves, alone)):
        assert (answers[1][k] == expected).all()
    for name, sums in (("place@zone", zones.T), ("place@land", lands)):
        group = plan.resolution.groups("place", name)
        dense = np.stack([leaves[:, group == k].sum(axis=1) for k in range(sums.shape[1])], axis=1)
        assert (dense == sums).all()
    assert (zones.sum(axis=1) == alone).all()
    assert alone.sum() == 500


def test_parts_of_epsilon_are_as_good_as_any_found_by_search() -> None:
    plan = wide_plan("1")
    random = np.random.default_rng(1)

    def total(parts: np.ndarray) -> float:
        variances = tree_of(plan, dict(zip(measured_at(plan), 2 / parts**2, strict=True))).node_variances
        lacking = {table: plan.cells(tuple({"sex"} - {*table})) for table in plan.marginals}
        return sum((lacking[table] * float(variances[level_of(plan, table)].mean())) ** 2 for table in plan.marginals)

    ours = total(np.array([float(each.epsilon) for each in allocate_levels(plan, plan.epsilon)]))
    others = [total(random.dirichlet(np.ones(4))) for _ in range(400)]
    assert ours <= 1.001 * min(others)


def test_levels_by_direct_and_by_optimised_are_one_release() -> None:
    plan = geography_plan(0)
    assert decide(plan).plan_id == decide(plan.model_copy(update={"strategy": "optimised"})).plan_id
    assert decide(plan).plan_id != decide(geography_plan(0, [["place@zone", "sex"]])).plan_id
    assert decide(plan).why.startswith("Direct: levels of place")
