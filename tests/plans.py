"""Plans that many tests share, and the Hypothesis strategies for more of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.array_types import Ints
from dpengine.marginals.measurement import Allocation

MEANS = """
dataset: pay
epsilon: "5"
columns:
  - {name: sex, kind: category, values: [f, m], other: false}
  - {name: pay, kind: amount, from: 0, to: 100}
tables:
  - {columns: [sex], mean: [pay]}
"""
PAY = """
dataset: pay
epsilon: "1"
columns:
  - {name: sex, kind: category, values: [f, m]}
  - {name: state, kind: category, values: [CA, TX]}
  - {name: pay, kind: amount, step: 100, knots: [0, 100, 200, 500, 1000]}
  - {name: hours, kind: amount, from: 0, to: 80, missing: false}
tables:
  - {columns: [state, sex], mean: [pay], sum: [hours], quantiles: {pay: [0.25, 0.5]}}
  - {columns: [sex], mean: [hours], weight: 3}
"""
PAIRS = """
dataset: pay
epsilon: "1"
columns:
  - {name: sex, kind: category, values: [f, m]}
  - {name: pay, kind: amount, from: 0, to: 1000, step: 10}
  - {name: hours, kind: amount, from: 0, to: 80}
tables:
  - {columns: [sex], mean: [pay], standard_deviation: [pay], covariance: [[pay, hours]], correlation: [[pay, hours]],
     slope: [{of: pay, on: hours}]}
"""
CLINIC = """
title: Clinic survey 2026
dataset: clinic-2026
epsilon: "1"
unit: {rows: 1}
rows_about: 5000
columns:
  - {name: age,    kind: number,   edges: [0, 18, 30, 45, 65, 120]}
  - {name: region, kind: category, values: [North, South, "Paris, TX", "False"]}
  - {name: visit,  kind: date,     from: 2024-01-01, to: 2024-12-31, by: quarter}
tables:
  - [age, region]
  - [region, visit]
"""


def category(name: str, size: int) -> dict[str, object]:
    """The entry of a category column with `size` values."""
    return {"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)]}


def survey(**changes: Any) -> Plan:
    """A plan of two tables that share a column, with some fields changed."""
    fields: dict[str, Any] = {
        "title": "Survey",
        "dataset": "clinic",
        "epsilon": "0.5",
        "rows_about": 4000,
        "columns": [category("age", 8), category("region", 30), category("sex", 2)],
        "tables": [["age", "region"], ["region", "sex"]],
    }
    return Plan(**(fields | changes))


def letters_plan(sizes: list[int], tables: Any, *, epsilon: Any = "1", **more: Any) -> Plan:
    """A plan over columns a, b, c, … with the given numbers of cells and neither *other* nor *missing*."""
    columns = [
        {
            "name": name,
            "kind": "category",
            "values": [f"{name}{k}" for k in range(size)],
            "other": False,
            "missing": False,
        }
        for name, size in zip("abcdefgh", sizes, strict=False)
    ]
    return Plan(dataset="letters", epsilon=epsilon, columns=columns, tables=tables, **more)


def sparse_plan(**more: Any) -> Plan:
    """A plan of one table, within it another, whose noise would bury most cells: so *auto* stands for *adaptive*."""
    return letters_plan([30, 20, 9], [["c", "a", "b"], ["a"]], **({"epsilon": "0.1", "rows_about": 2000} | more))


@st.composite
def plans(draw: st.DrawFn, *, columns: int = 4, cells: int = 5) -> Plan:
    """Plans of up to ``columns`` columns of up to ``cells`` cells, with any set of tables over them."""
    sizes = draw(st.lists(st.integers(1, cells), min_size=1, max_size=columns))
    names = "abcdefgh"[: len(sizes)]
    table = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    tables = draw(st.lists(table, min_size=1, max_size=4, unique_by=frozenset))
    epsilon = draw(st.sampled_from(["0.1", "1/3", "1", "2.5", "10"]))
    return letters_plan(sizes, tables, epsilon=epsilon)


def noisy_values(data: st.DataObject, plan: Plan, allocations: Sequence[Allocation], low: int, high: int) -> list[Ints]:
    """Numbers from `low` to `high` in place of the noisy counts of each measured marginal."""
    values: list[Ints] = []
    for allocation in allocations:
        cells = plan.cells(allocation.columns)
        drawn = data.draw(st.lists(st.integers(low, high), min_size=cells, max_size=cells))
        values.append(np.array(drawn, dtype=np.int64).reshape(plan.shape(allocation.columns)))
    return values


def geography_plan(seed: int, tables: Any = None, **more: Any) -> Plan:
    """A plan over a random tree of places, each in a land of a zone, by default at all three levels."""
    random = np.random.default_rng(seed)
    values = {
        f"z{z}": {
            f"l{z}{k}": [f"p{z}{k}{p}" for p in range(int(random.integers(1, 7)))]
            for k in range(int(random.integers(1, 5)))
        }
        for z in range(int(random.integers(2, 4)))
    }
    place = {"name": "place", "kind": "category", "values": values, "levels": ["zone", "land", "place"]}
    columns = [place, {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False}]
    tables = tables or [["place@zone", "sex"], ["place@land"], ["place", "sex"], ["sex"]]
    return Plan(**{"dataset": "d", "epsilon": "1", "columns": columns, "tables": tables} | more)
