"""People who look alike on chosen columns: the classes of k-anonymity and its kin, and the SQL that forms them.

What is in here is exact and private: it is for the eyes of a table's owner, and nothing that is published uses it.
Null, blank text and NaN are one value of their own. `counting.count` runs the queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpengine.array_types import Ints
from dpengine.counting.encode_sql import Family, identity

__all__ = ["Alone", "Classes", "cell", "class_query", "unique_query"]


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a table: ``size`` is the number of people in each.

    Each entry says that of class ``of`` there are ``count`` people with the sensitive value ``values[value]``; only
    values that occur have one. ``values`` stand in the order of their numbers, or of the alphabet; None is missing,
    and last. Without a sensitive column there are no entries.
    """

    size: Ints
    of: Ints
    value: Ints
    count: Ints
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """How many ``people`` no one else looks like on some columns, and how many ``classes`` these columns make."""

    people: int
    classes: int


def cell(index: int, family: Family) -> str:
    """Column ``c{index}`` as something to group by; null where the cell is missing."""
    if family == "float":
        return f"CASE WHEN NOT isnan(c{index}) THEN c{index} END"
    return identity(index, family) if family == "text" else f"c{index}"


def class_query(cells: Sequence[str], sensitive: str | None, person: str | None) -> tuple[str, str]:
    """Two queries: one row a class (``size`` and a list of ``entries``); and the sensitive values in their order.

    ``person`` is the person's ID, null for rows that count nowhere; without it each row is a person.
    """
    places = [f"q{k}" for k in range(len(cells))]
    by = ", ".join(places)
    number = "count(*)" if person is None else "count(DISTINCT person)"
    order = "s IS NULL, TRY_CAST(s::VARCHAR AS DOUBLE) NULLS LAST, s"
    values = f"SELECT s, row_number() OVER (ORDER BY {order}) - 1 AS place FROM (SELECT DISTINCT s FROM coded)"
    coded = f"WITH coded AS ({_coded(cells, sensitive or 'NULL', person)}), v AS ({values})"
    size, sizes, joined = "sum(n)::BIGINT", "", ""
    if person is not None:  # who has several values in a class is in it once
        size = "any_value(people)"
        sizes = f", z AS (SELECT {by}, {number} AS people FROM coded GROUP BY {by})"
        joined = f" JOIN z ON {' AND '.join(f'g.{place} IS NOT DISTINCT FROM z.{place}' for place in places)}"
    classes = (
        f"{coded}, g AS (SELECT {by}, s, {number} AS n FROM coded GROUP BY {by}, s){sizes} "
        f"SELECT {size} AS size, list({{'value': place, 'count': n}}) AS entries "
        f"FROM g JOIN v ON g.s IS NOT DISTINCT FROM v.s{joined} GROUP BY {', '.join(f'g.{place}' for place in places)}"
    )
    return classes, f"{coded} SELECT s::VARCHAR FROM v ORDER BY place"


def unique_query(cells: Sequence[str], sets: Sequence[Sequence[int]], person: str | None) -> str:
    """One row for each of ``sets`` of places in ``cells``: its id, people alone in their class, classes.

    Bit j of the id, from the left of ``len(cells)`` bits, is 1 where cell j is not in the set.
    """
    names = [f"q{k}" for k in range(len(cells))]
    wanted = ", ".join(f"({', '.join(f'q{k}' for k in chosen)})" for chosen in sets)
    held, alone = "count(*) AS n", "count(*) FILTER (WHERE n = 1)"
    if person is not None:  # someone with several rows may be alone in several classes, and is one person all the same
        held, alone = "min(person) AS one, max(person) AS other", "count(DISTINCT one) FILTER (WHERE one = other)"
    return (
        f"WITH coded AS ({_coded(cells, 'NULL', person)}), "
        f"g AS (SELECT GROUPING({', '.join(names)}) AS id, {held} FROM coded GROUP BY GROUPING SETS ({wanted})) "
        f"SELECT id, {alone}, count(*) FROM g GROUP BY id"
    )


def _coded(cells: Sequence[str], sensitive: str, person: str | None) -> str:
    named = [f"{sql} AS q{k}" for k, sql in enumerate(cells)] + [f"{sensitive} AS s"]
    if person is None:
        return f"SELECT {', '.join(named)} FROM rows"
    return f"SELECT {', '.join([*named, f'{person} AS person'])} FROM rows WHERE {person} IS NOT NULL"
