"""Read sheets of a workbook: each cell keeps its own type, whatever the types of others in its column.

So a date cell is a date whatever the declared date format; the format applies only to texts.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from xml.parsers import expat

import pyarrow as pa
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from dpengine.errors import Fault, TableError
from dpengine.sources.cells import MIXED, cell_text, object_array
from dpengine.sources.files.arrow_file import write_copy
from dpengine.sources.files.shown_cells import FORMULA, check_shown
from dpengine.sources.files.text import completed, invented, is_suspicious
from dpengine.sources.relation import check_names, numbered
from dpengine.translation.catalogue import _, number, some_of

__all__ = ["copy_sheet", "sheet_names", "texts_of_sheet"]

_MAX_UNPACKED = 2 << 30  # bytes
_MAX_CELLS, _MAX_CELLS_PER_BYTE = 1 << 24, 16  # between the first cell and the last: the reader holds them all
_ENCRYPTED = 1  # a flag of members of archives
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_BATCH = 50_000  # rows
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_PIECE = 1 << 20  # bytes


def copy_sheet(
    path: Path,
    sheet: str | None,
    copy: Path,
    *,
    skip: int = 0,
    names_given: bool = True,
    last: int = 0,
    number_names: bool = False,
) -> list[str]:
    """Write the rows of one sheet (`mixed` columns ``c0``, ``c1``, …) to `copy`; return the names in its header.

    The default is the first visible sheet that is no chart. Its first `skip` rows are left out. With `names_given`, the
    next one is the header; else the columns are called column_1, column_2, … The `last` rows that are not blank are
    left out too. Blank rows are skipped if the sheet has several columns.

    Raises `TableError`, also if a program shows other values than the file holds (`shown_cells`), and the reader's own
    errors if the file is damaged.
    """
    with _workbook(path) as book:
        opened = _open_sheet(book, sheet)
        end = _end_of_table(opened, skip + names_given, last)
        rows: Iterator[list[object]] = islice(opened.iter_rows(), end)
        first: list[object] = next(islice(rows, skip, None), [])
        names = [" ".join((cell_text(cell) or "").splitlines()) for cell in first]
        if not any(names):
            if opened.height:
                text = _("the first row of the sheet is empty, and must hold the names of the columns; if they stand "
                         "further down, skip the rows above them")  # fmt: skip
                raise TableError(Fault(("header",), text))
            raise TableError(_("the sheet is empty; its first row must hold the names of the columns"))
        if not names_given:
            names, rows = invented(len(first)), chain([first], rows)
        names = numbered(completed(names)) if number_names else completed(names)
        check_names(names)
        check_shown(path, opened, skip + names_given, end)
        schema = pa.schema([(f"c{i}", MIXED) for i in range(len(names))])
        write_copy(copy, schema, _batches(rows, schema))
    return names


def _batches(rows: Iterator[list[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while block := list(islice(rows, _BATCH)):
        filled = [row for row in block if len(schema) == 1 or not _is_blank(row)]
        columns = zip(*filled, strict=True) if filled else [()] * len(schema)
        yield pa.record_batch([object_array(column, mixed=True) for column in columns], schema=schema)


def _end_of_table(sheet: CalamineSheet, first: int, last: int) -> int | None:
    """Return the number of the row with which the `last` rows that are not blank begin; None if none is left out."""
    if not last:
        return None
    filled = [k for k, row in enumerate(sheet.iter_rows()) if k >= first and not _is_blank(row)]
    if len(filled) < last:
        raise TableError(_("the sheet has fewer than {last} rows to leave out at its end", last=number(last)))
    return filled[-last]


def _is_blank(row: list[object]) -> bool:
    return not any(str(cell).strip() for cell in row)


def sheet_names(path: Path) -> list[str]:
    """Return the names of the visible sheets of a workbook. Raises `TableError` if it is damaged."""
    with _workbook(path) as book:
        return _visible(book)


def texts_of_sheet(path: Path, most: int) -> list[list[str]]:
    """Return the cells of the first visible sheet as texts, of at most `most` letters in total.

    Raises `TableError` if the workbook is damaged, too large, or has a formula, whose value may be out of date.
    """
    with _workbook(path) as book:
        if _has_formula(path):
            raise TableError(_("a cell holds a formula; replace it by its value (copy, then paste values only)"))
        rows = [[cell_text(cell) or "" for cell in row] for row in _open_sheet(book, None).iter_rows()]
    if sum(len(cell) + 1 for row in rows for cell in row) > most:
        raise TableError(_("the sheet is too long: at most {most} letters are read", most=number(most)))
    return rows


def _has_formula(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return any(FORMULA.search(archive.read(name)) for name in filter(_SHEET.fullmatch, archive.namelist()))


def _open_sheet(book: CalamineWorkbook, sheet: str | None) -> CalamineSheet:
    names: Sequence[str] = book.sheet_names
    if sheet is None:
        sheet = (_visible(book) or names or [""])[0]
    if sheet not in names:
        raise TableError(
            _(
                "there is no sheet {sheet!r} in the workbook; it has: {sheets}",
                sheet=sheet,
                sheets=some_of(names) or _("no sheets"),
            )
        )
    return book.get_sheet_by_name(sheet)


def _visible(book: CalamineWorkbook) -> list[str]:
    """Return the names of the visible sheets that have cells: a sheet may be one chart."""
    return [
        each.name
        for each in book.sheets_metadata
        if each.visible == SheetVisibleEnum.Visible and each.typ == SheetTypeEnum.WorkSheet
    ]


@contextmanager
def _workbook(path: Path) -> Iterator[CalamineWorkbook]:
    """Open a workbook that is intact and cannot exhaust the machine. Raises `TableError`."""
    try:
        _check_container(path)
        with CalamineWorkbook.from_path(str(path)) as book:
            yield book
    except (zipfile.BadZipFile, NotImplementedError):  # the latter of a zip archive of another version
        raise TableError(_("this is not a whole workbook; save it again as .xlsx, or export it as CSV")) from None
    except CalamineError:
        raise TableError(_("the workbook cannot be read; save it again without a password, or export CSV")) from None


def _check_container(path: Path) -> None:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == _OLD_OFFICE:
        if path.suffix.lower() != ".xls":
            raise TableError(_("the workbook is protected by a password, or is an old .xls: save it as plain .xlsx"))
        return
    if not zipfile.is_zipfile(path):
        raise TableError(_("this is not a whole workbook; save it again as .xlsx, or export it as CSV"))
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.flag_bits & _ENCRYPTED for member in members):
            raise TableError(_("the workbook is protected by a password; save it as plain .xlsx"))
        unpacked = sum(member.file_size for member in members)
        if unpacked > _MAX_UNPACKED or any(is_suspicious(part.compress_size, part.file_size) for part in members):
            raise TableError(_("the workbook unpacks to far more than its size; export the sheet as CSV instead"))
        most = _MAX_CELLS + _MAX_CELLS_PER_BYTE * path.stat().st_size
        for member in members:
            if _SHEET.fullmatch(member.filename):
                _check_extent(archive, member, most)
            elif member.filename == "content.xml":
                _check_xml(archive, member)


def _check_extent(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> None:
    """Raise `TableError` if a sheet extends over more than `most` cells."""
    with archive.open(member) as file:
        piece = file.read(_PIECE)
        stated = re.search(rb'<dimension ref="[A-Z]+[0-9]+:([A-Z]+)([0-9]+)"', piece[:4096])
        if stated and _column(stated[1]) * int(stated[2]) <= most:
            return  # if this is not true, the reader runs out of memory
        width = height = 0  # of existing cells: the stated extent may include cells that are only formatted
        while piece:
            for place in re.finditer(rb' r="([A-Z]{1,3})([0-9]{1,7})"', piece):
                width, height = max(width, _column(place[1])), max(height, int(place[2]))
            if width * height > most:
                raise TableError(
                    _(
                        "a sheet has a cell that is very far from the first one; "
                        "delete all rows and columns beside the table, or export the sheet as CSV"
                    )
                )
            more = file.read(_PIECE)
            piece = piece[-16:] + more if more else b""


def _check_xml(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Raise `TableError` if a part of an OpenDocument file is incomplete XML, on which its reader never ends."""
    parser = expat.ParserCreate()
    try:
        with archive.open(member) as file:
            while piece := file.read(_PIECE):
                parser.Parse(piece)
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise TableError(_("the workbook cannot be read; save it again, or export the sheet as CSV")) from None


def _column(letters: bytes) -> int:
    """Return the number of a column.

    >>> _column(b"A"), _column(b"AA"), _column(b"XFD")
    (1, 27, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
