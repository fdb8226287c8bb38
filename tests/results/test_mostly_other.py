"""Warnings that a column is mostly *(other)* or leaves out rows: from published numbers, and not because of noise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, release
from dpengine.results.mostly_other import mostly_left_out, mostly_other

SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
AGE = {"name": "age", "kind": "number", "edges": [0, 50, 120]}
PLAN = Plan(dataset="d", epsilon=1, columns=[SEX], tables=[["sex"]])


@pytest.mark.parametrize(("low", "total", "told"), [(40, 90, False), (50, 100, False), (51, 100, True)])
def test_only_what_noise_does_not_explain_is_told(low: int, total: int, told: bool) -> None:
    """Of 100 rows at most, 51 at least are in *(other)*; its interval reaches up to 70, which tells nothing."""
    other = {"low": np.array([0, 0, low, 0]), "high": np.array([20, 20, 70, 9])}
    published: Any = SimpleNamespace(
        plan=PLAN, cells=lambda table: other if table else {"low": np.array(total - 20), "high": np.array(total)}
    )
    assert mostly_other(published) == (["sex"] if told else [])


def test_tables_of_rows_are_looked_at_beside_those_of_distinct_persons() -> None:
    """Rows whose values are written in another way are noticed in tables of rows, whatever counts persons."""
    tables = [["sex"], {"columns": ["sex", "age"], "distinct": True}]
    plan = Plan(dataset="d", epsilon=20, unit={"id": "who", "rows": 2}, columns=[SEX, AGE], tables=tables)
    rows = pd.DataFrame({"who": range(300), "sex": "female", "age": 30})
    assert mostly_other(release(rows, plan)) == ["sex"]
    persons = plan.model_copy(update={"tables": plan.tables[1:]})
    assert mostly_other(release(rows, persons)) == []


def test_values_of_few_people_are_in_other_where_values_are_found() -> None:
    found = {"name": "sex", "kind": "category", "values": "found", "among": {"pattern": "@", "most": 1}}
    plan = Plan(dataset="d", epsilon=1, columns=[found], tables=[["sex"]])
    cells = {"low": np.array([90, 90]), "high": np.array([100, 100])}
    published: Any = SimpleNamespace(plan=plan, cells=lambda table: cells if table else {"high": np.array(100)})
    assert mostly_other(published) == []


@pytest.mark.parametrize(
    ("fields", "most", "told"),
    [
        ({}, 99, ["sex"]),
        ({}, 100, []),
        ({"rows_about": None}, 0, []),
        ({"unit": {"id": "who", "rows": 2}}, 0, []),
        ({"columns": [SEX | {"missing": False}]}, 0, ["sex"]),
        ({"columns": [SEX]}, 0, []),
    ],
)
def test_columns_may_leave_out_rows_if_surely_fewer_than_half_are_counted(
    fields: dict[str, Any], most: int, told: list[str]
) -> None:
    """Of 200 stated rows; an ID's bound on rows leaves some out, too, and a column with both cells none."""
    sex = SEX | {"other": False}
    stated: dict[str, Any] = {"dataset": "d", "epsilon": 1, "rows_about": 200, "columns": [sex], "tables": [["sex"]]}
    total = {"low": np.array(max(0, most - 20)), "high": np.array(most)}
    published: Any = SimpleNamespace(plan=Plan(**stated | fields), cells=lambda _: total)
    assert mostly_left_out(published) == told
