"""What scripts and schedules rely on: statuses, JSON, streams, as docs/pipelines.md says."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dpengine import Ledger, Plan
from dpengine.accounting import database
from dpengine.cli import MEANINGS, main
from dpengine.settings import FILE, Settings, variable
from tests.charges import charge
from tests.command import run
from tests.conftest import empty_schema
from tests.plans import CLINIC
from tests.test_docs import rows

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path) -> list[str]:
    """The arguments of a release that can be made."""
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    return ["release", str(tmp_path / "plan.yaml"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "r.zip")]


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its name and those of its groups."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


def test_the_guide_lists_every_status_as_the_help_does() -> None:
    listed = {int(status.strip("`")): meaning for status, meaning in rows(GUIDE, "status")}
    assert listed == MEANINGS
    for status, meaning in MEANINGS.items():
        assert re.search(rf"{status} +{re.escape(meaning)}", run("--help").stdout)


def test_every_command_prints_json_on_demand_except_those_that_serve_the_page() -> None:
    without = {names for names, each in commands(main) if "as_json" not in {option.name for option in each.params}}
    assert without == {("app",), ("demo",)}


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["columns", "{folder}/t.csv"], {"columns", "plan"}),
        (["predict", "{folder}/plan.yaml"], {"dataset", "epsilon", "tables"}),
        (["verify", "{folder}/r.zip"], {"release_id", "guarantee", "faults", "not_read", "signed_by", "expected_key"}),
        (["replicates", "{folder}/r.zip", "-o", "{folder}/d.zip"], {"output", "replicates"}),
        (["rows-kept", "{folder}/t.csv", "--id", "age", "--exact"], {"exact", "rows", "kept"}),
        (["samples", "{folder}/samples"], {"files"}),
        (["ledger", "approval", "require", "other"], {"needed_for"}),
        (["ledger", "check"], {"entries"}),
        (["ledger", "key"], {"fingerprint", "public_key"}),
    ],
)  # fmt: skip
@pytest.mark.by_day(4)
def test_standard_output_is_one_json_document(
    arguments: list[str], keys: set[str], job: list[str], tmp_path: Path
) -> None:
    assert run(*job).exit_code == 0
    done = run(*(each.format(folder=tmp_path) for each in arguments), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout).keys() == keys


def test_the_columns_of_a_table_are_listed_without_a_value(job: list[str], tmp_path: Path) -> None:
    answer = json.loads(run("columns", tmp_path / "t.csv", "--json").stdout)
    assert [column["name"] for column in answer["columns"]] == ["age", "region", "visit"]
    assert "North" not in json.dumps(answer)


def test_every_step_of_an_approval_prints_json(job: list[str]) -> None:
    sent = json.loads(run("ledger", "approval", "send", job[1], "--json").stdout)
    shown = json.loads(run("ledger", "approval", "show", sent["request_id"], "--json").stdout)
    assert (Plan.loads(shown["plan"]), shown["left"], len(shown["tables"])) == (Plan.loads(CLINIC), None, 3)
    done = json.loads(run("ledger", "approval", "withdraw", sent["request_id"], "--json").stdout)
    assert (sent["state"], done["state"]) == ("waiting", "withdrawn")


def test_with_json_each_fault_is_an_object_on_a_line_of_standard_error(job: list[str], tmp_path: Path) -> None:
    run("ledger", "clinic-2026", "--cap", "1/2")
    done = run(*job, "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    (fault,) = map(json.loads, done.stderr.splitlines())
    assert (fault["status"], fault["error"]) == (1, "BudgetError")
    assert "does not allow" in fault["message"]
    (tmp_path / "plan.yaml").write_text(CLINIC.replace("[0, 18,", "[18, 0,").replace('"1"', '"0"'), encoding="utf-8")
    done = run(*job, "--json")
    faults = [json.loads(line) for line in done.stderr.splitlines()]
    assert {(each["status"], each["error"]) for each in faults} == {(2, "PlanError")}
    assert [each["place"] for each in faults] == [["epsilon"], ["columns", 1, "edges"]]


def test_with_json_warnings_are_objects_too(ledger_url: str) -> None:
    done = run("ledger", "--json", "--ledger", ledger_url)
    assert json.loads(done.stdout) == []
    assert json.loads(done.stderr)["warning"].startswith("the ledger is new: ")


def test_a_ledger_that_another_process_holds_has_a_status_of_its_own(
    job: list[str], tmp_path: Path, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    charge(Ledger(ledger_url), "first")
    holder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    done = run(*job, "--ledger", ledger_url)
    holder.close()
    assert (done.exit_code, done.stdout) == (75, "")
    assert "another process has held it for too long" in done.stderr
    assert run(*job, "--ledger", ledger_url).exit_code == 0


def test_a_server_that_is_down_has_the_same_status(job: list[str]) -> None:
    done = run(*job, "--ledger", "postgresql+psycopg://nobody@127.0.0.1:1/ledger")
    assert (done.exit_code, done.stdout) == (75, "")
    assert "cannot be reached" in done.stderr


@pytest.mark.nightly
def test_progress_is_on_the_terminal_of_standard_error_and_nowhere_else(job: list[str]) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dpengine", *job, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert json.loads(done.stdout)["spent"] == "1"
    places = [shown.index(f"\r\x1b[K{stage} …") for stage in ("recognising the data", "counting", "adding noise")]
    assert places == sorted(places)
    assert json.loads(shown.rpartition("\x1b[K")[2])["warning"].startswith("the ledger is new")


def test_without_a_terminal_nothing_is_shown(job: list[str]) -> None:
    (line,) = run(*job).stderr.splitlines()
    assert line.startswith("private-release: the ledger is new: ")


STAND_IN = """#!/bin/sh
case "$1" in
    release) echo made > "$5"; echo '{"release_id": "1f", "output": "x"}' ;;
    ledger) [ -z "$DOWN" ] || exit 75; echo '{"fingerprint": "a0-b1", "public_key": "x"}' ;;
    verify) [ "$4" = a0-b1 ] ;;
