"""Levels of a column: read, kept, named and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, PlanError
from tests.plans import geography_plan

NESTED = {"W": {"CA": ["Kern", "Napa"], "NV": ["Nye"]}, "S": {"TX": ["Travis"]}}
LEVELS = ["region", "state", "county"]


def column(**fields: Any) -> dict[str, Any]:
    return {"name": "county", "kind": "category", "values": NESTED, "levels": LEVELS} | fields


def plan_of(*tables: Any, columns: Any = (), **more: Any) -> Plan:
    columns = [*(columns or [column()]), {"name": "sex", "kind": "category", "values": ["f", "m"], "missing": False}]
    return Plan(**{"dataset": "d", "epsilon": "1", "columns": columns, "tables": tables} | more)


def test_levels_are_columns_with_groups_and_are_kept() -> None:
    plan = plan_of(["county@region", "sex"], ["county@state"], ["county", "sex"])
    assert plan.released == ("county@region", "county@state", "county", "sex")
    assert plan.used == ("county", "sex")
    assert plan.column("county@state").labels == ("CA", "NV", "TX", "(other)", "(missing)")
    assert plan.column("county@state").heading == "state"
    assert plan.shape(("county@region", "sex")) == (4, 3)
    assert plan.resolution.groups("county", "county@region").tolist() == [0, 0, 0, 1, 2, 3]
    assert plan.resolution.groups("county@state", "county@region").tolist() == [0, 0, 1, 2, 3]
    again = Plan.loads(plan.dumps())
    assert again == plan
    assert again.key == plan.key


def test_levels_that_are_not_used_change_nothing_and_used_ones_do() -> None:
    flat = column(values=["Kern", "Napa", "Nye", "Travis"], levels=[])
    other = column(values={"W": {"CA": ["Kern"], "NV": ["Napa", "Nye"]}, "S": {"TX": ["Travis"]}})
    assert plan_of(["county"]).key == plan_of(["county"], columns=[flat]).key
    assert plan_of(["county@region"], columns=[other]).key == plan_of(["county@region"]).key
    keys = {plan_of(*tables, columns=columns).key for tables, columns in [
        ([["county"]], ()), ([["county@state"]], ()), ([["county@state"]], [other]), ([["county@region"]], ()),
    ]}  # fmt: skip
    assert len(keys) == 4


def test_a_codebook_names_the_tree_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "geo.csv").write_text("county,state,note\nKern,CA,x\nTravis,TX,y\nNapa,CA,\nKern,CA,again\n")
    (tmp_path / "geo.json").write_text('{"county": {"CA": ["Kern", "Napa"], "TX": ["Travis"]}}')
    for name in ("geo.csv", "geo.json"):
        text = f"""
