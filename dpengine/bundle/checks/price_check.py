"""Check the measurements in a release file: their costs, their noise, and the errors of tables that follow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dpengine.array_types import Columns, Floats
from dpengine.bundle.checks.choice_check import has_early_audit, stated_error, wrong_audit, wrong_purpose
from dpengine.bundle.checks.division_check import wrong_division, wrong_parts
from dpengine.bundle.checks.model_check import OWN_NOISE_SINCE, ModelBounds, half_width
from dpengine.bundle.checks.width_check import AmountWidths
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.bundle.promises import table_files
from dpengine.bundle.read import Manifest, MeasurementEntry, TableEntry
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.level_sums import SumErrors
from dpengine.estimate.source_part import allocated_to, direct_marginals, source_part
from dpengine.estimate.table_errors import table_errors
from dpengine.exact import exact_text, rational
from dpengine.marginals.measurement import (
    DISCRETE_LAPLACE,
    PERMUTE_AND_FLIP,
    QUANTILES,
    SEARCH,
    Allocation,
    FoundKeys,
    Search,
)
from dpengine.marginals.plan_levels import measures_levels, of_counts
from dpengine.marginals.plan_model import modelled
from dpengine.spec.domain import Category
from dpengine.spec.plan import Plan

__all__ = [
    "EXACT_SINCE", "amount_widths", "exactly_known", "level_half_widths", "measured_columns", "model_bounds",
    "tables_of_boxes", "tables_of_model", "wrong_prices",
]  # fmt: skip

EXACT_SINCE = 7  # in earlier versions, half-widths of a model's tables had another meaning
IN_SUMS = 0.9  # times the half-width of one draw of noise, of which half-widths may be rounded up: that of any sum
_OTHER_HALF_WIDTH = "manifest.json: half_width_95 of {file} does not follow from the measurements"


def wrong_prices(checked: Manifest, plan: Plan, searches: Sequence[Search]) -> list[str]:
    """Return what is wrong with the measurements, each by itself and all together.

    Each must have the noise that its price and its sensitivity ask for, their prices must add up to ε, and the
    half-widths of tables must follow from them. `searches` are those in the file for the cells of `plan.finds`.
    """
    adaptive, published, plan = estimator(plan) is not Estimator.LEAST_SQUARES, plan, plan.finest
    faults = list(_wrong_entries(checked, plan, searches, adaptive=adaptive))
    searched = [entry.columns for entry in checked.measurements if entry.purpose == SEARCH]
    if searched != [[name] for name in plan.finds]:
        faults.append("manifest.json: each column whose cells were found is to be searched once")
    spent = sum((_positive(entry.epsilon) or Fraction(0) for entry in checked.measurements), Fraction(0))
    if spent != plan.epsilon:
        faults.append(f"manifest.json: the ε of all measurements does not add up to {exact_text(plan.epsilon)}")
    whole = [each for each in _allocations(checked, plan, adaptive=adaptive) if each is not None]
    if not faults:
        chosen = (each for each in checked.measurements if each.purpose == QUANTILES)
        faults += wrong_division(plan, whole, [(tuple(each.columns), rational(each.epsilon)) for each in chosen])
    if not adaptive:
        return faults + list(_wrong_coverage(checked, published, whole, sound=not faults))
    faults += [*_wrong_parts(plan, whole), *_wrong_boxes(checked, plan.ranged, plan.unit.rows)]
    if not faults:
        boxes = [each for each in checked.measurements if each.purpose not in (None, SEARCH) and each.columns]
        faults += wrong_parts(plan, whole, [(tuple(each.columns), rational(each.epsilon)) for each in boxes])
    return faults or [
        *wrong_audit(checked, plan),
        *_wrong_columns(checked, published, whole),
        *_wrong_half_widths(exactly_known(checked, plan), plan, whole),
    ]


def _wrong_entries(checked: Manifest, plan: Plan, searches: Sequence[Search], *, adaptive: bool) -> Iterator[str]:
    """Check each measurement by itself, and that no quantiles were chosen twice."""
    chosen: set[Columns] = set()
    for position, entry in enumerate(checked.measurements, start=1):
        if entry.purpose == QUANTILES and not adaptive and checked.schema_version >= 6:
            faults = _wrong_choice(entry, plan)
            faults += [": it chooses the same quantiles again"] if tuple(entry.columns) in chosen else []
            chosen.add(tuple(entry.columns))
        elif entry.purpose == SEARCH:
            search = next((each for each in searches if [*each.columns] == entry.columns), None)
            faults = _wrong_search(entry, plan, search)
        else:
            faults = _wrong_table(entry, plan, adaptive=adaptive)
        yield from (f"manifest.json: measurement {position}{fault}" for fault in faults)


def _wrong_table(entry: MeasurementEntry, plan: Plan, *, adaptive: bool) -> list[str]:
    """Check a measured table; of an adaptive plan, also a private choice, the audit, or a tree of boxes."""
    allocation = _allocation(entry, plan, adaptive=adaptive)
    if isinstance(allocation, str):
        return [allocation]
    faults = _wrong_noise(entry, allocation, plan, adaptive=adaptive)
    if entry.shown_from is not None:
        faults.append(": only found values are shown from a noisy count on")
    if entry.purpose is None and entry.merged_to is None:
        return faults
    if plan.has_amount(entry.columns):
        faults.append(": a table with an amount is measured whole, and for no other purpose")
    elif not adaptive:
        faults.append(": a plan that is not adaptive measures tables whole, and for no other purpose")
    return faults


def _wrong_columns(checked: Manifest, plan: Plan, whole: Sequence[Allocation]) -> Iterator[str]:
    """Check that a model has its columns from measured marginals, and their half-widths, if all is of one model."""
    known = {name for each in whole for name in each.columns}
    for name in sorted({name for table in tables_of_model(checked, plan.finest) for name in table} - known):
        yield f"manifest.json: column {name} lies within no measured marginal"
    if estimator(plan) is not Estimator.MODEL:
        return
    measured, exact = _with_shapes(checked, plan, whole), checked.schema_version >= EXACT_SINCE
    for entry in (each for each in checked.tables if len(each.columns) < 2):
        wanted = half_width(plan, tuple(entry.columns), measured)
        if exact:
            fits = wanted is not None and _is_near(entry.half_width_95, wanted)
        else:
            fits = wanted is None or entry.half_width_95 >= IN_SUMS * (wanted - 1)
        if not fits:
            yield _OTHER_HALF_WIDTH.format(file=entry.file)


def _with_shapes(checked: Manifest, plan: Plan, whole: Sequence[Allocation]) -> list[tuple[Allocation, Sequence[int]]]:
    """Return the measured marginals of a model, each with the shape in which it was measured."""
    merged = [entry.merged_to for entry in checked.measurements if entry.purpose is None]
    return [
        (each, shape or plan.shape(each.columns))
        for each, shape in zip(whole, merged, strict=True) if not plan.has_amount(each.columns)
    ]  # fmt: skip


def model_bounds(checked: Manifest, plan: Plan) -> ModelBounds | None:
    """Return the bounds of the half-widths of a model's tables, if all tables are those of one model."""
    if estimator(plan) is not Estimator.MODEL or (checked.schema_version < EXACT_SINCE and has_early_audit(checked)):
        return None
    whole = _whole_marginals(checked, plan, adaptive=True)
    merged = [entry for entry in checked.measurements if entry.merged_to is not None]
    if not whole or any(_merged_shape(entry, plan) is None for entry in merged):
        return None  # this and the next are reported where prices are checked
    measured = _with_shapes(checked, plan, whole)
    if any(half_width(plan, (name,), measured) is None for name in plan.counted):
        return None
    return ModelBounds(plan, measured, stated_error(checked), pairs_alone=checked.schema_version < OWN_NOISE_SINCE)


