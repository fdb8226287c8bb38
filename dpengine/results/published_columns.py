"""The columns of a published table: a label column for each of its own columns, then four numbers."""

from __future__ import annotations

from dpengine.array_types import Columns

__all__ = ["NUMBERS", "header", "published_name"]

NUMBERS = ("count", "estimate", "low", "high")


def published_name(column: str) -> str:
    """Return the name of a label column: the column's own, with an underscore if it could be taken for a number column.

    >>> published_name("age"), published_name("count"), published_name("count_")
    ('age', 'count_', 'count__')
    """
    return f"{column}_" if column.rstrip("_") in NUMBERS else column


def header(table: Columns) -> list[str]:
    """Return the names of all columns of a published table, in order.

    >>> header(("age", "low"))
    ['age', 'low_', 'count', 'estimate', 'low', 'high']
    """
    return [*map(published_name, table), *NUMBERS]
