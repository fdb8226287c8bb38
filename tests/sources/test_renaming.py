"""Columns are read under other names, in every source that is read here; their cells stay theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.cli.commands import main
from dpengine.errors import TableError
from dpengine.owner import distinct_texts
from dpengine.sources.open import open_table

ROWS = pd.DataFrame({"County": ["North", "South"], "sex": ["f", "m"], "langs": ["de; tr", "de"]})


def test_a_column_is_read_under_another_name(tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    ROWS.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", ROWS):
        with open_table(source, rename={"County": "county"}) as table:
            assert [field.name for field in table.columns] == ["county", "sex", "langs"]
            assert distinct_texts(table, "county", limit=9) == ["North", "South"]
    with open_table(ROWS, rename={"langs": "speaks"}, answers={"speaks": ["de", "tr"]}) as table:
        assert [field.name for field in table.columns][2:] == ["speaks", "speaks: de", "speaks: tr"]
    with open_table(ROWS, rename={"county": "County"}) as table:
        assert [field.name for field in table.columns] == [*ROWS], "the column has that name already"


@pytest.mark.parametrize(("rename", "fault"), [
    ({"town": "place"}, "there is no column 'town' to be renamed"),
    ({"County": "sex"}, "2 columns are named 'sex'"),
    ({"County": " "}, "column 1 has no name"),
    ({"County": 5}, "write new names by those in the source"),
    ({None: "county"}, "write new names by those in the source"),
    (["County"], "write new names by those in the source"),
    ("County=county", 'like this: {"County": "county"}'),
])  # fmt: skip
def test_names_that_cannot_be_given_are_refused(rename: Any, fault: str) -> None:
    with pytest.raises(TableError, match=fault):
        open_table(ROWS, rename=rename)


def test_a_release_of_a_renamed_column_is_compared_with_the_one_before(tmp_path: Path) -> None:
    town = dpe.Category(name="county", values=["North", "South"], other=False, missing=False)
    plan = dpe.Plan(dataset="people", epsilon=5, columns=[town], tables=[["county"]])
    (tmp_path / "plan.yaml").write_text(plan.dumps())
    ROWS.rename(columns={"County": "county"}).to_csv(tmp_path / "old.csv", index=False)
    pd.concat([ROWS] * 9).to_csv(tmp_path / "new.csv", index=False)
    place, run = ["--ledger", f"sqlite:///{tmp_path}/ledger.db"], CliRunner().invoke
    for name, more in (("old", []), ("new", ["--rename", "County=county"])):
        files = [str(tmp_path / each) for each in ("plan.yaml", f"{name}.csv", f"{name}.zip")]
        done = run(main, ["release", *files[:2], "-o", files[2], *place, *more])
        assert done.exit_code == 0, done.output
    shown = run(main, ["compare", str(tmp_path / "old.zip"), str(tmp_path / "new.zip")])
    assert "county: 2 of 2 changes are beyond the noise" in shown.stdout
    assert "not compared" not in shown.stdout
    assert run(main, ["release", *files[:2], "-o", files[2], *place, "--rename", "County"]).exit_code == 2
