"""A column with several answers in a cell is noticed, and other texts with commas are not taken for one."""

from __future__ import annotations

from collections.abc import Callable

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


def test_a_table_without_texts_or_rows_has_none() -> None:
    for frame in (pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"q": pd.Series([], dtype=str)})):
        with open_table(frame) as table:
            assert columns_of_several_answers(table) == []
