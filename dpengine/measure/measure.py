"""Exact counts + noise → measurements: with `measure.adaptive`, where private numbers meet noise.

Before this line everything about rows is exact and private; after it, everything is noisy and public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from dpengine.array_types import Columns, Ints
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Allocation, Measurement, Measurements
from dpengine.marginals.pairwise import Pair
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.hierarchical import Axis, measure_boxes
from dpengine.measure.strategy import ADAPTIVE, choose, settled
from dpengine.noise.laplace import discrete_laplace
from dpengine.spec.plan import Plan

__all__ = ["add_noise", "measure", "wanted"]


def wanted(plan: Plan) -> list[Columns]:
    """The marginals that `measure` asks the exact counts of, which the plan alone decides."""
    if settled(plan).strategy != ADAPTIVE:
        return [allocation.columns for allocation in choose(plan)]
    if plan.ranged is not None:
        return [plan.ranged]
    return list(dict.fromkeys([*((name,) for name in sorted(plan.used)), *_pairs(plan), *_audited(plan)]))


def measure(
    plan: Plan,
    counted: Callable[[Sequence[Columns]], Sequence[Ints]],
    tell: Callable[[str], None] = lambda stage: None,
) -> Measurements:
    """Measure what the plan's strategy says, for ``plan.epsilon`` in all.

    ``counted`` gives the exact counts of a list of marginals, one axis a column; it is called once, with those
    `wanted`. ``tell`` is called with the name of each stage.
    """
    exact = counted(wanted(plan))
    if settled(plan).strategy != ADAPTIVE:
        return Measurements(add_noise(exact, choose(plan)))
    if plan.ranged is not None:
        tell("measuring boxes of cells")
        axes = [_axis(plan, name) for name in plan.ranged]
        return Measurements((), boxes=measure_boxes(plan.ranged, axes, exact[0], plan.epsilon, plan.unit.rows))
    sizes = {name: plan.column(name).size for name in sorted(plan.used)}
    counts = dict(zip(wanted(plan), exact, strict=True))
    return measure_adaptively(
        sizes,
        _pairs(plan),
        counts,
        plan.epsilon,
        plan.unit.rows,
        audited=_audited(plan),
        whole=_whole(plan),
        tell=tell,
    )


def _pairs(plan: Plan) -> list[Pair]:
    return sorted({pair for table in plan.marginals for pair in combinations(sorted(table), 2)})


def _whole(plan: Plan) -> Columns:
    """The one table that all are sums of, where there is one of several columns."""
    largest = maximal(plan.marginals)
    return largest[0] if len(largest) == 1 and len(plan.used) > 1 else ()


def _audited(plan: Plan) -> list[Columns]:
    return [_whole(plan)] if _whole(plan) else _some([table for table in plan.marginals if len(table) > 1])


def _axis(plan: Plan, name: str) -> Axis:
    """Where runs of cells begin that are measured apart: *other*, *missing*, and values without order."""
    column = plan.column(name)
    ordered = len(column.declared) if column.kind in ("number", "date") else 1
    return (0, *range(ordered, column.size + 1))


def add_noise(counts: Sequence[Ints], allocations: Sequence[Allocation]) -> tuple[Measurement, ...]:
    """Add to each cell of each marginal independent discrete Laplace noise of the share's scale.

    With L1 sensitivity Δ and scale Δ/ε_S each marginal is ε_S-differentially private (Ghosh, Roughgarden
    & Sundararajan 2009; Dwork & Roth 2014, Theorem 3.6), and together they are Σ ε_S-private.
    """
    return tuple(
        Measurement(allocation, exact + discrete_laplace(allocation.scale, exact.shape))
        for exact, allocation in zip(counts, allocations, strict=True)
    )


MAX_AUDITED = 12


def _some(tables: Sequence[Columns]) -> list[Columns]:
    """Up to `MAX_AUDITED` of the tables, spread evenly: whose errors stand for those of all."""
    step = max(1, -(-len(tables) // MAX_AUDITED))
    return list(tables[::step])
