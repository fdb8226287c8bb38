"""The mock table has the declared shape and rough size, whatever table of it is counted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpengine import Plan
from dpengine.marginals.marginal import Marginal
from dpengine.results import mock_table
from dpengine.results.mock_table import mock_counts
from tests.plans import CLINIC, letters_plan


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


def test_columns_of_the_same_shape_are_made_once_for_all_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, made, with_extra = letters_plan([5] * 8, {"each": 2}), [], mock_table._with_extra
    monkeypatch.setattr(mock_table, "_with_extra", lambda *given: made.append(given) or with_extra(*given))
    mock_table._profile_of_kind.cache_clear()
    for table in combinations("abcdefgh", 2):
        mock_counts(plan, table)
    assert len(made) == len(mock_table.LATENT_CLASSES)