def _wrong_parts(plan: Plan, whole: Sequence[Allocation]) -> Iterator[str]:
    """Check that what an adaptive plan measures directly was measured once: levels, tables, and those with amounts."""
    place = [allocated_to(plan, each.columns) if plan.in_parts else None for each in whole]
    for k, part in enumerate(plan.parts.levels if plan.in_parts else ()):
        if not measures_levels(part, [each for each, at in zip(whole, place, strict=True) if at == k]):
            name = part.resolution.column
            yield f"manifest.json: what is measured is not the levels of {name}, each with the columns beside them"
    rest = plan.parts.rest if plan.in_parts and modelled(plan) is None else None
    wanted = [*(table for table in plan.supports if plan.has_amount(table)), *(rest.supports if rest else ())]
    direct = [each for each, at in zip(whole, place, strict=True)
              if at is None and (rest is not None or plan.has_amount(each.columns))]  # fmt: skip
    measured = [frozenset(each.columns) for each in direct]
    for table in dict.fromkeys(wanted):
        if not any(each >= {*table} for each in measured):
            yield f"manifest.json: table {' × '.join(table)} lies within no measured marginal"
    if len({*measured}) < len(measured):
        yield "manifest.json: the same columns are measured twice"


def _wrong_boxes(checked: Manifest, ranged: Sequence[Columns], rows: int) -> list[str]:
    """Check that the tables for ranges were measured in boxes, and nothing else was."""
    boxes = [entry for entry in checked.measurements if entry.purpose not in (None, SEARCH) and entry.columns]
    measured = [(tuple(entry.columns), entry.sensitivity, entry.mechanism) for entry in boxes]
    if not ranged or measured == [(table, rows, DISCRETE_LAPLACE) for table in ranged]:
        return []
    name = " and ".join(" × ".join(table) for table in ranged)
    return [f"manifest.json: table {name}, and no other, is to be measured once in boxes"]


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
    return {table for table in _of_kind("model", checked, plan) if len(table) > 1} | {()}


