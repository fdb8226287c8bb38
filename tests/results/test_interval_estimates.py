"""The intervals of means and sums, rounded as they are published."""

from __future__ import annotations

from dpengine import Plan, preview
from dpengine.estimate.amounts import sum_intervals
from dpengine.results.published_columns import Measure


def test_rounding_and_the_published_number_only_widen_the_interval_of_a_sum() -> None:
    pay = {"name": "pay", "kind": "amount", "from": 0, "to": 100, "step": "0.5"}
    region = {"name": "region", "kind": "category", "values": ["North", "South", "East"]}
    plan = Plan(dataset="d", epsilon=1, columns=[region, pay], tables=[{"columns": ["region"], "sum": ["pay"]}])
    made = preview(plan)
    (span,) = made.interval_estimates(("region",), Measure("sum", "pay"))
    middle, half_width = sum_intervals(plan.amount("pay"), ("region",), made.estimates.soft)
    rounding = 0.051  # a step has one decimal
    assert (span.low <= middle - half_width + rounding).all()
    assert (span.high >= middle + half_width - rounding).all()
    assert ((span.low <= span.value) & (span.value <= span.high)).all()
