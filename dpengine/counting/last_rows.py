"""Look at the last rows of a file: do they stand for persons, or are they totals and notes below the table?

Whoever publishes such a row counts it as a person, whose values may be sums over everybody. Nothing is left out by what
is found here: the owner is asked, and states it as a way to read the file.
"""

from __future__ import annotations

import csv
import re

from dpengine.sources.cells import cell_text
from dpengine.sources.table import LocalTable, Table, TextFile

__all__ = ["rows_below"]

_MOST = 20  # rows below a table
_BEFORE = 50  # rows with which they are compared
_TAIL = 1 << 16  # bytes in which they are looked for
_TOTAL = re.compile(
    r"\W*((grand |sub|over)?-?(all )?totals?|sums?|(gesamt|zwischen|end)?-?summen?|insgesamt|gesamt|zusammen|"
    r"total (général|generale?)|totaux|somme|suma|totale|totaal|ogółem|razem)\W*",
    re.IGNORECASE,
)


def rows_below(table: Table) -> int:
    """Return how many of the last rows of a file look like totals or notes, for the eyes of the owner only.

    One cell of such a row is a word such as *Total*; or it leaves blank more than half of the columns, which nine of
    ten rows shortly before all of these fill. Rows that are not at hand (of a database, or of Parquet) are not looked
    at.
    """
    rows = _last_rows(table) if isinstance(table, LocalTable) else []
    runs = range(min(_MOST, len(rows) - 1), 0, -1)
    return next((n for n in runs if all(_is_below(row, rows[:-n]) for row in rows[-n:])), 0)


def _is_below(row: list[str], before: list[list[str]]) -> bool:
    if any(map(_TOTAL.fullmatch, row)):
        return True
    filled = [10 * sum(bool(cell) for cell in column) >= 9 * len(before) for column in zip(*before, strict=True)]
    blank = sum(not cell for cell, expected in zip(row, filled, strict=True) if expected)
    return 2 * blank > len(row) > 1


def _last_rows(table: LocalTable) -> list[list[str]]:
    """Return the cells of the last few rows, as texts without blanks around them."""
    if table.text is not None:
        return _of_text(table.text, len(table.columns))
    if table.frame is None:
        return []
    tail = table.frame.slice(max(0, table.frame.num_rows - _BEFORE - _MOST))
    return [[_text(cell) for cell in row.values()] for row in tail.to_pylist()]


def _text(cell: object) -> str:
    if isinstance(cell, dict):  # of a mixed column
        cell = next((value for value in cell.values() if value is not None), None)
    return (cell_text(cell) or "").strip()


def _of_text(file: TextFile, columns: int) -> list[list[str]]:
    """Return the cells of the last lines that have a cell for each column: the first may be cut, or of a quote."""
    with file.path.open("rb") as raw:
        next(raw)  # the names
        raw.seek(max(raw.tell(), raw.seek(0, 2) - _TAIL))
        lines = raw.read().decode("utf-8", "replace").splitlines()[-_BEFORE - _MOST :]
    rows = csv.reader(lines, delimiter=file.delimiter, quotechar=file.quote)
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]
