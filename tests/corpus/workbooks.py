"""Workbooks: .xlsx, .xls and .ods."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from tests.corpus.case import CANARY, Case, Counts, changed

SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY i SYSTEM "file:///etc/passwd">]>'


def book(*rows: list[Any], change: Callable[[Any], object] = lambda sheet: None) -> bytes:
    """Make a workbook of one sheet; `change` receives it before it is written."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in rows:
        sheet.append(row)
    change(sheet)
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


PLAIN: list[list[Any]] = [["a", "b"], [1, "x"], [2, "y"]]


def xlsx(content: bytes | Callable[[], bytes], refused: str = "", counts: Counts | None = None, **options: str) -> Case:
    return Case("t.xlsx", content, refused, counts, options)


def with_sheet(change: Callable[[bytes], bytes], *rows: list[Any]) -> bytes:
    """Make a workbook and change the text of its sheet."""
    return changed(book(*(rows or PLAIN)), lambda name, content: change(content) if name == SHEET else content)


def with_cell(place: str) -> Callable[[], bytes]:
    return lambda: book(*PLAIN, change=lambda sheet: sheet.__setitem__(place, "far"))


def stated(reference: bytes, content: bytes) -> bytes:
    """Make a workbook say of its sheet that it has this extent."""
    return changed(
        content,
        lambda name, part: (
            re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="%s"' % reference, part) if name == SHEET else part
        ),
    )


def odd_dates(sheet: Any) -> None:
    for place, value in (("B2", 1e308), ("B3", -1.0), ("A4", 2958466.0)):
        sheet[place] = value
        sheet[place].number_format = "yyyy-mm-dd"


def hide_first(sheet: Any) -> None:
    other = sheet.parent.create_sheet("other")
    for row in (["a", "b"], [1, "x"], [1, "y"]):
        other.append(row)
    sheet.sheet_state = "hidden"


def count_from_1904(sheet: Any) -> None:
    sheet.parent.epoch = CALENDAR_MAC_1904
    sheet.append([1, dt.date(2024, 1, 5)])


def encrypted() -> bytes:
    """Set the flag of encryption of all members."""
    content = bytearray(book(*PLAIN))
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for match in re.finditer(re.escape(sign), bytes(content)):
            content[match.start() + at] |= 1
    return bytes(content)


def of_another_version() -> bytes:
    """Say of all members that they need a later version of the format."""
    content = bytearray(book(*PLAIN))
    for match in re.finditer(rb"PK\x01\x02", bytes(content)):
        content[match.start() + 6] = 99
    return bytes(content)


def bomb() -> bytes:
    file = io.BytesIO(book(*PLAIN))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/media/bomb.xml", b" " * (120 << 20))
    return file.getvalue()


