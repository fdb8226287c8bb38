"""The columns of a published table: a label column for each of its own columns, then its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dpengine.array_types import Columns
from dpengine.spec.plan import Plan

__all__ = ["NUMBERS", "decimals_of_mean", "header", "number_columns", "published_name", "quantile_kind"]

NUMBERS = ("count", "estimate", "low", "high")


def number_columns(plan: Plan, table: Columns) -> list[str]:
    """Return the names of the columns of numbers of a published table, in order.

    After the numbers of every table come those of its amounts: people whose value is known, if any may be missing; the
    mean, the sum and quantiles, if they are asked for, each with the ends of its interval.
    """
    names = list(NUMBERS)
    for name in plan.amounts(table):
        names += [f"known_{name}"] if plan.amount(name).missing else []
        kinds = [kind for kind, wanted in (("mean", plan.means(table)), ("sum", plan.sums(table))) if name in wanted]
        kinds += [quantile_kind(part) for part in plan.quantiles(table, name)]
        names += [f"{kind}_{name}{end}" for kind in kinds for end in ("", "_low", "_high")]
    return names


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


def decimals_of_mean(plan: Plan, amount: str) -> int:
    """Return to how many decimals the means of an amount are published: four more than its step has, 2 to 6.

    >>> income = {"name": "income", "kind": "amount", "from": 0, "to": 1000, "step": 100}
    >>> columns = [{"name": "sex", "kind": "yesno"}, income]
    >>> plan = Plan(dataset="demo", epsilon=1, columns=columns, tables=[{"columns": ["sex"], "mean": ["income"]}])
    >>> decimals_of_mean(plan, "income")
    2
    """
    return min(6, max(2, 4 - plan.amount(amount).step.adjusted()))
