"""The workload of an adaptive release, and the state of its measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import PARTS, Allocation, Choice, Measurement
from dpengine.marginals.pairwise import Pair, Pairwise, fit
from dpengine.measure.measure import add_noise
from dpengine.spec.plan import Plan

__all__ = ["Run", "Workload"]

ExactMarginal = tuple[Columns, Ints, tuple[Ints, ...]]  # columns, exact counts, merged bins

MAX_AUDITED = 12  # tables


@dataclass(frozen=True)
class Workload:
    """The columns, pairs and tables of an adaptive release.

    `sizes` are the numbers of cells of all columns, names in sorted order. `pairs` may be measured. The error of the
    model is measured on the tables in `audited`. `whole` is a table of all columns, measured with the remaining ε.
    `weights` gives the importance of some columns and pairs, relative to the most important tables, at 1. `rows_about`
    is the number of rows that the plan states, if it does.
    """

    sizes: Mapping[str, int]
    pairs: Sequence[Pair]
    audited: Sequence[Columns] = ()
    whole: Columns = ()
    weights: Mapping[Columns, Fraction] = field(default_factory=dict)
    rows_about: int | None = None

    @classmethod
    def of(cls, plan: Plan) -> Workload:
        """Return the workload of `plan`; up to `MAX_AUDITED` tables, spread evenly, represent all in the audit."""
        pairs = sorted({pair for table in plan.marginals for pair in combinations(sorted(table), 2)})
        largest = maximal(plan.marginals)
        whole = largest[0] if len(largest) == 1 and len(plan.counted) > 1 else ()
        joint = [table for table in plan.marginals if len(table) > 1]
        audited = [whole] if whole else joint[:: max(1, -(-len(joint) // MAX_AUDITED))]
        sizes = {name: plan.column(name).size for name in sorted(plan.counted)}
        weights: dict[Columns, Fraction] = {}
        for table, weight in plan.weights.items():
            for part in [*((name,) for name in table), *combinations(sorted(table), 2)]:
                weights[part] = max(weights.get(part, Fraction(0)), weight / max(plan.weights.values()))
        return cls(sizes, pairs, audited, whole, weights, plan.rows_about)

    def weight(self, part: Columns) -> Fraction:
        """Return the importance of a column or pair: that of the most important table that has it, at most 1."""
        return self.weights.get(part, Fraction(1))

    @property
    def marginals(self) -> list[Columns]:
        """The marginals whose exact counts are needed."""
        return list(dict.fromkeys([*((name,) for name in self.sizes), *self.pairs, *self.audited]))


@dataclass
class Run:
    """The state of a measurement: the parts of ε that are left, the measurements, and the choices."""

    workload: Workload
    counts: Mapping[Columns, Ints]
    epsilon: Fraction
    sensitivity: int
    left: int = PARTS
    measured: list[Measurement] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    fitted: tuple[tuple[int, bool], Pairwise] | None = None  # the last model, and how many measurements it has

    def take(self, parts: float) -> Fraction:
        """Take about `parts` of ε, at least one and at most what is left; return this amount.

        Raises ArithmeticError if nothing is left: no part is taken twice.
        """
        taken = min(max(1, int(parts)), self.left)
        if taken == 0:
            raise ArithmeticError("all of ε has been taken")
        self.left -= taken
        return self.epsilon * taken / PARTS

    def noise(self, parts: float) -> float:
        """Return the scale of the noise in a marginal measured with `parts` of ε."""
        return self.sensitivity * PARTS / (float(self.epsilon) * max(parts, 1.0))

    def measure(self, columns: Columns, exact: Ints, parts: float, merged: tuple[Ints, ...] = ()) -> Measurement:
        """Measure one marginal with `parts` of ε."""
        self.measured.append(add_noise(exact, Allocation(columns, self.take(parts), self.sensitivity), merged))
        return self.measured[-1]

    def measure_all(self, marginals: Sequence[ExactMarginal], weights: Floats, parts: int) -> None:
        """Measure marginals with all of `parts`, divided by `weights`.

        Weights are rounded to powers of ∜2, since each different noise scale takes time to set up.
        """
        coarse = 2 ** (np.round(4 * np.log2(weights)) / 4)
        shares = np.maximum(1, parts * coarse / coarse.sum()).astype(np.int64)
        shares[0] += max(0, parts - int(shares.sum()))
        for (columns, exact, merged), share in zip(marginals, shares, strict=True):
            self.measure(columns, exact, float(share), merged)

    def measure_columns(self, parts: int) -> None:
        """Measure every single column, with parts of ε in proportion to the square roots of their weighted cells."""
        columns: list[ExactMarginal] = [((name,), self.counts[name,], ()) for name in self.workload.sizes]
        weights = np.sqrt([float(self.workload.weight((name,))) for name in self.workload.sizes])
        self.measure_all(columns, self.roots * weights, parts)

    @property
    def roots(self) -> Floats:
        """Square roots of the numbers of cells of all columns."""
        return np.sqrt([float(size) for size in self.workload.sizes.values()])

    def model(self, *, nearby: bool = False) -> Pairwise:
        """Fit the model to everything measured so far, or return the last one if nothing new was measured."""
        state = len(self.measured), nearby
        if self.fitted is None or self.fitted[0] != state:
            self.fitted = state, fit(self.workload.sizes, self.measured, nearby=nearby)
        return self.fitted[1]
