"""Look at a table: how are the dates in its columns of texts written?

Nothing is read so by what is found here: the owner is asked, and declares the format as public knowledge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime

from dpengine.counting.sample_rows import first_texts
from dpengine.sources.table import Table
from dpengine.spec.date_text import DATE_FORMATS

__all__ = ["date_formats_found"]

_MIN_CELLS, _MIN_SHARE = 3, 0.8  # of the cells, which must be dates in one format


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
    enough = max(_MIN_CELLS, _MIN_SHARE * len(cells))
    return best if fitting[best] >= enough and fitting[best] > fitting[second] else None


def _is_written(cell: str, pattern: str) -> bool:
    with suppress(ValueError):
        datetime.strptime(cell, pattern) if pattern else datetime.fromisoformat(cell)
        return bool(pattern) or cell[4:5] == "-"
    return False
