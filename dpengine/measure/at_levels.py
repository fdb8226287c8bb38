"""Decide how tables at several levels of a column are measured: summed, crossed, apart, or in parts.

*Summed*, only the finest levels are measured (`measure.summed_strategy`): best of many tables that overlap. *Crossed*,
each level is measured with all other columns (`measure.levels`): best if these are the same in most tables.
*Apart*, each table is measured at its own levels: best if few columns stand together. *In parts*, levels are crossed
with the columns beside them, and a model draws on the rest (`measure.parts`).

The way of the least variance in all published cells is chosen (benchmarks/levels_beside.py), unless crossing adds no
cells: then levels share ε such that none is inaccurate. The variance is that of the discrete noise at the plan's ε: if
most of it is 0, few measured tables are best. All are functions of the plan alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.nested import tree_order
from dpengine.marginals.plan_levels import group_sizes, measured_at
from dpengine.measure.allocation import allocate_amounts, allocate_apart, allocate_directly
from dpengine.measure.levels import variances_of_levels
from dpengine.measure.parts import InParts, variances_of_parts
from dpengine.measure.rows_and_noise import most_noise, noise_is_too_much, noise_of
from dpengine.noise import moments
from dpengine.spec.plan import Plan
from dpengine.spec.summed_levels import may_be_summed

__all__ = ["is_better_apart", "is_better_in_parts", "is_better_summed"]

FEW_LEAVES = 200  # cells of the finest level, up to which a model of all columns is nearer than levels beside a model


def is_better_summed(plan: Plan, as_sums: Plan) -> bool:
    """Return whether coarser levels of `plan`, which is *adaptive*, are better sums of the finest ones, if they may be.

    `as_sums` is the plan with these. It has the errors of a plan of the tables at their finest levels. If these are
    better modelled, the ways that measure all tables must leave more noise than is worth measuring, too. If a model may
    draw on the others alone, tables at levels are measured beside it if they have many cells, and not that much noise.
    """
    if not may_be_summed(plan) or _adds_no_cells(plan):
        return False
    whole, in_parts = [_variances_apart(plan), _variances_crossed(plan)], _variances_in_parts(plan)
    finest, resolution = as_sums.finest, plan.resolution
    if not noise_is_too_much(finest, maximal(finest.estimated_tables)):
        squares = _squares(finest, allocate_directly(finest))
        sums = {
            table: squares.variance_of_sums(resolution.finest_columns(table), group_sizes(plan, table))
            for table in plan.marginals
        }
        return _total(plan, sums) < min(_total(plan, each) for each in (*whole, in_parts))
    most = most_noise(finest, maximal(finest.marginals))
    if any(noise_of(plan, each) <= most for each in whole if each is not None):
        return False
    if in_parts is None or max(plan.cells(measured_at(part)[-1]) for part in plan.parts.levels) <= FEW_LEAVES:
        return True
    return noise_of(plan, {table: in_parts[table] for part in plan.parts.levels for table in part.marginals}) > most


def is_better_apart(plan: Plan) -> bool:
    """Return whether measuring each table at its own levels is possible, and better than crossing the levels."""
    return _total(plan, _variances_apart(plan)) < _total(plan, _variances_crossed(plan))


def is_better_in_parts(plan: Plan) -> bool:
    """Return whether measuring a plan in parts, if it has several, is necessary or better than the other ways."""
    if not plan.in_parts or not _parts_are_small(plan):
        return False
    if not plan.resolution.is_small:
        return True
    if plan.ranged:
        return False
    others = _variances_crossed(plan), _variances_apart(plan)
    return _total(plan, variances_of_parts(plan)) < min(_total(plan, each) for each in others)


def _adds_no_cells(plan: Plan) -> bool:
    """Return whether the table of the finest level and all other columns is published anyway."""
    return {*measured_at(plan)[-1]} in map(set, plan.marginals)


def _variances_crossed(plan: Plan) -> dict[Columns, float] | None:
    """Return the mean variance of a cell of each table if levels are measured with all other columns, if they can."""
    if not plan.resolution.is_small:
        return None
    for_amounts = sum((each.epsilon for each in allocate_amounts(plan)), Fraction(0))
    return variances_of_levels(plan, plan.epsilon_for_tables - for_amounts)


def _variances_apart(plan: Plan) -> dict[Columns, float] | None:
    """Return the mean variance of a cell of each table if they are measured apart; None if that cannot help."""
    tables = maximal(plan.marginals)
    if _adds_no_cells(plan) or plan.amounts(()) or tree_order(plan.resolution, tables) is None:
        return None
    squares = _squares(plan, allocate_apart(plan))
    return {table: squares.variance(table) for table in plan.marginals}


def _variances_in_parts(plan: Plan) -> dict[Columns, float] | None:
    """Return the mean variance of a cell of each table if measured in parts; None if there are no parts that agree."""
    if not plan.in_parts or not _parts_are_small(plan):
        return None
    try:
        InParts(plan).check()
    except PlanError:
        return None
    return variances_of_parts(plan)


def _parts_are_small(plan: Plan) -> bool:
    return all(part.resolution.is_small for part in plan.parts.levels)


def _squares(plan: Plan, measured: Sequence[Allocation]) -> LeastSquares:
    sizes = {name: plan.column(name).size for name in plan.released}
    return LeastSquares(
        sizes, tuple(each.columns for each in measured), tuple(moments.variance(each.scale) for each in measured)
    )


def _total(plan: Plan, variances: Mapping[Columns, float] | None) -> float:
    """Return the variance summed over all cells, times the weights of tables, from the mean one in each table.

    It is infinite for a way that is not possible.
    """
    if variances is None:
        return math.inf
    return math.fsum(
        float(plan.weights.get(table, 1)) * plan.cells(table) * variance for table, variance in variances.items()
    )
