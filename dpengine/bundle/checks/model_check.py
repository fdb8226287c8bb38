"""Check the intervals of a model's tables.

Those of the total and of single columns follow from the noise of what was measured. Those of larger tables are
estimate ± half-width: whole, at least 0, and moved to the published count if that would be outside. So each interval
bounds the half-width of its cell. It lies between what the noise of its columns and the stated error give, and what
they give if as little of this error is believed as may be (`estimate.model_intervals`). That error follows from an
audit that the file does not hold, but it is at least the noise of the audit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.model_intervals import (
    min_believed_error,
    min_factor,
    min_half_widths,
    model_half_widths,
    shape_of,
)
from dpengine.estimate.table_errors import table_errors
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.plan_levels import group_sizes
from dpengine.marginals.sums import as_if_measured, column_as_measured, grand_total
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["OWN_NOISE_SINCE", "ModelBounds", "StatedError", "half_width", "wrong_estimates", "wrong_intervals"]

# In files of earlier versions, half-widths of a measured table of three columns or more are those of a model.
OWN_NOISE_SINCE = 8
ROUNDING = 5e-4  # rounding error of a model's estimates, which have 3 decimals; the total was fitted before rounding
SLACK = 4 * ROUNDING
NEARLY = 0.99  # tolerated ratio of numbers that follow from estimates before rounding
STATED = 0.95  # the part of the cells that a table's half-width holds for


@dataclass(frozen=True)
class StatedError:
    """The stated error of a model, as factor and power, and the noise in all sums of its audit together, in rows."""

    error: tuple[float, float]
    noise: float


class ModelBounds:
    """The least and the greatest half-widths of a model's tables, and the least error that may be stated for it.

    They follow from the marginals that it was fitted to, each with its shape, and from the error that is `stated`;
    without it, nothing bounds half-widths from above. Half-widths of tables that were measured follow from their own
    noise; in earlier versions, those of `pairs_alone`.
    """

    def __init__(
        self,
        plan: Plan,
        measured: Sequence[tuple[Allocation, Sequence[int]]],
        stated: StatedError | None = None,
        *,
        pairs_alone: bool = False,
    ) -> None:
        marginals = [_of_zeros(*each) for each in measured]
        self._deviation = math.sqrt(2 / grand_total(marginals)[1])
        self._scales = {
            name: float(column_as_measured(name, plan.column(name).size, marginals).allocation.scale)
            for name in plan.finest.counted
        }
        self._own = {
            frozenset(each.columns): float(each.scale)
            for each, shape in measured
            if tuple(shape) == plan.shape(each.columns) and 1 < len(each.columns) <= (2 if pairs_alone else math.inf)
        }  # fmt: skip
        self._stated, self._epsilon_of_row = stated, float(plan.epsilon_for_tables) / plan.unit.rows
        self._plan, self._shape = plan, 0.0

    def half_widths(self, table: Columns, estimate: Floats) -> tuple[Floats, Floats | None]:
        """Return the least and the greatest half-width of each cell, given the published estimates."""
        rounded, wide = ROUNDING * estimate.size, float(estimate.sum()) + 3 * self._deviation
        scales, own = self._of_noise(table)
        if self._stated is None:
            return min_half_widths(estimate, scales, own, wide - rounded), None
        error = self._stated.error
        believed = min_believed_error(error, wide, self._epsilon_of_row)
        least = min_half_widths(estimate, scales, own, wide - rounded, (NEARLY * believed[0], believed[1]))
        most = model_half_widths(estimate, scales, error, own, wide + rounded)
        return least, most / NEARLY

    def _of_noise(self, table: Columns) -> tuple[list[float | Floats], float | Floats | None]:
        """Return the scales of the noise of each column of a table, and of the table if it was measured itself."""
        finest = self._plan.resolution.finest_columns(table)
        own = self._own.get(frozenset(finest))
        if finest == table:
            return [self._scales[name] for name in table], own
        roots = [np.sqrt(each) for each in np.meshgrid(*group_sizes(self._plan, table), indexing="ij", sparse=True)]
        scales: list[float | Floats] = [self._scales[name] * root for name, root in zip(finest, roots, strict=True)]
        return scales, None if own is None else own * math.prod(roots)

    def add(self, table: Columns, estimate: Floats) -> None:
        """Take the estimates of a table of two or more columns, which may have been audited at its finest levels.

        Cells that add up to m have at most (number of cells)^(1 − power) times the error of one cell of m.
        """
        if self._stated is not None:
            power = self._stated.error[1]
            most = math.prod(int(sizes.max()) for sizes in group_sizes(self._plan, table))
            self._shape += most ** (1 - power) * shape_of(estimate + ROUNDING, power)

    def wrong_error(self) -> Iterator[str]:
        """Yield what is wrong with the stated error, after all tables were added."""
        if self._stated is None:
            return
        factor, power = self._stated.error
        if factor < NEARLY * min_factor(self._shape, power, self._stated.noise):
            yield "manifest.json: the factor of model_error is smaller than the noise of the audit allows"


def wrong_intervals(
    count: Ints,
    estimate: Floats,
    low: Ints,
    high: Ints,
    half_width: float | None,
    narrowest: Floats | None = None,
    widest: Floats | None = None,
) -> Iterator[str]:
    """Yield what is wrong with intervals that lie around their estimates.

    `half_width`, and the `narrowest` and the `widest` half-widths of cells, are None if they are not known. A bound
    on each cell also bounds the half-width that holds for `STATED` of the cells.
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
    if widest is not None and (least > widest + SLACK).any():
        yield _("an interval is wider than model_error says")


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
    marginals, finest = [_of_zeros(*each) for each in measured], plan.resolution.finest_columns(table)
    others = [one for one in marginals if not {*finest} & {*one.allocation.columns}]
    try:
        combined = [column_as_measured(name, plan.column(name).size, marginals) for name in finest]
    except KeyError:
        return None
    combined += [as_if_measured((), *grand_total(others))] if others else []
    return table_errors(plan, [one.allocation for one in combined])(table).half_width() if combined else None


def _of_zeros(allocation: Allocation, shape: Sequence[int]) -> Measurement:
    return Measurement(allocation, np.broadcast_to(np.int64(0), tuple(shape)))