dataset: d
epsilon: 1
columns: [{{name: county, kind: category, codebook: {name}, levels: [state, county]}}]
tables: [[county@state], [county]]
"""
        plan = Plan.loads(text, folder=tmp_path)
        assert plan.column("county").declared == ("Kern", "Napa", "Travis")
        assert plan.resolution.groups("county", "county@state").tolist() == [0, 0, 1, 2, 3]
        assert plan.column("county").source == "codebook"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("county,state\nKern,CA\nKern,NV\n", "'Kern' \\(county\\) has two parents, 'CA' and 'NV' \\(state\\)"),
        ("county,state\nKern,CA\nNapa,\n", "line 3: 'Napa' has no state"),
        ("county,state\nKern,CA\n,NV\n", "line 3: 'NV' has no county"),
        ("county,land\nKern,CA\n", "no column 'state', which 'levels' names; there are county, land"),
        ("county,state\n", "lists no values"),
        ("county,state\nKern,(other)\n", "\\(other\\) is the name of a cell"),
    ],
)
def test_a_codebook_that_is_no_tree_is_refused(text: str, fragment: str, tmp_path: Path) -> None:
    (tmp_path / "geo.csv").write_text(text)
    plan = "{dataset: d, epsilon: 1, columns: [{name: county, kind: category, codebook: geo.csv, "
    plan += "levels: [state, county]}], tables: [[county@state]]}"
    with pytest.raises(PlanError, match=fragment):
        Plan.loads(plan, folder=tmp_path)


@pytest.mark.parametrize(
    ("fields", "fragment"),
    [
        ({"levels": []}, "need the names of their levels"),
        ({"levels": ["state", "county"]}, "not nested as deeply as there are levels .*: name a level for each step"),
        ({"values": {"CA": ["Kern"]}}, "not nested as deeply"),
        ({"values": ["Kern"]}, "'levels' need nested values"),
        ({"values": {"W": {"CA": []}}}, "'CA' holds no county"),
        ({"values": {"W": {"CA": ["Kern"]}, "S": {"CA": ["Napa"]}}}, "'CA' \\(state\\) has two parents, 'W' and 'S'"),
        ({"values": {"W": {"CA": ["Kern"], "NV": ["Kern"]}}}, "'Kern' \\(county\\) has two parents"),
        ({"values": {"W": {"CA": ["Kern", "Kern"]}}}, "'Kern' is listed twice"),
        ({"levels": ["region", "region", "county"]}, "'region' is named twice"),
        ({"levels": ["re@gion", "state", "county"]}, "a name without @"),
        ({"values": ["Kern"], "parents": 5}, "a parent at each level"),
        ({"values": ["Kern"], "parents": [["CA", "NV"]]}, "a parent at each level"),
        ({"values": ["Kern"], "parents": [[""], [""]]}, "has no"),
    ],
)
def test_levels_that_are_no_tree_are_refused(fields: dict[str, Any], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        plan_of(["county"], columns=[column(**fields)])


@pytest.mark.parametrize(
    ("tables", "more", "fragment"),
    [
        ([["county@land"]], {}, "'county' has no level 'land'; its levels are region, state, county"),
        ([["county@county"]], {}, "is the finest level: write 'county' alone"),
        ([["sex@land"]], {}, "'sex' has no levels"),
        ([["land@county"]], {}, "there is no column 'land@county'"),
        ([["county@state", "county"]], {}, "at two levels"),
        ([["county@state"]], {"unit": {"id": "county"}}, "names persons"),
        ([["county@state"]], {"columns": [column(), {"name": "county@state", "kind": "yesno"}]}, "called like a level"),
    ],
)
def test_tables_at_levels_that_cannot_be_published_are_refused(tables: Any, more: Any, fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        plan_of(*tables, **more)


def test_a_joint_table_beyond_the_limit_is_refused() -> None:
    big = {"name": "age", "kind": "number", "edges": {"from": 0, "to": 1000, "bins": 999_000}}
    with pytest.raises(PlanError, match="sums of one table county × age"):
        plan_of(
            ["county@region", "age"],
            ["county"],
            columns=[column(), big | {"edges": {"from": 0, "to": 1000, "bins": 800_000}}],
        )
    with pytest.raises(PlanError, match="sums of one table county × age"):
        plan_of(["county@state"], ["county"], ["age"], columns=[column(), big], strategy="direct")
    plan_of(["county@state"], ["county"], ["age"], columns=[column(), big])


VISIT = {"name": "visit", "kind": "date", "from": "2024-11-20", "to": "2025-04-03", "by": "month"}
AGE = {"name": "age", "kind": "number", "edges": {"from": 0, "to": 90, "bins": 18}, "whole": True}


def test_dates_have_longer_periods_in_any_order_and_numbers_wider_bins() -> None:
    columns = [VISIT | {"levels": ["quarter", "year", "month"]}]
    plan = plan_of(["visit@year", "sex"], ["visit@quarter"], ["visit"], columns=columns)
    assert plan.resolution.levels == ("visit@year", "visit@quarter", "visit")
    assert plan.column("visit@quarter").declared == ("2024-Q4", "2025-Q1", "2025-Q2")
    assert plan.column("visit@quarter").heading == "visit (quarter)"
    assert plan.resolution.groups("visit", "visit@quarter").tolist() == [0, 0, 1, 1, 1, 2, 3, 4]
    assert plan.resolution.groups("visit@quarter", "visit@year").tolist() == [0, 1, 1, 2, 3]
    days = plan_of(["visit@month"], columns=[VISIT | {"by": "day", "levels": ["month"]}])
    assert np.bincount(days.resolution.groups("visit", "visit@month")).tolist() == [11, 31, 31, 28, 31, 3, 1, 1]
    wider = plan_of(["age@20-year"], ["age"], columns=[AGE | {"levels": {"20-year": 20, "all": [0, "90.0"]}}])
    assert wider.column("age@20-year").shown == ("0–19", "20–39", "40–59", "60–79", "80–90", "(other)", "(missing)")
    assert wider.resolution.groups("age", "age@20-year").tolist() == [*(k // 4 for k in range(18)), 5, 6]
    assert wider.resolution.groups("age@20-year", "age@all").tolist() == [0, 0, 0, 0, 0, 1, 2]
    for each in (plan, days, wider):
        again = Plan.loads(each.dumps())
        assert again == each
        assert again.key == each.key
    flat = plan_of(["age"], columns=[AGE])
    assert flat.key == plan_of(["age"], columns=[AGE | {"levels": {"20-year": 20}}]).key != wider.key


@pytest.mark.parametrize(
    ("fields", "fragment"),
    [
        (VISIT | {"by": "week", "levels": ["month"]}, "a week does not lie within one month"),
        (VISIT | {"by": "day", "levels": ["week", "year"]}, "a week does not lie within one year"),
        (VISIT | {"levels": ["day"]}, "counted by month, so they have no level 'day'"),
        (VISIT | {"levels": ["year", "year"]}, "'year' is named twice"),
        (VISIT | {"levels": ["decade"]}, "'day', 'week', 'month', 'quarter' or 'year'"),
        (AGE | {"levels": {"x": 12}}, "the bins of the level 'x' do not nest in those of the column: 12 is an edge"),
        (AGE | {"levels": {"x": 10, "y": 15}}, "the levels 'y' and 'x' do not nest: 15 is an edge"),
        (AGE | {"levels": {"x": [0, 45, 85]}}, "90 is an edge of one of them only"),
        (AGE | {"levels": {"x": 5}}, "its bins are not wider"),
        (AGE | {"levels": {"x": 0}}, "width of bins must be above 0"),
        (AGE | {"levels": {"x": [0, 45, 90], "y": 45}}, "have the same bins"),
        (AGE | {"levels": {"x": [*range(0, 91, 5)]}}, "its bins are not wider"),
        (AGE | {"levels": {"x": "wide"}}, "level 'x'"),
        (AGE | {"levels": {"x@y": 10}}, "a name without @"),
        (AGE | {"levels": ["10-year"]}, "such as {20-year: 20}"),
    ],
)
def test_periods_and_bins_that_do_not_nest_are_refused(fields: dict[str, Any], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        plan_of([fields["name"]], columns=[fields])


def test_two_columns_at_one_level_each_are_columns_like_any_other() -> None:
    columns = [column(), VISIT | {"levels": ["quarter"]}]
    plan = plan_of(["county@state", "visit@quarter"], ["sex"], columns=columns, strategy="adaptive")
    assert plan.used == ("county", "visit", "sex")
    assert plan.released == ("county@state", "visit@quarter", "sex")
    assert plan.resolution.levels == ()
    beside = plan_of(["county@state", "visit@quarter"], ["county", "visit@quarter"], columns=columns)
    assert beside.resolution.levels == ("county@state", "county")
    assert beside.resolution.others == ("visit@quarter",)
    assert beside.released == ("county@state", "county", "visit@quarter")
    keys = {each.key for each in (plan, plan_of(["county@state", "visit"], ["sex"], columns=columns))}
    assert len(keys) == 2


def test_a_coarse_level_that_takes_too_many_cells_to_count_is_refused() -> None:
    age = {"name": "age", "kind": "number", "edges": {"from": 0, "to": 100_000, "bins": 100_000}}
    plan_of(["age@wide", "sex"], columns=[age | {"levels": {"wide": 50_000}}])
    big = {"name": "pay", "kind": "number", "edges": {"from": 0, "to": 100, "bins": 100}}
    with pytest.raises(PlanError, match="rows are counted by 'age' before they are added up to 'age@wide'"):
        plan_of(["age@wide", "pay"], columns=[age | {"levels": {"wide": 50_000}}, big])


def test_the_finest_period_is_named_by_its_column_alone() -> None:
    with pytest.raises(PlanError, match="'month' is the finest level: write 'visit' alone"):
        plan_of(["visit@month"], columns=[VISIT | {"levels": ["year"]}])


def test_the_plans_of_other_tests_have_uneven_trees() -> None:
    sizes = {geography_plan(seed).shape(("place@land", "place")) for seed in range(4)}
    assert len(sizes) == 4
