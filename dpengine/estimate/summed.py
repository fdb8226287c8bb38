"""Estimates of a plan whose coarser levels are sums of the finest ones, which alone were measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.level_sums import SumErrors
from dpengine.estimate.model_intervals import NOISE_TAIL, of_95_in_100
from dpengine.marginals.plan_levels import group_sizes
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    from dpengine.estimate.agreement import ModelAndTables
    from dpengine.estimate.consistency import ConsistentTables
    from dpengine.estimate.estimates import ModelledEstimates, UnbiasedEstimates
    from dpengine.marginals.pairwise import Pairwise

__all__ = ["SummedEstimates"]


@dataclass(frozen=True)
class SummedEstimates:
    """Estimates of all tables, from those of the tables at the finest levels: `direct` ones, or those of a `model`.

    Of direct ones, the errors of sums follow from the noise. A model's are those of a cell of that size, with the
    noise of sums of columns and, if the finest table was measured, of its cells.
    """

    plan: Plan
    direct: UnbiasedEstimates | None
    model: ModelledEstimates | None

    @property
    def finest(self) -> UnbiasedEstimates | ModelledEstimates:
        """The estimates of the tables at the finest levels."""
        one = self.direct if self.model is None else self.model
        assert one is not None, "there is one of both"
        return one

    def estimate(self, table: Columns) -> Floats:
        finest = self.plan.resolution.finest_columns(table)
        if self.model is None or finest == table:
            return self.plan.resolution.coarsen(self.finest.estimate(finest), finest, table)
        return np.round(self.plan.resolution.coarsen(self.model.fitted.table(finest), finest, table), 3) + 0.0

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        finest = self.plan.resolution.finest_columns(table)
        if finest == table:
            return self.finest.intervals(table)
        if self.model is not None and len(table) > 1:
            expected = self.estimate(table)
            return expected, self.model.half_widths_of_sums(finest, expected, group_sizes(self.plan, table))
        unbiased = self._unbiased(finest)
        middle = self.plan.resolution.coarsen(unbiased.estimate(finest), finest, table)
        return middle, np.broadcast_to(self._errors(finest).half_widths(table), middle.shape)

    def half_width(self, table: Columns) -> float:
        if self.plan.resolution.finest_columns(table) == table:
            return self.finest.half_width(table)
        half_widths = self.intervals(table)[1]
        modelled = self.model is not None and len(table) > 1
        return of_95_in_100(half_widths) if modelled else float(half_widths.max())

    def usual_half_width(self, table: Columns, expected: Floats) -> float:
        """Predict `half_width` of a model from `expected` counts, as `ModelledEstimates.usual_half_width` does."""
        finest = self.plan.resolution.finest_columns(table)
        assert self.model is not None, "the half-widths of direct estimates follow from the plan"
        if finest == table:
            return self.model.usual_half_width(table, expected)
        if len(table) < 2:
            return self.half_width(table)
        sizes = group_sizes(self.plan, table)
        return of_95_in_100(self.model.half_widths_of_sums(finest, expected, sizes, usual=True))

    def mean_abs_error(self, table: Columns) -> float:
        finest = self.plan.resolution.finest_columns(table)
        if finest == table:
            return self.finest.mean_abs_error(table)
        if self.model is not None:
            return float(self.intervals(table)[1].mean()) / NOISE_TAIL
        return self._errors(finest).error(table).mean_abs

    @property
    def fitted(self) -> ConsistentTables | Pairwise | ModelAndTables:
        return self.finest.fitted

    @property
    def soft(self) -> SoftEstimates:
        return self.finest.soft

    def _unbiased(self, finest: Columns) -> UnbiasedEstimates:
        """Return least-squares estimates of a table; of a model, those of one of its columns."""
        if self.model is not None:
            return self.model.as_measured(finest)
        assert self.direct is not None, "there is one of both"
        return self.direct

    def _errors(self, finest: Columns) -> SumErrors:
        key = () if self.model is None else finest
        if key not in self._known:
            unbiased = self._unbiased(finest)
            self._known[key] = SumErrors(self.plan, unbiased.squares, unbiased.allocations)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[Columns, SumErrors]:
        return {}  # a bundle asks for each table several times