esac
"""


@pytest.mark.parametrize(("down", "status", "left"), [("", 0, ["1f.zip", "log.jsonl"]), ("y", 75, [])])
def test_the_script_of_the_job_passes_each_status_on_and_leaves_no_part_behind(
    down: str, status: int, left: list[str], tmp_path: Path
) -> None:
    (program := tmp_path / "stand-in").write_text(STAND_IN)
    program.chmod(0o700)
    command = [ROOT / "docs" / "jobs" / "publish.sh", "plan", "table", folder := tmp_path / "published"]
    folder.mkdir()
    (killed := folder / ".part-1.zip").write_bytes(b"")
    os.utime(killed, (0, 0))
    environment = os.environ | {"PRIVATE_RELEASE_COMMAND": str(program), "DOWN": down}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "")
    assert sorted(path.name for path in folder.iterdir()) == left


@pytest.mark.nightly
def test_the_scheduled_job_publishes_what_is_verified_and_ends_with_the_status_of_what_failed(
    job: list[str], tmp_path: Path, postgres: str
) -> None:
    _, plan, table, *_ = job
    address = empty_schema(postgres).replace("postgresql:", "postgresql+psycopg:")
    (tmp_path / "settings.toml").write_text(f'ledger = "{address}"\nstate = "{tmp_path}/state"\n')
    settings = {variable(name) for name in Settings.model_fields}
    environment = {key: value for key, value in os.environ.items() if key not in settings}
    environment |= {FILE: str(tmp_path / "settings.toml"), "PRIVATE_RELEASE_COMMAND": f"{sys.executable} -m dpengine"}
    folder = tmp_path / "published"

    def run_job() -> tuple[int, str]:
        command = [str(ROOT / "docs" / "jobs" / "publish.sh"), plan, table, str(folder)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert run_job()[0] == 0
    ledger = Ledger(address)
    ledger.set_cap("clinic-2026", 1)
    (entry,) = ledger.history("clinic-2026")
    assert sorted(path.name for path in folder.iterdir()) == [f"{entry.release_id}.zip", "log.jsonl"]
    assert [json.loads(line)["spent"] for line in (folder / "log.jsonl").read_text().splitlines()] == ["1"]
    Path(table).write_text("age,region,visit\n70,South,2024-03-01\n", encoding="utf-8")
    status, output = run_job()
    assert (status, "does not allow" in output) == (1, True)
    (tmp_path / "settings.toml").write_text('ledger = "postgresql+psycopg://nobody@127.0.0.1:1/ledger"\n')
    assert run_job()[0] == 75
    assert len(list(folder.iterdir())) == 2
