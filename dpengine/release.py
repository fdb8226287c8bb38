"""Publish a plan of a table: all steps from rows to a stored release, in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.accounting.approval.request import plan_digest
from dpengine.accounting.entry import Charge, Kind, Outcome, Resemblance
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import keep_signing_key, signing_key
from dpengine.accounting.sketch import Sketch
from dpengine.array_types import Columns, Ints
from dpengine.bundle import signature, write
from dpengine.bundle.dry_run import check_makeable
from dpengine.bundle.read import manifest_of
from dpengine.counting import count, table_sketch
from dpengine.counting.search_counts import count_steps
from dpengine.errors import LedgerError, ReleaseError, TableError
from dpengine.estimate.found_cells import resolve
from dpengine.isolation.run import warm
from dpengine.marginals.measurement import Measurements
from dpengine.measure.search import Exact, search
from dpengine.measure.strategy import check_given, decide, identities, resolved
from dpengine.measure.strategy_base import Strategy
from dpengine.results import serialise
from dpengine.results.result import Result, payload_of
from dpengine.sources.open import Source, open_table
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark

__all__ = [
    "Release",
    "digest_for",
    "is_held",
    "is_recorded",
    "plan_of",
    "release",
    "reopen",
    "resembling",
    "summary",
    "true_counts",
]

Progress = Callable[[str], None]


@dataclass(frozen=True, repr=False)
class Release(Result):
    """A finished release that can be saved as a bundle, signed by the key of its ledger."""

    what: ClassVar[str] = mark("Release")
    signing_key: Ed25519PrivateKey | None = field(default=None, repr=False, compare=False)

    @cached_property
    def bundle(self) -> bytes:
        """The release bundle, a zip file; the same bytes each time."""
        return write.pack(self, self.signing_key)

    @property
    def signed_by(self) -> str | None:
        """The fingerprint of the key that signs the bundle; None if the ledger had no key yet."""
        return None if self.signing_key is None else signature.fingerprint(self.signing_key.public_key())

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The content of the bundle's `manifest.json`."""
        return manifest_of(self.bundle)

    def save(self, path: str | Path) -> None:
        """Write the release bundle to `path`; make its folder if there is none. Raises `ReleaseError` if it cannot."""
        if not isinstance(path, str | Path) or "\0" in str(path):
            raise ReleaseError(_("the place of a bundle is given as a path, such as 'release.zip'"))
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write.save(self, path, self.signing_key)
        except OSError as error:
            raise ReleaseError(
                _("{name} cannot be written ({problem}): name another place", name=path.name, problem=error.strerror)
            ) from None


def release(
    table: Table | Source,
    plan: Plan,
    ledger: Ledger | None = None,
    *,
    progress: Progress | None = None,
    other_people: bool = False,
) -> Release:
    """Publish `plan` of `table` once: count, add noise, make consistent, record, and only then return.

    `table` is open, or anything that `open_table` opens. The same plan on the same data again returns the stored
    release and costs nothing. So does another plan that measures the same, for example one that adds a table of sums of
    the others. Without a `ledger`, a fresh one in memory is used for this one call: for experiments, since nothing is
    remembered.

    `progress` is called with the name of each stage. If it raises, publishing stops and nothing is spent. The stages
    and their order follow from the plan alone. "adding noise" is the last one: then noise is drawn, which is private
    until it is paid for. So from there on nothing is reported, and only the end of the process can prevent the record.

    A table that resembles one that was published before shares its budget, whatever its name: see `accounting.sketch`.
    With `other_people`, the owner states that it is of other people. The ledger records the statement.

    If the dataset needs a second person's approval (`Ledger.approvals`), exactly this plan, with the same statement,
    must have been approved and not yet published.

    The release is ε-differentially private for `plan.unit` under adding or removing one person: each measurement has
    noise calibrated to its share of ε, the shares add up to ε exactly (the ledger checks this), and everything
    afterwards is post-processing. If a plan asks for cells to be found, the rows are counted once more, in the cells
    that follow from the first noisy counts (`measure.search`); this, too, is between the first draw and the record.

    Its bundle is signed by the key of the ledger, which the first release makes. A release that an earlier version
    stored is signed as soon as there is a key.

    Raises `PlanError`, `TableError`, `BudgetError` or `LedgerError`. Nothing is spent then, unless a `LedgerError` says
    that the release is recorded.
    """
    _check_given(plan, ledger)
    if isinstance(table, str | Path | list | tuple):
        warm()  # what reads files starts while this process tries the plan
    plan = plan.as_written
    strategy = decide(plan)
    strategy.check()
    charged = ledger if ledger is not None else Ledger.in_memory()
    if not isinstance(table, Table) and not charged.holds(strategy.plan_id):
        check_makeable(strategy.plan)
    with nullcontext(table) if isinstance(table, Table) else open_table(table) as opened:
        return _publish(opened, plan, strategy, charged, progress or (lambda stage: None), other_people)


