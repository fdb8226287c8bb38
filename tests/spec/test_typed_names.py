"""Columns, cells and tables are found by the names in files or in the report; a slip names the nearest one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.bundle.write import pack
from dpengine.cli.commands import main
from dpengine.errors import ReleaseError
from dpengine.spec.typed_names import cells_typed, columns_typed, labels_typed, table_typed

SEX = {"name": "q1", "kind": "category", "values": ["1", "2"], "label": "Sex", "words": {"1": "male", "2": "female"}}
AGE = {"name": "age=now", "kind": "number", "edges": [0, 18, 65, 120], "whole": True}
PLAN = dpe.Plan.model_validate(
    {"dataset": "d", "epsilon": 9, "rows_about": 500, "columns": [SEX, AGE], "tables": [["q1", "age=now"], ["q1"]]}
)


@pytest.mark.parametrize("typed", [["q1", "age=now"], ["age=now", "Sex"], ["SEX", "Age=Now"], ["q1 × age=now"]])
def test_a_table_is_named_by_its_columns_in_any_way(typed: list[str]) -> None:
    assert table_typed(PLAN, typed) == ("q1", "age=now")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("q1=1", ("q1", ["1"])),
        ("sex=Female", ("q1", ["2"])),
        ("age=now=18–64", ("age=now", ["[18, 65)"])),
        ("Age=now=(Missing)", ("age=now", ["(missing)"])),
        ("age=now=65–120..18–64", ("age=now", ["[18, 65)", "[65, 120]"])),
        ("age=now=18-64", ("age=now", ["[18, 65)"])),  # a keyboard has no dash
        ("age=now=0..64", ("age=now", ["[0, 18)", "[18, 65)"])),
        ("age=now=0–17..(missing)", ("age=now", [*PLAN.column("age=now").labels])),
    ],
)
def test_a_cell_is_named_by_its_column_and_its_label(typed: str, meant: tuple[str, str]) -> None:
    assert cells_typed(PLAN, typed) == meant


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("q2=1", "no published table has a column 'q2'; there are q1, age=now"),
        ("Sexx=1", r"'Sexx' \(did you mean Sex\?\)"),
        ("q1=femal", r"no cell 'femal' \(did you mean female\?\)"),
        ("age=now=0..63", "no cell '0..63'"),
        ("q1", "'q1' must be a column, an equals sign and a label"),
    ],
)
def test_a_slip_names_the_nearest_one(typed: str, said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        cells_typed(PLAN, typed)


def test_a_word_that_fits_several_names_is_taken_for_none() -> None:
    twins = dpe.Plan.model_validate(
        {"dataset": "d", "epsilon": 1, "tables": [["a"], ["A"]],
         "columns": [{"name": "a", "kind": "category", "values": ["x", "X"]}, {"name": "A", "kind": "yesno"}]}
    )  # fmt: skip
    assert columns_typed(twins, ["a", "A"]) == ["a", "A"]
    assert labels_typed(twins, "a", ["X", "x"]) == ["X", "x"]


def test_commands_take_and_print_the_words_of_the_report(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("old.zip", "new.zip")]
    for file, dataset, rows in zip(files, ("old", "new"), (500, 900), strict=True):
        of = PLAN.model_copy(update={"dataset": dataset, "rows_about": rows})
        Path(file).write_bytes(pack(dpe.preview(of)))
    run = CliRunner().invoke
    assert "\nfemale × 18–64: " in run(main, ["percentages", files[1], "sex", "age=now", "--within", "Sex"]).output
    compared = run(main, ["compare", *files, "Sex"])
    assert compared.exit_code == 0, compared.output
    assert "q1: " in compared.output
    assert "q1 × age=now" not in compared.output
    refused = run(main, ["compare", *files, "sexx"])
    assert refused.exit_code == 1
    assert "did you mean Sex" in refused.output
