"""Releases of known exact counts, without a ledger, for tests of what is made of published numbers."""

from __future__ import annotations

from dpengine.array_types import Ints
from dpengine.marginals.marginal import Marginal
from dpengine.measure.strategy import decide
from dpengine.results.result import Result, conclude
from dpengine.spec.plan import Plan

__all__ = ["released"]


def released(plan: Plan, counts: Ints) -> Result:
    """Return a release of `plan`, given the exact `counts` with an axis for each of its columns."""
    whole, strategy = Marginal(tuple(column.name for column in plan.columns), counts), decide(plan)
    return conclude(strategy.plan, strategy.measure(lambda tables: [whole.project(each).values for each in tables]))
