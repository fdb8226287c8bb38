"""Write the published tables as a workbook, for readers who have a spreadsheet program and nothing else.

A first sheet says what the numbers mean, and then comes a sheet for each table. Texts are those of readers: headings,
words for codes, and the language in which it is written. Texts that look like formulas stay texts.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import numpy as np

from dpengine.array_types import Columns
from dpengine.bundle.guide import entries_of_tables
from dpengine.errors import ReleaseError
from dpengine.exact import exact_text
from dpengine.results.published_columns import NUMBERS, measures, number_type, published_name
from dpengine.results.result import EXACT
from dpengine.results.views.published import PublishedTables
from dpengine.spec.counted_wording import rows_counted, unit_in_words
from dpengine.spec.plan import Plan
from dpengine.spec.wording import capitalised, heading_of, headings_of, label_words, people
from dpengine.translation.catalogue import _, plural

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

__all__ = [
    "MAX_CELLS", "NUMBER_WIDTH", "finish", "new_workbook", "notes_on_release", "number_headings", "tables_that_fit",
    "workbook", "write_labels", "write_notes",
]  # fmt: skip

MAX_CELLS = 50_000  # limit for all tables in a workbook, which takes about 4 s to write
MAX_SHEETS = 500
_MAX_NAME = 31  # units of UTF-16 in the name of a sheet
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\']")
_NOT_IN_XML = re.compile("[\ufffe\uffff]")  # characters that plans allow and XML does not; cells hold them escaped
_WIDTHS = (8, 60)  # of a column of labels, in letters
_GUIDE, NUMBER_WIDTH = (34, 90), 12  # widths of the columns of the first sheet, and of a column of numbers
_LINE, _MAX_HEIGHT = 15, 409  # height of a line, and of a row at most, in points
_AS_TEXTS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


def tables_that_fit(plan: Plan) -> list[Columns]:
    """Return the tables that a workbook holds, and the total: in the plan's order, as long as there is room."""
    kept: list[Columns] = []
    room = MAX_CELLS
    for table in (*dict.fromkeys(plan.marginals), ()):
        if (cells := plan.cells(table)) <= room and len(kept) < MAX_SHEETS:
            kept.append(table)
            room -= cells
    return kept


def workbook(published: PublishedTables, release_id: str) -> bytes:
    """Return the tables of a release as a workbook (.xlsx), in the current language; the same bytes each time.

    Tables that are too large are named on the first sheet. Raises `ReleaseError` if there is no other.
    """
    tables = tables_that_fit(published.plan)
    if tables == [()]:
        raise ReleaseError(_("the tables are too large for a workbook: use the CSV or Parquet files"))
    file = io.BytesIO()
    with new_workbook(file, published.plan) as book:
        names = {table: _sheet_name(published.plan, table, place) for place, table in enumerate(tables, 1)}
        _write_guide(book, published, release_id, names)
        for table, name in names.items():
            _write_table(book, published, table, name)
    return file.getvalue()


def new_workbook(file: io.BytesIO, plan: Plan) -> Workbook:
    """Return an empty workbook that is written to `file`; texts stay texts, and the same content is the same bytes."""
    import xlsxwriter  # only needed here

    book = xlsxwriter.Workbook(file, {"in_memory": True, **_AS_TEXTS})
    book.set_properties({"created": datetime(2000, 1, 1), "title": _in_xml(plan.title)})
    return book


def _sheet_name(plan: Plan, table: Columns, place: int) -> str:
    words = _NOT_IN_NAMES.sub(" ", _in_xml(heading_of(plan, table))).split()
    start = " ".join((str(place), *words)).encode("utf-16-le")[: 2 * _MAX_NAME]
    return start.decode("utf-16-le", "ignore").strip()  # without half of the last letter


def _in_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _write_guide(book: Workbook, published: PublishedTables, release_id: str, names: dict[Columns, str]) -> None:
    plan = published.plan
    sheet, row = write_notes(book, plan.title or plan.dataset, _guide(published, release_id))
    bold, wrapped = (book.add_format({"text_wrap": True, "valign": "top", "bold": each}) for each in (True, False))
    link = book.add_format({"font_color": "#0b6e75", "underline": 1, "text_wrap": True, "valign": "top"})
    row += 1
    sheet.write_string(row, 0, _("Tables"), bold)
    heading_of_table = headings_of(plan)
    for table in plan.published:
        row += 1
        heading = heading_of_table(table)
        if table in names:
            sheet.write_url(row, 0, f"internal:'{names[table]}'!A1", link, _in_xml(heading))
        else:
            sheet.write_string(row, 0, heading, wrapped)
        within = plural("{n} cell, 95 in 100 counts within ±{half_width}",
                        "{n} cells, 95 in 100 counts within ±{half_width}", plan.cells(table),
                        half_width=people(published.half_width(table)))  # fmt: skip
        left_out = "" if table in names else " " + _("It is too large for this workbook: see the CSV files.")
        sheet.write_string(row, 1, within + left_out, wrapped)
        sheet.set_row(row, _height((heading, within + left_out), _GUIDE))


