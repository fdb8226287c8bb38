"""Backup, restore, and what is said of a ledger that is gone, on the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from dpengine import Ledger
from dpengine.accounting.entry import Charge, Outcome
from dpengine.measure.strategy_base import Strategy
from tests.charges import charge
from tests.command import run
from tests.plans import CLINIC


@pytest.fixture
def url(ledger_url: str) -> str:
    """A ledger of two entries."""
    for plan in ("first", "second"):
        charge(Ledger(ledger_url), plan)
    return ledger_url


def test_a_new_ledger_is_announced_by_its_absolute_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("ledger", "--ledger", "sqlite:///budget.db")
    assert (done.exit_code, done.stdout) == (0, "nothing was spent yet\n")
    assert done.stderr == f"private-release: the ledger is new: sqlite:///{tmp_path}/budget.db\n"
    assert run("ledger", "--ledger", "sqlite:///budget.db").stderr == ""


def test_a_clock_that_is_behind_the_ledger_is_said_with_both_times_and_nothing_is_charged_by_it(
    url: str, tmp_path: Path
) -> None:
    frame = tmp_path / "t.csv"
    frame.write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    command = ["release", tmp_path / "plan.yaml", frame, "-o", tmp_path / "r.zip", "--ledger", url]
    assert "clock" not in run("ledger", "--ledger", url).stderr
    charge(Ledger(url), "third", created="2999-01-01T00:00:00+00:00")
    for each in (["ledger", "--ledger", url], command):
        done = run(*each)
        assert done.exit_code == 0
        assert "an entry of 2999-01-01 00:00 UTC, and the clock of this computer says 20" in done.stderr


def test_a_ledger_that_is_gone_is_refused_by_every_command_until_a_new_one_is_begun(url: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").unlink()
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    for command in (
        ["release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip"],
        ["ledger"], ["ledger", "check"], ["ledger", "backup", tmp_path / "b.db"], ["ledger", "accept"],
    ):  # fmt: skip
        done = run(*command, "--ledger", url)
        assert (done.exit_code, done.stdout) == (1, "")
        [line] = done.stderr.splitlines()
        assert line.startswith(f"private-release: {url}: The ledger that was used here, of 2 entries, is gone")
        assert not (tmp_path / "ledger.db").exists()
    done = run("ledger", "begin", "--ledger", url)
    assert (done.exit_code, done.stdout) == (0, f"a new ledger was begun: {url}\n")
    assert run("ledger", "--ledger", url).stdout == "nothing was spent yet\n"
    assert run("ledger", "begin", "--ledger", url).exit_code == 1


def test_a_backup_is_made_checked_and_restored(url: str, tmp_path: Path) -> None:
    backup = tmp_path / "b.db"
    assert run("ledger", "backup", backup, "--ledger", url).stdout == "b.db: whole; 2 entries\n"
    done = run("ledger", "backup", backup, "--ledger", url)
    assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1)
    assert run("ledger", "check", "--ledger", url).stdout == "the ledger: whole; 2 entries\n"
    assert json.loads(run("ledger", "check", "--json", "--ledger", url).stdout) == {"entries": 2}
    charge(Ledger(url), "third")
    refused = run("ledger", "restore", backup, "--ledger", url)
    assert refused.exit_code == 1
    assert "it has 2 entries, but 3 were seen there" in refused.stderr
    done = run("ledger", "restore", backup, "--forget", "--ledger", url)
    assert (done.exit_code, done.stdout) == (0, "the ledger: whole; 2 entries\n")
    assert Ledger(url).spent("clinic") == 2


def test_an_old_copy_is_refused_until_it_is_accepted(url: str, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    charge(Ledger(url), "third")
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    done = run("ledger", "--ledger", url)
    assert done.exit_code == 1
    assert "it has 2 entries, but 3 were seen there" in done.stderr
    assert run("ledger", "accept", "--ledger", url).stdout == "the ledger: whole; 2 entries\n"
    assert run("ledger", "--ledger", url).exit_code == 0


@pytest.mark.parametrize("command", [["check"], ["backup", "b.db"], ["restore", "b.db"], ["begin"], ["accept"]])
def test_a_malformed_address_is_wrong_use(command: list[str]) -> None:
    done = run("ledger", *command, "--ledger", "budget.db")
    assert (done.exit_code, done.stdout) == (2, "")


INTERRUPTED = """
import os, signal, sys
from dpengine.measure.strategy_base import Strategy
honest = Strategy.measure
def measure(strategy, *given):
    measured = honest(strategy, *given)
    os.kill(os.getpid(), signal.{name})
    return measured
