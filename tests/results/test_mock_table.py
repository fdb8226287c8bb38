"""The mock table has the declared shape and rough size, whatever table of it is counted."""

from __future__ import annotations

import numpy as np

from dpengine import Plan
from dpengine.marginals.marginal import Marginal
from dpengine.results.mock_table import mock_counts
from tests.plans import CLINIC


def test_the_mock_table_has_the_rough_size_and_fills_the_middle() -> None:
    plan = Plan.loads(CLINIC)
    counts = mock_counts(plan, ("age", "region"))
    assert counts.sum() == plan.rows_about
    assert counts.min() >= 0
    assert counts[2, 0] > counts[4, 0]


def test_margins_of_mock_tables_agree_to_within_rounding() -> None:
    plan = Plan.loads(CLINIC)
    age_region, age = mock_counts(plan, ("age", "region")), mock_counts(plan, ("age",))
    assert np.abs(Marginal(("age", "region"), age_region).project(("age",)).values - age).max() <= 6
