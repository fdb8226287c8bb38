"""A table for ranges beside other tables: they share ε exactly, agree in whole numbers, and their intervals hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, PlanError, draw_replicates, predict, preview, verify
from dpengine.bundle import write
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.marginals.measurement import PARTS
from dpengine.measure.box_strategy import Hierarchical
from dpengine.measure.direct_strategy import Direct
from dpengine.measure.parts import InParts
from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result, conclude
from tests.plans import letters_plan

AGES = {"columns": ["age"], "ranges": True}
TABLES: dict[str, Any] = {
    "apart": [AGES, ["sex", "land"]],
    "sharing a column": [{"columns": ["age", "sex"], "ranges": True}, ["sex", "land"]],
    "within another": [AGES, ["sex", "age"], ["sex", "land"]],
    "in a ring": [{"columns": ["age", "sex"], "ranges": True}, ["sex", "land"], ["land", "age"]],
    "beside means": [AGES, {"columns": ["sex"], "mean": ["pay"]}, {"columns": ["land"], "sum": ["pay"]}],
}


def plan_of(tables: Any, **more: Any) -> Plan:
    columns = [
        {"name": "age", "kind": "number", "edges": list(range(0, 101)), "other": False},
        {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False},
        {"name": "land", "kind": "category", "values": ["n", "s", "e", "w"]},
        {"name": "pay", "kind": "amount", "from": 0, "to": 10, "missing": False},
    ]
    return Plan(**{"dataset": "d", "epsilon": "1", "rows_about": 5000, "columns": columns, "tables": tables} | more)


def counted(plan: Plan) -> Callable[[Any], list[Any]]:
    return lambda marginals: [mock_counts(plan, each) for each in marginals]


@pytest.mark.parametrize("weight", [1, "2.5"])
def test_shares_follow_the_cube_root_of_weighted_cells_and_add_up_to_epsilon(weight: Any) -> None:
    plan = plan_of([AGES | {"weight": weight}, ["sex", "land"]], epsilon="1/7")
    strategy = decide(plan)
    assert isinstance(strategy, InParts)
    # A range has the noise of 27 cells, and cells of the table for ranges count for that.
    parts = [round(1000 * (cells * worth) ** (1 / 3)) for cells, worth in ((101, 27 * float(weight)), (12, 1))]
    measured = strategy.measure(counted(strategy.plan))
    assert measured.boxes is not None
    shares = [measured.boxes.cost, *(one.allocation.epsilon for one in measured.marginals)]
    assert shares == [Fraction(1, 7) * part / sum(parts) for part in parts]
    assert measured.cost == sum(shares) == plan.epsilon


@pytest.mark.parametrize("tables", [[AGES], [AGES, ["sex", "land"]]])
def test_boxes_have_the_noise_of_all_rows_of_a_person(tables: Any) -> None:
    strategy = decide(plan_of(tables, strategy="adaptive", unit={"id": "who", "rows": 3}))
    (boxes,) = strategy.measure(counted(strategy.plan)).trees
    assert (boxes.sensitivity, boxes.scale(1) * boxes.epsilon) == (3, 3 * PARTS)


def test_ranges_stand_beside_others_only_where_these_are_no_sums_of_their_table() -> None:
    alone = plan_of([{"columns": ["age", "sex"], "ranges": True}, ["sex"]])
    assert type(decide(alone)) is Hierarchical
    assert type(decide(plan_of([AGES, ["sex"]], strategy="direct"))) is Direct
    assert "ranges of age matter" in decide(plan_of([AGES, ["sex"]])).why
    assert (
        decide(plan_of([AGES, ["sex", "land"]])).plan_id == decide(plan_of([["land"], ["sex", "land"], AGES])).plan_id
    )
    others: list[Any] = [[AGES, ["sex"]], [AGES, ["land"]], [AGES | {"weight": 2}, ["sex"]], [AGES]]
    assert len({decide(plan_of(tables)).plan_id for tables in others}) == 4


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", TABLES)
def test_all_tables_agree_and_the_release_verifies(name: str, tmp_path: Path) -> None:
    made = preview(plan_of(TABLES[name]))
    total = made.counts(())
    for table in made.plan.marginals:
        counts = made.counts(table)
        assert counts.sum() == total
        assert counts.min() >= 0
        for column in table:
            others = tuple(axis for axis, each in enumerate(table) if each != column)
            assert counts.sum(axis=others).tolist() == made.counts((column,)).tolist()
        cells = made.cells(table)
        assert (cells["low"] <= cells["count"]).all()
        assert (cells["count"] <= cells["high"]).all()
    write.save(made, tmp_path / "release.zip")
    verify(tmp_path / "release.zip")
    again = Result.from_bytes(made.to_bytes())
    assert [again.counts(table).tolist() for table in made.plan.marginals] == [
        made.counts(table).tolist() for table in made.plan.marginals
    ]
    assert set(draw_replicates(made)) == {*made.plan.marginals, ()}


def test_every_box_keeps_its_sum_beside_tables_that_share_no_column() -> None:
    made = preview(plan_of(TABLES["apart"], epsilon="0.2"))
    estimates = made.estimates
    assert isinstance(estimates, EstimatesOfParts)
    boxes = estimates.boxes[0].tree.boxes
    spread = np.concatenate([[0], np.cumsum(made.counts(("age",)))])
    family = [spread[last] - spread[first] for (first,), (last,) in zip(boxes.first, boxes.last, strict=True)]
    leaves = estimates.boxes[0].tree.leaves
    expected = type(estimates.boxes[0].tree)(boxes, total=float(made.counts(()))).expected
    assert np.abs(np.array(family) - expected)[leaves].max() <= 1.5 + 1e-6


def test_the_total_is_the_average_of_both_by_precision() -> None:
    strategy = decide(plan_of(TABLES["apart"]))
    measured = strategy.measure(counted(strategy.plan))
    estimates = derive_estimates(strategy.plan, measured)
    assert isinstance(estimates, EstimatesOfParts)
    value, variance = estimates.boxes[0].tree.unbiased_total()
    direct = least_squares(strategy.plan, [one.allocation for one in measured.marginals])
    other, spread = float(measured.marginals[0].values.sum()), direct.variance(())
    both = 1 / (1 / variance + 1 / spread)
    assert float(estimates.estimate(())) == pytest.approx(both * (value / variance + other / spread), abs=1e-3)
    assert estimates.half_width(()) == pytest.approx(2.2 * math.sqrt(both) + 0.5)
    assert conclude(strategy.plan, measured).counts(()) == max(0, round(float(estimates.estimate(()))))


def test_intervals_of_the_other_tables_are_those_of_their_noise_alone() -> None:
    beside = decide(plan_of(TABLES["apart"]))
    share = beside.measure(counted(beside.plan)).marginals[0].allocation.epsilon
    alone = predict(plan_of([["sex", "land"]], epsilon=share, strategy="direct")).set_index("table")
    made = preview(plan_of(TABLES["apart"]))
    assert made.half_width(("sex", "land")) == alone["half_width_95"]["sex × land"]


def test_a_table_that_two_parts_contain_is_read_from_the_one_without_ranges() -> None:
    made = preview(plan_of([{"columns": ["age", "sex"], "ranges": True}, ["sex", "land"], ["sex"], ["age"]]))
    estimates = made.estimates
    assert isinstance(estimates, EstimatesOfParts)
    read = [estimates.source_part(table)[0] == "boxes" for table in made.plan.marginals]
    assert read == [True, False, False, True]


def test_what_cannot_be_measured_beside_ranges_is_refused_in_words() -> None:
    wide = [{"columns": list(pair), "ranges": True} for pair in ("ab", "bc", "cd", "da")]
    with pytest.raises(PlanError, match="overlap in a ring, so beside a table for ranges"):
        decide(letters_plan([200] * 4, wide)).check()
    with pytest.raises(PlanError, match="too small for ranges beside"):
        decide(plan_of([AGES, ["sex"]], epsilon="0.00105")).check()
