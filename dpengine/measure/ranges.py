"""Strategies for a plan with a table whose ranges matter: it alone, or beside other tables.

Beside others, the table for ranges is one of those among which ε is divided, by the cube roots of weighted cells
(`measure.allocation`). With its part it is measured in boxes (`measure.hierarchical`), the others with theirs directly.
A row spends the part of each table once, and the parts add up to ε exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.measurement import Allocation, Boxes, Measurements
from dpengine.measure.allocation import MAX_JOINT_CELLS, allocate, allocate_by_cells, check_rings
from dpengine.measure.hierarchical import blank_boxes, measure_boxes, strata
from dpengine.measure.measure import add_noise
from dpengine.measure.way import MAX_ADAPTIVE_SCALE, Private
from dpengine.noise.moments import MAX_SCALE
from dpengine.translation.catalogue import _, number

__all__ = ["BesideRanges", "Hierarchical"]


class Hierarchical(Private):
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
        assert self.plan.ranged is not None
        return self.plan.ranged

    @property
    def marginals(self) -> Sequence[Columns]:
        return [self.columns]

    @property
    def plan_id(self) -> str:
        """All other tables are sums of the one that is measured."""
        return self.plan.identity("ranges", self.columns)

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        return Measurements((), boxes=self._boxes(counts[0], allocate(self.plan, self.columns, self.plan.epsilon)))

    def _boxes(self, counts: Ints, allocation: Allocation) -> Boxes:
        """Measure the table with its part of ε."""
        axes = [strata(self.plan.column(name)) for name in self.columns]
        return measure_boxes(self.columns, axes, counts, allocation.epsilon, allocation.sensitivity)

    def blank(self) -> Measurements:
        boxes = blank_boxes(self.columns, self.plan.shape(self.columns), self.plan.epsilon, self.plan.unit.rows)
        return Measurements((), boxes=boxes)


class BesideRanges(Hierarchical):
    """Measure the table whose ranges matter in boxes of cells, and the other tables as they are, each with its part."""

    @property
    def why(self) -> str:
        return _(
            "Adaptive, since ranges of {table} matter: it is measured in boxes of neighbouring cells, which are split "
            "where noisy counts show that there are enough people. The other tables are measured as they are.",
            table=" × ".join(self.columns),
        )

    @cached_property
    def _parts(self) -> tuple[Allocation, ...]:
        """The allocation of the table for ranges, and then those of the others."""
        others = maximal([each for each in self.plan.supports if not {*each} <= {*self.columns}])
        return allocate_by_cells(self.plan, [self.columns, *others])

    @property
    def _others(self) -> tuple[Allocation, ...]:
        return self._parts[1:]

    @property
    def marginals(self) -> Sequence[Columns]:
        return [each.columns for each in self._parts]

    @property
    def plan_id(self) -> str:
        """What each table costs decides; sums of these tables are free."""
        others = ((each.columns, str(each.epsilon)) for each in self._others)
        return self.plan.identity("ranges", self.columns, *others)

    def check(self) -> None:
        super().check()
        if self.plan.unit.rows / self._parts[0].epsilon > MAX_ADAPTIVE_SCALE:
            raise PlanError(_("epsilon is too small for ranges beside other tables: raise it, or ask for fewer tables"))
        if any(each.scale_in_units > MAX_SCALE for each in self._others):
            raise PlanError(_("epsilon is too small for means at this step: raise it, or choose a larger step"))
        check_rings(self.plan)
        tables = maximal([self.columns, *(self._counted(each.columns) for each in self._others)])
        cells = math.prod(self.plan.column(name).size for name in {name for table in tables for name in table})
        if cells > MAX_JOINT_CELLS and junction_order(tables) is None:
            raise PlanError(
                _(
                    "these tables overlap in a ring, so beside a table for ranges they can agree only through one "
                    "table of {cells} cells (at most {most}): put the table for ranges into a plan of its own, or "
                    "use fewer columns or wider bins",
                    cells=number(cells, ".2g"),
                    most=number(MAX_JOINT_CELLS),
                )
            )

    def _counted(self, columns: Columns) -> Columns:
        return tuple(name for name in columns if not self.plan.has_amount((name,)))

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        others = zip(counts[1:], self._others, strict=True)
        return Measurements(tuple(add_noise(*each) for each in others), boxes=self._boxes(counts[0], self._parts[0]))

    def blank(self) -> Measurements:
        ranged = self._parts[0]
        boxes = blank_boxes(self.columns, self.plan.shape(self.columns), ranged.epsilon, ranged.sensitivity)
        return Measurements(tuple(self._zeros(each.columns, each.epsilon) for each in self._others), boxes=boxes)
