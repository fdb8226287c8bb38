"""Combine cells of a published table into one number with a 95 % interval, and compare two such numbers.

Only published numbers are used, so this costs nothing. Intervals of single cells cannot be added up, since their errors
depend on each other. The error of a sum of cells is instead that of the same sum in the release's replicates, which are
its tables with fresh errors of the same distribution (`replicates.draw`).

A percentage or a mean is a ratio of two such sums, with the interval of `percentages` (Fieller 1954, "Some problems in
interval estimation", Journal of the Royal Statistical Society B 16, 175-185). A mean is taken as the
ratio of people's amounts above the lower bound to what these can be at most. Two numbers of one release are compared
with the correlation of their errors, and those of two releases as independent ones (`noisy_number`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.comparable import labels_left_out, shared_names
from dpengine.compare import Readable, check_different, min_change, read, shared_tables
from dpengine.errors import ReleaseError
from dpengine.export import Published
from dpengine.noisy_number import NoisyNumber, correlation, from_replicates, part_of_group
from dpengine.replicates import Basis, basis_from, basis_of, replicate
from dpengine.replicates.draw import replicate_amounts
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.spec.typed_names import column_typed, labels_typed, table_typed
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import _, some_of

__all__ = ["Combined", "Selection", "Statistic", "combine"]

MAX_TABLES = 5  # tables that an error names

EXAMPLE = '{"region": ["North", "South"]}'

Selection: TypeAlias = Mapping[str, "str | Sequence[str]"]
_Labels: TypeAlias = Mapping[str, Sequence[str]]
_Tables: TypeAlias = Published | Result
Statistic: TypeAlias = Literal["count", "percent", "mean", "sum"]


@dataclass(frozen=True, slots=True)
class Combined:
    """A number that was combined from cells of `table`, and the ends of its 95 % interval."""

    value: float
    low: float
    high: float
    table: Columns


def combine(
    release: Readable | Result,
    where: Selection,
    *,
    of: Selection | None = None,
    minus: Selection | None = None,
    since: Readable | Result | None = None,
    relative: bool = False,
    mean: str | None = None,
    sum: str | None = None,
    table: Sequence[str] | None = None,
) -> Combined:
    """Return the number of people in all cells with the given labels, with a 95 % interval.

    `where` gives one label, or several, for each of some columns, as in the files or in words for readers; in the other
    columns, all labels count. With `of`, the number is the percentage of the people in those cells who are also in
    `where`. With `mean` or `sum`, it is the mean or the sum of that amount over the people whose amount is known.
    `release` is a file, which is verified first, a `Release`, or what `published` returned.

    With `minus`, it is the difference to the same number of other cells, of which a percentage is out of their own
    group if they are in none of `of`; with `since`, to the same number in an earlier release. If `relative`, this
    difference is in percent of the number that is subtracted: 12 if there are 112 instead of 100.

    The numbers are those of the smallest published table that has all the columns; with `since`, of those tables that
    `compare` compares. If some tables count rows and others distinct persons, `table` names a published table by its
    columns, and only tables that count the same are used; without it, those that have all columns must count the same.
    A count is the sum of its whole counts. If the group of a percentage, or of a mean, is no larger than its noise, the
    interval holds all possible values, and a percentage of a group whose published count is 0 is NaN. Intervals are
    about the noise: what chance did in a survey's sample comes on top.

    Raises `ReleaseError` if a person may be counted in several cells, a file is not whole, no table has the columns, a
    label is unknown or stands for something else in the earlier release, a release has no replicates, or a difference
    is relative to a number that may be 0.

    >>> import dpengine as dpe
    >>> towns = dpe.Category(name="town", values=["A", "B", "C"], other=False, missing=False)
    >>> plan = dpe.Plan(dataset="d", epsilon=1000, columns=[towns], tables=[["town"]], rows_about=3000)
    >>> made = dpe.preview(plan)
    >>> two = combine(made, {"town": ["A", "C"]})
    >>> two.low <= two.value == 3000 - combine(made, {"town": "B"}).value
    True
    """
    if (of is not None) + (mean is not None) + (sum is not None) > 1:
        raise ReleaseError(_("ask for a percentage, a mean or a sum: only one of them at once"))
    if minus is not None and since is not None:
        raise ReleaseError(_("compare with other cells or with an earlier release: only one of them at once"))
    if relative and minus is None and since is None:
        raise ReleaseError(_("say with which cells, or with which earlier release, the number is compared"))
    tables = _opened(release)
    amount = mean if sum is None else sum
    kind: Statistic = "percent" if of is not None else "mean" if mean else "sum" if sum else "count"
    selections = [_labels(tables.plan, each) for each in (where, of or {}, minus or {})]
    if since is not None:
        return _since(tables, _opened(since), kind, amount, selections[:2], relative=relative)
    tables, total = _tables_of_tally(tables, selections, table)
    cells = _Cells(tables, _table_for(tables.plan, selections, kind, amount, total=total), amount)
    if minus is None:
        return cells.published(kind, selections[0]) or cells.rounded(kind, cells.number(kind, *selections[:2]))
    number, other = (
        cells.number(kind, *selections[:2]),
        cells.number(kind, selections[2], _group_of_cells(selections[1], selections[2])),
    )
    return cells.compared(kind, number, other, correlation(number, other), relative=relative)


def _since(
    later: _Tables,
    earlier: _Tables,
    kind: Statistic,
    amount: str | None,
    selections: Sequence[_Labels],
    *,
    relative: bool,
) -> Combined:
    """Return the change of a number from an earlier release; errors of two releases are independent.

    A single cell has the same interval as in `compare`.
    """
    check_different(_release_id(earlier), _release_id(later))
    plans = earlier.plan, later.plan
    table = _table_of_both(earlier, later, selections, kind, amount)
    for name, labels in (each for chosen in selections for each in chosen.items()):
        left_out = dict(labels_left_out(*plans, name))
        for label in labels:
            if label in left_out:
                raise ReleaseError(
                    _("{name!r} has no cell {label!r} that stands for the same in both releases: {reason}",
                      name=name, label=label, reason=left_out[label])
                )  # fmt: skip
    earlier_cells, later_cells = (
        _Cells(each, each.plan.by_columns[frozenset(table)], amount) for each in (earlier, later)
    )
    single = [each.published(kind, selections[0]) for each in (earlier_cells, later_cells)]
    if (old := single[0]) is not None and (new := single[1]) is not None:
        numbers = [NoisyNumber(each.value, each.value, each.low, each.high) for each in (old, new)]
        min_distance = min_change(earlier, later, table) if kind == "count" and not relative else 0.0
    else:
        numbers, min_distance = [each.number(kind, *selections) for each in (earlier_cells, later_cells)], 0.0
    return later_cells.compared(kind, numbers[1], numbers[0], 0.0, relative=relative, min_distance=min_distance)


class _Cells:
    """The cells of a published table: its numbers, and their replicates, drawn when they are needed."""

    def __init__(self, tables: Published | Result, table: Columns, amount: str | None) -> None:
        self._tables, self.table, self._amount = tables, table, amount
        self._plan = tables.plan

    def published(self, kind: Statistic, where: _Labels) -> Combined | None:
        """Return the number as it is published, with its interval, if `where` is a single cell; otherwise None."""
        if kind == "percent" or any(len(where.get(name, ())) != 1 for name in self.table):
            return None
        place = [_codes(self._plan, name, where[name])[0] for name in self.table]
        cell = int(np.ravel_multi_index(place, self._plan.shape(self.table))) if self.table else 0
        name = "" if kind == "count" else f"{kind}_{self._amount}_"
        numbers = self._tables.numbers(self.table)
        value = numbers[name.removesuffix("_") or "count"][cell]
        return Combined(
            float(value), float(numbers[f"{name}low"][cell]), float(numbers[f"{name}high"][cell]), self.table
        )

    def number(self, kind: Statistic, where: _Labels, of: _Labels) -> NoisyNumber:
        """Return a number of the cells in `where`, or in both `where` and `of`."""
        chosen = _both(where, of)
        if kind == "count":
            return self._count(chosen)
        if kind == "percent":
            return self._percent(chosen, of)
        return self._of_amount(kind, chosen)

    def rounded(self, kind: Statistic, number: NoisyNumber) -> Combined:
        """Return a number of cells with an interval that contains its value; ends of counts are whole."""
        return self._within(number, 0 if kind in ("count", "percent") else -math.inf, whole=kind == "count")

    def compared(
        self,
        kind: Statistic,
        first: NoisyNumber,
        reference: NoisyNumber,
        rho: float,
        *,
        relative: bool,
        min_distance: float = 0,
    ) -> Combined:
        """Return the difference of two numbers whose errors correlate so, or in percent of the other if `relative`.

        The ends of its interval are at least `min_distance` apart from it.
        """
        if not relative:
            number = self._within(first.less(reference, rho), -math.inf, whole=kind == "count")
            low, high = min(number.low, number.value - min_distance), max(number.high, number.value + min_distance)
            return Combined(number.value, low, high, self.table)
        negative = self._amount is not None and self._plan.amount(self._amount).low < 0
        return self._within(first.percent_more(reference, rho), -math.inf if negative else -100, whole=False)

    def _within(self, number: NoisyNumber, minimum: float, *, whole: bool) -> Combined:
        low, high = (math.floor(number.low), math.ceil(number.high)) if whole else (number.low, number.high)
        return Combined(number.value, max(minimum, min(low, number.value)), max(high, number.value), self.table)

    @cached_property
    def _basis(self) -> Basis:
        return basis_of(self._tables) if isinstance(self._tables, Result) else basis_from(self._tables)

    @cached_property
    def _draws(self) -> Floats:
        """The estimates of the table, and their replicates, along the first axis."""
        (_table, drawn), *_rest = replicate(self._basis, [self.table])
        return drawn

    @cached_property
    def _draws_of_amount(self) -> dict[str, Floats]:
        """The people whose amount is known, and their sum, as `_draws`."""
        return replicate_amounts(self._basis)(self.table)

    def _count(self, chosen: _Labels) -> NoisyNumber:
        return from_replicates(
            float(self._sum_over(self._counts[None], chosen)[0]), self._sum_over(self._draws, chosen)
        )

    def _percent(self, chosen: _Labels, of: _Labels) -> NoisyNumber:
        cell, group = (self._sum_over(self._draws, each) for each in (chosen, of))
        part, total = (float(self._sum_over(self._counts[None], each)[0]) for each in (chosen, of))
        ratio = part_of_group(cell, group)
        value = 100 * part / total if total else math.nan
        return NoisyNumber(value, 100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high, 100 * ratio.errors)

    def _of_amount(self, kind: Statistic, chosen: _Labels) -> NoisyNumber:
        assert self._amount is not None
        draws = self._draws_of_amount
        people, total = (self._sum_over(draws[f"{each}_{self._amount}"], chosen) for each in ("known", "sum"))
        if kind == "sum":
            return from_replicates(total[0], total)
        amount = self._plan.amount(self._amount)
        low, width = float(amount.low), float(amount.high - amount.low)
        ratio = part_of_group((total - low * people) / width, people)
        estimate, low_end, high_end = (low + width * each for each in (ratio.estimate, ratio.low, ratio.high))
        return NoisyNumber(estimate, estimate, low_end, high_end, width * ratio.errors)

    @cached_property
    def _counts(self) -> Floats:
        """The whole counts of the table, one axis a column."""
        counts: Floats = self._tables.numbers(self.table)["count"].astype(np.float64)
        return counts.reshape(self._plan.shape(self.table))

    def _sum_over(self, values: Floats, chosen: _Labels) -> Floats:
        """Return the sums over the chosen cells along the first axis."""
        places = [
            np.array(_codes(self._plan, name, chosen.get(name, self._plan.column(name).labels))) for name in self.table
        ]
        sums: Floats = values[np.ix_(np.arange(len(values)), *places)].reshape(len(values), -1).sum(axis=1)
        return sums


def _opened(release: Readable | Result) -> _Tables:
    return release if isinstance(release, Result) else read(release)


def _release_id(release: _Tables) -> str:
    return release.release_id if isinstance(release, Result) else str(release.manifest["release_id"])


def _labels(plan: Plan, selection: Selection) -> _Labels:
    """Return the labels of a selection by column, without columns whose cells are all chosen."""
    if not isinstance(selection, Mapping):
        raise ReleaseError(_("cells are chosen by the labels of each column, such as {example}", example=EXAMPLE))
    chosen = {}
    for typed, values in selection.items():
        name = column_typed(plan, typed)
        labels = labels_typed(plan, name, values)
        if not labels:
            raise ReleaseError(_("choose at least one value of {name!r}", name=name))
        if len(_codes(plan, name, labels)) < plan.column(name).size:
            chosen[name] = labels
    return chosen


def _codes(plan: Plan, name: str, labels: Sequence[str]) -> list[int]:
    """Return the places of some labels of a column, in order. Raises `ReleaseError` for an unknown one."""
    place_of = {label: place for place, label in enumerate(plan.column(name).labels)}
    in_files = labels if place_of.keys() >= {*labels} else labels_typed(plan, name, labels)
    return sorted({place_of[label] for label in in_files})


def _both(where: _Labels, of: _Labels) -> _Labels:
    """Return the labels of the cells that are in both selections."""
    joined = {**of, **where}
    for name in where.keys() & of.keys():
        joined[name] = [label for label in where[name] if label in of[name]]
        if not joined[name]:
            raise ReleaseError(_("no cell of {name!r} is in both selections", name=name))
    return joined


def _group_of_cells(of: _Labels, cells: _Labels) -> _Labels:
    """Return the group of the compared cells, as in: women part time of women, minus men part time of men."""
    return {name: labels if {*labels} & {*cells.get(name, labels)} else cells[name] for name, labels in of.items()}


def _tables_of_tally(
    release: _Tables, selections: Sequence[_Labels], table: Sequence[str] | None
) -> tuple[_Tables, bool]:
    """Return the tables that count as `table` does, or as all with the columns do, and whether they have a total.

    Sums of different cells of persons count persons only if each is in one cell.
    """
    plan = release.plan
    if not plan.has_distinct:
        return release, True
    tables = _with_columns(plan.marginals, selections) if table is None else [table_typed(plan, table)]
    tables = tables if table is not None or _columns(selections) else [()]
    tallies = {plan.tally_index(each) for each in tables}
    if len(tallies) > 1:
        raise ReleaseError(
            _("some tables with these columns count rows, and others distinct people: name the table to use")
        )
    tally = min(tallies, default=0)
    if (plan.tallies[tally].cells or 1) > 1:
        raise ReleaseError(_("a person may be counted in several cells of this table, so its cells cannot be added up"))
    return release.of_tally(tally), tally == 0


def _table_for(
    plan: Plan, selections: Sequence[_Labels], kind: Statistic, amount: str | None, *, total: bool
) -> Columns:
    """Return the smallest published table with all columns in which cells are chosen, and with the amount's numbers."""
    tables = _with_columns((*plan.marginals, *([()] if total else [])), selections)
    if amount is not None:
        published = plan.means if kind == "mean" else plan.sums
        tables = [table for table in tables if amount in published(table)]
    if not tables:
        needed = _columns(selections)
        what = _("no published table has all of these columns: {columns}; published are: {tables}",
                 columns=some_of(needed), tables=some_of(map(name_of, plan.marginals), MAX_TABLES))  # fmt: skip
        if amount is not None:
            what = _("this number of {amount!r} is published in no table with these columns: {columns}",
                     amount=amount, columns=some_of(needed) or "()")  # fmt: skip
        raise ReleaseError(what)
    return min(tables, key=plan.cells)


