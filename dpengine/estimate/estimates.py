"""Measurements → what is believed of each table: estimates, intervals, and how wrong they typically are.

Three kinds, with the same questions. Where the tables themselves were measured, the estimate is the unbiased
least-squares one and its interval follows from the exact law of the noise. Where a model stands between, the
estimate is the model's; how far models are off no law says, so it was measured (`marginals.measurement.Audit`).
Where boxes of cells were measured, a cell that was not measured by itself may hold none or all of its box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.estimate.error_distribution import ErrorDistribution, least_squares, table_error
from dpengine.marginals.box_tree import Tree
from dpengine.marginals.measurement import Allocation, Audit, Measurements
from dpengine.marginals.pairwise import Pairwise, fit
from dpengine.measure.strategy import ADAPTIVE
from dpengine.spec.plan import Plan

__all__ = ["Answers", "Boxed", "Modelled", "answers"]


TAIL = 4.0  # 95 in 100 errors of a model are within so many times their mean (benchmarks/accuracy.py: 3.3 at most)
POWERS = np.linspace(0.4, 1.0, 13)
CLEAR = 5.0  # times its noise: a sum that tells something by itself
EMPTY = 0.05  # smaller expected counts tell nothing more of their errors
LEAST = 1.0  # an interval of a model spans this at least: a count it thinks below one half may be one


class Answers(Protocol):
    """What is believed of a table, one axis a column."""

    def estimate(self, table: Columns) -> Floats:
        """The expected count of each cell."""

    def around(self, table: Columns) -> tuple[Floats, Floats]:
        """The middle of each cell's interval, and its half-width (one for all, or one each)."""

    def half_width(self, table: Columns) -> float:
        """The half-width of the widest interval of a cell."""

    def typical(self, table: Columns) -> float:
        """The mean absolute error of a cell's estimate."""


@dataclass(frozen=True)
class _Unbiased:
    plan: Plan
    measured: Measurements

    def estimate(self, table: Columns) -> Floats:
        allocations = _allocations(self.measured)
        values = [measurement.values for measurement in self.measured.marginals]
        return _settled(least_squares(self.plan, allocations).estimate(table, values))

    def around(self, table: Columns) -> tuple[Floats, Floats]:
        return self.estimate(table), np.array(self.half_width(table))

    def half_width(self, table: Columns) -> float:
        return self._law(table).half_width()

    def typical(self, table: Columns) -> float:
        return self._law(table).mean_abs

    def _law(self, table: Columns) -> ErrorDistribution:
        return table_error(self.plan, _allocations(self.measured), table)


@dataclass(frozen=True)
class Modelled:
    """Answers from a model of pairs.

    The total and single columns were measured by themselves, so their intervals are the noise's. Those of larger
    tables are `TAIL` times the mean error that the audit found in cells of that size.
    """

    plan: Plan
    measured: Measurements

    @cached_property
    def model(self) -> Pairwise:
        sizes = {name: self.plan.column(name).size for name in sorted(self.plan.used)}
        return fit(sizes, self.measured.marginals)

    def estimate(self, table: Columns) -> Floats:
        return np.round(self.model.table(table), 3) + 0.0

    def around(self, table: Columns) -> tuple[Floats, Floats]:
        if len(table) < 2:
            whole = Measurements(tuple(one for one in self.measured.marginals if len(one.allocation.columns) < 2))
            return _alone(self.plan, whole, table)
        expected = self.estimate(table)
        return expected, np.maximum(LEAST, TAIL * self.mean_errors(expected))

    def half_width(self, table: Columns) -> float:
        return float(self.around(table)[1].max())

    def mean_errors(self, expected: Floats) -> Floats:
        """How far cells of the ``expected`` counts, in tables of two columns and more, are off in the mean."""
        if self.measured.audit is None:
            raise ValueError("a model of tables comes with an audit of them")
        c, power = _errors(self.measured.audit)
        mean: Floats = c * np.maximum(expected, EMPTY) ** power
        return mean

    def typical(self, table: Columns) -> float:
        if len(table) < 2:
            return float(self.around(table)[1].max()) / 3  # Laplace noise: 95 in 100 within 3 times its mean
        return float(self.mean_errors(self.estimate(table)).mean())


@dataclass(frozen=True)
class Boxed:
    """Answers from boxes of cells (`measure.hierarchical`)."""

    tree: Tree

    def estimate(self, table: Columns) -> Floats:
        return np.round(self.tree.estimate(table), 3) + 0.0

    def around(self, table: Columns) -> tuple[Floats, Floats]:
        columns = tuple(sorted(table))
        low, high = (end.transpose([columns.index(name) for name in table]) for end in self._bounds(columns))
        return (low + high) / 2, (high - low) / 2

    def half_width(self, table: Columns) -> float:
        return float(self.around(table)[1].max())

    def typical(self, table: Columns) -> float:
        return float(self.around(table)[1].mean()) / 3  # as of Laplace noise: 95 in 100 within 3 times its mean

    def _bounds(self, columns: Columns) -> tuple[Floats, Floats]:
        if columns not in self._known:
            self._known[columns] = self.tree.bounds(columns)
        return self._known[columns]

    @cached_property
    def _known(self) -> dict[Columns, tuple[Floats, Floats]]:
        return {}


def answers(plan: Plan, measured: Measurements) -> Answers:
    """What follows from the measurements of ``plan``."""
    if measured.boxes is not None:
        return Boxed(Tree(measured.boxes))
    return Modelled(plan, measured) if plan.strategy == ADAPTIVE else _Unbiased(plan, measured)


def _allocations(measured: Measurements) -> tuple[Allocation, ...]:
    return tuple(measurement.allocation for measurement in measured.marginals)


def _settled(values: Floats) -> Floats:
    """Values a hair off a whole number come from the order of summation, not from the data."""
    return np.where(np.abs(values - np.rint(values)) < 1e-6, np.rint(values), values) + 0.0


def _alone(plan: Plan, single: Measurements, table: Columns) -> tuple[Floats, Floats]:
    """The unbiased estimate from single columns and the total alone, and its half-width by the law of the noise."""
    merged: dict[Columns, list[int]] = {}
    for k, one in enumerate(single.marginals):
        merged.setdefault(one.allocation.columns, []).append(k)
    # A column measured twice is taken at its better measurement; the rest of ε it cost is not wasted on the model.
    best = [max(places, key=lambda k: single.marginals[k].allocation.epsilon) for places in merged.values()]
    chosen = Measurements(tuple(single.marginals[k] for k in best if single.marginals[k].allocation.columns))
    unbiased = _Unbiased(plan, chosen)
    return unbiased.estimate(table), np.array(unbiased.half_width(table))


def _errors(audit: Audit) -> tuple[float, float]:
    """c and g such that cells of expected count m are off by at most about c·m^g in the mean.

    The power is fitted to the audit's sums by least squares, since these have noise of one scale; c is then the
    largest that any size of cell shows whose sum stands clear of the noise.
    """
    sums, noise = audit.sums / audit.grain, float(audit.scale) / audit.grain
    size = audit.expected / np.maximum(audit.cells, 1)
    fits = []
    for power in POWERS:
        law = audit.cells * size**power
        norm = max(float(law @ law), 1e-9)
        c = max(float(law @ sums) / norm, 0.0)
        clear = (sums > CLEAR * noise) & (law > 0)
        c_each = np.divide(sums, law, out=np.zeros_like(sums), where=clear)
        fits.append(
            (float(((sums - c * law) ** 2).sum()), max(c + 2 * noise * math.sqrt(2 / norm), float(c_each.max())), power)
        )
    _, c, power = min(fits)
    return c, float(power)
