"""Strategies that measure the requested tables, with ε divided by rules or by a numerical search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Allocation, ChosenQuantiles, Measurement, Measurements, QuantileShare
from dpengine.measure.allocation import allocate_directly, allocate_optimally, check_rings, needs_a_model
from dpengine.measure.measure import add_noise
from dpengine.measure.quantile_choice import choose_quantiles, divide_for_quantiles
from dpengine.measure.rows_and_noise import noise_in_a_table
from dpengine.measure.strategy_base import Strategy
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec.numeric.amount_steps import Stepped
from dpengine.spec.wording import portion
from dpengine.translation.catalogue import _, number

__all__ = ["MAX_SYNTHETIC", "Direct", "Optimised", "WithoutQuantileChoice"]

MAX_SYNTHETIC = 20_000_000  # rows


@dataclass(frozen=True)
class Direct(Strategy):
    """Measure the requested tables, with ε divided by rules."""

    closed_form = True
    answered: bool = False  # an adaptive release asked, and the private answer was to measure

    @property
    def why(self) -> str:
        if self.answered:
            return _("Direct: a private answer says that these tables are better measured than taken from a model.")
        if self.plan.strategy == "direct":
            return _("Direct, as the plan says: what is asked is what is measured.")
        tables = maximal(self.plan.estimated_tables)
        if not needs_a_model(self.plan):
            return _("Direct: the tables can be measured and made to agree as they are.")
        return _(
            "Direct: measuring all {tables} tables leaves noise of about {noise} of all rows in each.",
            tables=len(tables),
            noise=portion(noise_in_a_table(self.plan, tables)),
        )

    @property
    def marginals(self) -> Sequence[Columns]:
        tables = [allocation.columns for allocation in self.allocations]
        return [*tables, *(Stepped((*each.columns, each.amount)) for each in self.quantiles)]

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        """Marginals and shares of ε, before the choice of quantiles takes some of it; they add up to ε exactly."""
        return allocate_directly(self.plan)

    @cached_property
    def _shared(self) -> tuple[tuple[Allocation, ...], tuple[QuantileShare, ...]]:
        return divide_for_quantiles(self.plan, self.divided)

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Marginals and their parts of ε."""
        return self._shared[0]

    @property
    def quantiles(self) -> tuple[QuantileShare, ...]:
        """Quantiles that are chosen privately, with the rest of ε."""
        return self._shared[1]

    @property
    def plan_id(self) -> str:
        """A table within a measured one changes nothing, so asking for it later is free."""
        chosen = (("quantiles", each.columns, each.amount, list(map(str, each.parts)), str(each.epsilon))
                  for each in self.quantiles)  # fmt: skip
        return self.plan.identity(*((each.columns, str(each.epsilon)) for each in self.allocations), *chosen)

    def _check_tables(self) -> None:
        plan = self.plan
        if max(allocation.scale_in_units for allocation in self.allocations) > MAX_SCALE:
            raise PlanError(
                _("epsilon is too small for so many tables: the noise would be beyond all counts; raise it")
            )
        check_rings(plan)
        sd = self._deviation_of_total()
        if 2 * sd > MAX_SYNTHETIC:
            raise PlanError(
                _(
                    "the total would be known only to within about ±{half_width}, too wide for synthetic rows: raise "
                    "epsilon, or use fewer cells",
                    half_width=number(2 * sd, ",.0f"),
                )
            )

    def _deviation_of_total(self) -> float:
        """Return a bound for the total's standard deviation: that of the best single marginal's sum."""
        return min(math.sqrt(2 * self.plan.cells(each.columns)) * float(each.scale) for each in self.allocations)

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        tables = len(self.allocations)
        noisy = tuple(add_noise(*each) for each in zip(counts[:tables], self.allocations, strict=True))
        chosen = (
            choose_quantiles(exact, _holding(share, noisy), self.plan.amount(share.amount), share)
            for exact, share in zip(counts[tables:], self.quantiles, strict=True)
        )
        return Measurements(noisy, quantiles=tuple(chosen))

    def blank(self) -> Measurements:
        zeros = tuple(self._zeros(each.columns, each.epsilon) for each in self.allocations)
        shapes = ((*self.plan.shape(each.columns), len(each.parts)) for each in self.quantiles)
        places = (np.zeros(shape, dtype=np.int64) for shape in shapes)
        return Measurements(zeros, quantiles=tuple(map(ChosenQuantiles, self.quantiles, places)))


def _holding(share: QuantileShare, noisy: Sequence[Measurement]) -> Measurement:
    """Return the first noisy table that holds the columns and the amount of some quantiles."""
    return next(one for one in noisy if {*share.columns, share.amount} <= {*one.allocation.columns})


class WithoutQuantileChoice(Direct):
    """Measure the requested tables; quantiles come from noisy tables alone."""

    @property
    def _shared(self) -> tuple[tuple[Allocation, ...], tuple[QuantileShare, ...]]:
        return self.divided, ()


class Optimised(Direct):
    """Measure marginals with the shares of ε that minimise the predicted error."""

    @property
    def why(self) -> str:
        return _("Optimised, as the plan says: ε is divided so that the predicted error is least.")

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return allocate_optimally(self.plan)
