"""The columns of a published table: a label column for each of its own columns, then its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.spec.numeric.association import Association
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, localised, mark

__all__ = [
    "ENDS", "NUMBERS", "Measure", "cell_codes", "decimals_of_association", "decimals_of_mean", "header", "measures",
    "number_columns", "number_type", "published_name", "quantile_kind",
]  # fmt: skip

NUMBERS = ("count", "estimate", "low", "high")
INTEGERS = ("count", "low", "high")
_QUARTILES = {Decimal("0.25"): mark("lower quartile"), Decimal("0.5"): mark("median"),
              Decimal("0.75"): mark("upper quartile")}  # fmt: skip
ENDS = ("", "_low", "_high")  # suffixes of three columns: a number, and the ends of its interval


@dataclass(frozen=True, slots=True)
class Measure:
    """A statistic of an amount in a table: its mean, its sum, or its quantiles at `parts` of the people.

    It may also be its standard deviation. For two amounts, it is their covariance, their correlation, or the slope of
    `amount` on the amount `on`.
    """

    kind: Literal["mean", "sum", "quantile", "standard_deviation", "covariance", "correlation", "slope"]
    amount: str
    parts: tuple[Decimal, ...] = ()
    on: str = ""

    @property
    def association(self) -> Association | None:
        """The measure as an association; None if it is none."""
        if self.kind == "mean" or self.kind == "sum" or self.kind == "quantile":
            return None
        return Association(self.kind, self.amount, self.on or self.amount)

    @property
    def names(self) -> list[str]:
        """Names of the columns of its numbers, without those of their intervals.

        >>> Measure("mean", "pay").names, Measure("quantile", "pay", (Decimal("0.5"),)).names
        (['mean_pay'], ['quantile_0.5_pay'])
        >>> Measure("slope", "pay", on="hours").names
        ['slope_pay_on_hours']
        """
        if self.association is not None:
            return [self.association.column]
        kinds = [quantile_kind(part) for part in self.parts] or [self.kind]
        return [f"{kind}_{self.amount}" for kind in kinds]

    def headings(self, plan: Plan) -> list[str]:
        """Return the headings for readers in place of `names`."""
        if self.on:
            return [_pair_heading(plan, self)]
        heading = plan.column(self.amount).heading
        match self.kind:
            case "mean":
                return [_("mean {column}", column=heading)]
            case "sum":
                return [_("sum of {column}", column=heading)]
            case "standard_deviation":
                return [_("standard deviation of {column}", column=heading)]
            case _quantile:
                return [_("{quantile} of {name}", quantile=each, name=heading) for each in self.part_names()]

    def part_names(self) -> list[str]:
        """Name the quantiles, without the amount.

        >>> Measure("quantile", "pay", (Decimal("0.25"), Decimal("0.5"))).part_names()
        ['lower quartile', 'median']
        """
        return [
            _(_QUARTILES[part]) if part in _QUARTILES else _("quantile {part}", part=localised(f"{part:f}"))
            for part in self.parts
        ]

    def heading(self, plan: Plan) -> str:
        """Return the heading for readers of the whole measure."""
        named = self.headings(plan)
        return named[0] if len(named) == 1 else _("quantiles of {name}", name=plan.column(self.amount).heading)


def measures(plan: Plan, table: Columns) -> list[Measure]:
    """Return the published statistics of amounts in a table, or in the total of no columns, in column order."""
    statistics: list[Measure] = []
    for name in plan.amounts(table):
        statistics += [Measure("mean", name)] if name in plan.means(table) else []
        statistics += [Measure("sum", name)] if name in plan.sums(table) else []
        statistics += [Measure(each.kind, name) for each in plan.associations(table) if each.amounts == (name,)]
        statistics += [Measure("quantile", name, parts)] if (parts := plan.quantiles(table, name)) else []
    pairs = (each for each in plan.associations(table) if each.of_two)
    return statistics + [Measure(each.kind, each.of, on=each.on) for each in pairs]


def number_columns(plan: Plan, table: Columns) -> list[str]:
    """Return the names of the columns of numbers of a published table, in order.

    After the numbers of every table come those of its amounts: people whose value is known, if any may be missing; the
    mean, the sum, the standard deviation and quantiles, if requested, each with the ends of its interval; and then
    those of pairs.
    """
    names = list(NUMBERS)
    published = measures(plan, table)
    for name in plan.amounts(table):
        names += [f"known_{name}"] if plan.amount(name).missing else []
        names += _with_ends(each for each in published if each.amount == name and not each.on)
    return names + _with_ends(each for each in published if each.on)


def number_type(name: str) -> np.dtype[Any]:
    """Return the type of a column of numbers: people are whole, everything else may have decimals.

    >>> number_type("count"), number_type("mean_pay")
    (dtype('int64'), dtype('float64'))
    """
    return np.dtype(np.int64 if name in INTEGERS or name.startswith("known_") else np.float64)


def _with_ends(published: Iterable[Measure]) -> list[str]:
    """Return the names of the columns of some measures, each with the ends of its interval."""
    return [f"{name}{end}" for each in published for name in each.names for end in ENDS]


def _pair_heading(plan: Plan, measure: Measure) -> str:
    """Return the heading for readers of a statistic of two amounts."""
    of, on = plan.column(measure.amount).heading, plan.column(measure.on).heading
    if measure.kind == "slope":
        return _("slope of {of} on {on}", of=of, on=on)
    if measure.kind == "covariance":
        return _("covariance of {of} and {on}", of=of, on=on)
    return _("correlation of {of} and {on}", of=of, on=on)


def quantile_kind(part: Decimal) -> str:
    """Return the beginning of the name of a column of quantiles.

    >>> quantile_kind(Decimal("0.5"))
    'quantile_0.5'
    """
    return f"quantile_{part:f}"


def published_name(column: str, numbers: Iterable[str] = NUMBERS) -> str:
    """Return the name of a label column: the column's own, with an underscore if it could be taken for a number column.

    >>> published_name("age"), published_name("count"), published_name("count_")
    ('age', 'count_', 'count__')
    """
    return f"{column}_" if column.rstrip("_") in {each.rstrip("_") for each in numbers} else column


def header(plan: Plan, table: Columns) -> list[str]:
    """Return the names of all columns of a published table, in order.

    >>> columns = [{"name": name, "kind": "yesno"} for name in ("age", "low")]
    >>> header(Plan(dataset="demo", epsilon=1, columns=columns, tables=[["age", "low"]]), ("age", "low"))
    ['age', 'low_', 'count', 'estimate', 'low', 'high']
    """
    numbers = number_columns(plan, table)
    return [*(published_name(name, numbers) for name in table), *numbers]


def cell_codes(plan: Plan, table: Columns) -> tuple[Ints, ...]:
    """Return the code of each cell of a published table, in its order, for each of its columns.

    >>> columns = [{"name": name, "kind": "yesno", "other": False, "missing": False} for name in "ab"]
    >>> cell_codes(Plan(dataset="demo", epsilon=1, columns=columns, tables=[["a", "b"]]), ("a", "b"))
    (array([0, 0, 1, 1]), array([0, 1, 0, 1]))
    """
    return np.unravel_index(np.arange(plan.cells(table)), plan.shape(table)) if table else ()


def decimals_of_mean(plan: Plan, amount: str) -> int:
    """Return the number of decimals of an amount's published means: four more than its step has, from 2 to 6.

    >>> income = {"name": "income", "kind": "amount", "from": 0, "to": 1000, "step": 100}
    >>> columns = [{"name": "sex", "kind": "yesno"}, income]
    >>> plan = Plan(dataset="demo", epsilon=1, columns=columns, tables=[{"columns": ["sex"], "mean": ["income"]}])
    >>> decimals_of_mean(plan, "income")
    2
    """
    return min(6, max(2, 4 - plan.amount(amount).step.adjusted()))


def decimals_of_association(unit: float) -> int:
    """Return the number of decimals of a published association: six digits of its maximum, from 4 to 12.

    >>> decimals_of_association(1.0), decimals_of_association(2e-5), decimals_of_association(8e6)
    (6, 11, 4)
    """
    return min(12, max(4, 6 - math.floor(math.log10(unit))))