Strategy.measure = measure
from dpengine.cli import main
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.by_day(1)
def test_a_stop_after_noise_was_drawn_says_that_the_release_is_recorded(tmp_path: Path, name: str) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    url = f"sqlite:///{tmp_path}/l.db"
    arguments = ["release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip", "--ledger", url]
    command = [sys.executable, "-c", INTERRUPTED.format(name=name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 128 + getattr(signal, name)
    assert "stopped, but the release is recorded, and running this again writes it at no cost" in done.stderr
    assert not (tmp_path / "r.zip").exists()
    assert Ledger(url).spent("clinic-2026") == 1
    assert run(*arguments).exit_code == 0
    assert (tmp_path / "r.zip").exists()
    assert Ledger(url).spent("clinic-2026") == 1


def test_a_stop_before_noise_is_drawn_does_not_say_that_a_release_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("dpengine.release"), "check_makeable", stop)
    monkeypatch.setattr(Strategy, "measure", lambda *_: pytest.fail("drawn"))
    done = run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip")
    assert done.exit_code == 130
    assert "recorded" not in done.stderr


def test_a_dataset_without_a_record_is_named_as_such(url: str) -> None:
    done = run("ledger", "clinnic", "--ledger", url)
    assert done.exit_code == 0
    (known,) = Ledger(url).datasets()
    assert done.stderr == f"private-release: nothing is recorded under the name clinnic; there are {known}\n"
    assert run("ledger", known.upper(), "--ledger", url).stderr == ""


def test_names_of_the_same_data_are_listed_as_one_budget(tmp_path: Path) -> None:
    """Both names list all charges, and say why: otherwise these would seem to be paid twice."""
    url = f"sqlite:///{tmp_path / 'l.db'}"
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    for name, epsilon in (("clinic-2026", "1"), ("other", "2"), ("OTHER", "3")):
        plan = CLINIC.replace("clinic-2026", name).replace('epsilon: "1"', f'epsilon: "{epsilon}"')
        (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
        run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip", "--ledger", url)
    lines = run("ledger", "other", "--ledger", url).stdout.splitlines()
    assert lines[:2] == [
        "other: spent 6, no cap",
        "  shares one budget with clinic-2026, since the data is the same: each lists all charges",
    ]
    assert [line.partition(" (as ")[2] for line in lines[2:]] == ["clinic-2026)", "", ""]
    assert "Clinic survey 2026: " in lines[2], "a title tells releases of the same tables apart"
    (account,) = json.loads(run("ledger", "other", "--ledger", url, "--json").stdout)
    assert account["shares_with"] == ["clinic-2026"], "the same name in capitals is no other one"
    assert [entry["dataset"] for entry in account["releases"]] == ["clinic-2026", "other", "OTHER"]


@pytest.mark.parametrize(
    "command",
    [
        ["release", "plan.yaml", "t.csv", "-o", "r.zip"],
        ["ask", "plan.yaml", "t.csv", "--statistic=count", "--epsilon=1"],
    ],
)
def test_what_another_process_published_meanwhile_is_not_said_to_be_charged(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two first publications at one moment, the ledger charges one; the other said that it had paid, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    command += ["--ledger", f"sqlite:///{tmp_path}/l.db", "--json"]
    record, first = Ledger.record, []

    def late(self: Ledger, charge: Charge, outcome: Outcome) -> bytes:
        monkeypatch.setattr(Ledger, "record", record)
        first.append(json.loads(run(*command).stdout))
        return record(self, charge, outcome)

    monkeypatch.setattr(Ledger, "record", late)
    second = json.loads(run(*command).stdout)
    assert (first[0]["charged"], second["charged"]) == ("1", "0")
    assert len(Ledger(f"sqlite:///{tmp_path}/l.db").history()) == 1
