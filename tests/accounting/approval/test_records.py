"""A charge that needs approval is refused without one of exactly its plan, and uses it up in the same transaction."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pyarrow as pa
import pytest

import dpengine as dpe
from dpengine import Plan
from dpengine.accounting.approval.request import Request, State, plan_digest
from dpengine.accounting.entry import Kind
from dpengine.accounting.ledger import Ledger
from dpengine.choose import Candidates, draw_once
from dpengine.errors import BudgetError
from dpengine.measure.strategy import decide
from tests.accounting.approval.test_desk import ANN, PLAN, SAM
from tests.accounting.test_ledger_faults import AFTER, POINTS, run
from tests.charges import charge
from tests.plans import CLINIC, survey

DIGEST = plan_digest(PLAN)


def ruled(url: str, owner: str = "", dataset: str = "") -> Ledger:
    """A ledger in which one dataset, or every dataset, needs approval."""
    ledger = Ledger(url, owner)
    ledger.approvals.set_rule(dataset, needed=True)
    return ledger


def approved(ledger: Ledger, plan: Plan = PLAN, *, other_people: bool = False) -> Request:
    request = ledger.approvals.send(plan, ANN, other_people=other_people)
    ledger.approvals.approve(request.request_id, SAM)
    return request


def spend(ledger: Ledger, plan: Plan = PLAN, rows: bytes = b"rows", other_people: bool = False) -> bytes:
    """Charge a plan as a release does."""
    key, digest = f"{plan.key} of {rows!r}", plan_digest(plan)
    return charge(ledger, key, plan.dataset, rows, plan.epsilon, plan_sha256=digest, other_people=other_people)


def state(ledger: Ledger, request: Request) -> State:
    return ledger.approvals.request(request.request_id).state


def test_without_a_rule_nothing_needs_approval(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    request = approved(ledger)
    spend(ledger)
    assert state(ledger, request) is State.APPROVED, "and none is used up"


def test_a_charge_without_approval_is_refused_until_it_has_one_which_it_uses_up(stored_url: str) -> None:
    ledger = ruled(stored_url)
    with pytest.raises(BudgetError, match="needs the approval of a second person"):
        spend(ledger)
    request = ledger.approvals.send(PLAN, ANN)
    waits = f"needs the approval.* sent for it on .*, as request {request.request_id}, and waits"
    with pytest.raises(BudgetError, match=waits):
        spend(ledger)
    ledger.approvals.approve(request.request_id, SAM)
    spend(ledger)
    used = ledger.approvals.request(request.request_id)
    assert (used.state, used.release_id) == (State.PUBLISHED, ledger.history()[-1].release_id)
    with pytest.raises(BudgetError, match="none that is unused"):
        spend(ledger, rows=b"other rows")
    assert ledger.spent("clinic") == PLAN.epsilon
    ledger.verify_chain()


def test_publishing_again_needs_no_further_approval(stored_url: str) -> None:
    ledger = ruled(stored_url)
    approved(ledger)
    assert spend(ledger) == spend(ledger)
    assert len(ledger.history()) == 1


OTHERS: dict[str, Callable[[], Plan]] = {
    "one letter of the title": lambda: survey(title="For the annual report."),
    "one letter of the notes": lambda: survey(title=PLAN.title, notes="x"),
    "ε": lambda: survey(title=PLAN.title, epsilon="0.5000001"),
    "the dataset": lambda: survey(title=PLAN.title, dataset="Clinic"),
    "a table": lambda: survey(title=PLAN.title, tables=[["age", "region"]]),
}


@pytest.mark.parametrize("changed", OTHERS)
def test_an_approval_is_for_exactly_its_plan(ledger_url: str, changed: str) -> None:
    ledger = ruled(ledger_url)
    request = approved(ledger)
    with pytest.raises(BudgetError, match="exactly this plan has none"):
        spend(ledger, OTHERS[changed]())
    assert state(ledger, request) is State.APPROVED
    spend(ledger)


@pytest.mark.parametrize("forged", [{"epsilon": Fraction(2)}, {"dataset": "wages"}, {"plan_sha256": b""}])
def test_a_charge_with_the_digest_of_another_plan_is_refused(ledger_url: str, forged: dict[str, object]) -> None:
    ledger = ruled(ledger_url)
    approved(ledger)
    given = {"dataset": "clinic", "epsilon": PLAN.epsilon, "plan_sha256": DIGEST} | forged
    with pytest.raises(BudgetError, match="needs the approval"):
        charge(ledger, "plan", rows=b"rows", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["withdrawn by who asked", "withdrawn by who approved", "declined"])
def test_a_withdrawn_or_declined_request_allows_no_charge(stored_url: str, end: str) -> None:
    ledger = ruled(stored_url)
    request = ledger.approvals.send(PLAN, ANN)
    if end == "declined":
        ledger.approvals.decline(request.request_id, SAM)
    else:
        ledger.approvals.approve(request.request_id, SAM)
        ledger.approvals.withdraw(request.request_id, ANN if end.endswith("asked") else SAM)
    with pytest.raises(BudgetError, match="needs the approval"):
        spend(ledger)


def test_the_approval_of_another_owner_allows_no_charge(stored_url: str) -> None:
    clinic, school = ruled(stored_url, "group:clinic"), ruled(stored_url, "group:school")
    request = approved(school)
    with pytest.raises(BudgetError, match="needs the approval"):
        spend(clinic)
    assert state(school, request) is State.APPROVED
    assert clinic.history() == []


def test_the_rule_of_a_dataset_holds_for_its_data_under_any_name(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    charge(ledger, "before the rule")
    ledger.approvals.set_rule("clinic", needed=True)
    charge(ledger, "of other people", "wages", b"other rows")
    for name, rows in ((" CLINIC", b"new rows"), ("a fresh name", b"rows")):
        with pytest.raises(BudgetError, match="needs the approval"):
            charge(ledger, "plan", name, rows)
    assert ledger.approvals.needed("a fresh name", ledger.fingerprint(b"rows"))


# ---- the whole way of a release ----

TABLE = pa.table({
    "age": [str(k * 7 % 90) for k in range(80)], "region": ["North", "South"] * 40,
    "visit": [f"2024-0{k % 9 + 1}-05" for k in range(80)],
})  # fmt: skip
CLINIC_PLAN = Plan.loads(CLINIC)


def test_a_release_is_sent_approved_and_published_once(ledger_url: str) -> None:
    ledger = ruled(ledger_url)
    stages: list[str] = []
    with pytest.raises(BudgetError, match="needs the approval"):
        dpe.release(TABLE, CLINIC_PLAN, ledger, progress=stages.append)
    assert stages == ["recognising the data"], "refused before anything is counted"
    request = approved(ledger, CLINIC_PLAN)
    first = dpe.release(TABLE, CLINIC_PLAN, ledger)
    assert ledger.approvals.request(request.request_id).release_id == first.release_id
    assert dpe.release(TABLE, CLINIC_PLAN, ledger).bundle == first.bundle
    other = TABLE.slice(0, 3)
    with pytest.raises(BudgetError, match="needs the approval"):
        dpe.release(other, CLINIC_PLAN, ledger)


def test_an_approval_is_of_the_plan_as_it_was_sent_not_as_it_is_decided(ledger_url: str) -> None:
    """Both plans are measured alike, but a second person has read only one of them."""
    columns = [{"name": name, "kind": "number", "edges": [*range(13)]} for name in "abc"]
    sent = Plan(dataset="clinic", epsilon=1, rows_about=50, columns=columns, tables=[[*"abc"]])
    alike = decide(sent).plan
    assert (sent.strategy, alike.strategy) == ("auto", "adaptive")
    table = pa.table({name: [*range(12)] * 4 for name in "abc"})
    ledger = ruled(ledger_url)
    approved(ledger, alike)
    with pytest.raises(BudgetError, match="exactly this plan has none"):
        dpe.release(table, sent, ledger)
    request = approved(ledger, sent)
    dpe.release(table, sent, ledger)
    assert state(ledger, request) is State.PUBLISHED


def test_stating_other_people_needs_approval_too_and_evades_no_rule(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    dpe.release(TABLE, CLINIC_PLAN, ledger)
    ledger.approvals.set_rule("clinic-2026", needed=True)
    copy, fresh = TABLE.slice(1), CLINIC_PLAN.model_copy(update={"dataset": "a fresh name"})
    approved(ledger, fresh)
    with pytest.raises(BudgetError, match="needs the approval"):
        dpe.release(copy, fresh, ledger, other_people=True)
    approved(ledger, fresh, other_people=True)
    dpe.release(copy, fresh, ledger, other_people=True)
    assert ledger.spent("a fresh name") == 1


def test_an_approval_lapses_with_the_charge_that_the_budget_refuses(stored_url: str) -> None:
    ledger = ruled(stored_url)
    request = approved(ledger, CLINIC_PLAN)
    ledger.set_cap("clinic-2026", "1/2")
    with pytest.raises(BudgetError, match="does not allow this"):
        dpe.release(TABLE, CLINIC_PLAN, ledger)
    assert state(ledger, request) is State.LAPSED
    ledger.set_cap("clinic-2026", 5)
    with pytest.raises(BudgetError, match="needs the approval"):
        dpe.release(TABLE, CLINIC_PLAN, ledger)
    approved(ledger, CLINIC_PLAN)
    dpe.release(TABLE, CLINIC_PLAN, ledger)


def test_an_approval_also_lapses_if_a_near_copy_has_spent_the_budget(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    dpe.release(TABLE, CLINIC_PLAN, ledger)
    ledger.set_cap("clinic-2026", 1)
    ledger.approvals.set_rule("", needed=True)
    fresh = CLINIC_PLAN.model_copy(update={"dataset": "a fresh name"})
    request = approved(ledger, fresh)
    with pytest.raises(BudgetError, match="The table looks like"):
        dpe.release(TABLE.slice(1), fresh, ledger)
    assert state(ledger, request) is State.LAPSED


def test_questions_and_choices_are_refused_under_the_rule(ledger_url: str) -> None:
    ledger = ruled(ledger_url)
    question = dpe.Question(dataset="clinic-2026", epsilon="0.1", statistic=dpe.Count())
    with pytest.raises(BudgetError, match="questions and choices are refused"):
        dpe.ask(TABLE, question, ledger)
    candidates = Candidates.of(["a", "b"], [1, 2], sensitivity=1, epsilon=1)
    with pytest.raises(BudgetError, match="questions and choices are refused"):
        draw_once(candidates, "clinic-2026", ledger)
    for kind in (Kind.ANSWER, Kind.CHOICE):
        with pytest.raises(BudgetError, match="questions and choices are refused"):
            charge(ledger, "plan", "clinic-2026", kind=kind)
    assert ledger.history() == []


# ---- races and sudden death ----


def test_one_of_four_processes_gets_the_only_approval(stored_url: str) -> None:
    ledger = ruled(stored_url)
    for round_ in range(3):
        plan = survey(title=f"round {round_}", epsilon=1)
        request = approved(ledger, plan)
        assert sorted(run("approved", stored_url, plan_digest(plan).hex(), round_)) == [0, 0, 0, 1]
        assert state(ledger, request) is State.PUBLISHED
    assert ledger.spent("clinic") == 3
    ledger.verify_chain()


@pytest.mark.by_day(4)
@pytest.mark.parametrize("point", POINTS)
def test_death_at_any_point_uses_charge_and_approval_or_neither(stored_url: str, point: str) -> None:
    ledger = ruled(stored_url)
    plan = survey(epsilon=1)
    request = approved(ledger, plan)
    assert run("die", stored_url, "plan", point, plan_digest(plan).hex()) == []
    committed = point in AFTER
    assert (ledger.spent("clinic"), state(ledger, request) is State.PUBLISHED) == (int(committed), committed)
    charge(ledger, "plan", plan_sha256=plan_digest(plan))
    assert (ledger.spent("clinic"), state(ledger, request)) == (1, State.PUBLISHED)
    ledger.verify_chain()


def test_in_any_order_of_actions_each_charge_has_an_approval_of_its_own(ledger_url: str) -> None:
    ledger, chance = ruled(ledger_url), random.Random(7)
    plans = [survey(title=title) for title in "ab"]
    for step in range(150):
        plan, stored = chance.choice(plans), ledger.approvals.requests()
        act = chance.choices(["send", "approve", "decline", "withdraw", "spend"], [4, 6, 3, 1, 6])[0]
        try:
            if act == "send":
                ledger.approvals.send(plan, chance.choice([ANN, SAM]))
            elif act == "spend":
                spend(ledger, plan, b"rows %d" % step)
            elif stored:
                getattr(ledger.approvals, act)(chance.choice(stored[-2:]).request_id, chance.choice([ANN, SAM]))
        except BudgetError:
            continue
    requests = ledger.approvals.requests()
    published = [each for each in requests if each.state is State.PUBLISHED]
    assert len(published) > 5
    assert sorted(each.release_id for each in published) == sorted(entry.release_id for entry in ledger.history())
    assert all(each.decided_by is not None and not each.decided_by.is_same(each.asked_by) for each in published)
    assert {each.state for each in requests} >= {State.DECLINED, State.WITHDRAWN, State.PUBLISHED}
