"""The hash chain that seals a ledger's charges, and the ledger's state as checked against it.

Each charge carries a SHA-256 over the hash of the charge before it and its own fields; the meta row carries the last
hash. Caps, and rules and requests of approval, may change, so they are sealed as a whole under the ledger's key. One
chain seals the charges of all owners; a `Snapshot` (`accounting.snapshot`) shows those of one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from dpengine.accounting import schema, witness
from dpengine.accounting.approval import records
from dpengine.accounting.snapshot import Snapshot
from dpengine.accounting.witness import Seen
from dpengine.errors import LedgerError
from dpengine.exact import ratio_text
from dpengine.translation.catalogue import _, mark

__all__ = [
    "add_charge", "add_payload", "add_sketch", "build", "check_continues", "keyed", "lost", "named_key",
    "payload_of", "read", "reseal", "secret_of", "set_cap", "sketch_of", "state_of", "verify",
]  # fmt: skip

_CHANGED = mark(
    "A cap in the ledger, or an approval, was changed from outside; restore the ledger from an intact backup."
)
# What later versions added is sealed last, and only where it is stored.
_KIND, _VERSION_3 = "kind", ("owner", "recognised", "sketch_sha256")
_SEALED = [column.name for column in schema.charges.columns if column.name not in ("hash", _KIND, *_VERSION_3)]

MAX_REMEMBERED = 4  # ledgers of this process whose charges are remembered
_checked: dict[bytes, tuple[list[sa.Row[Any]], bytes]] = {}  # by the ledger's key: charges, and the hash of the last
_lock = threading.Lock()


def read(connection: sa.Connection, secret: bytes, owner: str) -> Snapshot:
    """Return everything of one owner except the payloads; raise `LedgerError` if parts of the ledger do not agree."""
    meta = schema.only_meta(connection)
    if not hmac.compare_digest(meta.secret, secret):
        raise LedgerError(_("The ledger was replaced by another one while in use; open it again."))
    rows = schema.charges_of(connection, meta.version)
    head = _check_chain(rows, secret)
    if meta.entries != len(rows) or meta.head != head:
        raise _broken(len(rows) + 1, mark("is missing, or was never there and the count of entries was changed"))
    caps, rules, requests = changeable = _changeable(connection, meta.version)
    if meta.caps_seal != _seal(secret, *changeable):
        raise LedgerError(_(_CHANGED))
    return Snapshot(
        owner,
        tuple(row for row in rows if (row.owner or "") == owner),
        {dataset: cap for (whose, dataset), cap in caps.items() if whose == owner},
        frozenset(dataset for whose, dataset in rules if whose == owner),
        tuple(row for row in requests if row.owner == owner),
        len(rows),
        head,
        meta.version,
    )


def _check_chain(rows: list[sa.Row[Any]], secret: bytes) -> bytes:
    """Return the hash of the last charge; raise `LedgerError` unless each carries the hash of all up to it.

    Charges that this process has checked before are only compared with what they were: hashing takes most of the time.
    """
    checked, head = _checked.get(secret, ([], _genesis(secret)))
    if rows[: len(checked)] != checked:
        checked, head = [], _genesis(secret)
    for number, row in enumerate(rows[len(checked) :], len(checked) + 1):
        head = _link(head, row._asdict())
        if row.number != number or row.hash != head:
            raise _broken(number, mark("or the one before it, was changed or is missing"))
    if len(rows) > len(checked):
        _remember(rows, secret, head)
    return head


def _remember(rows: list[sa.Row[Any]], secret: bytes, head: bytes) -> None:
    with _lock:
        _checked.pop(secret, None)
        while len(_checked) >= MAX_REMEMBERED:
            del _checked[next(iter(_checked))]
        _checked[secret] = rows, head


def secret_of(connection: sa.Connection) -> bytes:
    """Return the ledger's own key."""
    return bytes(schema.only_meta(connection).secret)


def set_cap(connection: sa.Connection, snapshot: Snapshot, secret: bytes, dataset: str, cap: Fraction) -> None:
    """Set the cap of one dataset of the snapshot's owner, in place of an earlier cap under any spelling of its name."""
    schema.forget(connection, schema.caps, snapshot.owner, dataset, snapshot.caps)
    connection.execute(sa.insert(schema.caps).values(dataset=dataset, cap=ratio_text(cap), owner=snapshot.owner))
    reseal(connection, secret)


