"""Requests for approval: one person sends a plan, another decides, and both are recorded."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dpengine import Plan
from dpengine.accounting import upkeep
from dpengine.accounting.approval.request import Actor, Request, State
from dpengine.accounting.ledger import Ledger
from dpengine.errors import BudgetError, LedgerError
from tests.accounting.test_ledger import look
from tests.plans import survey

ANN, SAM, ZOE = (Actor(f"provider {name}", f"{name}@example.org") for name in ("ann", "sam", "zoe"))
PLAN = survey(title="For the annual report")


def sent(ledger: Ledger, plan: Plan = PLAN, **more: Any) -> Request:
    return ledger.approvals.send(plan, ANN, "as agreed", **more)


def test_a_request_holds_the_plan_its_price_who_asked_and_when_and_nothing_else(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    request = sent(ledger)
    assert ledger.approvals.plan_text(request.request_id) == PLAN.dumps()
    assert Plan.loads(PLAN.dumps()) == PLAN
    assert (request.dataset, request.epsilon, request.asked_by, request.note) == (
        "clinic",
        PLAN.epsilon,
        ANN,
        "as agreed",
    )
    assert (request.state, request.decided_by, request.release_id) == (State.WAITING, None, "")
    assert abs(time.time() - _seconds(request.asked)) < 3600
    assert ledger.approvals.requests() == Ledger(stored_url).approvals.requests() == [request]
    assert set(look(stored_url, "SELECT * FROM ledger_requests")[0]._fields) == {
        "number", "request_id", "owner", "dataset", "epsilon", "plan_sha256", "other_people", "asked_by", "asked_name",
        "asked", "note", "state", "decided_by", "decided_name", "decided", "answer", "ended_by", "ended", "release_id",
        "plan",
    }  # fmt: skip
    assert ledger.spent("clinic") == 0


def _seconds(when: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(when).timestamp()


def test_another_person_approves_or_declines_with_a_note(stored_url: str) -> None:
    desk = Ledger(stored_url).approvals
    first, second = sent(Ledger(stored_url)), sent(Ledger(stored_url), survey(title="another"))
    desk.approve(first.request_id, SAM, "fine")
    desk.decline(second.request_id, SAM, "too exact")
    assert [(each.state, each.decided_by, each.answer) for each in desk.requests()] == [
        (State.APPROVED, SAM, "fine"),
        (State.DECLINED, SAM, "too exact"),
    ]


@pytest.mark.parametrize(
    "same", [ANN, Actor("provider ann"), Actor("Provider Ann ", "x"), Actor("other 7", "ANN@example.org")]
)
@pytest.mark.parametrize("decide", ["approve", "decline"])
def test_nobody_decides_on_a_request_of_their_own(ledger_url: str, same: Actor, decide: str) -> None:
    desk = Ledger(ledger_url).approvals
    request = sent(Ledger(ledger_url))
    with pytest.raises(BudgetError, match="of their own"):
        getattr(desk, decide)(request.request_id, same)
    assert desk.request(request.request_id) == request


def test_two_people_without_names_are_two() -> None:
    ledger = Ledger.in_memory()
    request = ledger.approvals.send(PLAN, Actor("provider 1"))
    ledger.approvals.approve(request.request_id, Actor("provider 2"))
    assert ledger.approvals.request(request.request_id).state is State.APPROVED


@pytest.mark.parametrize("identity", ["", "  "])
def test_without_sign_in_nobody_asks_or_decides(identity: str) -> None:
    ledger = Ledger.in_memory()
    request = sent(ledger)
    for act in (
        lambda: ledger.approvals.send(survey(title="x"), Actor(identity, "Ann")),
        lambda: ledger.approvals.approve(request.request_id, Actor(identity)),
        lambda: ledger.approvals.withdraw(request.request_id, Actor(identity)),
    ):
        with pytest.raises(BudgetError, match="two people who sign in"):
            act()
    assert ledger.approvals.requests() == [request]


def test_a_plan_that_waits_or_is_approved_is_not_sent_twice(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    request = sent(ledger)
    assert sent(ledger) == ledger.approvals.send(PLAN, SAM) == request
    ledger.approvals.approve(request.request_id, SAM)
    assert sent(ledger).request_id == request.request_id
    assert sent(ledger, other_people=True).request_id != request.request_id, "another statement is another request"
    ledger.approvals.withdraw(request.request_id, ANN)
    assert sent(ledger).request_id != request.request_id
    found = ledger.approvals.find(PLAN)
    assert found is not None
    assert found.state is State.WAITING


@pytest.mark.by_day(1)
def test_a_decision_or_withdrawal_is_final(stored_url: str) -> None:
    desk = Ledger(stored_url).approvals
    for end in (
        lambda request_id: desk.decline(request_id, SAM),
        lambda request_id: desk.withdraw(request_id, ANN),
    ):
        request = sent(Ledger(stored_url))
        end(request.request_id)
        ended = desk.request(request.request_id)
        for act in (
            lambda request_id: desk.approve(request_id, ZOE),
            lambda request_id: desk.decline(request_id, ZOE),
            lambda request_id: desk.withdraw(request_id, ZOE),
        ):
            with pytest.raises(BudgetError, match=f"is {ended.state} already"):
                act(request.request_id)
        assert desk.request(request.request_id) == ended


def test_an_approval_that_is_withdrawn_still_says_who_gave_it(stored_url: str) -> None:
    desk = Ledger(stored_url).approvals
    request = sent(Ledger(stored_url))
    desk.approve(request.request_id, SAM)
    desk.withdraw(request.request_id, SAM)
    ended = desk.request(request.request_id)
    assert (ended.state, ended.decided_by, ended.ended_by) == (State.WITHDRAWN, SAM, SAM.name)


def test_an_owner_sees_and_decides_on_their_own_requests_alone(stored_url: str) -> None:
    clinic, school = Ledger(stored_url, "group:clinic"), Ledger(stored_url, "group:school")
    clinic.approvals.set_rule("", needed=True)
    request = sent(clinic)
    other = school.approvals
    assert (other.requests(), other.rules(), other.find(PLAN), other.needed("clinic")) == ([], [], None, False)
    for act in (
        lambda: other.request(request.request_id),
        lambda: other.plan_text(request.request_id),
        lambda: other.approve(request.request_id, SAM),
        lambda: other.decline(request.request_id, SAM),
        lambda: other.withdraw(request.request_id, SAM),
    ):
        with pytest.raises(BudgetError, match="no request with this id"):
            act()
    other.set_rule("", needed=False)
    assert clinic.approvals.rules() == [""]
    assert clinic.approvals.requests() == [request]


def test_a_rule_is_set_and_lifted_under_any_spelling(stored_url: str) -> None:
    desk = Ledger(stored_url).approvals
    desk.set_rule("Clinic", needed=True)
    desk.set_rule("clinic ", needed=True)
    assert len(desk.rules()) == 1
    assert [desk.needed(name) for name in ("CLINIC", "wages")] == [True, False]
    desk.set_rule("clinic", needed=False)
    assert desk.rules() == []
    desk.set_rule("", needed=True)
    assert desk.needed("any")
    with pytest.raises(BudgetError, match="dataset needs a name"):
        desk.set_rule("  ", needed=True)


@pytest.mark.parametrize("note", ["x" * 2001, "a\0b"])
def test_a_note_that_is_too_long_or_that_a_database_may_not_keep_is_refused(note: str) -> None:
    with pytest.raises(BudgetError, match="note"):
        Ledger.in_memory().approvals.send(PLAN, ANN, note)


CHANGES = [
    "UPDATE ledger_requests SET state = 'approved'",
    "UPDATE ledger_requests SET asked_by = 'somebody else'",
    "UPDATE ledger_requests SET dataset = 'wages'",
    "UPDATE ledger_requests SET epsilon = '1/9'",
    "UPDATE ledger_requests SET other_people = 1",
    "UPDATE ledger_requests SET owner = 'group:school'",
    "UPDATE ledger_requests SET note = 'urgent'",
    "UPDATE ledger_requests SET plan_sha256 = :value",
    "DELETE FROM ledger_requests",
    "DELETE FROM ledger_rules",
    "UPDATE ledger_rules SET dataset = 'wages'",
    "INSERT INTO ledger_rules (dataset, owner) VALUES ('wages', '')",
]


@pytest.mark.by_day(8)
@pytest.mark.parametrize("change", CHANGES)
def test_a_rule_or_request_that_is_changed_from_outside_stops_all_use(stored_url: str, change: str) -> None:
    ledger = Ledger(stored_url)
    ledger.approvals.set_rule("clinic", needed=True)
    sent(ledger)
    look(stored_url, change, b"x" * 32)
    for use in (ledger.history, ledger.approvals.requests, lambda: upkeep.check(stored_url)):
        with pytest.raises(LedgerError, match="or an approval, was changed from outside"):
            use()


def test_a_plan_that_is_changed_from_outside_is_not_shown_and_gives_no_backup(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    request = sent(ledger)
    look(stored_url, "UPDATE ledger_requests SET plan = plan || ' '")
    for use in (lambda: ledger.approvals.plan_text(request.request_id), lambda: upkeep.check(stored_url)):
        with pytest.raises(LedgerError, match="was changed in the ledger"):
            use()
