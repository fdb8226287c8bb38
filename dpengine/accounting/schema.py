"""The tables of a ledger in its database, as they are today; `upgrade` holds the steps from earlier versions.

Version 2 added the column `kind` to the charges. Version 3 added owners, what was recognised of the data, sketches and
named keys. Version 4 added rules and requests of approval. Fields of earlier charges are never rewritten: what they
lack stays NULL, and their hash stays as it was sealed. `kind_of` infers a kind that is NULL from the form of
`plan_key`, which is sealed too; an `owner` that is NULL is the local owner, as is the empty text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from dpengine.accounting.database import locked
from dpengine.accounting.entry import Kind, same_name
from dpengine.errors import LedgerError
from dpengine.translation.catalogue import _

__all__ = [
    "VERSION", "all_tables", "caps", "caps_of", "charges", "charges_of", "forget", "has_meta", "keys", "kind_of",
    "lacks", "meta", "only_meta", "payloads", "requests", "requests_of", "rules", "rules_of", "sketches",
    "sqlite_statements", "version_of",
]  # fmt: skip

VERSION = 4

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
    sa.Column("owner", sa.Text, primary_key=True, server_default=""),
    sqlite_strict=True,
)
charges = sa.Table(
    "ledger_charges",
    all_tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("release_id", sa.Text, nullable=False),
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
    sa.Column("owner", sa.Text),
    sa.Column("recognised", sa.Text),
    sa.Column("sketch_sha256", sa.LargeBinary),
    sa.UniqueConstraint("fingerprint", "plan_key"),  # a fingerprint belongs to one owner
    sa.UniqueConstraint("owner", "release_id"),
    sqlite_strict=True,
)
payloads = sa.Table(
    "ledger_payloads",
    all_tables,
    sa.Column("number", sa.ForeignKey(charges.c.number), primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
sketches = sa.Table(
    "ledger_sketches",
    all_tables,
    sa.Column("number", sa.ForeignKey(charges.c.number), primary_key=True, autoincrement=False),
    sa.Column("sketch", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
keys = sa.Table(
    "ledger_keys",
    all_tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
    sa.Column("seal", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)
rules = sa.Table(  # the datasets that need a second person's approval; "" stands for all of an owner
    "ledger_rules",
    all_tables,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sqlite_strict=True,
)
requests = sa.Table(
    "ledger_requests",
    all_tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("request_id", sa.Text, nullable=False, unique=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("plan_sha256", sa.LargeBinary, nullable=False),
    sa.Column("other_people", sa.Integer, nullable=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("asked_by", "asked_name", "asked", "note", "state")),
    *(
        sa.Column(name, sa.Text, nullable=False, server_default="")
        for name in ("decided_by", "decided_name", "decided", "answer", "ended_by", "ended", "release_id")
    ),
    sa.Column("plan", sa.Text, nullable=False),
    sqlite_strict=True,
)
_TABLES_SINCE = {sketches: 3, keys: 3, rules: 4, requests: 4}  # the version that added a table
# Every use of a ledger reads all of this, and a statement that is made once is prepared once.
_SELECT_META, _SELECT_RULES = sa.select(meta), sa.select(rules)
_SELECT_REQUESTS = sa.select(*(column for column in requests.c if column.name != "plan")).order_by(requests.c.number)
_SINCE = {"kind": 2, "owner": 3, "recognised": 3, "sketch_sha256": 3}  # the version that added a column


@cache
def sqlite_statements() -> tuple[str, ...]:
    """Return the statements that create all tables in SQLite; SQLAlchemy would write them anew for each ledger."""
    return tuple(str(CreateTable(table).compile(dialect=sqlite.dialect())) for table in all_tables.sorted_tables)


def only_meta(connection: sa.Connection) -> sa.Row[Any]:
    """Return the one meta row; outside SQLite, a writer holds it locked from here to its commit."""
    rows = connection.execute(locked(connection, _SELECT_META)).all()
    if len(rows) != 1 or rows[0].version < 1:
        raise LedgerError(_("The ledger is damaged: its key is missing. Restore it from an intact backup."))
    if rows[0].version > VERSION:
        raise LedgerError(_("The ledger was written by a later version of this program; use that version."))
    return rows[0]


def has_meta(connection: sa.Connection) -> bool:
    """Return whether the ledger has its meta row, without which it is damaged, or was emptied."""
    return sa.inspect(connection).has_table(meta.name) and connection.execute(sa.select(meta)).first() is not None


def version_of(connection: sa.Connection) -> int:
    """Return the version of a ledger's layout; without its meta row, infer it from its columns and tables."""
    if has_meta(connection):
        return int(only_meta(connection).version)
    inspector = sa.inspect(connection)
    columns = {column["name"] for column in inspector.get_columns(charges.name)}
    of_columns = (version for name, version in _SINCE.items() if name in columns)
    of_tables = (version for table, version in _TABLES_SINCE.items() if inspector.has_table(table.name))
    return max([1, *of_columns, *of_tables])


def charges_of(connection: sa.Connection, version: int) -> list[sa.Row[Any]]:
    """Return the rows of all charges in order, with None in columns that the stored version does not have."""
    return list(connection.execute(_select_charges(version)))


@cache
def _select_charges(version: int) -> sa.Select[Any]:
    columns = [sa.null().label(c.name) if _SINCE.get(c.name, 1) > version else c for c in charges.c]
    return sa.select(*columns).order_by(charges.c.number)


def caps_of(connection: sa.Connection, version: int) -> list[sa.Row[Any]]:
    """Return the rows of all caps; those of earlier versions are the local owner's."""
    return list(connection.execute(_select_caps(version)))


@cache
def _select_caps(version: int) -> sa.Select[Any]:
    owner = sa.literal("").label("owner") if version < _SINCE["owner"] else caps.c.owner
    return sa.select(caps.c.dataset, caps.c.cap, owner)


def lacks(version: int, table: sa.Table) -> bool:
    """Return whether a ledger of this version does not have a table yet."""
    return version < _TABLES_SINCE.get(table, 1)


def rules_of(connection: sa.Connection, version: int) -> list[tuple[str, str]]:
    """Return owner and dataset of all rules, sorted; earlier versions have none."""
    if lacks(version, rules):
        return []
    return sorted((row.owner, row.dataset) for row in connection.execute(_SELECT_RULES))


def requests_of(connection: sa.Connection, version: int) -> list[sa.Row[Any]]:
    """Return the rows of all requests in order, without the texts of their plans; earlier versions have none."""
    if lacks(version, requests):
        return []
    return list(connection.execute(_SELECT_REQUESTS))


def forget(connection: sa.Connection, table: sa.Table, owner: str, dataset: str, known: Iterable[str]) -> None:
    """Delete the cap or rule of an owner's dataset, under all of the `known` spellings of its name."""
    spellings = [name for name in known if same_name(name) == same_name(dataset)]
    connection.execute(sa.delete(table).where(table.c.owner == owner, table.c.dataset.in_(spellings)))


def kind_of(charge: sa.Row[Any]) -> Kind:
    """Return the kind of a charge; for version 1, which stored none, infer it from the form of `plan_key`."""
    if charge.kind is not None:
        return Kind(charge.kind)
    if charge.plan_key.startswith("question "):
        return Kind.ANSWER
    return Kind.CHOICE if charge.plan_key.startswith("{") else Kind.RELEASE
