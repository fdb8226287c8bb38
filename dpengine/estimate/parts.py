"""Estimates of a plan that was measured in parts: tables for ranges, tables at levels, and the rest.

Each table is estimated from one part: a ranges table from its boxes, any other from the most accurate part. So the
estimates of two parts for the same counts differ. The total is the average of all unbiased estimates of it, weighted by
precision.

Whole numbers begin with the model of the rest, if there is one, or with the first ranges table. Each other table keeps
what it shares with earlier ones, at any level (`marginals.nested`), so that all tables agree. All of this is
post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.agreement import ModelAndTables, agree
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.levels import LevelEstimates
from dpengine.estimate.source_part import source_part
from dpengine.marginals.box_tree import ROUNDING, TAIL, BoxTree
from dpengine.marginals.least_squares import LeastSquares
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    from dpengine.estimate.consistency import ConsistentTables
    from dpengine.estimate.estimates import HierarchicalEstimates, ModelledEstimates, UnbiasedEstimates

__all__ = ["EstimatesOfParts"]

MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # mean absolute value over standard deviation


@dataclass(frozen=True)
class EstimatesOfParts:
    """Estimates from boxes, from levels, from tables that were measured directly, and from a model of the rest."""

    plan: Plan
    boxes: tuple[HierarchicalEstimates, ...]
    levels: tuple[LevelEstimates, ...]
    direct: UnbiasedEstimates
    model: ModelledEstimates | None = None
    trees: tuple[BoxTree, ...] = ()  # of the boxes by themselves, for independent totals

    def source_part(self, table: Columns) -> tuple[str, int]:
        """Return the part from which a table is estimated."""
        model = None if self.model is None else self.model.plan
        return source_part(self.plan, model, [one.allocation.columns for one in self.direct.marginals], table)

    def _source_of(
        self, table: Columns
    ) -> HierarchicalEstimates | LevelEstimates | UnbiasedEstimates | ModelledEstimates:
        kind, index = self.source_part(table)
        if kind == "model":
            assert self.model is not None, "a table that nothing else tells"
            return self.model
        if kind == "direct":
            return self.direct
        return self.boxes[index] if kind == "boxes" else self.levels[index]

    @cached_property
    def _squares(self) -> LeastSquares:
        """Least squares over what was measured directly, and the totals that boxes and levels give."""
        squares = least_squares(self.direct.plan, [one.allocation for one in self.direct.marginals])
        totals = tuple(variance for _, variance in self._totals)
        return LeastSquares(squares.sizes, (*squares.measured, *[()] * len(totals)), (*squares.variances, *totals))

    @cached_property
    def _totals(self) -> list[tuple[float, float]]:
        of_model = [self.model.total] if self.model is not None else []
        return [*(tree.unbiased_total() for tree in self.trees), *(each.total for each in self.levels), *of_model]

    @cached_property
    def _values(self) -> list[Floats]:
        totals = (np.array(total) for total, _ in self._totals)
        return [*(one.rows.astype(np.float64) for one in self.direct.marginals), *totals]

    def estimate(self, table: Columns) -> Floats:
        """Return the estimate of each cell: unbiased, or that of boxes or a model, which is never negative."""
        if not table:
            return np.round(self._squares.estimate((), self._values), 3) + 0.0
        return self._source_of(table).estimate(table)

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        """Return the middle of each cell's interval, and the half-widths."""
        if not table:
            return self.estimate(()), np.array(self.half_width(()))
        return self._source_of(table).intervals(table)

    def half_width(self, table: Columns) -> float:
        """Return the half-width of the widest interval of a cell."""
        if not table:
            return TAIL * math.sqrt(self._squares.variance(())) + ROUNDING
        return self._source_of(table).half_width(table)

    def mean_abs_error(self, table: Columns) -> float:
        """Return the mean absolute error of a cell's estimate, averaged over the cells."""
        if not table:
            return MEAN_OF_NORMAL * math.sqrt(self._squares.variance(()))
        return self._source_of(table).mean_abs_error(table)

    @property
    def soft(self) -> SoftEstimates:
        """Tables with amounts are always measured directly."""
        return self.direct.soft

    @property
    def fitted(self) -> ConsistentTables | ModelAndTables:
        """Whole numbers that agree in all tables."""
        amounts = frozenset(name for name in self.plan.used if isinstance(self.plan.column(name), Amount))
        total = max(0, round(float(self._squares.estimate((), self._values))))
        return agree(
            self._squares,
            self._values,
            amounts,
            self.plan.resolution,
            trees=[each.tree for each in self.boxes],
            measured_trees=self.trees,
            levels=[each.expected(total) for each in self.levels],
            model=None if self.model is None else self.model.fitted,
        )
