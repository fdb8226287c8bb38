"""A column with several answers in a cell is noticed, and other texts with commas are not taken for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from dpengine.owner import columns_of_several_answers
from dpengine.sources.open import open_table

TONGUES = ("German", "Turkish", "Arabic", "Polish")
CELLS: dict[str, tuple[Callable[[int], str], bool]] = {
    "several answers": (lambda k: "; ".join(each for i, each in enumerate(TONGUES) if (k % 15 + 1) >> i & 1), True),
    "with commas": (lambda k: ", ".join(each for i, each in enumerate(TONGUES) if (k % 15 + 1) >> i & 1), True),
    "codes": (lambda k: "|".join(str(i) for i in range(4) if (k % 15 + 1) >> i & 1), True),
    "one answer": (lambda k: TONGUES[k % 4], False),
    "numbers with thousands": (lambda k: f"{250 * (k % 40 + 1):,}", False),
    "places": (lambda k: f"{'ABCDE'[k % 5]}, {'XYZ'[k % 3]}", False),
    "names": (lambda k: f"Name {k}, {'Ann' if k % 2 else 'Ann, Dr.'}", False),
    "sentences": (lambda k: f"well, {k}" + ", but" * (k % 3), False),
    "blank": (lambda _k: "", False),
}


@pytest.mark.parametrize("kind", CELLS)
def test_answers_are_noticed_by_few_parts_in_many_combinations(kind: str) -> None:
    cell, noticed = CELLS[kind]
    with open_table(pd.DataFrame({"n": range(300), "q": [cell(k) for k in range(300)]})) as table:
        assert columns_of_several_answers(table) == ["q"] * noticed


@pytest.mark.parametrize("kind", ["xlsx", "csv"])
def test_files_are_looked_at_as_well(kind: str, tmp_path: Path) -> None:
    cell, path = CELLS["several answers"][0], tmp_path / f"t.{kind}"
    frame = pd.DataFrame({"n": range(300), "q": [cell(k).replace("; ", "\n") for k in range(300)]})
    frame.to_excel(path, index=False) if kind == "xlsx" else frame.to_csv(path, index=False)
    with open_table(path) as table:
        assert columns_of_several_answers(table) == ["q"]


def test_a_cell_that_is_too_long_for_a_look_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,n\n" + "a" * 140_000 + ",1\n" + "a;b,2\na,3\nb,4\nb;c,5\nc,6\n" * 9)
    with open_table(tmp_path / "t.csv") as table:
        assert columns_of_several_answers(table) == ["q"]


def test_a_table_without_texts_or_rows_has_none() -> None:
    for frame in (pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"q": pd.Series([], dtype=str)})):
        with open_table(frame) as table:
            assert columns_of_several_answers(table) == []
