"""Open a file, a frame or a table in another engine, so that its rows can be counted.

Opening reads the header or schema, and checks that a text file is well-formed (faults of a large one show when it is
first read). Only `counting` reads the content of rows. Messages name columns, which are public, and line numbers; never
cells or paths.

An installed package adds a kind of file by an entry point of the group ``private_release.sources`` (docs/plugins.md).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import pyarrow as pa

from dpengine import discovery
from dpengine.errors import TableError
from dpengine.sources.databases import copying, duckdb_file, remote
from dpengine.sources.dataframe import from_pandas
from dpengine.sources.engine import Engine
from dpengine.sources.files import isolated, parquet
from dpengine.sources.files.arrow_file import read_copy
from dpengine.sources.files.text_rows import relation
from dpengine.sources.frequencies import repeat_rows
from dpengine.sources.relation import from_arrow, known_types, plain_arrow, types_of
from dpengine.sources.several_answers import add_answers
from dpengine.sources.table import Field, LocalTable, Table, TextFile, fields, plain_errors, stamp
from dpengine.translation.catalogue import _, mark

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

__all__ = ["EXCEL", "STATISTICAL", "TEXT", "Source", "columns_of", "open_table", "sheet_names"]


class ArrowStream(Protocol):
    """Whatever streams Arrow data: data frames of polars, relations of DuckDB, and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream, as the Arrow PyCapsule interface says."""


Source: TypeAlias = "str | Path | Sequence[str | Path] | pd.DataFrame | pa.Table | ir.Table | ArrowStream"
TEXT, EXCEL = (".csv", ".tsv", ".tab", ".txt"), (".xlsx", ".xls", ".ods")
ARROW = (".arrow", ".feather", ".ipc")
SEPARATED = {
    ",": mark("{encoding}, cells separated by commas"),
    ";": mark("{encoding}, cells separated by semicolons"),
    "\t": mark("{encoding}, cells separated by tabs"),
    "|": mark("{encoding}, cells separated by bars (|)"),
}
OTHERWISE = mark("{encoding}, cells separated by {delimiter}")
STATISTICAL = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
_ROWS_ABOVE = (*TEXT, *EXCEL), mark("only text files and workbooks have rows above their names, or none with names")
_ROWS_BELOW = (*TEXT, *EXCEL), mark("only text files and workbooks have rows below their table, such as a total")
# The files that each way to read is for: for any other source it would be ignored, and another table read than meant.
_FOR = {
    "encoding": ((*TEXT, *STATISTICAL), mark("only text files, and those of SPSS, Stata and SAS, have an encoding")),
    "delimiter": (TEXT, mark("only text files have a delimiter")),
    "sheet": (EXCEL, mark("only workbooks have sheets")),
    "table": (duckdb_file.ENDINGS, mark("only databases hold tables by name")),
    "skip_rows": _ROWS_ABOVE,
    "no_names": _ROWS_ABOVE,
    "skip_last": _ROWS_BELOW,
}


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The source of the relation `rows`."""

    names: list[str]
    typed: bool = True  # whether its types were declared
    files: tuple[Path, ...] = ()  # still read when rows are counted
    rows: int | None = None
    frame: pa.Table | None = None  # the rows, if they are in memory
    read_how: tuple[str, Mapping[str, str]] = ("", {})  # how texts were read
    labels: tuple[dict[str, Any], ...] = ()  # those of the columns in the file itself
    text: TextFile | None = None  # the file with the rows, if it is a text table
    parquet: Path | None = None  # if it is a single Parquet file
    types: Sequence[str] | None = None  # if they are known without the relation, which is then made when needed


@dataclass(frozen=True, slots=True)
class _Options:
    """How to read a file, as the parameters of `open_table`."""

    encoding: str | None
    delimiter: str | None
    sheet: str | None
    table: str | None
    name: str | None
    in_full: bool
    skip_rows: int
    names_given: bool
    skip_last: int

    def check_for(self, suffix: str) -> None:
        """Raise `TableError` for all that is given and is not for files with this ending; "" is no file."""
        given = {name: getattr(self, name, None) for name in _FOR} | {"no_names": not self.names_given}
        faults = dict.fromkeys(_(text) for name, (kinds, text) in _FOR.items() if given[name] and suffix not in kinds)
        if faults:
            raise TableError(_("{what}: leave this out", what=each) for each in faults)


