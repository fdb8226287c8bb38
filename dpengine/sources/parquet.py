"""Parquet as a relation: one file, or many that are one table, whose folders may tell a column's value.

A folder named ``year=2024`` says that the rows of all files in it have the text ``2024`` in a column
``year`` (the convention of Hive); the column comes after those of the files.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dpengine.errors import TableError
from dpengine.sources.relation import check_names, from_arrow, linked, plain_arrow, within_calendar
from dpengine.sql import identifier, literal

__all__ = ["ENDINGS", "Part", "found", "open_parquet", "open_parts"]

ENDINGS = (".parquet", ".pq")
Part = tuple[Path, tuple[tuple[str, str], ...]]  # a file, and what its folders say: pairs (column, value)


def found(pattern: str | Path) -> list[Part]:
    """The Parquet files in a folder, however deep, or that match a pattern with ``*``, ``?``, ``[…]``, ``**``.

    Raises `TableError` where there is none.
    """
    folder = Path(pattern)
    if folder.is_dir():
        root, paths = folder, sorted(path for path in folder.rglob("*") if _is_parquet(path))
    else:
        root = Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))
        paths = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True) if _is_parquet(Path(name)))
    if not paths:
        raise TableError(f"{folder.name!r} holds, or matches, no Parquet file (their names end in .parquet)")
    return [(path, _said(path.relative_to(root).parts[:-1])) for path in paths]


def open_parquet(connection: Any, folder: Path, path: Path) -> tuple[list[str], int]:
    """Make ``rows`` of one file; return names and number of rows. Raises `TableError`."""
    path = linked(path, folder, "source.parquet")
    schema, rows = _schema(path)
    names = list(schema.names)
    check_names(names)
    # Statistics in Parquet leave NaN out; without can_have_nan they would be trusted and NaN miscounted.
    aliases = ", ".join(f"c{i}" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW raw({aliases}) AS SELECT * FROM "
        f"read_parquet({literal(str(path))}, can_have_nan = true, hive_partitioning = false)"
    )
    if not _times_fit(connection, schema):
        connection.execute("DROP VIEW raw")
        with pq.ParquetFile(path) as file:  # read_table would load pandas
            names, frame = plain_arrow(file.read())
            from_arrow(connection, frame)
            return names, rows
    within_calendar(connection)
    return names, rows


def open_parts(connection: Any, folder: Path, parts: Sequence[Part]) -> tuple[list[str], int]:
    """Make ``rows`` of many files with the same columns; return names and number of rows.

    Raises `TableError` where a file is damaged, or columns or folders differ.
    """
    (first, says), rows, links = parts[0], 0, []
    schema, keys = _schema(first)[0], [key for key, _ in says]
    own = [name for name in schema.names if name not in keys]
    names = own + keys
    check_names(names)
    if len({name.lower() for name in names}) < len(names):
        raise TableError("columns of many files are matched by name, and two differ in capitals alone; rename one")
    for number, (path, says) in enumerate(parts, 1):
        theirs, size = _schema(path)
        if set(theirs.names) - set(keys) != set(own) or [key for key, _ in says] != keys:
            raise TableError(
                f"file {number} of {len(parts)} ({path.name!r}) has other columns, or lies in other kinds of "
                f"folders, than the first ({first.name!r}); the files of one table agree in both"
            )
        place = folder.joinpath(*(f"c{i}={quote(value, safe='')}" for i, (_, value) in enumerate(says, len(own))))
        place.mkdir(parents=True, exist_ok=True)
        links.append(literal(str(linked(path, place, f"part{number}.parquet"))))
        rows += size
    columns = [f"{identifier(name)} AS c{i}" for i, name in enumerate(own)]
    columns += [f"c{i}" for i in range(len(own), len(names))]
    connection.execute(
        f"CREATE VIEW raw AS SELECT {', '.join(columns)} FROM read_parquet([{', '.join(links)}], can_have_nan = true, "
        f"union_by_name = true, hive_partitioning = {bool(keys)}, hive_types_autocast = false)"
    )
    if not _times_fit(connection, pa.schema([schema.field(name) for name in own])):
        raise TableError("the files hold times that no calendar has; write them again in microseconds")
    within_calendar(connection)
    return names, rows


def _said(folders: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs = (folder.partition("=") for folder in folders)
    return tuple((unquote(key), unquote(value)) for key, equals, value in pairs if key and equals)


def _is_parquet(path: Path) -> bool:
    """Whether a file is a table's; what begins with _ or . is an engine's note to itself."""
    return path.suffix.lower() in ENDINGS and path.name[0] not in "_." and path.is_file()


def _schema(path: Path) -> tuple[pa.Schema, int]:
    """Schema and number of rows of a whole Parquet file."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, path.stat().st_size - 4))
        end = file.read(4)
    if start != b"PAR1":
        raise TableError("this is not a Parquet file (or it is encrypted); give the file its right ending")
    if end != b"PAR1":
        raise TableError("the Parquet file is cut off; copy or write it again")
    with pq.ParquetFile(path) as opened:
        return opened.schema_arrow, opened.metadata.num_rows


def _times_fit(connection: Any, schema: pa.Schema) -> bool:
    """Whether the engine has numbers for all times that are counted in thousandths."""
    coarse = [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ms"]
    place = {name: i for i, name in enumerate(schema.names)}
    try:
        for name in coarse:
            connection.execute(f"SELECT bit_xor(hash(c{place[name]})) FROM raw").fetchall()
    except duckdb.ConversionException:
        return False
    return True
