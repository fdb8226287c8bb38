"""Where the values of a column lie, measured before its tables: from this alone its cells are found.

A release of a plan with found cells has two stages, which one charge pays for. First each such column is measured over
its declared universe, with its share of ε: for bins, the steps of its range, in boxes that grow where there are people
(`measure.hierarchical`). Then the cells follow from these noisy counts (`estimate.found_cells`), and the tables in
these cells are measured with the rest of ε.

The whole is ε-differentially private by adaptive composition (Dwork & Roth 2014, Theorem 3.16): whatever the first
stage returned, the second one is `Plan.for_tables`-differentially private for the cells that follow from it, and the
first stage costs the shares. The universe, the shares and the rule from noisy counts to cells are public.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpengine.array_types import Ints
from dpengine.errors import PlanError
from dpengine.marginals.measurement import Search
from dpengine.measure.hierarchical import blank_boxes, measure_boxes
from dpengine.measure.way import MAX_ADAPTIVE_SCALE
from dpengine.spec.domain import Number
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["blank_searches", "check_searches", "search"]


def search(plan: Plan, counts: Sequence[Ints]) -> tuple[Search, ...]:
    """Measure the columns of `plan.finds`, each with its share of ε.

    `counts` are exact, one array for each of these columns: the rows in each step of its range. One person has at most
    `plan.unit.rows` rows.
    """
    return tuple(_search(plan, name, exact) for name, exact in zip(plan.finds, counts, strict=True))


def _search(plan: Plan, name: str, exact: Ints) -> Search:
    return measure_boxes((name,), [(0, exact.size)], exact, plan.epsilon * plan.column(name).share, plan.unit.rows)


def blank_searches(plan: Plan) -> tuple[Search, ...]:
    """Return what `search` would return of nobody, without noise: to try what follows."""
    return tuple(
        blank_boxes((name,), (_steps(plan, name),), plan.epsilon * plan.column(name).share, plan.unit.rows)
        for name in plan.finds
    )


def check_searches(plan: Plan) -> None:
    """Refuse shares of ε with which nothing would be found. Raises `PlanError`."""
    for name in plan.finds:
        if plan.unit.rows / (plan.epsilon * plan.column(name).share) > MAX_ADAPTIVE_SCALE:
            raise PlanError(
                _("epsilon is too small to find the cells of {column}: raise it, or state the cells", column=name)
            )


def _steps(plan: Plan, name: str) -> int:
    column = plan.column(name)
    assert isinstance(column, Number), "a column whose bins are found"
    return column.steps.declared_size
