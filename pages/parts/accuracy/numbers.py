"""What the accuracy page calculates: functions of a plan alone, kept for the session since ε moves often."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine import predict
from dpengine.array_types import Columns
from dpengine.estimate import error_distribution
from dpengine.marginals.measurement import Allocation
from dpengine.measure.strategy import choose
from dpengine.results.mock_table import made_up, preview
from dpengine.results.result import EXACT
from dpengine.spec.plan import MAX_TABLE_CELLS, Plan
from pages.parts.shared.wording import name_of

__all__ = [
    "EPSILONS",
    "SIZES",
    "all_errors",
    "compare",
    "curve",
    "errors",
    "noise_shares",
    "predictions",
    "simulate",
    "wanted",
]


EPSILONS = tuple(
    Fraction(text)
    for text in (
        "0.01", "0.015", "0.02", "0.03", "0.05", "0.07", "0.1", "0.15", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8",
        "1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20",
    )
)  # fmt: skip
SIZES = ("empty", "1 to 9", "10 to 99", "100 to 999", "1,000 and more")
_BOUNDS = (1, 10, 100, 1000)
_PATIENCE = 2.5
_DRAWS = 200

_by_plan = {Plan: lambda plan: plan.model_dump_json()}
_kept = st.cache_data(scope="session", max_entries=64, show_spinner=False, hash_funcs=_by_plan)


def errors(plan: Plan, table: Columns) -> pd.DataFrame:
    """The one row of `predict` that is about ``table``, led by ε, without working out all the others."""
    allocations = choose(plan)
    law, total = (
        error_distribution.table_error(plan, allocations, table),
        error_distribution.table_error(plan, allocations, ()),
    )
    numbers = (float(plan.epsilon), law.mean_abs, law.half_width(), total.half_width())
    return pd.DataFrame([numbers], columns=["epsilon", "mean_abs_error", "half_width_95", "total_half_width_95"])


@_kept
def _curve(plan: Plan, table: Columns) -> pd.DataFrame:
    return pd.concat([errors(plan.at(epsilon), table) for epsilon in EPSILONS], ignore_index=True)


def curve(plan: Plan, table: Columns) -> pd.DataFrame:
    """`errors` over the range of ε that is drawn; worked out once for all ε that ``plan`` may have."""
    return _curve(plan.at(1), table)


@_kept
def all_errors(plan: Plan) -> pd.DataFrame:
    """`predict` for one plan."""
    return predict(plan)


def predictions(plan: Plan) -> bytes:
    """Every table at every ε that is drawn, as CSV."""
    return predict(plan, EPSILONS).to_csv(index=False).encode()


@_kept
def _wanted(plan: Plan, half_width: float, confidence: float) -> Fraction:
    return error_distribution.epsilon_for(plan, half_width, confidence)


def wanted(plan: Plan, half_width: float, confidence: float) -> Fraction:
    """The least ε for a wanted error; worked out once for all ε that ``plan`` may have."""
    return _wanted(plan.at(1), half_width, confidence)


@_kept
def _sizes(plan: Plan, table: Columns) -> tuple[np.ndarray, np.ndarray]:
    """The sizes that cells of the made-up ``table`` have, rising, and the part of the cells up to each."""
    sizes, times = np.unique(made_up(plan, table), return_counts=True)
    return sizes, np.cumsum(times) / times.sum()


def noise_shares(plan: Plan, table: Columns, half_widths: pd.Series) -> np.ndarray:
    """For each half-width, the part of the made-up cells of ``table`` that would be mostly noise."""
    sizes, parts = _sizes(plan.at(1), table)
    widths = half_widths.to_numpy()
    return np.where(widths >= EXACT, np.append(0.0, parts)[np.searchsorted(sizes, widths, side="right")], 0.0)


def compare(plan: Plan) -> pd.DataFrame:
    """95 % half-widths under three ways of spending ε: as chosen, evenly, and on one table of all columns.

    First the mean over all published cells, then one row a table.
    """
    every = tuple(sorted(plan.used))
    evenly = plan.epsilon / len(plan.marginals)
    whole = (Allocation(every, plan.epsilon, plan.unit.rows),)
    chosen = choose(plan)
    rows = []
    for table in plan.marginals:
        alone = (Allocation(tuple(sorted(table)), evenly, plan.unit.rows),)
        widths = [
            error_distribution.table_error(plan, allocations, table).half_width() for allocations in (chosen, alone)
        ]
        feasible = plan.cells(every) <= MAX_TABLE_CELLS
        widths.append(error_distribution.table_error(plan, whole, table).half_width() if feasible else math.nan)
        rows.append((name_of(table), *widths))
    cells = np.array([plan.cells(table) for table in plan.marginals], dtype=float)
    mean = cells @ np.array([row[1:] for row in rows]) / cells.sum()
    return pd.DataFrame(
        [("all cells, on average", *mean), *rows],
        columns=["table", "this plan", "ε split evenly", "one table of all columns"],
    )


def simulate(plan: Plan, table: Columns) -> tuple[pd.DataFrame, int]:
    """Errors of ``table`` by true size of the cell, over many previews of the made-up table; and how many.

    One row for each size that occurs, times three kinds of number: the raw ``estimate``, the same with
    negative ones set to 0, and the consistent ``count``. ``off`` is the mean absolute error, ``bias``
    the mean error.
    """
    true = made_up(plan, table).ravel()
    size = np.digitize(true, _BOUNDS)
    off, bias = np.zeros((3, len(SIZES))), np.zeros((3, len(SIZES)))
    began, draws = time.monotonic(), 0
    while draws < _DRAWS and (draws == 0 or time.monotonic() - began < _PATIENCE):
        shown = preview(plan).tables[table]
        estimate = shown["estimate"].to_numpy()
        for kind, numbers in enumerate((estimate, np.maximum(estimate, 0), shown["count"].to_numpy())):
            off[kind] += np.bincount(size, np.abs(numbers - true), len(SIZES))
            bias[kind] += np.bincount(size, numbers - true, len(SIZES))
        draws += 1
    cells = np.bincount(size, minlength=len(SIZES))
    rows = [
        (SIZES[k], cells[k], kind, off[j, k] / cells[k] / draws, bias[j, k] / cells[k] / draws)
        for k in range(len(SIZES))
        for j, kind in enumerate(("raw estimate", "set to 0 where negative", "consistent count"))
        if cells[k]
    ]
    return pd.DataFrame(rows, columns=["true size of the cell", "cells", "number", "off", "bias"]), draws
