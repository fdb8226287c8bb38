"""Where the command line writes a bundle, and which owner's part of the ledger pays for it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dpengine import Ledger, Plan, release, signed_by, verify
from dpengine.bundle.checks.cross_check import CrossCheck
from tests.command import run
from tests.plans import CLINIC, MEANS


@pytest.fixture
def job(tmp_path: Path) -> tuple[str, str, str]:
    """The address of a ledger that is not begun yet, a plan and a table."""
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    return f"sqlite:///{tmp_path}/l.db", str(tmp_path / "plan.yaml"), str(tmp_path / "t.csv")


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("pay", "told"), [("1500,5", True), ("1500.5", False)])
def test_a_column_mostly_in_other_gives_a_warning(tmp_path: Path, pay: str, told: bool) -> None:
    (tmp_path / "t.csv").write_text("pay;sex\n" + f"{pay};f\n" * 500, encoding="utf-8")
    columns = [{"name": "pay", "kind": "number", "edges": [0, 1000, 2000]},
               {"name": "sex", "kind": "category", "values": ["f", "m"]}]  # fmt: skip
    Plan(dataset="pay", epsilon=10, columns=columns, tables=[["pay", "sex"]]).save(tmp_path / "plan.yaml")
    url = f"sqlite:///{tmp_path}/l.db"
    done = run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip", "--ledger", url)
    assert ("pay: more than half of the rows are in (other)" in done.stderr) == told
    assert "sex: more" not in done.stderr
    again = run(
        "release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip", "--ledger", url, "--json"
    )
    assert json.loads(again.stdout)["mostly_other"] == (["pay"] if told else [])


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("seen", "told"), [("12/03/2024", True), ("2024-03-12", False)])
def test_rows_that_are_mostly_left_out_give_a_warning(tmp_path: Path, seen: str, told: bool) -> None:
    """If no date can be read, hardly any row counts, and the output says so."""
    (tmp_path / "t.csv").write_text("seen,sex\n" + f"{seen},f\n" * 500, encoding="utf-8")
    columns = [
        {"name": "seen", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month", "other": False,
         "missing": False},
        {"name": "sex", "kind": "category", "values": ["f", "m"]},
    ]  # fmt: skip
    plan = Plan(dataset="d", epsilon=10, columns=columns, tables=[["seen", "sex"]], rows_about=500)
    command = ["release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip"]
    command += ["--ledger", f"sqlite:///{tmp_path}/l.db"]
    plan.save(tmp_path / "plan.yaml")
    assert ("without a declared value of seen are left out" in run(*command).stderr) == told
    assert json.loads(run(*command, "--json").stdout)["mostly_left_out"] == (["seen"] if told else [])
    plan.model_copy(update={"rows_about": None}).save(tmp_path / "plan.yaml")
    assert "left out" not in run(*command).stderr, "nobody knows how many rows there should be"


@pytest.mark.usefixtures("plotly_in_reports")  # as in another process
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.by_day(1)
def test_a_bundle_can_be_written_to_a_pipe_which_gets_nothing_else(
    job: tuple[str, str, str], tmp_path: Path, options: list[str]
) -> None:
    url, plan, table = job
    command = [sys.executable, "-m", "dpengine", "release", plan, table, "-o", "/dev/stdout", "--ledger", url, *options]
    done = subprocess.run(command, capture_output=True, check=True)
    verify(done.stdout)
    assert signed_by(done.stdout) is not None
    summary = done.stderr.decode().splitlines()[1:]  # after the ledger's announcement
    if options:
        assert json.loads("".join(summary))["spent"] == "1"
    else:
        assert summary[1] == "clinic-2026: spent 1 in all, no cap is set"
    run("release", plan, table, "-o", tmp_path / "r.zip", "--ledger", url)
    assert (tmp_path / "r.zip").read_bytes() == done.stdout


def _socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
    return folder / "s"


def _folder(folder: Path) -> Path:
    (folder / "f").mkdir()
    return folder / "f"


PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder": _folder,
    "a missing folder": lambda folder: folder / "nowhere" / "r.zip",
    "a file for a folder": lambda folder: folder / "t.csv" / "r.zip",
    "a name that is too long": lambda folder: folder / ("r" * 300),
    "a full device": lambda _: Path("/dev/full"),
    "a device that keeps nothing": lambda _: Path("/dev/null"),
    "a socket": _socket,
    "a place that takes no files": lambda _: Path("/proc/r.zip"),
}


@pytest.mark.parametrize("place", PLACES)
def test_where_no_bundle_can_be_written_nothing_is_spent(
    job: tuple[str, str, str], tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, plan, table = job
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    output = PLACES[place](tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run("release", plan, table, "-o", output, "--ledger", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert str(tmp_path) not in done.stderr or place == "a folder"  # click names what it was given
    assert "nothing was spent" in done.stderr or place == "a folder"
    assert sorted(tmp_path.iterdir()) == before, "not even a ledger was begun"


@pytest.mark.parametrize(
    ("place", "way_on"),
    [("r.pdf", "name it r.zip"), ("r.1", "name it r.zip"), ("nowhere/r.zip", "its folder does not exist")],
)
def test_an_output_that_would_mislead_or_has_no_folder_is_refused_before_anything_is_spent(
    job: tuple[str, str, str], tmp_path: Path, place: str, way_on: str
) -> None:
    url, plan, table = job
    done = run("release", plan, table, "-o", tmp_path / place, "--ledger", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert way_on in done.stderr
    assert not (tmp_path / "l.db").exists()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("place", ["r", "R.ZIP"])
def test_a_bundle_may_have_a_name_without_an_ending(job: tuple[str, str, str], tmp_path: Path, place: str) -> None:
    url, plan, table = job
    assert run("release", plan, table, "-o", tmp_path / place, "--ledger", url).exit_code == 0
    verify(tmp_path / place)


@pytest.mark.parametrize("place", ["t.csv", "plan.yaml", "l.db", "l.db-wal", "link.zip", "parts/a.csv"])
def test_a_bundle_never_takes_the_place_of_what_is_read_or_of_the_ledger(
    job: tuple[str, str, str], tmp_path: Path, place: str
) -> None:
    """The table would be gone, or with the ledger all that was ever spent; a link and a folder of parts lead there."""
    url, plan, table = job
    (tmp_path / "link.zip").symlink_to(table)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_text("a part", encoding="utf-8")
    source = tmp_path / "parts" if place.startswith("parts") else table
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run("release", plan, source, "-o", tmp_path / place, "--ledger", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "would be replaced: name another output" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("place", ["rows-2.parquet", "twin.zip"])
def test_a_bundle_never_takes_the_place_of_a_file_that_a_pattern_names(
    job: tuple[str, str, str], tmp_path: Path, place: str
) -> None:
    """Nor that of such a file under another name, which a hard link gives it."""
    url, plan, _ = job
    for k in (1, 2):
        pd.DataFrame({"age": [k]}).to_parquet(tmp_path / f"rows-{k}.parquet")
    (tmp_path / "twin.zip").hardlink_to(tmp_path / "rows-1.parquet")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("release", plan, tmp_path / "rows-*.parquet", "-o", tmp_path / place, "--ledger", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "would be replaced: name another output" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_sheet_of_a_file_without_sheets_is_wrong_use_and_costs_nothing(
    job: tuple[str, str, str], tmp_path: Path
) -> None:
    url, plan, table = job
    done = run("release", plan, table, "-o", tmp_path / "r.zip", "--sheet", "2", "--ledger", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "private-release: only workbooks have sheets: leave this out"
    assert Ledger(url).history() == []


@pytest.mark.parametrize("command", ["replicates", "codebook", "export"])
def test_no_command_writes_over_what_it_reads(command: str, tmp_path: Path) -> None:
    (path := tmp_path / "source.json").write_text("what is read", encoding="utf-8")
    done = run(command, path, *(["--as", "sqlite"] if command == "export" else []), "-o", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "source.json is what this command reads, and would be replaced" in done.stderr
    assert path.read_text(encoding="utf-8") == "what is read"


@pytest.mark.parametrize(
    ("address", "by_setting", "why"),
    [
        ("", False, "write it like"),
        ("sqlite://", False, "forgets what was spent"),
        ("sqlite:///", False, "forgets what was spent"),
        ("sqlite:///", True, "forgets what was spent"),
        ("sqlite:///:memory:", True, "forgets what was spent"),
    ],
)
def test_no_release_is_charged_to_a_ledger_that_ends_with_the_process(
    job: tuple[str, str, str], tmp_path: Path, address: str, by_setting: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a script's variable is not set: no cap would refuse, and each call would draw the same plan again."""
    _, plan, table = job
    if by_setting:
        monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", address)
    done = run("release", plan, table, "-o", tmp_path / "r.zip", *([] if by_setting else ["--ledger", address]))
    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr
    assert not (tmp_path / "r.zip").exists()


