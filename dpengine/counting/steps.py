"""Count the steps of a column whose bins are found: the same rows as in its tables, in the finest cells."""

from __future__ import annotations

from dpengine.array_types import Ints
from dpengine.counting.count import count
from dpengine.sources.table import Table
from dpengine.spec.domain import Number
from dpengine.spec.plan import Plan

__all__ = ["count_steps", "plan_of_steps"]


def count_steps(table: Table, plan: Plan, *, truncation_key: bytes) -> list[Ints]:
    """Return for each of `plan.finds` the exact number of rows in each step of its range.

    Rows with another value, or none, are left out. At most `plan.unit.rows` rows of a person count, chosen as
    `count` chooses them. Raises `TableError` as `count` does.
    """
    found = []
    for name in plan.finds:
        stepped = plan_of_steps(plan, name)
        (exact,) = count(table, stepped, [(name,)], truncation_key=truncation_key)
        found.append(exact[: stepped.column(name).declared_size])
    return found


def plan_of_steps(plan: Plan, name: str) -> Plan:
    """Return the plan of one table, of the steps of this column."""
    column = plan.column(name)
    assert isinstance(column, Number), "a column whose bins are found"
    return Plan(dataset=plan.dataset, epsilon=plan.epsilon, unit=plan.unit, columns=[column.steps], tables=[[name]])
