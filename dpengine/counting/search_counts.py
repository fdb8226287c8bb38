"""Exact counts of rows by step, candidate bound or key, from which the cells of columns are found privately."""

from __future__ import annotations

from dpengine.array_types import Ints
from dpengine.counting.count import count, count_keys
from dpengine.sources.table import Table
from dpengine.spec.declared import changed
from dpengine.spec.domain import Amount, Category, Number
from dpengine.spec.numeric.amount_steps import up_to_bounds
from dpengine.spec.plan import Plan

__all__ = ["count_steps"]


def count_steps(table: Table, plan: Plan, *, truncation_key: bytes) -> list[Ints | tuple[Ints, Ints]]:
    """Return the exact number of rows in each step of the range, or of each key with rows, for `plan.found_columns`.

    Of an amount, rows are counted between candidates for its upper bound. Keys are given by their places
    (`count.count_keys`). Rows with another value, or none, are left out. At most `plan.unit.rows` rows of a person
    count, chosen as `count` chooses them. Raises `TableError` as `count` does.
    """
    counts: list[Ints | tuple[Ints, Ints]] = []
    for name in plan.found_columns:
        if isinstance(plan.column(name), Category):
            counts.append(count_keys(table, plan, name, truncation_key=truncation_key))
            continue
        stepped = plan_of_steps(plan, name)
        (exact,) = count(table, stepped, [(name,)], truncation_key=truncation_key)
        counts.append(exact[: stepped.column(name).declared_size])
    return counts


def plan_of_steps(plan: Plan, name: str) -> Plan:
    """Return a plan with one table: the steps of this column, or an amount's candidates for its upper bound."""
    column = plan.column(name)
    if isinstance(column, Amount):
        return changed(plan, columns=(up_to_bounds(column),), tables=((name,),))
    assert isinstance(column, Number), "a column whose bins are found"
    return Plan(dataset=plan.dataset, epsilon=plan.epsilon, unit=plan.unit, columns=[column.steps], tables=[[name]])
