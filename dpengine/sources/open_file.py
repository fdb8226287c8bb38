"""Open a single file by its kind, which its ending tells; strangers' files are first read in a separate process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpengine import discovery
from dpengine.errors import TableError
from dpengine.sources.databases import duckdb_file
from dpengine.sources.engine import Engine
from dpengine.sources.files import isolated, parquet
from dpengine.sources.files.arrow_file import read_copy
from dpengine.sources.files.text_rows import relation
from dpengine.sources.loaded import Loaded, in_memory, of_rows
from dpengine.sources.read_options import ARROW, EXCEL, STATISTICAL, TEXT, ReadOptions
from dpengine.sources.table import TextFile
from dpengine.translation.catalogue import _, mark

__all__ = ["open_file"]

SEPARATED = {
    ",": mark("{encoding}, cells separated by commas"),
    ";": mark("{encoding}, cells separated by semicolons"),
    "\t": mark("{encoding}, cells separated by tabs"),
    "|": mark("{encoding}, cells separated by bars (|)"),
}
OTHERWISE = mark("{encoding}, cells separated by {delimiter}")


def open_file(engine: Engine, path: Path, options: ReadOptions) -> Loaded:
    """Open a file. Raises `TableError` if its kind is unknown, or it cannot be read as the `options` say."""
    label = (options.name or path.name).lower()
    packed = label.endswith(".gz")
    suffix = Path(label.removesuffix(".gz")).suffix
    if packed and suffix not in TEXT:
        raise TableError(_("only text tables may be gzipped ({listed}); unpack this one first", listed=", ".join(TEXT)))
    options.check_for(suffix)
    if suffix in TEXT:
        return _open_text(engine, path, packed, options)
    if suffix in EXCEL:
        return _open_workbook(engine, path, suffix, options)
    if suffix in parquet.ENDINGS:
        return _open_parquet(engine, path, options)
    if suffix in ARROW:
        answer = _read("arrow", engine, path)
        return of_rows(engine, answer["names"], read_copy(Path(answer["place"])))
    if suffix in STATISTICAL:
        return _open_statistical(engine, path, suffix, options)
    if suffix in duckdb_file.ENDINGS:
        return Loaded(duckdb_file.open_database(engine.connection(), engine.folder, path, options.table), files=(path,))
    if (reader := discovery.find(discovery.SOURCES, suffix.removeprefix("."))) is not None:
        return of_rows(engine, *_read_by_plugin(reader, path))
    raise TableError(
        _("files named {ending} are not known here; use CSV, Parquet or .xlsx", ending=suffix or _("without an ending"))
    )


def _read(function: str, engine: Engine, path: Path, **arguments: Any) -> Any:
    """Return what a function of `untrusted` returns for a file and the engine's folder."""
    folder = engine.folder
    return isolated.read(function, [path], folder, path=str(path), folder=str(folder), **arguments)


def _open_workbook(engine: Engine, path: Path, suffix: str, options: ReadOptions) -> Loaded:
    answer = _read(
        "workbook", engine, path, suffix=suffix, sheet=options.sheet, skip=options.skip_rows,
        names_given=options.names_given, last=options.skip_last,
        number_names=options.number_names,
    )  # fmt: skip
    return of_rows(engine, answer["names"], read_copy(Path(answer["place"])), typed=False)


def _open_statistical(engine: Engine, path: Path, suffix: str, options: ReadOptions) -> Loaded:
    answer = _read("statistical", engine, path, suffix=suffix, encoding=options.encoding)
    labels, names = tuple(answer["columns"]), [column["name"] for column in answer["columns"]]
    how = mark("{program}, texts in {encoding}"), {"program": answer["program"], "encoding": answer["encoding"]}
    return of_rows(engine, names, read_copy(Path(answer["place"])), read_how=how, labels=labels)


def _open_parquet(engine: Engine, path: Path, options: ReadOptions) -> Loaded:
    """Open a Parquet file; one that Arrow reads is tried by DuckDB only once that is started."""

    def prepare(connection: Any) -> None:
        _read("parquet_file", engine, path, in_full=options.in_full, to_arrow=False)
        parquet.open_parquet(connection, engine.folder, place)

    place = path.resolve()
    by_arrow = _read("parquet_file", engine, path, in_full=options.in_full, to_arrow=True)
    if by_arrow and (described := parquet.described(place)) is not None:
        names, types, rows = described
        engine.prepare = prepare
        return Loaded(names, files=(path,), rows=rows, parquet=place, types=types)
    names, rows = parquet.open_parquet(engine.connection(), engine.folder, path)
    return Loaded(names, files=(path,), rows=rows, parquet=place)


def _open_text(engine: Engine, path: Path, packed: bool, options: ReadOptions) -> Loaded:
    answer = _read(
        "text_table", engine, path, packed=packed, encoding=options.encoding, delimiter=options.delimiter,
        in_full=options.in_full, skip=options.skip_rows, names_given=options.names_given, last=options.skip_last,
        number_names=options.number_names,
    )  # fmt: skip
    place, columns, delimiter = Path(answer["place"]), len(answer["names"]), answer["delimiter"]
    how = {"quote": answer["quote"], "plain_lines": answer["plain_lines"]}

    def prepare(connection: Any) -> None:
        if answer["untried"]:
            _read("rows_by_engine", engine, place, columns=columns, delimiter=delimiter, **how)
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM {relation(place, columns, delimiter, **how)}")

    engine.prepare = prepare
    return Loaded(
        answer["names"],
        typed=False,
        types=["VARCHAR"] * columns,
        files=() if answer["copied"] else (path,),
        rows=answer["rows"],
        text=TextFile(place, delimiter, answer["quote"], answer["plain_lines"], answer["whole_cells"]),
        read_how=(SEPARATED.get(delimiter, OTHERWISE), {"encoding": answer["encoding"], "delimiter": delimiter}),
    )


def _read_by_plugin(reader: Callable[[Path], Any], path: Path) -> tuple[list[str], pa.Table]:
    """Return the result of another package's reader of a file. Its error messages may quote rows."""
    try:
        read = reader(path)
    except Exception:  # noqa: BLE001 - a plugin may raise anything
        raise TableError(_("the package that reads this kind of file failed on it")) from None
    made = in_memory(read)
    if made is None:
        raise TableError(_("the package that reads this kind of file returns neither a DataFrame nor an Arrow table"))
    return made
