"""The steps that bring a ledger of an earlier version up to date.

There are only three steps. A migration library such as Alembic would keep its own version table outside the ledger's
lock.
"""

from __future__ import annotations

import sqlalchemy as sa

from dpengine.accounting import schema
from dpengine.errors import LedgerError
from dpengine.translation.catalogue import _

__all__ = ["upgrade"]

_NOT_ALLOWED = "42501"  # insufficient_privilege, in PostgreSQL


def upgrade(connection: sa.Connection, version: int) -> None:
    """Bring a ledger of an earlier version up to date, within the transaction of the write that needs it.

    SQLite and PostgreSQL roll back changes of tables with the rest of a transaction, so a crash leaves the earlier
    version whole. The lock of `only_meta` lets one writer through; the next finds the new version. Earlier programs
    refuse the ledger then.
    """
    if version == schema.VERSION:
        return
    try:
        if version < 2:
            connection.execute(sa.text(f"ALTER TABLE {schema.charges.name} ADD COLUMN kind TEXT"))
        if version < 3:
            _add_owners(connection)
        _add_tables(connection, [table for table in schema.all_tables.sorted_tables if schema.lacks(version, table)])
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _NOT_ALLOWED:
            raise
        raise LedgerError(
            _(
                "The ledger is of an earlier version, and this account may not bring it up to date: charge "
                "something with the account that made it, or transfer its tables to this account. Nothing was "
                "released."
            )
        ) from None
    connection.execute(sa.update(schema.meta).values(version=schema.VERSION))


def _add_owners(connection: sa.Connection) -> None:
    """Upgrade from version 2 to 3: names and ids become unique for each owner, and no longer in the whole ledger."""
    if connection.dialect.name == "sqlite":
        _rebuild(connection, schema.caps)
        _rebuild(connection, schema.charges)
    else:
        _alter(connection)


def _add_tables(connection: sa.Connection, tables: list[sa.Table]) -> None:
    schema.all_tables.create_all(connection, tables=tables, checkfirst=False)
    if connection.dialect.name == "postgresql":
        _grant_alike(connection, tables)


def _rebuild(connection: sa.Connection, table: sa.Table) -> None:
    """Replace a table by one with today's columns and constraints, which SQLite cannot change in place.

    Source: the twelve steps of sqlite.org/lang_altertable.html, section 7; foreign keys are not enforced here.
    """
    old = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    shared = [column.name for column in table.columns if column.name in old]
    fresh = table.to_metadata(sa.MetaData(), name=f"{table.name}_fresh")
    fresh.create(connection)
    connection.execute(sa.insert(fresh).from_select(shared, sa.select(*(table.c[name] for name in shared))))
    connection.execute(sa.text(f"DROP TABLE {table.name}"))
    connection.execute(sa.text(f"ALTER TABLE {fresh.name} RENAME TO {table.name}"))


def _alter(connection: sa.Connection) -> None:
    inspector, quote = sa.inspect(connection), connection.dialect.identifier_preparer.quote
    charges, caps = schema.charges, schema.caps
    unique = inspector.get_unique_constraints(charges.name)
    (one_id,) = (str(each["name"]) for each in unique if each["column_names"] == ["release_id"])
    added = [f"ADD COLUMN {name} {charges.c[name].type.compile(connection.dialect)}"
             for name in ("owner", "recognised", "sketch_sha256")]  # fmt: skip
    changes = [*added, f"DROP CONSTRAINT {quote(one_id)}", "ADD UNIQUE (owner, release_id)"]
    connection.execute(sa.text(f"ALTER TABLE {charges.name} {', '.join(changes)}"))
    key = quote(str(inspector.get_pk_constraint(caps.name)["name"]))
    changes = [
        "ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        f"DROP CONSTRAINT {key}",
        "ADD PRIMARY KEY (dataset, owner)",
    ]
    connection.execute(sa.text(f"ALTER TABLE {caps.name} {', '.join(changes)}"))


def _grant_alike(connection: sa.Connection, added: list[sa.Table]) -> None:
    """Grant the new tables to the accounts that may use the charges, with the same privileges."""
    granted = sa.text(
        "SELECT grantee, privilege_type FROM information_schema.role_table_grants "
        "WHERE table_schema = current_schema() AND table_name = :name AND grantee <> current_user"
    )
    quote = connection.dialect.identifier_preparer.quote
    tables = ", ".join(table.name for table in added)
    for grantee, privilege in connection.execute(granted, {"name": schema.charges.name}).all():
        account = "PUBLIC" if grantee == "PUBLIC" else quote(grantee)
        connection.execute(sa.text(f"GRANT {privilege} ON {tables} TO {account}"))
