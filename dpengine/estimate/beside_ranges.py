"""Estimates of a plan in which a table for ranges was measured in boxes, and other tables directly beside it.

The table for ranges is estimated from its boxes. So are its sums, unless another measured table holds them too: then
they are unbiased, with intervals from the exact distribution of the noise. The total is known from both ways, and is
their average by precision.

Whole numbers begin with the table for ranges. The others follow along the columns that they share with it or with each
other (`estimate.consistency`), so that all tables agree. All of this is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.consistency import ConsistentTables, make_consistent
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals.box_tree import ROUNDING, TAIL
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.pairwise import Pairwise
from dpengine.spec.domain import Amount

if TYPE_CHECKING:
    from dpengine.estimate.estimates import HierarchicalEstimates, UnbiasedEstimates

__all__ = ["BesideRangesEstimates"]

MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # mean absolute value over standard deviation


@dataclass(frozen=True)
class BesideRangesEstimates:
    """Estimates from boxes of one table, and from other tables that were measured directly."""

    boxes: HierarchicalEstimates
    direct: UnbiasedEstimates

    def reads_boxes(self, table: Columns) -> bool:
        """Return whether a table is estimated from the boxes: the one for ranges, and sums that no other holds."""
        ranged = {*self.boxes.tree.boxes.columns}
        held = any({*table} <= {*one.allocation.columns} for one in self.direct.marginals)
        return {*table} == ranged or ({*table} < ranged and not held)

    def _of(self, table: Columns) -> HierarchicalEstimates | UnbiasedEstimates:
        return self.boxes if self.reads_boxes(table) else self.direct

    @cached_property
    def _squares(self) -> LeastSquares:
        """Least squares over what was measured directly, and the total that the boxes give."""
        squares = least_squares(self.direct.plan, [one.allocation for one in self.direct.marginals])
        _, variance = self.boxes.tree.unbiased_total()
        return LeastSquares(squares.sizes, (*squares.measured, ()), (*squares.variances, variance))

    @cached_property
    def _values(self) -> list[Floats]:
        total, _ = self.boxes.tree.unbiased_total()
        return [*(one.rows.astype(np.float64) for one in self.direct.marginals), np.array(total)]

    def estimate(self, table: Columns) -> Floats:
        """Return the estimate of each cell: unbiased, or that of the boxes, which is never negative."""
        if not table:
            return np.round(self._squares.estimate((), self._values), 3) + 0.0
        return self._of(table).estimate(table)

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        """Return the middle of each cell's interval, and the half-widths."""
        if not table:
            return self.estimate(()), np.array(self.half_width(()))
        return self._of(table).intervals(table)

    def half_width(self, table: Columns) -> float:
        """Return the half-width of the widest interval of a cell."""
        if not table:
            return TAIL * math.sqrt(self._squares.variance(())) + ROUNDING
        return self._of(table).half_width(table)

    def mean_abs_error(self, table: Columns) -> float:
        """Return the mean absolute error of a cell's estimate, averaged over the cells."""
        if not table:
            return MEAN_OF_NORMAL * math.sqrt(self._squares.variance(()))
        return self._of(table).mean_abs_error(table)

    @property
    def soft(self) -> SoftEstimates:
        """Tables with amounts are always measured directly."""
        return self.direct.soft

    @property
    def fitted(self) -> ConsistentTables | Pairwise:
        """Whole numbers that agree in all tables."""
        plan = self.direct.plan
        amounts = frozenset(name for name in plan.used if isinstance(plan.column(name), Amount))
        return make_consistent(self._squares, self._values, amounts, self.boxes.tree)
