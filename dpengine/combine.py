"""Combine cells of a published table into one number with a 95 % interval: a sum, a percentage, a mean or a difference.

Only published numbers are used, so this costs nothing. Intervals of single cells cannot be added up, since their errors
depend on each other. The error of a sum of cells is instead that of the same sum in the release's replicates, which are
its tables with fresh errors of the same distribution (`replicates.draw`).

A percentage or a mean is a ratio of two such sums, with the interval of `percentages` (Fieller 1954, "Some problems in
interval estimation", Journal of the Royal Statistical Society B 16, 175-185). A mean is taken as the
ratio of people's amounts above the lower bound to what these can be at most. A difference follows from two intervals
and the correlation of their errors (Zou and Donner 2008, "Construction of confidence limits about effect measures",
Statistics in Medicine 27, 1693-1702).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.compare import Readable, read
from dpengine.errors import ReleaseError
from dpengine.export import Published
from dpengine.percentages import ends_of_ratio
from dpengine.replicates import Basis, basis_from, basis_of, replicate
from dpengine.replicates.draw import replicate_amounts
from dpengine.results.result import Result
from dpengine.spec.declared import alike
from dpengine.spec.plan import Plan
from dpengine.spec.wording import name_of, shown_labels
from dpengine.translation.catalogue import _, some_of

__all__ = ["HALF_WIDTH", "Combined", "Selection", "Statistic", "combine", "in_files"]

HALF_WIDTH = 2.1  # root mean square errors of replicates: 1.96 or, for Laplace noise, 2.12, and room for 50 draws
MAX_TABLES = 5  # tables that an error names

EXAMPLE = '{"region": ["North", "South"]}'

Selection: TypeAlias = Mapping[str, "str | Sequence[str]"]
_Labels: TypeAlias = Mapping[str, Sequence[str]]
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
    mean: str | None = None,
    sum: str | None = None,
) -> Combined:
    """Return the number of people in all cells with the given labels, with a 95 % interval.

    `where` names one label, or several, of some columns, as in the files or in words for readers; of the other columns,
    all count. With `of`, the number is the
    percentage of the people in those cells who are also in `where`. With `mean` or `sum`, it is the mean or the sum of
    that amount over the people whose amount is known. With `minus`, it is the difference to the same number of other
    cells. `release` is a file, which is verified first, a `Release`, or what `published` returned.

    The numbers are those of the smallest published table that has all the columns. A count is the sum of its whole
    counts. If the group of a percentage, or of a mean, is no larger than its noise, the interval holds all possible
    values, and a percentage of a group whose published count is 0 is NaN. Intervals are about the noise: what chance
    did in a survey's sample comes on top.

    Raises `ReleaseError` if the file is not whole, no table has the columns, a label is unknown, or the release has no
    replicates.

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
    tables = release if isinstance(release, Result) else read(release)
    amount = mean if sum is None else sum
    kind: Statistic = "percent" if of is not None else "mean" if mean else "sum" if sum else "count"
    wanted = [_labels(tables.plan, each) for each in (where, of or {}, minus or {})]
    cells = _Cells(tables, _table_for(tables.plan, wanted, kind, amount), amount)
    if minus is None and (published := cells.published(kind, wanted[0])) is not None:
        return published
    number = cells.number(kind, *wanted[:2])
    if minus is None:
        return number.rounded(cells.table, least=-math.inf if kind == "sum" else 0, whole=kind == "count")
    other = cells.number(kind, wanted[2], wanted[1])
    return number.less(other).rounded(cells.table, least=-math.inf, whole=kind == "count")


