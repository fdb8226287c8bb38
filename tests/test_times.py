"""Hours and weekdays, all the way: released, verified, read by other programs, asked about."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dpengine as dpe
from dpengine.release import true_counts

TRIPS = pa.table(
    {
        "started": pa.array([dt.datetime(2024, 1, 1) + dt.timedelta(minutes=137 * k) for k in range(3000)]),
        "rider": pa.array([k % 1000 for k in range(3000)]),
    }
)
COLUMNS: list[dict[str, Any]] = [
    {"name": "started", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "quarter"},
    {"name": "hour", "kind": "time", "of": "started", "by": "hour",
     "levels": {"part of day": {"night": 0, "day": 6}}},
    {"name": "weekday", "kind": "time", "of": "started", "by": "weekday",
     "levels": {"half": {"workday": "Monday", "weekend": "Saturday"}}},
]  # fmt: skip
TABLES = [["hour", "weekday"], ["started", "hour@part of day"], ["hour"]]


def plan_of(**more: Any) -> dpe.Plan:
    return dpe.Plan(**({"dataset": "trips", "epsilon": "1", "columns": COLUMNS, "tables": TABLES} | more))


@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
def test_a_release_is_whole_verified_and_counts_the_same_rows(strategy: str, tmp_path: Path) -> None:
    tables = TABLES if strategy == "direct" else [["hour", "weekday"], ["started", "hour"]]
    plan = plan_of(strategy=strategy, tables=tables, language="de")
    ledger = dpe.Ledger.in_memory()
    release = dpe.release(TRIPS, plan, ledger)
    release.save(tmp_path / "release.zip")
    dpe.verify(tmp_path / "release.zip")
    table = release.tables["hour", "weekday"]
    assert [*table["weekday"][:7]] == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    assert len(table) == 26 * 9
    counts = true_counts(TRIPS, plan, ledger)
    assert sum(map(int, counts["hour", "weekday"].sum(axis=1)[:24])) == 3000
    rows = release.synthetic()
    assert {*rows["hour"].dropna()} <= {*release.plan.column("hour").labels}
    with zipfile.ZipFile(io.BytesIO(release.bundle)) as bundle:
        report = bundle.read("report.html").decode()
    assert "Montag" in report
    assert "00:00–00:59" in report
    assert "started" in report


def test_persons_and_prediction_and_percentages() -> None:
    plan = plan_of(unit={"id": "rider", "rows": 3})
    release = dpe.release(TRIPS, plan, dpe.Ledger.in_memory())
    predicted = dpe.predict(plan)
    assert predicted["cells"][predicted["table"] == "hour × weekday"].item() == 26 * 9
    shares = dpe.percentages(release, ("hour", "weekday"), within=["weekday"])
    assert len(shares) == 26 * 9


def test_a_question_about_nights_reads_the_column_of_the_table() -> None:
    hour = dpe.Time(name="hour", of="started", by="hour")
    question = dpe.Question(
        dataset="trips", epsilon="50", statistic=dpe.Count(), where=[dpe.Condition(column=hour, labels=["22:00"])]
    )
    answer = dpe.ask(TRIPS, question, dpe.Ledger.in_memory())
    assert abs(answer.value - sum(each.hour == 22 for each in TRIPS["started"].to_pylist())) < 3  # fails once in e^150


def test_replicates_have_the_same_columns() -> None:
    release = dpe.release(TRIPS, plan_of(), dpe.Ledger.in_memory())
    drawn = dpe.draw_replicates(release)["hour", "weekday"]
    assert (len(drawn), [*drawn.columns[:2]]) == (26 * 9, ["hour", "weekday"])


def test_a_plan_without_times_is_the_plan_that_it_was() -> None:
    before = plan_of(columns=COLUMNS[:1], tables=[["started"]])
    assert before.key == plan_of(columns=COLUMNS, tables=[["started"]]).key
    assert (
        dpe.release(pd.DataFrame({"started": ["2024-01-01"]}), before, dpe.Ledger.in_memory()).tables[()]["count"]
        is not None
    )
