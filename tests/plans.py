"""Plans that many tests share, and the Hypothesis strategies for more of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dpengine import Plan

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


@st.composite
def plans(draw: st.DrawFn, *, columns: int = 4, cells: int = 5) -> Plan:
    """Plans of up to ``columns`` columns of up to ``cells`` cells, with any set of tables over them."""
    sizes = draw(st.lists(st.integers(1, cells), min_size=1, max_size=columns))
    names = "abcdefgh"[: len(sizes)]
    table = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    tables = draw(st.lists(table, min_size=1, max_size=4, unique_by=frozenset))
    epsilon = draw(st.sampled_from(["0.1", "1/3", "1", "2.5", "10"]))
    return letters_plan(sizes, tables, epsilon=epsilon)
