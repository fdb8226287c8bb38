"""Estimates and intervals of every table, from the measurements of a release.

There are three kinds, with the same methods. If the tables themselves were measured, the estimate is the unbiased one
of least squares, and its interval follows from the exact distribution of the noise. If a model was fitted, the estimate
is the model's; no theory gives the error of a model, so it was measured too (`marginals.measurement.Audit`). If boxes
of cells were measured, a cell that was not measured by itself may hold anything from none to all of its box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Protocol

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate import model_intervals
from dpengine.estimate.agreement import ModelAndTables, agree
from dpengine.estimate.amounts import SoftEstimates
from dpengine.estimate.by_tally import EstimatesByTally
from dpengine.estimate.consistency import ConsistentTables, make_consistent, round_boxes
from dpengine.estimate.error_distribution import ErrorDistribution, least_squares, noise_along
from dpengine.estimate.levels import LevelEstimates
from dpengine.estimate.model_intervals import NOISE_TAIL, error_by_size, of_95_in_100
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.estimate.source_part import allocated_to
from dpengine.estimate.summed import SummedEstimates
from dpengine.estimate.table_errors import table_errors
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.known_cells import with_known_column
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from dpengine.marginals.nested import NO_LEVELS
from dpengine.marginals.pairwise import Pairwise, fit
from dpengine.marginals.plan_levels import measures_levels
from dpengine.marginals.plan_model import modelled
from dpengine.marginals.sums import as_if_measured, column_as_measured, grand_total, mean_total, total_of
from dpengine.measure.strategy import resolved
from dpengine.spec.categories.resolution import Resolution
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan

__all__ = [
    "Estimates", "HierarchicalEstimates", "ModelledEstimates", "UnbiasedEstimates", "derive_estimates",
]  # fmt: skip


class Estimates(Protocol):
    """Estimates of tables, one axis a column; intervals hold the true count with probability 95 %."""

    def estimate(self, table: Columns) -> Floats:
        """Return the expected count of each cell."""

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        """Return the middle of each cell's interval, and the half-widths: one for all cells, or one for each."""

    def half_width(self, table: Columns) -> float:
        """Return the half-width of the widest interval of a cell; of models and boxes, of the widest of 95 in 100."""

    def mean_abs_error(self, table: Columns) -> float:
        """Return the mean absolute error of a cell's estimate, averaged over the cells."""

    @property
    def fitted(self) -> ConsistentTables | Pairwise | ModelAndTables:
        """Non-negative counts that agree with each other: whole tables, or a model of pairs of columns."""

    @property
    def soft(self) -> SoftEstimates:
        """Unbiased estimates of the tables with amounts, which are always measured directly."""


