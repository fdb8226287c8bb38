"""The whole way from table to release, in one readable function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Columns
from dpengine.bundle import write
from dpengine.bundle.read import manifest_of
from dpengine.counting import count
from dpengine.errors import LedgerError, PlanError
from dpengine.measure import strategy
from dpengine.measure.measure import measure, wanted
from dpengine.measure.strategy import settled
from dpengine.results.result import Result, conclude
from dpengine.sources.open import Source, Table, open_table
from dpengine.spec.plan import Plan

__all__ = ["Release", "recognised", "release", "reopen", "summary", "true_counts"]

Progress = Callable[[str], None]


class Release(Result):
    """A finished release that can be saved as a bundle."""

    @cached_property
    def bundle(self) -> bytes:
        """The release bundle, a zip file; the same bytes each time."""
        return write.pack(self)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the release says of itself, as in ``manifest.json``."""
        return manifest_of(self.bundle)

    def save(self, path: str | Path) -> None:
        """Write the release bundle to ``path``, whose folder is made where it is not there."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write.save(self, path)


def release(
    table: Table | Source, plan: Plan, ledger: Ledger | None = None, *, progress: Progress | None = None
) -> Release:
    """Publish ``plan`` of ``table`` once: count, add noise, make consistent, record, and only then return.

    ``table`` is open, or what `open_table` opens. The same plan on the same data again gives the
    stored release back and costs nothing; so does another plan of which the same is measured, such as one with a
    further table whose sums are free: then the tables it names come from the stored measurements. Without a
    ``ledger``, a fresh one in memory serves for this one call: for experiments, since nothing is
    remembered. ``progress`` is called with the name of each stage; if it raises before *recording*,
    nothing is spent.

    The release is ε-differentially private for ``plan.unit`` under adding or removing one person:
    ``measure`` adds to each marginal noise calibrated to its share, the shares add up to ε exactly, and
    all that follows is post-processing. Raises `PlanError`, `TableError`, or
    `BudgetError`; then nothing has been spent.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return release(opened, plan, ledger, progress=progress)
    tell = progress or (lambda stage: None)
    book = ledger if ledger is not None else Ledger.in_memory()
    plan = settled(plan)
    strategy.check(plan)
    count.check(table, plan)
    identity = strategy.identity(plan)

    tell("recognising the data")
    _, counts = count.recognise(table, plan, wanted(plan))
    fingerprint = book.fingerprint(recognised(table, identity, book))
    if (stored := book.find(fingerprint, identity)) is not None:
        return reopen(stored, plan)
    book.check(plan.dataset, fingerprint, plan.epsilon)

    tell("counting")
    key = _truncation_key(book, fingerprint, identity)

    def counted(marginals: Sequence[Columns]) -> list[npt.NDArray[np.int64]]:
        return counts or count.count(table, plan, marginals, truncation_key=key)

    measured = measure(plan, counted, tell)
    tell("making the tables agree")
    finished = conclude(plan, measured)
    written = _readable(finished)
    tell("looking at the data again")
    table.check_unchanged()

    tell("recording")
    payload = book.record(
        dataset=plan.dataset,
        fingerprint=fingerprint,
        plan_key=identity,
        epsilon=plan.epsilon,
        release_id=finished.release_id,
        created=finished.created,
        title=plan.title,
        summary=summary(plan),
        payload=written,
    )
    return reopen(payload, plan)


def recognised(table: Table, identity: str, ledger: Ledger) -> bytes:
    """The digest that ``ledger`` is to know the table by, where ``identity`` says what is measured of it.

    It is the table's own; but where the ledger has that measured of a table elsewhere which holds the same, it is what
    that table was known by. The other way round it is not seen that a table elsewhere holds what a file held.
    """
    own = count.digest(table)
    if ledger.holds(identity) and ledger.find(ledger.fingerprint(own), identity) is None:
        elsewhere = count.digest_of_texts(table)
        if ledger.find(ledger.fingerprint(elsewhere), identity) is not None:
            return elsewhere
    return own


def reopen(payload: bytes, plan: Plan | None = None) -> Release:
    """A stored release, under the title, notes and order of ``plan`` where one is given."""
    stored = Result.from_bytes(payload)
    parts = {field.name: getattr(stored, field.name) for field in fields(stored)}
    return Release(**(parts if plan is None else parts | {"plan": plan}))


def summary(plan: Plan) -> str:
    """What a release of ``plan`` buys, in one line for the budget's history."""
    tables = [" × ".join(table) for table in plan.marginals]
    return (
        tables[0]
        if len(tables) == 1
        else f"{len(tables)} tables: " + "; ".join(tables[:4]) + ("; …" if len(tables) > 4 else "")
    )


def true_counts(table: Table | Source, plan: Plan, ledger: Ledger) -> dict[Columns, npt.NDArray[np.int64]]:
    """The exact counts behind a release, for the owner's own eyes: private, not to be shown to others.

    Nothing that is written, stored or exported calls this. Rows of a person beyond ``plan.unit.rows``
    are left out by the same choice as in the release.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return true_counts(opened, plan, ledger)
    count.check(table, plan)
    identity = strategy.identity(plan)
    key = _truncation_key(ledger, ledger.fingerprint(recognised(table, identity, ledger)), identity)
    tables = (*plan.marginals, ())
    counts = count.count(table, plan, tables, truncation_key=key)
    table.check_unchanged()
    return dict(zip(tables, counts, strict=True))


def _truncation_key(ledger: Ledger, fingerprint: bytes, identity: str) -> bytes:
    return ledger.derive_key("truncation", fingerprint, identity.encode())


def _readable(finished: Result) -> bytes:
    """The release as the ledger is to keep it, having seen that it can be had again from that.

    Raises `PlanError`, before anything is spent.
    """
    plan = finished.plan
    try:
        for name in plan.used:
            "".join(plan.column(name).labels).encode()
        written = finished.to_bytes()
        again = {Result.from_bytes(written).plan.key, Plan.loads(plan.dumps()).key}
    except (PlanError, LedgerError, UnicodeError) as error:
        raise PlanError(
            f"this plan cannot be read back from what is written of it ({error}); nothing was spent"
        ) from None
    if again != {plan.key}:
        raise PlanError("this plan is another one when read back from what is written of it; nothing was spent")
    return written
