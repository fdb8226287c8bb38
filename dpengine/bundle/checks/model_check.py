"""Check the intervals of a model's tables.

Those of the total and of single columns follow from the noise of what was measured. Those of larger tables are
estimate ± half-width: whole, at least 0, and moved to the published count if that would be outside. So each interval
bounds the half-width of its cell. This is at least what the noise of its columns alone gives
(`estimate.model_intervals`). What the error of the model adds follows from an audit that the file does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.model_intervals import least_half_widths
from dpengine.estimate.table_errors import table_errors
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.sums import as_if_measured, column_as_measured, grand_total
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["ModelBounds", "half_width", "wrong_estimates", "wrong_intervals"]

ROUNDING = 5e-4  # of an estimate of a model, which has 3 decimals: the fitted total is that of what is not rounded
SLACK = 4 * ROUNDING
STATED = 0.95  # the part of the cells that a table's half-width holds for


class ModelBounds:
    """The least half-widths of a model's tables, from the marginals that it was fitted to, each with its shape."""

    def __init__(self, plan: Plan, measured: Sequence[tuple[Allocation, Sequence[int]]]) -> None:
        marginals = [_of_zeros(*each) for each in measured]
        self._deviation = math.sqrt(2 / grand_total(marginals)[1])
        self._scales = {
            name: float(column_as_measured(name, plan.column(name).size, marginals).allocation.scale)
            for name in plan.counted
        }
        self._own = {
            frozenset(each.columns): float(each.scale)
            for each, shape in measured if tuple(shape) == plan.shape(each.columns)
        }  # fmt: skip

    def half_widths(self, table: Columns, estimate: Floats) -> Floats:
        """Return the least half-width of each cell, given the published estimates."""
        people = float(estimate.sum()) - ROUNDING * estimate.size + 3 * self._deviation
        own = self._own.get(frozenset(table)) if len(table) == 2 else None
        return least_half_widths(estimate, [self._scales[name] for name in table], own, people)


def wrong_intervals(
    count: Ints, estimate: Floats, low: Ints, high: Ints, half_width: float | None, narrowest: Floats | None = None
) -> Iterator[str]:
    """Yield what is wrong with intervals that lie around their estimates.

    `half_width` and the `narrowest` half-widths of cells are None if they are not known. The order statistic of the
    bounds bounds that of the half-widths.
    """
    if estimate.ndim and (estimate < 0).any():  # the total is unbiased
        yield _("an estimate is negative")
    least = np.maximum(np.where(low < count, estimate - low, 0), np.where(high > count, high - estimate, 0))
    most = np.minimum(np.where(low > 0, estimate - low + 1, np.inf), high + 1 - estimate)
    if (least > most + SLACK).any():
        yield _("an interval does not lie around its estimate")
    elif half_width is not None and not _at(least) - SLACK <= half_width <= _at(most) + SLACK:
        yield _("intervals are not as wide as half_width_95 says")
    if narrowest is not None and (most < narrowest - SLACK).any():
        yield _("an interval is narrower than the noise of its columns")


def wrong_estimates(estimate: Floats, low: Ints, high: Ints) -> Iterator[str]:
    """Yield what is wrong with the estimates of a table that was measured in boxes.

    They are not negative. Intervals are of unbiased numbers, from which such estimates may differ, but not by more than
    intervals are wide.
    """
    if (estimate < 0).any():
        yield _("an estimate is negative")
    width = high - low + 2
    if ((estimate < low - width) | (estimate > high + width)).any():
        yield _("an estimate lies far outside its interval")


def _at(half_widths: Floats) -> float:
    """Return the least of them that 95 in 100 do not exceed (`estimate.model_intervals.of_95_in_100`)."""
    return float(np.sort(half_widths, axis=None)[math.ceil(STATED * (half_widths.size - 1))])


def half_width(plan: Plan, table: Columns, measured: Sequence[tuple[Allocation, Sequence[int]]]) -> float | None:
    """Return the half-width of the total or of a column of a model; None if no marginal gives it.

    `measured` are the marginals that the model was fitted to, each with its shape. As in
    `estimate.estimates.ModelledEstimates`, their noise is combined, and nothing depends on the noisy counts.
    """
    marginals = [_of_zeros(*each) for each in measured]
    others = [one for one in marginals if not {*table} & {*one.allocation.columns}]
    try:
        combined = [column_as_measured(name, plan.column(name).size, marginals) for name in table]
    except KeyError:
        return None
    combined += [as_if_measured((), *grand_total(others))] if others else []
    return table_errors(plan, [one.allocation for one in combined])(table).half_width() if combined else None


def _of_zeros(allocation: Allocation, shape: Sequence[int]) -> Measurement:
    return Measurement(allocation, np.broadcast_to(np.int64(0), tuple(shape)))
