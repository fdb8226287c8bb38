"""A table or view of a DuckDB database file, opened for reading only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpengine.errors import TableError
from dpengine.sources.relation import check_names, link, within_calendar
from dpengine.sql import identifier, literal
from dpengine.translation.catalogue import _, some_of

__all__ = ["ENDINGS", "open_database"]

ENDINGS = (".duckdb", ".ddb")


def open_database(connection: Any, folder: Path, path: Path, table: str | None) -> list[str]:
    """Make `rows` from the named table, or from the only one; return the names of its columns.

    `table` is a name, with its schema if that is not `main`. A view in the file may name any other file, so the
    connection can read nothing else afterwards. Raises `TableError`, which lists the tables of the database.
    """
    import duckdb  # loaded by then

    try:
        connection.execute(f"ATTACH {literal(str(link(path, folder, 'source.duckdb')))} AS source (READ_ONLY)")
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise TableError(
                _("the database is in use by a program that writes to it; close it there, or copy the file")
            ) from None
        raise TableError(_("this is not a DuckDB database, or one of a later version; write it again")) from None
    connection.execute("SET enable_external_access = false")
    connection.execute("SET search_path = 'memory.main,source.main'")  # views name their tables without the database
    tables = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'source' ORDER BY ALL"
    ).fetchall()
    named = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in tables}
    known = some_of(named) or _("no tables")
    if table is None and len(named) != 1:
        raise TableError(
            _(
                "say which table of the database is meant, with table=, or on the command line with --table; "
                "it has: {listed}",
                listed=known,
            )
        )
    table = next(iter(named)) if table is None else table
    place = named.get(table)
    if place is None:
        raise TableError(_("there is no table {table!r} in the database; it has: {listed}", table=table, listed=known))
    source = f"source.{identifier(place[0])}.{identifier(place[1])}"
    try:
        names = [str(row[0]) for row in connection.execute(f"DESCRIBE {source}").fetchall()]
        check_names(names)
        connection.execute(
            f"CREATE VIEW raw({', '.join(f'c{i}' for i in range(len(names)))}) AS SELECT * FROM {source}"
        )
        within_calendar(connection)
    except duckdb.Error:
        raise TableError(
            _("the view {table!r} cannot be read here: it needs more than this file", table=table)
        ) from None
    return names
