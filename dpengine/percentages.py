"""Percentages from published counts: which part of each group a cell holds, with a 95 % interval.

Only published numbers are used, so percentages cost nothing. A percentage is a ratio of two noisy numbers, a cell and
its group. It lies within its limits unless the cell differs from that part of the group by more than noise explains
(Fieller 1954, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16, 175-185). For
intervals that are not symmetric, each limit takes the sides of both intervals that point away from it (Donner and Zou
2012, "Closed-form confidence intervals for functions of the normal mean and standard deviation", Statistical Methods in
Medical Research 21, 347-359).

The cells of a group add up to it, so errors of both go together. In tables that were measured directly all cells of a
group are alike, so each shares the same part of the group's variance; at levels nearly so, and each is taken to be as
noisy as the noisiest. In others, how much they share is not known; taking them to share nothing makes limits wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Columns, Floats
from dpengine.compare import Readable, read
from dpengine.errors import ReleaseError
from dpengine.measure.strategy import resolved
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.published_columns import NUMBERS, published_name
from dpengine.results.views.published import PublishedTables
from dpengine.spec.column import MISSING
from dpengine.spec.typed_names import columns_typed, table_typed
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "HIDDEN", "decimals", "ends_of_ratio", "percentages", "percentages_of"]

COLUMNS = ("count", "percent", "low", "high")  # after those of labels
HIDDEN = 99.999  # points between the limits of a percentage in a group that noise hides
ROUNDING = 1e-5  # part of a group: a file has estimates with fewer decimals than a release
MAX_DECIMALS = 4


def percentages(
    release: Readable, table: Sequence[str], *, within: Sequence[str] = (), missing: bool = True
) -> pd.DataFrame:
    """Return each cell of a published table as a percentage of its group, with a 95 % interval.

    `release` is a file, which is verified first, a `Release`, or what `published` returned. Columns go by
    their names or by their labels for readers. The percentages add up to 100 for each combination of the values of the
    columns `within`; by default, in the whole table. Unless `missing`, cells without a value are left out, except in
    the columns `within`, and the others add up to 100.

    The data frame has the columns of labels, and ``count``, ``percent``, ``low`` and ``high``, in the order of the
    table. If the noise of a group is as large as the group, the limits are 0 and 100; where its published count is 0,
    ``percent`` is NaN. Limits are about the noise: what chance did in a survey's sample comes on top.

    Raises `ReleaseError` if the file is not whole, there is no such table, or a person may be counted in several of its
    cells.
    """
    return percentages_of(read(release), table, within=within, missing=missing)


def percentages_of(
    release: PublishedTables, table: Sequence[str], *, within: Sequence[str] = (), missing: bool = True
) -> pd.DataFrame:
    """Return the percentages of a published table, as `percentages` does for a file."""
    import pandas as pd

    within = columns_typed(release.plan, within)
    own = _published_table(release, table, within)
    group = tuple(name for name in own if name in within)
    axes = tuple(own.index(name) for name in (*group, *(name for name in own if name not in within)))
    kept = _kept(release, [own[axis] for axis in axes[len(group) :]], missing=missing)
    plan, size = release.plan, kept.size

    def in_groups(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.reshape(plan.shape(own)).transpose(axes).reshape(-1, size)[:, kept]

    published = release.cells(own)
    count, estimate, low, high = (in_groups(published[name]).astype(np.float64) for name in NUMBERS)
    total = count.sum(axis=1, keepdims=True)
    part = np.divide(count, total, out=np.full_like(count, np.nan), where=total > 0)
    limits = _limits(release, own, group if kept.all() else None, (estimate, estimate - low, high - estimate))
    numbers = (count.astype(np.int64), 100 * part, 100 * np.fmin(limits[0], part), 100 * np.fmax(limits[1], part))
    cells = in_groups(np.arange(plan.cells(own))).ravel()
    order = np.argsort(cells)
    labels = [each[cells[order]] for each in [*published.values()][: len(own)]]
    columns = [published_name(name, COLUMNS) for name in own]
    return pd.DataFrame(
        dict(zip((*columns, *COLUMNS), (*labels, *(each.ravel()[order] for each in numbers)), strict=True))
    )


def decimals(frame: pd.DataFrame) -> int:
    """Return with how many decimals to show percentages: two digits of the median width of an interval, at most 4.

    Intervals of groups that noise hides say nothing of the others, and do not count.

    >>> import pandas as pd
    >>> decimals(pd.DataFrame({"low": [0.021, 0.0, 0.0], "high": [0.024, 100.0, 100.0]}))
    4
    """
    width = frame["high"] - frame["low"]
    return min(MAX_DECIMALS, decimals_of(float(width[width < HIDDEN].median())))


def _published_table(release: PublishedTables, table: Sequence[str], within: Sequence[str]) -> Columns:
    """Return the published table of these columns, in its own order; raise `ReleaseError` if it has no percentages."""
    plan = release.plan
    own = table_typed(plan, table)
    if not set(within) < set(own):
        raise ReleaseError(_("percentages are within some columns of the table, and not within all of them"))
    if (plan.tally_of(own).cells or 1) > 1:
        raise ReleaseError(_("a person may be counted in several cells of this table, so they are no parts of a whole"))
    return own


def _kept(release: PublishedTables, columns: Sequence[str], *, missing: bool) -> Bools:
    """Return which cells of some columns to keep: all of them, or those with a value in each column."""
    kept: Bools = np.ones((), dtype=np.bool_)
    for name in columns:
        labels = np.array(release.plan.column(name).labels, dtype=object)
        kept = np.logical_and.outer(kept, np.logical_or(missing, labels != MISSING))
    return kept.ravel()


def _limits(
    release: PublishedTables, table: Columns, group: Columns | None, cells: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of cell ÷ group, as fractions; `group` is None if cells are left out.

    `cells` are estimates, and how far the ends of their intervals are below and above, of shape (groups, cells).
    """
    same_noise = resolved(release.plan).closed_form
    estimate, below, above = cells
    if same_noise:  # the ends of intervals in the files are whole numbers
        below = above = np.full_like(estimate, release.half_width(table))
    total, size = estimate.sum(axis=1, keepdims=True), estimate.shape[1]
    published = None if group is None else _published_noise(release, table, group, same_noise=same_noise)
    group_noise = published or [np.sqrt((side**2).sum(axis=1, keepdims=True)) for side in (below, above)]
    covariance = [side**2 / size * same_noise for side in group_noise]
    low, high = ends_of_ratio(estimate, total, (below, above), group_noise, covariance)
    if same_noise and published is None:  # the group may have been measured otherwise too, and be less noisy
        zeros = np.zeros_like(total)
        low_alone, high_alone = ends_of_ratio(estimate, total, (below, above), (zeros, zeros), (zeros, zeros))
        low, high = np.minimum(low, low_alone), np.maximum(high, high_alone)
    return low, high


