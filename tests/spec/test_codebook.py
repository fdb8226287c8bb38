"""Codebooks carry public knowledge, and say that it came from one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpengine import PlanError
from dpengine.spec import codebook
from dpengine.spec.categories import level_sheet
from dpengine.spec.codebook import from_columns
from dpengine.spec.plan import Plan
from dpengine.spec.standard_lists import standard_lists

ROOT = Path(__file__).parents[2]
CODEBOOK = """
title: A survey
origin: The questionnaire
licence: CC BY 4.0
columns:
  - {name: place, kind: category, values: [North, "No"], about: where}
  - {name: age, kind: number, edges: [0, 18, 65]}
"""


def test_a_codebook_lists_columns_with_their_provenance() -> None:
    book = codebook.loads(CODEBOOK)
    assert [column.name for column in book.columns] == ["place", "age"]
    assert {column.source for column in book.columns} == {"codebook"}
    assert book.columns[0].declared == ("North", "No")
    assert book.about == {"place": "where", "age": ""}


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("title: x", "needs 'columns:'"),
        ("columns: [a, b]", "needs 'columns:'"),
        ("columns:\n  - {kind: yesno}", "name"),
    ],
)
def test_a_file_that_is_no_codebook_is_refused(text: str, fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        codebook.loads(text)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ('value,about\nA,x\n"B, C",y\n', "x.csv", ("A", "B, C")),
        ("code\n007\nNA\n", "x.csv", ("007", "NA")),
        ("about;value\nnorth, or above;N\nsouth;S\n", "x.csv", ("N", "S")),
        ('value,"first; second; third"\nN,north\n', "x.csv", ("N",)),
        ('["A", "B"]', "x.json", ("A", "B")),
        ('{"place": ["A"], "other": ["B"]}', "x.json", ("A",)),
    ],
)
def test_values_come_from_csv_and_json(text: str, name: str, expected: tuple[str, ...]) -> None:
    assert codebook.values_from(text, name, column="place") == expected


@pytest.mark.parametrize(
    ("text", "name"), [("", "x.csv"), ("value\n", "x.csv"), ("{", "x.json"), ("3", "x.json"), ("{}", "x.json")]
)
def test_unreadable_values_are_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(PlanError, match=name):
        codebook.values_from(text, name, column="place")


def test_a_pipe_is_no_codebook_since_reading_it_might_never_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "regions.csv")
    text = "dataset: d\nepsilon: '1'\ncolumns: [{name: r, kind: category, codebook: regions.csv}]\ntables: [[r]]\n"
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(PlanError, match=r"regions\.csv is not a file"):
        Plan.load(tmp_path / "plan.yaml")


def test_standard_lists_hold_distinct_values() -> None:
    for name, values in standard_lists().items():
        assert len(set(values)) == len(values) > 1, name
    assert len(standard_lists()["us-states"]) == len(standard_lists()["us-state-codes"]) == 51


@pytest.mark.parametrize("name", ["census", "rand"])
def test_the_samples_have_a_codebook_that_agrees_with_their_plan(name: str) -> None:
    book = codebook.loads((ROOT / "data" / f"{name}.codebook.yaml").read_text(encoding="utf-8"))
    plan = Plan.load(ROOT / "data" / f"{name}.plan.yaml")
    listed = {column.name: column for column in book.columns}
    assert all(listed[column.name].labels == column.labels for column in plan.columns)
    assert book.origin
    assert book.licence


LEVELS = "county,state,region,people\nKern,CA,West,9\nNapa,CA,West,1\nTravis,TX,South,5\nReno,NV,West,2\n"


def test_a_file_that_lists_the_values_of_one_column_is_read_as_its_list() -> None:
    sheet = level_sheet.from_csv("code,County\n06029,Kern\n06031,Kings\n", ["age", "county"])
    assert from_columns([sheet], {}).columns[0].declared == ("Kern", "Kings")


@pytest.mark.parametrize("text", [LEVELS, LEVELS.replace(",", ";"), LEVELS.replace("county", "COUNTY ")])
def test_a_file_of_levels_names_its_column_and_orders_its_levels_by_itself(text: str) -> None:
    sheet = level_sheet.from_csv(text, ["age", "County"])
    assert sheet["name"] == "County"
    assert sheet["levels"] == ["region", "state", "County"], "the numbers of people are no level: they part nothing"
    column = from_columns([sheet], {}).columns[0]
    assert column.groupings["region"] == ("West", "West", "West", "South")
    assert column.declared == ("Kern", "Napa", "Reno", "Travis")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LEVELS + "Kern,NV,West,9\n", "'Kern' .county. has two parents, 'CA' and 'NV' .state."),
        (LEVELS + "Reno,,West,9\n", "line 6: 'Reno' has no state"),
        (LEVELS + ",NV,West,9\n", "line 6: 'West' has no county"),
        (LEVELS + "Ely,NV,South,1\n", "'NV' .state. has two parents"),
        ("county\nKern\nReno\nKern\n", "a value stands there several times"),
        ("place,state\nKern,CA\n", "is a column of your table"),
        ("", "is a column of your table"),
    ],
)
def test_levels_that_are_no_tree_are_refused_with_the_line_or_value(text: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        level_sheet.from_csv(text, ["county"])
