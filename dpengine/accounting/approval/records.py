"""Rules and requests in the ledger's database, as one transaction reads and changes them.

A caller that changes something here must seal the ledger again in the same transaction (`hash_chain.reseal`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting import schema
from dpengine.accounting.approval.request import Actor, Request, State
from dpengine.accounting.entry import Charge, Kind, Outcome, Resemblance, same_name
from dpengine.accounting.snapshot import Snapshot
from dpengine.errors import BudgetError, LedgerError
from dpengine.translation.catalogue import _

__all__ = [
    "ALL", "add", "approval_for", "approved", "change", "is_needed", "now", "plan_of", "request_of", "set_rule",
    "use",
]  # fmt: skip

ALL = ""  # dataset of a rule for every dataset of the owner


def is_needed(snapshot: Snapshot, dataset: str, fingerprint: bytes | None, alike: Collection[Resemblance]) -> bool:
    """Return whether a charge needs approval: by its dataset's rule, or that of any that shares its data."""
    names, _ = snapshot.pool(dataset, fingerprint, alike)
    return bool({same_name(rule) for rule in snapshot.rules} & {ALL, *map(same_name, names)})


def approval_for(snapshot: Snapshot, charge: Charge, alike: Collection[Resemblance]) -> sa.Row[Any] | None:
    """Return the unused approval that a charge uses up, or None if it needs none; raise `BudgetError` without one.

    `alike` are all charges that its data resembles: stating that it is of other people does not avoid the rule.
    """
    if not is_needed(snapshot, charge.dataset, charge.fingerprint, alike):
        return None
    approval = approved(snapshot, charge)
    if approval is not None:
        return approval
    if charge.kind is not Kind.RELEASE:
        raise BudgetError(
            _(
                "The budget of dataset {dataset!r} is spent only with the approval of a second person, which is "
                "for plans of tables: questions and choices are refused. Publish a plan that answers them.",
                dataset=charge.dataset,
            )
        )
    waiting = _request_for(snapshot, charge, State.WAITING)
    if waiting is not None:
        raise BudgetError(
            _(
                "Publishing from dataset {dataset!r} needs the approval of a second person. This plan was sent for it "
                "on {day}, as request {request}, and waits: another person has to decide.",
                dataset=charge.dataset,
                day=waiting.asked[:10],
                request=waiting.request_id,
            )
        )
    raise BudgetError(
        _(
            "Publishing from dataset {dataset!r} needs the approval of a second person, and exactly this "
            "plan has none that is unused. Send it for approval (private-release ledger approval send): another "
            "person looks at it and decides.",
            dataset=charge.dataset,
        )
    )


def approved(snapshot: Snapshot, charge: Charge) -> sa.Row[Any] | None:
    """Return the unused approval of exactly what is charged; None if there is none."""
    return _request_for(snapshot, charge, State.APPROVED)


def _request_for(snapshot: Snapshot, charge: Charge, state: State) -> sa.Row[Any] | None:
    """Return the first request in this state for exactly what is charged; None if there is none."""
    terms = charge.plan_sha256, same_name(charge.dataset), charge.epsilon, charge.other_people
    return next((row for row in snapshot.requests if row.state == state and terms == _terms(row)), None)


def _terms(row: sa.Row[Any]) -> tuple[bytes, str, Fraction, bool]:
    return row.plan_sha256, same_name(row.dataset), Fraction(row.epsilon), bool(row.other_people)


def set_rule(connection: sa.Connection, snapshot: Snapshot, dataset: str, needed: bool) -> None:
    """Set whether a dataset of the snapshot's owner needs approval, under any spelling of its name."""
    schema.forget(connection, schema.rules, snapshot.owner, dataset, snapshot.rules)
    if needed:
        connection.execute(sa.insert(schema.rules).values(dataset=dataset, owner=snapshot.owner))


def add(connection: sa.Connection, plan: str, fields: dict[str, Any]) -> None:
    """Add a request for a plan, given as its text."""
    last = connection.scalar(sa.select(sa.func.max(schema.requests.c.number))) or 0
    digest = hashlib.sha256(plan.encode()).digest()
    connection.execute(sa.insert(schema.requests).values(number=last + 1, plan=plan, plan_sha256=digest, **fields))


def change(connection: sa.Connection, request: sa.Row[Any], state: State, **fields: str) -> None:
    """Set the state of a request."""
    table = schema.requests
    connection.execute(sa.update(table).where(table.c.number == request.number).values(state=state.value, **fields))


def use(connection: sa.Connection, approval: sa.Row[Any], outcome: Outcome) -> None:
    """Mark an approval as used by the charge of this transaction."""
    change(connection, approval, State.PUBLISHED, ended=outcome.created, release_id=outcome.release_id)


def plan_of(connection: sa.Connection, request: sa.Row[Any]) -> str:
    """Return the text of the plan that a request is for, exactly as it was sent."""
    table = schema.requests.c
    plan = connection.scalar(sa.select(table.plan).where(table.number == request.number))
    if plan is None or hashlib.sha256(plan.encode()).digest() != request.plan_sha256:
        raise LedgerError(_("A plan that was sent for approval was changed in the ledger; restore an intact backup."))
    return str(plan)


def request_of(row: sa.Row[Any]) -> Request:
    """Return a row as a value."""
    decided = Actor(row.decided_by, row.decided_name) if row.decided_by else None
    return Request(
        row.request_id, row.dataset, Fraction(row.epsilon), bytes(row.plan_sha256), bool(row.other_people),
        Actor(row.asked_by, row.asked_name), row.asked, row.note, State(row.state), decided, row.decided, row.answer,
        row.ended_by, row.ended, row.release_id,
    )  # fmt: skip


def now() -> str:
    """Return the time, as requests keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
