"""Count the distinct cells of a table that each person's rows are in: exact, for the table's owner only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpengine.array_types import Ints
from dpengine.counting.scan import prepared_connection
from dpengine.counting.single_query import coded, local_table
from dpengine.sources.table import Table
from dpengine.spec.domain import Column
from dpengine.spec.plan import Unit

__all__ = ["cells_by_person"]


def cells_by_person(table: Table, columns: Sequence[Column], person: str) -> tuple[Ints, Ints]:
    """Return how many persons are in each number of distinct cells of the table over `columns`.

    All of a person's rows count, except those without a cell. Raises `TableError` for columns that the table lacks, or
    rows that stay in their database.
    """
    local = local_table(table, columns, Unit(id=person, rows=1))
    codings, rows = coded(local, columns, person)
    cells = f"SELECT count(*) AS n FROM (SELECT DISTINCT * FROM ({rows}) AS a) AS b GROUP BY person"
    with prepared_connection(local, codings) as connection:
        numbers = connection.execute(f"SELECT n, count(*) FROM ({cells}) AS c GROUP BY n ORDER BY n").fetchall()
    pairs = np.array(numbers, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
