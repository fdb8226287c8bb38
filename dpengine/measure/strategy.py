"""Strategies: which marginals of a plan are measured, by which mechanism, and why. Functions of the plan alone.

*direct* measures the requested tables (`measure.allocation`); *optimised* divides ε by a numerical search; *adaptive*
chooses privately, while measuring, which pairs of columns to measure (`measure.adaptive`), or, for a table whose ranges
matter, how finely to measure it (`measure.box_strategy`).

*auto* is *direct*, unless (`measure.rows_and_noise`, `measure.at_levels`)

* ranges of many cells matter: they are measured in boxes;
* tables at several levels, and the others, are better measured in parts;
* a single table has so many cells for its rows that its columns and pairs are better evidence than its noisy counts;
* several tables can agree only through a model, or measuring each of them is predicted to have more noise than a model
  has error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Rational

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import (
    PERMUTE_AND_FLIP,
    Allocation,
    Choice,
    ChosenQuantiles,
    Measurement,
    Measurements,
    QuantileShare,
)
from dpengine.marginals.plan_levels import measures_levels, tree_of
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.allocation import (
    allocate_amounts,
    allocate_apart,
    allocate_directly,
    allocate_optimally,
    check_rings,
    divide_over_tallies,
    needs_a_model,
)
from dpengine.measure.at_levels import is_better_apart, is_better_in_parts
from dpengine.measure.box_strategy import Hierarchical
from dpengine.measure.levels import allocate_levels
from dpengine.measure.measure import add_noise
from dpengine.measure.model_error import blank_audit
from dpengine.measure.parts import InParts
from dpengine.measure.quantile_choice import ASSUMED_ROWS, choose_quantiles, divide_for_quantiles
from dpengine.measure.rows_and_noise import has_large_ranges, is_sparse, noise_in_a_table, noise_is_too_much
from dpengine.measure.strategy_base import Private, Strategy
from dpengine.measure.workload import Workload
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec.numeric.amount_steps import Stepped
from dpengine.spec.plan import Plan
from dpengine.spec.wording import portion
from dpengine.translation.catalogue import _, number

__all__ = ["ASSUMED_ROWS", "MAX_SYNTHETIC", "Hierarchical", "Strategy", "check_given", "decide", "resolved"]

MAX_SYNTHETIC = 20_000_000  # rows


class Direct(Strategy):
    """Measure the requested tables, with ε divided by rules."""

    closed_form = True

    @property
    def why(self) -> str:
        if self.plan.strategy == "direct":
            return _("Direct, as the plan says: what is asked is what is measured.")
        tables = maximal(self.plan.supports)
        if not needs_a_model(self.plan, tables):
            return _("Direct: the tables can be measured and made to agree as they are.")
        return _(
            "Direct: measuring all {tables} tables leaves noise of only about {noise} of all rows in each.",
            tables=len(tables),
            noise=portion(noise_in_a_table(self.plan, tables)),
        )

    @property
    def marginals(self) -> Sequence[Columns]:
        tables = [allocation.columns for allocation in self.allocations]
        return [*tables, *(Stepped((*each.columns, each.amount)) for each in self.quantiles)]

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        """Marginals and shares of ε, before the choice of quantiles takes some of it; they add up to ε exactly.

        Raises `PlanError` if tables cannot agree.
        """
        return allocate_directly(self.plan)

    @cached_property
    def _shared(self) -> tuple[tuple[Allocation, ...], tuple[QuantileShare, ...]]:
        return divide_for_quantiles(self.plan, self.divided)

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Marginals and their parts of ε. Raises `PlanError` if tables cannot agree."""
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


class _WithoutChoices(Direct):
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


class Levels(_WithoutChoices):
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
            *allocate_levels(self.plan, self.plan.for_tables - sum(each.epsilon for each in self._soft)),
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


class LevelsApart(_WithoutChoices):
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


class Tallied(_WithoutChoices):
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
        return tuple(_WithoutChoices(tally.plan.at(part)) for tally, part in zip(self.plan.tallies, parts, strict=True))

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


