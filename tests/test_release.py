"""The whole way: one charge and one draw for each table and plan, whatever happens around it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import traceback
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import dpengine as dpe
from dpengine.marginals.measurement import Measurements
from dpengine.measure.strategy_base import Strategy
from dpengine.release import true_counts
from tests.plans import CLINIC, letters_plan

CANARY = "ZZ_CANARY_7f3a"


def clinic_rows(people: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 110, people).astype(str),
            "region": rng.choice(["North", "South", "Paris, TX", "False", "Elsewhere", ""], people),
            "visit": pd.date_range("2024-01-01", periods=366)
            .strftime("%Y-%m-%d")
            .to_numpy()[rng.integers(0, 366, people)],
        }
    )


@pytest.fixture
def plan() -> dpe.Plan:
    return dpe.Plan.loads(CLINIC)


@pytest.fixture
def ledger(ledger_url: str) -> dpe.Ledger:
    return dpe.Ledger(ledger_url)


def test_a_release_has_every_cell_in_declared_order(plan: dpe.Plan) -> None:
    with dpe.open_table(clinic_rows()) as table:
        release = dpe.release(table, plan)
    assert list(release.tables) == [("age", "region"), ("region", "visit"), ()]
    frame = release.tables[("age", "region")]
    ages, regions = plan.column("age").labels, plan.column("region").labels
    assert list(frame["age"]) == [age for age in ages for _ in regions]
    assert list(frame["region"]) == list(regions) * len(ages)
    assert list(frame.columns) == ["age", "region", "count", "estimate", "low", "high"]
    assert frame["count"].dtype == np.int64
    assert release.tables[()]["count"].iloc[0] == frame["count"].sum()


def test_a_release_is_near_the_truth_at_large_epsilon(plan: dpe.Plan) -> None:
    rows = clinic_rows(3000)
    with dpe.open_table(rows) as table:
        frame = dpe.release(table, plan.at(200)).tables[("age", "region")]
    ages = pd.cut(rows["age"].astype(int), [0, 18, 30, 45, 65, 121], right=False, labels=plan.column("age").labels[:5])
    regions = rows["region"].replace({"Elsewhere": "(other)", "": "(missing)"})
    exact = pd.crosstab(ages, regions)
    for _, cell in frame.iterrows():
        true = exact[cell["region"]].get(cell["age"], 0) if cell["region"] in exact else 0
        assert abs(cell["count"] - true) <= 1


def test_the_same_plan_on_the_same_data_is_the_same_release_and_free(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    rows = clinic_rows()
    with dpe.open_table(rows) as table, dpe.open_table(rows.sample(frac=1)) as shuffled:
        first = dpe.release(table, plan, ledger)
        again = dpe.release(shuffled, plan, ledger)
    assert again.bundle == first.bundle
    assert ledger.spent("clinic-2026") == 1


def test_a_release_has_the_estimates_of_its_stored_bytes(ledger: dpe.Ledger) -> None:
    plan = letters_plan([6, 5, 4, 3], {"each": 2}, epsilon="3", rows_about=500, strategy="adaptive")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: [f"{name}{k}" for k in rng.integers(0, 3, 500)] for name in "abcd"})
    made = dpe.release(dpe.open_table(frame), plan, ledger)
    again = dpe.release(dpe.open_table(frame), plan, ledger)
    assert made.measured.fit is not None, "it was fitted while measuring"
    assert again.measured.fit is None, "it was read from the ledger"
    for table in plan.marginals:
        pd.testing.assert_frame_equal(made.tables[table], again.tables[table])


def test_renaming_and_notes_cost_nothing_and_change_no_number(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    renamed = dpe.Plan.loads(
        CLINIC.replace("Clinic survey 2026", "A better title").replace("title:", "notes: x\ntitle:")
    )
    turned = dpe.Plan.loads(CLINIC.replace("[age, region]", "[region, age]"))
    with dpe.open_table(clinic_rows()) as table:
        first, second, third = (dpe.release(table, p, ledger) for p in (plan, renamed, turned))
    assert second.manifest["title"] == "A better title"
    assert all(second.tables[t].equals(first.tables[t]) for t in first.tables)
    key = ["age", "region"]
    assert (
        third.tables[("region", "age")]
        .set_index(key)
        .sort_index()["count"]
        .equals(first.tables[("age", "region")].set_index(key).sort_index()["count"])
    )
    assert ledger.spent("clinic-2026") == 1


def test_another_plan_is_another_charge_until_the_cap_refuses(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    ledger.set_cap("clinic-2026", "1.5")
    with dpe.open_table(clinic_rows()) as table:
        dpe.release(table, plan, ledger)
        dpe.release(table, plan.at("0.5"), ledger)
        assert ledger.left("clinic-2026") == 0
        with pytest.raises(dpe.BudgetError):
            dpe.release(table, plan.at("0.0001"), ledger)
        assert ledger.spent("clinic-2026") == Fraction(3, 2)
        assert dpe.release(table, plan, ledger).plan.epsilon == 1, "what is paid for can always be had again"


def test_the_same_data_under_another_name_shares_the_budget(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    ledger.set_cap("clinic-2026", 1)
    elsewhere = dpe.Plan.loads(CLINIC.replace("dataset: clinic-2026", "dataset: fresh-name"))
    with dpe.open_table(clinic_rows()) as table:
        first = dpe.release(table, plan, ledger)
        same = dpe.release(table, elsewhere, ledger)
        assert same.tables[()].equals(first.tables[()])
        with pytest.raises(dpe.BudgetError):
            dpe.release(table, elsewhere.at("0.1"), ledger)


STAGES = ["recognising the data", "checking the plan", "counting", "adding noise"]


@pytest.mark.parametrize("stage", STAGES)
def test_stopping_at_any_stage_spends_nothing_and_draws_nothing(
    stage: str, plan: dpe.Plan, ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def stop(now: str) -> None:
        if now == stage:
            raise Stopped

    monkeypatch.setattr(Strategy, "measure", lambda *_: pytest.fail("noise was drawn"))
    with dpe.open_table(clinic_rows()) as table, pytest.raises(Stopped):
        dpe.release(table, plan, ledger, progress=stop)
    assert ledger.history() == []


def test_a_signal_waits_until_the_release_is_recorded(
    plan: dpe.Plan, ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Strategy.measure

    def interrupted(strategy: Strategy, *arguments: Any) -> Measurements:
        measured = honest(strategy, *arguments)
        signal.raise_signal(signal.SIGINT)
        return measured

    monkeypatch.setattr(Strategy, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpe.release(clinic_rows(), plan, ledger)
    assert ledger.spent("clinic-2026") == 1
    monkeypatch.setattr(Strategy, "measure", lambda *_: pytest.fail("drawn twice"))
    assert dpe.release(clinic_rows(), plan, ledger).release_id == ledger.history()[0].release_id

    monkeypatch.setattr(Strategy, "measure", interrupted)
    monkeypatch.setattr("dpengine.accounting.ledger.signals_deferred", nullcontext)
    with pytest.raises(KeyboardInterrupt):
        dpe.release(clinic_rows(), plan.at(2), ledger)
    assert ledger.spent("clinic-2026") == 1, "planted: a free look at how far it came"


def test_a_fault_after_the_first_draw_reveals_no_drawn_number(
    plan: dpe.Plan, ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Strategy.measure

    def failing(strategy: Strategy, *arguments: Any) -> Measurements:
        measured = honest(strategy, *arguments)
        raise ValueError(f"noisy counts: {measured.marginals[0].values}")

    monkeypatch.setattr(Strategy, "measure", failing)
    with pytest.raises(dpe.LedgerError, match="nothing was spent") as caught:
        dpe.release(clinic_rows(), plan, ledger)
    assert "noisy counts" not in "".join(traceback.format_exception(caught.value))
    assert ledger.history() == []


@pytest.mark.by_day(1)
@pytest.mark.parametrize("fault", [MemoryError(), ValueError("too many people"), ZeroDivisionError()])
def test_a_release_that_fails_after_its_charge_can_be_published_later(
    fault: Exception, plan: dpe.Plan, ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    dpe.release(clinic_rows(3), plan, dpe.Ledger.in_memory())  # so that the plan is known to be sound

    def failing(*_: object) -> None:
        raise fault

    monkeypatch.setattr("dpengine.results.result.realise", failing)
    with pytest.raises(dpe.LedgerError, match="is recorded and paid for"):
        dpe.release(clinic_rows(), plan, ledger)
    assert ledger.spent("clinic-2026") == 1
    monkeypatch.undo()
    release = dpe.release(clinic_rows(), plan, ledger)
    assert release.release_id == ledger.history()[0].release_id
    dpe.verify(io.BytesIO(release.bundle))


def test_spending_one_share_too_many_is_caught_before_anything_is_recorded(
    plan: dpe.Plan, ledger: dpe.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted fault: one marginal is measured twice, so that the parts cost more than the plan's ε."""
    honest = Strategy.measure

    def measure_one_twice(strategy: Strategy, *arguments: Any) -> Measurements:
        measured = honest(strategy, *arguments)
        return replace(measured, marginals=(*measured.marginals, measured.marginals[0]))

    monkeypatch.setattr(Strategy, "measure", measure_one_twice)
    with pytest.raises(dpe.BudgetError, match="did not spend exactly ε = 1"):
        dpe.release(clinic_rows(), plan, ledger)
    assert ledger.history() == []
    monkeypatch.undo()
    dpe.release(clinic_rows(), plan, ledger)
    assert ledger.spent("clinic-2026") == 1


