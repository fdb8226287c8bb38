"""Look at the last row of a file: does it stand for a person, or is it a total or a note below the table?

Whoever publishes such a row counts it as a person, whose values may be sums over everybody. Nothing is left out by what
is found here: the owner is asked, and states it as a way to read the file.
"""

from __future__ import annotations

import csv
import re

from dpengine.sources.cells import cell_text
from dpengine.sources.table import LocalTable, Table, TextFile

__all__ = ["ends_in_total"]

_BEFORE = 50  # rows with which the last one is compared
_TAIL = 1 << 16  # bytes in which they are looked for
_TOTAL = re.compile(
    r"\W*((grand |sub|over)?-?(all )?totals?|sums?|(gesamt|zwischen|end)?-?summen?|insgesamt|gesamt|zusammen|"
    r"total (général|generale?)|totaux|somme|suma|totale|totaal|ogółem|razem)\W*",
    re.IGNORECASE,
)


def ends_in_total(table: Table) -> bool:
    """Return whether the last row of a table from a file looks like a total or a note, for the eyes of the owner only.

    One of its cells is a word such as *Total*, or it leaves blank at least half of the columns, of those that all of
    the rows shortly before it fill. Rows that are not at hand (of a database, or of Parquet) are not looked at.
    """
    rows = _last_rows(table) if isinstance(table, LocalTable) else []
    if not rows:
        return False
    *before, last = rows
    if any(_TOTAL.fullmatch(cell) for cell in last):
        return True
    filled = [place for place in range(len(last)) if before and all(row[place] for row in before)]
    return len(last) > 1 and 2 * sum(not last[place] for place in filled) >= len(last)


def _last_rows(table: LocalTable) -> list[list[str]]:
    """Return the cells of the last few rows, as texts without blanks around them."""
    if table.text is not None:
        return _of_text(table.text, len(table.columns))
    if table.frame is None:
        return []
    tail = table.frame.slice(max(0, table.frame.num_rows - _BEFORE - 1))
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
        lines = raw.read().decode("utf-8", "replace").splitlines()[-_BEFORE - 1 :]
    rows = csv.reader(lines, delimiter=file.delimiter, quotechar=file.quote)
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]