def tables_of_boxes(checked: Manifest, plan: Plan) -> set[Columns]:
    """Return the tables that are estimated from boxes."""
    if not plan.in_parts:
        return {*plan.marginals, ()} if estimator(plan) is Estimator.BOXES else set()
    return _of_kind("boxes", checked, plan)


def _of_kind(wanted: str, checked: Manifest, plan: Plan) -> set[Columns]:
    return {table for table, (kind, _) in _kinds(checked, plan).items() if kind == wanted}


def measured_columns(checked: Manifest, plan: Plan) -> list[Columns]:
    """Return the columns of each measured marginal, except those not in `plan`: these are reported with their price."""
    known = set(plan.released)
    return [
        tuple(each.columns) for each in checked.measurements if each.purpose is None and known.issuperset(each.columns)
    ]


def _kinds(checked: Manifest, plan: Plan) -> dict[Columns, tuple[str, int]]:
    """Return, for each table except the total, the part of a plan from which it is estimated."""
    direct, model = direct_marginals(plan, measured_columns(checked, plan)), modelled(plan)
    return {table: source_part(plan, model, direct, table) for table in plan.marginals}


def _allocation(entry: MeasurementEntry, plan: Plan, *, adaptive: bool) -> Allocation | str:
    """Return what was measured at what ε, or what is wrong with it. Only an adaptive plan may measure no columns."""
    epsilon = _positive(entry.epsilon)
    if epsilon is None:
        return ": epsilon is not a number above 0, in its shortest exact form"
    if not set(entry.columns) <= set(plan.released) or not (entry.columns or adaptive):
        return ": its columns are not all in plan.yaml"
    if len(set(entry.columns)) < len(entry.columns):
        return ": it names a column twice"
    tally = _tally(entry, plan)
    if tally is None:
        return ": it counts persons in more cells, or other ones, than plan.yaml says"
    grain = plan.grain(entry.columns)
    if entry.units_per_row != grain:
        return f": a row is not {grain:,} units of these columns"
    return Allocation(tuple(entry.columns), epsilon, entry.sensitivity, grain, tally)


def _tally(entry: MeasurementEntry, plan: Plan) -> int | None:
    """Return the index of the tally that was measured; None if the plan has no such tally."""
    columns = set(entry.columns)
    for k, tally in enumerate(plan.tallies):
        of_table = tally.cells in (None, 1) or columns == set(tally.plan.marginals[0])
        if tally.cells == entry.cells_per_person and columns <= set(tally.plan.released) and of_table:
            return k
    return None


