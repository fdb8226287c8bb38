"""Where the rows are: opens a file or a frame as one relation that counting can query.

Opening reads the header or schema, and makes sure that a text file is well-formed (a large one's faults show when
it is first read); what the rows hold is looked at by `counting.count` alone. Messages name columns, which
are public, and line numbers, never cells or paths.

To admit another kind of source, add a function that leaves a relation ``rows`` with columns
``c0``, ``c1``, … in the connection and returns the names, and let `_load` choose it.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import pyarrow as pa

from dpengine.errors import TableError
from dpengine.sources import duckdb_file, parquet, remote
from dpengine.sources.dataframe import from_pandas
from dpengine.sources.engine import Engine
from dpengine.sources.excel import read_sheet
from dpengine.sources.relation import check_names, from_arrow, known_types, linked, plain_arrow, types_of
from dpengine.sources.table import Field, Hint, LocalTable, Table, fields, hint_of_name, plainly, stamp
from dpengine.sources.text import MAX_LINE, header, plain_text, rows_about
from dpengine.sql import literal

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

__all__ = ["Field", "Hint", "Source", "Table", "hint_of_name", "open_table"]

Source: TypeAlias = "str | Path | Sequence[str | Path] | pd.DataFrame | pa.Table | ir.Table"
TEXT, EXCEL = (".csv", ".tsv", ".tab", ".txt"), (".xlsx", ".xls", ".ods")
ARROW = (".arrow", ".feather", ".ipc")
_LOOKED_THROUGH = 64 << 20  # bytes of text that take no time to read once more


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What a relation ``rows`` was made of."""

    names: list[str]
    typed: bool = True  # whether its types were declared
    files: tuple[Path, ...] = ()  # that rows are yet to be read from
    rows: int | None = None
    frame: pa.Table | None = None  # where it is in memory, with the same columns


def open_table(
    source: Source,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    name: str | None = None,
) -> Table:
    """Open a table: a file, many Parquet files, a table of a database, a DataFrame or an Arrow table.

    Parameters
    ----------
    source
        A path (CSV, TSV, also gzipped; Parquet, Excel, ODS, Arrow, Feather; a DuckDB database); a folder or a
        pattern (``visits/*.parquet``) of Parquet files, or a list of them; a pandas DataFrame, a pyarrow Table;
        or an Ibis table of any engine, whose rows stay where they are.
    encoding, delimiter
        Of text files; by default UTF-8 (odd lines as Windows-1252), and the delimiter seen in the header line.
    sheet
        Of a workbook; by default the first visible one.
    table
        Of a database; by default the only one.
    name
        Stands for the file's name where that has no telling ending (an upload).

    Raises `TableError` where the source cannot be read, saying how to mend it.
    """
    if _is_ibis(source) and remote.known(source):
        return remote.RemoteTable(source)
    if (frame := _in_memory(source)) is not None:
        return _of_frame(*frame)
    engine = Engine()
    folder = engine.folder
    try:
        with plainly():
            connection = engine.connection()
            parts = _parts(source)
            seen = {path: stamp(path) for path, _ in parts}
            if parts and isinstance(source, str | Path) and Path(source).is_file():
                loaded = _file(connection, folder, Path(source), name, encoding, delimiter, sheet, table)
            elif parts:
                names, rows = parquet.open_parts(connection, folder, parts)
                loaded = _Loaded(names, files=tuple(seen), rows=rows)
            elif _is_ibis(source):
                names, rows = parquet.open_parquet(connection, folder, remote.copied(source, folder))
                loaded = _Loaded(names, rows=rows)
            else:
                raise TableError("a table is given as a path or paths, a pandas DataFrame, a pyarrow or an Ibis table")
            columns = fields(loaded.names, types_of(connection), loaded.typed)
    except (EOFError, OSError, zlib.error):
        engine.discard()
        raise TableError("the file cannot be read: it is not whole, or may not be read by this user") from None
    except BaseException:
        engine.discard()
        raise
    read = tuple((path, seen[path]) for path in loaded.files)
    return LocalTable(engine, columns, read, loaded.rows, loaded.frame)


