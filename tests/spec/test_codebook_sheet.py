"""A codebook as a sheet: filled in elsewhere, brought back, and faulted by row."""

from __future__ import annotations

import pytest
from hypothesis import given

from dpengine import Plan, PlanError
from dpengine.spec.codebook_sheet import HEADER, csv_bytes, from_csv, from_rows
from tests.plans import CLINIC, PAY, plans


@given(plans())
def test_what_is_written_is_read_back(plan: Plan) -> None:
    book = from_csv(csv_bytes(plan.to_dict()["columns"]).decode("utf-8"))
    assert [(c.name, c.labels) for c in book.columns] == [(c.name, c.labels) for c in plan.columns]
    assert {column.source for column in book.columns} == {"codebook"}


def test_every_kind_marks_and_meanings_come_back() -> None:
    columns = [
        *Plan.loads(CLINIC).to_dict()["columns"],
        {"name": "=smokes", "kind": "yesno", "missing_as": ["-99", "?, or !"], "other": False},
        *Plan.loads(PAY).to_dict()["columns"][2:],
    ]
    book = from_csv(csv_bytes(columns, {"age": {"description": "in years"}}).decode("utf-8"))
    assert [column.kind for column in book.columns] == ["number", "category", "date", "yesno", "amount", "amount"]
    assert [column.labels for column in book.columns[4:]] == [column.labels for column in Plan.loads(PAY).columns[2:]]
    assert book.columns[1].declared == ("North", "South", "Paris, TX", "False")
    assert book.columns[3].name == "=smokes"
    assert book.columns[3].missing_as == ("-99", "?, or !")
    assert not book.columns[3].other
    assert book.about["age"] == "in years"


def test_texts_beside_numbers_come_back() -> None:
    columns = [
        {"name": "rent", "kind": "number", "edges": ["0", "500", "1000"], "affixes": ["€", "per month, warm"]},
        {"name": "pay", "kind": "amount", "from": "0", "to": "100", "affixes": ["<"]},
        {"name": "age", "kind": "number", "edges": ["0", "18"]},
    ]
    rent, pay, age = from_csv(csv_bytes(columns).decode("utf-8")).columns
    assert [each.affixes for each in (rent, pay, age)] == [("€", "per month, warm"), ("<",), ()]
    with pytest.raises(PlanError, match="affixes"):
        from_rows([("column", "values or bins", "beside the number"), ("town", "A; B", "€")])


def test_no_cell_runs_as_a_formula() -> None:
    assert b"\r\n=" not in csv_bytes([{"name": "=smokes", "kind": "yesno"}])


def test_rows_that_are_not_filled_in_are_left_out_and_kinds_follow_from_texts() -> None:
    book = from_rows([("values or bins", "Column"), ("18 to 90 by 5", "age"), ("", "region"), (), ("A; B", "town")])
    assert [(column.name, column.kind) for column in book.columns] == [("age", "number"), ("town", "category")]


@pytest.mark.parametrize(
    ("row", "fragment"),
    [
        (("age", "number", "18 to 90"), "row 2, age: say how wide"),
        (("age", "numeral", "1"), "row 2, age: kind is one of"),
        (("age", "number", "0, 1", "perhaps"), "row 2, age: other is yes or no"),
        (("age", "number", "1, 0"), "edges must increase"),
    ],
)
def test_a_fault_names_its_row_and_column(row: tuple[str, ...], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        from_rows([HEADER, row])


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "column,kind,value\nage,number,18 to 90 by 5\n"])
def test_a_sheet_needs_its_header(text: str) -> None:
    with pytest.raises(PlanError, match="first row of a codebook sheet"):
        from_csv(text)


def test_a_list_of_codes_has_a_row_for_each_value() -> None:
    text = "Variable;Code;Bezeichnung\nsex;1;male\n;2;female\n;9;\nedu;01;01\nedu;02;=school\n"
    sex, edu = from_csv(text).columns
    assert (sex.name, sex.declared, sex.shown[:3]) == ("sex", ("1", "2", "9"), ("male", "female", "9"))
    assert (edu.declared, edu.shown[:2]) == (("01", "02"), ("01", "=school"))
    assert {column.origin for column in (sex, edu)} == {"codebook"}
    assert (sex.other, sex.missing) == (True, True), "what is not listed has a cell"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("sex,1,m\nsex,1,f\n", "row 3, sex: the value '1' is listed twice"),
        (",1,m\n", "name"),
        ("sex,1,m\n,,f\n", "row 3, sex: no value stands before 'f'"),
        ("sex,,\n", None),
    ],
)
def test_a_list_of_codes_that_cannot_be_read_says_where(rows: str, said: str | None) -> None:
    if said is None:
        assert from_csv(f"column,value,label\n{rows}").columns == ()
        return
    with pytest.raises(PlanError, match=said):
        from_csv(f"column,value,label\n{rows}")