def test_an_experiment_may_ask_for_a_ledger_in_memory(job: tuple[str, str, str], tmp_path: Path) -> None:
    _, plan, table = job
    done = run("release", plan, table, "-o", tmp_path / "r.zip", "--ledger", "sqlite:///:memory:")
    assert done.exit_code == 0
    assert "nothing of what was spent is remembered" in done.stderr


@pytest.mark.usefixtures("plotly_in_reports")  # as in another process
@pytest.mark.by_day(1)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_told_and_loses_nothing(
    job: tuple[str, str, str], tmp_path: Path, unbuffered: str
) -> None:
    url, plan, table = job
    bundle = tmp_path / "r.zip"
    command = [sys.executable, "-m", "dpengine", "release", plan, table, "-o", str(bundle), "--ledger", url]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    _new, line = done.stderr.splitlines()
    assert line.startswith("private-release: cannot write: No space left on device. What was charged is in the ledger")
    before = bundle.read_bytes()
    assert "spent 1 in all" in run("release", plan, table, "-o", bundle, "--ledger", url).stdout
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [["--help"], ["release", "--help"]])
def test_help_that_finds_no_room_ends_with_one_sentence(command: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpengine", *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "private-release: cannot write: No space left on device\n")


def test_a_folder_that_may_not_be_written_is_refused_before_the_charge(job: tuple[str, str, str]) -> None:
    url, plan, table = job
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, "release", plan, table, "-o", "/r.zip", "--ledger", url],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "private-release: r.zip cannot be written (Permission denied); nothing was spent\n"


