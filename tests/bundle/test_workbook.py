"""A release as a workbook: every number of its tables, in readers' words, and no text that is a formula."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import openpyxl
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.bundle import workbook as module
from dpengine.bundle.workbook import workbook
from dpengine.bundle.write import pack
from dpengine.cli.commands import main
from dpengine.export import export
from dpengine.translation.catalogue import speaking
from tests.plans import PAY


def sheets(content: bytes) -> dict[str, list[tuple[object, ...]]]:
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert not [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
    return {sheet.title: [*sheet.iter_rows(values_only=True)] for sheet in book}


def opened(plan: dpe.Plan) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(workbook(dpe.preview(plan), "1")))


def plan(**fields: object) -> dpe.Plan:
    columns = [
        {"name": "town", "kind": "category", "values": ["=A", "B"], "words": {"B": "Bern"}, "label": "Town"},
        {"name": "ill", "kind": "yesno"},
    ]
    return dpe.Plan.model_validate(
        {"dataset": "d", "epsilon": 1, "columns": columns, "tables": [["town", "ill"], ["town"]], **fields}
    )


def test_each_table_has_a_sheet_with_all_of_its_numbers() -> None:
    made = dpe.preview(plan())
    book = sheets(workbook(made, "42"))
    assert list(book) == ["Read this first", "1 Town × ill", "2 Town", "3 total"]
    head, *rows = book["2 Town"]
    assert head == ("Town", "count", "estimate", "low", "high", "mostly noise")
    assert [row[0] for row in rows] == ["=A", "Bern", "(other)", "(missing)"]
    frame = made.tables["town",]
    for place, name in enumerate(("count", "estimate", "low", "high"), 1):
        assert [row[place] for row in rows] == pytest.approx(frame[name].tolist())
    assert [row[-1] == "mostly noise" for row in rows] == made.mostly_noise(("town",)).tolist()
    assert len(book["1 Town × ill"]) == 1 + 4 * 4
    guide = dict(row for row in book["Read this first"] if row[0])
    assert guide["Release"] == "42"
    assert guide["Town"].startswith("4 cells, 95 in 100 counts within ±")
    assert workbook(made, "42") == workbook(made, "42")


@pytest.mark.parametrize(("label", "code", "shown"), [("Count", "en", "Count_"), ("Anzahl", "de", "Anzahl_")])
def test_a_column_called_like_a_number_has_a_heading_of_its_own(label: str, code: str, shown: str) -> None:
    """Two columns of a sheet with one heading are one to a pivot table, and to many a formula."""
    columns = [{"name": "town", "kind": "yesno", "label": label}]
    with speaking(code):
        book = sheets(workbook(dpe.preview(plan(columns=columns, tables=[["town"]])), "1"))
    head = next(rows[0] for name, rows in book.items() if name.startswith("1 "))
    assert head[0] == shown
    assert len({str(each).casefold() for each in head}) == len(head)


def test_statistics_have_their_intervals() -> None:
    made = dpe.preview(dpe.Plan.loads(PAY))
    head, *rows = next(each for name, each in sheets(workbook(made, "1")).items() if name.startswith("1 "))
    assert "mean pay" in head
    assert head[-1] == "count: mostly noise", "only counts are marked"
    assert [row[head.index("mean pay: low")] for row in rows] == pytest.approx(
        made.tables["state", "sex"]["mean_pay_low"].tolist()
    )


def test_a_workbook_is_in_the_readers_language() -> None:
    with speaking("de"):
        book = sheets(workbook(dpe.preview(plan()), "1"))
    assert next(iter(book)) == "Zuerst lesen"
    assert [row[1] for row in book["1 Town × ill"][1:5]] == ["ja", "nein", "(sonstige)", "(fehlend)"]


def test_a_table_for_which_there_is_no_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 6)
    book = sheets(workbook(dpe.preview(plan()), "1"))
    assert list(book) == ["Read this first", "1 Town", "2 total"]
    assert "too large for this workbook" in dict(book["Read this first"])["Town × ill"]
    monkeypatch.setattr(module, "MAX_SHEETS", 1)
    assert list(sheets(workbook(dpe.preview(plan()), "1"))) == ["Read this first", "1 Town"]
    monkeypatch.setattr(module, "MAX_CELLS", 2)
    with pytest.raises(dpe.ReleaseError, match="too large for a workbook"):
        workbook(dpe.preview(plan()), "1")


def test_names_of_sheets_are_allowed_and_differ() -> None:
    columns = [{"name": f"{'x' * 40}[{k}]", "kind": "yesno"} for k in range(2)]
    tables = [[each["name"]] for each in columns]
    book = sheets(workbook(dpe.preview(plan(columns=columns, tables=tables)), "1"))
    assert list(book) == ["Read this first", f"1 {'x' * 29}", f"2 {'x' * 29}", "3 total"]


def test_names_of_sheets_are_as_long_as_spreadsheet_programs_count_them() -> None:
    columns = [{"name": "x", "kind": "yesno", "label": "a" + "\U0001f600" * 30}]
    names = list(sheets(workbook(dpe.preview(plan(columns=columns, tables=[["x"]])), "1")))
    assert names[1] == "1 a" + "\U0001f600" * 14
    assert len(names[1].encode("utf-16-le")) <= 2 * 31


def test_letters_that_xml_does_not_allow_break_no_workbook() -> None:
    columns = [{"name": "T\ufffe\n[x]", "kind": "category", "values": ["a\uffff", "b"]}]
    made = workbook(dpe.preview(plan(columns=columns, tables=[[columns[0]["name"]]], title="T\uffff")), "1")
    with zipfile.ZipFile(io.BytesIO(made)) as parts:
        for name in parts.namelist():
            ElementTree.fromstring(parts.read(name))
    assert list(sheets(made))[1] == "1 T\ufffd x"


def test_rows_are_as_high_as_their_texts_and_whole_numbers_are_whole() -> None:
    label = "How often did you see a doctor?"
    columns = [
        {"name": "visits", "kind": "category", "values": ["1", "2"], "label": label},
        {"name": "pay", "kind": "amount", "from": 0, "to": 9, "step": 1, "label": "Monthly pay before taxes"},
    ]
    book = opened(plan(columns=columns, tables=[{"columns": ["visits"], "mean": ["pay"], "sum": ["pay"]}]))
    guide, table = book.worksheets[:2]
    assert table.row_dimensions[1].height == 60, "mean Monthly / pay before / taxes: / high"
    heights = {row[0].value: guide.row_dimensions[row[0].row].height for row in guide.iter_rows()}
    assert heights["Count"] >= 30
    assert heights["Release"] is None, "one line is what a row has room for"
    formats = {cell.value: table.cell(2, cell.column).number_format for cell in table[1]}
    assert formats["sum of Monthly pay before taxes"] == "#,##0", "a sum of whole numbers is whole"
    assert formats["mean Monthly pay before taxes"] == "#,##0.0##"
    adding = next(row[1].value for row in guide.iter_rows() if row[0].value == "Adding cells")
    assert f"In {label}," in adding, "by the name that its sheet has"


def test_codes_are_not_marked_as_numbers_in_the_wrong_form() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook(dpe.preview(plan()), "1"))) as parts:
        assert b'<ignoredError sqref="A2:B17" numberStoredAsText="1"/>' in parts.read("xl/worksheets/sheet2.xml")


def test_columns_are_as_wide_as_their_letters() -> None:
    columns = [{"name": "city", "kind": "category", "values": ["北京" * 6, "b"]}]
    assert opened(plan(columns=columns, tables=[["city"]])).worksheets[1].column_dimensions["A"].width > 24


def test_a_bundle_is_exported_as_a_workbook(tmp_path: Path) -> None:
    bundle = tmp_path / "r.zip"
    bundle.write_bytes(pack(dpe.preview(plan(language="de"))))
    export(bundle, "xlsx", tmp_path / "a.xlsx")
    done = CliRunner().invoke(main, ["export", str(bundle), "--as", "xlsx", "-o", str(tmp_path / "b.xlsx")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert "Zuerst lesen" in sheets((tmp_path / "a.xlsx").read_bytes()), "in the language of the plan"


def test_a_workbook_is_not_written_under_the_name_of_another_kind_of_file(tmp_path: Path) -> None:
    bundle = tmp_path / "r.zip"
    bundle.write_bytes(b"not read")
    done = CliRunner().invoke(main, ["export", str(bundle), "--as", "xlsx", "-o", str(tmp_path / "b.csv")])
    assert (done.exit_code, "name it b.xlsx" in done.output) == (2, True)
    assert not (tmp_path / "b.csv").exists()
