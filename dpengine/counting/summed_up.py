"""Look at a table: does each row stand for a person, or is it summed up already, with a column of counts?

Whoever publishes such a table as it is protects a row of the summary instead of a person. Nothing is changed by what is
found here: the owner is asked, and states it as a way to read the table.
"""

from __future__ import annotations

import re

from dpengine.sources.frequencies import whole_number
from dpengine.sources.table import LocalTable, Table

__all__ = ["frequency_column"]

_MOST = 100_000  # rows of a table that is looked at
_COUNTS = re.compile(
    r"(the )?(n|counts?|freqs?|frequenc(y|ies)|cases|persons?|people|population|pop|inhabitants|residents|"
    r"respondents|employees|patients|pupils|students|households|headcount|total|(n|no|num|number|count)[. _](of[ _])?"
    r"(people|persons|cases|rows|patients|pupils|students|residents|households|respondents)|anzahl( .*)?|anz|"
    r"häufigkeit(en)?|fälle|fallzahl|personen(zahl)?|einwohner(zahl)?|bevölkerung|insgesamt)",
    re.IGNORECASE,
)


def frequency_column(table: Table) -> str | None:
    """Return the column that seems to say how many people each row stands for, for the eyes of the owner only.

    Its name says so, it holds whole numbers, some above 1, and no two rows are alike in all other columns. Large tables
    and those that stay in their database are not looked at.
    """
    if not isinstance(table, LocalTable) or table.rows is None or not 1 < table.rows <= _MOST:
        return None
    fields = list(enumerate(table.columns))
    named = [(i, field) for i, field in fields if len(fields) > 1 and _COUNTS.fullmatch(field.name.strip())]
    for place, field in named:
        others = ", ".join(f"c{i}" for i, _ in fields if i != place)
        times = whole_number(f"c{place}", field.type)
        query = (
            f"SELECT count(*) = count({times}) AND max({times}) > 1, count(*) = count(DISTINCT ({others})) FROM rows"
        )
        with table.connection() as connection:
            if all(connection.execute(query).fetchall()[0]):
                return field.name
    return None
