"""What outside programs rely on, used as they would use it, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import dpengine as dpe

PLAN = """
title: Clinic survey 2026
dataset: clinic-2026
epsilon: "1"
unit: {rows: 1}
rows_about: 50000
columns:
  - {name: age,    kind: number,   edges: [0, 18, 30, 45, 65, 120]}
  - {name: region, kind: category, values: [North, South, "Paris, TX", "False"], other: true, missing: true}
  - {name: visit,  kind: date,     from: 2024-01-01, to: 2026-12-31, by: month}
tables:
  - [age, region]
  - [region, visit]
strategy: auto
"""
ROWS = pd.DataFrame(
    {"age": [5, 17, 18, 44, 120, 121] * 50, "region": ["North", "Paris, TX", "False", "x", None, "South"] * 50,
     "visit": ["2024-01-31", "2025-06-01", "2026-12-31", "2027-01-01", "soon", None] * 50}
)  # fmt: skip


MEASURES = """
dataset: incomes-2026
epsilon: "2"
columns:
  - {name: income, kind: amount, from: 0, to: 200000, step: 100}
  - {name: hours, kind: amount, from: 0, to: 80}
  - {name: county, kind: category, codebook: geography.csv, levels: [state, county]}
  - {name: sex, kind: category, values: [female, male]}
tables:
  - {columns: [county@state, sex], mean: [income, hours], weight: 3}
  - {columns: [sex], quantiles: {income: [0.25, 0.5, 0.75]}}
  - [county]
