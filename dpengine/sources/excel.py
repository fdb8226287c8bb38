"""Sheets of a workbook, and cells without a declared type (also Python objects), as texts cell by cell."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetVisibleEnum

from dpengine.errors import TableError
from dpengine.sources.text import is_suspicious

__all__ = ["MAX_UNPACKED", "cell_text", "read_sheet", "sheet_names"]

MAX_UNPACKED = 2 << 30
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_BATCH = 50_000


def cell_text(value: object) -> str | None:
    """Return a cell as text: whole numbers without a point, dates in ISO 8601, booleans as True and False.

    None stands for an empty cell.

    >>> cell_text(3.0), cell_text(0.5), cell_text(dt.date(2024, 1, 5)), cell_text(True), cell_text(float("nan"))
    ('3', '0.5', '2024-01-05', 'True', None)
    """
    match value:
        case None:
            return None
        case str():
            text = value
        case float() | np.floating():
            number = float(value)
            if number != number:
                return None
            text = str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
        case _ if type(value).__name__ in ("NaTType", "NAType"):  # what pandas has for a missing value
            return None
        case dt.datetime():
            text = value.date().isoformat() if value.time() == dt.time() and not value.tzinfo else value.isoformat(" ")
        case dt.date() | dt.time():
            text = value.isoformat()
        case bytes():
            text = value.decode("utf-8", "replace")
        case _:
            text = str(value)
    return text.encode("utf-8", "replace").decode()


def text_array(cells: Iterable[object]) -> pa.Array:
    """Return an Arrow array of cells as texts."""
    return pa.array([cell_text(cell) for cell in cells], pa.large_string())


def read_sheet(path: Path, sheet: str | None) -> tuple[list[str], pa.Table]:
    """Return the header names and the rows (columns ``c0``, ``c1``, …, all text) of one sheet.

    The default is the first visible sheet. Rows that are blank in a sheet of several columns are stray, and skipped.
    Raises `TableError`, and the reader's own errors where the file is damaged.
    """
    _check_container(path)
    with CalamineWorkbook.from_path(str(path)) as book:
        rows = _chosen(book, sheet).iter_rows()
        names = [cell_text(cell) or "" for cell in next(rows, [])]
        if not any(names):
            raise TableError("the sheet is empty; its first row must hold the names of the columns")
        schema = pa.schema([(f"c{i}", pa.large_string()) for i in range(len(names))])
        batches = []
        while block := list(islice(rows, _BATCH)):
            kept = [row for row in block if len(names) == 1 or any(str(cell).strip() for cell in row)]
            columns = zip(*kept, strict=True) if kept else [()] * len(names)
            batches.append(pa.record_batch([text_array(column) for column in columns], schema=schema))
    return names, pa.Table.from_batches(batches, schema)


def sheet_names(path: Path) -> list[str]:
    """Return the names of the visible sheets of a workbook. Raises `TableError` where it is damaged."""
    _check_container(path)
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            return [meta.name for meta in book.sheets_metadata if meta.visible == SheetVisibleEnum.Visible]
    except CalamineError:
        raise TableError("the workbook cannot be read; save it again without a password, or export CSV") from None


def _chosen(book: CalamineWorkbook, sheet: str | None) -> CalamineSheet:
    names: Sequence[str] = book.sheet_names
    if sheet is None:
        visible = [meta.name for meta in book.sheets_metadata if meta.visible == SheetVisibleEnum.Visible]
        sheet = (visible or names or [""])[0]
    if sheet not in names:
        raise TableError(f"there is no sheet {sheet!r} in the workbook; it has: {', '.join(names) or 'none'}")
    return book.get_sheet_by_name(sheet)


def _check_container(path: Path) -> None:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == _OLD_OFFICE:
        if path.suffix.lower() != ".xls":
            raise TableError("the workbook is protected by a password, or is an old .xls: save it as plain .xlsx")
        return
    if not zipfile.is_zipfile(path):
        raise TableError("this is not a whole workbook; save it again as .xlsx, or export it as CSV")
    with zipfile.ZipFile(path) as archive:
        sizes = [(member.compress_size, member.file_size) for member in archive.infolist()]
    unpacked = sum(size for _, size in sizes)
    if unpacked > MAX_UNPACKED or any(is_suspicious(packed, size) for packed, size in sizes):
        raise TableError("the workbook unpacks to far more than its size; export the sheet as CSV instead")