def reseal(connection: sa.Connection, secret: bytes) -> None:
    """Seal the present caps, rules and requests, for a writer that has read all of them and changed some."""
    seal = _seal(secret, *_changeable(connection, schema.VERSION))
    connection.execute(sa.update(schema.meta).values(caps_seal=seal))


def add_charge(connection: sa.Connection, snapshot: Snapshot, fields: Mapping[str, Any]) -> int:
    """Append a charge of the snapshot's owner to the chain; return its number."""
    entry = snapshot.entries + 1
    fields = {**fields, "owner": snapshot.owner, "number": entry}
    head = _link(snapshot.head, fields)
    connection.execute(sa.insert(schema.charges).values(**fields, hash=head))
    connection.execute(sa.update(schema.meta).values(entries=entry, head=head))
    return entry


def add_sketch(connection: sa.Connection, number: int, sketch: bytes) -> None:
    """Store the sealed sketch of the data that was charged for."""
    connection.execute(sa.insert(schema.sketches).values(number=number, sketch=sketch))


def sketch_of(connection: sa.Connection, charge: sa.Row[Any]) -> bytes | None:
    """Return the sealed sketch of a charge's data; None if there is none."""
    if not charge.sketch_sha256:
        return None
    table = schema.sketches.c
    sketch = connection.scalar(sa.select(table.sketch).where(table.number == charge.number))
    if sketch is None or hashlib.sha256(sketch).digest() != charge.sketch_sha256:
        raise _broken(charge.number, mark("has a stored sketch that was changed or is missing"))
    return bytes(sketch)


def add_payload(connection: sa.Connection, number: int, payload: bytes) -> None:
    """Store the result that a charge bought."""
    connection.execute(sa.insert(schema.payloads).values(number=number, payload=payload))


def payload_of(connection: sa.Connection, charge: sa.Row[Any]) -> bytes:
    """Return the result of a charge, exactly as it was stored."""
    payloads = schema.payloads.c
    payload = connection.scalar(sa.select(payloads.payload).where(payloads.number == charge.number))
    if payload is None or hashlib.sha256(payload).digest() != charge.payload_sha256:
        raise _broken(charge.number, mark("has a stored release that was changed or is missing"))
    return bytes(payload)


def named_key(connection: sa.Connection, secret: bytes, name: str, make: Callable[[], bytes] | None) -> bytes | None:
    """Return the key that is kept under `name`; if there is none, keep what `make` returns, or return None."""
    if not schema.lacks(schema.only_meta(connection).version, schema.keys):
        row = connection.execute(sa.select(schema.keys).where(schema.keys.c.name == name)).first()
        if row is not None:
            if not hmac.compare_digest(row.seal, keyed(secret, "key", name, row.value)):
                raise LedgerError(_("A key in the ledger was changed from outside; restore an intact backup."))
            return bytes(row.value)
    if make is None:
        return None
    value = make()
    seal = keyed(secret, "key", name, value)
    connection.execute(sa.insert(schema.keys).values(name=name, value=value, seal=seal))
    return value


def build(connection: sa.Connection, refusal: LedgerError | None = None) -> bool:
    """Make the tables and the key of a new ledger, and return True; leave an existing ledger as it is.

    With a `refusal`, raise it if there is no ledger, and create none.
    """
    # SQLite gets here only with a new database, where looking for tables would take longer than everything else.
    elsewhere = connection.dialect.name != "sqlite"
    if elsewhere and sa.inspect(connection).has_table(schema.meta.name):
        if connection.execute(sa.select(schema.meta.c.version)).first():
            return False
        if connection.execute(sa.select(schema.charges.c.number).limit(1)).first():
            raise LedgerError(_("The ledger is damaged: it has charges, but no key. Restore it from an intact backup."))
    if refusal is not None:
        raise refusal
    if elsewhere:
        schema.all_tables.create_all(connection)
    else:
        for statement in schema.sqlite_statements():
            connection.exec_driver_sql(statement)
    secret = secrets.token_bytes(32)
    start = {"entries": 0, "head": _genesis(secret), "caps_seal": _seal(secret, {})}
    connection.execute(sa.insert(schema.meta).values(version=schema.VERSION, secret=secret, **start))
    return True


