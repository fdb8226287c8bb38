"""The ledger: a permanent record of every ε spent, what it was spent on, and what it bought.

A ledger holds, for every dataset name, the total ε it may ever spend, every charge against it, and the result that
each charge bought. Charge and result are committed in one transaction before the result is shown to anyone, so a
crash leaves both or neither. A result that was paid for is returned again at no cost, and never drawn twice.

The same data under another name shares the budget already used, and so does a near copy: a table with rows or columns
dropped, added, renamed, retyped or changed, as far as its sketch tells (see `accounting.sketch`), unless
its owner states, for the record, that it is of other people. Names and data linked by charges form a pool; ε is added
up per pool, and the smallest cap set on any of its names binds.

Recognition has limits (docs/recognition.md), and a statement of other people is not checked.

Every charge carries a SHA-256 over the charge before it and its own fields, and every use of the ledger checks the
whole chain. That reveals an edited, missing or damaged entry. A ledger that is gone, or was replaced by an older copy
or another ledger, is refused by every account that has used it before at the same address: see `witness`. Nothing
stops someone who may write to the ledger from forging a whole chain: protect the file like the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import sqlalchemy as sa

from dpengine.accounting import hash_chain, ledger_access, recognition
from dpengine.accounting.amount import check_texts, read_amount, total
from dpengine.accounting.approval import records
from dpengine.accounting.approval.desk import Approvals
from dpengine.accounting.drawing import LAST_STAGE, Reopened, outcome_of, signals_deferred
from dpengine.accounting.entry import Charge, Entry, Outcome, Resemblance, same_name
from dpengine.accounting.ledger_access import LedgerAccess
from dpengine.accounting.sketch import Sketch
from dpengine.accounting.snapshot import Snapshot
from dpengine.errors import BudgetError, LedgerError
from dpengine.exact import exactly, ratio_text
from dpengine.translation.catalogue import _, mark

__all__ = ["Ledger"]

Exact = TypeVar("Exact")
Result = TypeVar("Result", bound=Reopened)


class Ledger(LedgerAccess):
    """The record of every ε spent.

    Parameters
    ----------
    url
        Any SQLAlchemy address. Default: the setting `ledger` (`dpengine.settings`), else the user's own file.
    owner
        The owner whose part of the ledger this is. Default: "", the local owner, if one person or team uses the ledger.
    begin
        Whether to create a new ledger if there is none and this account never used one at this address: a SQLite file,
        readable by its owner only, or tables in another database. Otherwise a missing ledger is an error.

    One object may be used by many threads, one ledger by many processes. Every method raises `LedgerError` when the
    ledger is in use for too long, damaged, gone, replaced by an old copy, or cannot be read or written; nothing may be
    released then.

    Several owners may share one ledger. Each sees their own datasets, charges, caps and results, as if the others had
    ledgers of their own: fingerprints and derived keys differ from owner to owner, so that nobody can ask whether
    somebody else's data is what they guess. (How long an answer takes depends on the charges of all.) Entries of
    earlier versions belong to the local owner, "".

    A ledger of an earlier version is read as it is. The first change brings it up to date, in the same transaction;
    programs of that earlier version refuse it from then on.
    """

    @property
    def approvals(self) -> Approvals:
        """This owner's datasets that need a second person's approval, and the requests for it."""
        return Approvals(self._read, self._reading, self._writing, self._secret)

    def set_cap(self, dataset: str, cap: Fraction | int | str) -> None:
        """Set the total ε that this dataset may ever spend; if more is spent already, nothing is left."""
        check_texts(dataset=dataset)
        number = read_amount(cap, mark("The cap"))
        with self._writing() as (connection, snapshot):
            hash_chain.set_cap(connection, snapshot, self._secret, dataset, number)

    def cap(
        self, dataset: str, fingerprint: bytes | None = None, alike: Collection[Resemblance] = ()
    ) -> Fraction | None:
        """Return the cap that binds: the smallest among the datasets that share data; None if none is set."""
        snapshot = self._read()
        return snapshot.cap(snapshot.pool(dataset, fingerprint, alike)[0])

    def spent(self, dataset: str, fingerprint: bytes | None = None, alike: Collection[Resemblance] = ()) -> Fraction:
        """Return the ε spent on this dataset and on those that share its data; 0 for unknown names.

        With a `fingerprint`, also what was spent on that data under any other name, as a charge would count it. With
        `alike` charges, which the data resembles, also what was spent on those.
        """
        return total(self._read().pool(dataset, fingerprint, alike)[1])

    def left(
        self, dataset: str, fingerprint: bytes | None = None, alike: Collection[Resemblance] = ()
    ) -> Fraction | None:
        """Return what the cap still allows, never below 0; None without a cap."""
        snapshot = self._read()
        names, charges = snapshot.pool(dataset, fingerprint, alike)
        cap = snapshot.cap(names)
        return None if cap is None else max(cap - total(charges), Fraction(0))

    def datasets(self) -> list[str]:
        """Return all dataset names with a charge or a cap, sorted; of several spellings, the first one."""
        snapshot = self._read()
        first: dict[str, str] = {}
        for name in (*(row.dataset for row in snapshot.charges), *sorted(snapshot.caps)):
            first.setdefault(same_name(name), name)
        return sorted(first.values())

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return all entries in order; for a `dataset`, those that `spent` adds up, shared data included."""
        snapshot = self._read()
        return [snapshot.entry(row) for row in (snapshot.charges if dataset is None else snapshot.pool(dataset)[1])]

    def entry(self, release_id: str) -> Entry | None:
        """Return the entry with this id; None if there is none."""
        charge = (snapshot := self._read()).named(release_id)
        return None if charge is None else snapshot.entry(charge)

    def payload(self, release_id: str) -> bytes | None:
        """Return the stored result with this id; None if there is none."""
        return self._payload(self._read().named(release_id))

    def find(self, fingerprint: bytes, plan_id: str) -> bytes | None:
        """Return the stored result of this plan on this data; None if there is none yet."""
        return self._payload(self._read().published(fingerprint, plan_id))

    def holds(self, plan_id: str) -> bool:
        """Return whether there is a stored result of this plan, on any data."""
        return any(row.plan_key == plan_id for row in self._read().charges)

    def resembling(self, dataset: str, fingerprint: bytes, sketch: Sketch | None) -> list[Resemblance]:
        """Return the earlier charges with which a new one would share a budget, since its table resembles theirs.

        They belong to pools other than the dataset's own: one of each, the most alike first. Charges that the owner has
        stated before to be of other people are left out.
        """
        with self._reading() as (connection, snapshot):
            return recognition.resembling(connection, snapshot, self._key, dataset, fingerprint, sketch)

    def check(self, dataset: str, fingerprint: bytes, epsilon: Fraction, alike: Collection[Resemblance] = ()) -> None:
        """Raise `BudgetError` if the budget does not allow a new charge now. Only `record` decides for good."""
        check_texts(dataset=dataset)
        self._read().refuse_over_cap(dataset, fingerprint, read_amount(epsilon, "ε"), alike)

    def charge_once(
        self,
        charge: Charge,
        prepare: Callable[[], Exact],
        draw: Callable[[Exact], Outcome],
        reopen: Callable[[bytes], Result],
        sketch: Callable[[Exact], Sketch] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> Result:
        """Return the result that is stored for this charge's plan and data; if there is none, draw and charge it first.

        `prepare` does everything that needs no noise and may fail, and returns the exact numbers. `draw` runs the
        mechanisms on them. `reopen` turns stored bytes into a result; the returned result always comes from stored
        bytes. `sketch` makes the charge's sketch of the exact numbers. `report` is called with `LAST_STAGE`, just
        before `draw`.

        An exception of `prepare`, `sketch` or `report` propagates, and nothing is spent. From the first draw until the
        result is recorded, no callback runs, and a signal that Python handles (Ctrl-C) waits until the charge is
        committed. A fault of `draw` is reported in fixed words, so nothing that depends on noise becomes known.

        Raises `BudgetError` if the cap would be passed, a second person's approval is missing, or the mechanisms spent
        another ε than the charge says, `LedgerError` if the ledger cannot be used, or if `draw` fails. Nothing is spent
        then. If the charge is refused, its approval lapses.
        """
        snapshot = self._read()
        payload = self._payload(snapshot.published(charge.fingerprint, charge.plan_id))
        if payload is None:
            try:
                check_texts(**_texts(charge))
                _refuse(snapshot, charge, [])
                exact = prepare()
                if sketch is not None:
                    charge = replace(charge, sketch=sketch(exact))
                data = charge.dataset, charge.fingerprint
                with self._reading() as (connection, snapshot):
                    known = snapshot.published(charge.fingerprint, charge.plan_id)
                    if known is not None:  # another process has published the same meanwhile
                        return reopen(hash_chain.payload_of(connection, known))
                    alike = recognition.resembling(connection, snapshot, self._key, *data, charge.sketch)
                _refuse(snapshot, charge, alike)
                if report is not None:
                    report(LAST_STAGE)
                with signals_deferred():
                    payload = self.record(charge, outcome_of(draw, exact))
            except BudgetError:
                self.approvals.lapse(charge)
                raise
        return reopen(payload)

    def record(self, charge: Charge, outcome: Outcome) -> bytes:
        """Charge ε and store the outcome, in one transaction; return the bytes of the result to show.

        If this data and plan were charged before, that result is returned and nothing is charged. Show nothing
        except what is returned. After an error it is safe to call again.

        Raises `BudgetError` if the cap would be passed, if a second person's approval is needed and there is no unused
        one of exactly this plan, or if the outcome did not cost exactly that ε. The approval is used up by the charge.
        """
        epsilon = read_amount(charge.epsilon, "ε")
        if outcome.cost != epsilon:
            raise BudgetError(  # what they spent may depend on what they drew, so it is not said
                _("The mechanisms did not spend exactly ε = {epsilon}, which was to be charged. Nothing was recorded, "
                  "and nothing is shown. This is a fault of the program: please report it.",
                  epsilon=exactly(epsilon))
            )  # fmt: skip
        sealed = recognition.sealed(self._key, outcome.release_id, charge.sketch)
        check_texts(**_texts(charge), release_id=outcome.release_id, created=outcome.created)
        with self._writing() as (connection, snapshot):
            known = snapshot.published(charge.fingerprint, charge.plan_id)
            if known is not None:
                return hash_chain.payload_of(connection, known)
            if snapshot.named(outcome.release_id) is not None:
                raise LedgerError(_("This release id is already in the ledger for another release."))
            data = charge.dataset, charge.fingerprint
            alike = recognition.resembling(connection, snapshot, self._key, *data, charge.sketch)
            approval = _refuse(snapshot, charge, alike)
            stated = recognition.stated(snapshot, alike, charge.other_people)
            of_data = {"recognised": stated, "sketch_sha256": hashlib.sha256(sealed).digest() if sealed else b""}
            number = hash_chain.add_charge(connection, snapshot, _fields(charge, outcome) | of_data)
            if sealed:
                hash_chain.add_sketch(connection, number, sealed)
            if approval is not None:
                records.use(connection, approval, outcome)
                hash_chain.reseal(connection, self._secret)
            ledger_access.crash_point("after_insert")
            hash_chain.add_payload(connection, number, outcome.payload)
            ledger_access.crash_point("before_commit")
        self._recorded.add(outcome.release_id)
        return outcome.payload

    def verify_chain(self) -> None:
        """Check every entry and every stored result, of all owners; raise `LedgerError` naming the first broken one."""
        with self._reading() as (connection, _):
            hash_chain.verify(connection)

    def _payload(self, charge: sa.Row[Any] | None) -> bytes | None:
        if charge is None:
            return None
        with self._store.reading() as connection:
            return hash_chain.payload_of(connection, charge)


def _fields(charge: Charge, outcome: Outcome) -> dict[str, object]:
    """Return the fields of an entry by their names in the ledger, except those that follow from the data."""
    return {
        "release_id": outcome.release_id, "dataset": charge.dataset, "fingerprint": charge.fingerprint,
        "plan_key": charge.plan_id, "created": outcome.created, "epsilon": ratio_text(read_amount(charge.epsilon, "ε")),
        "title": charge.title, "summary": charge.summary, "kind": charge.kind.value,
        "payload_sha256": hashlib.sha256(outcome.payload).digest(),
    }  # fmt: skip


def _texts(charge: Charge) -> dict[str, object]:
    return {name: getattr(charge, name) for name in ("dataset", "plan_id", "title", "summary")}


def _refuse(snapshot: Snapshot, charge: Charge, alike: Collection[Resemblance]) -> sa.Row[Any] | None:
    """Raise `BudgetError` if the cap or a missing approval refuses a charge; return the approval that it uses up."""
    epsilon = read_amount(charge.epsilon, "ε")
    snapshot.refuse_over_cap(charge.dataset, charge.fingerprint, epsilon, [] if charge.other_people else alike)
    return records.approval_for(snapshot, charge, alike)
