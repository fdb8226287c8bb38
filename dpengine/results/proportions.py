"""Which part of a larger group the people of each cell are, with an interval, from published counts alone.

The interval combines how far the proportion moves if one of its two counts is at the end of its interval: by the root
of the sum of squares, as if their errors were independent. A group contains the cell, so both tend to be too large or
too small together, which moves the proportion less: the interval is rather too wide than too narrow.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.errors import ReleaseError
from dpengine.results.published_columns import published_name
from dpengine.results.views.published import PublishedTables
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PROPORTIONS", "groups_of", "proportions"]

PROPORTIONS = ("proportion", "proportion_low", "proportion_high")  # columns added to those of the table
_ENDS = ("count", "low", "high")


def groups_of(plan: Plan, table: Columns) -> list[Columns]:
    """Return the published tables whose groups the cells of `table` are parts of: first the total, then by its columns.

    There are none where cells do not add up to people: if a person may count in several cells.

    >>> columns = [{"name": name, "kind": "yesno"} for name in ("ill", "old")]
    >>> groups_of(Plan(dataset="demo", epsilon=1, columns=columns, tables=[["ill", "old"], ["old"]]), ("ill", "old"))
    [(), ('old',)]
    """
    tally = plan.tally_of(table)
    if (plan.tallies[tally].cells or 1) > 1:
        return []
    sizes = (each for size in range(len(table)) for each in combinations(table, size))
    return [each for each in sizes
            if (not each or frozenset(each) in plan.by_columns) and plan.tally_of(each) == tally]  # fmt: skip


def proportions(release: PublishedTables, table: Columns, within: Columns = ()) -> pd.DataFrame:
    """Return a published table with the proportion of each cell within a larger group, and its 95 % interval.

    The group is everybody, or, with `within`, everybody with the same values of these columns: in a table by age and
    sex, the proportion of each age among women. The total is always published; a group of some columns only if their
    table is. To the columns of the table come ``proportion``, ``proportion_low`` and ``proportion_high``, from 0 to 1.
    The proportion in a group in which nobody was counted is NaN, and its interval says nothing: it is 0 to 1.

    Raises `ReleaseError` if a table is not published, or its cells do not add up to the group.
    """
    plan = release.plan
    columns = plan.by_columns.get(frozenset(table), tuple(table))
    if columns not in release.tables or not columns:
        raise ReleaseError(_("there is no table of these columns in the release"))
    if frozenset(within) not in map(frozenset, groups_of(plan, columns)):
        raise ReleaseError(_("these groups are not published, or the cells of the table do not add up to them"))
    cells, numbers = release.tables[columns], release.numbers(columns)
    part, low, high = (numbers[name].astype(float) for name in _ENDS)
    whole, least, most = (_spread(release, columns, within, name) for name in _ENDS)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = part / whole
        down = np.hypot(middle - low / whole, middle - part / most)
        up = np.hypot(high / whole - middle, part / least - middle)
    known = whole > 0
    ends = np.clip(middle - np.nan_to_num(down, nan=1.0), 0, 1), np.clip(middle + np.nan_to_num(up, nan=1.0), 0, 1)
    made = middle, np.where(known, ends[0], 0.0), np.where(known, ends[1], 1.0)
    named = cells.rename(columns={name: published_name(name, PROPORTIONS) for name in cells.columns[: len(columns)]})
    return named.assign(**dict(zip(PROPORTIONS, made, strict=True)))


def _spread(release: PublishedTables, table: Columns, within: Columns, name: str) -> Floats:
    """Return a number of the group of each cell of `table`."""
    plan = release.plan
    own = plan.by_columns[frozenset(within)] if within else ()
    of_group = np.asarray(release.numbers(own)[name], dtype=float).reshape(plan.shape(own) if own else ())
    kept = [column for column in table if column in own]
    aligned = of_group.transpose([own.index(column) for column in kept])
    sizes = [plan.column(column).size if column in own else 1 for column in table]
    return np.broadcast_to(aligned.reshape(sizes), plan.shape(table)).ravel()
