"""Predict errors of a plan with another ε, allocation of ε or strategy: functions of the plan, without data."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Floats, Ints
from dpengine.errors import PlanError
from dpengine.estimate.table_errors import table_error
from dpengine.marginals.measurement import Allocation
from dpengine.measure.allocation import allocate
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.strategy_base import Strategy
from dpengine.results.mock_table import ASSUMED_ROWS, listed_cells, mock_counts, mock_rows
from dpengine.results.predict import errors_of, measure_half_widths, predict_by_trials
from dpengine.results.preview import preview
from dpengine.results.result import EXACT
from dpengine.spec.declared import changed
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.spec.plan import Plan
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import mark

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ALL_CELLS", "SIZES", "STRATEGIES", "MockCells", "allocations_of", "compare_allocations", "compare_strategies",
    "epsilon_by_trials", "mostly_noise_shares", "predict_table", "rows_beyond_noise", "simulate_errors",
]  # fmt: skip

STRATEGIES = ("direct", "optimised", "adaptive")
ALL_CELLS = mark("all cells, on average")
COMPARED_TRIALS = 1  # the error of a mean over tables from one trial
SEARCH_TRIALS = 2
SIZES = (mark("empty"), mark("1 to 9"), mark("10 to 99"), mark("100 to 999"), mark("1,000 and more"))
_SIZE_BOUNDS = (1, 10, 100, 1000)
PER_DECADE = 40  # steps of the sizes of tables
SIMULATED_FOR = 2.5  # seconds


def allocations_of(plan: Plan) -> tuple[Allocation, ...]:
    """Return the measured marginals with their shares of ε; not for *adaptive*.

    *auto* means *direct* here, even if it would decide differently at this ε.
    """
    return _measured_directly(plan).allocations


def _measured_directly(plan: Plan) -> Strategy:
    """Return the strategy that measures the tables of `plan`, where *auto* may make coarser levels sums."""
    if plan.strategy == "auto" and plan.resolution.levels:
        return resolved(changed(plan, coarser_levels=decide(plan).plan.coarser_levels))
    return resolved(plan)


def predict_table(plan: Plan, table: Columns) -> pd.DataFrame:
    """Return the row of `predict` for `table` and the plan's ε, without predicting the other tables.

    It follows from `allocations_of(plan)`.
    """
    import pandas as pd

    strategy = _measured_directly(plan)
    errors = errors_of(strategy)
    cell, total = errors(table), errors(())
    row = {
        "epsilon": float(plan.epsilon), "mean_abs_error": cell.mean_abs, "half_width_95": cell.half_width(),
        "total_half_width_95": total.half_width(),
    }  # fmt: skip
    row |= {f"{name}_half_width_95": width for name, width in measure_half_widths(strategy, table).items()}
    return pd.DataFrame([row])


@dataclass(frozen=True, slots=True)
class MockCells:
    """Cell sizes of a mock table: its distinct counts, ascending, and the share of cells up to each.

    Only cells of listed values count: if nearly all of *(other)* and *(missing)* is empty, that is as it should be.
    """

    sizes: Ints
    cumulative: Floats
    cells: int

    @classmethod
    def of(cls, plan: Plan, table: Columns) -> MockCells:
        """Count the cells of the mock `table` by size: the same for every ε."""
        sizes, cells = np.unique(mock_counts(plan, table)[listed_cells(plan, table)], return_counts=True)
        return cls(sizes, np.cumsum(cells) / cells.sum(), int(cells.sum()))

    def mostly_noise(self, half_widths: npt.ArrayLike) -> Floats:
        """Return for each half-width the share of cells that are no larger than it."""
        widths = np.asarray(half_widths, dtype=np.float64)
        shares = np.append(0.0, self.cumulative)[np.searchsorted(self.sizes, widths, side="right")]
        return np.where(widths >= EXACT, shares, 0.0)


def mostly_noise_shares(
    plan: Plan, tables: Sequence[Columns], cache: dict[Columns, MockCells] | None = None
) -> dict[Columns, float]:
    """Return for each of `tables` the share of the mock table's cells that would be mostly noise; not for adaptive.

    *(other)* and *(missing)* are left aside (`MockCells`). `cache` keeps the cells of the plan at any ε; new ones are
    added.
    """
    cache = {} if cache is None else cache
    error = errors_of(_measured_directly(plan))
    for table in tables:
        if table not in cache:
            cache[table] = MockCells.of(plan, table)
    return {table: float(cache[table].mostly_noise(error(table).half_width())) for table in tables}


def rows_beyond_noise(plan: Plan, tables: Sequence[Columns], cache: dict[Columns, Ints] | None = None) -> int | None:
    """Return the least number of rows, to one digit, at which at most half of the cells are mostly noise; not adaptive.

    The rows are spread over the cells as in the mock table, *(other)* and *(missing)* left aside. Returns None if noise
    hardly matters at any size. `cache` keeps how they are spread, which is the same at every ε; new tables are added.

    >>> smokes = {"name": "smokes", "kind": "yesno", "other": False, "missing": False}
    >>> plan = Plan(dataset="demo", epsilon="0.1", columns=[smokes], tables=[["smokes"]])
    >>> rows_beyond_noise(plan, plan.marginals)
    60
    """
    cache = {} if cache is None else cache
    error = errors_of(_measured_directly(plan))
    cells = np.zeros(12 * PER_DECADE + 1)  # by the number of rows from which on they exceed their noise
    for table in tables:
        if table not in cache:
            cache[table] = _cells_by_rows_for_one(plan, table)
        width = error(table).half_width()
        shift = round(PER_DECADE * math.log10(width)) if width >= EXACT else -len(cells)
        np.add.at(cells, np.clip(np.arange(len(cache[table])) + shift, 0, len(cells) - 1), cache[table])
    place = int(np.searchsorted(np.cumsum(cells), cells.sum() / 2))
    return int(float(f"{10 ** (place / PER_DECADE):.1g}")) if 0 < place < len(cells) - 1 else None


def _cells_by_rows_for_one(plan: Plan, table: Columns) -> Ints:
    """Count cells of the mock `table` by the logarithm of the number of rows of which they have one."""
    rough_size = plan.tally_of(table).plan.rows_about or ASSUMED_ROWS
    rows = mock_rows(plan, table)[listed_cells(plan, table)]
    decades = np.log10(rough_size / np.maximum(rows.ravel(), 1e-12))
    return np.bincount(np.maximum(0, np.rint(PER_DECADE * decades)).astype(np.int64))


def compare_allocations(plan: Plan) -> pd.DataFrame:
    """Compare 95 % half-widths of three ways to spend ε: as planned, evenly, and on one table of all columns.

    The first row is the mean over all published cells; then comes one row a table. A table of all columns that is too
    large to draw has no half-width (NaN).
    """
    import pandas as pd

    columns = tuple(sorted({*plan.resolution.finest_columns(plan.released)}))
    even = plan.epsilon_for_tables / len(plan.marginals)
    own_levels = changed(plan, coarser_levels=None)
    planned, joint = allocations_of(plan), (allocate(plan, columns, plan.epsilon_for_tables),)
    widths = []
    for table in plan.marginals:
        alone = (allocate(plan, tuple(sorted(table)), even),)
        row = [table_error(plan, planned, table).half_width(), table_error(own_levels, alone, table).half_width()]
        fits = plan.cells(columns) <= MAX_TABLE_CELLS and not plan.has_distinct
        widths.append([*row, table_error(plan, joint, table).half_width() if fits else math.nan])
    cells = np.array([plan.cells(table) for table in plan.marginals], dtype=np.float64)
    mean = cells @ np.array(widths) / cells.sum()
    frame = pd.DataFrame([mean, *widths], columns=["this plan", "ε split evenly", "one table of all columns"])
    frame.insert(0, "table", [ALL_CELLS, *map(name_of, plan.marginals)])
    return frame


def compare_strategies(
    plan: Plan, epsilons: Sequence[object], progress: Callable[[str], None] = lambda stage: None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Compare the strategies of `STRATEGIES` over `epsilons`, one row an ε and one column a strategy after `epsilon`.

    A number is the mean over tables of the sum of absolute errors, as a fraction of all rows: predicted exactly for
    *direct* and *optimised*, simulated on the mock table for *adaptive*. A strategy that is impossible for this plan is
    left out, and its fault is returned by its name; if it is impossible only at some ε, the number there is NaN.
    `progress` receives the name of each stage.
    """
    import pandas as pd

    rows = plan.rows_about or ASSUMED_ROWS
    columns: dict[str, list[float]] = {"epsilon": [float(plan.at(epsilon).epsilon) for epsilon in epsilons]}
    faults: dict[str, str] = {}
    for name in STRATEGIES:
        errors = []
        for epsilon in epsilons:
            progress(f"{name.capitalize()} at ε = {epsilon}")
            try:
                summed = decide(plan).plan.coarser_levels
                variant = changed(plan, strategy=name, coarser_levels=summed).at(epsilon)
                decide(variant).check()
                frame = predict_by_trials(variant, COMPARED_TRIALS)
            except PlanError as error:
                faults[name] = " ".join(map(str, error.faults))
                errors.append(math.nan)
                continue
            frame = frame[frame["table"] != "total"]
            errors.append(float((frame["mean_abs_error"] * frame["cells"]).mean() / rows))
        if not all(map(math.isnan, errors)):
            columns[name] = errors
            faults.pop(name, None)
    return pd.DataFrame(columns), faults


