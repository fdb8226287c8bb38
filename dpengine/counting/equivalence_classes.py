"""Count equivalence classes: people with equal values in chosen columns, as k-anonymity and ℓ-diversity define them.

Everything here is exact and private: it is for the eyes of the table's owner only, and no publication uses it. Null,
blank text and NaN are one and the same value.

Sources: Sweeney 2002 (k-anonymity); Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007 (ℓ-diversity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dpengine import arrow
from dpengine.array_types import Columns, Ints
from dpengine.counting.compatibility import missing_columns
from dpengine.counting.count import row_count
from dpengine.counting.encoding.bin_boundaries import family_of
from dpengine.counting.encoding.local_sql import grouped, identity
from dpengine.counting.scan import prepared_connection
from dpengine.counting.single_query import coding_query, local_table
from dpengine.errors import PlanError, TableError
from dpengine.sources.mixed import members
from dpengine.sources.table import LocalTable, Table
from dpengine.spec.domain import Column
from dpengine.spec.plan import Unit
from dpengine.translation.catalogue import _

__all__ = ["Classes", "Uniqueness", "cells_by_person", "class_sizes", "people_count", "rows_by_person", "unique_people"]


@dataclass(frozen=True, slots=True)
class Classes:
    """The equivalence classes of a table: ``size[c]`` is the number of people in class c.

    `of`, `value` and `count` are parallel: entry i says that ``count[i]`` people of class ``of[i]`` have the sensitive
    value ``values[value[i]]``. Values that do not occur in a class have no entry. `values` are sorted as numbers, or
    otherwise alphabetically; a missing value is None, and last. Without a sensitive column there are no entries.
    """

    size: Ints
    of: Ints
    value: Ints
    count: Ints
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """The number of `people` who are alone in their class on some columns, and the number of `classes`."""

    people: int
    classes: int


def class_sizes(
    table: Table, columns: Sequence[str], sensitive: str | None = None, *, person: str | None = None
) -> Classes:
    """Count the people in each equivalence class on `columns`, and how many of them have which `sensitive` value.

    Each row is a person, unless the column `person` names them; a person then counts once in a class. Raises
    `TableError` for columns that are missing or cannot be grouped, and `PlanError` if `columns` is empty.
    """
    cells, identities = _cells(table, columns, person)
    sensitive_cell = None if sensitive is None else _cells(table, [sensitive], None)[0][0]
    class_query, value_query = _class_queries(cells, sensitive_cell, identities)
    with _local(table).connection() as connection:
        classes = connection.sql(class_query).to_arrow_table()
        texts = tuple(text for (text,) in connection.execute(value_query).fetchall())
    entries = arrow.one_chunk(classes.column("entries"))
    sizes = np.asarray(arrow.to_numpy(classes.column("size")), dtype=np.int64)
    if sensitive is None:
        none = np.zeros(0, dtype=np.int64)
        return Classes(sizes, none, none, none, ())
    flat = entries.flatten()
    of = np.repeat(np.arange(len(sizes), dtype=np.int64), arrow.to_numpy(pc.list_value_length(entries)))
    return Classes(sizes, of, arrow.to_numpy(flat.field("value")), arrow.to_numpy(flat.field("count")), texts)


def unique_people(
    table: Table, sets: Sequence[Sequence[str]], *, person: str | None = None
) -> dict[Columns, Uniqueness]:
    """Count, for each of `sets` of columns, the people who are alone in their class on them.

    All sets are counted in one pass. Raises as `class_sizes` does.
    """
    columns = list(dict.fromkeys(name for names in sets for name in names))
    cells, identities = _cells(table, columns, person)
    wanted = {tuple(dict.fromkeys(names)): [columns.index(name) for name in dict.fromkeys(names)] for names in sets}
    with _local(table).connection() as connection:
        answer = connection.execute(_unique_query(cells, list(wanted.values()), identities)).fetchall()
    by_id = {set_id: Uniqueness(int(people), int(classes)) for set_id, people, classes in answer}
    all_bits = (1 << len(columns)) - 1
    ids = {
        names: all_bits - sum(1 << (len(columns) - 1 - place) for place in places) for names, places in wanted.items()
    }
    return {names: by_id.get(set_id, Uniqueness(0, 0)) for names, set_id in ids.items()}


def people_count(table: Table, person: str | None) -> int:
    """Count the people named by the column `person`, or the rows if it is None. Raises `TableError`."""
    if person is None:
        return row_count(table)
    with _local(table).connection() as connection:
        identities = _cells(table, [person], person)[1]
        return int(connection.execute(f"SELECT count(DISTINCT {identities}) FROM rows").fetchall()[0][0])


def rows_by_person(table: Table, person: str) -> tuple[Ints, Ints]:
    """Return each number of rows that a person has, in order, and how many have it; rows without an ID are left out.

    Raises `TableError` as `class_sizes` does.
    """
    identities = _cells(table, [person], person)[1]
    rows = f"SELECT count(*) AS n FROM rows WHERE ({identities}) IS NOT NULL GROUP BY {identities}"
    with _local(table).connection() as connection:
        return _how_many_have(connection, rows)


def cells_by_person(table: Table, columns: Sequence[Column], person: str) -> tuple[Ints, Ints]:
    """Return how many persons are in each number of distinct cells of the table over `columns`.

    All of a person's rows count, except those without a cell. Raises `TableError` for columns that the table lacks, or
    rows that stay in their database.
    """
    local = local_table(table, columns, Unit(id=person, rows=1))
    codings, rows = coding_query(local, columns, person)
    cells = f"SELECT count(*) AS n FROM (SELECT DISTINCT * FROM ({rows}) AS a) AS b GROUP BY person"
    with prepared_connection(local, codings) as connection:
        return _how_many_have(connection, cells)


def _how_many_have(connection: Any, numbers: str) -> tuple[Ints, Ints]:
    """Return each number `n` in the result of a query, in order, and how often it is there."""
    pairs = connection.execute(f"SELECT n, count(*) FROM ({numbers}) AS c GROUP BY n ORDER BY n").fetchall()
    n, times = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return n, times


def _local(table: Table) -> LocalTable:
    """Return the table if its rows are on this machine, where any grouping is possible. Raises `TableError`."""
    if not isinstance(table, LocalTable):
        raise TableError(
            _("the rows of this table stay in their database; this needs a table that is opened from a file")
        )
    return table


def _cells(table: Table, columns: Sequence[str], person: str | None) -> tuple[list[str], str | None]:
    """Return SQL for the values of `columns` to group by, and for the person's ID."""
    if not columns:
        raise PlanError(_("name at least one column"))
    places = table.places
    needed = dict.fromkeys((*columns, *(() if person is None else (person,))))
    lacking = [name for name in needed if name not in places]
    faults, cells = [missing_columns(lacking, list(places))] if lacking else [], {}
    for name in needed:
        if name in lacking:
            continue
        kind = table.columns[places[name]].type
        if not all(map(family_of, members("c", kind).values())):
            fault = _(
                "column {name} holds values that cannot be grouped; write them as text or numbers", name=repr(name)
            )
            faults.append(fault)
        else:
            cells[name] = places[name], kind
    if faults:
        raise TableError(faults)
    return [_cell(*cells[name]) for name in columns], None if person is None else identity(*cells[person])


