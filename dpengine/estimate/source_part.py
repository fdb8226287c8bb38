"""Find the part of a plan from which each table is estimated, given the measured marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpengine.array_types import Columns
from dpengine.marginals.plan_levels import may_measure, measured_at
from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = ["allocated_to", "direct_marginals", "source_part"]


def allocated_to(plan: Plan, columns: Columns) -> int | None:
    """Return the index of the plan's set of levels to which a measured marginal belongs; None if it belongs to none."""
    return next((k for k, part in enumerate(plan.parts.levels) if may_measure(part, columns)), None)


def source_part(plan: Plan, model: Plan | None, direct: Sequence[Columns], table: Columns) -> tuple[str, int]:
    """Return the kind and the index of the part from which a table is estimated.

    `model` is the plan of the tables on which a model draws (`marginals.plan_model`), and `direct` are the measured
    marginals outside of levels, boxes and it. A ranges table is read from its boxes, and a table of
    a set of levels from these. Others are read from direct measurements or from the model if these contain them, and
    otherwise from levels, tables with amounts, or boxes. The kind is *none* if nothing contains the table.
    """
    parts, finer, wanted = plan.parts, plan.resolution.finer_columns, {*table}
    of_model = model.marginals if model is not None else ()
    kinds = (  # a part does not know levels that only other parts use
        ("boxes", [wanted == {*one} for one in parts.ranged]),
        ("levels", [wanted in map(set, part.marginals) for part in parts.levels]),
        ("direct", [any(wanted <= {*one} for one in direct if not plan.has_amount(one))]),
        ("model", [any(wanted <= {*one} for one in of_model)]),
        (
            "levels",
            [
                wanted <= part.resolution.used and finer(table, measured_at(part)[-1]) is not None
                for part in parts.levels
            ],
        ),
        ("direct", [any(wanted <= {*one} for one in direct)]),
        ("boxes", [finer(table, one) is not None for one in parts.ranged]),
    )
    return next(((kind, contains.index(True)) for kind, contains in kinds if any(contains)), ("none", 0))


def direct_marginals(plan: Plan, measured: Iterable[Columns]) -> list[Columns]:
    """Return the measured marginals that do not belong to levels or to a model."""
    model = modelled(plan)
    return [each for each in measured
            if allocated_to(plan, each) is None and (model is None or plan.has_amount(each))]  # fmt: skip
