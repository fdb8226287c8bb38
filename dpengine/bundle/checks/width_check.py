"""Check the width and position of the intervals of sums and means, as far as measurements determine them.

The interval of a sum is an unbiased estimate ± the half-width of its noise, wider only where it would not hold the
published sum. The interval of a mean holds every μ with |S − μ·N| ≤ h(μ), where N are the people of a cell and S their
sum, as measured (`estimate.amounts`). At both ends within the range the two sides are equal, so N·(high − low) =
h(low) + h(high). The file does not hold S. It holds N, the estimated count, where each row has a value; else only the
number of people with one as published. That is about as far from N as their noise, and as the published count is from
the estimated one: counts of larger tables in a ring follow their pairs, and may be far from their own estimates.

S is the middle of the interval of a sum, and it is low·N + h(low) and high·N − h(high) of a mean. So these are the same
in one table, and they add up to the same in all tables, which are estimated by the same least squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.bundle.checks.amount_check import columns_and_pairs
from dpengine.estimate.amounts import mean_reach, sum_half_width
from dpengine.estimate.error_distribution import least_squares, noise_along
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation
from dpengine.results.published_columns import decimals_of_mean
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan

__all__ = ["AmountWidths"]

OF_SUMS = 0.02  # relative difference of a width that other versions may compute
OF_MEANS = 0.1  # h is known at some means only, and jumps between them (`estimate.amounts.ANCHORS`)
OF_PEOPLE = 3  # 95 % half-widths of the noise in a number of people, within which it is published
WHOLE = 1  # people by which rounding to whole numbers with the same sums may move that number


class AmountWidths:
    """The expected widths of intervals, from the `allocations` of all measurements that estimates of amounts use.

    With `counts`, estimated counts use the same. `allocations` are empty if nothing is known of them.
    """

    def __init__(self, plan: Plan, allocations: Sequence[Allocation], *, counts: bool) -> None:
        self._plan, self._allocations, self._counts = plan, tuple(allocations), counts
        self._first: dict[tuple[str, Columns], tuple[Floats, Floats]] = {}

    @cached_property
    def _squares(self) -> LeastSquares:
        return least_squares(self._plan, self._allocations)

    def noise_along(self, table: Columns, coefficients: Sequence[float]) -> tuple[float, float]:
        """Return the variance of Σ coefficient · estimate over the last column's cells, and its 95 % half-width."""
        return noise_along(self._squares, self._allocations, table, coefficients)

    def faults(
        self, table: Columns, count: Floats | Ints, estimate: Floats, numbers: Mapping[str, Floats]
    ) -> Iterator[str]:
        """Yield what is wrong with the intervals of a table, whose numbers are given by the names of their columns."""
        for name in self._plan.amounts(table):
            if not any({*table, name} <= {*each.columns} for each in self._allocations):
                continue
            for kind in ("sum", "mean") if self._counts else ("sum",):
                if f"{kind}_{name}" not in numbers:
                    continue
                fits, sums = self._compared(kind, self._plan.amount(name), table, count, estimate, numbers)
                if not fits:
                    yield f"intervals of {kind}_{name} are not as wide as its noise"
                elif sums is not None and not self._plan.resolution.levels and not self._agree(name, table, *sums):
                    yield f"intervals of {kind}_{name} have other middles than those of other tables"

    def _compared(
        self,
        kind: str,
        amount: Amount,
        table: Columns,
        count: Floats | Ints,
        estimate: Floats,
        numbers: Mapping[str, Floats],
    ) -> tuple[bool, tuple[Floats, Floats] | None]:
        """Return whether intervals have the width of their noise, and the sums in their middle, as far as known."""
        spans = [numbers[f"{kind}_{amount.name}{end}"] for end in ("_low", "", "_high")]
        if kind == "sum":
            return self._sum_fits(amount, table, *spans), _sums_of_sums(amount, *spans)
        if amount.missing:
            known, moved = numbers[f"known_{amount.name}"], np.abs(count - estimate)
            return self._mean_of_known_fits(amount, table, known, moved, *spans), None
        fits = self._mean_fits(amount, table, estimate, estimate, *spans)
        return fits, self._sums_of_means(amount, table, estimate, *spans)

    def _agree(self, name: str, table: Columns, sums: Floats, tolerance: Floats) -> bool:
        """Return whether sums around which intervals lie agree with earlier ones up to `tolerance`; NaN is unknown."""
        agree = True
        for shared in columns_and_pairs(table):
            here, tolerance_here = (Marginal(table, each).project(shared).values for each in (sums, tolerance))
            before, tolerance_before = self._first.setdefault((name, shared), (here, tolerance_here))
            agree &= not (np.abs(here - before) > tolerance_here + tolerance_before).any()
            if np.isnan(before).sum() > np.isnan(here).sum():
                self._first[name, shared] = here, tolerance_here
        return agree

    def _sums_of_means(
        self, amount: Amount, table: Columns, people: Floats, low: Floats, middle: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Return the sums in the middle of intervals of means, and their tolerance; NaN where unknown."""
        start, wide = float(amount.low), float(amount.high - amount.low)
        rounding, reach = 10.0 ** -decimals_of_mean(self._plan, amount.name) / wide, mean_reach(amount, table, self)
        scaled_low, scaled_high = (low - start) / wide, (high - start) / wide
        from_low = (people > 0) & (low < middle) & (scaled_low > rounding)
        from_high = (people > 0) & (middle < high) & (scaled_high < 1 - rounding)
        below, above = scaled_low * people + reach(scaled_low), scaled_high * people - reach(scaled_high)
        sums = np.where(from_low & from_high, (below + above) / 2, np.where(from_low, below, above))
        sums = np.where(from_low | from_high, sums, np.nan)
        tolerance = OF_MEANS * (reach(scaled_low) + reach(scaled_high)) / 2 + 2 * rounding * np.abs(people)
        return start * people + wide * sums, wide * tolerance

    def _mean_of_known_fits(
        self, amount: Amount, table: Columns, known: Floats, moved: Floats, low: Floats, middle: Floats, high: Floats
    ) -> bool:
        """Return whether intervals of means are as wide as their noise for a number of people near the `known` ones.

        Published counts are `moved` so far from their estimates.
        """
        coefficients = [*[1.0] * len(amount.knot_fractions), 0.0]
        tolerance = OF_PEOPLE * self.noise_along((*table, amount.name), coefficients)[1] + WHOLE + moved
        return self._mean_fits(amount, table, np.maximum(known - tolerance, 0), known + tolerance, low, middle, high)

    def _sum_fits(self, amount: Amount, table: Columns, low: Floats, middle: Floats, high: Floats) -> bool:
        expected, width = 2 * sum_half_width(amount, table, self), high - low
        slack = OF_SUMS * expected + 10.0**-amount.grid_decimals
        moved = (low == middle) | (middle == high)
        return not ((width < expected - slack) | (~moved & (width > expected + slack))).any()

    def _mean_fits(
        self, amount: Amount, table: Columns, fewest: Floats, people: Floats, low: Floats, middle: Floats, high: Floats
    ) -> bool:
        """Return whether intervals of means are as wide as their noise, for a number from `fewest` to `people`."""
        start, wide = float(amount.low), float(amount.high - amount.low)
        rounding = 10.0 ** -decimals_of_mean(self._plan, amount.name) / wide
        scaled_low, scaled_high = (low - start) / wide, (high - start) / wide
        reach = mean_reach(amount, table, self)
        expected, width = reach(scaled_low) + reach(scaled_high), np.abs(people) * (scaled_high - scaled_low)
        at_least = np.abs(fewest) * (scaled_high - scaled_low)
        slack = OF_MEANS * expected + 2 * rounding * np.abs(people)
        from_end, to_end = scaled_low <= rounding, scaled_high >= 1 - rounding
        narrow = (people > 0) & ~from_end & ~to_end & (width < expected - slack)
        moved = (low == middle) | (middle == high) | (from_end & to_end)
        return not (narrow | (~moved & (at_least > expected + slack))).any()


def _sums_of_sums(amount: Amount, low: Floats, middle: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the sums in the middle of intervals of sums, and their tolerance; NaN where unknown."""
    sums = np.where((low < middle) & (middle < high), (low + high) / 2, np.nan)
    return sums, OF_SUMS * (high - low) / 2 + 10.0**-amount.grid_decimals