@dataclass(frozen=True)
class UnbiasedEstimates:
    """Least-squares estimates of tables that were measured directly.

    Errors are those of the `planned` allocations, if given; then the marginals stand for what these would give.
    """

    plan: Plan
    marginals: tuple[Measurement, ...]
    planned: tuple[Allocation, ...] = ()

    @cached_property
    def allocations(self) -> tuple[Allocation, ...]:
        """The allocations of all measured marginals."""
        return tuple(one.allocation for one in self.marginals)

    @cached_property
    def _errors(self) -> Callable[[Columns], ErrorDistribution]:
        return table_errors(self.plan, self.planned or self.allocations)

    @cached_property
    def squares(self) -> LeastSquares:
        """The estimator."""
        return least_squares(self.plan, self.allocations)

    @cached_property
    def _estimate(self) -> Callable[[Columns], Floats]:
        return self.squares.estimator([one.rows for one in self.marginals])

    def estimate(self, table: Columns) -> Floats:
        values = self._estimate(table)
        # A value this close to a whole number is meant to be whole; the difference comes from the order of summation.
        return np.where(np.abs(values - np.rint(values)) < 1e-6, np.rint(values), values) + 0.0

    @property
    def soft(self) -> SoftEstimates:
        return self

    def variance_along(self, table: Columns, coefficients: Sequence[float]) -> float:
        """Return the variance of Σ coefficient · estimate over the last column's cells."""
        terms, variances = self.squares.noise(table, table[-1], coefficients), self.squares.variances
        return math.fsum(term.weight**2 * term.times * variances[term.measured] for term in terms)

    def noise_along(self, table: Columns, coefficients: Sequence[float]) -> tuple[float, float]:
        """Return the variance of Σ coefficient · estimate over the last column's cells, and its 95 % half-width."""
        return noise_along(self.squares, self.allocations, table, coefficients)

    def covariance_along(self, table: Columns, along: Columns) -> Floats:
        """Return the covariance of the estimates of the cells along some columns, the others fixed."""
        return self.squares.covariance(table, along)

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        return self.estimate(table), np.array(self.half_width(table))

    def half_width(self, table: Columns) -> float:
        if table not in self._half_widths:
            self._half_widths[table] = self._error(table).half_width()
        return self._half_widths[table]

    @cached_property
    def _half_widths(self) -> dict[Columns, float]:
        return {}  # a bundle asks for each several times

    def mean_abs_error(self, table: Columns) -> float:
        return self._error(table).mean_abs

    @property
    def fitted(self) -> ConsistentTables | Pairwise | ModelAndTables:
        amounts = frozenset(name for name in self.plan.used if isinstance(self.plan.column(name), Amount))
        values = [one.rows for one in self.marginals]
        if self.plan.resolution.chains:
            return agree(self.squares, values, amounts, self.plan.resolution)
        return make_consistent(self.squares, values, amounts)

    def _error(self, table: Columns) -> ErrorDistribution:
        return self._errors(table)