AS_NOBODY = """
import os
from dpengine import cli
from dpengine.spec.plan import Plan
load = Plan.load
def as_nobody(path):  # what is checked after the plan is read is checked as an account without rights
    plan = load(path)
    os.geteuid() or os.seteuid(65534)
    return plan
Plan.load = as_nobody
cli.main()
"""


def test_each_owner_pays_for_and_sees_their_own_part(job: tuple[str, str, str], tmp_path: Path) -> None:
    url, plan, table = job

    def ledger(*arguments: object) -> str:
        done = run("ledger", *arguments, "--ledger", url)
        assert done.exit_code == 0
        return done.stdout

    ledger("clinic-2026", "--cap", "3/2", "--owner", "group:clinic")
    saved = ["-o", tmp_path / "r.zip", "--ledger", url]
    for owner in (["--owner", "group:clinic"], [], ["--owner", "ann"]):
        assert "clinic-2026: spent 1 in all" in run("release", plan, table, *saved, *owner).stdout
    assert ledger("--owner", "group:clinic").startswith("clinic-2026: spent 1, cap 1.5, left 0.5\n")
    assert ledger().startswith("clinic-2026: spent 1, no cap\n")
    assert ledger("--owner", "ben") == "nothing was spent yet\n"
    whole = Ledger(url)
    ids = [[each.release_id for each in whole.for_owner(owner).history()] for owner in ("group:clinic", "", "ann")]
    assert len({release_id for (release_id,) in ids}) == 3, "one of each, and no two share it"
    assert ledger("check") == "the ledger: whole; 3 entries\n"


def test_an_owner_s_cap_refuses_that_owner_alone(job: tuple[str, str, str], tmp_path: Path) -> None:
    url, plan, table = job
    run("ledger", "clinic-2026", "--cap", "1/2", "--owner", "ann", "--ledger", url)
    saved = ["-o", tmp_path / "r.zip", "--ledger", url]
    assert run("release", plan, table, *saved, "--owner", "ann").exit_code == 1
    assert not (tmp_path / "r.zip").exists()
    assert run("release", plan, table, *saved).exit_code == 0


