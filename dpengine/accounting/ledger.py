"""What was spent, on what, never forgotten.

A ledger holds, for every dataset name, the total ε it may ever spend, every charge against it, and
the finished release each charge bought. Charge and release are committed in one transaction before
the release is shown to anyone, so a crash leaves either neither of them or both; what was paid for
can be had again and is never drawn a second time.

The same data under another name shares the budget already used. Names and data linked by charges
form a pool; money is counted per pool, and the smallest cap set on any of its names binds.

Every charge carries a SHA-256 over the charge before it and its own fields, and every use of the
ledger checks the whole chain. That makes an edited, missing or damaged entry evident. It cannot make
evident that the whole ledger was put back to an older copy, or thrown away and begun anew: for that,
keep the number and date of the last release somewhere else. Nor does it stop someone who may write to
the ledger from forging a whole chain: guard the file like the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting.database import Store
from dpengine.accounting.hash_chain import (
    Book,
    add_charge,
    add_payload,
    build,
    keyed,
    payload_of,
    read,
    same_name,
    secret_of,
    set_cap,
)
from dpengine.errors import BudgetError, LedgerError
from dpengine.exact import ExactLike, exact_text, ratio_text, rational

__all__ = ["Entry", "Ledger", "read_amount"]

_MAX_BITS = 400  # keeps arithmetic and storage small


def _crash_point(name: str) -> None:
    """Do nothing; fault tests put a crash in its place."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in the history of a ledger: what was paid, when, and what it bought."""

    release_id: str
    dataset: str
    created: str
    epsilon: Fraction
    title: str
    summary: str


