"""Decide how tables at several levels of a column are measured: crossed, apart, or in parts.

*Crossed*, each level is measured with all other columns (`measure.levels`): best if these are the same in most tables.
*Apart*, each table is measured at its own levels: best if few columns stand together. *In parts*, levels are crossed
with the columns beside them, and a model draws on the rest (`measure.parts`).

The way of the least variance in all published cells is chosen (benchmarks/levels_beside.py), unless crossing adds no
cells: then levels share ε such that none is inaccurate. The variance is that of the discrete noise at the plan's ε: if
most of it is 0, few measured tables are best. All are functions of the plan alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.nested import tree_order
from dpengine.marginals.plan_levels import measured_at
from dpengine.measure.allocation import allocate_amounts, allocate_apart
from dpengine.measure.levels import variances_of_levels
from dpengine.measure.parts import variances_of_parts
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["is_better_apart", "is_better_in_parts"]


def is_better_apart(plan: Plan) -> bool:
    """Return whether measuring each table at its own levels is possible, and better than crossing the levels."""
    return _apart(plan) < _crossed(plan)


def is_better_in_parts(plan: Plan) -> bool:
    """Return whether measuring a plan in parts, if it has several, is necessary or better than the other ways."""
    if not plan.in_parts:
        return False
    if not plan.resolution.is_small:
        return True
    if plan.ranged:
        return False
    return _total(plan, variances_of_parts(plan)) < min(_crossed(plan), _apart(plan))


def _crossed(plan: Plan) -> float:
    """Return the total variance of tables whose levels are measured with all other columns."""
    for_amounts = sum((each.epsilon for each in allocate_amounts(plan)), Fraction(0))
    return _total(plan, variances_of_levels(plan, plan.for_tables - for_amounts))


def _apart(plan: Plan) -> float:
    """Return the total variance of tables that are measured apart; infinite if that is impossible or useless."""
    crossed = {*measured_at(plan)[-1]} in map(set, plan.marginals)
    if crossed or plan.amounts(()) or tree_order(plan.resolution, maximal(plan.marginals)) is None:
        return math.inf
    measured = allocate_apart(plan)
    sizes = {name: plan.column(name).size for name in plan.released}
    squares = LeastSquares(
        sizes, tuple(each.columns for each in measured), tuple(moments.variance(each.scale) for each in measured)
    )
    return _total(plan, {table: squares.variance(table) for table in plan.marginals})


def _total(plan: Plan, variances: Mapping[Columns, float]) -> float:
    """Return the variance summed over all cells, times the weights of tables, from the mean one in each table."""
    return math.fsum(
        float(plan.weights.get(table, 1)) * plan.cells(table) * variance for table, variance in variances.items()
    )
