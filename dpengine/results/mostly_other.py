"""Find columns that are mostly *(other)* in a release, usually because a format or a spelling was declared wrong."""

from __future__ import annotations

from dpengine.results.result import Result
from dpengine.spec.column import OTHER
from dpengine.spec.domain import Category

__all__ = ["mostly_other"]


def mostly_other(result: Result) -> list[str]:
    """Return the columns that have more than half of all rows in *(other)*, beyond what noise explains.

    It follows from the published intervals, so it reveals nothing that the release does not. Columns with found values
    are left out, since values of few people belong in *(other)*, and so are counts of distinct persons.
    """
    plan = result.plan
    if plan.tallied:
        return []
    most = int(result.cells(())["high"].sum())
    declared = [column for column in map(plan.column, plan.counted) if column.other and not _is_found(column)]
    return [
        column.name
        for column in declared
        if 2 * result.cells((column.name,))["low"].ravel()[column.labels.index(OTHER)] > most
    ]


def _is_found(column: object) -> bool:
    return isinstance(column, Category) and column.origin == "found"
