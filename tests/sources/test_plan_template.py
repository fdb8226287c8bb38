"""A first plan holds names and kinds, and asks a person to fill in the rest."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from dpengine import Plan, PlanError, open_table
from dpengine.sources.plan_template import first_plan
from tests.corpus.statistical import written

ROWS = pd.DataFrame(
    {"age": ["3"], 'Pay: "net" #1': ["ZZ_CANARY"], "is_new": ["ZZ_CANARY"], "visit_date": ["2024-01-01"]}
)


def test_it_lists_the_columns_and_never_a_value(tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    with open_table(tmp_path / "t.csv") as table:
        text = first_plan(table.columns, dataset="clinic")
    assert "CANARY" not in text
    assert 'format: "%d/%m/%Y %H:%M"' in text, "dates that are written in another way would all be (other)"
    assert [column["name"] for column in yaml.safe_load(text)["columns"]] == list(ROWS.columns)
    assert [column["kind"] for column in yaml.safe_load(text)["columns"]] == ["number", "category", "yesno", "date"]


def test_loaded_unfilled_it_says_what_is_still_to_fill_in(tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    with open_table(tmp_path / "t.csv") as table, pytest.raises(PlanError) as caught:
        Plan.loads(first_plan(table.columns, dataset="clinic"))
    assert "at least two edges" in str(caught.value)
    assert "list the values" in str(caught.value)


def test_what_a_file_says_of_its_codes_is_a_comment_only(tmp_path: Path) -> None:
    said = {"column_labels": {"sex": "Sex: at birth"}, "variable_value_labels": {"sex": {1: "}: male", 2: "female"}}}
    (tmp_path / "t.sav").write_bytes(written("sav", {"sex": [1.0]}, **said))
    with open_table(tmp_path / "t.sav") as table:
        text = first_plan(table.columns, dataset="clinic")
    assert '# the file itself says: words: {"1": "}: male", "2": "female"}' in text
    (column,) = yaml.safe_load(text)["columns"]
    assert column == {"name": "sex", "label": "Sex: at birth", "kind": "category", "values": []}
