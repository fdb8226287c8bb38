"""Parquet tables: one file, or many files of one table, whose folders may hold the values of columns.

A folder named ``year=2024`` says that all rows of the files in it have the text ``2024`` in a column `year` (the
convention of Hive). Such columns come after those of the files.
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
from dpengine.sources.relation import check_names, from_arrow, link, plain_arrow, within_calendar
from dpengine.sql import identifier, literal

__all__ = ["ENDINGS", "Part", "find_parts", "open_parquet", "open_parts"]

ENDINGS = (".parquet", ".pq")
Part = tuple[Path, tuple[tuple[str, str], ...]]  # a file, and the pairs (column, value) of its folders


def find_parts(pattern: str | Path) -> list[Part]:
    """Return the Parquet files in a folder, at any depth, or matches of a pattern of ``*``, ``?``, ``[…]``, ``**``.

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
    return [(path, _folder_values(path.relative_to(root).parts[:-1])) for path in paths]


def open_parquet(connection: Any, folder: Path, path: Path) -> tuple[list[str], int]:
    """Make `rows` from one file; return the names of its columns and the number of its rows. Raises `TableError`."""
    path = link(path, folder, "source.parquet")
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
    """Make `rows` from many files with the same columns; return the names of these and the number of rows.

    Raises `TableError` where a file is damaged, or where columns or folders differ.
    """
    (first, values), rows, links = parts[0], 0, []
    schema, keys = _schema(first)[0], [key for key, _ in values]
    file_columns = [name for name in schema.names if name not in keys]
    names = file_columns + keys
    check_names(names)
    if len({name.lower() for name in names}) < len(names):
        raise TableError("columns of many files are matched by name, and two differ in capitals alone; rename one")
    for number, (path, values) in enumerate(parts, 1):
        schema_of_part, size = _schema(path)
        if set(schema_of_part.names) - set(keys) != set(file_columns) or [key for key, _ in values] != keys:
            raise TableError(
                f"file {number} of {len(parts)} ({path.name!r}) has other columns, or lies in other kinds of "
                f"folders, than the first ({first.name!r}); the files of one table agree in both"
            )
        place = folder.joinpath(
            *(f"c{i}={quote(value, safe='')}" for i, (_, value) in enumerate(values, len(file_columns)))
        )
        place.mkdir(parents=True, exist_ok=True)
        links.append(literal(str(link(path, place, f"part{number}.parquet"))))
        rows += size
    columns = [f"{identifier(name)} AS c{i}" for i, name in enumerate(file_columns)]
    columns += [f"c{i}" for i in range(len(file_columns), len(names))]
    connection.execute(
        f"CREATE VIEW raw AS SELECT {', '.join(columns)} FROM read_parquet([{', '.join(links)}], can_have_nan = true, "
        f"union_by_name = true, hive_partitioning = {bool(keys)}, hive_types_autocast = false)"
    )
    if not _times_fit(connection, pa.schema([schema.field(name) for name in file_columns])):
        raise TableError("the files hold times that no calendar has; write them again in microseconds")
    within_calendar(connection)
    return names, rows


def _folder_values(folders: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs = (folder.partition("=") for folder in folders)
    return tuple((unquote(key), unquote(value)) for key, equals, value in pairs if key and equals)


def _is_parquet(path: Path) -> bool:
    """Return whether a file holds rows; names that begin with _ or . are those of an engine's own notes."""
    return path.suffix.lower() in ENDINGS and path.name[0] not in "_." and path.is_file()


def _schema(path: Path) -> tuple[pa.Schema, int]:
    """Return the schema of a Parquet file and the number of its rows. Raises `TableError` where it is cut off."""
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
    """Return whether the engine can represent all timestamps that are stored in milliseconds."""
    coarse = [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ms"]
    place = {name: i for i, name in enumerate(schema.names)}
    try:
        for name in coarse:
            connection.execute(f"SELECT bit_xor(hash(c{place[name]})) FROM raw").fetchall()
    except duckdb.ConversionException:
        return False
    return True