def write_notes(book: Workbook, title: str, notes: Iterable[tuple[str, str]]) -> tuple[Worksheet, int]:
    """Write a first sheet of a title and of named sentences; return it, and the number of the row below them."""
    sheet = book.add_worksheet(_("Read this first"))
    bold, wrapped = (book.add_format({"text_wrap": True, "valign": "top", "bold": each}) for each in (True, False))
    sheet.fit_to_pages(1, 0)
    for place, width in enumerate(_GUIDE):
        sheet.set_column(place, place, width, wrapped)
    sheet.write_string(0, 0, title, book.add_format({"bold": True, "font_size": 14}))
    row = 2
    for name, text in notes:
        sheet.write_string(row, 0, name, bold)
        sheet.write_string(row, 1, text, wrapped)
        sheet.set_row(row, _height((name, text), _GUIDE))
        row += 1
    return sheet, row


def _guide(published: PublishedTables, release_id: str) -> Iterator[tuple[str, str]]:
    """Yield what the columns and the release mean: a name and a few sentences each."""
    plan = published.plan
    close = _("The numbers are close to the truth, not equal to it. Each comes with an interval that says how close.")
    noise = _("Random noise was added to protect the people in the data.")
    yield _("What this is"), f"{noise} {close}"
    for entry in entries_of_tables(published):
        yield capitalised(entry.name), f"{entry.text} {entry.use}".strip()
    if rows := rows_counted(plan):
        yield _("What is counted"), rows
    yield from notes_on_release(plan, release_id)


def notes_on_release(plan: Plan, release_id: str) -> Iterator[tuple[str, str]]:
    """Yield the guarantee of a release and its number."""
    yield _("Guarantee"), _("pure ε-differential privacy, ε = {epsilon}, for {unit}",
                            epsilon=exact_text(plan.epsilon), unit=unit_in_words(plan))  # fmt: skip
    yield _("Release"), release_id


def _write_table(book: Workbook, published: PublishedTables, table: Columns, name: str) -> None:
    plan, cells = published.plan, published.cells(table)
    sheet = book.add_worksheet(name)
    whole, decimal = book.add_format({"num_format": "#,##0"}), book.add_format({"num_format": "#,##0.0##"})
    words = number_headings(plan, table)
    of_count = f"{_('count')}: " if measures(plan, table) else ""
    noisy_head = of_count + _("mostly noise")
    of_numbers = [text for word in (*words.values(), noisy_head) for text in (word, word.capitalize())]
    heads: list[str] = []
    widths: list[int] = []
    for place, (key, values) in enumerate(cells.items()):
        if place < len(table):
            heading, width = write_labels(sheet, place, plan, table[place], values.tolist(), of_numbers)
            widths.append(width)
        else:
            heading = words[key]
            integers = number_type(key).kind == "i" or bool((values == np.rint(values)).all())
            sheet.write_column(1, place, values.tolist(), whole if integers else decimal)
            widths.append(NUMBER_WIDTH)
        heads.append(heading)
    noisy = (cells["low"] == 0) & (published.half_width(table) >= EXACT)
    heads.append(noisy_head)
    widths.append(len(_("mostly noise")) + 2)
    sheet.write_column(1, len(cells), [_("mostly noise") if each else "" for each in noisy.tolist()])
    finish(book, sheet, heads, widths, labels=len(table), rows=len(noisy))


def write_labels(
    sheet: Worksheet, place: int, plan: Plan, name: str, labels: Iterable[object], of_numbers: Sequence[str]
) -> tuple[str, int]:
    """Write the labels of a column in readers' words; return its heading, none of those `of_numbers`, and its width."""
    column = plan.column(name)
    shown = label_words(column)
    heading = published_name(heading_of(plan, (name,)), of_numbers)
    sheet.write_column(1, place, [shown[str(label)] for label in labels])
    longest = max(map(_letters, (heading, *shown.values())))
    return heading, min(max(longest + 2, _WIDTHS[0]), _WIDTHS[1])


def finish(
    book: Workbook, sheet: Worksheet, heads: Sequence[str], widths: Sequence[int], *, labels: int, rows: int
) -> None:
    """Write the headings of a table whose first columns are labels, and make the sheet fit to read and to print."""
    from xlsxwriter.utility import xl_range

    sheet.write_row(0, 0, heads, book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1}))
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    sheet.set_row(0, _height(heads, widths))
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    sheet.freeze_panes(1, labels)
    if labels:
        sheet.ignore_errors({"number_stored_as_text": xl_range(1, 0, rows, labels - 1)})  # codes stay texts
        sheet.autofilter(0, 0, rows, len(heads) - 1)


def _height(texts: Iterable[str], widths: Iterable[int]) -> int:
    """Return the height of a row of wrapped texts: not every program finds it when it opens a workbook."""
    lines = [max(len(textwrap.wrap(text, width - 1)), math.ceil(_letters(text) / (width - 1)))
             for text, width in zip(texts, widths, strict=True)]  # fmt: skip
    return min(_LINE * max(1, *lines), _MAX_HEIGHT)


def _letters(text: str) -> int:
    """Return how many letters of usual width a text is as wide as: those of Chinese are wider.

    >>> _letters("Town"), _letters("城市")
    (4, 4)
    """
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def number_headings(plan: Plan, table: Columns) -> dict[str, str]:
    """Return the headings of the columns of numbers of a table, by their names in its file."""
    words = {name: _(name) for name in NUMBERS}
    for name in plan.amounts(table):
        words[f"known_{name}"] = _("known: {column}", column=plan.column(name).heading)
    for each in measures(plan, table):
        for name, heading in zip(each.names, each.headings(plan), strict=True):
            words |= {name: heading, f"{name}_low": f"{heading}: {_('low')}", f"{name}_high": f"{heading}: {_('high')}"}
    return words