@dataclass(frozen=True, slots=True)
class _Number:
    """A published value, the ends of the interval of its estimate, and the errors of the estimate in the replicates."""

    value: float
    estimate: float
    low: float
    high: float
    errors: Floats

    def less(self, other: _Number) -> _Number:
        """Return the difference of two numbers: Zou and Donner's interval with the correlation of their errors."""
        size = math.sqrt(float((self.errors**2).sum() * (other.errors**2).sum()))
        both = float((self.errors * other.errors).sum()) / size if size else 0.0

        def distance(one: float, two: float) -> float:
            return math.sqrt(max(0.0, one**2 + two**2 - 2 * both * one * two))

        estimate = self.estimate - other.estimate
        below = distance(self.estimate - self.low, other.high - other.estimate)
        above = distance(self.high - self.estimate, other.estimate - other.low)
        errors = self.errors - other.errors
        return _Number(self.value - other.value, estimate, estimate - below, estimate + above, errors)

    def rounded(self, table: Columns, *, least: float, whole: bool) -> Combined:
        """Return the number with an interval that contains its value, from `least` on; ends of counts are whole."""
        low, high = (math.floor(self.low), math.ceil(self.high)) if whole else (self.low, self.high)
        return Combined(self.value, max(least, min(low, self.value)), max(high, self.value), table)


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

    def number(self, kind: Statistic, where: _Labels, of: _Labels) -> _Number:
        """Return a number of the cells in `where`, or in both `where` and `of`."""
        chosen = _both(self._plan, where, of)
        if kind == "count":
            return self._count(chosen)
        if kind == "percent":
            return self._percent(chosen, of)
        return self._of_amount(kind, chosen)

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

    def _count(self, chosen: _Labels) -> _Number:
        value = float(self._picked(self._whole[None], chosen)[0])
        drawn = self._picked(self._draws, chosen)
        reach = _reach(drawn)
        return _Number(value, drawn[0], drawn[0] - reach, drawn[0] + reach, drawn[1:] - drawn[0])

    def _percent(self, chosen: _Labels, of: _Labels) -> _Number:
        cell, group = (self._picked(self._draws, each) for each in (chosen, of))
        part, whole = (float(self._picked(self._whole[None], each)[0]) for each in (chosen, of))
        ratio = _ratio(cell, group)
        value = 100 * part / whole if whole else math.nan
        return _Number(value, 100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high, 100 * ratio.errors)

    def _of_amount(self, kind: Statistic, chosen: _Labels) -> _Number:
        assert self._amount is not None
        drawn = self._draws_of_amount
        known, total = (self._picked(drawn[f"{each}_{self._amount}"], chosen) for each in ("known", "sum"))
        if kind == "sum":
            reach = _reach(total)
            return _Number(total[0], total[0], total[0] - reach, total[0] + reach, total[1:] - total[0])
        amount = self._plan.amount(self._amount)
        low, width = float(amount.low), float(amount.high - amount.low)
        ratio = _ratio((total - low * known) / width, known)
        estimate, least, most = (low + width * each for each in (ratio.estimate, ratio.low, ratio.high))
        return _Number(estimate, estimate, least, most, width * ratio.errors)

    @cached_property
    def _whole(self) -> Floats:
        """The whole counts of the table, one axis a column."""
        counts: Floats = self._tables.numbers(self.table)["count"].astype(np.float64)
        return counts.reshape(self._plan.shape(self.table))

    def _picked(self, values: Floats, chosen: _Labels) -> Floats:
        """Return the sums over the chosen cells along the first axis."""
        places = [
            np.array(_codes(self._plan, name, chosen.get(name, self._plan.column(name).labels))) for name in self.table
        ]
        picked: Floats = values[np.ix_(np.arange(len(values)), *places)].reshape(len(values), -1).sum(axis=1)
        return picked


def _reach(drawn: Floats) -> float:
    """Return the half-width of the interval of an estimate; `drawn` are the estimate and its replicates."""
    return HALF_WIDTH * math.sqrt(float(((drawn[1:] - drawn[0]) ** 2).mean()))


def _ratio(cell: Floats, group: Floats) -> _Number:
    """Return the ratio, from 0 to 1, of two estimates, each with its replicates; errors are those of a small change."""
    errors = [each[1:] - each[0] for each in (cell, group)]
    shared = HALF_WIDTH**2 * float((errors[0] * errors[1]).mean())
    reaches = [np.full((1, 1), _reach(each)) for each in (cell, group)]
    both = [np.full((1, 1), shared)] * 2
    ends = ends_of_ratio(cell[:1, None], group[:1, None], [reaches[0]] * 2, [reaches[1]] * 2, both)
    low, high = (float(each[0, 0]) for each in ends)
    estimate = min(max(cell[0] / group[0], low), high) if group[0] > 0 else (low + high) / 2
    size = max(group[0], float(reaches[1][0, 0]), np.finfo(float).tiny)
    return _Number(estimate, estimate, low, high, (errors[0] - estimate * errors[1]) / size)


