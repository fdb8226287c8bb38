"""Recognise oddities of a table from a few rows: encoding, dates, totals, frequencies, several answers in a cell.

Whatever is found here changes nothing: the owner is asked, and states it as a way to read the table, or declares it as
public knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime

from dpengine.counting.sample_rows import first_rows, first_texts, last_rows
from dpengine.sources.several_answers import BETWEEN
from dpengine.sources.table import LocalTable, Table
from dpengine.spec.date_text import DATE_FORMATS

__all__ = ["columns_of_several_answers", "date_formats_found", "encoding_found", "frequency_column", "rows_below"]

# What umlauts of these encodings become as Windows-1252, where no word has it: *Ÿ*, *Š* or *§* amid small letters, a
# sign before them. A mere š is not among them: names have it.
_MISREAD = {
    "mac_roman": re.compile(r"[a-z]Ÿ|Ÿ[a-z]|[a-z][Š§][a-z]|\b[A-Z]Š[a-z]|(?<![\w.,])[€†][a-z]{3}"),
    "cp850": re.compile(r"[A-Za-z][„”\N{REPLACEMENT CHARACTER}][a-z]"),
}
_MIN_DATES, _MIN_SHARE = 3, 0.8  # least number and share of cells that are dates in one format
_MAX_BELOW = 20  # rows below a table
_BEFORE = 50  # rows above them, with which they are compared
_TOTAL = re.compile(
    r"\W*((grand |sub|over)?-?(all )?totals?|sums?|(gesamt|zwischen|end)?-?summen?|insgesamt|gesamt|zusammen|"
    r"total (général|generale?)|totaux|somme|suma|totale|totaal|ogółem|razem)\W*",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\+?[0-9]{1,15}(\.0*)?")
_COUNTS = re.compile(
    r"(the )?(n|counts?|freqs?|frequenc(y|ies)|cases|persons?|people|population|pop|inhabitants|residents|respondents|"
    r"employees|patients|pupils|students|households|headcount|total|(n|no|num|number|count)[. _](of[ _])?(people|"
    r"persons|cases|rows|patients|pupils|students|residents|households|respondents)|anzahl( .*)?|anz|häufigkeit(en)?|"
    r"fälle|fallzahl|personen(zahl)?|einwohner(zahl)?|bevölkerung|insgesamt)",
    re.IGNORECASE,
)
_MAX_ANSWERS = 40
_MIN_TIMES = 4  # on average, each answer is given this often
_MAX_SINGLE = 20  # at most this many cells for each cell with several answers
_NUMERAL = re.compile(r"[0-9 .]*")


def encoding_found(table: Table) -> str | None:
    """Return the encoding in which a text file seems to be written, from its names and first rows; None if as read.

    It is a guess for the owner to confirm.
    """
    texts = [field.name for field in table.columns]
    texts += [text for column in first_texts(table).values() for text in column]
    said = "\n".join(text for text in texts if not text.isascii())
    return next((encoding for encoding, pattern in _MISREAD.items() if pattern.search(said)), None)


def date_formats_found(table: Table, names: Collection[str]) -> dict[str, str]:
    """Return the format in which most cells of some columns are dates, by name, for the eyes of the owner only.

    It is one of `DATE_FORMATS`. Of a column whose dates fit two formats alike, such as days and months of up to 12,
    none is returned. A table that stays in its database is not looked at.
    """
    found = {name: _format_of(cells) for name, cells in first_texts(table).items() if name in names}
    return {name: pattern for name, pattern in found.items() if pattern is not None}


def _format_of(cells: Sequence[str]) -> str | None:
    """Return the format that most cells have, if no other one fits as many.

    >>> _format_of(["31.12.2024", "1.2.2024", "n/a", "05.06.2024", "17.06.2024"])
    '%d.%m.%Y'
    >>> _format_of(["05/06/2024", "07/08/2024", "01/02/2024"]), _format_of(["2024-12-31", "2024-01-01 08:15"] * 2)
    (None, '')
    """
    fitting = {pattern: sum(_is_written(cell, pattern) for cell in cells) for pattern in DATE_FORMATS}
    best, second = sorted(fitting, key=fitting.__getitem__, reverse=True)[:2]
    enough = max(_MIN_DATES, _MIN_SHARE * len(cells))
    return best if fitting[best] >= enough and fitting[best] > fitting[second] else None


def _is_written(cell: str, pattern: str) -> bool:
    with suppress(ValueError):
        datetime.strptime(cell, pattern) if pattern else datetime.fromisoformat(cell)
        return bool(pattern) or cell[4:5] == "-"
    return False


def rows_below(table: Table) -> int:
    """Return how many of the last rows of a file look like totals or notes, for the eyes of the owner only.

    Counted, such a row would be a person, whose values may be sums over everybody. It has a cell with a word such as
    *Total*, or is blank in more than half of the columns, and these are filled in nine of ten rows before it. Rows of
    databases and of Parquet files are not looked at.
    """
    rows = last_rows(table, _BEFORE + _MAX_BELOW) if isinstance(table, LocalTable) else []
    runs = range(min(_MAX_BELOW, len(rows) - 1), 0, -1)
    return next((n for n in runs if all(_is_below(row, rows[:-n]) for row in rows[-n:])), 0)


def _is_below(row: list[str], before: list[list[str]]) -> bool:
    if any(map(_TOTAL.fullmatch, row)):
        return True
    filled = [10 * sum(bool(cell) for cell in column) >= 9 * len(before) for column in zip(*before, strict=True)]
    blank = sum(not cell for cell, expected in zip(row, filled, strict=True) if expected)
    return 2 * blank > len(row) > 1


def frequency_column(table: Table) -> str | None:
    """Return the column that seems to say how many people each row stands for, for the eyes of the owner only.

    Published as it is, a row of such a summary would be protected, instead of a person. The name of the column says so,
    it holds whole numbers, some above 1, and no two of the first rows are equal in all other columns. A table that
    stays in its database is not looked at.
    """
    named = [i for i, field in enumerate(table.columns) if _COUNTS.fullmatch(field.name.strip())]
    if not isinstance(table, LocalTable) or not named or len(table.columns) == 1:
        return None
    rows = first_rows(table)
    for place in named:
        times, others = [row[place] for row in rows], {(*row[:place], *row[place + 1 :]) for row in rows}
        whole = all(map(_WHOLE.fullmatch, times)) and any(float(each) > 1 for each in times)
        if whole and 1 < len(rows) == len(others):
            return table.columns[place].name
    return None


def columns_of_several_answers(table: Table) -> list[str]:
    """Return the columns of texts that seem to hold several answers in a cell, such as "German; Turkish".

    It is for the eyes of the owner only: left so, each combination would be a value of its own. The first rows have
    cells divided by the same mark, such as a semicolon, into few different parts that recur, in more combinations than
    there are parts, and in different numbers. A table that stays in its database is not looked at.
    """
    columns = first_texts(table).items()
    return [name for name, cells in columns if any(_are_lists(cells, letter) for letter in BETWEEN)]


def _are_lists(cells: Sequence[str], letter: str) -> bool:
    """Return whether cells are lists of a few answers with this mark between them; with commas, none is a number."""
    if _MAX_SINGLE * sum(letter in cell for cell in cells) < max(1, len(cells)):
        return False
    lists = [tuple(part.strip() for part in cell.split(letter)) for cell in cells]
    parts = {part for each in lists for part in each}
    return (
        len({len(each) for each in lists}) > 1
        and len(parts) <= min(_MAX_ANSWERS, sum(map(len, lists)) / _MIN_TIMES)
        and len(set(lists)) > len(parts)
        and not (letter == "," and any(map(_NUMERAL.fullmatch, parts)))
    )