def _wrong_noise(entry: MeasurementEntry, allocation: Allocation, plan: Plan, *, adaptive: bool) -> list[str]:
    """Check scale, sensitivity, mechanism and cells of one measurement."""
    faults = []
    if _positive(entry.scale) != allocation.scale:
        faults.append(f": scale is not sensitivity / epsilon, which is {exact_text(allocation.scale)}")
    if adaptive and entry.purpose is not None:  # not a marginal: a choice, the audit, a tree of boxes
        return faults + wrong_purpose(entry, plan)
    tally = plan.tallies[allocation.tally]
    if entry.sensitivity != tally.bound:
        noun = "rows" if tally.cells is None else "cells"
        faults.append(f": sensitivity {entry.sensitivity} does not protect a person with {tally.bound} {noun}")
    shape = plan.shape(allocation.columns) if entry.merged_to is None else _merged_shape(entry, plan)
    if entry.mechanism != DISCRETE_LAPLACE or shape is None or entry.cells != math.prod(shape):
        faults.append(": mechanism or number of cells does not fit these columns")
    return faults


def _merged_shape(entry: MeasurementEntry, plan: Plan) -> Sequence[int] | None:
    """Return how many cells of each column are left after merging; None if they cannot come from the column's own."""
    sizes, left = plan.shape(tuple(entry.columns)), entry.merged_to or []
    fits = len(left) == len(sizes) and all(0 < some <= size for some, size in zip(left, sizes, strict=True))
    return left if fits else None


def _wrong_choice(entry: MeasurementEntry, plan: Plan) -> list[str]:
    """Check the scale, the sensitivity, the mechanism and the number of quantiles that were chosen privately."""
    *table, amount = entry.columns or [""]
    matching = (each for each in plan.marginals if {*each} == {*table} and len(each) == len(table))
    parts = next((parts for each in matching if (parts := plan.quantiles(each, amount))), ())
    if not parts or plan.tallied or plan.resolution.levels:
        return [": plan.yaml has no such quantiles to choose"]
    epsilon, faults = _positive(entry.epsilon), []
    if epsilon is None or _positive(entry.scale) != plan.unit.rows / epsilon or entry.sensitivity != plan.unit.rows:
        faults.append(f": sensitivity or scale does not protect a person with {plan.unit.rows} rows")
    if entry.mechanism != PERMUTE_AND_FLIP or entry.cells != plan.cells(tuple(table)) * len(parts):
        faults.append(": mechanism or number of quantiles does not fit plan.yaml")
    if entry.merged_to is not None or entry.units_per_row != 1 or entry.cells_per_person is not None:
        faults.append(": a choice of quantiles is not merged, shared or of persons")
    return faults


def _wrong_search(entry: MeasurementEntry, plan: Plan, search: Search | None) -> list[str]:
    """Check how the cells of a column were found: share of ε, scale, sensitivity, mechanism and number of counts."""
    share = next((plan.column(name).share for name in plan.finds if [name] == entry.columns), Fraction(0))
    epsilon, faults = _positive(entry.epsilon), []
    if epsilon is None or epsilon != plan.epsilon * share:
        faults.append(": epsilon is not the share that plan.yaml gives")
    if epsilon is None or _positive(entry.scale) != plan.unit.rows / epsilon or entry.sensitivity != plan.unit.rows:
        faults.append(f": sensitivity or scale does not protect a person with {plan.unit.rows} rows")
    if entry.mechanism != DISCRETE_LAPLACE or entry.merged_to is not None or entry.units_per_row != 1:
        faults.append(": mechanism does not fit this purpose")
    column = plan.column(entry.columns[0]) if entry.columns and entry.columns[0] in plan.finds else None
    if isinstance(column, Category) and column.among is not None:
        none = FoundKeys.none(column.name, column.among, plan.epsilon, plan.unit.rows)
        if (entry.cells, entry.shown_from) != (none.universe, none.least):
            faults.append(f": {none.universe} keys and a least number of {none.least} follow from plan.yaml")
    elif entry.shown_from is not None:
        faults.append(": bins are found from all that was measured")
    elif search is not None and entry.cells != search.values.size:
        faults.append(f": found.json holds {search.values.size:,} counts of boxes")
    return faults


