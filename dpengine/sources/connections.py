"""Tables and views of databases that an operator has named, reached through Ibis or DuckDB.

People who choose among them only see names, never an address, an account or a driver's message, and cannot run SQL of
their own. Each visit opens its own connection with the operator's account, which should have read access only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import duckdb

from dpengine.errors import PrivateReleaseError, TableError
from dpengine.sources.databases import copying
from dpengine.sources.databases.dialects import DIALECTS
from dpengine.sources.databases.remote import RemoteTable
from dpengine.sources.open import open_table
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _

__all__ = ["Connection", "list_tables", "open_connection"]

Connection = Mapping[str, str]  # an entry of the operator's settings: `url`, and perhaps `schema`

FILE, SPARK = "duckdb://", "pyspark://"
TIMEOUT = 10  # seconds to wait for a PostgreSQL server, unless its address says otherwise
_LIST_TABLES = (
    "SELECT CASE table_schema WHEN 'main' THEN '' ELSE table_schema || '.' END || table_name "
    "FROM information_schema.tables ORDER BY ALL"
)
_MATERIALIZED = (
    "SELECT matviewname FROM pg_matviews WHERE schemaname = COALESCE(%s, CURRENT_SCHEMA()) "
    "AND has_table_privilege(format('%%I.%%I', schemaname, matviewname), 'SELECT')"
)
_log = logging.getLogger("private_release")


def list_tables(name: str, connection: Connection) -> list[str]:
    """Return the names of the tables and views of a database. Raises `TableError` if it cannot be reached."""
    with _details_hidden(name):
        if connection["url"].startswith(FILE):
            with duckdb.connect(connection["url"].removeprefix(FILE), read_only=True) as opened:
                return [str(row[0]) for row in opened.execute(_LIST_TABLES).fetchall()]
        backend = _connect(connection["url"])
        try:
            return sorted({*backend.list_tables(**_schema(connection)), *_materialized(backend, connection)})
        finally:
            _disconnect(backend)


def open_connection(name: str, connection: Connection, table: str) -> Table:
    """Open a table named by `list_tables`. Raises `TableError` if it cannot be read."""
    with _details_hidden(name):
        if connection["url"].startswith(FILE):
            return open_table(connection["url"].removeprefix(FILE), table=table, name="database.duckdb")
        backend = _connect(connection["url"])
        try:
            opened = open_table(backend.table(table, **_schema(connection)))
        except BaseException:
            _disconnect(backend)
            raise
        if isinstance(opened, RemoteTable):
            opened.own_connection(partial(_disconnect, backend))
        else:  # its rows have been copied here
            _disconnect(backend)
        return opened


def _connect(url: str) -> Any:
    import ibis  # imports slowly, and most servers offer no database

    if url.startswith(SPARK):  # Ibis would set each option again in the running session, which refuses
        from ibis.backends.pyspark import SparkSession  # there if the operator has installed Spark

        builder = SparkSession.builder
        for setting, value in parse_qsl(urlsplit(url).query):
            builder = builder.config(setting, value)
        return ibis.pyspark.connect(builder.getOrCreate())
    waits = {} if "connect_timeout=" in url or not url.startswith("postgres") else {"connect_timeout": TIMEOUT}
    try:
        return ibis.connect(url, **waits)
    except (ImportError, ValueError) as error:  # no driver for the engine, or no such engine
        known = ", ".join(f"{engine}://" for engine in [*DIALECTS, *copying.ENGINES["tested"]])
        raise ConnectionError(f"{error}. Install the driver that Ibis names; tested are {known}") from None


def _disconnect(backend: Any) -> None:
    if backend.name != "pyspark":  # all visitors share its one session, which this would end
        backend.disconnect()


def _materialized(backend: Any, connection: Connection) -> list[str]:
    """Return the names of PostgreSQL's materialized views, which are no tables to the standard that Ibis asks."""
    if backend.name != "postgres":
        return []
    with backend.con.cursor() as cursor:
        return [str(row[0]) for row in cursor.execute(_MATERIALIZED, [connection.get("schema")]).fetchall()]


def _schema(connection: Connection) -> dict[str, str]:
    return {"database": connection["schema"]} if "schema" in connection else {}


def _without_password(message: str) -> str:
    """Return the first line of a driver's message, with the password in any address removed."""
    return re.sub(r"(://[^:@/\s]*):[^@\s]*@", r"\1:…@", message.strip().partition("\n")[0])


@contextmanager
def _details_hidden(name: str) -> Iterator[None]:
    """Turn a driver's error, which may quote addresses and accounts, into one that names the database only."""
    try:
        yield
    except PrivateReleaseError:
        raise
    except Exception as error:  # noqa: BLE001  (each driver has errors of its own)
        _log.warning(
            "The database %r cannot be read (%s): %s", name, type(error).__name__, _without_password(str(error))
        )
        raise TableError(
            _("the database {name!r} cannot be read just now; try again, or ask who runs this server", name=name)
        ) from None
