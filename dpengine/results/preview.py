"""Preview a release on the mock table, with noise of the real size, drawn afresh and free of charge."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dpengine.array_types import Columns, Ints
from dpengine.estimate.agreement import ModelAndTables
from dpengine.estimate.consistency import ConsistentTables
from dpengine.estimate.estimates import Estimates, UnbiasedEstimates, derive_estimates
from dpengine.marginals.fitting import round_to_total
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from dpengine.marginals.pairwise import Pairwise
from dpengine.measure.allocation import allocate
from dpengine.measure.measure import add_noise
from dpengine.measure.strategy import decide
from dpengine.measure.strategy_base import Strategy
from dpengine.noise.moments import nearby, scale_of, variance
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result, conclude
from dpengine.spec.plan import Plan

__all__ = ["preview", "preview_table"]


def preview(plan: Plan) -> Result:
    """Return a release of the mock table under `plan`.

    It takes neither a table nor a ledger. Raises `PlanError` if the plan cannot be measured.
    """
    strategy = decide(plan)
    strategy.check()
    return conclude(strategy.plan, _measured(strategy))


def preview_table(plan: Plan, table: Columns) -> Result:
    """Return a preview of one published `table`, with far less work if the plan has many.

    Its estimates, counts and intervals have the same distribution as in a whole preview, but there are no synthetic
    rows. If the errors of the plan can be computed beforehand, noise is drawn for `table` only, and no other table is
    available. Raises `PlanError` as `preview` does.
    """
    strategy = decide(plan)
    strategy.check()
    plan = strategy.plan
    if plan.amounts(()) or plan.resolution.chains or plan.has_distinct or (plan.ranged and not strategy.closed_form):
        return conclude(plan, _measured(strategy))
    estimates: Estimates
    if strategy.closed_form:
        measured = Measurements(_draw_for(plan, strategy.allocations, table))
        estimates = UnbiasedEstimates(plan, measured.marginals, strategy.allocations)
    else:
        measured = _measured(strategy)
        plan = measured.as_measured(plan)
        estimates = derive_estimates(plan, measured)
    fitted = estimates.fitted
    assert not isinstance(fitted, ModelAndTables), "a plan in parts was previewed as a whole"
    return _TablePreview(plan, measured, ConsistentTables(()), "", "", {}, derived=estimates, fitted=fitted)


def _measured(strategy: Strategy) -> Measurements:
    tallies = strategy.plan.tallies

    def counted(marginals: Sequence[Columns]) -> list[Ints]:
        tally_of = strategy.tallies or [0] * len(marginals)
        return [mock_counts(tallies[k].plan, table) for k, table in zip(tally_of, marginals, strict=True)]

    return strategy.measure(counted)


def _draw_for(plan: Plan, allocations: Sequence[Allocation], table: Columns) -> tuple[Measurement, ...]:
    """Draw noisy sums equivalent to all measured marginals for `table`: one for each set of columns shared with it.

    A marginal contributes its sums over the columns that are not shared; their variance is that of a cell times the
    number of cells added up. Marginals that share the same columns are equivalent to one whose precision is the sum of
    theirs. So every estimate has the variance that it has in a release (`marginals.least_squares`: the weight of a
    component depends on these sums alone).
    """
    sharing: dict[Columns, list[Allocation]] = defaultdict(list)
    for each in allocations:
        sharing[tuple(name for name in table if name in each.columns)].append(each)
    drawn = []
    for shared, marginals in sharing.items():
        allocation = marginals[0]
        if len(marginals) > 1 or len(allocation.columns) > len(shared):
            sums = (variance(each.scale) * plan.cells(each.columns) / plan.cells(shared) for each in marginals)
            scale = nearby(scale_of(1 / math.fsum(1 / each for each in sums)))
            allocation = allocate(plan, shared, plan.unit.rows / scale)
        drawn.append(add_noise(mock_counts(plan, shared), replace(allocation, columns=shared)))
    return tuple(drawn)


@dataclass(frozen=True, kw_only=True, repr=False)
class _TablePreview(Result):
    """A preview without synthetic rows, which rounds the counts of a table on demand."""

    derived: Estimates
    fitted: ConsistentTables | Pairwise

    @cached_property
    def estimates(self) -> Estimates:
        return self.derived

    def counts(self, table: Columns) -> Ints:
        if isinstance(self.fitted, ConsistentTables):
            return self.fitted.table(table)
        return round_to_total(self.fitted.table(table), round(self.fitted.total))
