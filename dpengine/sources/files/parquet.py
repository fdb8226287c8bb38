"""Parquet tables: one file, or many files of one table, whose folders may hold the values of columns.

A folder named ``year=2024`` says that all rows of the files in it have the text ``2024`` in a column `year` (the
convention of Hive). Such columns come after those of the files.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from dpengine import arrow
from dpengine.errors import TableError
from dpengine.sources.mixed import member, mixed_type
from dpengine.sources.relation import check_names, from_arrow, known_types, link, plain_arrow, within_calendar
from dpengine.sql import identifier, literal
from dpengine.translation.catalogue import _

__all__ = ["ENDINGS", "Part", "described", "find_parts", "in_pieces", "open_parquet", "open_parts", "plain_types"]

ENDINGS = (".parquet", ".pq")
_WHOLE = r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER"
_SIMPLE = (
    rf"{_WHOLE}|FLOAT|DOUBLE|DECIMAL\([0-9]+,[0-9]+\)|BOOLEAN|VARCHAR|UUID|DATE|TIME|TIME_NS|\"NULL\"|TIMESTAMPTZ_NS|"
    "TIMESTAMP( WITH TIME ZONE|_NS|_MS|_S)?"
)
_STORED = {  # DuckDB types by how a column is stored, and what it means
    ("INT32", "NONE"): "INTEGER",
    ("INT32", "DATE"): "DATE",
    ("INT64", "NONE"): "BIGINT",
    ("DOUBLE", "NONE"): "DOUBLE",
    ("BOOLEAN", "NONE"): "BOOLEAN",
    ("BYTE_ARRAY", "STRING"): "VARCHAR",
}
_PIECE_CELLS, _PIECE_ROWS = 1 << 20, (1 << 12, 1 << 17)  # of a piece, about
_BUFFERS = 1 << 24  # bytes, of all columns
_MAX_FOOTER = 32  # MB that describe the columns: they are read several times, and take ten times that memory
Part = tuple[Path, tuple[tuple[str, str], ...]]  # a file, and the pairs (column, value) of its folders


def find_parts(pattern: str | Path) -> list[Part]:
    """Return the Parquet files in a folder, at any depth, or matches of a pattern of ``*``, ``?``, ``[…]``, ``**``.

    Raises `TableError` if there is none.
    """
    folder = Path(pattern)
    if folder.is_dir():
        root, paths = folder, sorted(path for path in folder.rglob("*") if _is_parquet(path))
    else:
        root = Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))
        paths = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True) if _is_parquet(Path(name)))
    if not paths:
        raise TableError(
            _("{name!r} holds, or matches, no Parquet file (their names end in .parquet)", name=folder.name)
        )
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
        # With DuckDB's types for the same columns: how they are read must not depend on a row.
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:  # read_table would load pandas
            names, frame = plain_arrow(_without_durations(file.read()))
            from_arrow(connection, frame)
            return names, rows
    within_calendar(connection)
    return names, rows


def described(path: Path) -> tuple[list[str], list[str], int] | None:
    """Return the names and DuckDB types of a file's columns and the number of its rows; None if only DuckDB knows.

    Raises `TableError`, as `open_parquet` does.
    """
    schema, rows = _schema(path)
    check_names(schema.names)
    with pq.ParquetFile(path) as file:
        stored = [file.schema.column(i) for i in range(len(file.schema))]
    types = [_STORED.get((each.physical_type, each.logical_type.type), "") for each in stored]
    return (list(schema.names), types, rows) if dict(enumerate(types)) == plain_types(path) else None


def open_parts(connection: Any, folder: Path, parts: Sequence[Part]) -> tuple[list[str], int]:
    """Make `rows` from many files with the same columns; return the names of these and the number of rows.

    If files store a column as different types, each is read by its own type, so that no file changes how the rows of
    another are read: the column is `mixed`. Raises `TableError` if a file is damaged, or if columns or folders differ.
    """
    (first, values), rows = parts[0], 0
    schema, keys = _schema(first)[0], [key for key, _ in values]
    file_columns = [name for name in schema.names if name not in keys]
    names = file_columns + keys
    check_names(names)
    if len({name.lower() for name in names}) < len(names):
        raise TableError(_("columns of many files are matched by name, and two differ in capitals alone; rename one"))
    alike: dict[object, _Alike] = {}
    for number, (path, values) in enumerate(parts, 1):
        schema, size = _schema(path)
        if set(schema.names) - set(keys) != set(file_columns) or [key for key, _ in values] != keys:
            raise TableError(
                _(
                    "file {number} of {parts} ({name!r}) has other columns, or lies in other kinds of folders, than "
                    "the first ({first!r}); the files of one table agree in both",
                    number=number,
                    parts=len(parts),
                    name=path.name,
                    first=first.name,
                )
            )
        place = folder.joinpath(
            *(f"c{i}={quote(value, safe='')}" for i, (_, value) in enumerate(values, len(file_columns)))
        )
        place.mkdir(parents=True, exist_ok=True)
        files = alike.setdefault(_stored_types(path), _Alike(path, schema, []))
        files.links.append(literal(str(link(path, place, f"part{number}.parquet"))))
        rows += size
    selects = _selects(connection, list(alike.values()), file_columns, keys)
    connection.execute(f"CREATE VIEW raw AS {' UNION ALL '.join(selects)}")
    within_calendar(connection)
    return names, rows


@dataclass(frozen=True, slots=True)
class _Alike:
    """Files of one table that store all columns as the same types: the `first`, its `schema`, and links to all."""

    first: Path
    schema: pa.Schema
    links: list[str]


def _selects(connection: Any, groups: Sequence[_Alike], file_columns: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Write a query for the rows of each group of files, in one form of each column. Raises `TableError`."""
    columns = [f"{identifier(name)} AS c{i}" for i, name in enumerate(file_columns)]
    columns += [f"c{i}" for i in range(len(file_columns), len(file_columns) + len(keys))]
    selects = [
        f"SELECT {', '.join(columns)} FROM read_parquet([{', '.join(group.links)}], can_have_nan = true, "
        f"union_by_name = true, hive_partitioning = {bool(keys)}, hive_types_autocast = false)"
        for group in groups
    ]
    for select, group in zip(selects, groups, strict=True):
        if not _times_fit(connection, pa.schema([group.schema.field(name) for name in file_columns]), f"({select})"):
            raise TableError(_("the files hold times that no calendar has; write them again in microseconds"))
    if len(selects) == 1:
        return selects
    types = [[str(row[1]) for row in connection.execute(f"DESCRIBE {select}").fetchall()] for select in selects]
    _check_mixes([*file_columns, *keys], types, [group.first.name for group in groups])
    return [
        f"SELECT {', '.join(_cell(i, own, [each[i] for each in types]) for i, own in enumerate(of_group))} "
        f"FROM ({select})"
        for select, of_group in zip(selects, types, strict=True)
    ]


