"""Strategies for tables at several levels of a column: crossed with all other columns, or each table at its own."""

from __future__ import annotations

import math
from functools import cached_property

from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import tree_of
from dpengine.measure.allocation import allocate_amounts, allocate_apart
from dpengine.measure.direct_strategy import WithoutQuantileChoice
from dpengine.measure.levels import allocate_levels
from dpengine.translation.catalogue import _

__all__ = ["Levels", "LevelsApart"]


class Levels(WithoutQuantileChoice):
    """Measure a column at its published levels, each with all other columns; and tables with amounts beside these."""

    @property
    def why(self) -> str:
        return _(
            "{strategy}: levels of {column} are measured, with the parts of ε that leave the least error in all tables "
            "together.",
            strategy=self.name,
            column=self.plan.resolution.column,
        )

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return (
            *allocate_levels(self.plan, self.plan.epsilon_for_tables - sum(each.epsilon for each in self._soft)),
            *self._soft,
        )

    @cached_property
    def _soft(self) -> tuple[Allocation, ...]:
        return allocate_amounts(self.plan)

    @property
    def plan_id(self) -> str:
        """The tables determine the share of each level and of tables with amounts."""
        soft = ((each.columns, str(each.epsilon)) for each in self._soft)
        return self.plan.identity("levels", *map(sorted, self.plan.marginals), *soft, *self.plan.weights_payload)

    def _deviation_of_total(self) -> float:
        plan = self.plan
        tree = tree_of(plan, {each.columns: float(2 * each.scale**2) for each in self.allocations})
        return math.sqrt(plan.cells(plan.resolution.others) * float(tree.node_variances[0][0]))


class LevelsApart(WithoutQuantileChoice):
    """Measure each table at its own levels, where crossing levels with all other columns would leave more noise."""

    @property
    def why(self) -> str:
        return _(
            "{strategy}: each table is measured at its own levels of {column}, which leaves the least error in all.",
            strategy=self.name,
            column=self.plan.resolution.column,
        )

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return allocate_apart(self.plan)
