"""What is declared to mean *missing*, or is no number at all, is missing whether NumPy or SQL encodes the rows.

Rows are encoded in NumPy if a row is the unit, and in SQL if a person's rows are chosen; `test_numpy_lookup` compares
both on texts and values of all kinds by night.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, open_table
from dpengine.counting.count import count

DAYS = {"kind": "date", "from": "2023-12-15", "to": "2024-03-10", "by": "month", "missing_as": ["2024-01-01"]}
PAY = {"kind": "amount", "from": 0, "to": 9, "missing_as": ["-9", "n/a"]}
AGE = {"kind": "number", "edges": [0, 18, 99], "missing_as": ["17", "n/a"]}


@pytest.mark.parametrize(
    ("declared", "values", "missing"),
    [
        (DAYS, ["2024-01-01", "2024-01-02", " 2024-01-01 ", "", None, "2024-02-01"], 4),
        (DAYS, pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-02-01"]).date, 2),
        (DAYS, pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-02-01"]), 2),
        (AGE, ["17", "17.0", "18", "n/a", None, "40"], 4),
        (AGE, [17, 18, 40], 1),
        (AGE, [17.0, 17.5, float("nan"), 40.0, None], 3),
        (AGE, pd.array([17, 18, None, 40], dtype="Int64"), 2),
        ({"kind": "number", "edges": [0, 18, 99]}, pd.array([0, 18, None, 40], dtype="Int64"), 1),
        (DAYS | {"missing_as": []}, pd.to_datetime(["2024-01-01", None, "2024-02-01"]), 1),
        (PAY, ["-9", "-9.0", "5", "n/a", "", None], 5),
        (PAY, [-9, 5, 12], 1),
        (PAY, [-9.0, 5.0, float("nan"), 12.0], 2),
        ({"kind": "amount", "from": 0, "to": 9}, [5.0, float("nan"), float("inf"), -float("inf"), None], 4),
        ({"kind": "amount", "from": 0, "to": 9}, [5, 12, -3], 0),
    ],
)
@pytest.mark.parametrize("unit", [{"rows": 1}, {"rows": 1, "id": "who"}], ids=["by NumPy", "by SQL"])
def test_it_is_missing_however_it_is_written(
    unit: dict[str, Any], declared: dict[str, Any], values: list[Any], missing: int
) -> None:
    columns = [{"name": "x", "missing": True, **declared}, {"name": "g", "kind": "yesno", "missing": False}]
    table = {"columns": ["g"], "mean": ["x"]} if declared["kind"] == "amount" else ["g", "x"]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[table], unit=unit)
    frame = pd.DataFrame({"x": values, "g": "yes", "who": [f"p{k}" for k in range(len(values))]})
    (counts,) = count(open_table(frame), plan, [("x",)], truncation_key=b"key")
    grain = plan.grain(("x",))
    assert counts.sum() == len(values) * grain
    assert counts[plan.column("x").missing_code] == missing * grain
    assert np.count_nonzero(counts) > 1
