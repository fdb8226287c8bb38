"""Predict the errors of the cells of each table from the plan and the ε of each measured marginal alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from dpengine.array_types import Columns
from dpengine.estimate.error_distribution import ErrorDistribution, error_of_terms, least_squares
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.level_sums import SumErrors
from dpengine.estimate.source_part import allocated_to, direct_marginals, source_part
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import measures_levels, of_counts
from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = ["table_error", "table_errors"]


def table_error(plan: Plan, allocations: Sequence[Allocation], table: Columns) -> ErrorDistribution:
    """Return the distribution of the error of `estimate` in a cell of `table`.

    It is the same for all cells. For levels of a column, it is that of the least accurate cells, and its mean absolute
    error that of all cells.
    """
    return table_errors(plan, allocations)(table)


def table_errors(plan: Plan, allocations: Sequence[Allocation]) -> Callable[[Columns], ErrorDistribution]:
    """Return `table_error` as a function of the table, for many tables of one plan."""
    if plan.has_distinct:

        @cache
        def errors_of_tally(k: int) -> Callable[[Columns], ErrorDistribution]:
            return table_errors(plan.tallies[k].plan, [one for one in allocations if one.tally == k])

        return lambda table: errors_of_tally(plan.tally_index(table))(table)
    if plan.finest is not plan:
        return _errors_of_sums(plan, tuple(allocations))
    if plan.in_parts:
        return _errors_of_parts(plan, tuple(allocations))
    if plan.resolution.levels and measures_levels(plan, allocations):
        return LevelErrors(plan, of_counts(plan, allocations)).error
    squares, error_of = least_squares(plan, allocations), error_of_terms(allocations)
    return lambda table: error_of(squares.noise(table))


def _errors_of_sums(plan: Plan, allocations: tuple[Allocation, ...]) -> Callable[[Columns], ErrorDistribution]:
    """Return the errors of tables; tables at coarser levels are sums of the finest."""
    of_finest = table_errors(plan.finest, allocations)
    sums = SumErrors(plan, least_squares(plan.finest, allocations), allocations)
    return lambda table: of_finest(table) if plan.resolution.finest_columns(table) == table else sums.error(table)


def _errors_of_parts(plan: Plan, allocations: tuple[Allocation, ...]) -> Callable[[Columns], ErrorDistribution]:
    """Return the errors of tables that follow from levels or from direct measurements."""
    columns = [each.columns for each in allocations]
    direct, model = direct_marginals(plan, columns), modelled(plan)
    measured = [each for each in allocations if each.columns in direct]

    @cache
    def of_levels(index: int) -> LevelErrors:
        within = tuple(each for each in allocations if allocated_to(plan, each.columns) == index)
        return LevelErrors(plan.parts.levels[index], within)

    def error(table: Columns) -> ErrorDistribution:
        kind, index = source_part(plan, model, direct, table)
        if kind == "levels":
            return of_levels(index).error(table)
        return error_of_terms(measured)(least_squares(plan, measured).noise(table))

    return error
