"""Estimates of a plan with tables of rows and of distinct persons, each from the measurements of its own tally."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import SoftEstimates
from dpengine.spec.plan import Plan

if TYPE_CHECKING:
    from dpengine.estimate.agreement import ModelAndTables
    from dpengine.estimate.consistency import ConsistentTables
    from dpengine.estimate.estimates import Estimates
    from dpengine.marginals.pairwise import Pairwise

__all__ = ["EstimatesByTally"]


@dataclass(frozen=True)
class EstimatesByTally:
    """Estimates of tables of rows and of persons, each from what was measured of its own tally (`spec.tallies`)."""

    plan: Plan
    by_tally: tuple[Estimates, ...]

    def _from_tally(self, table: Columns) -> Estimates:
        return self.by_tally[self.plan.tally_index(table)]

    def estimate(self, table: Columns) -> Floats:
        return self._from_tally(table).estimate(table)

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        return self._from_tally(table).intervals(table)

    def half_width(self, table: Columns) -> float:
        return self._from_tally(table).half_width(table)

    def mean_abs_error(self, table: Columns) -> float:
        return self._from_tally(table).mean_abs_error(table)

    @property
    def fitted(self) -> ConsistentTables | Pairwise | ModelAndTables:
        return self.by_tally[0].fitted

    @property
    def soft(self) -> SoftEstimates:
        return self.by_tally[0].soft
