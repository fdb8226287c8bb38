"""The total variance of all published tables, which dividing ε minimises; a function of plan and shares.

With e_S the part of ε for marginal S, it is Σ_A c_A / Σ_{S ⊇ A} e_S²/n_{S∖A} up to a constant factor, where A are sets
of columns, and c_A adds up the weights of the tables that have them (`marginals.least_squares`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.marginals.division import root_of_cells, weight_within
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares, subsets
from dpengine.marginals.measurement import Allocation
from dpengine.noise import moments
from dpengine.spec.plan import Plan

__all__ = ["VarianceOfShares", "root_of_tally", "total_variance"]

MIN_VARIANCE = 1e-9  # taken for noise that is almost always 0, so that estimates have a precision


def total_variance(
    plan: Plan, allocations: Sequence[Allocation], tables: Sequence[Columns], *, discrete: bool = False
) -> float:
    """Return the variance summed over all cells of `tables`, times their weights.

    It is the variance of continuous Laplace noise, so that rankings do not depend on ε; or, if `discrete`, of the noise
    that is drawn, most of which is 0 at large ε.
    """
    variances = tuple(_variance(each) if discrete else float(2 * each.scale**2) for each in allocations)
    if len(allocations) == 1:  # every published cell is a plain sum
        cells = plan.cells(allocations[0].columns)
        return math.fsum(_own_weight(plan, table) * cells * variances[0] for table in tables)
    sizes = {name: plan.column(name).size for name in plan.released}
    squares = LeastSquares(sizes, tuple(allocation.columns for allocation in allocations), variances)
    return math.fsum(_own_weight(plan, table) * plan.cells(table) * squares.variance(table) for table in tables)


def _variance(allocation: Allocation) -> float:
    return max(moments.variance(allocation.scale_in_units) / allocation.grain**2, MIN_VARIANCE)


def root_of_tally(plan: Plan, of_tally: Plan, measured: Sequence[Allocation]) -> int:
    """Return the cube root of the total variance of a tally's tables, in thousandths, as `measured` with ε = 1.

    `of_tally` is the plan of these tables alone, and `plan` the whole. ε is divided among tallies in proportion to it.
    """
    alone = of_tally.at(1)
    judged = alone.estimated_tables if alone.weights else maximal(alone.estimated_tables)
    # Weights of a plan are relative to its smallest one, which differs between tallies.
    least = min((plan.weights[table] for table in alone.marginals), default=1) if plan.weights else 1
    return root_of_cells(float(least) * total_variance(alone, measured, judged))


def _own_weight(plan: Plan, table: Columns) -> float:
    """Return the weight of a published table, with or without one of its amounts, or of those within another table."""
    counted = {name for name in table if not plan.has_amount((name,))}
    weights = [weight for published, weight in plan.weights.items() if {*published} == counted]
    return float(weights[0]) if weights else weight_within(plan, table)


@dataclass(frozen=True)
class VarianceOfShares:
    """The total variance of a plan's tables as a function of the parts of ε of marginals, up to a constant factor.

    `costs` has an entry for each set of columns within a table, and `weights` a row for it, with an entry for each
    marginal.
    """

    costs: Floats
    weights: Floats

    @classmethod
    def of(cls, plan: Plan, marginals: Sequence[Columns]) -> VarianceOfShares:
        costs: dict[frozenset[str], float] = defaultdict(float)
        for table in plan.estimated_tables:
            weight = _own_weight(plan, table)
            for part in subsets(table):
                contrast = weight * math.prod(plan.column(name).size - 1 for name in part)  # cells × Π (n−1)/n
                costs[part] += contrast / plan.cells(tuple(frozenset(table) - part))
        weights = [
            [1 / plan.cells(tuple(frozenset(s) - part)) if part <= frozenset(s) else 0.0 for s in marginals]
            for part in costs
        ]
        return cls(np.array([*costs.values()]), np.array(weights))

    def at(self, parts: Floats) -> tuple[float, Floats]:
        """Return the total variance, and by how much it changes with each of the `parts`."""
        precision = self.weights @ parts**2
        slope: Floats = -(self.costs / precision**2) @ self.weights * 2 * parts
        return float((self.costs / precision).sum()), slope
