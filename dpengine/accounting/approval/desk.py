"""The desk of one owner of a ledger, where plans are sent for approval, reviewed and decided on.

The ledger itself refuses a charge that needs an approval and has none. Here nobody approves what they have asked for
themselves. Who else may approve is up to the caller, as is who may set the rule: the ledger knows no roles.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from dpengine.accounting import hash_chain
from dpengine.accounting.amount import check_texts
from dpengine.accounting.approval import records
from dpengine.accounting.approval.records import ALL
from dpengine.accounting.approval.request import OPEN, Actor, Request, State, plan_digest
from dpengine.accounting.entry import Charge, Resemblance
from dpengine.accounting.snapshot import Snapshot
from dpengine.errors import BudgetError
from dpengine.exact import ratio_text
from dpengine.translation.catalogue import _, mark, number

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["MAX_NOTE", "Approvals"]

MAX_NOTE = 2_000  # characters
_STATES = {
    State.WAITING: mark("waiting"), State.APPROVED: mark("approved"), State.DECLINED: mark("declined"),
    State.WITHDRAWN: mark("withdrawn"), State.LAPSED: mark("lapsed"), State.PUBLISHED: mark("published"),
}  # fmt: skip

Transaction = Callable[[], AbstractContextManager[tuple[sa.Connection, Snapshot]]]


@dataclass(frozen=True, slots=True)
class Approvals:
    """The rules and requests of one owner; `Ledger.approvals` makes it.

    >>> from dpengine import Ledger, Plan, YesNo
    >>> desk = Ledger.in_memory().approvals
    >>> desk.set_rule("clinic", needed=True)
    >>> plan = Plan(dataset="clinic", epsilon=1, columns=[YesNo(name="smokes")], tables=[["smokes"]])
    >>> sent = desk.send(plan, Actor("ann"), "for the annual report")
    >>> desk.approve(sent.request_id, Actor("sam"))
    >>> desk.find(plan).state.value
    'approved'
    """

    _read: Callable[[], Snapshot]
    _reading: Transaction
    _writing: Transaction
    _secret: bytes

    def rules(self) -> list[str]:
        """Return the datasets that need approval, sorted; `ALL`, the empty text, stands for every dataset."""
        return sorted(self._read().rules)

    def set_rule(self, dataset: str, *, needed: bool) -> None:
        """Set whether spending the budget of `dataset` needs approval; `ALL` stands for every dataset."""
        if dataset != ALL:
            check_texts(dataset=dataset)
        with self._writing() as (connection, snapshot):
            records.set_rule(connection, snapshot, dataset, needed)
            hash_chain.reseal(connection, self._secret)

    def needed(self, dataset: str, fingerprint: bytes | None = None, alike: Collection[Resemblance] = ()) -> bool:
        """Return whether charging `dataset` needs approval, by its rule or that of a dataset with the same data."""
        return records.is_needed(self._read(), dataset, fingerprint, alike)

    def send(self, plan: Plan, by: Actor, note: str = "", *, other_people: bool = False) -> Request:
        """Ask for approval of exactly this plan; if there is an open request for it, return that.

        With `other_people`, the request also covers the statement that the table is of other people than earlier ones
        like it.
        """
        _check(by, note)
        text, digest = plan.dumps(), plan_digest(plan)
        check_texts(dataset=plan.dataset, plan=text)
        with self._writing() as (connection, snapshot):
            known = _latest(snapshot, digest, other_people)
            if known is not None and known.state in OPEN:
                return known
            request_id = uuid.uuid4().hex
            records.add(connection, text, {
                "request_id": request_id, "owner": snapshot.owner, "dataset": plan.dataset,
                "epsilon": ratio_text(plan.epsilon), "other_people": int(other_people), "asked_by": by.identity,
                "asked_name": by.name, "asked": records.now(), "note": note, "state": State.WAITING.value,
            })  # fmt: skip
            hash_chain.reseal(connection, self._secret)
        return self.request(request_id)

    def requests(self) -> list[Request]:
        """Return all requests, in the order in which they were sent."""
        return [records.request_of(row) for row in self._read().requests]

    def request(self, request_id: str) -> Request:
        """Return the request with this id; raise `BudgetError` if this owner has none."""
        return records.request_of(_row(self._read(), request_id))

    def find(self, plan: Plan, *, other_people: bool = False) -> Request | None:
        """Return the latest request for exactly this plan; None if there is none."""
        return _latest(self._read(), plan_digest(plan), other_people)

    def plan_text(self, request_id: str) -> str:
        """Return the text of the plan that a request is for, exactly as it was sent."""
        with self._reading() as (connection, snapshot):
            return records.plan_of(connection, _row(snapshot, request_id))

    def approve(self, request_id: str, by: Actor, note: str = "") -> None:
        """Approve a waiting request of somebody else: its plan may then be published, once."""
        self._decide(request_id, State.APPROVED, by, note)

    def decline(self, request_id: str, by: Actor, note: str = "") -> None:
        """Decline a waiting request of somebody else."""
        self._decide(request_id, State.DECLINED, by, note)

    def withdraw(self, request_id: str, by: Actor) -> None:
        """Take back a request, or an approval, that was not used yet."""
        _check(by)
        with self._writing() as (connection, snapshot):
            row = _row(snapshot, request_id)
            _refuse_unless(row, OPEN)
            self._change(connection, row, State.WITHDRAWN, ended_by=by.name or by.identity, ended=records.now())

    def lapse(self, charge: Charge) -> None:
        """Mark the approval of a charge as lapsed, since the ledger has refused the charge."""
        if records.approved(self._read(), charge) is None:
            return
        with self._writing() as (connection, snapshot):
            row = records.approved(snapshot, charge)
            if row is not None:
                self._change(connection, row, State.LAPSED, ended=records.now())

    def _decide(self, request_id: str, state: State, by: Actor, note: str) -> None:
        _check(by, note)
        with self._writing() as (connection, snapshot):
            row = _row(snapshot, request_id)
            _refuse_unless(row, (State.WAITING,))
            if by.is_same(records.request_of(row).asked_by):
                raise BudgetError(_("Nobody decides on a request of their own: another person has to look at it."))
            self._change(
                connection, row, state, decided_by=by.identity, decided_name=by.name, decided=records.now(), answer=note
            )

    def _change(self, connection: sa.Connection, row: sa.Row[Any], state: State, **fields: str) -> None:
        records.change(connection, row, state, **fields)
        hash_chain.reseal(connection, self._secret)


def _latest(snapshot: Snapshot, digest: bytes, other_people: bool) -> Request | None:
    requests = [
        row for row in snapshot.requests if row.plan_sha256 == digest and bool(row.other_people) == other_people
    ]
    return records.request_of(requests[-1]) if requests else None


def _row(snapshot: Snapshot, request_id: str) -> sa.Row[Any]:
    request = next((row for row in snapshot.requests if row.request_id == request_id), None)
    if request is None:
        raise BudgetError(_("There is no request with this id; private-release ledger approval list shows all."))
    return request


def _refuse_unless(row: sa.Row[Any], states: Collection[State]) -> None:
    if row.state not in states:
        raise BudgetError(_("This request is {state} already. Nothing was changed.", state=_(_STATES[row.state])))


def _check(by: Actor, note: str = "") -> None:
    check_texts(identity=by.identity, name=by.name, note=note)
    if not by.identity.strip():
        raise BudgetError(_("Approval is between two people who sign in: without sign-in, nobody can tell who is who."))
    if len(note) > MAX_NOTE:
        raise BudgetError(_("A note has at most {most} characters.", most=number(MAX_NOTE)))
