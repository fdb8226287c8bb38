"""Codebooks as files of other programs: a workbook that is filled in and brought back, and what a data file says."""

from __future__ import annotations

import io
from collections.abc import Callable

import openpyxl
import pytest

from dpengine import Plan, PlanError
from dpengine.sources.codebook_file import open_codebook, read_codebook, xlsx_bytes
from dpengine.spec.codebook_sheet import HEADER
from dpengine.spec.domain import Category
from tests.corpus.case import CANARY
from tests.corpus.statistical import CASES, written
from tests.corpus.workbooks import book
from tests.plans import CLINIC

ABOUT = {"region": {"description": "where they live", "label": "Region", "words": {"North": "the north"}}}


def test_a_workbook_comes_back_with_all_that_readers_are_told() -> None:
    columns = [*Plan.loads(CLINIC).to_dict()["columns"], {"name": "=smokes", "kind": "yesno", "other": False}]
    content = xlsx_bytes(columns, ABOUT)
    assert content == xlsx_bytes(columns, ABOUT)
    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}, "no cell is a formula"
    assert all(cell.value is None for row in sheet.iter_rows() for cell in row if cell.data_type == "n")
    codebook = read_codebook(content, ".xlsx")
    assert [column.kind for column in codebook.columns] == ["number", "category", "date", "yesno"]
    region = codebook.columns[1]
    assert isinstance(region, Category)
    assert (region.label, region.words, codebook.about["region"]) == (
        "Region",
        {"North": "the north"},
        "where they live",
    )
    assert (codebook.columns[3].name, codebook.columns[3].other) == ("=smokes", False)


def test_what_a_person_typed_into_the_workbook_is_read_by_what_it_shows() -> None:
    rows = [HEADER[:3], ["age", "number", "0, 18, 65"], ["code", "category", 7], ["ward", None, None]]
    assert [(c.name, c.labels[0]) for c in read_codebook(book(*rows), ".xlsx").columns] == [
        ("age", "[0, 18)"),
        ("code", "7"),
    ]


def test_a_workbook_may_list_the_values_of_one_column_with_their_levels() -> None:
    listed = book(["code", "Town"], ["01", "Kern"], ["02", "Napa"])
    (town,) = open_codebook(listed, "towns.xlsx", names=["age", "town"]).codebook.columns
    assert (town.name, town.declared) == ("town", ("Kern", "Napa"))
    levels = book(["town", "state"], ["Kern", "CA"], ["Napa", "CA"], ["Reno", "NV"])
    (town,) = open_codebook(levels, "towns.xlsx", names=["town"]).codebook.columns
    assert town.groupings["state"] == ("CA", "CA", "NV")


REFUSED: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "a formula": (lambda: book(HEADER[:3], ["age", "number", "=1+1"]), ".xlsx", "formula"),
    "falling edges": (lambda: book(HEADER[:3], ["age", "number", "1, 0"]), ".xlsx", "edges must increase"),
    "no header": (lambda: book([CANARY]), ".xlsx", "first row of a codebook sheet"),
    "no workbook": (lambda: b"PK" + CANARY.encode(), ".xlsx", "not a whole workbook"),
    "junk": (CASES["sav: junk"].bytes, ".sav", "not a whole SPSS file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_plain_words(case: str) -> None:
    make, suffix, fragment = REFUSED[case]
    content = make()
    with pytest.raises(PlanError, match=fragment) as caught:
        read_codebook(content, suffix)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_data_file_gives_labels_and_codes_and_no_row(kind: str) -> None:
    content = written(
        kind, {"sex": [1.0, 5.0], "age": [30.0, 40.0]}, column_labels={"sex": "Sex", "age": "Age at visit"},
        variable_value_labels={"sex": {1: "male", 2: "female", 3: "n/a", 4: "n/a"}},
    )  # fmt: skip
    codebook = read_codebook(content, f".{kind}")
    (sex,) = codebook.columns
    assert isinstance(sex, Category)
    assert (sex.values, sex.words) == (("1", "2", "3", "4"), {"1": "male", "2": "female"})
    assert codebook.about == {"sex": "Sex", "age": "Age at visit"}


def test_a_sheet_of_levels_is_read_as_spreadsheets_write_it() -> None:
    content = "Kreis;Schule\nKöln;Gymnasium Süd\nMünster;Realschule Ost\nMünster;Grundschule\n".encode("cp1252")
    (column,) = open_codebook(content, "schulen.csv", names=["Schule"]).codebook.columns
    assert isinstance(column, Category)
    assert column.declared == ("Gymnasium Süd", "Realschule Ost", "Grundschule")
    assert column.groupings["Kreis"] == ("Köln", "Münster", "Münster")


def test_a_line_in_another_encoding_leaves_the_others_as_they_are() -> None:
    content = "Kreis;Schule\nKöln;Süd\nKöln;Nord\n".encode("utf-8-sig") + "Münster;Ost\n".encode("cp1252")
    (column,) = open_codebook(content, "schulen.csv", names=["Schule"]).codebook.columns
    assert isinstance(column, Category)
    assert column.groupings["Kreis"] == ("Köln", "Köln", "Münster")