@dataclass(frozen=True)
class Adaptive(Private):
    """Measure single columns and privately chosen pairs, and a single table that holds all columns."""

    decided: bool = False  # by *auto*, not by the plan

    @property
    def why(self) -> str:
        plan, tables = self.plan, maximal(self.plan.supports)
        if self.decided and is_sparse(plan, tables):
            return _(
                "Adaptive: with about {rows} rows, noise would bury so many cells; so part of ε measures columns and "
                "pairs, the rest the whole table, and a model draws on all of these.",
                rows=number(plan.rows_about or ASSUMED_ROWS),
            )
        if self.decided:
            return _(
                "Adaptive: measuring all {tables} tables would leave noise of about {noise} of all rows in each.",
                tables=number(len(tables)),
                noise=portion(noise_in_a_table(plan, tables)),
            )
        if len(tables) == 1:
            return _(
                "Adaptive: part of ε measures columns and pairs, the rest the whole table, and a model draws on all of "
                "these."
            )
        return _("Adaptive: which pairs of columns to measure is chosen privately, and a model fits them.")

    @cached_property
    def workload(self) -> Workload:
        """The columns, pairs and tables that `measure_adaptively` works on."""
        return Workload.of(self.plan)

    @property
    def marginals(self) -> Sequence[Columns]:
        return [*self.workload.marginals, *(each.columns for each in self._for_amounts)]

    def _check_tables(self) -> None:
        super()._check_tables()
        if any(each.scale_in_units > MAX_SCALE for each in self._for_amounts):
            raise PlanError(_("epsilon is too small for means at this step: raise it, or choose a larger step"))
        check_rings(self.plan)

    @property
    def for_counts(self) -> Fraction:
        return self.plan.for_tables - sum((each.epsilon for each in self._for_amounts), Fraction(0))

    @cached_property
    def _for_amounts(self) -> tuple[Allocation, ...]:
        return allocate_amounts(self.plan)

    @property
    def plan_id(self) -> str:
        """The identity of all tables, since pairs are chosen later; a single maximal table represents its sums."""
        tables = maximal(self.plan.supports)
        if len(tables) > 1:
            return self.plan.key
        return self.plan.identity("adaptive", *tables, *self.plan.weights_payload)

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        exact = dict(zip(self.marginals, counts, strict=True))
        amounts = tuple(add_noise(exact[each.columns], each) for each in self._for_amounts)
        measured = measure_adaptively(self.workload, exact, self.for_counts, self.plan.unit.rows)
        return replace(measured, marginals=(*measured.marginals, *amounts))

    def blank(self) -> Measurements:
        workload, epsilon = self.workload, self.plan.for_tables
        columns = [(), *((name,) for name in workload.sizes), *([workload.whole] if workload.whole else [])]
        choice = Choice("nothing", PERMUTE_AND_FLIP, epsilon, self.plan.unit.rows)
        audit = blank_audit(workload, epsilon, self.plan.unit.rows) if workload.audited else None
        amounts = (self._zeros(each.columns, each.epsilon) for each in self._for_amounts)
        return Measurements((*(self._zeros(each, epsilon) for each in columns), *amounts), (choice,), audit)


def decide(plan: Plan) -> Strategy:
    """Return the strategy by which `plan` is measured, resolving *auto*. Raises `PlanError` for what is no plan.

    >>> plan = Plan(dataset="demo", epsilon="1", tables=[["smokes"]], columns=[{"name": "smokes", "kind": "yesno"}])
    >>> decide(plan).why
    'Direct: the tables can be measured and made to agree as they are.'
    """
    check_given(plan)
    if plan.strategy != "auto" or plan.tallied:
        return resolved(plan)
    private = plan.model_copy(update={"strategy": "adaptive"})
    if plan.resolution.levels:
        return resolved(private if has_large_ranges(plan) or is_better_in_parts(private) else plan)
    tables = maximal(plan.supports)
    if not (has_large_ranges(plan) or is_sparse(plan, tables) or noise_is_too_much(plan, tables)):
        return Direct(plan)
    return resolved(private) if plan.ranged else Adaptive(private, decided=True)


def check_given(plan: object) -> None:
    """Refuse a path, or anything else in place of a plan, and an inexact ε. Raises `PlanError`."""
    if not isinstance(plan, Plan):
        raise PlanError(_("a plan is given as a Plan; Plan.load reads it from a file"))
    if not isinstance(plan.epsilon, Rational):  # `model_copy` checks nothing
        raise PlanError(_("ε of this plan is not exact: make the copy by plan.at(epsilon)"))


def resolved(plan: Plan, measured: Sequence[Allocation] | None = None) -> Strategy:
    """Return the strategy by which the plan of a release was measured; there, *auto* means *direct*.

    No decision is made again, so a release of an earlier version stays what it was. Only whether levels are crossed
    with other columns is decided by the plan, or follows from what was `measured`.
    """
    if plan.tallied:
        return Tallied(plan)
    if plan.in_parts:
        return InParts(plan)
    if plan.strategy == "adaptive" and plan.ranged:
        return Hierarchical(plan)
    if plan.resolution.levels:
        apart = is_better_apart(plan) if measured is None else not measures_levels(plan, measured)
        return LevelsApart(plan) if apart else Levels(plan)
    if plan.strategy == "adaptive":
        return Adaptive(plan)
    return Optimised(plan) if plan.strategy == "optimised" else Direct(plan)
