"""The strategy for plans whose coarser levels are sums: the tables at the finest levels are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpengine.array_types import Columns, Ints
from dpengine.marginals.measurement import Allocation, Measurements
from dpengine.measure.strategy_base import Strategy
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["Summed", "summed"]


@dataclass(frozen=True)
class Summed(Strategy):
    """Measure the tables at the finest levels by the strategy `of_finest`; tables at coarser levels are their sums."""

    of_finest: Strategy

    @property
    def closed_form(self) -> bool:  # type: ignore[override]  # which is a constant of all other strategies
        """Whether the distribution of every error follows from the plan."""
        return self.of_finest.closed_form

    @property
    def why(self) -> str:
        return " ".join([self.of_finest.why, _("Coarser levels are sums of the finest ones.")])

    @property
    def marginals(self) -> Sequence[Columns]:
        return self.of_finest.marginals

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        return self.of_finest.allocations

    @property
    def plan_id(self) -> str:
        """Sums are free: a release of the tables at the finest levels is the same one."""
        return self.of_finest.plan_id

    def _check_tables(self) -> None:
        self.of_finest.check()

    def at(self, epsilon: object) -> Strategy:
        return replace(self, plan=self.plan.at(epsilon), of_finest=self.of_finest.at(epsilon))

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        return self.of_finest.measure(lambda marginals: counts)

    def blank(self) -> Measurements:
        return self.of_finest.blank()


def summed(plan: Plan, of_finest: Strategy) -> Summed:
    """Return the strategy of a plan whose tables at the finest levels are measured by a strategy that is decided."""
    return Summed(plan.model_copy(update={"strategy": of_finest.plan.strategy}), of_finest)
