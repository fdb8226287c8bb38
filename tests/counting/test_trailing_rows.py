"""A last row that is a total or a note is noticed, and persons are not taken for one."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from dpengine.owner import row_count, rows_below
from dpengine.sources.open import open_table

PEOPLE = [["Ann", "34", "North"], ["Bob", "51", "South"], ["Eve", "7", "North"]]
NOBODY = [["Total", "92", ""], ["", "", ""], ["Source: the office", "", ""]]
LAST = {
    "a total": (["Total", "92", ""], True),
    "a total in German, at the end": (["12", "92", " SUMME: "], True),
    "a grand total": (["Grand total", "92", "3"], True),
    "a note": (["Source: the office", "", ""], True),
    "only blanks": (["", "", ""], True),
    "a person": (["Joe", "60", "South"], False),
    "a person who left one question open": (["Joe", "", "South"], False),
    "a person at a comprehensive school": (["Joe", "60", "Gesamtschule"], False),
    "a person with a word of totals in a name": (["Sum Total Ltd", "60", "South"], False),
}


@pytest.mark.by_day(9)
@pytest.mark.parametrize("kind", ["t.csv", "t.tsv", "t.xlsx"])
@pytest.mark.parametrize("last", LAST)
def test_a_last_row_is_noticed_by_its_word_or_its_blanks(kind: str, last: str, tmp_path: Path) -> None:
    row, noticed = LAST[last]
    lines = [["name", "age", "region"], *PEOPLE, row]
    path = tmp_path / kind
    if kind == "t.xlsx":
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append([int(cell) if cell.isdigit() else cell or None for cell in line])
        book.save(path)
        noticed &= any(row)  # blank rows of a sheet are no rows
    else:
        path.write_text("\n".join(("," if kind == "t.csv" else "\t").join(line) for line in lines) + "\n")
    with open_table(path) as table:
        assert rows_below(table) == int(noticed)


def test_several_rows_below_are_noticed_at_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(map(",".join, [["name", "age", "region"], *PEOPLE, *NOBODY])))
    with open_table(tmp_path / "t.csv") as table:
        assert rows_below(table) == 3
    with open_table(tmp_path / "t.csv", skip_last=3) as table:
        assert (rows_below(table), row_count(table)) == (0, 3)


def test_a_gap_here_and_there_makes_no_column_blank(tmp_path: Path) -> None:
    people = [["Ann", "" if k == 7 else "34", "" if k == 3 else "North"] for k in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(map(",".join, [["name", "age", "region"], *people, NOBODY[2]])))
    with open_table(tmp_path / "t.csv") as table:
        assert rows_below(table) == 1


def test_columns_that_are_often_blank_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,age,died\nAnn,34,\nBob,,2020\nEve,,\n")
    with open_table(tmp_path / "t.csv") as table:
        assert not rows_below(table)


def test_one_gap_in_two_columns_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("town,child\nNorth,yes\nSouth,no\n,no\n")
    with open_table(tmp_path / "t.csv") as table:
        assert rows_below(table) == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_hardly_any_rows_has_none(rows: int) -> None:
    with open_table(pd.DataFrame({"a": ["x"] * rows, "b": ["y"] * rows})) as table:
        assert not rows_below(table)


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,age\n" + "Ann Müller,34\n" * 20_000 + "Total,680000\n")
    with open_table(tmp_path / "t.csv", skip_last=0) as table:
        assert rows_below(table) == 1
