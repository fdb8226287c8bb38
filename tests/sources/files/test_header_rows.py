"""Titles above the column names are skipped, and a table without names gets some; each row is read unchanged."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.errors import TableError
from dpengine.owner import distinct_texts, row_count
from dpengine.sources.open import open_table

NAMES = ["age", "place"]
ROWS = [["34", "Paris, TX"], ["51", 'the "Old" one'], ["7", ""]]
TITLES = [["Table 3: people", ""], ["", ""]]
TOTALS = [["Total", "3"], ["", ""], ["Source: the office", ""]]
LINE = "\n"


def as_text(rows: list[list[str]], delimiter: str) -> bytes:
    quoted = (delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    return (LINE.join(quoted) + LINE).encode()


def as_book(rows: list[list[str]]) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


KINDS = {
    "t.csv": lambda rows: as_text(rows, ","),
    "t.tsv": lambda rows: as_text(rows, "\t"),
    "t.csv.gz": lambda rows: gzip.compress(as_text(rows, ";")),
    "t.xlsx": as_book,
}


@pytest.mark.by_day(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("titles", [0, 2])
@pytest.mark.parametrize("named", [True, False])
def test_rows_are_those_below_titles_and_names(kind: str, titles: int, named: bool, tmp_path: Path) -> None:
    path = tmp_path / kind
    path.write_bytes(KINDS[kind](TITLES[:titles] + ([NAMES] if named else []) + ROWS))
    with open_table(path, skip_rows=titles, names_given=named) as table:
        assert [field.name for field in table.columns] == (NAMES if named else ["column_1", "column_2"])
        assert row_count(table) == len(ROWS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [True, False])
def test_rows_at_the_end_are_left_out_but_for_blank_ones(kind: str, named: bool, tmp_path: Path) -> None:
    path = tmp_path / kind
    below = TOTALS if kind.endswith("xlsx") else [TOTALS[0], TOTALS[2]]  # a line with blank cells is a row
    path.write_bytes(KINDS[kind](([NAMES] if named else []) + ROWS + below) + (b"" if kind != "t.csv" else b"\n \n"))
    with open_table(path, names_given=named, skip_last=2) as table:
        assert row_count(table) == len(ROWS)
        assert distinct_texts(table, table.columns[0].name, limit=9) == sorted(age for age, _ in ROWS)


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_repeat_are_numbered_on_request_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kind
    path.write_bytes(KINDS[kind]([["age", "age", "", "age (2)"], ["34", "35", "36", "37"]]))
    with pytest.raises(TableError, match="2 columns are named 'age'"):
        open_table(path)
    with open_table(path, number_names=True) as table:
        assert [field.name for field in table.columns] == ["age", "age (3)", "column_3", "age (2)"]
        assert distinct_texts(table, "age (3)", limit=9) == ["35"]


@given(st.integers(0, 4), st.integers(1, 4))
def test_each_line_above_the_names_is_left_out_once(
    tmp_path_factory: pytest.TempPathFactory, titles: int, rows: int
) -> None:
    path = tmp_path_factory.mktemp("titles") / "t.csv"
    path.write_text("title\n" * titles + "a,b\n" + "1,2\n" * rows)
    with open_table(path, skip_rows=titles) as table:
        assert [field.name for field in table.columns] == ["a", "b"]
        assert row_count(table) == rows


@pytest.mark.parametrize(
    ("name", "content", "options", "fragment"),
    [
        ("t.csv", b"a,b\n", {"skip_rows": 9}, "no more than 9 lines"),
        ("t.parquet", b"PAR1", {"skip_rows": 1}, "only text files and workbooks"),
        ("t.arrow", b"", {"names_given": False}, "only text files and workbooks"),
        ("t.csv", b"a,b\n", {"skip_rows": -1}, "0 or more"),
        ("t.csv", b"a,b\n1,2\n", {"skip_last": 2}, "fewer than 2 lines"),
        ("t.csv", b"a,b\n1,2\n", {"skip_last": 10**12}, "fewer than 1,000,000,000,000 lines"),
        ("t.csv", b"a,b\n", {"skip_last": -1}, "0 or more"),
        pytest.param("t.xlsx", as_book([NAMES, ["1", "2"]]), {"skip_last": 2}, "fewer than 2 rows", id="workbook"),
        ("t.parquet", b"PAR1", {"skip_last": 1}, "only text files and workbooks"),
    ],
)
def test_lines_that_cannot_be_skipped_are_refused(
    name: str, content: bytes, options: dict[str, int], fragment: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=fragment):
        open_table(tmp_path / name, **options)  # type: ignore[arg-type]
