"""Check the intervals of a model's tables.

Those of the total and of single columns follow from the noise of what was measured. Those of larger tables are
estimate ± half-width: whole, at least 0, and moved to the published count if that would be outside. So each interval
bounds the half-width of its cell, which follows from nothing else in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.table_errors import table_errors
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.sums import as_if_measured, column_as_measured, grand_total
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["half_width", "wrong_estimates", "wrong_intervals"]

SLACK = 2e-3  # estimates of a model have 3 decimals
STATED = 0.95  # the part of the cells that a table's half-width holds for


def wrong_intervals(count: Ints, estimate: Floats, low: Ints, high: Ints, half_width: float | None) -> Iterator[str]:
    """Yield what is wrong with intervals that lie around their estimates; `half_width` is None if it is not known.

    The order statistic of the bounds bounds that of the half-widths.
    """
    if estimate.ndim and (estimate < 0).any():  # the total is unbiased
        yield _("an estimate is negative")
    least = np.maximum(np.where(low < count, estimate - low, 0), np.where(high > count, high - estimate, 0))
    most = np.minimum(np.where(low > 0, estimate - low + 1, np.inf), high + 1 - estimate)
    if (least > most + SLACK).any():
        yield _("an interval does not lie around its estimate")
    elif half_width is not None and not _at(least) - SLACK <= half_width <= _at(most) + SLACK:
        yield _("intervals are not as wide as half_width_95 says")


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
    marginals = [Measurement(allocation, np.broadcast_to(np.int64(0), shape)) for allocation, shape in measured]
    others = [one for one in marginals if not {*table} & {*one.allocation.columns}]
    try:
        combined = [column_as_measured(name, plan.column(name).size, marginals) for name in table]
    except KeyError:
        return None
    combined += [as_if_measured((), *grand_total(others))] if others else []
    return table_errors(plan, [one.allocation for one in combined])(table).half_width() if combined else None