def state_of(connection: sa.Connection) -> Seen:
    """Return the identity and length of this ledger, from its meta row, and a hash of each intact key."""
    meta = schema.only_meta(connection)
    secret = bytes(meta.secret)
    rows = () if schema.lacks(meta.version, schema.keys) else connection.execute(sa.select(schema.keys))
    intact = (row for row in rows if hmac.compare_digest(row.seal, keyed(secret, "key", row.name, row.value)))
    hashes = frozenset(hashlib.sha256(row.seal).digest() for row in intact)
    return Seen(keyed(secret, "identity"), int(meta.entries), bytes(meta.head), hashes)


def lost(connection: sa.Connection, now: Seen, seen: Seen) -> str | None:
    """Say what of the ledger seen before is missing from this one, in state `now`; None if nothing is."""
    charges = schema.charges.c
    there = connection.scalar(sa.select(charges.hash).where(charges.number == seen.entries))
    if loss := witness.lost_entries(now, seen, there):
        return loss
    if not seen.keys <= now.keys:
        return _(
            "its signing key is gone or was replaced, and readers who expect it will refuse what another one signs"
        )
    return None


def check_continues(connection: sa.Connection, seen: Seen | None, address: str | None) -> Seen:
    """Return the state of this ledger; raise `LedgerError` if it lacks anything of the one seen at its `address`."""
    now = state_of(connection)
    if seen is not None and (loss := lost(connection, now, seen)):
        raise witness.replaced(address, loss)
    return now


def verify(connection: sa.Connection) -> Seen:
    """Check the chain, and all stored results, sketches, keys and plans of all owners; return what was checked."""
    secret = secret_of(connection)
    version = read(connection, secret, "").version
    for charge in schema.charges_of(connection, version):
        payload_of(connection, charge)
        sketch_of(connection, charge)
    for request in schema.requests_of(connection, version):
        records.plan_of(connection, request)
    if not schema.lacks(version, schema.keys):
        for name in connection.scalars(sa.select(schema.keys.c.name)).all():
            named_key(connection, secret, name, None)
    return state_of(connection)


def keyed(secret: bytes, *parts: bytes | str) -> bytes:
    """Return the HMAC-SHA256 of a list of parts under the ledger's key."""
    return hmac.digest(secret, _framed(*parts), "sha256")


def _framed(*parts: object) -> bytes:
    """Join parts, each with its length before it, so that no two lists of parts look alike."""
    raw = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in raw)


def _genesis(secret: bytes) -> bytes:
    """Return the start of the chain; it depends on the key, so a damaged key breaks the chain."""
    return keyed(secret, "genesis", "1")  # also in later versions: the chain goes on through an upgrade


def _changeable(
    connection: sa.Connection, version: int
) -> tuple[dict[tuple[str, str], Fraction], list[tuple[str, str]], list[sa.Row[Any]]]:
    """Return caps by owner and dataset, rules, and requests of approval, of all owners."""
    caps = {(row.owner, row.dataset): Fraction(row.cap) for row in schema.caps_of(connection, version)}
    return caps, schema.rules_of(connection, version), schema.requests_of(connection, version)


def _seal(
    secret: bytes,
    caps: Mapping[tuple[str, str], Fraction],
    rules: Collection[tuple[str, str]] = (),
    requests: Collection[sa.Row[Any]] = (),
) -> bytes:
    """Return the seal of caps, rules and requests; without owners, rules and requests, that of earlier versions."""
    parts: list[str] = []
    for owner, dataset in sorted(caps):
        whose = ["", owner] if owner else []  # a dataset is never "", so this cannot be taken for another cap
        parts += [*whose, dataset, ratio_text(caps[owner, dataset])]
    seal = keyed(secret, "caps", *parts)
    if not rules and not requests:
        return seal
    named = [name for rule in rules for name in rule]
    fields = [part if isinstance(part, bytes) else str(part) for row in requests for part in row]
    return keyed(secret, "caps and approvals", seal, str(len(named)), *named, *fields)


def _link(previous: bytes, fields: Mapping[str, Any]) -> bytes:
    added = [fields[name] for name in _VERSION_3]
    if any(part is None for part in added):
        if any(part is not None for part in added):
            return b""  # no version writes some of these fields alone
        added = []
    kind = [] if fields[_KIND] is None else [fields[_KIND]]
    return hashlib.sha256(_framed(previous, *(fields[name] for name in _SEALED), *kind, *added)).digest()


def _broken(entry: int, fault: str) -> LedgerError:
    text = mark("Entry {entry} of the ledger, {fault}. Nothing can be released until a backup is restored.")
    return LedgerError(_(text, entry=entry, fault=_(fault)))