def plain_types(path: Path) -> dict[int, str]:
    """Return, by index, the DuckDB types of those columns of a file that Arrow reads as the engine does.

    The result is empty if a name has a point, which Arrow takes for a part of a nested column.
    """
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
    types = {}
    for place, field in enumerate(schema):
        [kind] = known_types(pa.schema([field])) or [""]
        if kind and (kind == "VARCHAR" or not pa.types.is_dictionary(field.type)):
            types[place] = kind
    return {} if any("." in name for name in schema.names) else types


def in_pieces(path: Path, places: Sequence[int], groups: Sequence[int] | None = None) -> Generator[Any]:
    """Yield some of the `plain_types` columns of a file, a piece at a time, named ``c0``, ``c1``, … by their places.

    With `groups`, only these row groups, decoded by the thread that asks for the pieces. Texts are dictionary-encoded,
    as Parquet files store most of them. Raises an error of Arrow's, or OSError, if the file is damaged.
    """
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
    types, aliases = plain_types(path), {names[place]: f"c{place}" for place in places}
    texts = [names[place] for place in places if types[place] == "VARCHAR"]
    rows = min(max(_PIECE_CELLS // len(places), _PIECE_ROWS[0]), _PIECE_ROWS[1])
    buffer = max(_BUFFERS // len(places), 1 << 12)
    with pq.ParquetFile(path, read_dictionary=texts, buffer_size=buffer) as file:
        for batch in file.iter_batches(rows, groups, list(aliases), use_threads=groups is None):
            for name in texts:
                _check_texts(batch.column(name))
            yield batch.rename_columns([aliases[name] for name in batch.schema.names])


def _check_texts(texts: Any) -> None:
    """Raise `pa.ArrowInvalid` unless dictionary-encoded texts are whole, which Arrow's reader does not check.

    Looking for the largest index takes a tenth of the time of Arrow's own check, and suffices unless it is at a null.
    """
    texts.validate()
    texts.dictionary.validate(full=True)
    places, _ = arrow.values_and_nulls(texts.indices)
    if len(places) and places.view(f"u{places.itemsize}").max() >= len(texts.dictionary):  # a negative one is large
        texts.validate(full=True)


def _stored_types(path: Path) -> object:
    """Return a value that is equal for files whose columns have the same types by name."""
    with pq.ParquetFile(path) as file:
        columns = [file.schema.column(i) for i in range(len(file.schema))]
    return frozenset((each.path, each.physical_type, str(each.logical_type), each.length) for each in columns)


def _check_mixes(names: Sequence[str], types: Sequence[Sequence[str]], files: Sequence[str]) -> None:
    """Raise `TableError` if a column has different types in different files, and one of them cannot be counted."""
    for name, first, *others in zip(names, *types, strict=True):
        for file, other in zip(files[1:], others, strict=True):
            if other != first and not all(re.fullmatch(_SIMPLE, each) for each in (first, other)):
                raise TableError(
                    _(
                        "column {name!r} is of another type in {file!r} than in {other!r}, and one of them is "
                        "nested or binary; write the files again with one type",
                        name=name,
                        file=file,
                        other=files[0],
                    )
                )


def _cell(place: int, own: str, types: Sequence[str]) -> str:
    """Write a cell whose type is `own` in this file, in the common form of files whose types are `types`."""
    several = list(dict.fromkeys(types))
    if all(re.fullmatch(_WHOLE, each) for each in several):  # the widest type holds all values
        return f"c{place}"
    members = ", ".join(f"{member(k)} := {f'c{place}' if each == own else 'NULL'}" for k, each in enumerate(several))
    return f"struct_pack({members})::{mixed_type(several)} AS c{place}" if len(several) > 1 else f"c{place}"


def _folder_values(folders: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs = (folder.partition("=") for folder in folders)
    return tuple((unquote(key), unquote(value)) for key, equals, value in pairs if key and equals)


def _is_parquet(path: Path) -> bool:
    """Return whether a file holds rows; engines store metadata in files whose names begin with _ or a point."""
    return path.suffix.lower() in ENDINGS and path.name[0] not in "_." and path.is_file()


def _schema(path: Path) -> tuple[pa.Schema, int]:
    """Return the schema of a Parquet file and the number of its rows.

    Raises `TableError` if it is cut off, or describes its columns at too great a length.
    """
    with path.open("rb") as file:
        start, size = file.read(4), path.stat().st_size
        file.seek(max(0, size - 8))
        footer, end = int.from_bytes(file.read(4), "little"), file.read(4)
    if start != b"PAR1":
        raise TableError(_("this is not a Parquet file (or it is encrypted); give the file its right ending"))
    if end != b"PAR1":
        raise TableError(_("the Parquet file is cut off; copy or write it again"))
    if size > footer > _MAX_FOOTER << 20:
        raise TableError(
            _("the Parquet file describes its columns in more than {most} MB; write it again in fewer row groups",
              most=_MAX_FOOTER)
        )  # fmt: skip
    with pq.ParquetFile(path) as opened:
        return opened.schema_arrow, opened.metadata.num_rows


def _without_durations(table: pa.Table) -> pa.Table:
    """Return the table with durations as integers, as Parquet stores them."""
    for i, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table


def _times_fit(connection: Any, schema: pa.Schema, source: str = "raw") -> bool:
    """Return whether DuckDB can represent all timestamps in `source` that are stored in milliseconds."""
    import duckdb  # loaded by then

    coarse = [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ms"]
    place = {name: i for i, name in enumerate(schema.names)}
    try:
        for name in coarse:
            connection.execute(f"SELECT bit_xor(hash(c{place[name]})) FROM {source}").fetchall()
    except duckdb.ConversionException:
        return False
    return True