def test_a_plan_that_does_not_fit_the_table_costs_nothing(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    with dpe.open_table(clinic_rows().drop(columns="visit")) as table, pytest.raises(dpe.TableError, match="visit"):
        dpe.release(table, plan, ledger)
    assert ledger.spent("clinic-2026") == 0


def test_neighbours_differ_in_numbers_only(plan: dpe.Plan) -> None:
    rows = clinic_rows()
    odd = pd.DataFrame({"age": ["-1e400"], "region": [CANARY], "visit": [f'{CANARY}\n,"']})
    shapes = []
    for frame in (rows, pd.concat([rows, odd])):
        with dpe.open_table(frame) as table:
            release = dpe.release(table, plan)
        with zipfile.ZipFile(io.BytesIO(release.bundle)) as bundle:
            manifest = json.loads(bundle.read("manifest.json"))
            header = [bundle.read(name).splitlines()[0] for name in bundle.namelist() if name.endswith(".csv")]
            for name in bundle.namelist():
                assert CANARY.encode() not in bundle.read(name)
        for private in ("release_id", "created", "files"):
            manifest.pop(private)
        labels = [release.tables[t].drop(columns=["count", "estimate", "low", "high"]).to_csv() for t in release.tables]
        shapes.append((bundle.namelist(), header, manifest, labels))
    assert shapes[0] == shapes[1]


def test_no_value_of_the_table_enters_the_ledger(plan: dpe.Plan, tmp_path: Path) -> None:
    rows = clinic_rows()
    rows.loc[0, "region"] = CANARY
    ledger = dpe.Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    with dpe.open_table(rows) as table:
        dpe.release(table, plan, ledger)
    del ledger
    for file in tmp_path.iterdir():
        assert CANARY.encode() not in file.read_bytes()


def test_ids_are_kept_to_their_rows_and_nothing_more_is_counted(ledger: dpe.Ledger) -> None:
    plan = dpe.Plan(
        dataset="panel",
        epsilon=300,
        unit={"id": "who", "rows": 2},
        columns=[
            {"name": "year", "kind": "category", "values": ["1", "2", "3", "4"], "other": False, "missing": False}
        ],
        tables=[["year"]],
    )
    rows = pd.DataFrame({"who": np.repeat(np.arange(500), 4), "year": np.tile(["1", "2", "3", "4"], 500)})
    with dpe.open_table(rows) as table:
        release = dpe.release(table, plan, ledger)
    counts = release.tables[("year",)]["count"]
    assert abs(counts.sum() - 1000) <= 2
    assert counts.between(180, 320).all(), "the two rows are chosen at random, not the first ones"


def test_a_table_that_costs_nothing_more_is_added_from_the_same_release(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    wider = dpe.Plan.loads(CLINIC + "  - [region]\n  - [visit]\n")
    with dpe.open_table(clinic_rows()) as table:
        first = dpe.release(table, plan, ledger)
        more = dpe.release(table, wider, ledger)
        again = dpe.release(table, plan, ledger)
        assert ledger.spent("clinic-2026") == 1
        exact = true_counts(table, wider, ledger)
    assert again.bundle == first.bundle
    assert more.release_id == first.release_id
    assert list(more.tables) == [("age", "region"), ("region", "visit"), ("region",), ("visit",), ()]
    assert all(more.tables[t].equals(first.tables[t]) for t in first.tables)
    summed = first.tables[("region", "visit")].groupby("region", sort=False)["count"].sum()
    assert list(more.tables[("region",)]["count"]) == list(summed)
    assert exact.keys() == more.tables.keys()
    dpe.verify(io.BytesIO(more.bundle))


def test_a_table_that_is_not_free_is_a_charge_of_its_own(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    with dpe.open_table(clinic_rows()) as table:
        dpe.release(table, plan, ledger)
        dpe.release(table, dpe.Plan.loads(CLINIC + "  - [age, visit]\n"), ledger)
    assert ledger.spent("clinic-2026") == 2


def test_edges_and_their_labels_may_be_written_differently(plan: dpe.Plan, ledger: dpe.Ledger) -> None:
    rewritten = dpe.Plan.loads(CLINIC.replace("30, 45", "3e1, 45"))
    with dpe.open_table(clinic_rows()) as table:
        first, second = dpe.release(table, plan, ledger), dpe.release(table, rewritten, ledger)
    assert second.tables[()].equals(first.tables[()])
    assert ledger.spent("clinic-2026") == 1


def broken(plan: dpe.Plan, **fields: object) -> dpe.Plan:
    """The plan as only code could make it, around all checks."""
    region = plan.column("region").model_copy(update=fields)
    return plan.model_copy(update={"columns": tuple(region if c.name == "region" else c for c in plan.columns)})


@pytest.mark.parametrize(
    "fields",
    [
        {"values": (), "codebook": "unread.csv"},
        {"values": ("North", "\ud800")},
        {"values": ("North", "a\0b")},
        {"values": ("North", "North")},
    ],
)
def test_a_release_that_could_not_be_published_again_is_refused_before_it_is_paid_for(
    fields: dict[str, object], plan: dpe.Plan, ledger: dpe.Ledger
) -> None:
    with dpe.open_table(clinic_rows()) as table, pytest.raises(dpe.PlanError, match="nothing was spent"):
        dpe.release(table, broken(plan, **fields), ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("stage", ["recognising the data", "checking the plan", "counting"])
def test_a_file_that_changes_while_it_is_counted_costs_nothing(
    stage: str, plan: dpe.Plan, ledger: dpe.Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    clinic_rows().to_parquet(path)

    def change(now: str) -> None:
        if now == stage:
            clinic_rows(401).to_parquet(path)
            os.utime(path, ns=(0, 0))

    with dpe.open_table(path) as table, pytest.raises(dpe.TableError, match="changed since it was opened"):
        dpe.release(table, plan, ledger, progress=change)
    assert ledger.history() == []


def test_a_file_that_changes_is_noticed_though_size_and_time_are_put_back(
    plan: dpe.Plan, ledger: dpe.Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(clinic_rows().to_csv(index=False))
    before = path.stat()
    with dpe.open_table(path) as table:
        path.write_bytes(path.read_bytes()[::-1])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        with pytest.raises(dpe.TableError, match="changed since it was opened"):
            table.check_unchanged()


def test_whatever_can_be_opened_can_be_released(plan: dpe.Plan, ledger: dpe.Ledger, tmp_path: Path) -> None:
    rows = clinic_rows()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with dpe.open_table(rows) as table:
        opened = dpe.release(table, plan, ledger)
        exact = true_counts(table, plan, ledger)
    for source in (rows, pa.Table.from_pandas(rows), tmp_path / "rows.csv", str(tmp_path / "rows.csv")):
        assert dpe.release(source, plan, ledger).bundle == opened.bundle
        assert all((true_counts(source, plan, ledger)[t] == exact[t]).all() for t in exact)
    assert ledger.spent("clinic-2026") == 1
    with pytest.raises(dpe.TableError, match="make a data frame of these rows"):
        dpe.release([1, 2], plan, ledger)


@pytest.mark.nightly
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_arrow_reads_is_released_without_loading_the_engine(ending: str, tmp_path: Path) -> None:
    pay, day = np.arange(2000) / 250, np.datetime64("2024-01-01") + np.arange(2000) % 90
    pay[:5] = np.nan
    texts = pa.array(["a", "b", None, "?"] * 500)
    rows = pa.table({"pay": pay, "sex": texts, "day": day, "age": pa.array([7, 8, None, 9] * 500)})
    path = tmp_path / f"t.{ending}"
    (csv.write_csv if ending == "csv" else parquet.write_table)(rows, path)
    script = (
        "import sys, dpengine as dpe; columns = ["
        "{'name': 'pay', 'kind': 'number', 'edges': [0, 5, 10]}, {'name': 'age', 'kind': 'number', 'edges': [0, 9]}, "
        "{'name': 'sex', 'kind': 'category', 'values': ['a', 'b'], 'missing_as': ['?']}, "
        "{'name': 'day', 'kind': 'date', 'from': '2024-01-01', 'to': '2024-12-31', 'by': 'month'}]; "
        "plan = dpe.Plan(dataset='d', epsilon=1, columns=columns, tables={'each': 1}); "
        "dpe.release(sys.argv[1], plan); sys.exit('duckdb' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def test_saving_makes_the_folder(plan: dpe.Plan, tmp_path: Path) -> None:
    release = dpe.release(clinic_rows(), plan)
    release.save(tmp_path / "new" / "folder" / "release.zip")
    assert (tmp_path / "new" / "folder" / "release.zip").read_bytes() == release.bundle


def test_the_order_of_columns_and_tables_does_not_decide_which_rows_of_a_person_count(ledger: dpe.Ledger) -> None:
    rng = np.random.default_rng(5)
    letters = [list("abc")[k] for k in rng.integers(0, 3, 900)], [list("xyz")[k] for k in rng.integers(0, 3, 900)]
    rows = pd.DataFrame({"who": np.repeat(np.arange(300), 3), "one": letters[0], "two": letters[1]})
    columns = [
        {"name": "one", "kind": "category", "values": ["a", "b", "c"]},
        {"name": "two", "kind": "category", "values": ["x", "y", "z"]},
    ]
    tables = [["one"], ["two"], ["one", "two"]]
    turned = [table[::-1] for table in reversed(tables)]
    plans = [
        dpe.Plan(dataset="d", epsilon=1, unit={"id": "who"}, columns=order, tables=requested)
        for order, requested in ((columns, tables), (columns[::-1], tables), (columns, turned), (columns[::-1], turned))
    ]
    first, *others = (true_counts(rows, plan, ledger) for plan in plans)
    for other in others:
        assert all((first[(name,)] == other[(name,)]).all() for name in ("one", "two"))
        joint = other[("one", "two")] if ("one", "two") in other else other[("two", "one")].T
        assert (joint == first[("one", "two")]).all()
