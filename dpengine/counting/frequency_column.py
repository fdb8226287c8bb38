"""Recognise a summary: a table in which a column says how many people each row stands for.

If it were published as it is, a row of the summary would be protected instead of a person. What is found here changes
nothing: the owner is asked, and states it as a way to read the table.
"""

from __future__ import annotations

import re

from dpengine.counting.sample_rows import first_rows
from dpengine.sources.table import LocalTable, Table

__all__ = ["frequency_column"]

_WHOLE = re.compile(r"\+?[0-9]{1,15}(\.0*)?")
_COUNTS = re.compile(
    r"(the )?(n|counts?|freqs?|frequenc(y|ies)|cases|persons?|people|population|pop|inhabitants|residents|respondents|"
    r"employees|patients|pupils|students|households|headcount|total|(n|no|num|number|count)[. _](of[ _])?(people|"
    r"persons|cases|rows|patients|pupils|students|residents|households|respondents)|anzahl( .*)?|anz|häufigkeit(en)?|"
    r"fälle|fallzahl|personen(zahl)?|einwohner(zahl)?|bevölkerung|insgesamt)",
    re.IGNORECASE,
)


def frequency_column(table: Table) -> str | None:
    """Return the column that seems to say how many people each row stands for, for the eyes of the owner only.

    That is so if its name says so, it holds whole numbers, some above 1, and no two of the first rows are equal in all
    other columns.
    A table that stays in its database is not looked at.
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
