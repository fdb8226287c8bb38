"""The ledger: a permanent record of every ε spent, of what it was spent on, and of what it bought.

A ledger holds, for every dataset name, the total ε it may ever spend, every charge against it, and the result that
each charge bought. Charge and result are committed in one transaction before the result is shown to anyone, so a
crash leaves both or neither. A result that was paid for is returned again at no cost, and never drawn twice.

The same data under another name shares the budget already used. Names and data linked by charges form a pool; ε is
added up per pool, and the smallest cap set on any of its names binds.

Every charge carries a SHA-256 over the charge before it and its own fields, and every use of the ledger checks the
whole chain. That reveals an edited, missing or damaged entry. It cannot reveal that the whole ledger was replaced by
an older copy, or deleted and begun anew: for that, keep the number and date of the last release somewhere else. Nor
does it stop someone who may write to the ledger from forging a whole chain: protect the file like the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from dpengine.accounting import hash_chain, schema
from dpengine.accounting.database import Store
from dpengine.accounting.entry import Charge, Entry, Outcome, same_name
from dpengine.accounting.hash_chain import Book
from dpengine.errors import BudgetError, LedgerError, PlanError
from dpengine.exact import ExactLike, exact_text, ratio_text, rational

__all__ = ["Ledger", "read_amount"]

_MAX_BITS = 400  # keeps arithmetic and storage small


class Kept(Protocol):
    """A result that was reopened from its stored bytes."""

    @property
    def key(self) -> str:
        """Identity of what was asked."""


Result = TypeVar("Result", bound=Kept)


def _crash_point(name: str) -> None:
    """Do nothing; tests of faults replace this by a crash."""


class Ledger:
    """The record of every ε spent.

    Parameters
    ----------
    url
        Any SQLAlchemy address; a SQLite file is created, readable by its owner alone, if it is not there. Default:
        the environment's `PRIVATE_RELEASE_LEDGER`, else a file in the user's data folder.

    One object may be used by many threads, one ledger by many processes. Every method raises `LedgerError` when the
    ledger is in use for too long, damaged, or cannot be read or written; nothing may be released then.

    A ledger of an earlier version is read as it is. The first change brings it up to date, in the same transaction;
    programs of that earlier version refuse it from then on.
    """

    def __init__(self, url: str | None = None) -> None:
        self._store = Store(url, hash_chain.build)
        with self._store.reading() as connection:
            self._secret = hash_chain.secret_of(connection)

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return a fresh ledger that lives as long as the object: for experiments and simulations.

        >>> ledger = Ledger.in_memory()
        >>> ledger.set_cap("clinic-2026", "2.5")
        >>> ledger.spent("clinic-2026"), ledger.left("clinic-2026")
        (Fraction(0, 1), Fraction(5, 2))
        """
        return cls("sqlite://")

    def set_cap(self, dataset: str, cap: Fraction | int | str) -> None:
        """Set the total ε that this dataset may ever spend; below what is spent already, nothing is left."""
        _check_texts(dataset=dataset)
        number = read_amount(cap, "The cap")
        with self._writing() as (connection, book):
            hash_chain.set_cap(connection, book, self._secret, dataset, number)

    def cap(self, dataset: str, fingerprint: bytes | None = None) -> Fraction | None:
        """Return the cap that binds: the smallest among the datasets that share data; None if none is set."""
        book = self._read()
        return book.cap(book.pool(dataset, fingerprint)[0])

    def spent(self, dataset: str, fingerprint: bytes | None = None) -> Fraction:
        """Return the ε spent on this dataset and on those that share its data; 0 for unknown names.

        With a `fingerprint`, also what was spent on that data under any other name, as a charge would count it.
        """
        return _total(self._read().pool(dataset, fingerprint)[1])

    def left(self, dataset: str, fingerprint: bytes | None = None) -> Fraction | None:
        """Return what the cap still allows, never below 0; None without a cap."""
        book = self._read()
        names, charges = book.pool(dataset, fingerprint)
        cap = book.cap(names)
        return None if cap is None else max(cap - _total(charges), Fraction(0))

    def datasets(self) -> list[str]:
        """Return all dataset names with a charge or a cap, sorted; of several spellings, the first one."""
        book = self._read()
        first: dict[str, str] = {}
        for name in (*(row.dataset for row in book.charges), *sorted(book.caps)):
            first.setdefault(same_name(name), name)
        return sorted(first.values())

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return all entries in order; of a `dataset`, those that its `spent` adds up, shared data included."""
        book = self._read()
        return [_entry(row) for row in (book.charges if dataset is None else book.pool(dataset)[1])]

    def entry(self, release_id: str) -> Entry | None:
        """Return the entry with this id; None if there is none."""
        charge = self._read().named(release_id)
        return None if charge is None else _entry(charge)

    def payload(self, release_id: str) -> bytes | None:
        """Return the stored result with this id; None if there is none."""
        with self._store.reading() as connection:
            charge = hash_chain.read(connection, self._secret).named(release_id)
            return None if charge is None else hash_chain.payload_of(connection, charge)

    def fingerprint(self, digest: bytes) -> bytes:
        """Return the fingerprint of data: HMAC-SHA256 of its content digest under the ledger's own key.

        Without that key a fingerprint confirms no guess about the data.
        """
        return hash_chain.keyed(self._secret, "fingerprint", digest)

    def derive_key(self, purpose: str, *parts: bytes) -> bytes:
        """Return 32 bytes that are always the same for this ledger, purpose and parts, and secret to it."""
        return hash_chain.keyed(self._secret, "derive", purpose, *parts)

    def find(self, fingerprint: bytes, plan_id: str) -> bytes | None:
        """Return the stored result of this plan on this data; None if there is none yet."""
        with self._store.reading() as connection:
            charge = hash_chain.read(connection, self._secret).published(fingerprint, plan_id)
            return None if charge is None else hash_chain.payload_of(connection, charge)

    def holds(self, plan_id: str) -> bool:
        """Return whether there is a stored result of this plan, on any data."""
        return any(row.plan_key == plan_id for row in self._read().charges)

    def check(self, dataset: str, fingerprint: bytes, epsilon: Fraction) -> None:
        """Raise `BudgetError` if a new charge would be refused now. Only `record` decides for good."""
        _check_texts(dataset=dataset)
        _refuse_over_cap(self._read(), dataset, fingerprint, read_amount(epsilon, "ε"))

    def charge_once(self, charge: Charge, draw: Callable[[], Outcome], reopen: Callable[[bytes], Result]) -> Result:
        """Return the result that is stored for this charge's plan and data; if there is none, draw and charge it first.

        `draw` runs the mechanisms; `reopen` turns stored bytes into a result. The returned result always comes from
        stored bytes. If `draw` raises, nothing is spent.

        Raises `BudgetError` if the cap would be passed or the mechanisms spent another ε than the charge says,
        `PlanError` if the result could not be reopened as what it is. Nothing is spent then.
        """
        payload = self.find(charge.fingerprint, charge.plan_id)
        if payload is None:
            self.check(charge.dataset, charge.fingerprint, charge.epsilon)
            outcome = draw()
            _check_reopens(outcome, reopen)
            payload = self.record(charge, outcome)
        return reopen(payload)

    def record(self, charge: Charge, outcome: Outcome) -> bytes:
        """Charge ε and store the outcome, in one transaction; return the bytes of the result to show.

        If this data and plan were charged before, that result is returned and nothing is charged. Show nothing
        except what is returned. After an error it is safe to call again.

        Raises `BudgetError` if the cap would be passed, or if the outcome did not cost exactly the ε of the charge.
        """
        epsilon = read_amount(charge.epsilon, "ε")
        if outcome.cost != epsilon:
            raise BudgetError(
                f"The mechanisms spent ε = {exact_text(outcome.cost)} in all, not {exact_text(epsilon)}, the ε to be "
                "charged. Nothing was recorded, and nothing is shown. This is a fault of the program: please report it."
            )
        fields = {
            "release_id": outcome.release_id,
            "dataset": charge.dataset,
            "fingerprint": charge.fingerprint,
            "plan_key": charge.plan_id,
            "created": outcome.created,
            "epsilon": ratio_text(epsilon),
            "title": charge.title,
            "summary": charge.summary,
            "payload_sha256": hashlib.sha256(outcome.payload).digest(),
            "kind": charge.kind.value,
        }
        _check_texts(
            dataset=charge.dataset, plan_id=charge.plan_id, title=charge.title, summary=charge.summary,
            release_id=outcome.release_id, created=outcome.created,
        )  # fmt: skip
        with self._writing() as (connection, book):
            known = book.published(charge.fingerprint, charge.plan_id)
            if known is not None:
                return hash_chain.payload_of(connection, known)
            if book.named(outcome.release_id) is not None:
                raise LedgerError("This release id is already in the ledger for another release.")
            _refuse_over_cap(book, charge.dataset, charge.fingerprint, epsilon)
            number = hash_chain.add_charge(connection, book, fields)
            _crash_point("after_insert")
            hash_chain.add_payload(connection, number, outcome.payload)
            _crash_point("before_commit")
        _crash_point("after_commit")
        return outcome.payload

    def verify_chain(self) -> None:
        """Check every entry and every stored result; raise `LedgerError` naming the first broken entry."""
        with self._store.reading() as connection:
            for row in hash_chain.read(connection, self._secret).charges:
                hash_chain.payload_of(connection, row)

    def _read(self) -> Book:
        with self._store.reading() as connection:
            return hash_chain.read(connection, self._secret)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sa.Connection, Book]]:
        """Yield a connection and the ledger's state, locked until the changes are committed, all or none."""
        with self._store.writing() as connection:
            _crash_point("after_begin")
            book = hash_chain.read(connection, self._secret)
            schema.upgrade(connection, book.version)
            _crash_point("after_upgrade")
            yield connection, book


