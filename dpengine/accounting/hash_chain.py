"""What a ledger holds, and how it holds together: its tables, the chain of its charges, the pools.

The chain: each charge carries a SHA-256 over the charge before it and its own fields; the meta row
carries the last one. The caps, which may change, are sealed as a whole under the ledger's key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting.database import locked
from dpengine.errors import LedgerError
from dpengine.exact import ratio_text

__all__ = [
    "Book",
    "add_charge",
    "add_payload",
    "build",
    "keyed",
    "payload_of",
    "read",
    "same_name",
    "secret_of",
    "set_cap",
]

_VERSION = 1

# STRICT makes SQLite hold to the column types, as other databases do anyway.
_tables = sa.MetaData()
_meta = sa.Table(
    "ledger_meta",
    _tables,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("entries", sa.Integer, nullable=False),
    sa.Column("head", sa.LargeBinary, nullable=False),
    sa.Column("caps_seal", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
_caps = sa.Table(
    "ledger_caps",
    _tables,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("cap", sa.Text, nullable=False),
    sqlite_strict=True,
)
_charges = sa.Table(
    "ledger_charges",
    _tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("release_id", sa.Text, nullable=False, unique=True),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.LargeBinary, nullable=False),
    sa.Column("plan_key", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("payload_sha256", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("fingerprint", "plan_key"),
    sqlite_strict=True,
)
_payloads = sa.Table(
    "ledger_payloads",
    _tables,
    sa.Column("number", sa.ForeignKey(_charges.c.number), primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
_HASHED = [column.name for column in _charges.columns if column.name != "hash"]


@dataclass(frozen=True, slots=True)
class Book:
    """All charges and caps at one moment, with found whole."""

    charges: tuple[sa.Row[Any], ...]
    caps: dict[str, Fraction]
    head: bytes

    def pool(self, dataset: str, fingerprint: bytes | None = None) -> tuple[set[str], list[sa.Row[Any]]]:
        """Return the names and charges linked, however far, to this name (in any spelling) and this data."""
        names, prints = {dataset}, {fingerprint}
        alike = {same_name(dataset)}
        linked: list[sa.Row[Any]] = []
        while True:
            found = [row for row in self.charges if same_name(row.dataset) in alike or row.fingerprint in prints]
            if len(found) == len(linked):
                return names, linked
            linked = found
            names |= {row.dataset for row in linked}
            alike |= {same_name(row.dataset) for row in linked}
            prints |= {row.fingerprint for row in linked}

    def cap(self, names: set[str]) -> Fraction | None:
        alike = {same_name(name) for name in names}
        return min((cap for name, cap in self.caps.items() if same_name(name) in alike), default=None)

    def published(self, fingerprint: bytes, plan_key: str) -> sa.Row[Any] | None:
        wanted = (fingerprint, plan_key)
        return next((row for row in self.charges if (row.fingerprint, row.plan_key) == wanted), None)


def read(connection: sa.Connection, secret: bytes) -> Book:
    """Return everything but the releases themselves; refuse what does not hold together."""
    meta = _only_meta(connection)
    if not hmac.compare_digest(meta.secret, secret):
        raise LedgerError("The ledger was exchanged for another one while in use; open it again.")
    rows = tuple(connection.execute(sa.select(_charges).order_by(_charges.c.number)))
    head = _genesis(secret)
    for number, row in enumerate(rows, 1):
        head = _link(head, row._asdict())
        if row.number != number or row.hash != head:
            raise _broken(number, "or the one before it, was changed or is missing")
    if meta.entries != len(rows) or meta.head != head:
        raise _broken(len(rows) + 1, "is missing, or was never there and the count of entries was changed")
    caps = {row.dataset: Fraction(row.cap) for row in connection.execute(sa.select(_caps))}
    if meta.caps_seal != _seal(secret, caps):
        raise LedgerError("A cap in the ledger was changed from outside; put back a whole copy.")
    return Book(rows, caps, head)


def secret_of(connection: sa.Connection) -> bytes:
    """Return the ledger's own key."""
    return bytes(_only_meta(connection).secret)