@pytest.mark.parametrize("command", ["backup", "restore", "check", "accept", "begin", "key"])
def test_what_concerns_the_whole_ledger_takes_no_owner(command: str, tmp_path: Path) -> None:
    file = [tmp_path / "b.db"] if command in ("backup", "restore") else []
    done = run("ledger", command, *file, "--owner", "ann", "--ledger", f"sqlite:///{tmp_path}/l.db")
    assert (done.exit_code, done.stdout) == (2, "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_the_help_says_that_a_backup_is_of_all_owners(command: str) -> None:
    assert "the parts of all owners" in " ".join(run("ledger", command, "--help").stdout.split()).replace("\n", " ")


def test_means_and_sums_go_from_plan_to_verified_bundle(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(MEANS)
    pd.DataFrame({"sex": ["f", "m"] * 50, "pay": [*range(99), None]}).to_csv(tmp_path / "people.csv", index=False)
    prediction = run("predict", tmp_path / "plan.yaml", "--json")
    total, by_sex = (
        {row["table"]: row for row in json.loads(prediction.stdout)["tables"]}[name] for name in ("total", "sex")
    )
    assert 0 < total["mean_pay_half_width_95"] < by_sex["mean_pay_half_width_95"]
    run("release", tmp_path / "plan.yaml", tmp_path / "people.csv", "-o", tmp_path / "release.zip")
    assert "whole and consistent" in run("verify", tmp_path / "release.zip").stdout
    with zipfile.ZipFile(tmp_path / "release.zip") as bundle:
        table = pd.read_csv(bundle.open("tables/01-sex.csv"))
        rows = pd.read_csv(bundle.open("synthetic.csv"))
    assert table.columns.tolist()[5:] == ["known_pay", "mean_pay", "mean_pay_low", "mean_pay_high"]
    assert ((table.mean_pay_low <= table.mean_pay) & (table.mean_pay <= table.mean_pay_high)).all()
    assert rows.groupby("sex").pay.count().to_dict() == table.set_index("sex").known_pay[["f", "m"]].to_dict()
    assert rows.groupby("sex").pay.mean().tolist() == pytest.approx(table.mean_pay[:2].tolist(), abs=0.01)


def test_a_changed_mean_is_found(tmp_path: Path) -> None:
    plan = Plan.loads(MEANS)
    path = tmp_path / "release.zip"
    release(pd.DataFrame({"sex": ["f", "m"] * 50, "pay": range(100)}), plan).save(path)
    with zipfile.ZipFile(path) as bundle:
        table = pd.read_csv(bundle.open("tables/01-sex.csv"))
    check = CrossCheck(plan, plan.estimated_tables)

    def as_written(number: float) -> str:
        return f"{number:.6f}".rstrip("0").rstrip(".")

    def faults(changed: pd.DataFrame) -> list[str]:
        payload = changed.to_csv(index=False, lineterminator="\r\n", float_format=as_written).encode()
        return check.add_table([payload], "sex.csv", ("sex",))

    assert faults(table) == []
    for change, fragment in [
        ({"mean_pay": table.mean_pay_high + 5}, "mean_pay lies outside its interval"),
        ({"mean_pay": 150.0, "mean_pay_high": 160.0}, "outside the declared bounds"),
        ({"known_pay": table["count"] + 1}, "known_pay is not a whole number of the people counted"),
        ({"mean_pay": (table.mean_pay_low + table.mean_pay_high) / 2 + 0.3}, "disagree on pay"),
    ]:
        assert any(fragment in fault for fault in faults(table.assign(**change))), change


def test_publishing_again_says_that_nothing_was_charged(job: tuple[str, str, str], tmp_path: Path) -> None:
    url, plan, table = job
    command = ("release", plan, table, "-o", tmp_path / "r.zip", "--ledger", url)
    assert "nothing was spent" not in run(*command).stdout
    assert (
        "clinic-2026: nothing was spent, since the same tables of the same data were published" in run(*command).stdout
    )
    assert json.loads(run(*command, "--json").stdout)["charged"] == "0"


def test_a_table_of_a_database_is_named_as_the_message_says(job: tuple[str, str, str], tmp_path: Path) -> None:
    url, plan, table = job
    with duckdb.connect(str(tmp_path / "c.duckdb")) as database:
        database.execute(
            f"CREATE TABLE people AS SELECT * FROM read_csv('{table}'); CREATE TABLE other AS SELECT 1 AS x"
        )
    command = ["release", plan, tmp_path / "c.duckdb", "-o", tmp_path / "r.zip", "--ledger", url]
    refused = run(*command)
    assert refused.exit_code == 2
    assert "on the command line with --table; it has: other, people" in refused.stderr
    assert run(*command, "--table", "people").exit_code == 0
    verify(tmp_path / "r.zip")