def _table_of_both(
    earlier: _Tables, later: _Tables, selections: Sequence[_Labels], kind: Statistic, amount: str | None
) -> Columns:
    """Return the smallest table that is compared, with all columns and numbers, as the later release names it."""
    for each in (earlier, later):
        _check_rows(each.plan)
    tables = _with_columns(shared_tables(earlier, later), selections)
    if amount is not None:
        tables = [each for each in tables if f"{kind}_{amount}" in shared_names(earlier.plan, later.plan, each)]
    if not tables:
        raise ReleaseError(
            _("the releases have no table with this number, counted for the same unit, and these columns: {columns}",
              columns=some_of(_columns(selections)) or "()")
        )  # fmt: skip
    return min(tables, key=later.plan.cells)


def _check_rows(plan: Plan) -> None:
    if plan.has_distinct:
        raise ReleaseError(_("some tables of this release count distinct people, so cells cannot be added up"))


def _with_columns(tables: Iterable[Columns], selections: Sequence[_Labels]) -> list[Columns]:
    return [table for table in tables if {*_columns(selections)} <= {*table}]


def _columns(selections: Sequence[_Labels]) -> dict[str, None]:
    """Return the columns in which cells are chosen, in order."""
    return dict.fromkeys(name for each in selections for name in each)
