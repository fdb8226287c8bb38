"""The tables of a release file against each other and against its rows, one table at a time.

Only what tables share with each other is kept: their totals, columns and pairs of columns. So a bundle of hundreds of
large tables is checked in the memory of one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import safe_csv
from dpengine.array_types import Columns
from dpengine.marginals.least_squares import marginalise
from dpengine.results.result import NUMBERS, published_name
from dpengine.spec.plan import Plan
from dpengine.synthesis import cell_values

__all__ = ["Tally"]

ESTIMATE_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one table file, each with one axis a column."""

    file: str
    count: npt.NDArray[np.int64]
    estimate: npt.NDArray[np.float64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]


class Tally:
    """What is known so far of a bundle's tables; ``estimates`` says whether these must agree too, beside the counts."""

    def __init__(self, plan: Plan, *, estimates: bool) -> None:
        self._plan = plan
        self._estimates = estimates
        self._first: dict[Columns, tuple[str, npt.NDArray[np.int64], npt.NDArray[np.float64], int]] = {}
        self._rows: dict[str, npt.NDArray[np.int64]] = {}

    def rows(self, payload: bytes) -> list[str]:
        """Take the synthetic rows to count by: to be given before any table. Returns the faults found."""
        plan = self._plan
        try:
            columns = safe_csv.read(payload, plan.used)
        except ValueError as error:
            return [f"synthetic.csv {error}"]
        rows = {
            name: cell_values.cells(plan.column(name), column) for name, column in zip(plan.used, columns, strict=True)
        }
        strangers = [name for name, codes in rows.items() if (codes < 0).any()]
        if strangers:
            return [f"synthetic.csv: the column {name} holds a text that is no declared cell" for name in strangers]
        self._rows = rows
        return []

    def table(self, payload: bytes, file: str, table: Columns, reach: float | None) -> list[str]:
        """The faults of one table; small ones come first. ``reach`` is the half-width, where all cells have one."""
        try:
            numbers = _numbers(payload, file, table, self._plan)
        except ValueError as error:
            return [f"{file} {error}"]
        faults = [f"{file}: {fault}" for fault in _odd_numbers(numbers, reach)]
        faults += self._disagreements(numbers, table)
        if self._rows and not np.array_equal(_count(self._rows, table, self._plan), numbers.count):
            faults.append(f"{file} is not what synthetic.csv gives when counted")
        return faults

    def _disagreements(self, numbers: Numbers, table: Columns) -> list[str]:
        """Totals, columns and pairs of columns of which an earlier table said something else."""
        faults = []
        for size in range(min(len(table), 2) + 1):
            for shared in combinations(sorted(table), size):
                count = marginalise(numbers.count, table, shared)
                estimate = marginalise(numbers.estimate, table, shared)
                cells = numbers.count.size
                if shared not in self._first:
                    self._first[shared] = (numbers.file, count, estimate, cells)
                    continue
                file, other_count, other_estimate, other_cells = self._first[shared]
                what = f"of {' × '.join(shared)}" if shared else "in all"
                if not np.array_equal(count, other_count):
                    faults.append(f"{numbers.file} and {file} disagree on the counts {what}")
                tolerance = ESTIMATE_ROUNDING * (cells + other_cells)
                if self._estimates and not np.allclose(estimate, other_estimate, rtol=1e-9, atol=tolerance):
                    faults.append(f"{numbers.file} and {file} disagree on the estimates {what}")
        return faults


def _numbers(payload: bytes, file: str, table: Columns, plan: Plan) -> Numbers:
    """The numbers of a table whose labels are the declared cross-product in declared order."""
    *texts, count, estimate, low, high = safe_csv.read(payload, [*map(published_name, table), *NUMBERS])
    if len(count) != plan.cells(table):
        raise ValueError(f"has {len(count)} rows, not one for each of {plan.cells(table)} cells")
    shape = plan.shape(table)
    places = np.unravel_index(np.arange(len(count)), shape) if table else ()
    for name, column, place in zip(table, texts, places, strict=True):
        wrong = safe_csv.codes(column, plan.column(name).labels) != place
        if wrong.any():
            row = int(np.argmax(wrong)) + 2
            raise ValueError(f"line {row}, column {name}: this is not the cell declared for this place")
    try:
        whole = [safe_csv.values(column, pa.int64()).reshape(shape) for column in (count, low, high)]
    except ValueError:
        raise ValueError("has a count, low or high that is not a whole number") from None
    try:
        fractional = safe_csv.values(estimate, pa.float64()).reshape(shape)
    except ValueError:
        raise ValueError("has an estimate that is not a number") from None
    return Numbers(file, whole[0], fractional, whole[1], whole[2])


def _odd_numbers(numbers: Numbers, reach: float | None) -> list[str]:
    """Faults of the numbers by themselves, and of intervals that do not follow from the estimates."""
    faults = []
    if (numbers.count < 0).any():
        faults.append("a count is negative")
    if not ((numbers.low <= numbers.count) & (numbers.count <= numbers.high)).all():
        faults.append("a count lies outside its interval")
    if not np.isfinite(numbers.estimate).all():
        faults.append("an estimate is not finite")
    elif reach is not None:
        # Estimates are rounded in the file, so a bound may have been rounded from either side.
        narrow_low, narrow_high = _interval(numbers, reach)
        wide_low, wide_high = _interval(numbers, reach + 2 * ESTIMATE_ROUNDING)
        low = (wide_low <= numbers.low) & (numbers.low <= narrow_low)
        high = (narrow_high <= numbers.high) & (numbers.high <= wide_high)
        if not (low & high).all():
            faults.append("an interval is not the estimate ± half_width_95")
    return faults


def _interval(numbers: Numbers, reach: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Bounds for the true count, as a release gives them: whole, not negative, around the published count."""
    low = np.minimum(np.maximum(np.ceil(numbers.estimate - reach), 0), numbers.count)
    return low, np.maximum(np.floor(numbers.estimate + reach), numbers.count)


def _count(rows: Mapping[str, npt.NDArray[np.int64]], table: Sequence[str], plan: Plan) -> npt.NDArray[np.int64]:
    if not table:
        return np.array(len(rows[plan.used[0]]))
    shape = plan.shape(tuple(table))
    cell = np.ravel_multi_index([rows[name] for name in table], shape)
    counted: npt.NDArray[np.int64] = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    return counted
