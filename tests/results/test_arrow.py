"""Published tables in Arrow, for every library that reads it: the same labels and numbers as in the data frames."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Plan, preview
from dpengine.results.result import Result
from dpengine.results.views import arrow_tables
from dpengine.spec.wording import name_of
from tests.plans import PAIRS, PAY, letters_plan, survey

NAMES = [{"name": name, "kind": "yesno"} for name in ("table", "count", "a")]
LEVELS = {"name": "age", "kind": "number", "edges": {"from": 0, "to": 40, "bins": 40}, "levels": {"ten": 10}}
PLANS = {
    "means": Plan.loads(PAY),
    "pairs": Plan.loads(PAIRS),
    "names of its own": Plan(dataset="d", epsilon=1, columns=NAMES, tables=[["table", "count"], ["a"]]),
    "levels": Plan(dataset="d", epsilon=1, columns=[LEVELS], tables=[["age@ten"], ["age"]]),
    "persons": letters_plan([2, 3], [["a"], {"columns": ["b"], "distinct": True}], unit={"id": "who", "rows": 3}),
}


@pytest.fixture(scope="module", params=PLANS.values(), ids=PLANS)
def made(request: pytest.FixtureRequest) -> Result:
    return preview(request.param)


def test_a_table_that_is_not_published_is_refused_with_those_that_are(made: Result) -> None:
    with pytest.raises(KeyError, match="named by tuples of columns"):
        made.tables["no-such-table"]  # type: ignore[index]


def test_a_table_is_what_its_frame_is(made: Result) -> None:
    assert set(made.arrow) == set(made.tables)
    for table, frame in made.tables.items():
        rows = made.arrow[table].to_pandas()
        pd.testing.assert_frame_equal(rows.astype(frame.dtypes), frame)
        kinds = {name: kind.kind for name, kind in rows.dtypes.items() if isinstance(kind, np.dtype)}
        assert kinds == {name: frame[name].dtype.kind for name in frame.columns[len(table) :]}


def test_the_stream_holds_every_table_once_and_null_where_a_table_lacks_a_column(made: Result) -> None:
    whole = pa.table(made).to_pandas()
    assert whole["table" if "table" in whole else 0].tolist() == [
        name_of(table) for table, frame in made.tables.items() for _ in range(len(frame))
    ]
    for table, frame in made.tables.items():
        rows = whole[whole["table"] == name_of(table)].dropna(axis="columns", how="all")
        labels = rows.iloc[:, 1 : 1 + len(table)]
        assert sorted(labels.columns.str.rstrip("_")) == sorted(name.rstrip("_") for name in table)
        for name in table:
            label = next(each for each in labels if each.rstrip("_") == name.rstrip("_"))
            shown = next(each for each in frame if each.rstrip("_") == name.rstrip("_"))
            assert labels[label].tolist() == frame[shown].tolist()
        for name in frame.columns[len(table) :]:
            assert rows.get(name, pd.Series(dtype=float)).dropna().tolist() == frame[name].dropna().tolist()


def test_a_long_table_comes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    made = preview(survey())
    whole = pa.table(made)
    monkeypatch.setattr(arrow_tables, "MAX_BATCH", 7)
    parts = pa.table(made)
    assert max(batch.num_rows for batch in parts.to_batches()) == 7
    assert parts.to_pandas().equals(whole.to_pandas())


def test_a_database_reads_a_release_in_place() -> None:
    release = preview(survey())
    assert release.release_id  # `release` is named in the query, and found there
    (sums,) = duckdb.sql("select count(*), sum(count) from release where \"table\" = 'region × sex'").fetchall()
    frame = release.tables["region", "sex"]
    assert sums == (len(frame), frame["count"].sum())


@pytest.mark.nightly
def test_polars_reads_a_release_and_its_tables() -> None:
    import polars as pl

    made = preview(Plan.loads(PAY))
    whole = pl.DataFrame(made)
    assert whole.filter(pl.col("table") == "sex")["count"].to_list() == made.tables["sex",]["count"].tolist()
    for source in (made.arrow["state", "sex"], made.tables["state", "sex"]):
        frame = pl.DataFrame(source)
        assert frame["state"].cast(pl.String).to_list() == made.tables["state", "sex"]["state"].tolist()
        assert frame["mean_pay_low"].to_list() == made.tables["state", "sex"]["mean_pay_low"].tolist()
