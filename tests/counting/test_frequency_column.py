"""A table whose rows stand for many people each is noticed, and a table of persons is not taken for one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dpengine.owner import frequency_column
from dpengine.sources.open import open_table

CELLS = {"region": [*"NNSS"], "sex": [*"fmfm"]}
TABLES: dict[str, tuple[dict[str, list[object]], str | None]] = {
    "a summary": (CELLS | {"Count": [3, 0, 2500, 7]}, "Count"),
    "a summary with texts for numbers": (CELLS | {" Freq": ["3", "0", "2500.0", "7"]}, " Freq"),
    "a summary in German": (CELLS | {"Anzahl Personen": [3, 0, 2500, 7]}, "Anzahl Personen"),
    "a summary whose first such column holds texts": (CELLS | {"cases": [*"abcd"], "n": [3, 0, 2, 7]}, "n"),
    "persons with another number": (CELLS | {"age": [3, 50, 25, 7]}, None),
    "persons, two of them alike": ({"region": [*"NNSS"], "sex": [*"ffmm"], "n": [1, 4, 1, 9]}, None),
    "as many rows as people": (CELLS | {"n": [1, 0, 1, 1]}, None),
    "parts of people": (CELLS | {"n": [1.5, 2, 3, 4]}, None),
    "a gap": (CELLS | {"n": [1, None, 3, 4]}, None),
    "only counts": ({"n": [1, 2, 3, 4]}, None),
    "one row": ({"region": ["N"], "n": [7]}, None),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_of_counts_is_noticed_by_its_name_its_numbers_and_the_other_columns(kind: str) -> None:
    columns, noticed = TABLES[kind]
    with open_table(pd.DataFrame(columns)) as table:
        assert frequency_column(table) == noticed


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_a_file_is_looked_at_by_its_first_rows(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"block": range(5000), "n": [k % 7 + 1 for k in range(4999)] + [-1]})
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    with open_table(path) as table:
        assert frequency_column(table) == "n"
