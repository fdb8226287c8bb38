"""The tables of a ledger in its database, and the step from version 1 to version 2.

Version 2 added the column `kind` to the charges. Rows of version 1 are never rewritten: their kind stays NULL and
their hash stays as it was sealed. `kind_of` infers their kind from the form of their `plan_key`, which is sealed too.

A migrations library such as Alembic would keep a version table of its own, outside the ledger's lock, for one column.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from dpengine.accounting.database import locked
from dpengine.accounting.entry import Kind
from dpengine.errors import LedgerError

__all__ = [
    "VERSION", "all_tables", "caps", "charges", "charges_of", "kind_of", "meta", "only_meta", "payloads", "upgrade",
]  # fmt: skip

VERSION = 2

# STRICT makes SQLite hold to the column types, as other databases do anyway.
all_tables = sa.MetaData()
meta = sa.Table(
    "ledger_meta",
    all_tables,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("entries", sa.Integer, nullable=False),
    sa.Column("head", sa.LargeBinary, nullable=False),
    sa.Column("caps_seal", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
caps = sa.Table(
    "ledger_caps",
    all_tables,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("cap", sa.Text, nullable=False),
    sqlite_strict=True,
)
charges = sa.Table(
    "ledger_charges",
    all_tables,
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
    sa.Column("kind", sa.Text),
    sa.UniqueConstraint("fingerprint", "plan_key"),
    sqlite_strict=True,
)
payloads = sa.Table(
    "ledger_payloads",
    all_tables,
    sa.Column("number", sa.ForeignKey(charges.c.number), primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
_NOT_ALLOWED = "42501"  # insufficient_privilege, in PostgreSQL


def only_meta(connection: sa.Connection) -> sa.Row[Any]:
    """Return the one meta row; outside SQLite, a writer holds it locked from here to its commit."""
    rows = connection.execute(locked(connection, sa.select(meta))).all()
    if len(rows) != 1 or rows[0].version < 1:
        raise LedgerError("The ledger is damaged: its key is missing. Restore it from an intact backup.")
    if rows[0].version > VERSION:
        raise LedgerError("The ledger was written by a later version of this program; use that version.")
    return rows[0]


def charges_of(connection: sa.Connection, version: int) -> list[sa.Row[Any]]:
    """Return the rows of all charges in order, with a `kind` of None where none is stored."""
    columns = [sa.null().label("kind") if version == 1 and c is charges.c.kind else c for c in charges.c]
    return list(connection.execute(sa.select(*columns).order_by(charges.c.number)))


def kind_of(charge: sa.Row[Any]) -> Kind:
    """Return the kind of a charge; for version 1, which stored none, infer it from the form of `plan_key`."""
    if charge.kind is not None:
        return Kind(charge.kind)
    if charge.plan_key.startswith("question "):
        return Kind.ANSWER
    return Kind.CHOICE if charge.plan_key.startswith("{") else Kind.RELEASE


def upgrade(connection: sa.Connection, version: int) -> None:
    """Bring a ledger of an earlier version up to date, within the transaction of the write that needs it.

    SQLite and PostgreSQL roll back a new column with the rest of a transaction, so a crash leaves version 1 whole. The
    lock of `only_meta` lets one writer through; the next finds version 2. Programs of version 1 refuse the ledger then.
    """
    if version == VERSION:
        return
    try:
        connection.execute(sa.text(f"ALTER TABLE {charges.name} ADD COLUMN kind TEXT"))
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _NOT_ALLOWED:
            raise
        raise LedgerError(
            "The ledger is of an earlier version, and this account may not bring it up to date: charge something "
            "with the account that made it, or transfer its tables to this account. Nothing was released."
        ) from None
    connection.execute(sa.update(meta).values(version=VERSION))
