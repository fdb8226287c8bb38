"""Publish a plan of a table: all steps from rows to a stored release, in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dpengine.accounting.entry import Charge, Kind, Outcome
from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Columns, Ints
from dpengine.bundle import write
from dpengine.bundle.read import manifest_of
from dpengine.counting import count
from dpengine.errors import PlanError
from dpengine.measure.strategy import decide
from dpengine.results.result import Result, conclude
from dpengine.sources.open import Source, Table, open_table
from dpengine.spec.plan import Plan

__all__ = ["Release", "digest_for", "release", "reopen", "summary", "true_counts"]

Progress = Callable[[str], None]


class Release(Result):
    """A finished release that can be saved as a bundle."""

    @property
    def key(self) -> str:
        """Identity of the plan."""
        return self.plan.key

    @cached_property
    def bundle(self) -> bytes:
        """The release bundle, a zip file; the same bytes each time."""
        return write.pack(self)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The content of the bundle's `manifest.json`."""
        return manifest_of(self.bundle)

    def save(self, path: str | Path) -> None:
        """Write the release bundle to `path`; make its folder if there is none."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write.save(self, path)


def release(
    table: Table | Source, plan: Plan, ledger: Ledger | None = None, *, progress: Progress | None = None
) -> Release:
    """Publish `plan` of `table` once: count, add noise, make consistent, record, and only then return.

    `table` is open, or anything that `open_table` opens. The same plan on the same data again returns the stored
    release and costs nothing. So does another plan that measures the same, for example one that adds a table of sums of
    the others. Without a `ledger`, a fresh one in memory serves for this one call: for experiments, since nothing is
    remembered. `progress` is called with the name of each stage; if it raises before *recording*, nothing is spent.

    The release is ε-differentially private for `plan.unit` under adding or removing one person: each measurement has
    noise calibrated to its part of ε, the parts add up to ε exactly (the ledger checks this), and all that follows is
    post-processing.

    Raises `PlanError`, `TableError`, `BudgetError` or `LedgerError`; nothing is spent then.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return release(opened, plan, ledger, progress=progress)
    report = progress or (lambda stage: None)
    book = ledger if ledger is not None else Ledger.in_memory()
    strategy = decide(plan)
    strategy.check()
    plan, plan_id = strategy.plan, strategy.plan_id
    count.check(table, plan)

    report("recognising the data")
    _, counts = count.digest_and_count(table, plan, strategy.marginals)
    fingerprint = book.fingerprint(digest_for(table, plan_id, book))

    def exact_counts(marginals: Sequence[Columns]) -> Sequence[Ints]:
        return counts or count.count(table, plan, marginals, truncation_key=_truncation_key(book, fingerprint, plan_id))

    def draw() -> Outcome:
        _check_writable(plan)
        report("counting")
        measured = strategy.measure(exact_counts, report)
        report("making the tables agree")
        result = conclude(plan, measured)
        payload = result.to_bytes()
        report("looking at the data again")
        count.check_unchanged(table)
        report("recording")
        return Outcome(result.release_id, result.created, plan.key, measured.cost, payload)

    charge = Charge(Kind.RELEASE, plan.dataset, fingerprint, plan_id, plan.epsilon, plan.title, summary(plan))
    return replace(book.charge_once(charge, draw, reopen), plan=plan)


def digest_for(table: Table, plan_id: str, ledger: Ledger) -> bytes:
    """Return the content digest under which `ledger` stores a release of the table by `plan_id`.

    It is the table's own digest, unless the ledger holds that plan for a remote table with the same rows: then it is
    the remote table's. The reverse is not recognised: a remote table with the rows of an earlier file counts as new.
    """
    digest = count.digest(table)
    if ledger.holds(plan_id) and ledger.find(ledger.fingerprint(digest), plan_id) is None:
        remote = count.digest_of_texts(table)
        if ledger.find(ledger.fingerprint(remote), plan_id) is not None:
            return remote
    return digest


def reopen(payload: bytes) -> Release:
    """Return a stored release; raise `LedgerError` if the payload is damaged."""
    return Release.from_bytes(payload)


def summary(plan: Plan) -> str:
    """List the tables of `plan` in one line, for the budget's history."""
    tables = [" × ".join(table) for table in plan.marginals]
    if len(tables) == 1:
        return tables[0]
    return f"{len(tables)} tables: " + "; ".join(tables[:4]) + ("; …" if len(tables) > 4 else "")


def true_counts(table: Table | Source, plan: Plan, ledger: Ledger) -> dict[Columns, Ints]:
    """Return the exact counts behind a release, for the owner's eyes only: they are private.

    Nothing that is written, stored or exported calls this. Rows of a person beyond `plan.unit.rows` are left out by
    the same choice as in the release.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return true_counts(opened, plan, ledger)
    count.check(table, plan)
    plan_id = decide(plan).plan_id
    key = _truncation_key(ledger, ledger.fingerprint(digest_for(table, plan_id, ledger)), plan_id)
    tables = (*plan.marginals, ())
    counts = count.count(table, plan, tables, truncation_key=key)
    count.check_unchanged(table)
    return dict(zip(tables, counts, strict=True))


def _truncation_key(ledger: Ledger, fingerprint: bytes, plan_id: str) -> bytes:
    return ledger.derive_key("truncation", fingerprint, plan_id.encode())


def _check_writable(plan: Plan) -> None:
    """Raise `PlanError` unless labels and plan file can be written and read back, as saving a release needs."""
    try:
        for name in plan.used:
            "".join(plan.column(name).labels).encode()
        again = Plan.loads(plan.dumps()).key
    except (PlanError, UnicodeError) as error:
        raise PlanError(f"this plan cannot be read back from its own plan file ({error}); nothing was spent") from None
    if again != plan.key:
        raise PlanError("this plan reads back from its own plan file as another one; nothing was spent")