@dataclass(frozen=True)
class ModelledEstimates:
    """Estimates from a model of pairs of columns.

    The total and single columns were measured, by themselves and as sums of pairs, so their intervals follow from the
    noise. Those of larger tables follow from that noise and an audit (`model_intervals`).
    """

    plan: Plan
    measured: Measurements
    known: tuple[Measurement, ...] = ()  # totals and single columns that were measured outside of the model

    @cached_property
    def fitted(self) -> Pairwise:
        given = (*self._count_measurements, *self.known)
        if self.measured.fit is not None:
            fitted_to, model = self.measured.fit
            if len(given) == len(fitted_to) and all(map(is_, given, fitted_to)):
                return model
        sizes = {name: self.plan.column(name).size for name in sorted(self.plan.counted)}
        return fit(sizes, given, nearby=True, by_classes=self.measured.by_classes)

    @property
    def total(self) -> tuple[float, float]:
        """The total that was measured, and its variance."""
        total, precision = grand_total(self._count_measurements)
        return total, 2 / precision

    @cached_property
    def _count_measurements(self) -> tuple[Measurement, ...]:
        return tuple(one for one in self.measured.marginals if not self.plan.has_amount(one.allocation.columns))

    @cached_property
    def soft(self) -> SoftEstimates:
        return UnbiasedEstimates(
            self.plan, tuple(one for one in self.measured.marginals if self.plan.has_amount(one.allocation.columns))
        )

    def estimate(self, table: Columns) -> Floats:
        return np.round(self.fitted.table(table), 3) + 0.0

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        if len(table) < 2:
            return self.as_measured(table).intervals(table)
        expected = self.estimate(table)
        return expected, self._half_widths(table, expected, self._believed_error)

    def half_width(self, table: Columns) -> float:
        return self.as_measured(table).half_width(table) if len(table) < 2 else of_95_in_100(self.intervals(table)[1])

    def usual_half_width(self, table: Columns, expected: Floats) -> float:
        """Predict `half_width` from `expected` counts, if the model errs as in public tables of that many people."""
        if len(table) < 2:
            return self.half_width(table)
        return of_95_in_100(self._half_widths(table, expected, self._usual_error))

    def half_widths_of_sums(
        self, finest: Columns, expected: Floats, sizes: Sequence[Ints], *, usual: bool = False
    ) -> Floats:
        """Return the half-widths of cells that add up groups of a table's, of these `sizes` along each column.

        With `usual`, they are those of `usual_half_width`.
        """
        error = self._usual_error if usual else self._believed_error
        added = np.meshgrid(*sizes, indexing="ij", sparse=True)
        scales = [self._scales[name] * np.sqrt(each) for name, each in zip(finest, added, strict=True)]
        own = self._own_scales.get(frozenset(finest))
        of_own = None if own is None else own * np.sqrt(math.prod(added))
        return model_intervals.model_half_widths(expected, scales, error, of_own, self._max_people)

    def _half_widths(self, table: Columns, expected: Floats, error: tuple[float, float]) -> Floats:
        scales, own = [self._scales[name] for name in table], self._own_scales.get(frozenset(table))
        return model_intervals.model_half_widths(expected, scales, error, own, self._max_people)

    @cached_property
    def error_by_size(self) -> tuple[float, float]:
        """Factor and power by which errors grow with the count, from the audit."""
        audit = self.measured.audit
        if audit is None:
            raise ValueError("a model of tables comes with an audit of them")
        return error_by_size(audit, [self.fitted.table(table) for table in audit.tables])

    @cached_property
    def _believed_error(self) -> tuple[float, float]:
        error, audit = self.error_by_size, self.measured.audit
        assert audit is not None, "or there would be no such error"
        return model_intervals.believed_error(error, audit, self._max_people, self._epsilon_of_row)

    @property
    def _usual_error(self) -> tuple[float, float]:
        return model_intervals.usual_error(self.fitted.total, self._epsilon_of_row)

    @property
    def _epsilon_of_row(self) -> float:
        return float(self.plan.epsilon_for_tables) / self.plan.unit.rows

    @cached_property
    def _max_people(self) -> float:
        """The total that is fitted, and three times its standard deviation."""
        return self.fitted.total + 3 * math.sqrt(self.total[1])

    @cached_property
    def _columns(self) -> dict[str, Measurement]:
        """The estimate of each column from all tables that have it."""
        measured = (*self._count_measurements, *self.known)
        return {name: column_as_measured(name, self.plan.column(name).size, measured) for name in self.plan.counted}

    @cached_property
    def _scales(self) -> dict[str, float]:
        return {name: float(one.allocation.scale) for name, one in self._columns.items()}

    @cached_property
    def _own_scales(self) -> dict[frozenset[str], float]:
        """The scales of the noise in tables of two and more columns that were measured cell by cell."""
        own = (one for one in self._count_measurements if len(one.allocation.columns) > 1 and not one.merged)
        return {frozenset(one.allocation.columns): float(one.allocation.scale) for one in own}

    def as_measured(self, table: Columns) -> UnbiasedEstimates:
        """Return estimates of the total; or of a column and, from tables without it, of the total."""
        if table not in self._kept:
            others = [known for one, known in self._totals if not {*table} & {*one.allocation.columns}]
            column = [self._columns[name] for name in table]
            total = [as_if_measured((), *mean_total(others))] if others else []
            self._kept[table] = UnbiasedEstimates(self.plan, (*total, *column))
        return self._kept[table]

    @cached_property
    def _totals(self) -> list[tuple[Measurement, tuple[float, float]]]:
        return [(one, total_of(one)) for one in self._count_measurements]  # each column asks for all but its own

    @cached_property
    def _kept(self) -> dict[Columns, UnbiasedEstimates]:
        return {}  # a bundle asks for each several times

    def mean_abs_error(self, table: Columns) -> float:
        return float(self.intervals(table)[1].mean()) / NOISE_TAIL


@dataclass(frozen=True)
class HierarchicalEstimates:
    """Estimates from boxes of cells (`measure.box_measurement`)."""

    tree: BoxTree
    resolution: Resolution = NO_LEVELS

    def estimate(self, table: Columns) -> Floats:
        finer = self._finer_columns(table)
        return np.round(self.resolution.coarsen(self.tree.estimate(finer), finer, table), 3) + 0.0

    def _finer_columns(self, table: Columns) -> Columns:
        finer = self.resolution.finer_columns(table, self.tree.boxes.columns)
        assert finer is not None, "a table that the boxes tell"
        return finer

    def intervals(self, table: Columns) -> tuple[Floats, Floats]:
        columns = tuple(sorted(table))
        if columns not in self._bounds:
            finer = self._finer_columns(columns)
            groups = {fine: self.resolution.groups(fine, coarse) for fine, coarse in zip(finer, columns, strict=True)
                      if fine != coarse}  # fmt: skip
            self._bounds[columns] = self.tree.bounds(finer, groups)
        low, high = (end.transpose([columns.index(name) for name in table]) for end in self._bounds[columns])
        return (low + high) / 2, (high - low) / 2

    def half_width(self, table: Columns) -> float:
        return of_95_in_100(self.intervals(table)[1])

    def mean_abs_error(self, table: Columns) -> float:
        return float(self.intervals(table)[1].mean()) / NOISE_TAIL

    @property
    def soft(self) -> SoftEstimates:
        raise AssertionError("a plan for ranges has no amounts")

    @property
    def fitted(self) -> ConsistentTables:
        return round_boxes(self.tree)

    @cached_property
    def _bounds(self) -> dict[Columns, tuple[Floats, Floats]]:
        return {}


