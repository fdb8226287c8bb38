"""The relation `rows` of the embedded engine: columns ``c0``, ``c1``, … in the source's order."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpengine.errors import Fault, TableError
from dpengine.sources.dataframe import widened

__all__ = [
    "check_names", "from_arrow", "known_types", "link", "plain_arrow", "types_of",
    "within_calendar",
]  # fmt: skip

_TYPES = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
}


def check_names(names: Sequence[str]) -> None:
    """Raise `TableError` where columns lack names or share them.

    >>> check_names(["age", "age"])
    Traceback (most recent call last):
    dpengine.errors.TableError: header: 2 columns are named 'age'; rename all but one
    """
    if not names:
        raise TableError("the table has no columns")
    blank = [i for i, name in enumerate(names, 1) if not name.strip()]
    faults: list[str | Fault] = [f"column {i} has no name in the header; name it or remove it" for i in blank]
    repeated = ((name, times) for name, times in Counter(names).items() if times > 1 and name.strip())
    faults += [
        Fault(("header",), f"{times} columns are named {name!r}; rename all but one") for name, times in repeated
    ]
    if faults:
        raise TableError(faults)


def link(path: Path, folder: Path, name: str) -> Path:
    """Return a harmless path to a file: readers take * and [ for patterns, and could open another file."""
    target = folder / name
    try:
        target.symlink_to(path.resolve())
    except OSError:
        shutil.copyfile(path, target)
    return target


def plain_arrow(table: pa.Table) -> tuple[list[str], pa.Table]:
    """Return the column names of a table in memory, and its rows as `from_arrow` takes them."""
    names = list(table.column_names)
    check_names(names)
    return names, widened(table.rename_columns([f"c{i}" for i in range(len(names))]))


def from_arrow(connection: Any, frame: pa.Table) -> None:
    """Make `rows` from the rows that `plain_arrow` returned."""
    connection.register("raw", frame)
    within_calendar(connection)


def types_of(connection: Any) -> list[str]:
    """Return the DuckDB types of the columns of `rows`."""
    return [str(row[1]) for row in connection.execute("DESCRIBE rows").fetchall()]


def known_types(schema: pa.Schema) -> list[str] | None:
    """Return the DuckDB types of a table in memory without starting the engine; None where only the engine knows."""
    types = [
        _TYPES.get(field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in schema
    ]
    return None if None in types else [kind for kind in types if kind is not None]


def within_calendar(connection: Any) -> None:
    """Make `rows` from `raw`, with timestamps outside the years 1 to 9999 as infinite: some of them stop the engine.

    Zoned timestamps in nanoseconds are cut to microseconds, since the engine can do little else with them.
    """
    cells = []
    for name, kind, *_ in connection.execute("DESCRIBE raw").fetchall():
        if kind in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
            within = f"{name} BETWEEN '0001-01-01'::{kind} AND '9999-12-31 23:59:59.999999'::{kind}"
            cells.append(f"CASE WHEN {within} OR {name} IS NULL THEN {name} ELSE 'infinity'::{kind} END AS {name}")
        elif kind == "TIMESTAMPTZ_NS":
            cells.append(f"{name}::TIMESTAMPTZ AS {name}")
        else:
            cells.append(name)
    connection.execute(f"CREATE VIEW rows AS SELECT {', '.join(cells)} FROM raw")
