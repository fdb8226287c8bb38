"""The hash chain that seals a ledger's charges, and the ledger's state as checked against it.

Each charge carries a SHA-256 over the hash of the charge before it and its own fields; the meta row carries the last
hash. The caps may change, so they are sealed as a whole under the ledger's key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting import schema
from dpengine.accounting.entry import same_name
from dpengine.errors import LedgerError
from dpengine.exact import ratio_text

__all__ = [
    "Book", "add_charge", "add_payload", "build", "keyed", "payload_of", "read", "secret_of", "set_cap",
]  # fmt: skip

# Charges of version 1 were sealed without a kind; wherever a kind is stored, it is sealed as the last field.
_SEALED = [column.name for column in schema.charges.columns if column.name not in ("hash", "kind")]


@dataclass(frozen=True, slots=True)
class Book:
    """A consistent, chain-verified snapshot of all charges and caps."""

    charges: tuple[sa.Row[Any], ...]
    caps: dict[str, Fraction]
    head: bytes
    version: int

    def pool(self, dataset: str, fingerprint: bytes | None = None) -> tuple[set[str], list[sa.Row[Any]]]:
        """Return all names and charges that are linked, directly or through others, to this name or this data."""
        names, prints = {dataset}, {fingerprint}
        alike = {same_name(dataset)}
        linked: list[sa.Row[Any]] = []
        while True:
            charges = [row for row in self.charges if same_name(row.dataset) in alike or row.fingerprint in prints]
            if len(charges) == len(linked):
                return names, linked
            linked = charges
            names |= {row.dataset for row in linked}
            alike |= {same_name(row.dataset) for row in linked}
            prints |= {row.fingerprint for row in linked}

    def cap(self, names: set[str]) -> Fraction | None:
        """Return the smallest cap set on any of these names; None if there is none."""
        alike = {same_name(name) for name in names}
        return min((cap for name, cap in self.caps.items() if same_name(name) in alike), default=None)

    def published(self, fingerprint: bytes, plan_id: str) -> sa.Row[Any] | None:
        """Return the charge for this plan on this data; None if there is none."""
        wanted = (fingerprint, plan_id)
        return next((row for row in self.charges if (row.fingerprint, row.plan_key) == wanted), None)

    def named(self, release_id: str) -> sa.Row[Any] | None:
        """Return the charge with this id; None if there is none."""
        return next((row for row in self.charges if row.release_id == release_id), None)


def read(connection: sa.Connection, secret: bytes) -> Book:
    """Return everything except the payloads; raise `LedgerError` if the parts of the ledger do not agree."""
    meta = schema.only_meta(connection)
    if not hmac.compare_digest(meta.secret, secret):
        raise LedgerError("The ledger was replaced by another one while in use; open it again.")
    rows = schema.charges_of(connection, meta.version)
    head = _genesis(secret)
    for number, row in enumerate(rows, 1):
        head = _link(head, row._asdict())
        if row.number != number or row.hash != head:
            raise _broken(number, "or the one before it, was changed or is missing")
    if meta.entries != len(rows) or meta.head != head:
        raise _broken(len(rows) + 1, "is missing, or was never there and the count of entries was changed")
    caps = {row.dataset: Fraction(row.cap) for row in connection.execute(sa.select(schema.caps))}
    if meta.caps_seal != _seal(secret, caps):
        raise LedgerError("A cap in the ledger was changed from outside; restore the ledger from an intact backup.")
    return Book(tuple(rows), caps, head, meta.version)


def secret_of(connection: sa.Connection) -> bytes:
    """Return the ledger's own key."""
    return bytes(schema.only_meta(connection).secret)


def set_cap(connection: sa.Connection, book: Book, secret: bytes, dataset: str, cap: Fraction) -> None:
    """Set the cap of one dataset, in place of an earlier cap under any spelling of its name."""
    replaced = [name for name in book.caps if same_name(name) == same_name(dataset)]
    caps = {name: old for name, old in book.caps.items() if name not in replaced} | {dataset: cap}
    connection.execute(sa.delete(schema.caps).where(schema.caps.c.dataset.in_(replaced)))
    connection.execute(sa.insert(schema.caps).values(dataset=dataset, cap=ratio_text(cap)))
    connection.execute(sa.update(schema.meta).values(caps_seal=_seal(secret, caps)))


def add_charge(connection: sa.Connection, book: Book, fields: Mapping[str, Any]) -> int:
    """Append a charge to the chain; return its number."""
    number = len(book.charges) + 1
    head = _link(book.head, {**fields, "number": number})
    connection.execute(sa.insert(schema.charges).values(**fields, number=number, hash=head))
    connection.execute(sa.update(schema.meta).values(entries=number, head=head))
    return number


def add_payload(connection: sa.Connection, number: int, payload: bytes) -> None:
    """Store the result that a charge bought."""
    connection.execute(sa.insert(schema.payloads).values(number=number, payload=payload))


def payload_of(connection: sa.Connection, charge: sa.Row[Any]) -> bytes:
    """Return the result of a charge, exactly as it was stored."""
    payloads = schema.payloads.c
    payload = connection.scalar(sa.select(payloads.payload).where(payloads.number == charge.number))
    if payload is None or hashlib.sha256(payload).digest() != charge.payload_sha256:
        raise _broken(charge.number, "has a stored release that was changed or is missing")
    return bytes(payload)


def build(connection: sa.Connection) -> None:
    """Make the tables and the key of a new ledger; leave an existing ledger as it is."""
    # SQLite comes here with a new database only; looking there for tables would cost more than all else.
    elsewhere = connection.dialect.name != "sqlite"
    if not (elsewhere and sa.inspect(connection).has_table(schema.meta.name)):
        schema.all_tables.create_all(connection, checkfirst=elsewhere)
    if connection.execute(sa.select(schema.meta.c.version)).first():
        return
    if connection.execute(sa.select(schema.charges.c.number).limit(1)).first():
        raise LedgerError("The ledger is damaged: it has charges, but no key. Restore it from an intact backup.")
    secret = secrets.token_bytes(32)
    start = {"entries": 0, "head": _genesis(secret), "caps_seal": _seal(secret, {})}
    connection.execute(sa.insert(schema.meta).values(version=schema.VERSION, secret=secret, **start))


def keyed(secret: bytes, *parts: bytes | str) -> bytes:
    """Return the HMAC-SHA256 of the parts, as a list, under the ledger's key."""
    return hmac.digest(secret, _framed(*parts), "sha256")


def _framed(*parts: object) -> bytes:
    """Join parts, each with its length before it, so that no two lists of parts look alike."""
    raw = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in raw)


def _genesis(secret: bytes) -> bytes:
    """Return the start of the chain; it depends on the key, so a damaged key breaks the chain."""
    return keyed(secret, "genesis", "1")  # also in later versions: the chain goes on through an upgrade


def _seal(secret: bytes, caps: Mapping[str, Fraction]) -> bytes:
    return keyed(secret, "caps", *(part for name in sorted(caps) for part in (name, ratio_text(caps[name]))))


def _link(previous: bytes, fields: Mapping[str, Any]) -> bytes:
    kind = [] if fields["kind"] is None else [fields["kind"]]
    return hashlib.sha256(_framed(previous, *(fields[name] for name in _SEALED), *kind)).digest()


def _broken(number: int, fault: str) -> LedgerError:
    return LedgerError(f"Entry {number} of the ledger, {fault}. Nothing can be released until a backup is restored.")