def _published_noise(
    release: PublishedTables, table: Columns, group: Columns, *, same_noise: bool
) -> list[Floats] | None:
    """Return how far the ends of the intervals of groups are below and above; None if these were not published."""
    own = release.plan.by_columns.get(frozenset(group))
    if own is None or release.plan.tally_index(own) != release.plan.tally_index(table):
        return None
    if same_noise:
        return [np.full((release.plan.cells(own), 1), release.half_width(own))] * 2
    numbers, order = release.numbers(own), [own.index(name) for name in group]
    ends = (np.abs(numbers["estimate"] - numbers[end]).reshape(release.plan.shape(own)) for end in ("low", "high"))
    return [end.transpose(order).reshape(-1, 1) for end in ends]


def ends_of_ratio(
    cell: Floats, group: Floats, of_cell: Sequence[Floats], of_group: Sequence[Floats], covariance: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of cell ÷ group, at least 0 and at most 1.

    `of_cell` and `of_group` are how far the ends of their own intervals are below and above them, and `covariance` what
    their squares have in common. An end p is where cell − p·group is as far from 0 as its noise: the root of
    cell² − 2·p·shared + p²·group² of these distances.

    >>> cell, group, exact = np.array([[30.0]]), np.array([[100.0]]), np.zeros((1, 1))
    >>> ends = ends_of_ratio(cell, group, [cell / 10, cell / 5], [exact, exact], [exact, exact])
    >>> [float(end[0, 0]) for end in ends]
    [0.27, 0.36]
    """
    ends = []
    for side, opposite, sign in ((0, 1, -1), (1, 0, 1)):
        square = group**2 - of_group[opposite] ** 2
        middle = cell * group - covariance[opposite]
        root = np.sqrt(np.maximum(middle**2 - square * (cell**2 - of_cell[side] ** 2), 0))
        is_clear = group > of_group[opposite] * (1 + ROUNDING)  # the group is clear of its noise
        end = np.divide(middle + sign * root, square, out=np.full_like(cell, float(side)), where=is_clear)
        ends.append(np.clip(end, 0, 1))
    return ends[0], ends[1]