def _entry(charge: sa.Row[Any]) -> Entry:
    return Entry(
        charge.release_id, charge.dataset, charge.created, Fraction(charge.epsilon), charge.title, charge.summary,
        schema.kind_of(charge),
    )  # fmt: skip


def _check_reopens(outcome: Outcome, reopen: Callable[[bytes], Kept]) -> None:
    """Raise `PlanError` unless the payload reopens as what was asked: nothing else will be kept."""
    try:
        key = reopen(outcome.payload).key
    except (PlanError, LedgerError, UnicodeError) as error:
        raise PlanError(f"the result cannot be read back from its stored form ({error}); nothing was spent") from None
    if key != outcome.key:
        raise PlanError("the result reads back from its stored form as another one; nothing was spent")


def _refuse_over_cap(book: Book, dataset: str, fingerprint: bytes, epsilon: Fraction) -> None:
    names, charges = book.pool(dataset, fingerprint)
    cap, spent = book.cap(names), _total(charges)
    if cap is None or spent + epsilon <= cap:
        return
    others = ", ".join(repr(name) for name in sorted(names) if same_name(name) != same_name(dataset))
    shared = f" It shares data, and so its budget, with {others}." if others else ""
    raise BudgetError(
        f"The budget of dataset {dataset!r} does not allow this: asked ε = {exact_text(epsilon)}, "
        f"spent {exact_text(spent)} of {exact_text(cap)}, left {exact_text(max(cap - spent, Fraction(0)))}.{shared} "
        "Ask for a smaller ε, or let the owner of the data decide on a larger cap; "
        "results that were published before are returned again at no cost."
    )


def read_amount(value: ExactLike, what: str) -> Fraction:
    """Return the positive rational that an int, a Fraction or an exact text stands for; raise `BudgetError`.

    >>> read_amount("0.1", "ε")
    Fraction(1, 10)
    """
    try:
        number = rational(value, what, strict=True)
    except (TypeError, ValueError) as error:
        raise BudgetError(f"{error}.") from None
    if number <= 0:
        raise BudgetError(f"{what} must be more than 0.")
    if max(number.numerator, number.denominator).bit_length() > _MAX_BITS:
        raise BudgetError(f"{what} has too many digits; round it to sixty or fewer.")
    return number


def _total(charges: Sequence[sa.Row[Any]]) -> Fraction:
    return sum((Fraction(row.epsilon) for row in charges), Fraction(0))


def _check_texts(**texts: object) -> None:
    for name, text in texts.items():
        # Databases differ on NUL and lone surrogates; a ledger must not.
        if not isinstance(text, str) or "\0" in text or text != text.encode("utf-8", "ignore").decode():
            raise BudgetError(f"The {name} must be a text without NUL or half characters.")
    if not str(texts["dataset"]).strip():
        raise BudgetError("The dataset needs a name: it says whose budget is spent.")
