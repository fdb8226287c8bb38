"""The values of this visit in a page's code: the table, how it was read, and whose budget is spent."""

from __future__ import annotations

from typing import Any

from pages.parts.access.accounts import OF_A_PERSON
from pages.parts.visit.samples import SAMPLES
from pages.parts.visit.state import visit

__all__ = ["ledger_values", "table_values"]

FOLDER = "data"  # folder of the samples


def table_values() -> dict[str, Any]:
    """Return how to open the table: by its file's name, as a sample, or from a database."""
    here = visit()
    database, schema = here.read_as.get("database", ""), here.read_as.get("schema", "")
    read = {} if database else here.read_as
    table = here.read_as["table"] if database else here.table_name
    if here.sample:
        table = f"{FOLDER}/{SAMPLES[here.sample].file}"
    return {
        "table": table, "options": read, "sample": bool(here.sample), "folder": FOLDER, "database": database,
        "schema": schema,
        **ledger_values(),
    }  # fmt: skip


def ledger_values() -> dict[str, Any]:
    """Return whose part of the ledger is used; the ledger's address is for its operator alone.

    For a person, the code says only that the part is their own: code is passed on, and must not hold an identity.
    """
    owner = visit().account.owner
    personal = owner.startswith(OF_A_PERSON)
    return {"owner": "" if personal else owner, "personal": personal, "ledger": None}
