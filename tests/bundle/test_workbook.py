"""A release as a workbook: every number of its tables, in readers' words, and no text that is a formula."""

from __future__ import annotations

import io
from pathlib import Path

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


def test_a_bundle_is_exported_as_a_workbook(tmp_path: Path) -> None:
    bundle = tmp_path / "r.zip"
    bundle.write_bytes(pack(dpe.preview(plan(language="de"))))
    export(bundle, "xlsx", tmp_path / "a.xlsx")
    done = CliRunner().invoke(main, ["export", str(bundle), "--as", "xlsx", "-o", str(tmp_path / "b.xlsx")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert "Zuerst lesen" in sheets((tmp_path / "a.xlsx").read_bytes()), "in the language of the plan"
