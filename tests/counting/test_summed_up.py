"""A table whose rows stand for many people each is noticed, and a table of persons is not taken for one."""

from __future__ import annotations

from pathlib import Path

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


def test_text_files_are_looked_at_too_and_long_ones_are_not(tmp_path: Path) -> None:
    lines = [f"{k},{k % 7 + 1}" for k in range(100_001)]
    for rows, noticed in ((100_000, "n"), (100_001, None)):
        (tmp_path / "t.csv").write_text("\n".join(["block,n", *lines[:rows]]))
        with open_table(tmp_path / "t.csv") as table:
            assert frequency_column(table) == noticed