def _check_given(plan: object, ledger: object) -> None:
    """Refuse a path in place of a plan, and an address in place of a ledger, before any work begins."""
    check_given(plan)
    if not isinstance(ledger, Ledger | None):
        raise LedgerError(_("a ledger is given as a Ledger, such as Ledger('sqlite:///ledger.db')"))


def _publish(
    table: Table, plan: Plan, strategy: Strategy, ledger: Ledger, report: Progress, other_people: bool
) -> Release:
    """Publish what `strategy` measures for `plan` of an open table, as `release` does.

    `Ledger.charge_once` reopens a stored release of this plan and these rows. If there is none, it calls `prepare`,
    `sketch` and `draw` in this order, records the charge and the release in one transaction, and only then returns.
    """
    sent, plan, plan_id = plan_digest(plan), strategy.plan, strategy.plan_id
    count.check(table, plan)

    trial = None if ledger.holds(plan_id) else _begin_trial(plan)
    report("recognising the data")
    try:
        _, counts = count.digest_and_count(table, plan, strategy.marginals)
    except TableError:
        if trial is not None:
            trial.result()  # what is wrong with the plan explains more
        raise
    fingerprint = ledger.fingerprint(digest_for(table, plan_id, ledger))

    signer: Ed25519PrivateKey | None = None
    key = b""
    measured: Measurements | None = None

    def prepare() -> _Exact:
        nonlocal signer, key
        report("checking the plan")
        (trial or _begin_trial(plan)).result()
        signer = keep_signing_key(ledger)
        report("counting")
        key = _truncation_key(ledger, fingerprint, plan_id)
        exact = counts or count.count_unchanged(
            table, plan, strategy.marginals, truncation_key=key, tallies=strategy.tallies
        )
        steps = count_steps(table, plan, truncation_key=key)
        count.check_unchanged(table, read_once=not plan.found_columns)
        return _Exact(exact, steps)

    def draw(exact: _Exact) -> Outcome:
        nonlocal measured
        with_cells, measured = _measured(table, strategy, exact, key)
        release_id, created, payload = payload_of(with_cells, measured)
        return Outcome(release_id, created, measured.cost, payload)

    def sketch(exact: _Exact) -> Sketch:
        return table_sketch.of_table(table, plan, strategy.marginals, exact.tables)

    charge = Charge(
        Kind.RELEASE, plan.dataset, fingerprint, plan_id, plan.epsilon, plan.title, summary(plan),
        other_people=other_people, plan_sha256=sent,
    )  # fmt: skip
    made = ledger.charge_once(charge, prepare, draw, reopen, sketch, report)
    if measured is not None:  # a model that was fitted while measuring need not be fitted again
        made = replace(made, measured=made.measured.with_fit_of(measured))
    return replace(made, plan=_as_asked(plan, made.plan), signing_key=signer or signing_key(ledger))


def _begin_trial(plan: Plan) -> Future[None]:
    """Begin to try the plan without data in another thread: the rows are read meanwhile, mostly by the engine."""
    thread = ThreadPoolExecutor(1)
    try:
        return thread.submit(copy_context().run, check_makeable, plan)
    finally:
        thread.shutdown(wait=False)


class _Exact(NamedTuple):
    """Exact counts: of the tables, and of the steps and keys from which cells are found."""

    tables: Sequence[Ints]
    steps: Sequence[Exact]


def _measured(table: Table, strategy: Strategy, exact: _Exact, key: bytes) -> tuple[Plan, Measurements]:
    """Measure by `strategy`; return the plan with its found cells, and the measurements.

    Rows are counted in found cells after these are found. The earlier count, in cells of equal width, only shows that
    tables can be counted, and is used for the sketch of the table.
    """
    plan = strategy.plan
    if not plan.found_columns:
        return plan, strategy.measure(lambda marginals: exact.tables)
    searches = search(plan, exact.steps)
    with_cells = resolve(plan, searches)
    final = resolved(with_cells)
    counted = count.count(table, with_cells, final.marginals, truncation_key=key, tallies=final.tallies)
    count.check_unchanged(table)
    return with_cells, replace(final.measure(lambda marginals: counted), searches=searches)


def _as_asked(plan: Plan, stored: Plan) -> Plan:
    """Return `plan`, whose texts for readers may differ from the stored one, with the found cells and the strategy."""
    found = {name: plan.column(name).with_cells_of(stored.column(name)) for name in plan.found_columns}
    return plan.with_columns(found).model_copy(update={"strategy": stored.strategy})


