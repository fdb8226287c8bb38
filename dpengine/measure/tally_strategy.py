"""The strategy for tables of rows and tables of distinct persons: each tally is measured directly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpengine.errors import PlanError
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from dpengine.measure.allocation import allocate_directly, divide_over_tallies
from dpengine.measure.direct_strategy import Direct, WithoutQuantileChoice
from dpengine.translation.catalogue import _

__all__ = ["ByTally"]


class _OfTally(WithoutQuantileChoice):
    """Measure the tables of one tally: the same ones at every ε, since its share of ε follows from them."""

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return allocate_directly(self.plan, discrete=False)


class ByTally(WithoutQuantileChoice):
    """Measure tables of rows and tables of distinct persons, each tally directly with a share of ε."""

    @property
    def why(self) -> str:
        if len(self._by_tally) == 1:
            return self._by_tally[0].why
        return _(
            "Direct: tables of rows and of persons are measured apart, and ε is divided so that the predicted error is "
            "least in all of them together."
        )

    @cached_property
    def _by_tally(self) -> tuple[Direct, ...]:
        parts = divide_over_tallies(self.plan)
        return tuple(_OfTally(tally.plan.at(part)) for tally, part in zip(self.plan.tallies, parts, strict=True))

    @property
    def tallies(self) -> Sequence[int]:
        return [allocation.tally for allocation in self.allocations]

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return tuple(replace(one, tally=k) for k, each in enumerate(self._by_tally) for one in each.allocations)

    @property
    def plan_id(self) -> str:
        cells = (tally.cells for tally in self.plan.tallies)
        return self.plan.identity("distinct", *zip(cells, (each.plan_id for each in self._by_tally), strict=True))

    def _check_tables(self) -> None:
        if self.plan.strategy in ("adaptive", "optimised"):
            raise PlanError(_("tables of distinct persons are measured directly: use strategy: direct or auto"))
        for each in self._by_tally:
            each.check()

    def blank(self) -> Measurements:
        zeros = (np.zeros(self.plan.shape(each.columns), dtype=np.int64) for each in self.allocations)
        return Measurements(tuple(map(Measurement, self.allocations, zeros)))
