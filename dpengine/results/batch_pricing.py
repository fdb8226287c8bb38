"""Price one release that answers many counts at least as accurately as separate questions did.

A count under conditions on declared columns is a sum of cells of a table over those columns; a release that holds the
table answers it, and every other question of the kind, at one price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.estimate.error_distribution import sum_error
from dpengine.marginals.measurement import Allocation
from dpengine.measure.strategy import decide
from dpengine.spec.domain import Column
from dpengine.spec.plan import MAX_EPSILON, MIN_EPSILON, Plan
from dpengine.spec.query import Condition, Count, Question

__all__ = ["Batch", "price_batch"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that cost `separate_cost` in all; a release of `plan` answers each at least as accurately, at its ε."""

    questions: tuple[Question, ...]
    separate_cost: Fraction
    plan: Plan


def price_batch(questions: Sequence[Question]) -> Batch | None:
    """Price the release that answers those `questions` that are sums of cells; None if there is no such release.

    These are counts with the same privacy unit and conditions on cells of identically declared columns; at least two
    are needed. Errors are compared by their half-widths (95 %), from the distribution of the noise alone: a sum of m
    cells has the error of a sum of m draws. The price is the least, to 1 %, in thousandths.
    """
    counts, columns = _comparable_counts(questions)
    if len(counts) < 2:
        return None
    tables = {frozenset(_table(question.where)): _table(question.where) for question in counts}
    used = {name for table in tables.values() for name in table}
    try:
        plan = Plan(
            dataset=counts[0].dataset,
            epsilon="1",
            unit=counts[0].unit,
            columns=[column for name, column in columns.items() if name in used],
            tables=list(tables.values()),
            strategy="direct",
        )
    except PlanError:
        return None  # a table of too many cells
    price = _min_epsilon(plan, counts)
    if price is None:
        return None
    return Batch(tuple(counts), sum((each.epsilon for each in counts), Fraction(0)), plan.at(price))


def _comparable_counts(questions: Sequence[Question]) -> tuple[list[Question], dict[str, Column]]:
    """Return the counts of the same unit under conditions on the same columns, and all columns of conditions by name.

    What is the same is decided by the first question, and by the first condition on each column.
    """
    counts = [each for each in questions if isinstance(each.statistic, Count) and each.where and not each.by]
    columns: dict[str, Column] = {}
    for question in counts:
        for condition in question.where:
            columns.setdefault(condition.column.name, condition.column)
    counts = [
        each
        for each in counts
        if each.unit == counts[0].unit
        and all(condition.column == columns[condition.column.name] for condition in each.where)
        and len({condition.column.name for condition in each.where}) == len(each.where)
    ]
    return counts, columns


def _min_epsilon(plan: Plan, questions: Sequence[Question]) -> Fraction | None:
    """Return the least ε at which `plan` answers each question as accurately, to 1 %; None if none is enough."""
    half_widths = [sum_error(1, question.scale).half_width() for question in questions]

    def is_enough(epsilon: Fraction) -> bool:
        plan_at = plan.at(epsilon)
        allocations = decide(plan_at).allocations
        pairs = zip(questions, half_widths, strict=True)
        return all(_half_width(plan_at, allocations, each.where) <= half_width for each, half_width in pairs)

    low, high = MIN_EPSILON, MAX_EPSILON
    if not is_enough(high):
        return None
    while high > low * Fraction(101, 100):
        middle = Fraction(math.isqrt(int(low * high * 10**12)), 10**6)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return min(MAX_EPSILON, Fraction(math.ceil(high * 1000), 1000))


def _table(where: Sequence[Condition]) -> Columns:
    return tuple(condition.column.name for condition in where)


def _half_width(plan: Plan, allocations: Sequence[Allocation], where: Sequence[Condition]) -> float:
    """Return the 95 % half-width of a sum of cells of the best measured table, an upper bound for consistent ones."""
    chosen = {condition.column.name: len(condition.codes) for condition in where}
    sums = [
        sum_error(math.prod(chosen.get(name, plan.column(name).size) for name in allocation.columns), allocation.scale)
        for allocation in allocations
        if set(allocation.columns) >= set(chosen)
    ]
    return min(each.half_width() for each in sums)
