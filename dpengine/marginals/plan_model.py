"""Decide which tables of a plan in parts a model covers, and which must agree: functions of the plan alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from dpengine.array_types import Columns
from dpengine.marginals.division import ASSUMED_ROWS, shares_of_parts
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.nested import tree_order
from dpengine.marginals.plan_levels import measured_at
from dpengine.noise.moments import mean_absolute
from dpengine.spec.plan import Plan

__all__ = ["agreeing", "measured_directly", "modelled"]

# Noise in a table, as a part of all rows, up to which tables are measured beside one for ranges
# (benchmarks/ranges_beside.py), as without one (`measure.rows_and_noise`):
IN_TREE, MORE_BY_EPSILON = 1.5, 3.0  # of tables that overlap along a tree, and more for each ε of a row
IN_RING = 0.2  # of pairs that overlap in a ring
OF_EMPTY, FEW_COLUMNS = 1.05, 12  # × √(cells per row) of pairs; of more columns, fewer are worth measuring
OF_LARGER = 0.2 / math.sqrt(1000)  # × √(cells) of larger tables in a ring


def modelled(plan: Plan) -> Plan | None:
    """Return the plan of the tables that a model covers; None if all are measured.

    These are the tables that are neither for ranges nor at several levels. Beside tables for ranges, a model draws on
    them only if they would have too much noise, or could not agree with it.
    """
    rest = plan.parts.rest
    if rest is None or not plan.ranged:
        return rest
    agree = tree_order(plan.resolution, [*chain(*agreeing(plan, rest))]) is not None
    return rest if agree and _noise_is_too_much(plan, rest) else None


def _noise_is_too_much(plan: Plan, rest: Plan) -> bool:
    """Return whether tables are better modelled than measured with their shares of ε beside tables for ranges."""
    tables, counted = measured_directly(plan, None), maximal([each for each in rest.marginals if each])
    ring = junction_order(counted) is None
    if len(counted) < 2 or (plan.rows_about is None and not ring):
        return False
    cells = [float(sum(map(plan.cells, part.marginals))) for part in plan.parts.levels]
    shares = shares_of_parts(plan, cells, tables, None)[len(plan.ranged) + len(cells) :]
    noise = [
        plan.cells(table) * mean_absolute(plan.unit.rows / share)
        for table, share in zip(tables, shares, strict=True)
        if not plan.has_amount(table)
    ]
    rows = plan.rows_about or ASSUMED_ROWS
    return bool(noise) and math.fsum(noise) / (len(noise) * rows) > _most_noise(plan, counted, rows, ring=ring)


def _most_noise(plan: Plan, tables: Sequence[Columns], rows: int, *, ring: bool) -> float:
    """Return the largest noise in a table, as a fraction of the rows, at which tables are still measured."""
    if not ring:
        return IN_TREE + MORE_BY_EPSILON * float(plan.epsilon_for_tables) / plan.unit.rows
    cells = math.fsum(map(plan.cells, tables)) / len(tables)
    if max(map(len, tables)) > 2:
        return OF_LARGER * math.sqrt(cells)
    columns = len({*chain(*tables)})
    return max(IN_RING, OF_EMPTY * math.sqrt(cells / rows) * min(1.0, FEW_COLUMNS / columns))


def measured_directly(plan: Plan, model: Plan | None) -> list[Columns]:
    """Return the tables that are measured directly: those with amounts and, without a `model`, all of the rest."""
    with_amounts = [table for table in plan.estimated_tables if plan.has_amount(table)]
    rest = plan.parts.rest
    return maximal([*with_amounts, *(rest.estimated_tables if rest is not None and model is None else ())])


def agreeing(plan: Plan, model: Plan | None) -> tuple[list[Columns], list[Columns]]:
    """Return the tables of counts that are made to agree: those of the `model`, boxes and levels, and direct ones."""
    every = [measured_at(part)[-1] for part in plan.parts.levels]
    of_model = [model.counted] if model is not None else []
    direct = measured_directly(plan, model)
    counted = [tuple(name for name in table if not plan.has_amount((name,))) for table in direct]
    known = [*of_model, *every]
    apart = [each for each in maximal(counted) if each and each not in plan.ranged
             and not any(plan.resolution.finer_columns(each, one) is not None for one in known)]  # fmt: skip
    return [*of_model, *plan.ranged, *every], apart