def _wrong_coverage(checked: Manifest, plan: Plan, marginals: list[Allocation], *, sound: bool) -> Iterator[str]:
    """Check that each table lies within a measured marginal and, if all else is `sound`, has the right half-width."""
    if len({(marginal.tally, frozenset(marginal.columns)) for marginal in marginals}) < len(marginals):
        sound = False
        yield "manifest.json: the same columns are measured twice"
    apart = bool(plan.resolution.levels) and not measures_levels(plan, marginals)
    for k, tally in enumerate(plan.finest.tallies):
        measured = [set(marginal.columns) for marginal in marginals if marginal.tally == k]
        for table in tally.plan.supports:
            if not (apart or plan.has_amount(table)):  # else it is measured at its own levels
                table = plan.resolution.finest(table)
            if not any(set(table) <= each for each in measured):
                sound = False
                yield f"manifest.json: table {' × '.join(table)} lies within no measured marginal"
    if not sound:
        return
    yield from _wrong_half_widths(checked.tables, plan, marginals)


def _wrong_half_widths(entries: Iterable[TableEntry], plan: Plan, marginals: list[Allocation]) -> Iterator[str]:
    """Check the half-widths of tables whose errors follow from these marginals alone."""
    error_of, published = table_errors(plan, marginals), {*plan.marginals, ()}
    for entry in entries:
        if tuple(entry.columns) not in published:
            continue  # which is reported where tables are compared with the plan
        if not _is_near(entry.half_width_95, error_of(tuple(entry.columns)).half_width()):
            yield _OTHER_HALF_WIDTH.format(file=entry.file)


def _is_near(stated: float, wanted: float) -> bool:
    """Return whether a half-width is the one that follows from the measurements, up to what other versions compute."""
    return math.isclose(stated, wanted, rel_tol=0.02, abs_tol=1e-9)


def _positive(text: str) -> Fraction | None:
    """Return `text` as an exact number, or None unless it is above 0 and written as `exact_text` writes it."""
    try:
        value = rational(text)
    except ValueError:
        return None
    return value if value > 0 and exact_text(value) == text else None


def level_half_widths(checked: Manifest, plan: Plan) -> dict[Columns, Floats]:
    """Return the half-widths of all cells of tables at several levels, as far as the measurements give them."""
    allocations = _whole_marginals(checked, plan, adaptive=plan.in_parts)
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
        half_widths |= {t: sums.half_widths(t) for t in plan.marginals if plan.resolution.finest(t) != t}
    return half_widths


def amount_widths(checked: Manifest, plan: Plan) -> AmountWidths:
    """Return the check of the intervals of sums and means, as far as it is known how these were estimated."""
    direct = estimator(plan) is Estimator.LEAST_SQUARES
    if not plan.amounts(()) or plan.tallied or plan.in_parts:
        return AmountWidths(plan, (), counts=False)
    measured = _whole_marginals(checked, plan, adaptive=not direct)
    counts = direct and not (plan.resolution.levels and measures_levels(plan, measured))
    return AmountWidths(
        plan, measured if counts else [each for each in measured if plan.has_amount(each.columns)], counts=counts
    )


def _whole_marginals(checked: Manifest, plan: Plan, *, adaptive: bool) -> list[Allocation]:
    """Return the marginals that were measured whole; none if one of them is not as it must be."""
    read = _allocations(checked, plan, adaptive=adaptive)
    known = [each for each in read if each is not None]
    return known if len(known) == len(read) else []


def _allocations(checked: Manifest, plan: Plan, *, adaptive: bool) -> list[Allocation | None]:
    """Return the allocation of each marginal that was measured whole; None for one that is not as it must be."""
    read = (_allocation(entry, plan, adaptive=adaptive) for entry in checked.measurements if entry.purpose is None)
    return [None if isinstance(each, str) else each for each in read]
