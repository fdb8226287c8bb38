"""A table that is summed up already counts as the table of single persons that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.counting.count import digest
from dpengine.owner import row_count
from dpengine.sources.frequencies import MAX_PEOPLE
from dpengine.sources.open import open_table

SUMMARY = pd.DataFrame({"region": [*"NNSS"], "n": [3, 0, 2500, 7], "sex": [*"fmfm"]})
PERSONS = SUMMARY.loc[SUMMARY.index.repeat(SUMMARY["n"])].drop(columns="n")


def content(source: Any, **options: Any) -> tuple[int, bytes, list[str]]:
    """Return the number of rows, the digest that recognises them, and the names of the columns."""
    with open_table(source, **options) as table:
        return row_count(table), digest(table), [column.name for column in table.columns]


def made(kind: str, folder: Path) -> Any:
    path = folder / f"t.{kind}"
    match kind:
        case "frame":
            return SUMMARY
        case "csv":
            SUMMARY.to_csv(path, index=False)
        case "xlsx":
            SUMMARY.to_excel(path, index=False)
        case "parquet":
            SUMMARY.to_parquet(path)
        case "sav":
            pyreadstat.write_sav(SUMMARY, path)
        case "duckdb":
            with duckdb.connect(str(path)) as connection:
                connection.register("frame", SUMMARY)
                connection.execute("CREATE TABLE summary AS SELECT * FROM frame")
    return path


@pytest.mark.parametrize("kind", ["frame", "csv", "xlsx", "parquet", "sav", "duckdb"])
def test_every_kind_of_summary_is_the_same_table_as_its_persons(kind: str, tmp_path: Path) -> None:
    assert content(made(kind, tmp_path), frequency="n") == content(PERSONS)
    assert content(PERSONS)[0] == 2510


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3000)), min_size=1, max_size=5))
def test_each_row_counts_as_often_as_it_says(rows: list[tuple[str, int]]) -> None:
    plan = dpe.Plan(dataset="t", epsilon=500, columns=[dpe.Category(name="x", values=["a", "b"])], tables=[["x"]])
    frame = pd.DataFrame(rows, columns=["x", "count"])
    with open_table(frame, frequency="count") as table:
        release = dpe.release(table, plan, ledger=dpe.Ledger.in_memory())
    assert release.counts(("x",)).tolist()[:2] == [sum(n for each, n in rows if each == x) for x in "ab"]


@pytest.mark.parametrize("cells", [["1.0", " 2", "+3", "4."], [1.0, 2.0, 3.0, 4.0]])
def test_whole_numbers_may_be_written_as_programs_write_them(cells: list[Any]) -> None:
    assert content(SUMMARY.assign(n=cells), frequency="n")[0] == 10


@pytest.mark.parametrize("cells", [[1, 2, 3, -1], [1, 2, 3, 1.5], [*"123x"], [1, 2, 3, None], ["1,234", *"123"],
                                   [1e300, 1, 1, 1], [True, True, False, True]])  # fmt: skip
def test_other_cells_are_refused(cells: list[Any]) -> None:
    with pytest.raises(dpe.TableError, match="does not hold whole numbers of people"):
        open_table(SUMMARY.assign(n=cells), frequency="n")


def test_the_column_may_be_named_without_the_blanks_of_its_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("region, n \nN,3\n")
    assert content(tmp_path / "t.csv", frequency="n") == content(pd.DataFrame({"region": [*"NNN"]}))
    two = pd.DataFrame({"n ": [1], " n": [2], "region": ["N"]})
    with pytest.raises(dpe.TableError, match="no column 'n'"):
        open_table(two, frequency="n")


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(dpe.TableError, match="no column 'people'"):
        open_table(SUMMARY, frequency="people")
    with pytest.raises(dpe.TableError, match="only the column 'n'"):
        open_table(SUMMARY[["n"]], frequency="n")
    with pytest.raises(dpe.TableError, match="more than 1,000,000,000 people"):
        open_table(SUMMARY.assign(n=[MAX_PEOPLE, 1, 0, 0]), frequency="n")


def test_the_words_of_a_column_stay_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    frame = pd.DataFrame({"n": [2.0, 3.0], "sex": [1.0, 2.0]})
    pyreadstat.write_sav(frame, path, column_labels={"sex": "Sex at birth", "n": "People"})
    with open_table(path, frequency="n") as table:
        assert [(field.name, field.label) for field in table.columns] == [("sex", "Sex at birth")]
        assert row_count(table) == 5


def test_a_summary_of_very_many_people_is_not_written_out() -> None:
    with open_table(SUMMARY.assign(n=[10**8, 0, 10**8, 1]), frequency="n") as table:
        assert table.frame is None
        assert table.rows == 2 * 10**8 + 1
