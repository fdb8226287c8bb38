"""Open a file, a frame or a table in another engine, so that its rows can be counted.

Opening reads the header or schema, and checks that a text file is well-formed (faults of a large one show when it is
first read). Only `counting` looks at what the rows hold. Messages name columns, which are public, and line numbers;
never cells or paths.

To admit another kind of file, write a function that leaves a relation `rows` with columns ``c0``, ``c1``, … in the
connection and returns their names, and choose it in `_open_file`.
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
from dpengine.sources.relation import check_names, from_arrow, known_types, link, plain_arrow, types_of
from dpengine.sources.table import Field, Hint, LocalTable, Table, fields, hint_of_name, plain_errors, stamp
from dpengine.sources.text import MAX_LINE, estimated_rows, header, to_plain_utf8
from dpengine.sql import literal

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

__all__ = ["Field", "Hint", "Source", "Table", "hint_of_name", "open_table"]

Source: TypeAlias = "str | Path | Sequence[str | Path] | pd.DataFrame | pa.Table | ir.Table"
TEXT, EXCEL = (".csv", ".tsv", ".tab", ".txt"), (".xlsx", ".xls", ".ods")
ARROW = (".arrow", ".feather", ".ipc")
_MAX_CHECKED = 64 << 20  # bytes of text that take no time to read once more


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What the relation `rows` was made from."""

    names: list[str]
    typed: bool = True  # whether its types were declared
    files: tuple[Path, ...] = ()  # from which rows are yet to be read
    rows: int | None = None
    frame: pa.Table | None = None  # with the same columns, where the rows are in memory


@dataclass(frozen=True, slots=True)
class _Options:
    """How to read a file, as the parameters of `open_table`."""

    encoding: str | None
    delimiter: str | None
    sheet: str | None
    table: str | None
    name: str | None


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
        pattern (``visits/*.parquet``) of Parquet files, or a list of them; a pandas DataFrame; a pyarrow Table;
        or an Ibis table of any engine, whose rows stay where they are if that engine can count them.
    encoding, delimiter
        Of text files; by default UTF-8 (odd lines as Windows-1252), and the delimiter seen in the header line.
    sheet
        Of a workbook; by default the first visible one.
    table
        Of a database; by default the only one.
    name
        Used in place of the file's name, where that has no ending that tells its kind (an upload).

    Raises `TableError` if the source cannot be read, with advice.
    """
    if _is_ibis(source) and remote.can_count(source):
        return remote.RemoteTable(source)
    if (frame := _in_memory(source)) is not None:
        return _of_frame(*frame)
    engine = Engine()
    folder = engine.folder
    try:
        with plain_errors():
            connection = engine.connection()
            parts = _parts(source)
            seen = {path: stamp(path) for path, _ in parts}
            if parts and isinstance(source, str | Path) and Path(source).is_file():
                options = _Options(encoding, delimiter, sheet, table, name)
                loaded = _open_file(connection, folder, Path(source), options)
            elif parts:
                names, rows = parquet.open_parts(connection, folder, parts)
                loaded = _Loaded(names, files=tuple(seen), rows=rows)
            elif _is_ibis(source):
                names, rows = parquet.open_parquet(connection, folder, remote.copy_rows(source, folder))
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
    """Return the files that a path, a pattern or a list of paths stands for; none for other sources."""
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
        return parquet.find_parts(source)
    raise TableError(f"there is no file {path.name!r}")


def _in_memory(source: object) -> tuple[list[str], pa.Table] | None:
    """Return the names of the columns and the rows of a source in memory, else None."""
    # pandas takes long to load. Whoever passes a frame has loaded it; another thread may be loading it just now.
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    with plain_errors():
        if isinstance(source, frames):
            source = from_pandas(source)
        return plain_arrow(source) if isinstance(source, pa.Table) else None


def _of_frame(names: list[str], frame: pa.Table) -> LocalTable:
    engine = Engine(lambda connection: from_arrow(connection, frame))
    try:
        types = known_types(frame.schema)
        if types is None:
            with plain_errors():
                types = types_of(engine.connection())
        return LocalTable(engine, fields(names, types, True), (), frame.num_rows, frame)
    except BaseException:
        engine.discard()
        raise


def _open_file(connection: Any, folder: Path, path: Path, options: _Options) -> _Loaded:
    label = (options.name or path.name).lower()
    packed = label.endswith(".gz")
    suffix = Path(label.removesuffix(".gz")).suffix
    if packed and suffix not in TEXT:
        raise TableError(f"only text tables may be gzipped ({', '.join(TEXT)}); unpack this one first")
    if suffix in TEXT:
        return _open_text(connection, folder, path, packed, options)
    if suffix in EXCEL:
        names, sheet_rows = read_sheet(link(path, folder, f"source{suffix}"), options.sheet)
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
        return _Loaded(duckdb_file.open_database(connection, folder, path, options.table), files=(path,))
    raise TableError(f"files named {suffix or 'without an ending'} are not known here; use CSV, Parquet or .xlsx")


def _open_text(connection: Any, folder: Path, path: Path, packed: bool, options: _Options) -> _Loaded:
    plain = to_plain_utf8(path, folder, packed=packed, encoding=options.encoding)
    copied = plain != path
    names, delimiter = header(plain, options.delimiter)
    check_names(names)
    plain = link(plain, folder, "source.txt")
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW rows AS SELECT * FROM read_csv({literal(str(plain))}, columns = {{{columns}}}, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', new_line = '\\n', header = true, "
        f"auto_detect = false, strict_mode = true, hive_partitioning = false, "
        f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})"
    )
    if plain.stat().st_size <= _MAX_CHECKED:  # so that faults of the file show now, and not after the plan is made
        [(rows,)] = connection.execute("SELECT count(*) FROM rows").fetchall()
    else:  # they show at the first reading; this would be one more of them
        rows = estimated_rows(plain)
    return _Loaded(names, typed=False, files=() if copied else (path,), rows=rows)


def _arrow_file(path: Path) -> pa.Table:
    memory = pa.memory_map(str(path))
    with suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(memory).read_all()
    memory.seek(0)
    return pa.ipc.open_stream(memory).read_all()