def open_table(
    source: Source,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    name: str | None = None,
    in_full: bool = False,
    skip_rows: int = 0,
    names_given: bool = True,
    skip_last: int = 0,
    frequency: str | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Open a table: a file, many Parquet files, a table of a database, a DataFrame or an Arrow table.

    Parameters
    ----------
    source
        A path (CSV, TSV, also gzipped; Parquet, Excel, ODS, Arrow, Feather; SPSS, Stata, SAS; a DuckDB database); a
        folder or a pattern (``visits/*.parquet``) of Parquet files, or a list of them; a DataFrame of
        pandas or polars; a pyarrow Table, or another object that streams Arrow data, such as a relation of DuckDB; or
        an Ibis table of any engine, whose rows stay where they are if that engine can count them.
    encoding, delimiter
        Of a text file. By default UTF-8, with lines that are no UTF-8 read as Windows-1252, and the delimiter in the
        header line. (Cells may be in double quotes, or in single ones if all names are.) The encoding may also correct
        a wrong one in a file of SPSS, Stata or SAS.
    sheet
        Of a workbook; by default the first visible one.
    table
        Of a database; by default the only one.
    name
        Of an uploaded file, if its path has another ending: the ending gives the kind of file.
    skip_rows, names_given
        Of a text file or a workbook: how many lines or rows, such as a title, are above the one with the names of the
        columns; and whether there is one with names. Without it, columns are called column_1, column_2, …
    skip_last
        Of a text file or a workbook: how many lines or rows at its end, such as a total or a note, are below the table.
        Say so only of rows that stand for nobody: they are left out before anything is counted, and are not protected.
    frequency
        The column that says how many people a row stands for, if the table is summed up already. Each row counts as
        often as it says, and the column is none of the table's.
    answers
        For columns with several answers in a cell, such as "German; Turkish": the possible ones, which are public. Each
        becomes a column of yes and no, such as "languages: Turkish", beside the others.
    in_full
        Whether text and Parquet files of any size are first read in full in a separate process, so that no damaged file
        can crash this one: for a server that opens strangers' files. By default those of up to 64 MB are (Parquet
        counted at eight bytes or more a cell).

    Raises `TableError` if the source cannot be read, with advice.
    """
    options = _Options(encoding, delimiter, sheet, table, name, in_full, skip_rows, names_given, skip_last)
    if not isinstance(source, str | Path):
        options.check_for("")
    if _is_ibis(source) and remote.can_count(source):
        if frequency is not None or answers:
            raise TableError(_("a table that stays in its database is counted as it is: make a view of it there"))
        return remote.RemoteTable(source)
    in_memory = _in_memory(source)
    engine = Engine()
    try:
        with plain_errors():
            parts = _parts(source) if in_memory is None else []
            seen = {path: stamp(path) for path, _ in parts}
            loaded = _of_rows(engine, *in_memory) if in_memory else _load(engine, source, parts, options)
            if answers:
                loaded = _read_by_engine(loaded, names=add_answers(engine.connection(), loaded.names, answers))
            if frequency is not None:
                loaded = _repeated(engine, loaded, frequency)
            columns = fields(loaded.names, loaded.types or types_of(engine.connection()), loaded.typed)
            if loaded.labels:
                columns = (*map(_with_words, columns, loaded.labels), *columns[len(loaded.labels) :])
    except BaseException:
        engine.discard()
        raise
    read = tuple((path, seen[path]) for path in loaded.files)
    opened = LocalTable(engine, columns, read, loaded.rows, loaded.frame, loaded.text, loaded.parquet)
    opened.read_how = loaded.read_how
    return opened


def _load(engine: Engine, source: Source, parts: Sequence[parquet.Part], options: _Options) -> _Loaded:
    """Make `rows` from a file, from the `parts` of a table in many files, or from a table of another engine."""
    folder = engine.folder
    if parts and isinstance(source, str | Path) and Path(source).is_file():
        return _open_file(engine, Path(source), options)
    if parts:
        options.check_for(parquet.ENDINGS[0])
        paths = [path for path, _ in parts]
        named = [(str(path), values) for path, values in parts]
        isolated.read("parquet_parts", paths, folder, parts=named, folder=str(folder), in_full=options.in_full)
        names, rows = parquet.open_parts(engine.connection(), folder, parts)
        return _Loaded(names, files=tuple(dict(parts)), rows=rows)
    if _is_ibis(source):
        names, rows = parquet.open_parquet(engine.connection(), folder, copying.copy_rows(source, folder))
        return _Loaded(names, typed=copying.says_types(source), rows=rows)
    raise TableError(
        _("a table is given as a path or paths, a DataFrame of pandas or polars, a pyarrow or an Ibis table")
    )


def sheet_names(path: Path) -> list[str]:
    """Return the names of the visible sheets of a workbook. Raises `TableError` if it cannot be read."""
    with plain_errors():
        names: list[str] = isolated.read("sheets", [path], path.parent, path=str(path))
    return names


def columns_of(path: Path, suffix: str) -> list[Field]:
    """Return the column descriptions of a file of SPSS, Stata or SAS; its rows are not read. Raises `TableError`."""
    with plain_errors():
        labels = isolated.read("statistical_columns", [path], path.parent, path=str(path), suffix=suffix)
    return [_with_words(Field(each["name"], "category", "VARCHAR"), each) for each in labels]


def _with_words(field: Field, labels: dict[str, Any]) -> Field:
    words = tuple((str(code), str(word)) for code, word in labels["words"])
    hint = "category" if labels["coded"] else field.kind_hint
    return replace(field, kind_hint=hint, label=labels["label"], words=words)


def _is_ibis(source: object) -> TypeGuard[ir.Table]:
    # Ibis loads slowly, like pandas; a caller who passes its table has loaded it.
    return isinstance(source, getattr(sys.modules.get("ibis.expr.types"), "Table", ()))


def _parts(source: object) -> list[parquet.Part]:
    """Return the files of a path, a pattern or a list of paths; none for other sources. Raises `TableError`."""
    if isinstance(source, list | tuple):
        if not source or not all(isinstance(path, str | Path) for path in source):
            raise TableError(_("a list of files holds paths, and at least one; rows are given as a DataFrame"))
        return [part for path in source for part in _parts(path)]
    if not isinstance(source, str | Path):
        return []
    if not str(source).strip():
        raise TableError(_("the path of the table is blank"))
    path = Path(source)
    if path.is_file():
        return [(path, ())]
    if path.is_dir() or has_magic(str(source)):
        return parquet.find_parts(source)
    raise TableError(_("there is no file {name!r}", name=path.name))


def _in_memory(source: object) -> tuple[list[str], pa.Table] | None:
    """Return the names of the columns and the rows of a source in memory; None for other sources."""
    # pandas loads slowly. A caller who passes a frame has loaded it; another thread may be loading it just now.
    frames = getattr(sys.modules.get("pandas"), "DataFrame", ())
    with plain_errors():
        if isinstance(source, frames):
            source = from_pandas(source)
        elif hasattr(source, "__arrow_c_stream__") and not (isinstance(source, pa.Table) or _is_ibis(source)):
            source = pa.table(source)  # from polars, DuckDB and others
        return plain_arrow(source) if isinstance(source, pa.Table) else None


def _open_file(engine: Engine, path: Path, options: _Options) -> _Loaded:
    folder = engine.folder
    label = (options.name or path.name).lower()
    packed = label.endswith(".gz")
    suffix = Path(label.removesuffix(".gz")).suffix
    if packed and suffix not in TEXT:
        raise TableError(_("only text tables may be gzipped ({listed}); unpack this one first", listed=", ".join(TEXT)))
    options.check_for(suffix)
    if not isinstance(options.skip_rows, int) or options.skip_rows < 0:
        raise TableError(_("the number of rows above the names is 0 or more"))
    if not isinstance(options.skip_last, int) or options.skip_last < 0:
        raise TableError(_("the number of rows below the table is 0 or more"))
    if suffix in TEXT:
        return _open_text(engine, path, packed, options)
    if suffix in EXCEL:
        answer = isolated.read(
            "workbook", [path], folder,
            path=str(path), folder=str(folder), suffix=suffix, sheet=options.sheet, skip=options.skip_rows,
            names_given=options.names_given, last=options.skip_last,
        )  # fmt: skip
        return _of_rows(engine, answer["names"], read_copy(Path(answer["place"])), typed=False)
    if suffix in parquet.ENDINGS:
        return _open_parquet(engine, path, options)
    if suffix in ARROW:
        answer = isolated.read("arrow", [path], folder, path=str(path), folder=str(folder))
        return _of_rows(engine, answer["names"], read_copy(Path(answer["place"])))
    if suffix in STATISTICAL:
        answer = isolated.read(
            "statistical", [path], folder,
            path=str(path), folder=str(folder), suffix=suffix, encoding=options.encoding,
        )  # fmt: skip
        labels, names = tuple(answer["columns"]), [column["name"] for column in answer["columns"]]
        how = mark("{program}, texts in {encoding}"), {"program": answer["program"], "encoding": answer["encoding"]}
        return _of_rows(engine, names, read_copy(Path(answer["place"])), read_how=how, labels=labels)
    if suffix in duckdb_file.ENDINGS:
        return _Loaded(duckdb_file.open_database(engine.connection(), folder, path, options.table), files=(path,))
    if (reader := discovery.find(discovery.SOURCES, suffix.removeprefix("."))) is not None:
        return _of_rows(engine, *_read_by(reader, path))
    raise TableError(
        _("files named {ending} are not known here; use CSV, Parquet or .xlsx", ending=suffix or _("without an ending"))
    )


def _of_rows(engine: Engine, names: list[str], frame: pa.Table, **more: Any) -> _Loaded:
    """Return a table whose rows are in memory, or in a copy that is mapped into memory; the engine need not start."""
    engine.prepare = lambda connection: from_arrow(connection, frame)
    return _Loaded(names, rows=frame.num_rows, frame=frame, types=known_types(frame.schema), **more)


def _repeated(engine: Engine, loaded: _Loaded, frequency: str) -> _Loaded:
    """Return the table with each row as often as its frequency says."""
    place, people = repeat_rows(engine.connection(), loaded.names, frequency)
    labels = tuple(label for i, label in enumerate(loaded.labels) if i != place)
    names = [name for i, name in enumerate(loaded.names) if i != place]
    return _read_by_engine(loaded, names=names, labels=labels, rows=people)


def _read_by_engine(loaded: _Loaded, **changes: Any) -> _Loaded:
    """Return a table that only the engine can read, since its `rows` are made from those of the source."""
    return replace(loaded, frame=None, text=None, parquet=None, types=None, **changes)


def _open_parquet(engine: Engine, path: Path, options: _Options) -> _Loaded:
    """Open a Parquet file; one that Arrow reads is tried by DuckDB only once that is started."""

    def trial(*, to_arrow: bool) -> bool:
        read_by_arrow: bool = isolated.read(
            "parquet_file", [path], engine.folder,
            path=str(path), folder=str(engine.folder), in_full=options.in_full, to_arrow=to_arrow,
        )  # fmt: skip
        return read_by_arrow

    def prepare(connection: Any) -> None:
        trial(to_arrow=False)
        parquet.open_parquet(connection, engine.folder, place)

    place = path.resolve()
    if trial(to_arrow=True) and (described := parquet.described(place)) is not None:
        names, types, rows = described
        engine.prepare = prepare
        return _Loaded(names, files=(path,), rows=rows, parquet=place, types=types)
    names, rows = parquet.open_parquet(engine.connection(), engine.folder, path)
    return _Loaded(names, files=(path,), rows=rows, parquet=place)


def _read_by(reader: Callable[[Path], Any], path: Path) -> tuple[list[str], pa.Table]:
    """Return the result of another package's reader of a file. Its error messages may quote rows."""
    try:
        read = reader(path)
    except Exception:  # noqa: BLE001 - a plugin may raise anything
        raise TableError(_("the package that reads this kind of file failed on it")) from None
    made = _in_memory(read)
    if made is None:
        raise TableError(_("the package that reads this kind of file returns neither a DataFrame nor an Arrow table"))
    return made


def _open_text(engine: Engine, path: Path, packed: bool, options: _Options) -> _Loaded:
    answer = isolated.read(
        "text_table", [path], engine.folder,
        path=str(path), folder=str(engine.folder), packed=packed, encoding=options.encoding,
        delimiter=options.delimiter, in_full=options.in_full, skip=options.skip_rows, names_given=options.names_given,
        last=options.skip_last,
    )  # fmt: skip
    place, columns, delimiter = Path(answer["place"]), len(answer["names"]), answer["delimiter"]
    how = {"quote": answer["quote"], "plain_lines": answer["plain_lines"]}

    def prepare(connection: Any) -> None:
        if answer["untried"]:
            isolated.read(
                "rows_by_engine", [place], engine.folder,
                path=str(place), folder=str(engine.folder), columns=columns, delimiter=delimiter, **how,
            )  # fmt: skip
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM {relation(place, columns, delimiter, **how)}")

    engine.prepare = prepare
    return _Loaded(
        answer["names"],
        typed=False,
        types=["VARCHAR"] * columns,
        files=() if answer["copied"] else (path,),
        rows=answer["rows"],
        text=TextFile(place, delimiter, answer["quote"], answer["plain_lines"], answer["whole_cells"]),
        read_how=(SEPARATED.get(delimiter, OTHERWISE), {"encoding": answer["encoding"], "delimiter": delimiter}),
    )
