"""Steps of a range, and rows up to the candidates for an upper bound, are counted alike wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Plan, open_table
from dpengine.counting.search_counts import count_steps
from tests import ibis_tables

pytestmark = ibis_tables.TOLERATED
KEY = b"k" * 32
ROWS = pd.DataFrame({"who": ["a", "a", "a", "b", "c", None], "pay": [0.0, 4.9, 5.0, 20.0, np.nan, 3.0]})


def plan_of(rows: int) -> Plan:
    column = {"name": "pay", "kind": "number", "from": 0, "to": 20, "step": 5, "bins": 2}
    unit = {"rows": 1} if rows == 1 else {"rows": rows, "id": "who"}
    return Plan(dataset="pay", epsilon="1", columns=[column], tables=[["pay"]], unit=unit)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_each_row_is_in_its_step(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{form}"
    if form == "csv":
        ROWS.to_csv(path, index=False)
    elif form == "parquet":
        ROWS.to_parquet(path)
    with open_table(ROWS if form == "frame" else path) as table:
        (unbounded,) = count_steps(table, plan_of(1), truncation_key=KEY)
        assert unbounded.tolist() == [3, 1, 0, 1]
        (bounded,) = count_steps(table, plan_of(2), truncation_key=KEY)
        assert bounded.sum() == 3, "two rows of the first person, one of the second; without an ID none"


def test_each_row_is_in_its_step_in_another_engine(in_engine: Callable[[pa.Table], Any]) -> None:
    with open_table(in_engine(pa.table({"pay": ROWS["pay"].to_numpy()}))) as table:
        assert [each.tolist() for each in count_steps(table, plan_of(1), truncation_key=KEY)] == [[3, 1, 0, 1]]


PAYS = [0.0, 10.4, 10.5, 11.0, 15.0, 15.5, 40.0, 99.0, -3.0, 1e300, np.nan, np.inf]
UP_TO = [3, 3, 1, 0, 3]  # up to 10, 15, 20, 30 and 40: half a step counts as the next one, what is beyond as an end


def amounts_of(rows: int) -> Plan:
    columns = [
        {"name": "pay", "kind": "amount", "from": 0, "to": 40, "upper": "found"},
        {"name": "sex", "kind": "category", "values": ["f", "m"]},
    ]
    unit = {"rows": 1} if rows == 1 else {"rows": rows, "id": "who"}
    tables = [{"columns": ["sex"], "mean": ["pay"]}]
    return Plan(dataset="pay", epsilon="1", columns=columns, tables=tables, unit=unit)


def test_each_amount_is_up_to_the_first_candidate_that_is_not_below_it() -> None:
    rows = pd.DataFrame({"pay": PAYS, "sex": "f"})
    with open_table(rows) as table:
        assert [each.tolist() for each in count_steps(table, amounts_of(1), truncation_key=KEY)] == [UP_TO]


def test_at_most_so_many_amounts_of_a_person_are_counted() -> None:
    rows = pd.DataFrame({"who": ["a"] * 9 + ["b", "c", None], "pay": [5.0] * 12, "sex": "f"})
    with open_table(rows) as table:
        (bounded,) = count_steps(table, amounts_of(2), truncation_key=KEY)
        assert bounded.tolist() == [4, 0, 0, 0, 0]


def test_each_amount_is_up_to_the_same_candidate_in_another_engine(in_engine: Callable[[pa.Table], Any]) -> None:
    rows = pa.table({"pay": PAYS, "sex": ["f"] * len(PAYS)})
    with open_table(in_engine(rows)) as table:
        assert [each.tolist() for each in count_steps(table, amounts_of(1), truncation_key=KEY)] == [UP_TO]
