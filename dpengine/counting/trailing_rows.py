"""Recognise totals and notes in the last rows of a file, which stand for no person.

If such a row were counted, it would be a person whose values may be sums over everybody. What is found here leaves no
row out: the owner is asked, and states it as a way to read the file.
"""

from __future__ import annotations

import re

from dpengine.counting.sample_rows import last_rows
from dpengine.sources.table import LocalTable, Table

__all__ = ["rows_below"]

_MAX_BELOW = 20  # rows below a table
_BEFORE = 50  # rows above them, with which they are compared
_TOTAL = re.compile(
    r"\W*((grand |sub|over)?-?(all )?totals?|sums?|(gesamt|zwischen|end)?-?summen?|insgesamt|gesamt|zusammen|"
    r"total (général|generale?)|totaux|somme|suma|totale|totaal|ogółem|razem)\W*",
    re.IGNORECASE,
)


def rows_below(table: Table) -> int:
    """Return how many of the last rows of a file look like totals or notes, for the eyes of the owner only.

    Such a row has a cell with a word such as *Total*, or is blank in more than half of the columns, and these are
    filled in nine of ten rows before it. Rows of databases and of Parquet files are not looked at.
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
