"""Compare two releases: what changed from one period to the next, and which changes are beyond the noise of both.

Only published numbers are used, so a comparison costs nothing. Two releases have independent noise. The interval of a
change follows from the two intervals of the numbers by the method of variance estimates recovery (Zou and Donner, 2008,
Statistics in Medicine 27, 1693-1702): its lower end is below the change by the root of the sum of squares of how far
the later number may be too large and the earlier one too small. If both intervals hold the truth with 95 %, so does it,
exactly for normal errors and with some room for Laplace noise, whose sum has lighter tails than each part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from dpengine.array_types import Columns
from dpengine.comparable import NotCompared, differences, shared_labels, shared_names, why_not
from dpengine.errors import ReleaseError
from dpengine.export import Published, published
from dpengine.results.published_columns import measures, published_name
from dpengine.results.views.published import PublishedTables
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number, plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS", "NotCompared", "Readable", "beyond_in_words", "check_different", "compare", "decimals",
    "decimals_of_changes", "largest_first", "min_change", "not_compared", "number_headings", "read", "shared_tables",
]  # fmt: skip

COLUMNS = ("number", "before", "after", "change", "low", "high", "beyond_noise")  # after those of labels
# Ends of intervals of counts are whole. So both ends may be the count itself, although it is off by one in nearly 5 of
# 100 cells: a change is then off in nearly 10. Below this half-width, counts are hardly ever off.
NEARLY_EXACT = 0.2
MAX_REASONS = 3  # that an error gives
MAX_DECIMALS = 6
_COUNT = ("count", "low", "high")


class _Made(Protocol):
    """A release that was just made, by its bundle."""

    @property
    def bundle(self) -> bytes: ...


Readable: TypeAlias = Published | _Made | str | Path | bytes


def compare(before: Readable, after: Readable, tables: Iterable[Columns] | None = None) -> dict[Columns, pd.DataFrame]:
    """Return how each number changed from one release to another, by table.

    Each release is a file, which is verified first, a `Release`, or what `published` returned. The tables are those
    that both have, or the given ones of these, named as in the later release; the order of columns does not matter. A
    table is compared in the cells that both releases have, in the order of the later one; a table without any is left
    out, as is one that counts something else in each release: rows and persons, or persons with at most 3 and at most
    5 rows. `not_compared` lists what is left out, and why.

    What has the same name in both, but stands for something else, is left out too: *other* where other values are
    declared, *missing* where other texts mean that, a region of other counties, the mean between other bounds.

    Each data frame has a row for each number of each cell, and the columns:

    - the labels of the cell;
    - ``number``: ``count``, or the name of a statistic such as ``mean_pay``;
    - ``before``, ``after``: its two values; ``change``: their difference;
    - ``low``, ``high``: they hold the true change with a probability of 95 % (of 90 % at least where each of two counts
      is within ±0);
    - ``beyond_noise``: whether ``low`` and ``high`` exclude 0. Of a hundred cells that did not change, about five are
      beyond noise by chance.

    Raises `ReleaseError` if a file is not whole, both are the same release, or they have nothing in common.
    """
    first, second = map(read, (before, after))
    check_different(first.manifest["release_id"], second.manifest["release_id"])
    by_columns = {frozenset(table): table for table in shared_tables(first, second)}
    compared = [
        by_columns[each] for each in (by_columns if tables is None else map(frozenset, tables)) if each in by_columns
    ]
    if not compared:
        problem = _("the two releases have no table with the same columns and cells, counted for the same unit")
        reasons = [f"{each}: {each.reason}" for each in differences(first.plan, second.plan)]
        raise ReleaseError("; ".join((problem, *reasons[:MAX_REASONS])))
    return {table: _changes(first, second, table) for table in compared}


def check_different(first: str, second: str) -> None:
    """Raise `ReleaseError` if both names are of the same release."""
    if first == second:
        raise ReleaseError(_("both files are the same release; there is nothing to compare"))


def min_change(first: PublishedTables, second: PublishedTables, table: Columns) -> float:
    """Return how far, at least, the ends of the interval of a change are from it, in counts of this table."""
    widths = [each.half_width(each.plan.by_columns[frozenset(table)]) for each in (first, second)]
    return float(max(widths) >= NEARLY_EXACT)


def shared_tables(first: PublishedTables, second: PublishedTables) -> list[Columns]:
    """Return the tables that both releases have, with a number that is compared, in the order of the second."""
    earlier = first.plan.by_columns
    return [table for table in second.tables
            if frozenset(table) in earlier and not why_not(first.plan, second.plan, table)]  # fmt: skip


def not_compared(before: Readable, after: Readable) -> list[NotCompared]:
    """Return what of two releases `compare` leaves out, and why: tables, labels of columns, and numbers of tables.

    Raises `ReleaseError` if a file is not whole.
    """
    first, second = map(read, (before, after))
    return [*differences(first.plan, second.plan)]


def decimals(low: float, high: float) -> int:
    """Return with how many decimals the ends of an interval are shown, and what lies between them.

    Its half-width has two significant digits. An end that is not 0 does not look like 0: whether 0 lies between them
    is what readers look for.

    >>> decimals(-24, 5), decimals(-0.6508, -0.0585), decimals(-2e-9, 2e-9), decimals(0.3, 125)
    (0, 2, 6, 1)
    """
    sizes = [abs(end) for end in (low, high) if end] if low < high else []
    places = [1 - _leading((high - low) / 2), *(-_leading(size) for size in sizes)] if sizes else [0]
    return min(MAX_DECIMALS, max(0, *places))


def decimals_of_changes(changes: pd.DataFrame) -> int:
    """Return with how many decimals changes are shown: as a typical interval needs them.

    An end that excludes 0 does not look like 0.
    """
    width = float((changes["high"] - changes["low"]).median())
    ends = changes.loc[changes["beyond_noise"], ["low", "high"]].abs().to_numpy()
    nearest = float(ends.min()) if ends.size else 0.0
    return decimals(nearest, nearest + width)


def number_headings(plan: Plan, table: Columns) -> dict[str, str]:
    """Return the numbers of a table that may be compared, in words for readers, by name."""
    published = measures(plan, plan.by_columns[frozenset(table)])
    named = {name: heading for each in published
             for name, heading in zip(each.names, each.headings(plan), strict=True)}  # fmt: skip
    return {"count": _("count"), **named}


def largest_first(changes: pd.DataFrame) -> pd.DataFrame:
    """Return the changes that `compare` found in one table, those first that are largest beside their noise.

    >>> import pandas as pd
    >>> found = pd.DataFrame({"change": [3.0, -9.0, 5.0], "low": [1.0, -10.0, 2.0], "high": [5.0, -8.0, 8.0]})
    >>> [*largest_first(found)["change"]]
    [-9.0, 5.0, 3.0]
    """
    change, width = changes["change"].to_numpy(), (changes["high"] - changes["low"]).to_numpy()
    beside = np.divide(np.abs(change), width, out=np.where(change == 0, 0.0, np.inf), where=width > 0)
    return changes.iloc[np.lexsort((-np.abs(change), -beside))]


def beyond_in_words(changes: pd.DataFrame) -> str:
    """Say how many changes of a frame are beyond the noise."""
    beyond = int(changes["beyond_noise"].sum())
    return plural(
        "{n} of {all} changes is beyond the noise.", "{n} of {all} changes are beyond the noise.", beyond,
        all=number(len(changes)),
    )  # fmt: skip


def _leading(size: float) -> int:
    """Return the place of the first significant digit of a number: 2 for 350, -1 for 0.35."""
    return math.floor(math.log10(size))


def read(release: Readable) -> Published:
    """Return the content of a release; a file is verified first. Raises `ReleaseError` if it is not whole."""
    if isinstance(release, Published):
        return release
    bundle: Any = getattr(release, "bundle", release)
    return published(bundle)


def _changes(first: Published, second: Published, table: Columns) -> pd.DataFrame:
    import pandas as pd

    places = list(range(len(table)))
    labels = [published_name(name, COLUMNS) for name in table]
    common = [shared_labels(first.plan, second.plan, name) for name in table]
    statistics = [(name, f"{name}_low", f"{name}_high") for name in shared_names(first.plan, second.plan, table)]
    rows = []
    for names in (_COUNT, *statistics):
        earlier, later = (_part(each, table, names) for each in (first, second))
        merge_options: Any = {"on": places} if places else {"how": "cross"}
        merged = later.merge(earlier, suffixes=("_after", "_before"), **merge_options)
        for place in places:
            merged = merged[merged[place].isin(common[place])]
        new, new_low, new_high = (merged[f"{end}_after"].to_numpy(float) for end in _COUNT)
        old, old_low, old_high = (merged[f"{end}_before"].to_numpy(float) for end in _COUNT)
        change = new - old
        below = np.hypot(np.maximum(new - new_low, 0), np.maximum(old_high - old, 0))
        above = np.hypot(np.maximum(new_high - new, 0), np.maximum(old - old_low, 0))
        if names == _COUNT:
            min_width = min_change(first, second, table)
            below, above = (np.ceil(np.maximum(each, min_width)) for each in (below, above))
        low, high = change - below, change + above
        columns = (names[0], old, new, change, low, high, (low > 0) | (high < 0))
        rows.append(merged[places].set_axis(labels, axis=1).assign(**dict(zip(COLUMNS, columns, strict=True))))
    return pd.concat(rows, ignore_index=True)


def _part(release: Published, table: Columns, names: tuple[str, str, str]) -> pd.DataFrame:
    """Return the labels of a table as plain texts, called by their places, and a number with its ends as of a count."""
    published_table = release.plan.by_columns[frozenset(table)]
    frame = release.tables[published_table]
    labels = frame.iloc[:, [published_table.index(name) for name in table]].astype(object)
    return labels.set_axis(range(len(table)), axis=1).join(frame[[*names]].set_axis(_COUNT, axis=1))
