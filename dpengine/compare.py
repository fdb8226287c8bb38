"""Compare two releases: what changed from one period to the next, and which changes are beyond the noise of both.

Only published numbers are used, so a comparison costs nothing. Two releases have independent noise. The interval of a
change follows from the two intervals of the numbers by the method of variance estimates recovery (Zou and Donner, 2008,
Statistics in Medicine 27, 1693-1702): its lower end is below the change by the root of the sum of squares of how far
the later number may be too large and the earlier one too small. If both intervals hold the truth with 95 %, so does it,
exactly for normal errors and with some room for Laplace noise, whose sum has lighter tails than each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpengine.array_types import Columns
from dpengine.errors import ReleaseError
from dpengine.export import Published, published
from dpengine.results.published_columns import ENDS, measures, published_name
from dpengine.spec.column import OTHER
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "compare", "shared_tables"]

COLUMNS = ("number", "before", "after", "change", "low", "high", "beyond_noise")  # after those of labels
# Ends of intervals of counts are whole. So both ends may be the count itself, although it is off by one in nearly 5 of
# 100 cells: a change is then off in nearly 10. Below this half-width, counts are hardly ever off.
NEARLY_EXACT = 0.2
_COUNT = ("count", "low", "high")


def compare(
    before: Published | str | Path | bytes,
    after: Published | str | Path | bytes,
    tables: Iterable[Columns] | None = None,
) -> dict[Columns, pd.DataFrame]:
    """Return how each number changed from one release to another, by table.

    Each release is a file, which is verified first, or what `published` returned. The tables are those that both have,
    or the given ones of these. A table is compared in the cells that both releases have, in the order of the later
    one; a table without any is left out, as is one that counts rows in one release and persons in the other.

    Where the declared values of a column differ, so does what counts as *other*, and this cell is left out.

    A data frame has the columns of labels; ``number``, which is ``count`` or the name of a statistic such as
    ``mean_pay``; its value ``before`` and ``after``; their difference ``change``; ``low`` and ``high``, which hold the
    true change with a probability of 95 % (of 90 % at least where each of two counts is within ±0); and
    ``beyond_noise``, whether these exclude 0. Of a hundred cells that did not change, about five are beyond noise by
    chance.

    Raises `ReleaseError` if a file is not whole, both are the same release, or they have nothing in common.
    """
    first, second = (each if isinstance(each, Published) else published(each) for each in (before, after))
    if first.manifest["release_id"] == second.manifest["release_id"]:
        raise ReleaseError(_("both files are the same release; there is nothing to compare"))
    shared = shared_tables(first, second)
    wanted = shared if tables is None else [table for table in map(tuple, tables) if table in shared]
    compared = {table: frame for table in wanted if len(frame := _changes(first, second, table))}
    if not compared:
        raise ReleaseError(_("the two releases have no table with the same columns and cells"))
    return compared


def shared_tables(first: Published, second: Published) -> list[Columns]:
    """Return the tables that both releases have, and that count the same in both, in the order of the second."""
    return [table for table in second.tables if table in first.tables and _count_alike(first.plan, second.plan, table)]


def _count_alike(first: Plan, second: Plan, table: Columns) -> bool:
    """Whether both releases count the same in a table: rows, or persons in as many cells."""
    persons = {plan.tallies[plan.tally_of(table)].cells for plan in (first, second)}
    return len(persons) == 1 and (first.unit.id is None) == (second.unit.id is None)


def _changes(first: Published, second: Published, table: Columns) -> pd.DataFrame:
    import pandas as pd

    labels = [published_name(name, COLUMNS) for name in table]
    # What counts as *other* differs if other values are declared.
    lists = ([plan.column(name).declared for plan in (first.plan, second.plan)] for name in table)
    unlike = [label for label, (old, new) in zip(labels, lists, strict=True) if old != new]
    rows = []
    for names in _numbers(first.plan, second.plan, table):
        earlier, later = (_part(each, table, labels, names) for each in (first, second))
        how: Any = {"on": labels} if labels else {"how": "cross"}
        both = later.merge(earlier, suffixes=("_after", "_before"), **how)
        both = both[~(both[unlike] == OTHER).any(axis=1)]
        new, new_low, new_high = (both[f"{end}_after"].to_numpy(float) for end in _COUNT)
        old, old_low, old_high = (both[f"{end}_before"].to_numpy(float) for end in _COUNT)
        change = new - old
        down = np.hypot(np.maximum(new - new_low, 0), np.maximum(old_high - old, 0))
        up = np.hypot(np.maximum(new_high - new, 0), np.maximum(old - old_low, 0))
        if names == _COUNT:
            least = float(max(each.half_width(table) for each in (first, second)) >= NEARLY_EXACT)
            down, up = (np.ceil(np.maximum(each, least)) for each in (down, up))
        low, high = change - down, change + up
        columns = (names[0], old, new, change, low, high, (low > 0) | (high < 0))
        rows.append(both[labels].assign(**dict(zip(COLUMNS, columns, strict=True))))
    return pd.concat(rows, ignore_index=True)


def _part(release: Published, table: Columns, labels: list[str], names: tuple[str, str, str]) -> pd.DataFrame:
    """Return the labels of a table as plain texts, and one number with its ends, called as those of a count."""
    frame = release.tables[table]
    kept = frame.iloc[:, : len(table)].astype(object)
    return kept.set_axis(labels, axis=1).join(frame[[*names]].set_axis(_COUNT, axis=1))


def _numbers(first: Plan, second: Plan, table: Columns) -> Iterator[tuple[str, str, str]]:
    """Yield the columns of each number that both releases have, with the ends of its interval."""
    yield _COUNT
    both = [[name for each in measures(plan, table) for name in each.names] for plan in (first, second)]
    for name in both[1]:
        if name in both[0]:
            number, low, high = (f"{name}{end}" for end in ENDS)
            yield number, low, high
