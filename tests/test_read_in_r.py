"""R reads a bundle as its documentation says: the same labels, types and numbers as here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import dpengine as dpe
from dpengine.bundle.write import save
from tests.documents import blocks
from tests.plans import PAY

ROOT = Path(__file__).parent.parent
(SCRIPT,) = [
    block.text for block in blocks((ROOT / "docs/howto/reader.md").read_text(encoding="utf-8")) if block.language == "r"
]
LABELS = ["North", "NA", "Paris, TX", "Größe", 'the "second"', "=1+1", "1"]
TYPED = dpe.Plan(dataset="d", epsilon=1, columns=[dpe.Category(name="größe", values=LABELS), dpe.YesNo(name="b")],
                 tables=[["größe", "b"]])  # fmt: skip
TELL = """
cat(toJSON(lapply(tables, function(table) lapply(table, function(column)
  list(class = class(column), levels = levels(column), values = as.character(column)))), null = "null", na = "null"))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("plan", [dpe.Plan.loads(PAY), TYPED], ids=["means", "labels"])
def test_r_reads_each_table_with_its_types(plan: dpe.Plan, tmp_path: Path) -> None:
    made = dpe.preview(plan)
    save(made, tmp_path / "release.zip")
    (tmp_path / "read.R").write_text(SCRIPT + TELL, encoding="utf-8")
    command, environment = ["Rscript", "--vanilla", "read.R"], os.environ | {"LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert len(read) == len(made.tables) + 1, "the tables, the total and the synthetic rows"
    for table, (name, columns) in zip(made.tables, read.items(), strict=False):
        frame = made.tables[table]
        assert list(columns) == list(frame), name
        for column, found in columns.items():
            if column in table:
                labels = [in_file(label) for label in plan.column(column).labels]
                assert (found["class"], found["levels"]) == (["factor"], labels)
                assert found["values"] == [in_file(label) for label in frame[column]]
            else:
                assert found["class"] == ["numeric"]
                assert [float(value) for value in found["values"]] == pytest.approx(list(frame[column]), abs=1e-6)


def in_file(label: str) -> str:
    """Return a label as files hold it, marked where a spreadsheet would run it."""
    return f"'{label}" if label.startswith("=") else label
