"""Databases that the operator lets owners choose tables from: listed in Streamlit's secrets, reached through Ibis.

Owners see the names that the operator gave, and names of tables and views; never an address, an account or
what a driver says, and they send no statement of their own. Each visit to a database is a connection of its own,
as the account that the operator named: one that may only read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import duckdb
import streamlit as st

from dpengine import PrivateReleaseError, TableError, open_table
from dpengine.sources.remote import RemoteTable
from dpengine.sources.table import Table

_log = logging.getLogger("private_release")

__all__ = ["SECTION", "Database", "known", "opened", "tables"]

Database = dict[str, str]  # what the operator wrote of one: its url, and more
SECTION = "connections_for_release"
FILE, SPARK = "duckdb://", "pyspark://"
PATIENCE = 10  # seconds that a server may take to answer the door; where an address says another time, that
_LISTED = (
    "SELECT CASE table_schema WHEN 'main' THEN '' ELSE table_schema || '.' END || table_name "
    "FROM information_schema.tables ORDER BY ALL"
)


def known() -> dict[str, Database]:
    """The databases, by what the operator calls them."""
    if not st.secrets.load_if_toml_exists():
        return {}
    section = st.secrets.get(SECTION, {})
    return {str(name): {str(key): str(value) for key, value in entry.items()} for name, entry in section.items()}


def tables(name: str, entry: Database) -> list[str]:
    """The tables and views of a database. Raises `TableError` where it cannot be reached."""
    with _discreetly(name):
        if entry["url"].startswith(FILE):
            with duckdb.connect(entry["url"].removeprefix(FILE), read_only=True) as connection:
                return [str(row[0]) for row in connection.execute(_LISTED).fetchall()]
        backend = _connect(entry["url"])
        try:
            return sorted(backend.list_tables(**_place(entry)))
        finally:
            _leave(backend)


def opened(name: str, entry: Database, table: str) -> Table:
    """One of the `tables` of a database. Raises `TableError` where it cannot be read."""
    with _discreetly(name):
        if entry["url"].startswith(FILE):
            return open_table(entry["url"].removeprefix(FILE), table=table, name="database.duckdb")
        backend = _connect(entry["url"])
        try:
            found = open_table(backend.table(table, **_place(entry)))
        except BaseException:
            _leave(backend)
            raise
        if isinstance(found, RemoteTable):
            found.given(partial(_leave, backend))
        else:  # its rows have been copied here
            _leave(backend)
        return found


def _connect(url: str) -> Any:
    import ibis  # takes a while to load, and most servers have no database to offer

    if url.startswith(SPARK):  # Ibis would set all of it anew in the session that it has made, which refuses
        from ibis.backends.pyspark import SparkSession  # an operator's own addition, which comes by way of Ibis

        builder = SparkSession.builder
        for setting, value in parse_qsl(urlsplit(url).query):
            builder = builder.config(setting, value)
        return ibis.pyspark.connect(builder.getOrCreate())
    waits = {} if "connect_timeout=" in url or not url.startswith("postgres") else {"connect_timeout": PATIENCE}
    return ibis.connect(url, **waits)


def _leave(backend: Any) -> None:
    if backend.name != "pyspark":  # all visitors share its one session, which this would end
        backend.disconnect()


def _place(entry: dict[str, str]) -> dict[str, str]:
    return {"database": entry["schema"]} if "schema" in entry else {}


def _unsigned(said: str) -> str:
    """The first line of what a driver says, without what follows the account in an address."""
    return re.sub(r"(://[^:@/\s]*):[^@\s]*@", r"\1:…@", said.strip().partition("\n")[0])


@contextmanager
def _discreetly(name: str) -> Iterator[None]:
    """Drivers' errors quote addresses and accounts; the owner is told none of them, and the log no password."""
    try:
        yield
    except PrivateReleaseError:
        raise
    except Exception as error:  # noqa: BLE001  (each driver has errors of its own)
        _log.warning("The database %r cannot be read (%s): %s", name, type(error).__name__, _unsigned(str(error)))
        raise TableError(
            f"the database {name!r} cannot be read just now; try again, or ask who runs this server"
        ) from None
