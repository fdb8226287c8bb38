"""Columns whose rows a release has mostly in *(other)*: most often, a format or a spelling was declared wrong."""

from __future__ import annotations

from dpengine.results.result import Result
from dpengine.spec.column import OTHER
from dpengine.spec.domain import Category

__all__ = ["mostly_other"]


def mostly_other(result: Result) -> list[str]:
    """Return the columns of which more than half of all rows are in *(other)*, beyond what noise explains.

    It follows from the published intervals, so it tells nothing that the release does not. Values that were found are
    left out, since those of few people are meant to be in *(other)*, and so are counts of distinct persons.
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
