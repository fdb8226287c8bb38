"""Predictions that the Accuracy page shows, cached because ε changes often."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpengine import epsilon_for, predict, safe_csv
from dpengine.array_types import Columns
from dpengine.results.alternatives import MockCells, predict_table
from dpengine.results.sample_share import sample_share
from dpengine.spec.plan import Plan
from pages.parts.shared.epsilon_ladder import rounded_up, rungs

__all__ = [
    "EPSILONS", "all_errors", "cells_with_values", "curve", "largest_error", "noise_shares", "predictions_csv",
    "sample_like", "wanted_epsilon",
]  # fmt: skip

EPSILONS = rungs("0.01", "20")

BY_CONTENT: dict[str | type[Any], Callable[[Any], Any]] = {Plan: Plan.model_dump_json}  # how caches distinguish plans
_kept = st.cache_data(scope="session", max_entries=64, show_spinner=False, hash_funcs=BY_CONTENT)


# The cached functions take the plan at ε = 1, so that a change of ε does not compute them again.


@_kept
def _curve(plan: Plan, table: Columns) -> pd.DataFrame:
    return pd.concat([predict_table(plan.at(epsilon), table) for epsilon in EPSILONS], ignore_index=True)


@_kept
def _wanted_epsilon(plan: Plan, half_width: float, confidence: float) -> Fraction:
    return epsilon_for(plan, half_width, confidence)


@_kept
def _mock_cells(plan: Plan, table: Columns) -> MockCells:
    return MockCells.of(plan, table)


@_kept
def all_errors(plan: Plan) -> pd.DataFrame:
    """Predict the errors of all tables of a plan."""
    return predict(plan)


def curve(plan: Plan, table: Columns) -> pd.DataFrame:
    """Predict the errors of one table at every ε of the page."""
    return _curve(plan.at(1), table)


def wanted_epsilon(plan: Plan, half_width: float, confidence: float) -> Fraction:
    """Return the smallest ε of three digits at which every count is within `half_width` of the true one.

    Raises `PlanError` if there is none.
    """
    return rounded_up(_wanted_epsilon(plan.at(1), half_width, confidence))


def largest_error(plan: Plan) -> Columns:
    """Return the table whose counts are the furthest off."""
    widths = all_errors(plan)["half_width_95"][: len(plan.marginals)]  # the last row is the total, not a cell
    return plan.marginals[int(np.argmax(widths))]


def noise_shares(plan: Plan, table: Columns, half_widths: pd.Series[float]) -> np.ndarray:
    """Return for each half-width the share of the mock table's cells that would be mostly noise."""
    return _mock_cells(plan.at(1), table).mostly_noise(half_widths)


def cells_with_values(plan: Plan, table: Columns) -> int:
    """Return the number of cells of which `noise_shares` are shares: all except *(other)* and *(missing)*."""
    return _mock_cells(plan.at(1), table).cells


def sample_like(plan: Plan, table: Columns, mean_off: float) -> float | None:
    """Return the share of rows in a random sample of the mock table whose counts are equally far off."""
    cells = _mock_cells(plan.at(1), table)
    return sample_share(cells.sizes, mean_off, np.diff(cells.cumulative, prepend=0.0))


def predictions_csv(plan: Plan) -> bytes:
    """Predict every table at every ε of the page, as CSV."""
    return safe_csv.from_frame(predict(plan, EPSILONS))
