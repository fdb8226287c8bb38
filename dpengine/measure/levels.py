"""Divide ε over the levels of a column: every level that a plan uses may be measured, with a share of ε.

A level is measured together with all other columns of the plan that have cells, so that the counts of every combination
of these are a tree (`marginals.level_tree`), and every published count is a sum over one level. A row changes one cell
of each measured marginal by one, whatever its level. So each has the sensitivity of any marginal. Tables with amounts
are measured beside the levels; the shares add up to the rest of ε.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import numpy as np

from dpengine.array_types import Columns
from dpengine.marginals.level_division import (
    PARTS,
    cells_added,
    level_loss,
    may_have_part,
    mean_variances,
    moved_part,
    weighted_cells,
)
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import level_groups, measured_at
from dpengine.measure.allocation import allocate
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["allocate_levels", "cells_of_levels", "variances_of_levels"]

STEPS = (200, 50, 12, 3, 1)  # sizes of the moves of the search, in such parts


def allocate_levels(plan: Plan, epsilon: Fraction) -> tuple[Allocation, ...]:
    """Divide `epsilon` over the levels of `plan` for the least sum of squares of each published table's mean variance.

    So tables of equal weight count equally, however many cells they have, and one inaccurate table counts more than
    several accurate ones. A weight multiplies the variance of its table. The variances are those of least squares over
    the tree, in closed form, and parts are thousandths of ε.
    """
    measured = measured_at(plan)
    added = cells_added(plan)
    groups = tuple(group.tobytes() for group in level_groups(plan))
    parts = _least_loss(groups, added, may_have_part(plan, added))
    return tuple(
        allocate(plan, columns, epsilon * Fraction(part, PARTS))
        for columns, part in zip(measured, parts, strict=True)
        if part
    )


def cells_of_levels(plan: Plan) -> float:
    """Return the number of cells, each measured with all of ε, whose total variance is that of the tables of `plan`.

    Cells are weighted like their table.
    """
    levels = allocate_levels(plan, Fraction(1))
    return weighted_cells(plan, {each.columns: float(each.scale / plan.unit.rows) for each in levels})


def variances_of_levels(plan: Plan, epsilon: Fraction) -> dict[Columns, float]:
    """Return the mean variance of a cell of each table of `plan`, if its levels have `epsilon`."""
    levels = allocate_levels(plan, epsilon)
    return mean_variances(plan, {each.columns: moments.variance(each.scale) for each in levels})


@lru_cache(maxsize=64)
def _least_loss(groups: tuple[bytes, ...], added: tuple[tuple[float, ...], ...], usable: range) -> tuple[int, ...]:
    """Return the part of each level, the root's first, in thousandths; only those that are `usable` have one.

    `added` gives for each level the weighted cells that a cell of each of its tables adds up.

    The search starts from equal parts and moves parts from one level to another while that helps, ever smaller ones.
    """
    tree = tuple(np.frombuffer(each, dtype=np.int64) for each in groups)
    parts = [PARTS // len(usable) if k in usable else 0 for k in range(len(added))]
    parts[-1] += PARTS - sum(parts)
    least = level_loss(tree, added, parts)
    for step in STEPS:
        better = True
        while better:
            better = False
            for give, take in permutations(usable, 2):
                tried = moved_part(parts, give, take, step, usable)
                if tried is None:
                    continue
                loss = level_loss(tree, added, tried)
                if loss < least * (1 - 1e-9):
                    parts, least, better = tried, loss, True
    return tuple(parts)
