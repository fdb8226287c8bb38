"""The argument TABLE of commands: a path, or the address of a database, one of whose tables `--table` names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpengine.cli.output import WRONG_USE, finish

if TYPE_CHECKING:
    from dpengine.sources.table import Table

__all__ = ["TABLE", "Given", "dataset_of", "open_given"]

Given = Path | str  # a path, or an address

_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+://")
_AS_FILES = {"names_given": True, "skip_rows": 0, "skip_last": 0, "number_names": False}


def _given(text: str) -> Given:
    """Return a path, or an address as it is: as a path, it would lose a slash."""
    return text if _ADDRESS.match(text) else Path(text)


TABLE = _given  # the type of the argument


def open_given(table: Given, reading: Mapping[str, Any]) -> Table:
    """Open a table that a command was given, by its `reading` options; rows in a database are counted there."""
    from dpengine.sources.open import open_table

    if isinstance(table, Path):
        return open_table(table, **reading)
    named = reading["table"]
    if not named:
        finish(["name the table of this database, as --table NAME or --table SCHEMA.NAME"], WRONG_USE)
    if any(value != _AS_FILES.get(option) for option, value in reading.items() if option != "table"):
        finish(["a table of a database is counted as it is: leave the options for files out, and make a view there for "
                "other names or for answers in columns of their own"], WRONG_USE)  # fmt: skip
    from dpengine.sources.connections import open_connection

    schema, _dot, name = named.rpartition(".")
    engine = table.partition(":")[0]
    return open_connection(engine, {"url": table} | ({"schema": schema} if schema else {}), name)


def dataset_of(table: Given, reading: Mapping[str, Any]) -> str:
    """Return the name that a first plan gives to the dataset: that of the file, or of the table in a database."""
    return table.name.split(".")[0] if isinstance(table, Path) else str(reading["table"]).rpartition(".")[2]
