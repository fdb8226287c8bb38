"""Recognise the data in the open table, by a fingerprint with which the ledger knows what was already spent on it."""

from __future__ import annotations

import streamlit as st

from dpengine import Ledger, Plan, PlanError, TableError
from dpengine.release import digest_for
from dpengine.translation.catalogue import _, mark
from pages.parts.server.jobs import Stopped
from pages.parts.visit import background_read
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import plan_id_of

__all__ = ["digest_of_table", "is_published", "is_recognised"]

DIGEST = "digest"


def digest_of_table(plan: Plan | None = None, ledger: Ledger | None = None) -> bytes | None:
    """Return the digest of the open table, computed once for the session; None until it is known.

    If `plan` was published of an equal table in a database, it is the digest of that table. `ledger` is the visitor's,
    if it was just read.
    """
    ledger = ledger or visit().ledger
    table, plan_id = visit().table, _published(plan, ledger)
    assert table is not None
    digest = background_read.read(
        DIGEST,
        lambda _progress: digest_for(table, plan_id, ledger),
        table,
        question=plan_id,
        doing=mark("Recognising the data"),
    )
    if digest is None:
        st.caption(_("Every row is read once, so that nothing already spent on this data is overlooked."))
    return digest


def is_recognised(plan: Plan) -> bool:
    """Whether the open table is recognised, so that `is_published` tells whether `plan` was published of its data."""
    return _digest(plan) is not None


def is_published(plan: Plan, *, of_any_data: bool = False) -> bool:
    """Whether this plan was published of the open table, or `of_any_data`, according to the ledger.

    Until the open table is recognised, it counts as unpublished.
    """
    ledger = visit().ledger
    if of_any_data:
        return _published(plan, ledger) != ""
    digest = _digest(plan)
    try:
        return digest is not None and ledger.find(ledger.fingerprint(digest), plan_id_of(plan)) is not None
    except PlanError:
        return False


def _digest(plan: Plan) -> bytes | None:
    """Return the digest of the open table if it was read before, without waiting."""
    job = background_read.job_for(DIGEST, _published(plan, visit().ledger)) or background_read.job_for(DIGEST, "")
    if job is None or not job.done:
        return None
    try:
        digest: bytes = job.result()
    except (TableError, PlanError, Stopped):
        return None
    return digest


def _published(plan: Plan | None, ledger: Ledger) -> str:
    """Return the identity in the ledger of a release of this plan, of any data; "" if there is none."""
    try:
        plan_id = "" if plan is None else plan_id_of(plan)
    except PlanError:
        return ""
    return plan_id if plan_id and ledger.holds(plan_id) else ""