def digest_for(table: Table, plan_id: str, ledger: Ledger) -> bytes:
    """Return the content digest under which `ledger` stores a release of the table by `plan_id`.

    It is the table's own digest, unless the ledger holds that plan for a remote table with the same rows: then it is
    the remote table's. In the reverse case, a remote table with the rows of an earlier file, the release is a new one,
    but it shares the file's budget, since its sketch is the same.
    """
    digest = count.digest(table)
    if ledger.holds(plan_id) and ledger.find(ledger.fingerprint(digest), plan_id) is None:
        remote = count.digest_of_texts(table)
        if ledger.find(ledger.fingerprint(remote), plan_id) is not None:
            return remote
    return digest


def is_held(published: Plan, fingerprint: bytes, ledger: Ledger) -> bool:
    """Return whether `ledger` holds a release of the plan `published` in it, of the rows with this fingerprint."""
    return any(ledger.find(fingerprint, each) is not None for each in identities(published))


def is_recorded(table: Table, plan: Plan, ledger: Ledger) -> bool:
    """Return whether `ledger` holds the release of `plan` on this table, so that it costs nothing."""
    plan_id = decide(plan.as_written).plan_id
    return ledger.find(ledger.fingerprint(digest_for(table, plan_id, ledger)), plan_id) is not None


def resembling(table: Table, plan: Plan, fingerprint: bytes, ledger: Ledger) -> list[Resemblance]:
    """Return the earlier charges with which a release would share a budget, since the table resembles theirs.

    This is a preview: resemblances that only counted tables show are found by `release` itself.
    """
    return ledger.resembling(plan.dataset, fingerprint, table_sketch.of_values(table, plan.table_columns))


def reopen(payload: bytes, ledger: Ledger | None = None) -> Release:
    """Return a stored release, to be signed by the key of its `ledger`; raise `LedgerError` if it is damaged."""
    return replace(Release.from_bytes(payload), signing_key=signing_key(ledger) if ledger is not None else None)


def plan_of(payload: bytes) -> Plan:
    """Return the plan of a stored release, without reading its tables; raise `LedgerError` if it is damaged."""
    return Plan(**serialise.plan_of(payload))


def summary(plan: Plan) -> str:
    """List the tables of `plan` in one line, with their means, sums and quantiles, for the budget's history."""
    tables = [_table_and_measures(plan, table) for table in plan.marginals]
    if len(tables) == 1:
        return tables[0]
    return f"{len(tables)} tables: " + "; ".join(tables[:4]) + ("; …" if len(tables) > 4 else "")


def _table_and_measures(plan: Plan, table: Columns) -> str:
    """Name a table for the budget's history.

    >>> columns = [{"name": "sex", "kind": "yesno"}, {"name": "pay", "kind": "amount", "from": 0, "to": 9}]
    >>> plan = Plan(dataset="demo", epsilon=1, columns=columns, tables=[{"columns": ["sex"], "mean": ["pay"]}])
    >>> _table_and_measures(plan, ("sex",))
    'sex (mean pay)'
    >>> plan = Plan(dataset="demo", epsilon=1, columns=columns[:1], tables=[{"columns": ["sex"], "distinct": True}],
    ...             unit={"id": "person", "rows": 3})
    >>> _table_and_measures(plan, ("sex",))
    'sex (each person in one cell)'
    """
    measures = [f"mean {name}" for name in plan.means(table)] + [f"sum {name}" for name in plan.sums(table)]
    if cells := plan.tally_of(table).cells:
        measures.append("each person in one cell" if cells == 1 else f"each person in at most {cells} cells")
    measures += [f"quantiles {name}" for name in plan.amounts(table) if plan.quantiles(table, name)]
    measures += [each.column.replace("_", " ") for each in plan.associations(table)]
    return " × ".join(table) + (f" ({', '.join(measures)})" if measures else "")


def true_counts(
    table: Table | Source, plan: Plan, ledger: Ledger, tables: Sequence[Columns] | None = None
) -> dict[Columns, Ints]:
    """Return the exact counts behind a release, for the owner's eyes only: they are private.

    They are those of the published tables and the total, or of other `tables` over the same columns. No function that
    writes, stores or exports calls this. Rows of a person beyond `plan.unit.rows` are left out by the same choice as in
    the release.
    """
    if not isinstance(table, Table):
        with open_table(table) as opened:
            return true_counts(opened, plan, ledger, tables)
    count.check(table, plan)
    known = [(ledger.fingerprint(digest_for(table, each, ledger)), each) for each in identities(plan)]
    key = _truncation_key(ledger, *next((each for each in known if ledger.find(*each) is not None), known[0]))
    wanted = (*plan.marginals, ()) if tables is None else tuple(tables)
    counts = count.count(table, plan, wanted, truncation_key=key)
    count.check_unchanged(table)
    return dict(zip(wanted, counts, strict=True))


def _truncation_key(ledger: Ledger, fingerprint: bytes, plan_id: str) -> bytes:
    return ledger.derive_key("truncation", fingerprint, plan_id.encode())