def set_cap(connection: sa.Connection, secret: bytes, dataset: str, cap: Fraction) -> None:
    """Set or replace the cap of one dataset, however its name was spelled before."""
    before = read(connection, secret).caps
    replaced = [name for name in before if same_name(name) == same_name(dataset)]
    caps = {name: old for name, old in before.items() if name not in replaced} | {dataset: cap}
    connection.execute(sa.delete(_caps).where(_caps.c.dataset.in_(replaced)))
    connection.execute(sa.insert(_caps).values(dataset=dataset, cap=ratio_text(cap)))
    connection.execute(sa.update(_meta).values(caps_seal=_seal(secret, caps)))


def add_charge(connection: sa.Connection, book: Book, fields: Mapping[str, Any]) -> int:
    """Append a charge to the chain; return its number."""
    number = len(book.charges) + 1
    head = _link(book.head, {**fields, "number": number})
    connection.execute(sa.insert(_charges).values(**fields, number=number, hash=head))
    connection.execute(sa.update(_meta).values(entries=number, head=head))
    return number


def add_payload(connection: sa.Connection, number: int, payload: bytes) -> None:
    """Store the release that a charge bought."""
    connection.execute(sa.insert(_payloads).values(number=number, payload=payload))


def payload_of(connection: sa.Connection, row: sa.Row[Any]) -> bytes:
    """Return the release of a charge, exactly as it was stored."""
    payload = connection.scalar(sa.select(_payloads.c.payload).where(_payloads.c.number == row.number))
    if payload is None or hashlib.sha256(payload).digest() != row.payload_sha256:
        raise _broken(row.number, "has a stored release that was changed or is missing")
    return bytes(payload)


def build(connection: sa.Connection) -> None:
    """Make the tables and the key of a new ledger; leave one that is there as it is."""
    # SQLite comes here with a new database only; looking there for tables would cost more than all else.
    elsewhere = connection.dialect.name != "sqlite"
    if not (elsewhere and sa.inspect(connection).has_table(_meta.name)):
        _tables.create_all(connection, checkfirst=elsewhere)
    if connection.execute(sa.select(_meta.c.version)).first():
        return
    if connection.execute(sa.select(_charges.c.number).limit(1)).first():
        raise LedgerError("The ledger is damaged: it has charges, but no key. Put back a whole copy.")
    secret = secrets.token_bytes(32)
    start = {"entries": 0, "head": _genesis(secret), "caps_seal": _seal(secret, {})}
    connection.execute(sa.insert(_meta).values(version=_VERSION, secret=secret, **start))


def same_name(dataset: str) -> str:
    """Return what all spellings of a dataset's name share: a capital or a blank must not open a second budget."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", dataset).casefold()).strip()


def keyed(secret: bytes, *parts: bytes | str) -> bytes:
    """Return the HMAC-SHA256 of the parts, as a list, under the ledger's key."""
    return hmac.digest(secret, _framed(*parts), "sha256")


def _framed(*parts: object) -> bytes:
    """Join parts, each with its length before it, so that no two lists of parts look alike."""
    raw = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in raw)


def _genesis(secret: bytes) -> bytes:
    """Return the start of the chain; it stands on the key, so that a damaged key breaks the chain."""
    return keyed(secret, "genesis", str(_VERSION))


def _seal(secret: bytes, caps: Mapping[str, Fraction]) -> bytes:
    return keyed(secret, "caps", *(part for name in sorted(caps) for part in (name, ratio_text(caps[name]))))


def _link(previous: bytes, fields: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(_framed(previous, *(fields[name] for name in _HASHED))).digest()


def _only_meta(connection: sa.Connection) -> sa.Row[Any]:
    """Return the one meta row; outside SQLite, a writer holds it locked from here to its commit."""
    rows = connection.execute(locked(connection, sa.select(_meta))).all()
    if len(rows) != 1 or rows[0].version != _VERSION:
        raise LedgerError("The ledger is damaged, or written by a later version of this program.")
    return rows[0]


def _broken(number: int, what: str) -> LedgerError:
    return LedgerError(f"Entry {number} of the ledger, {what}. Nothing can be released until a whole copy is put back.")
