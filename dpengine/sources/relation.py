"""Make the relation `rows` of a table's private DuckDB: columns ``c0``, ``c1``, … in the source's order."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpengine.errors import Fault, TableError
from dpengine.sources.dataframe import widen
from dpengine.sources.mixed import member, member_types
from dpengine.translation.catalogue import _, number

__all__ = [
    "MAX_COLUMNS", "check_names", "from_arrow", "known_types", "link", "numbered", "one_line", "place_of",
    "plain_arrow", "types_of", "within_calendar",
]  # fmt: skip

MAX_COLUMNS = 5_000
_MAX_FAULTS = 20  # sentences about one header
_MAX_NAMED = 5  # columns without a name that such a sentence names by their places
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
    dpengine.errors.TableError: header → 2: 2 columns are named 'age'; rename all but one
    """
    if not names:
        raise TableError(_("the table has no columns"))
    if len(names) > MAX_COLUMNS:
        raise TableError(
            _(
                "the table has {names} columns; at most {most} can be read, so keep those that are needed",
                names=number(len(names)),
                most=number(MAX_COLUMNS),
            )
        )
    blank = [i for i, name in enumerate(names, 1) if not name.strip()]
    faults = [Fault(("header",), _("column {position} has no name; name it or remove it", position=i)) for i in blank]
    if len(blank) > 1:
        places = ", ".join(map(number, blank[:_MAX_NAMED])) + (", …" if len(blank) > _MAX_NAMED else "")
        text = _("{n} columns have no name ({places}): name or remove them, or, if the names stand further down, skip "
                 "the rows above them", n=number(len(blank)), places=places)  # fmt: skip
        faults = [Fault(("header",), text)]
    repeated = ((name, times) for name, times in Counter(names).items() if times > 1 and name.strip())
    faults += [
        Fault(
            ("header", names.index(name, names.index(name) + 1) + 1),
            _("{times} columns are named {name!r}; rename all but one", times=times, name=name),
        )
        for name, times in repeated
    ]
    if len(faults) > _MAX_FAULTS:
        text = _("and {rest} more columns are like these", rest=number(len(faults) - _MAX_FAULTS))
        faults[_MAX_FAULTS:] = [Fault(faults[_MAX_FAULTS].path, text)]
    if faults:
        raise TableError(faults)


def numbered(names: Sequence[str]) -> list[str]:
    """Return names in which those that repeat are numbered in their order; the first of them stays.

    >>> numbered(["age", "sex", "age", "age", "age (2)"])
    ['age', 'sex', 'age (3)', 'age (4)', 'age (2)']
    """
    taken, last, unlike = {*names}, Counter[str](), list[str]()
    for name in names:
        fresh = name
        while last[name] and name.strip() and fresh in taken:
            last[name] += 1
            fresh = f"{name} ({last[name]})"
        last[name] = last[name] or 1
        taken.add(fresh)
        unlike.append(fresh)
    return unlike


def one_line(name: str) -> str:
    """Return a name on one line, with single blanks, as a person would type it."""
    return " ".join(name.split())


def place_of(names: Sequence[str], name: str) -> int | None:
    """Return the place of a column; its blanks and line ends may be typed otherwise. None if there is no such column.

    >>> place_of(["age", " n ", "languages  spoken"], "languages spoken"), place_of(["age", " n "], "n")
    (2, 1)
    """
    if name in names:
        return list(names).index(name)
    places = [place for place, each in enumerate(names) if one_line(each) == one_line(str(name))]
    return places[0] if len(places) == 1 else None


def link(path: Path, folder: Path, name: str) -> Path:
    """Link a file into `folder` under a plain `name`: DuckDB takes * and [ for patterns and might open another file."""
    target = folder / name
    target.unlink(missing_ok=True)  # left by a failed attempt
    try:
        target.symlink_to(path.resolve())
    except OSError:
        shutil.copyfile(path, target)
    return target


def plain_arrow(table: pa.Table) -> tuple[list[str], pa.Table]:
    """Return the column names of a table in memory, and its rows as `from_arrow` takes them."""
    names = list(table.column_names)
    check_names(names)
    return names, widen(table.rename_columns([f"c{i}" for i in range(len(names))]))


def from_arrow(connection: Any, frame: pa.Table) -> None:
    """Make `rows` from the rows that `plain_arrow` returned."""
    connection.register("raw", frame)
    within_calendar(connection)


def types_of(connection: Any) -> list[str]:
    """Return the DuckDB types of the columns of `rows`."""
    return [str(row[1]) for row in connection.execute("DESCRIBE rows").fetchall()]


def known_types(schema: pa.Schema) -> list[str] | None:
    """Return the DuckDB types of a table in memory without starting DuckDB; None if only DuckDB knows them."""
    types = [
        _TYPES.get(field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in schema
    ]
    return None if None in types else [kind for kind in types if kind is not None]


def within_calendar(connection: Any) -> None:
    """Make `rows` from `raw`, with timestamps outside the years 1 to 9999 as infinite: DuckDB fails on some of them.

    Zoned timestamps in nanoseconds are truncated to microseconds, since DuckDB supports little else for them.
    """
    cells = []
    for name, kind, *_rest in connection.execute("DESCRIBE raw").fetchall():
        types = member_types(kind)
        members = ", ".join(f"{member(k)} := {_within(f'{name}.{member(k)}', each)}" for k, each in enumerate(types))
        cell = f"struct_pack({members})" if types else _within(name, kind)
        cells.append(name if cell == name else f"{cell} AS {name}")
    connection.execute(f"CREATE VIEW rows AS SELECT {', '.join(cells)} FROM raw")


def _within(cell: str, kind: str) -> str:
    match kind:
        case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE":
            within = f"{cell} BETWEEN '0001-01-01'::{kind} AND '9999-12-31 23:59:59.999999'::{kind}"
            return f"CASE WHEN {within} OR {cell} IS NULL THEN {cell} ELSE 'infinity'::{kind} END"
        case "TIMESTAMPTZ_NS":
            return f"{cell}::TIMESTAMPTZ"
    return cell
