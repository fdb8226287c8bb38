"""From which part of a plan each table is estimated: functions of the plan and of the list of measured marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpengine.array_types import Columns
from dpengine.marginals.plan_levels import may_measure, measured_at
from dpengine.spec.plan import Plan

__all__ = ["allocated_to", "direct_marginals", "reads"]


def allocated_to(plan: Plan, columns: Columns) -> int | None:
    """Return which of the plan's sets of levels a measured marginal belongs to; None if to none."""
    return next((k for k, part in enumerate(plan.parts.levels) if may_measure(part, columns)), None)


def reads(plan: Plan, direct: Sequence[Columns], table: Columns) -> tuple[str, int]:
    """Return from which part a table is estimated, its kind and its place; `direct` are the other measured marginals.

    A table for ranges is read from its boxes, and a table of a set of levels from these. Others are read from what was
    measured directly or is modelled, where that tells them, or else from levels, tables with amounts, or boxes. The
    kind is *none* where nothing tells it.
    """
    parts, held, wanted = plan.parts, plan.resolution.held, {*table}
    modelled = parts.rest.marginals if parts.rest is not None and not parts.ranged else ()
    kinds = (
        ("boxes", [wanted == {*one} for one in parts.ranged]),
        ("levels", [wanted in map(set, part.marginals) for part in parts.levels]),
        ("direct", [any(wanted <= {*one} for one in direct if not plan.has_amount(one))]),
        ("model", [any(wanted <= {*one} for one in modelled)]),
        ("levels", [held(table, measured_at(part)[-1]) is not None for part in parts.levels]),
        ("direct", [any(wanted <= {*one} for one in direct)]),
        ("boxes", [held(table, one) is not None for one in parts.ranged]),
    )
    return next(((kind, told.index(True)) for kind, told in kinds if any(told)), ("none", 0))


def direct_marginals(plan: Plan, measured: Iterable[Columns]) -> list[Columns]:
    """Return the measured marginals that are no levels and that no model is fitted to."""
    modelled = plan.parts.rest is not None and not plan.ranged
    return [each for each in measured
            if allocated_to(plan, each) is None and (not modelled or plan.has_amount(each))]  # fmt: skip
