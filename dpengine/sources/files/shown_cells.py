"""Refuse a sheet whose file does not hold the values that a spreadsheet program shows in its cells.

Two kinds of cells are shown with a value that is not in the file. A formula that another program wrote is computed only
when a spreadsheet program opens the file; until then it has no value, or a made-up one such as 0. And of merged cells
only the first has the value; the others are empty. Both would be counted as missing or wrong, without a word.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from posixpath import join, normpath
from xml.etree import ElementTree
from xml.parsers import expat

from python_calamine import CalamineSheet

from dpengine.errors import TableError
from dpengine.translation.catalogue import _

__all__ = ["FORMULA", "check_shown"]

Area = tuple[int, int, int, int]  # first row, first column, last row, last column, from 0 on

_PIECE = 1 << 20  # bytes
_OVERLAP = 1 << 16  # bytes: more than a cell with a formula of 8,192 letters, the longest that Excel takes
_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_RELATED_STRICT = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
# A cell with a formula and no value; a result that is an empty text has the type str.
_WITHOUT_VALUE = re.compile(
    rb"""<(?:\w+:)?c(?![^>]*\st=["']str["'])(?:\s[^>]*)?>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"""
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


def check_shown(path: Path, sheet: CalamineSheet, first: int, end: int | None) -> None:
    """Raise `TableError` if a formula of the sheet was never computed, or cells are merged in the rows of the table.

    These are the rows from `first` on, counted from 0, and before `end` if that is given. Formulas of an old .xls file
    always have values.
    """
    formulas, merged = False, [(*start, *end) for start, end in sheet.merged_cell_ranges or ()]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "content.xml" in archive.namelist():
                formulas, merged = _in_open_document(archive, sheet.name)
            else:
                formulas = _not_computed(archive, sheet.name)
    if formulas:
        raise TableError(
            _("the sheet has formulas that were never computed, so their values are not in the file: open it in Excel "
              "or LibreOffice and save it there, or replace the formulas by their values (copy, then paste values)")
        )  # fmt: skip
    last_row, last_column = (sheet.total_height, sheet.total_width) if sheet.end is None else sheet.end
    last_row = last_row if end is None else end - 1
    for top, left, bottom, right in merged:
        if bottom >= first and top <= last_row and left <= last_column and (top, left) != (bottom, right):
            raise TableError(
                _("the sheet has merged cells below its header, and only the first of each holds the value: unmerge "
                  "them, and write the value in each cell that it is for; or, if they are below the table, leave those "
                  "rows out")
            )  # fmt: skip


def _not_computed(archive: zipfile.ZipFile, name: str) -> bool:
    """Return whether a formula of a sheet has no value, or any formula if the file says that all are to be computed."""
    part, all_to_compute = _part_of(archive, name)
    if part is None:
        return False
    with archive.open(part) as file:
        before = b""
        for piece in iter(lambda: file.read(_PIECE), b""):
            text = before + piece
            if FORMULA.search(text) and (all_to_compute or _WITHOUT_VALUE.search(text)):
                return True
            before = text[-_OVERLAP:]
    return False


def _part_of(archive: zipfile.ZipFile, name: str) -> tuple[str | None, bool]:
    """Return the part with a sheet, if there is one, and whether a program that opens the file is to compute it all."""
    try:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    except (KeyError, ElementTree.ParseError):  # parts under other names
        return None, False
    targets = {each.get("Id"): each.get("Target", "") for each in relations}
    part = None
    compute = False
    for each in book.iter():
        tag = each.tag.rpartition("}")[2]
        if tag == "sheet" and each.get("name") == name:
            target = targets.get(each.get(_RELATED) or each.get(_RELATED_STRICT), "")
            part = normpath(target.lstrip("/") if target.startswith("/") else join("xl", target))
        if tag == "calcPr":
            compute = each.get("fullCalcOnLoad") in ("1", "true")
    return part if part in archive.namelist() else None, compute


def _in_open_document(archive: zipfile.ZipFile, name: str) -> tuple[bool, list[Area]]:
    """Return whether a formula of a sheet has no value, and its merged cells."""
    reader = _OpenDocument(name)
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    with archive.open("content.xml") as file:
        for piece in iter(lambda: file.read(_PIECE), b""):
            parser.Parse(piece)
    return reader.formulas, reader.merged


class _OpenDocument:
    """What is known of the cells of one sheet while its XML is read."""

    def __init__(self, name: str) -> None:
        self._name, self._inside = name, False
        self._row = self._column = 0
        self._rows = 1  # times that this row stands there
        self.formulas = False
        self.merged: list[Area] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "table:table":
            self._inside = attributes.get("table:name") == self._name
            self._row = 0
        elif not self._inside:
            return
        elif tag == "table:table-row":
            self._column, self._rows = 0, _repeats(attributes.get("table:number-rows-repeated"))
        elif tag in ("table:table-cell", "table:covered-table-cell"):
            self.formulas |= "table:formula" in attributes and "office:value-type" not in attributes
            high = _repeats(attributes.get("table:number-rows-spanned"))
            wide = _repeats(attributes.get("table:number-columns-spanned"))
            if high * wide > 1:
                self.merged.append((self._row, self._column, self._row + high - 1, self._column + wide - 1))
            self._column += _repeats(attributes.get("table:number-columns-repeated"))

    def end(self, tag: str) -> None:
        if tag == "table:table-row":
            self._row += self._rows
        elif tag == "table:table":
            self._inside = False


def _repeats(text: str | None) -> int:
    """Return how often a cell or row stands, or how many it spans, from an attribute; 1 without a plain number."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else 1