def _cell(index: int, type_name: str) -> str:
    """Write column ``c{index}`` as a value to group by, null if the cell is missing."""
    family = family_of(type_name)
    if family == "float":
        return f"CASE WHEN NOT isnan(c{index}) THEN c{index} END"
    return grouped(index, type_name) if family in ("text", None) else f"c{index}"


def _class_queries(cells: Sequence[str], sensitive: str | None, person: str | None) -> tuple[str, str]:
    """Write two queries: one row for each class (`size` and a list of `entries`); the sensitive values in order.

    `person` is the person's ID, null for rows that count nowhere; without it each row is a person.
    """
    places = [f"q{k}" for k in range(len(cells))]
    by = ", ".join(places)
    number = "count(*)" if person is None else "count(DISTINCT person)"
    order = "s IS NULL, TRY_CAST(s::VARCHAR AS DOUBLE) NULLS LAST, s"
    values = f"SELECT s, row_number() OVER (ORDER BY {order}) - 1 AS place FROM (SELECT DISTINCT s FROM coded)"
    coded = f"WITH coded AS ({_coded(cells, sensitive or 'NULL', person)}), v AS ({values})"
    size, sizes, joined = "sum(n)::BIGINT", "", ""
    if person is not None:  # a person with several values in a class counts once in it
        size = "any_value(people)"
        sizes = f", z AS (SELECT {by}, {number} AS people FROM coded GROUP BY {by})"
        joined = f" JOIN z ON {' AND '.join(f'g.{place} IS NOT DISTINCT FROM z.{place}' for place in places)}"
    classes = (
        f"{coded}, g AS (SELECT {by}, s, {number} AS n FROM coded GROUP BY {by}, s){sizes} "
        f"SELECT {size} AS size, list({{'value': place, 'count': n}}) AS entries "
        f"FROM g JOIN v ON g.s IS NOT DISTINCT FROM v.s{joined} GROUP BY {', '.join(f'g.{place}' for place in places)}"
    )
    return classes, f"{coded} SELECT s::VARCHAR FROM v ORDER BY place"


def _unique_query(cells: Sequence[str], sets: Sequence[Sequence[int]], person: str | None) -> str:
    """Write a query with one row for each of `sets` of places in `cells`: its id, people alone, classes.

    Bit j of the id, from the left of ``len(cells)`` bits, is 1 where cell j is not in the set.
    """
    names = [f"q{k}" for k in range(len(cells))]
    wanted = ", ".join(f"({', '.join(f'q{k}' for k in chosen)})" for chosen in sets)
    per_class, alone = "count(*) AS n", "count(*) FILTER (WHERE n = 1)"
    if person is not None:  # a person with several rows may be alone in several classes, and counts once
        per_class, alone = "min(person) AS one, max(person) AS other", "count(DISTINCT one) FILTER (WHERE one = other)"
    return (
        f"WITH coded AS ({_coded(cells, 'NULL', person)}), "
        f"g AS (SELECT GROUPING({', '.join(names)}) AS id, {per_class} FROM coded GROUP BY GROUPING SETS ({wanted})) "
        f"SELECT id, {alone}, count(*) FROM g GROUP BY id"
    )


def _coded(cells: Sequence[str], sensitive: str, person: str | None) -> str:
    """Write a query for the values to group by (q0, q1, …), the sensitive value `s` and the `person` of each row."""
    named = [f"{sql} AS q{k}" for k, sql in enumerate(cells)] + [f"{sensitive} AS s"]
    if person is None:
        return f"SELECT {', '.join(named)} FROM rows"
    return f"SELECT {', '.join([*named, f'{person} AS person'])} FROM rows WHERE {person} IS NOT NULL"