def epsilon_by_trials(
    plan: Plan, half_width: float, epsilons: Sequence[Fraction], before_each: Callable[[], None] = lambda: None
) -> Fraction | None:
    """Return the smallest of increasing `epsilons` at which 95 % of each table's cells were within ±`half_width`.

    It serves adaptive plans, whose errors can only be simulated: a binary search makes a few trials on the mock table
    at each ε that it tries. Returns None if no ε is enough. `before_each` is called before each trial; if it raises,
    this ends.
    """

    def is_enough(epsilon: Fraction) -> bool:
        frame = predict_by_trials(plan.at(epsilon), SEARCH_TRIALS, before_each)
        return bool((frame.loc[frame["table"] != "total", "half_width_95"] <= half_width).all())

    first = bisect.bisect_left(epsilons, True, key=is_enough)
    return epsilons[first] if first < len(epsilons) else None


def simulate_errors(plan: Plan, table: Columns, *, max_draws: int = 200) -> tuple[pd.DataFrame, int]:
    """Simulate the errors of `table` by true size of the cell, over previews of the mock table.

    Previews are drawn for `SIMULATED_FOR` seconds, at least one and up to `max_draws`. Returns a frame and the number
    of previews. The frame has one row for each of `SIZES` that occurs and each kind of number: the raw `estimate`, the
    same set to 0 where it is negative, and the consistent `count`. `off` is the mean absolute error, `bias` the mean
    error.
    """
    import pandas as pd

    true = mock_counts(plan, table).ravel()
    size = np.digitize(true, _SIZE_BOUNDS)
    cells = np.bincount(size, minlength=len(SIZES))
    kinds = ("raw estimate", "set to 0 where negative", "consistent count")
    errors, bias = np.zeros((len(kinds), len(SIZES))), np.zeros((len(kinds), len(SIZES)))
    start, draws = time.monotonic(), 0
    while draws < max_draws and (draws == 0 or time.monotonic() - start < SIMULATED_FOR):
        drawn = preview(plan).tables[table]
        estimate = drawn["estimate"].to_numpy()
        for kind, numbers in enumerate((estimate, np.maximum(estimate, 0), drawn["count"].to_numpy())):
            errors[kind] += np.bincount(size, np.abs(numbers - true), len(SIZES))
            bias[kind] += np.bincount(size, numbers - true, len(SIZES))
        draws += 1
    rows = [
        (SIZES[k], cells[k], kind, errors[j, k] / cells[k] / draws, bias[j, k] / cells[k] / draws)
        for k in range(len(SIZES))
        for j, kind in enumerate(kinds)
        if cells[k]
    ]
    return pd.DataFrame(rows, columns=["true size of the cell", "cells", "number", "off", "bias"]), draws
