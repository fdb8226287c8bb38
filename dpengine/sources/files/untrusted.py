"""Read a stranger's file in a separate process, before any other process reads it.

`isolated.read` runs these functions with limits on memory, time and disk. Each format has its own treatment:

- **Text** (also gzipped, UTF-16, Windows-1252, …) is rewritten as plain UTF-8, unless it is plain already. Its lines
  are split into cells once. DuckDB, which takes longer to start, reads all of them once if they are not simple, and
  otherwise not before it is needed. Unpacking is limited by the size of the archive and by the space on the disk.
- **Workbooks** are read in full, cell by cell, and rewritten as Arrow. Their reader keeps a rectangle of cells in
  memory, which is huge if one cell is far from the others, and it panics on some cells.
- **Arrow and Feather** files are mapped into memory, and Arrow trusts them: an offset that points elsewhere crashes the
  process that follows it. Each batch is validated in full and rewritten, so later changes of the file do no harm.
- **Parquet** files stay where they are: their readers check each page that they read, and a copy of 10⁷ rows would
  take longer than counting them. Each reader decodes here once what it reads later: Arrow the columns that it may
  read, DuckDB, which takes longer to start, all of them, but not before it is needed if Arrow reads all.
- **Files of statistics programs** (SPSS, Stata, SAS) are read in full and rewritten as Arrow. Their reader is written
  in C, and false lengths in a file may crash it.

Text and Parquet of more than `MAX_READ_AT_ONCE` bytes (of Parquet, eight for each cell at least) are read in full here
only on request (`in_full`), since it takes about as long as counting them; a server, which must survive any file, does
so. Otherwise damaged rows are found when they are first read, as `TableError`; if they crash the process, it belongs to
the person who chose the file.

Databases have no function here: people with an account on this machine open them, and none is uploaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - each fork would load it again
import pyarrow as pa

from dpengine.sources.engine import connect
from dpengine.sources.files import arrow_file, excel, parquet, text, text_rows
from dpengine.sources.relation import check_names, link, numbered
from dpengine.sources.table import plain_errors

__all__ = [
    "MAX_READ_AT_ONCE", "arrow", "codebook_rows", "parquet_file", "parquet_parts", "rows_by_engine", "sheets",
    "statistical", "statistical_columns", "text_table", "workbook",
]  # fmt: skip

MAX_READ_AT_ONCE = 64 << 20  # bytes
_CELL = 8  # bytes, unpacked
_THREADS = 2  # the stack of each thread counts as memory, and machines may have hundreds of processors

pa.set_cpu_count(_THREADS)  # of this process, which does nothing else
pa.set_io_thread_count(_THREADS)


def text_table(
    path: str,
    folder: str,
    packed: bool,
    encoding: str | None,
    delimiter: str | None,
    in_full: bool,
    skip: int,
    names_given: bool,
    last: int,
    number_names: bool,
) -> dict[str, Any]:
    """Make a plain text table in `folder`, or a link to one; return its path, how to read it, and its number of rows.

    The number of rows is estimated if the file is not read in full. If it is, and its lines are simple, DuckDB is not
    started: it is `untried`, and reads the file by `rows_by_engine` before another process does by it.
    """
    with plain_errors():
        encoding_used = text.encoding_of(Path(path), packed=packed, encoding=encoding)
        plain = text.to_plain_utf8(Path(path), Path(folder), packed=packed, encoding=encoding)
        if skip or last or not names_given:
            plain = text.with_header(plain, Path(folder), skip=skip, names=names_given, delimiter=delimiter, last=last)
        names, delimiter, quote = text.header(plain, delimiter)
        names = numbered(names) if number_names else names
        check_names(names)
        place, plain_lines = link(plain, Path(folder), "source.txt"), text_rows.has_plain_lines(plain, quote)
        whole_cells = plain_lines or text_rows.check_quotes(plain, delimiter, quote)
        rows, tried = None, in_full or plain.stat().st_size <= MAX_READ_AT_ONCE
        if tried and whole_cells:
            rows = text_rows.rows_of_simple_lines(place, len(names), delimiter, quote)
    untried = tried and rows is not None
    if tried and rows is None:
        rows = rows_by_engine(str(place), folder, len(names), delimiter, quote, plain_lines)
    return {
        "place": str(place),
        "copied": plain != Path(path),
        "names": names,
        "delimiter": delimiter,
        "quote": quote,
        "plain_lines": plain_lines,
        "whole_cells": whole_cells,
        "rows": text.estimated_rows(plain) if rows is None else rows,
        "untried": untried,
        "encoding": encoding_used,
    }


def rows_by_engine(path: str, folder: str, columns: int, delimiter: str, quote: str, plain_lines: bool) -> int:
    """Read all of a plain text table by DuckDB; return the number of its rows."""
    with plain_errors(), connect(Path(folder), threads=_THREADS) as connection:
        table = text_rows.relation(Path(path), columns, delimiter, quote, plain_lines=plain_lines)
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(rows)


def workbook(
    path: str, folder: str, suffix: str, sheet: str | None, skip: int, names_given: bool, last: int, number_names: bool
) -> dict[str, Any]:
    """Copy the rows of a sheet; return the place of the copy and the names of the columns."""
    copy = Path(folder, "sheet.arrow")
    with plain_errors():
        place = link(Path(path), Path(folder), f"source{suffix}")
        names = excel.copy_sheet(place, sheet, copy, skip=skip, names_given=names_given, last=last,
                                 number_names=number_names)  # fmt: skip
    return {"place": str(copy), "names": names}


def sheets(path: str) -> list[str]:
    """Return the names of the visible sheets of a workbook."""
    with plain_errors():
        return excel.sheet_names(Path(path))


def codebook_rows(path: str, most: int) -> list[list[str]]:
    """Return the cells of a codebook in a workbook, of at most `most` letters in total."""
    with plain_errors():
        return excel.texts_of_sheet(Path(path), most)


def arrow(path: str, folder: str) -> dict[str, Any]:
    """Validate an Arrow file in full and copy its rows; return the place of the copy and the names of the columns."""
    copy = Path(folder, "rows.arrow")
    with plain_errors():
        names = arrow_file.copy_valid(Path(path), copy)
    return {"place": str(copy), "names": names}


def statistical(path: str, folder: str, suffix: str, encoding: str | None) -> dict[str, Any]:
    """Copy the rows of a file of SPSS, Stata or SAS; return the path of the copy and the column descriptions."""
    # Importing its reader takes longer than all the others.
    from dpengine.sources.files.statistical import PROGRAMS, copy_rows

    copy = Path(folder, "rows.arrow")
    with plain_errors():
        return {"place": str(copy), "program": PROGRAMS[suffix]} | copy_rows(Path(path), suffix, copy, encoding)


def statistical_columns(path: str, suffix: str) -> list[dict[str, Any]]:
    """Return the descriptions of columns in a file of SPSS, Stata or SAS: names, labels and words for codes."""
    from dpengine.sources.files.statistical import described

    with plain_errors():
        columns: list[dict[str, Any]] = described(Path(path), suffix, None)["columns"]
    return columns


def parquet_file(path: str, folder: str, in_full: bool, to_arrow: bool) -> bool:
    """Read the footer of a Parquet file, and decode all values: `in_full`, or if it is not too large.

    With `to_arrow`, Arrow decodes the columns that it may read. If these are all, DuckDB is not started, and the result
    is True.
    """
    if to_arrow and _arrow_reads(Path(path), in_full):
        return True
    with _trial(folder) as (place, connection):
        names, rows = parquet.open_parquet(connection, place, Path(path))
        decoded = _decode(connection, len(names), rows, [Path(path)], in_full)
        if decoded and to_arrow and (plain := parquet.plain_types(Path(path))):
            with suppress(pa.ArrowException, OSError):  # such a file is left to DuckDB
                _read_pieces(Path(path), list(plain))
    return False


def _arrow_reads(path: Path, in_full: bool) -> bool:
    """Return whether Arrow reads every column of a file as DuckDB would, decoding all values if they are few."""
    with plain_errors():
        described = parquet.described(path)
    if described is None:
        return False
    names, _types, rows = described
    try:
        if _is_decoded(len(names), rows, [path], in_full):
            _read_pieces(path, range(len(names)))
    except (pa.ArrowException, OSError):
        return False
    return True


def _read_pieces(path: Path, places: Sequence[int]) -> None:
    for _piece in parquet.in_pieces(path, places):
        pass


def parquet_parts(parts: list[tuple[str, list[tuple[str, str]]]], folder: str, in_full: bool) -> None:
    """Read many Parquet files of one table like `parquet_file`, each with the columns and values of its folders."""
    listed = [(Path(path), tuple((key, value) for key, value in values)) for path, values in parts]
    with _trial(folder) as (place, connection):
        names, rows = parquet.open_parts(connection, place, listed)
        _decode(connection, len(names), rows, [path for path, _ in listed], in_full)


@contextmanager
def _trial(folder: str) -> Iterator[tuple[Path, Any]]:
    (place := Path(folder, "trial")).mkdir(exist_ok=True)  # another trial may have failed
    with plain_errors(), connect(place, threads=_THREADS) as connection:
        yield place, connection


def _decode(connection: Any, columns: int, rows: int, files: list[Path], in_full: bool) -> bool:
    """Decode all values, `in_full` or if there are few; return whether they were decoded."""
    if not _is_decoded(columns, rows, files, in_full):
        return False
    values = ", ".join(f"bit_xor(hash(c{i}))" for i in range(columns))
    connection.execute(f"SELECT {values} FROM rows").fetchall()
    return True


def _is_decoded(columns: int, rows: int, files: list[Path], in_full: bool) -> bool:
    size = max(sum(path.stat().st_size for path in files), columns * rows * _CELL)
    return in_full or size <= MAX_READ_AT_ONCE
