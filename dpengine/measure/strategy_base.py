"""The base of all strategies: how a plan is measured, at a cost of exactly ε."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from dpengine.measure.allocation import allocate
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark

__all__ = ["MAX_ADAPTIVE_SCALE", "DataDependent", "Strategy"]

MAX_ADAPTIVE_SCALE = 1_000  # beyond it, even the total is meaningless, and there may be too many synthetic rows

_NAMES = {"auto": mark("Direct"), "direct": mark("Direct"),
          "optimised": mark("Optimised"), "adaptive": mark("Adaptive")}  # fmt: skip
CountMarginals = Callable[[Sequence[Columns]], Sequence[Ints]]  # returns exact counts, one axis for each column


@dataclass(frozen=True)
class Strategy(ABC):
    """How `plan` is measured; if *auto* chose *adaptive*, `plan` has that strategy here.

    A strategy is for the tables alone; cells are found by an earlier measurement (`measure.search`).
    """

    plan: Plan
    closed_form: ClassVar[bool]  # whether the distribution of every error follows from the plan

    @property
    def name(self) -> str:
        """The name of the plan's strategy, as a sentence begins with it; *auto* is *direct* once it is resolved."""
        return _(_NAMES[self.plan.strategy])

    @property
    @abstractmethod
    def why(self) -> str:
        """The strategy and the reason for it, in a sentence for people."""

    @property
    @abstractmethod
    def marginals(self) -> Sequence[Columns]:
        """The marginals whose exact counts are needed."""

    @property
    def tallies(self) -> Sequence[int] | None:
        """The index of the tally of each of `marginals`; None if there is only one tally."""
        return None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Marginals and their shares of ε, if known before measuring; otherwise none."""
        return ()

    @property
    @abstractmethod
    def plan_id(self) -> str:
        """The identity of a release in the ledger: plans that measure the same are one release, drawn once.

        Raises `PlanError` as `check` does.
        """

    def check(self) -> None:
        """Refuse a plan that cannot be measured, or whose counts or cells would be lost in noise.

        Costs nothing and needs no data. Raises `PlanError`.
        """
        for name in self.plan.found_columns:
            if self.plan.unit.rows / (self.plan.epsilon * self.plan.column(name).share) > MAX_ADAPTIVE_SCALE:
                raise PlanError(
                    _("epsilon is too small to find the cells of {column}: raise it, or state the cells", column=name)
                )
        self._check_tables()

    @abstractmethod
    def _check_tables(self) -> None:
        """Refuse tables that cannot be measured, or whose counts would be lost in noise. Raises `PlanError`."""

    def at(self, epsilon: object) -> Strategy:
        """Return the same strategy at another ε, even if *auto* would decide differently there."""
        return replace(self, plan=self.plan.at(epsilon))

    def measure(self, counted: CountMarginals) -> Measurements:
        """Measure the tables, for exactly `plan.epsilon_for_tables`.

        `counted` is called once, with `marginals`. The result is `plan.epsilon_for_tables`-differentially private for
        `plan.unit`, when one person is added or removed. No progress is reported: the progress of a measurement depends
        on its noise, which nobody may see before it is paid for.
        """
        measured = self._measure(counted(self.marginals))
        if measured.cost != self.plan.epsilon_for_tables:
            raise ArithmeticError("what was measured does not cost ε exactly; this is a fault of the program")
        return measured

    @abstractmethod
    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        """Measure exact `counts` of `marginals`."""

    @abstractmethod
    def blank(self) -> Measurements:
        """Return zeros in the form of the result of `measure`, without data or noise, for dry runs."""

    def _zeros(self, columns: Columns, epsilon: Fraction) -> Measurement:
        """Return one marginal of zeros."""
        values = np.zeros(self.plan.shape(columns), dtype=np.int64)
        return Measurement(allocate(self.plan, columns, epsilon), values)


class DataDependent(Strategy):
    """A strategy that depends on its own earlier measurements: its error is known only by simulation."""

    closed_form = False

    @property
    def epsilon_for_counts(self) -> Fraction:
        """The part of ε that is left for counts."""
        return self.plan.epsilon_for_tables

    def _check_tables(self) -> None:
        if self.plan.unit.rows / self.epsilon_for_counts > MAX_ADAPTIVE_SCALE:
            raise PlanError(_("epsilon is too small to choose what to measure: raise it, or use strategy: direct"))
