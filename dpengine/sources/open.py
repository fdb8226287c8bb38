"""Open a file, a frame or a table in another engine, so that its rows can be counted.

Opening reads the header or schema, and checks that a text file is well-formed (faults of a large one show when it is
first read). Only `counting` reads the content of rows. Messages name columns, which are public, and line numbers; never
cells or paths.

An installed package adds a kind of file by an entry point of the group ``private_release.sources`` (docs/plugins.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from dpengine.errors import TableError
from dpengine.sources.databases import copying, remote
from dpengine.sources.engine import Engine
from dpengine.sources.files import isolated, parquet
from dpengine.sources.frequencies import repeat_rows
from dpengine.sources.loaded import Loaded, in_memory, is_ibis, object_labels, of_rows, read_by_engine
from dpengine.sources.not_tables import index_names, not_a_table
from dpengine.sources.open_file import open_file
from dpengine.sources.read_options import ReadOptions
from dpengine.sources.relation import types_of
from dpengine.sources.renaming import renamed
from dpengine.sources.several_answers import add_answers
from dpengine.sources.table import Field, LocalTable, Table, fields, plain_errors, stamp
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

__all__ = ["Source", "columns_of", "open_table", "sheet_names"]


class ArrowStream(Protocol):
    """Whatever streams Arrow data: data frames of polars, relations of DuckDB, and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream, as the Arrow PyCapsule interface says."""


Source: TypeAlias = "str | Path | Sequence[str | Path] | pd.DataFrame | pa.Table | ir.Table | ArrowStream"


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
    number_names: bool = False,
    rename: Mapping[str, str] | None = None,
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
        an Ibis table of any engine, such as ``ibis.connect("postgresql://…").table("visits")``, whose rows stay where
        they are if that engine can count them.
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
    number_names
        Of a text file or a workbook: whether columns of the same name are numbered in their order, such as *age* and
        *age (2)*. Otherwise they are refused.
    rename
        New names of columns by those in the source, such as ``{"County": "county"}``, for a plan that knows them so.
        What is stated of columns below is stated under the new names.
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
    options = ReadOptions(
        encoding, delimiter, sheet, table, name, in_full, skip_rows, names_given, skip_last, number_names
    )
    if not isinstance(source, str | Path):
        options.check_for("")
    if is_ibis(source) and remote.can_count(source):
        if frequency is not None or answers or rename:
            raise TableError(_("a table that stays in its database is counted as it is: make a view of it there"))
        return remote.RemoteTable(source)
    held = in_memory(source)
    engine = Engine()
    try:
        with plain_errors():
            parts = _parts(source) if held is None else []
            seen = {path: stamp(path) for path, _ in parts}
            loaded = (
                of_rows(engine, *held, labels=object_labels(source)) if held else _load(engine, source, parts, options)
            )
            if rename:
                loaded = replace(loaded, names=renamed(loaded.names, rename))
            if answers:
                loaded = read_by_engine(loaded, names=add_answers(engine.connection(), loaded.names, answers))
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
    opened.read_how, opened.index = loaded.read_how, index_names(source)
    return opened


def _load(engine: Engine, source: Source, parts: Sequence[parquet.Part], options: ReadOptions) -> Loaded:
    """Make `rows` from a file, from the `parts` of a table in many files, or from a table of another engine."""
    folder = engine.folder
    if parts and isinstance(source, str | Path) and Path(source).is_file():
        return open_file(engine, Path(source), options)
    if parts:
        options.check_for(parquet.ENDINGS[0])
        paths = [path for path, _ in parts]
        named = [(str(path), values) for path, values in parts]
        isolated.read("parquet_parts", paths, folder, parts=named, folder=str(folder), in_full=options.in_full)
        names, rows = parquet.open_parts(engine.connection(), folder, parts)
        return Loaded(names, files=tuple(dict(parts)), rows=rows)
    if is_ibis(source):
        names, rows = parquet.open_parquet(engine.connection(), folder, copying.copy_rows(source, folder))
        return Loaded(names, typed=copying.says_types(source), rows=rows)
    raise TableError(_(not_a_table(source)))


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
    return replace(field, kind_hint=hint, label=labels["label"], words=words, objects=labels.get("objects", ""))


def _parts(source: object) -> list[parquet.Part]:
    """Return the files of a path, a pattern or a list of paths; none for other sources. Raises `TableError`."""
    if isinstance(source, list | tuple):
        if source and not any(isinstance(path, str | Path) for path in source):
            raise TableError(_(not_a_table(source)))
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
    # The password of an address must not be repeated. It may hold signs of a pattern; as a path it has one slash.
    if not path.is_dir() and re.match(r"[A-Za-z][\w+.-]+:/", str(source)):
        raise TableError(_("this is an address, not a path; a table of a database is opened in Python, as {example}",
                           example="open_table(ibis.connect(address).table(name))"))  # fmt: skip
    if path.is_dir() or has_magic(str(source)):
        return parquet.find_parts(source)
    raise TableError(_("there is no file {name!r}", name=path.name))


def _repeated(engine: Engine, loaded: Loaded, frequency: str) -> Loaded:
    """Return the table with each row as often as its frequency says."""
    place, people = repeat_rows(engine.connection(), loaded.names, frequency)
    labels = tuple(label for i, label in enumerate(loaded.labels) if i != place)
    names = [name for i, name in enumerate(loaded.names) if i != place]
    return read_by_engine(loaded, names=names, labels=labels, rows=people)
