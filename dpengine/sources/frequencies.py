"""Tables that are summed up already: each row stands for as many people as its column of frequencies says.

Read as it is, such a row would count as one person, and the release would protect a row of the summary. So each row is
repeated as often as it says, in the engine, as the rows are read: then a row is a person again, and counts, recognition
and protection are those of the table that was summed up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpengine.errors import TableError
from dpengine.sources.mixed import text_of
from dpengine.sources.relation import place_of, types_of
from dpengine.translation.catalogue import _, number

__all__ = ["MAX_PEOPLE", "repeat_rows"]

MAX_PEOPLE = 1_000_000_000
_AT_ONCE = 1000  # copies of a row: the engine holds those of some thousand rows in memory
_WHOLE = r"\+?[0-9]{1,15}([.]0*)?"


def repeat_rows(connection: Any, names: Sequence[str], frequency: str) -> tuple[int, int]:
    """Make `rows` anew, with each row as often as its column `frequency` says, and without this column.

    Returns the place of that column among `names`, and the number of rows made. Raises `TableError` if there is no such
    column, or not only whole numbers in it.
    """
    place = place_of(names, frequency)
    if place is None:
        raise TableError(_("there is no column {name!r} to say how many people a row stands for", name=frequency))
    if len(names) == 1:
        raise TableError(_("the table has only the column {name!r}, so it says nothing about people", name=frequency))
    times = _whole_number(f"c{place}", types_of(connection)[place])
    found = connection.execute(f"SELECT count(*) = count({times}), coalesce(sum({times}), 0) FROM rows").fetchall()
    whole, people = bool(found[0][0]), int(found[0][1])
    if not whole:
        raise TableError(
            _(
                "column {name!r} does not hold whole numbers of people, from 0, in every row: write 1234, not 1,234; "
                "the weights of a survey are no such numbers",
                name=frequency,
            )
        )
    if people > MAX_PEOPLE:
        raise TableError(
            _(
                "column {name!r} adds up to more than {most} people, which is more than can be counted here",
                name=frequency,
                most=number(MAX_PEOPLE),
            )
        )
    kept = [f"c{i}" for i in range(len(names)) if i != place]
    listed = ", ".join(kept)
    connection.execute("ALTER VIEW rows RENAME TO summed_up")
    connection.execute(
        f"CREATE VIEW rows({', '.join(f'c{i}' for i in range(len(kept)))}) AS SELECT {listed} FROM "
        f"(SELECT {listed}, unnest(range(least(times, {_AT_ONCE}))) FROM "
        f"(SELECT {listed}, unnest(range(times, 0, -{_AT_ONCE})) AS times FROM "
        f"(SELECT {listed}, {times} AS times FROM summed_up)))"
    )
    return place, people


def _whole_number(cell: str, type_name: str) -> str:
    """Write a cell as a number of people; null if it is no whole number from 0."""
    text = f"trim({text_of(cell, type_name)})"
    digits = f"split_part(ltrim({text}, '+'), '.', 1)"
    return f"CASE WHEN regexp_full_match({text}, '{_WHOLE}') THEN CAST({digits} AS BIGINT) END"
