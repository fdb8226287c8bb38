"""Approval on the command line: the rule, sending, deciding, and a release that meets it."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from dpengine import Ledger
from dpengine.accounting.approval.request import State
from dpengine.cli import approval
from tests.command import run
from tests.plans import CLINIC

HERE = "--ledger"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    return tmp_path / "plan.yaml"


def become(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the next commands run as another account."""
    known = pwd.getpwuid(os.getuid())
    other = pwd.struct_passwd((name, *known[1:]))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: other)


def test_a_release_waits_for_another_account(plan: Path, ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = ["release", plan, plan.with_name("t.csv"), "-o", plan.with_name("r.zip"), HERE, ledger_url]
    done = run("ledger", "approval", "require", HERE, ledger_url)
    assert (done.exit_code, done.stdout) == (0, "approval is needed for every dataset\n")
    refused = run(*publish)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "private-release ledger approval send" in refused.stderr

    become(monkeypatch, "ann")
    sent = run("ledger", "approval", "send", plan, "--note", "for the report", HERE, ledger_url)
    assert sent.exit_code == 0, sent.stderr
    request_id = sent.stdout.split()[0]
    assert "waiting" in sent.stdout
    assert "sent by ann" in sent.stdout
    refusal = run("ledger", "approval", "approve", request_id, HERE, ledger_url, USER="sam", LOGNAME="sam")
    assert (refusal.exit_code, refusal.stdout) == (1, "")
    assert "of their own" in refusal.stderr

    become(monkeypatch, "sam")
    shown = run("ledger", "approval", "show", request_id, HERE, ledger_url).stdout
    assert "title: Clinic survey 2026" in shown
    assert "ε = 1 from the budget of clinic-2026, no cap is set" in shown
    assert "half_width_95" in shown
    page = plan.with_name("paper.html")
    for asked in (request_id, plan):
        assert run("ledger", "approval", "paper", asked, "-o", page, HERE, ledger_url).exit_code == 0
        written = page.read_text(encoding="utf-8")
        assert "nothing of this is published yet" in written
        assert ("Sent by ann" in written) == (asked is request_id)
    assert run("ledger", "approval", "paper", "nothing", "-o", page, HERE, ledger_url).exit_code == 1
    approved = run("ledger", "approval", "approve", request_id, "--note", "fine", HERE, ledger_url)
    assert (approved.exit_code, "approved by sam" in approved.stdout) == (0, True)
    assert run(*publish).exit_code == 0
    assert Ledger(ledger_url).approvals.request(request_id).state is State.PUBLISHED
    (listed,) = json.loads(run("ledger", "approval", "list", "--json", HERE, ledger_url).stdout)
    assert (listed["request_id"], listed["state"], listed["answer"]) == (request_id, "published", "fine")
    assert run(*publish).exit_code == 0, "again, at no cost"


def test_a_rule_or_a_cap_for_a_mistyped_dataset_is_noticed(plan: Path, ledger_url: str) -> None:
    first = run("ledger", "approval", "require", "clinic-2026", HERE, ledger_url)
    assert first.stdout == "approval is needed for clinic-2026\n"
    assert "nothing is recorded" not in first.stderr, "a first dataset has no other to be taken for"
    run("ledger", "approval", "require", "clinic-2026", "--lift", HERE, ledger_url)
    run("release", plan, plan.with_name("t.csv"), "-o", plan.with_name("r.zip"), HERE, ledger_url)
    for wrong in (["ledger", "approval", "require", "clinik-2026"], ["ledger", "clinik-2026", "--cap", 9]):
        told = run(*wrong, HERE, ledger_url)
        assert told.exit_code == 0, "it may be a new one"
        assert "nothing is recorded under the name clinik-2026; there are clinic-2026" in told.stderr
    every = run("ledger", "approval", "require", HERE, ledger_url)
    assert every.stdout == "approval is needed for every dataset, and by a rule of its own for clinik-2026\n"


@pytest.mark.parametrize("end", ["decline", "withdraw"])
def test_a_declined_or_withdrawn_request_allows_no_release(
    plan: Path, ledger_url: str, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    run("ledger", "approval", "require", "clinic-2026", HERE, ledger_url)
    become(monkeypatch, "ann")
    request_id = run("ledger", "approval", "send", plan, HERE, ledger_url).stdout.split()[0]
    if end == "decline":
        become(monkeypatch, "sam")
    assert run("ledger", "approval", end, request_id, HERE, ledger_url).exit_code == 0
    publish = ["release", plan, plan.with_name("t.csv"), "-o", plan.with_name("r.zip"), HERE, ledger_url]
    assert run(*publish).exit_code == 1
    lifted = run("ledger", "approval", "require", "clinic-2026", "--lift", HERE, ledger_url)
    assert lifted.stdout == "approval is needed for nothing\n"
    assert run(*publish).exit_code == 0


def test_an_owner_has_requests_of_their_own(plan: Path, ledger_url: str) -> None:
    sent = run("ledger", "approval", "send", plan, "--owner", "group:clinic", HERE, ledger_url)
    assert run("ledger", "approval", "list", HERE, ledger_url).stdout == "nothing was sent yet\n"
    other = run("ledger", "approval", "show", sent.stdout.split()[0], HERE, ledger_url)
    assert (other.exit_code, other.stdout) == (1, "")


def test_a_note_sends_the_terminal_no_control_codes(ledger_url: str, plan: Path) -> None:
    sent = run("ledger", "approval", "send", plan, "--note", "a\nb\x1b[31m", HERE, ledger_url)
    shown = run("ledger", "approval", "show", sent.stdout.split()[0], HERE, ledger_url)
    assert shown.exit_code == 0, shown.stderr
    assert "\x1b" not in sent.stdout + shown.stdout
    assert len(sent.stdout.splitlines()) == 1


def test_an_account_without_a_name_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert approval._me().name == str(os.getuid())