def derive_estimates(plan: Plan, measured: Measurements) -> Estimates:
    """Return the estimates that follow from the measurements of `plan`."""
    plan = measured.as_measured(plan)
    if plan.has_distinct:
        by_tally = (
            derive_estimates(
                tally.plan, Measurements(tuple(one for one in measured.marginals if one.allocation.tally == k))
            )
            for k, tally in enumerate(plan.tallies)
        )
        return EstimatesByTally(plan, tuple(by_tally))
    if plan.finest is not plan:
        of_finest = derive_estimates(plan.finest, measured)
        if isinstance(of_finest, ModelledEstimates):
            return SummedEstimates(plan, None, of_finest)
        assert isinstance(of_finest, UnbiasedEstimates), "tables without levels, ranges and persons"
        return SummedEstimates(plan, of_finest, None)
    if plan.in_parts:
        return _estimates_of_parts(plan, measured)
    if measured.boxes is not None:
        return HierarchicalEstimates(BoxTree(measured.boxes), plan.resolution)
    if plan.resolution.levels and measures_levels(plan, [one.allocation for one in measured.marginals]):
        soft = UnbiasedEstimates(plan, tuple(one for one in measured.marginals if _has_amount(plan, one)))
        counts = tuple(one for one in measured.marginals if not _has_amount(plan, one))
        return LevelEstimates(plan, counts, soft if soft.marginals else None)
    if not resolved(plan).closed_form:
        return ModelledEstimates(plan, measured)
    return UnbiasedEstimates(plan, measured.marginals)


def _estimates_of_parts(plan: Plan, measured: Measurements) -> EstimatesOfParts:
    """Return the estimates of each part from its measurements."""
    parts = plan.parts
    place = [None if one.merged else allocated_to(plan, one.allocation.columns) for one in measured.marginals]
    by_part = list(zip(place, measured.marginals, strict=True))
    levels = tuple(
        LevelEstimates(part, tuple(one for at, one in by_part if at == k)) for k, part in enumerate(parts.levels)
    )
    rest = tuple(one for at, one in by_part if at is None)
    counts, of_model = tuple(one for one in rest if not _has_amount(plan, one)), modelled(plan)
    model = None
    if of_model is not None:
        known = tuple(one for each in levels for one in _known(each, of_model))
        model = ModelledEstimates(of_model, replace(measured, marginals=counts), known)
    direct = rest if model is None else tuple(one for one in rest if _has_amount(plan, one))
    trees = [BoxTree(with_known_column(each, counts)) for each in measured.trees]
    boxes = tuple(HierarchicalEstimates(tree, plan.resolution) for tree in trees)
    unbiased = UnbiasedEstimates(plan, direct)
    return EstimatesOfParts(plan, boxes, levels, unbiased, model, tuple(map(BoxTree, measured.trees)))


def _known(levels: LevelEstimates, rest: Plan) -> Iterator[Measurement]:
    """Yield the total and single columns that follow from levels, as measurements for the model of the rest."""
    for columns in ((), *((name,) for name in rest.counted if name in levels.plan.resolution.others)):
        yield as_if_measured(columns, levels.estimate(columns), 2 / levels.variance(columns))


def _has_amount(plan: Plan, one: Measurement) -> bool:
    return plan.has_amount(one.allocation.columns)
