"""What the code of a page says of this visit: its table and how it was read, and whose budget is spent."""

from __future__ import annotations

from typing import Any

from pages.parts.access.accounts import OF_A_PERSON
from pages.parts.visit.samples import SAMPLES
from pages.parts.visit.state import visit

__all__ = ["ledger_values", "table_values"]

FOLDER = "data"  # of the samples


def table_values() -> dict[str, Any]:
    """Return how the table at hand is opened: by its file's name, as a sample, or from a database."""
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
    """Return whose part of the ledger it is; where the ledger is, only its operator may know.

    Of a person, only that the part is their own: code is passed on, and is to hold nobody's identity.
    """
    owner = visit().account.owner
    personal = owner.startswith(OF_A_PERSON)
    return {"owner": "" if personal else owner, "personal": personal, "ledger": None}
