"""The strategy that chooses privately, while measuring, which pairs of columns to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.division import ASSUMED_ROWS
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import PERMUTE_AND_FLIP, Allocation, Choice, Measurements
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.allocation import allocate_amounts, check_rings
from dpengine.measure.measure import add_noise
from dpengine.measure.model_error import blank_audit
from dpengine.measure.rows_and_noise import is_sparse, noise_in_a_table
from dpengine.measure.strategy_base import DataDependent
from dpengine.measure.tables_or_model import TablesOrModel
from dpengine.measure.workload import Workload
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec.wording import portion
from dpengine.translation.catalogue import _, number

__all__ = ["Adaptive"]


@dataclass(frozen=True)
class Adaptive(DataDependent):
    """Measure single columns and privately chosen pairs, and a single table that holds all columns."""

    decided: bool = False  # by *auto*, not by the plan

    @property
    def why(self) -> str:
        plan, tables = self.plan, maximal(self.plan.estimated_tables)
        if self.decided and is_sparse(plan, tables):
            return _(
                "Adaptive: with about {rows} rows, noise would bury so many cells; so part of ε measures columns and "
                "pairs, the rest the whole table, and a model draws on all of these.",
                rows=number(plan.rows_about or ASSUMED_ROWS),
            )
        if self.decided:
            because = _(
                "Adaptive: measuring all {tables} tables would leave noise of about {noise} of all rows in each.",
                tables=number(len(tables)),
                noise=portion(noise_in_a_table(plan, tables)),
            )
            asked = _("A private answer decides whether they are measured all the same.")
            return because if self.question is None else f"{because} {asked}"
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

    @cached_property
    def question(self) -> TablesOrModel | None:
        """The question whether tables are measured in place of all this, if it is asked."""
        return TablesOrModel.of(self.plan)

    @property
    def marginals(self) -> Sequence[Columns]:
        asked = [] if self.question is None else self.question.marginals
        return list(dict.fromkeys([*self.workload.marginals, *asked, *(each.columns for each in self._for_amounts)]))

    def _check_tables(self) -> None:
        super()._check_tables()
        if any(each.scale_in_units > MAX_SCALE for each in self._for_amounts):
            raise PlanError(_("epsilon is too small for means at this step: raise it, or choose a larger step"))
        check_rings(self.plan)

    @property
    def epsilon_for_counts(self) -> Fraction:
        return self.plan.epsilon_for_tables - sum((each.epsilon for each in self._for_amounts), Fraction(0))

    @cached_property
    def _for_amounts(self) -> tuple[Allocation, ...]:
        return allocate_amounts(self.plan)

    @property
    def plan_id(self) -> str:
        """The identity of all tables, since pairs are chosen later; a single maximal table represents its sums."""
        tables = maximal(self.plan.estimated_tables)
        if len(tables) > 1:
            return self.plan.key
        return self.plan.identity("adaptive", *tables, *self.plan.weights_payload)

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        exact = dict(zip(self.marginals, counts, strict=True))
        amounts = tuple(add_noise(exact[each.columns], each) for each in self._for_amounts)
        epsilon, asked = self.epsilon_for_counts, tuple[Choice, ...]()
        if self.question is not None:
            better, choice = self.question.ask(exact, self.plan.unit.rows)
            if better:
                return Measurements(self.question.measure(exact), (choice,))
            epsilon, asked = epsilon - choice.epsilon, (choice,)
        measured = measure_adaptively(self.workload, exact, epsilon, self.plan.unit.rows)
        return replace(measured, marginals=(*measured.marginals, *amounts), choices=(*asked, *measured.choices))

    def blank(self) -> Measurements:
        workload, epsilon = self.workload, self.plan.epsilon_for_tables
        columns = [(), *((name,) for name in workload.sizes), *([workload.whole] if workload.whole else [])]
        choice = Choice("nothing", PERMUTE_AND_FLIP, epsilon, self.plan.unit.rows)
        audit = blank_audit(workload, epsilon, self.plan.unit.rows) if workload.audited else None
        amounts = (self._zeros(each.columns, each.epsilon) for each in self._for_amounts)
        return Measurements((*(self._zeros(each, epsilon) for each in columns), *amounts), (choice,), audit)
