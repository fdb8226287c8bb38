"""Count the people of each key of a universe that occurs in the rows: exact counts, used only as input of noise.

Only keys of the universe are counted: a row with another value, a missing one or one that is declared to mean *missing*
counts nowhere here. Of a person named by an ID, at most `unit.rows` rows count, chosen among those with a key by a
keyed hash (`contribution_bounding`). So one person changes the counts by at most that number, in L1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpengine.array_types import Ints
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows
from dpengine.counting.encoding.coding import matches
from dpengine.counting.encoding.declared_texts import normalised
from dpengine.sources.databases.dialects import Dialect
from dpengine.spec.categories.universe import Universe
from dpengine.spec.domain import Category

__all__ = ["counts_by_place", "keys_query", "universe_of"]


def universe_of(column: Category) -> Universe:
    """Return the universe among whose keys the values of a column are found."""
    assert column.among is not None, "a column whose values are to be found"
    return column.among


def keys_query(column: Category, coded: str, limit: RowLimit | None, key: bytes, dialect: Dialect) -> str:
    """Write a query for the keys `k` of the column's universe that rows have, and the number `n` of rows with each.

    `coded` is a query for the text `k0` of each row, null if it is missing, and the `person` if `limit` bounds the
    rows of each. `key` chooses these among the rows with a key of the universe.
    """
    universe, missing = universe_of(column), sorted({normalised(each) for each in column.missing_as})
    conditions = [matches("k0", universe.regular_expression, dialect)]
    if universe.first is not None:  # texts that match are short enough to be cast
        number = f"CASE WHEN {conditions[0]} THEN CAST(k0 AS BIGINT) END"
        conditions = [f"{number} BETWEEN {universe.first} AND {universe.last}"]
    conditions += [f"k0 NOT IN {dialect.listed(missing)}"] if missing else []
    rows = f"SELECT * FROM ({coded}) AS texts WHERE {' AND '.join(conditions)}"
    if limit is not None:
        rows = bounded_rows(rows, 1, limit, key, dialect)
    return f"SELECT k0 AS k, count(*) AS n FROM ({rows}) AS held GROUP BY k0"


def counts_by_place(column: Category, keys: Iterable[tuple[str, int]]) -> tuple[Ints, Ints]:
    """Return the places of keys in their universe, in increasing order, and their counts."""
    universe = universe_of(column)
    placed = sorted((place, rows) for key, rows in keys if (place := universe.place(key)) is not None)
    places, counts = np.array(placed, dtype=np.int64).reshape(-1, 2).T
    return places.copy(), counts.copy()
