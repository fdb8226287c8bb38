"""Find columns that are mostly *(other)* in a release, or leave out most rows, since they were declared wrong.

Mostly a format or a spelling is not that of the table. All follows from the plan and the published intervals, so it
reveals nothing that the release does not.
"""

from __future__ import annotations

from dpengine.results.result import Result
from dpengine.spec.column import OTHER
from dpengine.spec.domain import Category

__all__ = ["mostly_left_out", "mostly_other"]


def mostly_other(result: Result) -> list[str]:
    """Return the columns that have more than half of all rows in *(other)*, beyond what noise explains.

    Columns with found values are not looked at, since values of few people belong in *(other)*. Beside tables that
    count distinct persons, only those of rows are looked at.
    """
    if result.plan.has_distinct:
        of_rows = [place for place, tally in enumerate(result.plan.tallies) if tally.cells is None]
        if not of_rows:
            return []
        result = result.of_tally(of_rows[0])
    plan = result.plan
    most = int(result.cells(())["high"].sum())
    return [
        column.name
        for column in map(plan.column, plan.counted)
        if column.other
        and not (isinstance(column, Category) and column.share)
        and 2 * result.cells((column.name,))["low"].ravel()[column.labels.index(OTHER)] > most
    ]


def mostly_left_out(result: Result) -> list[str]:
    """Return the columns that may leave out rows, if fewer than half of the rows that the plan states are counted.

    A column without *(other)* or *(missing)* leaves out rows that are in no other cell. Where an ID names persons,
    nothing is said: the bound on their rows may be why.
    """
    plan = result.plan
    if plan.rows_about is None or plan.unit.id is not None:
        return []
    if 2 * int(result.cells(())["high"].sum()) >= plan.rows_about:
        return []
    columns = map(plan.column, plan.counted)
    return [column.name for column in columns if not (column.other and column.missing)]
