"""Recognise columns that hold several answers in one cell, such as "German; Turkish".

If they were left so, each combination would be a value of its own. What is found here changes nothing: the owner is
asked, and lists the possible answers, which are public from the questionnaire.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpengine.counting.sample_rows import first_texts
from dpengine.sources.several_answers import BETWEEN
from dpengine.sources.table import Table

__all__ = ["columns_of_several_answers"]

_MAX_ANSWERS = 40
_MIN_TIMES = 4  # on average, each answer is given this often
_MAX_SINGLE = 20  # at most this many cells for each cell with several answers
_NUMERAL = re.compile(r"[0-9 .]*")


def columns_of_several_answers(table: Table) -> list[str]:
    """Return the columns of texts that seem to hold several answers in a cell, for the eyes of the owner only.

    That is so if the first rows have cells divided by the same mark, such as a semicolon, into few different parts that
    recur, in more combinations than there are parts, and in different numbers. A table that stays in its database is
    not looked at.
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