class Ledger:
    """The record of every ε spent.

    Parameters
    ----------
    url
        Any SQLAlchemy address; a SQLite file is created, readable by its owner alone, if it is not
        there. Default: what ``PRIVATE_RELEASE_LEDGER`` says, else a file in the user's data folder.

    One object may be used by many threads, one ledger by many processes. Every method raises
    `LedgerError` when the ledger is in use for too long, damaged, or cannot be read or written;
    nothing may be released then.
    """

    def __init__(self, url: str | None = None) -> None:
        self._store = Store(url, build)
        with self._store.reading() as connection:
            self._secret = secret_of(connection)

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return a fresh ledger that lives as long as the object: for experiments and simulations."""
        return cls("sqlite://")

    def set_cap(self, dataset: str, cap: Fraction | int | str) -> None:
        """Set the total ε this dataset may ever spend.

        A cap below what is already spent leaves nothing to spend.
        """
        _check_texts(dataset=dataset)
        number = read_amount(cap, "The cap")
        with self._store.writing() as connection:
            set_cap(connection, self._secret, dataset, number)

    def cap(self, dataset: str, fingerprint: bytes | None = None) -> Fraction | None:
        """Return the cap that binds: the smallest among the datasets that share data; None if none is set."""
        book = self._read()
        return book.cap(book.pool(dataset, fingerprint)[0])

    def spent(self, dataset: str, fingerprint: bytes | None = None) -> Fraction:
        """Return the ε spent on this dataset and on those that share its data; 0 for unknown names.

        With a ``fingerprint``, also what was spent on that data under any other name: what a charge would meet.
        """
        return _total(self._read().pool(dataset, fingerprint)[1])

    def left(self, dataset: str, fingerprint: bytes | None = None) -> Fraction | None:
        """Return what the cap still allows, never below 0; None without a cap."""
        book = self._read()
        names, charges = book.pool(dataset, fingerprint)
        cap = book.cap(names)
        return None if cap is None else max(cap - _total(charges), Fraction(0))

    def datasets(self) -> list[str]:
        """Return every dataset name that was charged or given a cap, sorted; of its spellings, the first."""
        book = self._read()
        first: dict[str, str] = {}
        for name in (*(row.dataset for row in book.charges), *sorted(book.caps)):
            first.setdefault(same_name(name), name)
        return sorted(first.values())

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return all releases in order; of one dataset: those its `spent` adds up, shared data included."""
        book = self._read()
        rows = book.charges if dataset is None else book.pool(dataset)[1]
        return [
            Entry(row.release_id, row.dataset, row.created, Fraction(row.epsilon), row.title, row.summary)
            for row in rows
        ]

    def fingerprint(self, digest: bytes) -> bytes:
        """Return what the ledger remembers data by: HMAC-SHA256 of a content digest, under its own key.

        Without that key a fingerprint confirms no guess about the data.
        """
        return keyed(self._secret, "fingerprint", digest)

    def derive_key(self, purpose: str, *parts: bytes) -> bytes:
        """Return 32 bytes that are always the same for this ledger, purpose and parts, and secret to it."""
        return keyed(self._secret, "derive", purpose, *parts)

    def find(self, fingerprint: bytes, plan_key: str) -> bytes | None:
        """Return the stored release of this plan on this data; None if there is none yet."""
        with self._store.reading() as connection:
            row = read(connection, self._secret).published(fingerprint, plan_key)
            return None if row is None else payload_of(connection, row)

    def holds(self, plan_key: str) -> bool:
        """Whether there is a stored release of this plan, on whatever data."""
        return any(row.plan_key == plan_key for row in self._read().charges)

    def payload(self, release_id: str) -> bytes | None:
        """Return the stored release with this id; None if there is none."""
        with self._store.reading() as connection:
            rows = [row for row in read(connection, self._secret).charges if row.release_id == release_id]
            return payload_of(connection, rows[0]) if rows else None

    def check(self, dataset: str, fingerprint: bytes, epsilon: Fraction) -> None:
        """Raise `BudgetError` if a new charge would be refused now; not binding, `record` decides."""
        _check_texts(dataset=dataset)
        _refuse_over_cap(self._read(), dataset, fingerprint, read_amount(epsilon, "ε"))

    def record(
        self,
        *,
        dataset: str,
        fingerprint: bytes,
        plan_key: str,
        epsilon: Fraction,
        release_id: str,
        created: str,
        title: str,
        summary: str,
        payload: bytes,
    ) -> bytes:
        """Charge ε and store the finished release, in one transaction; return the release to show.

        If this data and plan were published before, that release is returned and nothing is charged.
        Show nothing but what is returned. After an error it is safe to call again.

        Raises `BudgetError` if the cap would be passed.
        """
        cost = read_amount(epsilon, "ε")
        digest = hashlib.sha256(payload).digest()
        _check_texts(
            dataset=dataset, plan_key=plan_key, release_id=release_id,
            created=created, title=title, summary=summary,
        )  # fmt: skip
        with self._store.writing() as connection:
            _crash_point("after_begin")
            book = read(connection, self._secret)
            known = book.published(fingerprint, plan_key)
            if known is not None:
                return payload_of(connection, known)
            if any(row.release_id == release_id for row in book.charges):
                raise LedgerError("This release id is already in the ledger for another release.")
            _refuse_over_cap(book, dataset, fingerprint, cost)
            fields = {
                "release_id": release_id,
                "dataset": dataset,
                "fingerprint": fingerprint,
                "plan_key": plan_key,
                "created": created,
                "epsilon": ratio_text(cost),
                "title": title,
                "summary": summary,
                "payload_sha256": digest,
            }
            number = add_charge(connection, book, fields)
            _crash_point("after_insert")
            add_payload(connection, number, payload)
            _crash_point("before_commit")
        _crash_point("after_commit")
        return payload

    def verify_chain(self) -> None:
        """Check every entry and every stored release; raise `LedgerError` naming the first broken entry."""
        with self._store.reading() as connection:
            for row in read(connection, self._secret).charges:
                payload_of(connection, row)

    def _read(self) -> Book:
        with self._store.reading() as connection:
            return read(connection, self._secret)


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
        "what was published before can be had again at no cost."
    )


def read_amount(value: ExactLike, what: str) -> Fraction:
    """Return the positive rational that an int, a Fraction or an exact text stands for. Raises `BudgetError`."""
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
        # Databases differ on NUL and half characters; a ledger must not.
        if not isinstance(text, str) or "\0" in text or text != text.encode("utf-8", "ignore").decode():
            raise BudgetError(f"The {name} must be a text without NUL or half characters.")
    if not str(texts["dataset"]).strip():
        raise BudgetError("The dataset needs a name: it says whose budget is spent.")
