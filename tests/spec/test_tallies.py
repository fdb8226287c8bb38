"""Tables of distinct persons in plans: what they count, and what is refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine import Plan, PlanError, Unit
from dpengine.measure.strategy import decide
from tests.plans import letters_plan

UNIT = {"id": "who", "rows": 3}
PERSONS: dict[str, Any] = {"columns": ["a", "b"], "distinct": True}
SEVERAL: dict[str, Any] = {"columns": ["b", "c"], "distinct": True, "cells_per_person": 2}


def plan_of(*tables: Any, **more: Any) -> Plan:
    return letters_plan([2, 2, 3], list(tables), **({"unit": UNIT} | more))


def test_tables_that_count_the_same_are_one_tally() -> None:
    plan = plan_of(SEVERAL, ["a", "c"], PERSONS, ["b"], {"columns": ["c"], "distinct": True})
    assert [(each.cells, each.bound, each.plan.marginals) for each in plan.tallies] == [
        (None, 3, (("a", "c"), ("b",))),
        (1, 1, (("a", "b"), ("c",))),
        (2, 2, (("b", "c"),)),
    ]
    assert [plan.tally_index(table) for table in (("b", "a"), ("b",), ("c",), ("c", "b"), ())] == [1, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("tables", "unit"), [([["a", "b"], ["c"]], UNIT), ([PERSONS, ["c"]], {"id": "who", "rows": 1})]
)
def test_a_plan_of_rows_alone_is_its_own_tally(tables: list[Any], unit: dict[str, Any]) -> None:
    plan = plan_of(*tables, unit=unit)
    assert not plan.has_distinct
    assert plan.at(2).tallies[0].plan == plan.at(2)


def test_a_plan_file_keeps_it_and_it_changes_what_is_measured() -> None:
    plan = plan_of(PERSONS, SEVERAL, ["c"])
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert again.key == plan.key
    others = [
        plan_of(["a", "b"], SEVERAL, ["c"]),
        plan_of(PERSONS, SEVERAL | {"cells_per_person": 3}, ["c"]),
        plan_of(PERSONS, ["b", "c"], ["c"]),
    ]
    assert len({plan.key, *(each.key for each in others)}) == 4


def test_a_copy_for_other_rows_of_a_person_forgets_the_tallies_of_the_old_plan() -> None:
    plan = plan_of(PERSONS, ["c"])
    assert [each.bound for each in plan.tallies] == [3, 1]
    copy = plan.model_copy(update={"unit": Unit(id="who", rows=9), "rows_about": 1800})
    assert [(each.bound, each.plan.rows_about) for each in copy.tallies] == [(9, 1800), (1, 200)]
    assert [each.bound for each in plan.tallies] == [3, 1]
    assert copy == plan_of(PERSONS, ["c"], unit={"id": "who", "rows": 9}, rows_about=1800)
    assert decide(copy).plan_id == decide(plan_of(PERSONS, ["c"], unit={"id": "who", "rows": 9})).plan_id


def test_rows_and_cells_of_a_person_are_not_the_same_though_as_many_count() -> None:
    """Both plans measure tables over the same columns, with the same shares of ε and the same noise."""
    unit, once, twice = {"id": "who", "rows": 2}, PERSONS | {"columns": ["b"]}, SEVERAL | {"columns": ["a"]}
    of_rows, of_cells = decide(plan_of(["a"], once, unit=unit)), decide(plan_of(twice, once, unit=unit))
    scales = [{each.columns: each.scale for each in strategy.allocations} for strategy in (of_rows, of_cells)]
    assert scales[0] == scales[1]
    assert of_rows.plan_id != of_cells.plan_id


@pytest.mark.parametrize(
    ("tables", "more", "words"),
    [
        ([PERSONS], {"unit": {"rows": 1}}, "name the column that tells them apart"),
        ([PERSONS | {"cells_per_person": 4}], {}, "with at most 3 rows can be in at most 3 of its cells"),
        ([{"columns": ["a"], "distinct": True, "cells_per_person": 3}], {}, "at most 2 of its cells"),
        ([{"columns": ["a"], "cells_per_person": 2}], {}, "add distinct: true"),
        ([PERSONS | {"ranges": True}], {}, "distinct persons are counted only"),
        ([PERSONS], {"strategy": "adaptive"}, "use strategy: direct or auto"),
        ([PERSONS], {"strategy": "optimised"}, "use strategy: direct or auto"),
        ([PERSONS, ["b", "a"]], {}, "is listed twice"),
    ],
)
def test_unsound_plans_are_refused_in_words(tables: list[Any], more: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_of(*tables, **more)


def test_distinct_persons_have_no_means_and_no_levels_beside_them() -> None:
    pay = {"name": "pay", "kind": "amount", "from": 0, "to": 9}
    places = {"name": "place", "kind": "category", "values": {"North": ["A", "B"]}, "levels": ["land", "place"]}
    sex = {"name": "sex", "kind": "yesno"}
    fields: dict[str, Any] = {"dataset": "d", "epsilon": "1", "unit": UNIT, "columns": [pay, places, sex]}
    with pytest.raises(PlanError, match="counted only"):
        Plan(**fields, tables=[{"columns": ["sex"], "distinct": True, "mean": ["pay"]}])
    with pytest.raises(PlanError, match="cannot stand beside levels of place"):
        Plan(**fields, tables=[["place@land"], ["place"], {"columns": ["sex"], "distinct": True}])
    with pytest.raises(PlanError, match="a person is counted in one cell only"):
        Plan(**fields, tables=[{"columns": ["place@land"], "distinct": True, "cells_per_person": 2}])


def test_weights_count_between_tallies() -> None:
    heavy = decide(plan_of(["a", "b"], {"columns": ["c"], "distinct": True, "weight": 8}))
    close_match = decide(plan_of(["a", "b"], {"columns": ["c"], "distinct": True}))
    parts = [[float(each.epsilon) for each in strategy.allocations] for strategy in (close_match, heavy)]
    ratios = [persons / rows for rows, persons in parts]
    assert ratios[1] == pytest.approx(2 * ratios[0], rel=0.01), "the cube root of 8"
