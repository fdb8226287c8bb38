"""Check how wide the intervals of sums and means of amounts are, where the measurements decide it.

The interval of a sum is an unbiased estimate ± the half-width of its noise, wider only where it would not hold the
published sum. The interval of a mean holds every μ with |S − μ·N| ≤ h(μ), where N are the people of a cell and S their
sum, as measured (`estimate.amounts`). At both ends within the range the two sides are equal, so N·(high − low) =
h(low) + h(high). The file does not hold S. It holds N, the estimated count, where each row has a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import mean_reach, sum_half_width
from dpengine.estimate.error_distribution import least_squares, noise_along
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation
from dpengine.results.published_columns import decimals_of_mean
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan

__all__ = ["AmountWidths"]

OF_SUMS = 0.02  # of a width: what other versions may compute
OF_MEANS = 0.1  # h is known at some means only, and jumps between them (`estimate.amounts.ANCHORS`)


class AmountWidths:
    """The widths of intervals that follow from these `allocations`, which are all that estimates of amounts use.

    With `counts`, estimated counts use the same. `allocations` are empty if nothing is known of them.
    """

    def __init__(self, plan: Plan, allocations: Sequence[Allocation], *, counts: bool) -> None:
        self._plan, self._allocations, self._counts = plan, tuple(allocations), counts

    @cached_property
    def _squares(self) -> LeastSquares:
        return least_squares(self._plan, self._allocations)

    def noise_along(self, table: Columns, coefficients: Sequence[float]) -> tuple[float, float]:
        """Return the variance of Σ coefficient · estimate over the last column's cells, and its 95 % half-width."""
        return noise_along(self._squares, self._allocations, table, coefficients)

    def faults(self, table: Columns, estimate: Floats, numbers: Mapping[str, Floats]) -> Iterator[str]:
        """Yield what is wrong with the intervals of a table, whose numbers are given by the names of their columns."""
        for name in self._plan.amounts(table):
            if not any({*table, name} <= {*each.columns} for each in self._allocations):
                continue
            amount = self._plan.amount(name)
            for kind in ("sum", "mean"):
                if f"{kind}_{name}" not in numbers:
                    continue
                spans = [numbers[f"{kind}_{name}{end}"] for end in ("_low", "", "_high")]
                fits = self._sum_fits(amount, table, *spans) if kind == "sum" else (
                    amount.missing or not self._counts or self._mean_fits(amount, table, estimate, *spans)
                )  # fmt: skip
                if not fits:
                    yield f"intervals of {kind}_{name} are not as wide as its noise"

    def _sum_fits(self, amount: Amount, table: Columns, low: Floats, middle: Floats, high: Floats) -> bool:
        wanted, width = 2 * sum_half_width(amount, table, self), high - low
        slack = OF_SUMS * wanted + 10.0**-amount.grid_decimals
        moved = (low == middle) | (middle == high)
        return not ((width < wanted - slack) | (~moved & (width > wanted + slack))).any()

    def _mean_fits(
        self, amount: Amount, table: Columns, people: Floats, low: Floats, middle: Floats, high: Floats
    ) -> bool:
        start, wide = float(amount.low), float(amount.high - amount.low)
        rounding = 10.0 ** -decimals_of_mean(self._plan, amount.name) / wide
        least, most = (low - start) / wide, (high - start) / wide
        reach = mean_reach(amount, table, self)
        wanted, width = reach(least) + reach(most), np.abs(people) * (most - least)
        slack = OF_MEANS * wanted + 2 * rounding * np.abs(people)
        from_end, to_end = least <= rounding, most >= 1 - rounding
        narrow = (people > 0) & ~from_end & ~to_end & (width < wanted - slack)
        moved = (low == middle) | (middle == high) | (from_end & to_end)
        return not (narrow | (~moved & (width > wanted + slack))).any()
