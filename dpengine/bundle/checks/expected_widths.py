"""Derive from the measurements in a release file how its tables were estimated, and their half-widths."""

from __future__ import annotations

from collections.abc import Sequence

from dpengine.array_types import Columns, Floats
from dpengine.bundle.checks.choice_check import has_early_audit, stated_error
from dpengine.bundle.checks.measurement_check import measured_columns, merged_shape, well_formed_marginals
from dpengine.bundle.checks.model_check import OWN_NOISE_SINCE, ModelBounds, half_width
from dpengine.bundle.checks.width_check import AmountWidths
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import table_files
from dpengine.bundle.read import Manifest, TableEntry
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.level_sums import SumErrors
from dpengine.estimate.source_part import allocated_to, direct_marginals, source_part
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import measures_levels, of_counts
from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = [
    "EXACT_SINCE", "amount_widths", "exactly_known", "level_half_widths", "model_bounds", "tables_of_boxes",
    "tables_of_model", "with_shapes",
]  # fmt: skip

EXACT_SINCE = 7  # in earlier versions, half-widths of a model's tables had another meaning


def exactly_known(checked: Manifest, plan: Plan) -> list[TableEntry]:
    """Return the tables of an adaptive plan that follow from levels or from directly measured tables.

    The errors of the others depend on a model, or on boxes; the file gives only the number of boxes.
    """
    if not plan.in_parts:
        return []
    kinds = _kinds(checked, plan)
    return [entry for entry in checked.tables if kinds.get(tuple(entry.columns), ("", 0))[0] in ("levels", "direct")]


def tables_of_model(checked: Manifest, plan: Plan) -> set[Columns]:
    """Return the tables of two and more columns that are estimated from a model, and the total of several parts.

    Their intervals lie around their estimates.
    """
    if not plan.in_parts:
        return {each for each in plan.marginals if len(each) > 1} if estimator(plan) is Estimator.MODEL else set()
    return {table for table in _tables_of_kind("model", checked, plan) if len(table) > 1} | {()}


def tables_of_boxes(checked: Manifest, plan: Plan) -> set[Columns]:
    """Return the tables that are estimated from boxes."""
    if not plan.in_parts:
        return {*plan.published} if estimator(plan) is Estimator.BOXES else set()
    return _tables_of_kind("boxes", checked, plan)


def _tables_of_kind(part: str, checked: Manifest, plan: Plan) -> set[Columns]:
    return {table for table, (kind, _) in _kinds(checked, plan).items() if kind == part}


def _kinds(checked: Manifest, plan: Plan) -> dict[Columns, tuple[str, int]]:
    """Return, for each table except the total, the part of a plan from which it is estimated."""
    direct, model = direct_marginals(plan, measured_columns(checked, plan)), modelled(plan)
    return {table: source_part(plan, model, direct, table) for table in plan.marginals}


def level_half_widths(checked: Manifest, plan: Plan) -> dict[Columns, Floats]:
    """Return the half-widths of all cells of tables at several levels, as far as the measurements give them."""
    allocations = well_formed_marginals(checked, plan)
    parts = plan.parts.levels if plan.in_parts else [plan] if plan.resolution.levels else []
    kinds = _kinds(checked, plan) if plan.in_parts else dict.fromkeys(table_files(plan), ("levels", 0))
    half_widths: dict[Columns, Floats] = {}
    for k, part in enumerate(parts):
        of_part = [each for each in allocations if not plan.in_parts or allocated_to(plan, each.columns) == k]
        if measures_levels(part, of_part):
            errors = LevelErrors(part, of_counts(part, of_part))
            half_widths |= {table: errors.half_widths(table) for table, kind in kinds.items() if kind == ("levels", k)}
    if plan.finest is not plan and estimator(plan) is Estimator.LEAST_SQUARES and allocations:
        sums = SumErrors(plan, least_squares(plan.finest, allocations), allocations)
        half_widths |= {t: sums.half_widths(t) for t in plan.marginals if plan.resolution.finest_columns(t) != t}
    return half_widths


def amount_widths(checked: Manifest, plan: Plan) -> AmountWidths:
    """Return the check of the intervals of sums and means, as far as it is known how these were estimated."""
    direct = estimator(plan) is Estimator.LEAST_SQUARES
    if not plan.amounts(()) or plan.has_distinct or plan.in_parts:
        return AmountWidths(plan, (), counts=False)
    measured = well_formed_marginals(checked, plan)
    counts = direct and not (plan.resolution.levels and measures_levels(plan, measured))
    return AmountWidths(
        plan, measured if counts else [each for each in measured if plan.has_amount(each.columns)], counts=counts
    )


def model_bounds(checked: Manifest, plan: Plan) -> ModelBounds | None:
    """Return the bounds of the half-widths of a model's tables, if all tables are those of one model."""
    if estimator(plan) is not Estimator.MODEL or (checked.schema_version < EXACT_SINCE and has_early_audit(checked)):
        return None
    marginals = well_formed_marginals(checked, plan)
    merged = [entry for entry in checked.measurements if entry.merged_to is not None]
    if not marginals or any(merged_shape(entry, plan) is None for entry in merged):
        return None  # reported by `price_check`, like the next
    measured = with_shapes(checked, plan, marginals)
    if any(half_width(plan, (name,), measured) is None for name in plan.counted):
        return None
    return ModelBounds(plan, measured, stated_error(checked), pairs_alone=checked.schema_version < OWN_NOISE_SINCE)


def with_shapes(
    checked: Manifest, plan: Plan, marginals: Sequence[Allocation]
) -> list[tuple[Allocation, Sequence[int]]]:
    """Return the measured marginals of a model, each with the shape in which it was measured."""
    merged = [entry.merged_to for entry in checked.measurements if entry.purpose is None]
    return [
        (each, shape or plan.shape(each.columns))
        for each, shape in zip(marginals, merged, strict=True) if not plan.has_amount(each.columns)
    ]  # fmt: skip
