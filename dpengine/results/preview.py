"""A release of the mock table: the same noise in the same way, drawn afresh and free."""

from __future__ import annotations

from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result, conclude
from dpengine.spec.plan import Plan

__all__ = ["preview"]


def preview(plan: Plan) -> Result:
    """Return a release of the mock table under `plan`.

    It takes neither a table nor a ledger. Raises `PlanError` if the plan cannot be measured.
    """
    strategy = decide(plan)
    strategy.check()
    measured = strategy.measure(lambda marginals: [mock_counts(plan, table) for table in marginals])
    return conclude(strategy.plan, measured)
