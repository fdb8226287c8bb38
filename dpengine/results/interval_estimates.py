"""Means, sums, quantiles, standard deviations and slopes with their intervals, rounded as they are published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Bools, Columns, Floats, Ints
from dpengine.estimate import amounts
from dpengine.estimate.amounts import AmountTable, SoftEstimates
from dpengine.estimate.associations import associations
from dpengine.estimate.quantiles import fit_quantiles, legacy_quantiles, quantile_intervals
from dpengine.results.published_columns import Measure, decimals_of_association, decimals_of_mean
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.association import Association, unit_of
from dpengine.spec.plan import Plan

__all__ = ["MAX_WIDTH", "IntervalEstimates", "association_intervals", "decimals_of", "interval_estimates", "is_noise"]

MAX_WIDTH = 0.5  # of the range: a wider interval says little about a mean or a quantile


@dataclass(frozen=True, slots=True, eq=False)
class IntervalEstimates:
    """A number in each cell, and the ends of its 95 % interval; `noisy` are the cells where it is mostly noise."""

    value: Floats
    low: Floats
    high: Floats
    noisy: Bools

    @property
    def numbers(self) -> tuple[Floats, Floats, Floats]:
        """The number and both ends."""
        return self.value, self.low, self.high

    @property
    def digits(self) -> int:
        """The number of significant decimals: two digits of a typical width among informative intervals."""
        widths = self.high - self.low
        return decimals_of(float(np.median(widths if self.noisy.all() else widths[~self.noisy])))


def decimals_of(width: float) -> int:
    """Return the number of decimals for an interval of this width: its two leading digits, at most 6 decimals.

    >>> decimals_of(1234.5), decimals_of(0.42), decimals_of(0.0)
    (0, 2, 2)
    """
    return min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2


def is_noise(kind: str, amount: Amount, low: Floats, high: Floats) -> Bools:
    """Return which published intervals of a measure of this kind are mostly noise, from their ends alone.

    Those of sums and of pairs of amounts contain 0; those of means, quantiles and standard deviations are wide for what
    these can be: the amount's range, or half of it.
    """
    if kind in ("mean", "quantile", "standard_deviation"):
        wide = MAX_WIDTH * float(amount.high - amount.low) / (2 if kind == "standard_deviation" else 1)
        return high - low > wide * (1 + 1e-9)  # ends are decimals, whose difference is not exact
    return (low <= 0) & (high >= 0) & (high > low)


def interval_estimates(
    plan: Plan,
    measure: Measure,
    table: AmountTable,
    everybody: AmountTable,
    soft: SoftEstimates,
    chosen: Ints | None = None,
    *,
    legacy: bool = False,
) -> tuple[IntervalEstimates, ...]:
    """Return numbers and intervals for each of the names of `measure` in `table`; `everybody` is the total.

    Quantiles that were `chosen` are places on the amount's grid, by part along the first axis. With `legacy`, quantiles
    that were not are by the rule of earlier releases.
    """
    amount = plan.amount(measure.amount)
    match measure.kind:
        case "mean":
            return (_means(amount, table, everybody, soft, decimals_of_mean(plan, amount.name)),)
        case "sum":
            return (_sums(amount, table, soft),)
        case _quantile:
            fit = legacy_quantiles if legacy else fit_quantiles
            middles = fit(amount, table.columns, table.known, measure.parts, soft) if chosen is None else chosen
            return _quantiles(amount, table, measure, soft, middles)


def association_intervals(
    plan: Plan, table: Columns, association: Association, soft: SoftEstimates
) -> IntervalEstimates:
    """Return a published `association` of amounts in each cell of a table."""
    of, on = plan.amount(association.of), plan.amount(association.on)
    decimals = decimals_of_association(unit_of(association, of, on))
    rounded = (np.round(part, decimals) + 0.0 for part in associations(association, of, on, table, soft))
    middle, low, high = rounded
    return IntervalEstimates(middle, low, high, is_noise(association.kind, of, low, high))


def _means(
    amount: Amount, table: AmountTable, everybody: AmountTable, soft: SoftEstimates, decimals: int
) -> IntervalEstimates:
    low, high = amounts.mean_intervals(amount, table.columns, soft)
    means = amounts.means(table, everybody) / amount.grid.steps
    wide = float(amount.high - amount.low)
    middle, least, most = (
        np.round(float(amount.low) + wide * each, decimals)
        for each in (means, np.minimum(low, means), np.maximum(high, means))
    )
    return IntervalEstimates(middle, least, most, is_noise("mean", amount, least, most))


def _sums(amount: Amount, table: AmountTable, soft: SoftEstimates) -> IntervalEstimates:
    """Return sums. Like counts, they are mostly noise if they cannot be distinguished from 0."""
    decimals, bound, step = amount.grid_decimals, np.float64(amount.low), np.float64(amount.step)
    sums: Floats = np.round(bound * table.known + step * table.steps, decimals)
    middle, half_width = amounts.sum_intervals(amount, table.columns, soft)
    low = np.minimum(np.round(middle - half_width, decimals), sums)
    high = np.maximum(np.round(middle + half_width, decimals), sums)
    return IntervalEstimates(sums, low, high, is_noise("sum", amount, low, high))


def _quantiles(
    amount: Amount, table: AmountTable, measure: Measure, soft: SoftEstimates, middles: Sequence[Ints] | Ints
) -> tuple[IntervalEstimates, ...]:
    """Return quantiles, given as places, with their intervals; they and their ends are on the amount's grid."""
    ends = quantile_intervals(amount, table.columns, measure.parts, soft)
    made = []
    for middle, (low, high) in zip(middles, ends, strict=True):
        least, most = np.minimum(low, middle), np.maximum(high, middle)
        value, bottom, top = (
            np.round(float(amount.low) + float(amount.step) * each, amount.grid_decimals)
            for each in (middle, least, most)
        )
        made.append(IntervalEstimates(value, bottom, top, is_noise("quantile", amount, bottom, top)))
    return tuple(made)