def ods(table: str) -> Callable[[], bytes]:
    """Make an OpenDocument sheet of the XML of its rows."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{name}="{office}:{name}:1.0"' for name in ("office", "table", "text"))
    content = (
        f'<?xml version="1.0"?><office:document-content {names}><office:body><office:spreadsheet>'
        f'<table:table table:name="s">{table}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{office}:manifest:1.0"><manifest:file-entry '
        'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
        "</manifest:manifest>"
    )

    def make() -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            archive.writestr("META-INF/manifest.xml", manifest)
            archive.writestr("content.xml", content)
        return file.getvalue()

    return make


def row(*cells: str, more: str = "") -> str:
    listed = "".join(
        f'<table:table-cell office:value-type="string"{more}><text:p>{cell}</text:p></table:table-cell>'
        for cell in cells
    )
    return f"<table:table-row>{listed}</table:table-row>"


HEADER, ONE = row("a", "b"), row("1", "x")
WIDE = ' table:number-columns-repeated="1000000000"'
LONG = ONE.replace("<table:table-row>", '<table:table-row table:number-rows-repeated="1000000000">')

CASES = {
    "a workbook": xlsx(lambda: book(*PLAIN), counts=(1, 1, 0, 0)),
    "a workbook with an old name": Case("t.xls", lambda: book(*PLAIN), ""),
    "an extent that is stated too large": xlsx(lambda: stated(b"A1:XFD1048576", book(*PLAIN)), counts=(1, 1, 0, 0)),
    "an extent that is stated too small": xlsx(lambda: stated(b"A1:A1", book(*PLAIN)), counts=(1, 1, 0, 0)),
    "a hidden sheet before the first": xlsx(lambda: book(["h"], change=hide_first), counts=(2, 0, 0, 0)),
    "a sheet that is not there": xlsx(lambda: book(*PLAIN), "no sheet 'third'", sheet="third"),
    "merged cells": xlsx(lambda: book(*PLAIN, change=lambda sheet: sheet.merge_cells("A2:A3")), "has merged cells"),
    "a formula that was never computed": xlsx(lambda: book(*PLAIN, ["=1+0", "z"]), "never computed"),
    "a reference outside of the workbook": xlsx(lambda: book(*PLAIN, ["=[1]s!A1", "z"]), "never computed"),
    "errors in cells": xlsx(
        lambda: with_sheet(lambda part: part.replace(b'<c r="A3" t="n"><v>2</v>', b'<c r="A3" t="e"><v>#N/A</v>')), ""
    ),
    "dates from 1904 on": xlsx(lambda: book(["a", "b"], change=count_from_1904), counts=(1, 0, 0, 0)),
    "dates beyond the calendar": xlsx(lambda: book(*PLAIN, change=odd_dates), ""),
    "line ends in a name": xlsx(lambda: book(["a", "b\nin years"], [1, 2]), counts=(1, 0, 0, 0)),
    "rows of different lengths": xlsx(lambda: book(["a", "b"], [1], [], [2, "y"]), counts=(1, 1, 0, 0)),
    "a file in place of an entity": xlsx(
        lambda: with_sheet(lambda part: part.replace(b"<worksheet", OUTSIDE.encode() + b"<worksheet", 1)), ""
    ),
    "a billion laughs": xlsx(
        lambda: with_sheet(lambda part: part.replace(b"<worksheet", LAUGHS.encode() + b"<worksheet", 1)), ""
    ),
    "no rows": xlsx(lambda: book(["a", "b"]), counts=(0, 0, 0, 0)),
    "an empty sheet": xlsx(lambda: book(), "empty"),
    "a column without a name": xlsx(lambda: book(["a", None], [1, CANARY]), "column 2 has no name"),
    "the same name twice": xlsx(lambda: book(["a", "a"], [1, CANARY]), "named 'a'"),
    "six thousand columns": xlsx(lambda: book([f"c{i}" for i in range(6_000)], [CANARY]), "6,000 columns"),
    "a cell at the end of the world": xlsx(with_cell("XFD1048576"), "very far from the first one"),
    "the same, and the extent lies": xlsx(lambda: stated(b"A1:B3", with_cell("XFD1048576")()), "one cell far from all"),
    "a cell at the end of a row": xlsx(with_cell("XFD2000"), "very far from the first one"),
    "a cell beyond the world": xlsx(
        lambda: with_sheet(lambda part: part.replace(b'r="A2"', b'r="ZZZZZZ99999999999"')), ""
    ),
    "no part with the sheet": xlsx(
        lambda: changed(book(*PLAIN), lambda name, part: None if name == SHEET else part), ""
    ),
    "a sheet that is no XML": xlsx(lambda: with_sheet(lambda part: f"<{CANARY}".encode()), ""),
    "a sheet that is cut off": xlsx(lambda: with_sheet(lambda part: part[:-60]), ""),
    "a text that is not listed": xlsx(
        lambda: with_sheet(lambda part: re.sub(rb't="s"><v>1<', b't="s"><v>999999999<', part)), ""
    ),
    "texts listed without end": xlsx(
        lambda: changed(
            book(*PLAIN),
            lambda name, part: part.replace(b'uniqueCount="4"', b'uniqueCount="999999999999"')
            if "shared" in name
            else part,
        ),
        "",
    ),
    "a part that would fill the memory": xlsx(bomb, "unpacks to far more"),
    "encrypted parts": xlsx(encrypted, "password"),
    "parts of another version": xlsx(of_another_version, "not a whole workbook"),
    "cut off": xlsx(lambda: book(*PLAIN)[:2_000], "not a whole workbook"),
    "a text document": xlsx(
        lambda: changed(book(*PLAIN), lambda name, part: part if name.startswith("[Content") else None),
        "cannot be read",
    ),
    "a table named workbook": xlsx(f"a,b\n{CANARY},2\n".encode(), "not a whole workbook"),
    "a password": xlsx(b"\xd0\xcf\x11\xe0" + CANARY.encode(), "password"),
    "an old workbook, damaged": Case("t.xls", b"\xd0\xcf\x11\xe0" + CANARY.encode() * 99, "cannot be read"),
    "nothing": xlsx(b"", "not a whole workbook"),
    "an OpenDocument sheet": Case("t.ods", ods(HEADER + ONE + row("2", "y")), counts=(1, 1, 0, 0)),
    "an OpenDocument sheet with a title over it": Case(
        "t.ods",
        ods(row("title", more=' table:number-columns-spanned="2"') + HEADER + ONE),
        counts=(1, 0, 0, 0),
        options={"skip_rows": 1},
    ),
    "merged cells of an OpenDocument sheet": Case(
        "t.ods", ods(HEADER + ONE + row("1", more=' table:number-rows-spanned="2"') + row("2")), "has merged cells"
    ),
    "an OpenDocument formula that was never computed": Case(
        "t.ods",
        ods(HEADER + ONE.replace(' office:value-type="string"', ' table:formula="of:=1"', 1)),
        "never computed",
    ),
    "an OpenDocument sheet of endless rows": Case("t.ods", ods(HEADER + LONG)),
    "an OpenDocument sheet of endless columns": Case("t.ods", ods(HEADER + row("1", more=WIDE))),
    "an OpenDocument sheet that is no XML": Case("t.ods", ods(f"<{CANARY}"), "cannot be read"),
}  # fmt: skip
