"""Workbooks: which sheet and which texts are read, and what is refused."""

import datetime as dt
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference

from dpengine.counting.count import count, digest
from dpengine.errors import TableError
from dpengine.sources.mixed import text_of
from dpengine.sources.open import open_table
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan

CANARY, DAY = "ZZ_CANARY_7f3a", "2024-01-05"


def rows(table: Table) -> list[tuple[object, ...]]:
    """Return the cells as texts."""
    with table.connection() as connection:
        cells = [text_of(f"c{k}", field.type) for k, field in enumerate(table.columns)]
        return sorted(connection.execute(f"SELECT {', '.join(cells)} FROM rows").fetchall(), key=str)


def workbook(**sheets: list[list[object]]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, cells in sheets.items():
        sheet = book.create_sheet(title)
        for row in cells:
            sheet.append(row)
    return book


def packed(book: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def opened_book(tmp_path: Path, content: bytes, **options: Any) -> Table:
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    return open_table(path, **options)


def test_each_cell_of_a_workbook_has_a_text(tmp_path):
    cells = [["a", "b"], [1.0, True], [1.5, dt.date(2024, 1, 5)], ["01", dt.datetime(2024, 1, 5, 13, 30)], [None, "x"]]
    with opened_book(tmp_path, packed(workbook(s=cells))) as table:
        assert rows(table) == [("", "x"), ("01", "2024-01-05 13:30:00"), ("1", "True"), ("1.5", "2024-01-05")]


def test_each_cell_keeps_its_type_however_those_of_its_column_are_written(tmp_path):
    """A date is a date, and a number one, where the owner says how texts of the column are written."""
    cells = [["day", "sum"], [dt.date(2024, 1, 5), 0.5], ["06/01/2024", "1.234,5"], [dt.date(2024, 1, 5), 1234.5]]
    plan = Plan(
        dataset="d", epsilon="1", tables={"each": 1},
        columns=[
            {"name": "day", "kind": "date", "from": DAY, "to": "2024-01-06", "by": "day", "format": "%d/%m/%Y"},
            {"name": "sum", "kind": "number", "edges": [0, 1, 2000], "format": "1.234,5"},
        ],
    )  # fmt: skip
    with opened_book(tmp_path, packed(workbook(s=cells))) as table:
        days, sums = count(table, plan, plan.marginals, truncation_key=b"k")
        assert (days.tolist(), sums.tolist()) == ([2, 1, 0, 0], [1, 2, 0, 0])
        typed = digest(table)
    texts = [[cell.isoformat() if isinstance(cell, dt.date) else str(cell) for cell in row] for row in cells]
    with opened_book(tmp_path, packed(workbook(s=texts))) as table:
        assert digest(table) == typed


def test_rows_of_a_sheet_may_be_ragged_or_blank(tmp_path):
    with opened_book(tmp_path, packed(workbook(s=[["a", "b"], ["1"], [None, None], ["3", "4"]]))) as table:
        assert len(rows(table)) == 2


def test_the_first_visible_sheet_is_read_unless_one_is_named(tmp_path):
    book = workbook(hidden=[["h"], ["0"]], first=[["a"], ["1"]], second=[["b"], ["2"]])
    book["hidden"].sheet_state = "hidden"
    with opened_book(tmp_path, packed(book)) as table:
        assert [column.name for column in table.columns] == ["a"]
    with opened_book(tmp_path, packed(book), sheet="second") as table:
        assert rows(table) == [("2",)]
    with pytest.raises(TableError, match=r"no sheet 'third'.*hidden, first, second"):
        opened_book(tmp_path, packed(book), sheet="third")


def test_dates_of_a_workbook_that_counts_from_1904(tmp_path):
    book = workbook(s=[["a"]])
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book["s"].append([dt.date(2024, 1, 5)])
    with opened_book(tmp_path, packed(book)) as table:
        assert rows(table) == [("2024-01-05",)]


def with_formula(formula: str, value: str, *, all_to_compute: bool = False) -> bytes:
    """Make a workbook whose cell A2 has a formula and a value, as their XML; its second sheet is plain."""
    content, book = io.BytesIO(), workbook(s=[["a"], ["CELL"]], **{"R & D": [["a"], ["1"]]})
    cell = re.compile(rb"<c [^>]*><is><t>CELL</t></is></c>")
    with zipfile.ZipFile(io.BytesIO(packed(book))) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            part = cell.sub(f'<c r="A2"{formula}{value}</c>'.encode(), old.read(name))
            new.writestr(name, part if all_to_compute else part.replace(b' fullCalcOnLoad="1"', b""))
    return content.getvalue()


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("><f>1+1</f>", ""),
        ("><f>1+1</f>", "<v />"),
        ("><f>1+1</f>", "<v></v>"),
        (' s="1" t="n"><f t="shared" si="0"/>', ""),
        ("><f>" + "1+" * 4000 + "1</f>", ""),
    ],
)
def test_a_formula_that_was_never_computed_is_refused(tmp_path, formula, value):
    """Its value is shown by a program that opens the file, and is not in the file."""
    content = with_formula(formula, value)
    with pytest.raises(TableError, match="formulas that were never computed"):
        opened_book(tmp_path, content)
    with opened_book(tmp_path, content, sheet="R & D") as table:
        assert rows(table) == [("1",)]


