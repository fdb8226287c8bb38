"""Divide ε between tables that count rows and tables that count persons (`spec.tallies`)."""

from __future__ import annotations

from fractions import Fraction

from dpengine.marginals.graphs import maximal
from dpengine.measure.allocation import allocate_directly, total_variance
from dpengine.spec.plan import Plan

__all__ = ["divide_over_tallies"]


def divide_over_tallies(plan: Plan) -> tuple[Fraction, ...]:
    """Return the part of ε of each tally of `plan`; they add up to ε exactly.

    If A is the total variance of a tally's tables at ε = 1, times their weights, that of all tables is Σ A/ε² over the
    parts. It is least with parts in proportion to the cube roots of A, which are rounded to thousandths.
    """
    roots = []
    for tally in plan.tallies:
        alone = tally.plan.at(1)
        judged = alone.supports if alone.weights else maximal(alone.supports)
        # Weights of a plan are in proportion to its least one, and these differ between tallies.
        least = min((plan.weights[table] for table in alone.marginals), default=1) if plan.weights else 1
        variance = float(least) * total_variance(alone, allocate_directly(alone), judged)
        roots.append(max(1, round(1000 * variance ** (1 / 3))))
    return tuple(plan.epsilon * root / sum(roots) for root in roots)