def _labels(plan: Plan, selection: Selection) -> _Labels:
    """Return the labels of a selection by column, without columns of which all cells are chosen."""
    if not isinstance(selection, Mapping):
        raise ReleaseError(_("cells are chosen by the labels of each column, such as {example}", example=EXAMPLE))
    chosen = {}
    known = dict.fromkeys(name for table in plan.marginals for name in table)
    for name, given in selection.items():
        if name not in known:
            near = alike(str(name), known)
            hint = _(" (did you mean {name}?)", name=near) if near else ""
            text = _("no published table has a column {name}{hint}; there are {names}",
                     name=repr(name), hint=hint, names=some_of(known))  # fmt: skip
            raise ReleaseError(text)
        labels = in_files(plan, name, given)
        if not labels:
            raise ReleaseError(_("choose at least one value of {name!r}", name=name))
        if len(_codes(plan, name, labels)) < plan.column(name).size:
            chosen[name] = labels
    return chosen


def in_files(plan: Plan, name: str, given: str | Sequence[str]) -> list[str]:
    """Return the labels of a column as files have them, of labels that may be words for readers.

    >>> sex = {"name": "sex", "kind": "category", "values": ["f", "m"], "words": {"f": "female", "m": "male"}}
    >>> in_files(Plan(dataset="d", epsilon=1, columns=[sex], tables=[["sex"]]), "sex", ["female", "m", "(other)", "x"])
    ['f', 'm', '(other)', 'x']
    """
    column = plan.column(name)
    labels, words = column.labels, shown_labels(column)
    meant = {word: label for word, label in zip(words, labels, strict=True) if words.count(word) == 1}
    meant |= {label: label for label in labels}
    return [meant.get(each, each) for each in ([given] if isinstance(given, str) else given)]


def _codes(plan: Plan, name: str, labels: Sequence[str]) -> list[int]:
    """Return the places of some labels of a column, in order. Raises `ReleaseError` for an unknown one."""
    known = {label: place for place, label in enumerate(plan.column(name).labels)}
    for label in labels:
        if label not in known:
            text = _("{name!r} has no cell {label!r}; it has {listed}", name=name, label=label, listed=some_of(known))
            raise ReleaseError(text)
    return sorted({known[label] for label in labels})


def _both(plan: Plan, where: _Labels, of: _Labels) -> _Labels:
    """Return the labels of the cells that are in both selections."""
    both = {**of, **where}
    for name in where.keys() & of.keys():
        both[name] = [label for label in where[name] if label in of[name]]
        if not both[name]:
            raise ReleaseError(_("no cell of {name!r} is in both selections", name=name))
    return both


def _table_for(plan: Plan, wanted: Sequence[_Labels], kind: Statistic, amount: str | None) -> Columns:
    """Return the smallest published table with all columns of which cells are chosen, and with the amount's numbers."""
    if plan.tallied:
        raise ReleaseError(_("some tables of this release count distinct people, so cells cannot be added up"))
    needed = dict.fromkeys(name for each in wanted for name in each)
    having = [table for table in (*plan.marginals, ()) if {*needed} <= {*table}]
    if amount is not None:
        published = plan.means if kind == "mean" else plan.sums
        having = [table for table in having if amount in published(table)]
    if not having:
        what = _("no published table has all of these columns: {columns}; published are: {tables}",
                 columns=some_of(needed), tables=some_of(map(name_of, plan.marginals), MAX_TABLES))  # fmt: skip
        if amount is not None:
            what = _("this number of {amount!r} is published in no table with these columns: {columns}",
                     amount=amount, columns=some_of(needed) or "()")  # fmt: skip
        raise ReleaseError(what)
    return min(having, key=plan.cells)