def test_formulas_with_values_are_read_unless_the_file_says_that_all_are_to_be_computed(tmp_path):
    """Writers that compute nothing write 0 as the value, and say so."""
    for formula, value, text in [
        ("><f>1+1</f>", "<v>2</v>", "2"),
        (' t="str"><f>""</f>', "<v></v>", ""),
        (' t="str"><f>A1</f>', "<v>a</v>", "a"),
    ]:
        with opened_book(tmp_path, with_formula(formula, value)) as table:
            assert rows(table) == [(text,)]
        with pytest.raises(TableError, match="formulas that were never computed"):
            opened_book(tmp_path, with_formula(formula, value, all_to_compute=True))


@pytest.mark.parametrize(("area", "refused"), [("A3:A4", True), ("A2:A3", True), ("A4:B4", True), ("A1:B1", False),
                                               ("A5:B6", False), ("C3:D4", False)])  # fmt: skip
def test_cells_that_are_merged_below_the_header_are_refused(tmp_path, area, refused):
    """A program shows the value for all of them, and only the first one has it."""
    book = workbook(s=[["A title"], ["a", "b"], ["1", "x"], ["2", "y"]])
    book["s"].merge_cells(area)
    if refused:
        with pytest.raises(TableError, match="merged cells below its header"):
            opened_book(tmp_path, packed(book), skip_rows=1)
        return
    with opened_book(tmp_path, packed(book), skip_rows=1) as table:
        assert rows(table) == [("1", "x"), ("2", "y")]


def test_cells_may_be_merged_in_rows_that_are_left_out(tmp_path):
    book = workbook(s=[["a", "b"], ["1", "x"], ["Total", None]])
    book["s"].merge_cells("A3:B3")
    with pytest.raises(TableError, match="leave those rows out"):
        opened_book(tmp_path, packed(book))
    with opened_book(tmp_path, packed(book), skip_last=1) as table:
        assert rows(table) == [("1", "x")]


def test_a_sheet_that_is_a_chart_is_passed_over(tmp_path):
    book = workbook(s=[["a"], ["1"]])
    chart = BarChart()
    chart.add_data(Reference(book["s"], min_col=1, min_row=1, max_row=2))
    book.create_chartsheet("first", 0).add_chart(chart)
    with opened_book(tmp_path, packed(book)) as table:
        assert rows(table) == [("1",)]


def test_an_empty_column_between_others_is_called_by_its_place(tmp_path):
    table = opened_book(tmp_path, packed(workbook(s=[["a", None, "c"], ["1", None, "2"]])))
    assert [field.name for field in table.columns] == ["a", "column_2", "c"]


@pytest.mark.parametrize(
    ("cells", "fragment"),
    [
        ([], "the sheet is empty"),
        ([[], ["a"], [CANARY]], "the first row of the sheet is empty"),
        ([["a", None], ["1", CANARY]], "column 2 has no name"),
        ([["a", "a"], ["1", CANARY]], "named 'a'"),
    ],
)
def test_sheets_without_a_usable_header_are_refused(cells, fragment, tmp_path):
    with pytest.raises(TableError, match=fragment) as caught:
        opened_book(tmp_path, packed(workbook(s=cells)))
    assert CANARY not in str(caught.value)


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path):
    content = io.BytesIO(packed(workbook(s=[["a"], ["1"]])))
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/bomb.xml", b" " * (150 << 20))
    with pytest.raises(TableError, match="unpacks to far more"):
        opened_book(tmp_path, content.getvalue())


def test_a_workbook_cut_off_or_with_damaged_parts_is_refused(tmp_path):
    whole = packed(workbook(s=[["a"], ["1"]]))
    with pytest.raises(TableError, match="not a whole workbook"):
        opened_book(tmp_path, whole[: len(whole) // 2])
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(content, "w") as new:
        for part in old.namelist():
            new.writestr(part, f"<{CANARY}" if "sheet" in part else old.read(part))
    with pytest.raises(TableError, match=r"cannot be read|empty") as caught:
        opened_book(tmp_path, content.getvalue())
    assert CANARY not in str(caught.value)