"""


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "dpengine", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    if status:
        assert done.stdout == ""
        assert done.stderr
        assert "Traceback" not in done.stderr
    return done


def test_the_python_interface(plan_file: Path, tmp_path: Path) -> None:
    plan = dpe.Plan.load(plan_file)
    plan.save(tmp_path / "again.yaml")
    assert dpe.Plan.load(tmp_path / "again.yaml").key == plan.key

    frame = dpe.predict(plan)
    assert list(frame.columns) == ["table", "cells", "mean_abs_error", "half_width_95", "total_half_width_95"]
    assert list(frame["table"]) == ["age × region", "region × visit", "total"]
    assert "epsilon" in dpe.predict(plan, epsilons=[0.1, 1, 10])
    assert isinstance(dpe.epsilon_for(plan, half_width=10, confidence=0.95), Fraction)

    ledger = dpe.Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.set_cap("clinic-2026", "2")
    release = dpe.release(dpe.open_table(ROWS), plan, ledger=ledger)
    assert ledger.spent("clinic-2026") == ledger.left("clinic-2026") == Fraction(1)
    assert set(release.tables) == {("age", "region"), ("region", "visit"), ()}
    assert list(release.synthetic().columns) == ["age", "region", "visit"]
    assert release.manifest["guarantee"]["epsilon"] == "1"
    release.save(tmp_path / "release.zip")
    dpe.verify(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as bundle:
        names = set(bundle.namelist())
    assert {"README.txt", "manifest.json", "plan.yaml", "synthetic.csv", "report.html", "registry.yaml"} < names

    (tmp_path / "release.zip").write_bytes(b"no zip")
    with pytest.raises(dpe.ReleaseError):
        dpe.verify(tmp_path / "release.zip")


def test_means_quantiles_and_levels_stand_in_one_plan(tmp_path: Path) -> None:
    (tmp_path / "geography.csv").write_text("state,county\nNorth,N1\nNorth,N2\nSouth,S1\n", encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(MEASURES, encoding="utf-8")
    plan = dpe.Plan.load(tmp_path / "plan.yaml")
    rows = {"income": [0, 31_000, 200_000, 1e9] * 90, "hours": [40, 20, None, 0] * 90, "county": ["N1", "S1"] * 180,
            "sex": ["female", "male", "male"] * 120}  # fmt: skip
    release = dpe.release(pd.DataFrame(rows), plan)
    dpe.verify(release.bundle)
    by_state = release.tables[("county@state", "sex")]
    for name, most in (("income", 200_000), ("hours", 80)):
        low, mean, high = (by_state[f"mean_{name}{end}"] for end in ("_low", "", "_high"))
        assert ((low >= 0) & (low <= mean) & (mean <= high) & (high <= most)).all()
    assert {f"quantile_{part}_income" for part in ("0.25", "0.5", "0.75")} <= {*release.tables[("sex",)].columns}
    assert release.tables[("county",)]["count"].sum() == release.tables[()]["count"].iloc[0]


@pytest.mark.parametrize(
    "kind", ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "xlsx", "feather", "arrow", "pandas", "pyarrow"]
)
@pytest.mark.by_day(5)
def test_every_kind_of_table_gives_the_same_release(kind: str, plan_file: Path, tmp_path: Path) -> None:
    plan = dpe.Plan.load(plan_file).at(500)
    path = tmp_path / f"table.{kind}"
    match kind:
        case "csv" | "csv.gz":
            ROWS.to_csv(path, index=False)
        case "tsv" | "tsv.gz":
            ROWS.to_csv(path, index=False, sep="\t")
        case "parquet":
            ROWS.to_parquet(path)
        case "xlsx":
            ROWS.to_excel(path, index=False)
        case "feather" | "arrow":
            ROWS.to_feather(path)
    source = {"pandas": ROWS, "pyarrow": pa.Table.from_pandas(ROWS)}.get(kind, path)
    release = dpe.release(dpe.open_table(source), plan)
    exact = dpe.release(dpe.open_table(ROWS), plan)
    for table in plan.marginals:
        assert (release.tables[table]["count"] - exact.tables[table]["count"]).abs().max() <= 1
    assert release.tables[("age", "region")].set_index(["age", "region"])["count"][("[18, 30)", "False")] in (
        49,
        50,
        51,
    )


def test_the_noise_interface() -> None:
    for scale in (Fraction(3, 7), 10, "2.5"):
        draws = dpe.noise.discrete_laplace(scale, 1000)
        assert draws.dtype == "int64"
        assert draws.shape == (1000,)


def test_the_command_line_interface(plan_file: Path, tmp_path: Path) -> None:
    table, bundle, url = tmp_path / "table.csv", tmp_path / "release.zip", f"sqlite:///{tmp_path / 'budget.db'}"
    ROWS.to_csv(table, index=False)

    first = run("columns", table).stdout
    assert "Paris" not in first
    assert [c.split(",")[0] for c in first.split("{name: ")[1:]] == ['"age"', '"region"', '"visit"']
    (tmp_path / "first.yaml").write_text(first, encoding="utf-8")
    run("predict", tmp_path / "first.yaml", status=2)

    assert "age × region" in run("predict", plan_file).stdout
    assert len(json.loads(run("predict", plan_file, "--json").stdout)["tables"]) == 3
    answer = json.loads(run("release", plan_file, table, "-o", bundle, "--ledger", url, "--json").stdout)
    assert answer["spent"] == "1"
    before = bundle.read_bytes()
    run("release", plan_file, table, "-o", bundle, "--ledger", url)
    assert bundle.read_bytes() == before
    assert json.loads(run("ledger", "--ledger", url, "--json").stdout)[0]["spent"] == "1"
    assert answer["release_id"] in run("verify", bundle).stdout

    run("ledger", "clinic-2026", "--cap", "1", "--ledger", url)
    other = tmp_path / "other.yaml"
    other.write_text(PLAN.replace('"1"', '"1/2"'), encoding="utf-8")
    refused = run("release", other, table, "-o", tmp_path / "no.zip", "--ledger", url, status=1)
    assert len(refused.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "no.zip").exists()

    bundle.write_bytes(before[:-100])
    run("verify", bundle, status=1)


@pytest.mark.parametrize(
    ("plan_edit", "table_text", "fragment"),
    [
        (("[0, 18,", "[18, 0,"), "age,region,visit\n1,North,\n", "increase"),
        (('"1"', '"0"'), "age,region,visit\n1,North,\n", "above 0"),
        (('"1"', "ten"), "age,region,visit\n1,North,\n", "decimal"),
        (None, "", "empty"),
        (None, "age,region\n1,North\n", "visit"),
        (None, "age,age,region,visit\n1,2,North,\n", "age"),
        (None, "age,region,visit\n1,North\n1,2,3,4,5\n", "line"),
    ],
)
@pytest.mark.by_day(1)
def test_bad_input_is_refused_in_one_line_and_costs_nothing(
    plan_edit: tuple[str, str] | None, table_text: str, fragment: str, plan_file: Path, tmp_path: Path
) -> None:
    if plan_edit:
        plan_file.write_text(PLAN.replace(*plan_edit), encoding="utf-8")
    table, url = tmp_path / "table.csv", f"sqlite:///{tmp_path / 'budget.db'}"
    table.write_text(table_text, encoding="utf-8")
    done = run("release", plan_file, table, "-o", tmp_path / "r.zip", "--ledger", url, status=2)
    assert fragment in done.stderr
    assert str(tmp_path) not in done.stderr
    assert dpe.Ledger(url).spent("clinic-2026") == 0
    assert not (tmp_path / "r.zip").exists()


def test_wrong_use_has_status_2(tmp_path: Path) -> None:
    for arguments in [
        ["nonsense"],
        ["release"],
        ["predict", tmp_path / "none.yaml"],
        ["verify"],
        ["columns", tmp_path / "none.csv"],
    ]:
        run(*arguments, status=2)


def test_errors_are_one_family() -> None:
    for error in (dpe.PlanError, dpe.TableError, dpe.BudgetError, dpe.ReleaseError):
        assert issubclass(error, dpe.PrivateReleaseError)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda plan: dpe.release(ROWS, "plan.yaml"), dpe.PlanError),
        (lambda plan: dpe.release(ROWS, plan, "sqlite:///budget.db"), dpe.LedgerError),
        (lambda plan: dpe.verify(None), dpe.ReleaseError),
        (lambda plan: dpe.open_table(None), dpe.TableError),
        (lambda plan: dpe.predict("plan.yaml"), dpe.PlanError),
        (lambda plan: dpe.predict("plan.yaml", epsilons=[1]), dpe.PlanError),
        (lambda plan: dpe.predict(plan, epsilons=1), dpe.PlanError),
        (lambda plan: dpe.predict(plan, epsilons="0.1"), dpe.PlanError),
        (lambda plan: dpe.epsilon_for("plan.yaml", 10), dpe.PlanError),
        (lambda plan: dpe.preview(None), dpe.PlanError),
        (lambda plan: dpe.decide({}), dpe.PlanError),
        (lambda plan: dpe.Plan.load(None), dpe.PlanError),
        (lambda plan: dpe.expect(plan), dpe.PlanError),
        (lambda plan: dpe.ask(ROWS, plan), dpe.PlanError),
        (lambda plan: dpe.published(None), dpe.ReleaseError),
        (lambda plan: plan.save(None), dpe.PlanError),
        (lambda plan: dpe.release(ROWS, plan).save(None), dpe.ReleaseError),
        (lambda plan: dpe.release(ROWS, plan).save("r\0.zip"), dpe.ReleaseError),
    ],
)
def test_a_path_or_nothing_in_place_of_a_value_is_refused_in_plain_words(
    wrong: Callable[[dpe.Plan], object], error: type[Exception], plan_file: Path
) -> None:
    with pytest.raises(error, match="given as"):
        wrong(dpe.Plan.load(plan_file))


@pytest.mark.parametrize("place", ["", "nowhere/x", "file/x"])
def test_a_place_that_takes_no_file_is_refused_by_its_name_alone(place: str, plan_file: Path, tmp_path: Path) -> None:
    """A folder, a file in a folder that is missing, which only a bundle gets made, and one in a file."""
    (tmp_path / "file").touch()
    plan = dpe.Plan.load(plan_file)
    release = dpe.release(ROWS, plan)
    with pytest.raises(dpe.PlanError, match="name another place") as of_plan:
        plan.save(tmp_path / place)
    assert str(tmp_path) not in str(of_plan.value)
    if place == "nowhere/x":
        return release.save(tmp_path / place)
    with pytest.raises(dpe.ReleaseError, match="name another place") as of_bundle:
        release.save(tmp_path / place)
    assert str(tmp_path) not in str(of_bundle.value)
    return None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda ledger: ledger.spent(None), dpe.BudgetError),
        (lambda ledger: ledger.left(7), dpe.BudgetError),
        (lambda ledger: ledger.set_cap(None, "1"), dpe.BudgetError),
        (lambda ledger: dpe.Plan.loads(None), dpe.PlanError),
        (lambda ledger: dpe.verify(b"", key=7), dpe.ReleaseError),
        (lambda ledger: dpe.open_table(__file__, name="t.csv", skip_rows="1"), dpe.TableError),
        (lambda ledger: dpe.published("r\0.zip"), dpe.ReleaseError),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_of_the_family(
    wrong: Callable[[dpe.Ledger], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        wrong(dpe.Ledger.in_memory())
