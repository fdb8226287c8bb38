"""The strategy for a plan whose tables are all sums of one ranges table, which is measured in boxes."""

from __future__ import annotations

from collections.abc import Sequence

from dpengine.array_types import Columns, Ints
from dpengine.marginals.box_strata import strata
from dpengine.marginals.measurement import Allocation, Boxes, Measurements
from dpengine.measure.allocation import allocate
from dpengine.measure.box_measurement import blank_boxes, measure_boxes
from dpengine.measure.strategy_base import DataDependent
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["Hierarchical", "boxes_of"]


def boxes_of(plan: Plan, counts: Ints, allocation: Allocation) -> Boxes:
    """Measure a table in boxes with its share of ε."""
    axes = [strata(plan.column(name)) for name in allocation.columns]
    return measure_boxes(allocation.columns, axes, counts, allocation.epsilon, allocation.sensitivity)


class Hierarchical(DataDependent):
    """Measure the table whose ranges matter in boxes of cells, finely only where there are people."""

    @property
    def why(self) -> str:
        return _(
            "Adaptive, since ranges matter: boxes of neighbouring cells are measured, and split where noisy counts "
            "show that there are enough people."
        )

    @property
    def columns(self) -> Columns:
        """Columns of the table whose ranges matter."""
        return self.plan.ranged[0]

    @property
    def marginals(self) -> Sequence[Columns]:
        return [self.columns]

    @property
    def plan_id(self) -> str:
        """All other tables are sums of the one that is measured."""
        return self.plan.identity("ranges", self.columns)

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        return Measurements(
            (), boxes=boxes_of(self.plan, counts[0], allocate(self.plan, self.columns, self.plan.epsilon_for_tables))
        )

    def blank(self) -> Measurements:
        boxes = blank_boxes(
            self.columns, self.plan.shape(self.columns), self.plan.epsilon_for_tables, self.plan.unit.rows
        )
        return Measurements((), boxes=boxes)