def _is_ibis(source: object) -> TypeGuard[ir.Table]:
    # Ibis takes long to load, like pandas; whoever passes its table has loaded it.
    return isinstance(source, getattr(sys.modules.get("ibis.expr.types"), "Table", ()))


def _parts(source: object) -> list[parquet.Part]:
    """The files that a path, a pattern or a list of paths stands for; none for what is no path."""
    if isinstance(source, list | tuple):
        if not source or not all(isinstance(path, str | Path) for path in source):
            raise TableError("a list of files holds paths, and at least one")
        return [part for path in source for part in _parts(path)]
    if not isinstance(source, str | Path):
        return []
    path = Path(source)
    if path.is_file():
        return [(path, ())]
    if path.is_dir() or has_magic(str(source)):
        return parquet.found(source)
    raise TableError(f"there is no file {path.name!r}")


def _in_memory(source: object) -> tuple[list[str], pa.Table] | None:
    """The names of the columns, and the rows, where ``source`` holds them in memory."""
    # pandas takes long to load; whoever passes a frame has loaded it, another thread may be at it just now.
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    with plainly():
        if isinstance(source, frames):
            source = from_pandas(source)
        return plain_arrow(source) if isinstance(source, pa.Table) else None


def _of_frame(names: list[str], frame: pa.Table) -> LocalTable:
    engine = Engine(lambda connection: from_arrow(connection, frame))
    try:
        types = known_types(frame.schema)
        if types is None:
            with plainly():
                types = types_of(engine.connection())
        return LocalTable(engine, fields(names, types, True), (), frame.num_rows, frame)
    except BaseException:
        engine.discard()
        raise


def _file(
    connection: Any,
    folder: Path,
    path: Path,
    name: str | None,
    encoding: str | None,
    delimiter: str | None,
    sheet: str | None,
    table: str | None,
) -> _Loaded:
    label = (name or path.name).lower()
    packed = label.endswith(".gz")
    suffix = Path(label.removesuffix(".gz")).suffix
    if packed and suffix not in TEXT:
        raise TableError(f"only text tables may be gzipped ({', '.join(TEXT)}); unpack this one first")
    if suffix in TEXT:
        return _text(connection, folder, path, packed, encoding, delimiter)
    if suffix in EXCEL:
        names, sheet_rows = read_sheet(linked(path, folder, f"source{suffix}"), sheet)
        check_names(names)
        connection.register("rows", sheet_rows)
        return _Loaded(names, typed=False, rows=sheet_rows.num_rows)
    if suffix in parquet.ENDINGS:
        names, rows = parquet.open_parquet(connection, folder, path)
        return _Loaded(names, files=(path,), rows=rows)
    if suffix in ARROW:
        content = _arrow_file(path)
        names, frame = plain_arrow(content)
        from_arrow(connection, frame)
        return _Loaded(names, files=(path,), rows=content.num_rows, frame=frame)
    if suffix in duckdb_file.ENDINGS:
        return _Loaded(duckdb_file.open_database(connection, folder, path, table), files=(path,))
    raise TableError(f"files named {suffix or 'without an ending'} are not known here; use CSV, Parquet or .xlsx")


def _text(
    connection: Any, folder: Path, path: Path, packed: bool, encoding: str | None, delimiter: str | None
) -> _Loaded:
    plain = plain_text(path, folder, packed=packed, encoding=encoding)
    copied = plain != path
    names, delimiter = header(plain, delimiter)
    check_names(names)
    plain = linked(plain, folder, "source.txt")
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW rows AS SELECT * FROM read_csv({literal(str(plain))}, columns = {{{columns}}}, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', new_line = '\\n', header = true, "
        f"auto_detect = false, strict_mode = true, hive_partitioning = false, "
        f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})"
    )
    if plain.stat().st_size <= _LOOKED_THROUGH:  # faults in the file show now, not after the plan
        [(rows,)] = connection.execute("SELECT count(*) FROM rows").fetchall()
    else:  # they show at the first reading, of which this would be a whole one more
        rows = rows_about(plain)
    return _Loaded(names, typed=False, files=() if copied else (path,), rows=rows)


def _arrow_file(path: Path) -> pa.Table:
    memory = pa.memory_map(str(path))
    with suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(memory).read_all()
    memory.seek(0)
    return pa.ipc.open_stream(memory).read_all()
