"""Check each measurement in a release file by itself: its price, its noise, and whether the plan asks for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.bundle.checks.choice_check import is_choice, wrong_purpose
from dpengine.bundle.estimator import is_adaptive
from dpengine.bundle.read import Manifest, MeasurementEntry
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
from dpengine.spec.domain import Category
from dpengine.spec.plan import Plan

__all__ = [
    "boxes_in", "marginals_in", "measured_columns", "merged_shape", "positive", "well_formed_marginals",
    "wrong_measurements",
]  # fmt: skip


def wrong_measurements(checked: Manifest, plan: Plan, searches: Sequence[Search]) -> Iterator[str]:
    """Check each measurement by itself, and that no quantiles were chosen twice."""
    chosen: set[Columns] = set()
    for position, entry in enumerate(checked.measurements, start=1):
        if entry.purpose == QUANTILES and not is_adaptive(plan) and checked.schema_version >= 6:
            faults = _wrong_choice(entry, plan)
            faults += [": it chooses the same quantiles again"] if tuple(entry.columns) in chosen else []
            chosen.add(tuple(entry.columns))
        elif entry.purpose == SEARCH:
            search = next((each for each in searches if [*each.columns] == entry.columns), None)
            faults = _wrong_search(entry, plan, search)
        else:
            faults = _wrong_table(entry, plan)
        yield from (f"manifest.json: measurement {position}{fault}" for fault in faults)


def _wrong_table(entry: MeasurementEntry, plan: Plan) -> list[str]:
    """Check a measured table; of an adaptive plan, also a private choice, the audit, or a tree of boxes."""
    allocation = _allocation(entry, plan)
    if isinstance(allocation, str):
        return [allocation]
    faults = _wrong_noise(entry, allocation, plan)
    if entry.shown_from is not None:
        faults.append(": shown_from is stated for a column whose values were not found")
    if entry.purpose is None and entry.merged_to is None:
        return faults
    if plan.has_amount(entry.columns):
        faults.append(": a table with an amount is measured whole, and for no other purpose")
    elif not (is_adaptive(plan) or is_choice(entry, plan)):
        faults.append(": a plan that is not adaptive measures tables whole, and for no other purpose")
    return faults


def _wrong_noise(entry: MeasurementEntry, allocation: Allocation, plan: Plan) -> list[str]:
    """Check scale, sensitivity, mechanism and cells of one measurement."""
    faults = []
    if positive(entry.scale) != allocation.scale:
        faults.append(f": scale is not sensitivity / epsilon, which is {exact_text(allocation.scale)}")
    if is_choice(entry, plan):  # not a marginal: a choice, the audit, a tree of boxes
        return faults + wrong_purpose(entry, plan)
    tally = plan.tallies[allocation.tally]
    if entry.sensitivity != tally.bound:
        noun = "rows" if tally.cells is None else "cells"
        faults.append(f": sensitivity {entry.sensitivity} does not protect a person with {tally.bound} {noun}")
    shape = plan.shape(allocation.columns) if entry.merged_to is None else merged_shape(entry, plan)
    if entry.mechanism != DISCRETE_LAPLACE or shape is None or entry.cells != math.prod(shape):
        faults.append(": mechanism or number of cells does not fit these columns")
    return faults


def _wrong_choice(entry: MeasurementEntry, plan: Plan) -> list[str]:
    """Check the scale, the sensitivity, the mechanism and the number of quantiles that were chosen privately."""
    *table, amount = entry.columns or [""]
    matching = (each for each in plan.marginals if {*each} == {*table} and len(each) == len(table))
    parts = next((parts for each in matching if (parts := plan.quantiles(each, amount))), ())
    if not parts or plan.has_distinct or plan.resolution.levels:
        return [": plan.yaml has no such quantiles to choose"]
    faults = _unprotected(entry, plan)
    if entry.mechanism != PERMUTE_AND_FLIP or entry.cells != plan.cells(tuple(table)) * len(parts):
        faults.append(": mechanism or number of quantiles does not fit plan.yaml")
    if entry.merged_to is not None or entry.units_per_row != 1 or entry.cells_per_person is not None:
        faults.append(": a choice of quantiles is not merged, shared or of persons")
    return faults


def _wrong_search(entry: MeasurementEntry, plan: Plan, search: Search | None) -> list[str]:
    """Check how the cells of a column were found: share of ε, scale, sensitivity, mechanism and number of counts."""
    share = next((plan.column(name).share for name in plan.found_columns if [name] == entry.columns), Fraction(0))
    epsilon, faults = positive(entry.epsilon), []
    if epsilon is None or epsilon != plan.epsilon * share:
        faults.append(": epsilon is not the share that plan.yaml gives")
    faults += _unprotected(entry, plan)
    if entry.mechanism != DISCRETE_LAPLACE or entry.merged_to is not None or entry.units_per_row != 1:
        faults.append(": mechanism does not fit this purpose")
    column = plan.column(entry.columns[0]) if entry.columns and entry.columns[0] in plan.found_columns else None
    if isinstance(column, Category) and column.among is not None:
        blank = FoundKeys.none(column.name, column.among, plan.epsilon, plan.unit.rows)
        if (entry.cells, entry.shown_from) != (blank.universe, blank.least):
            faults.append(f": there are {blank.universe} keys, shown from a count of {blank.least}, by plan.yaml")
    elif entry.shown_from is not None:
        faults.append(": shown_from is stated for bins, which are found from all counts")
    elif search is not None and entry.cells != search.values.size:
        faults.append(f": found.json holds {search.values.size:,} counts of boxes")
    return faults


def _unprotected(entry: MeasurementEntry, plan: Plan) -> list[str]:
    """Check that sensitivity and scale are those of a person's rows, where neither a table nor its units matter."""
    epsilon, rows = positive(entry.epsilon), plan.unit.rows
    if epsilon is not None and positive(entry.scale) == rows / epsilon and entry.sensitivity == rows:
        return []
    return [f": sensitivity or scale does not protect a person with {rows} rows"]


def boxes_in(checked: Manifest) -> list[MeasurementEntry]:
    """Return the entries of an adaptive plan about trees of boxes."""
    return [entry for entry in checked.measurements if entry.purpose not in (None, SEARCH) and entry.columns]


def measured_columns(checked: Manifest, plan: Plan) -> list[Columns]:
    """Return the columns of each measured marginal, except those not in `plan`: these are reported with their price."""
    released = set(plan.released)
    return [
        tuple(each.columns)
        for each in checked.measurements
        if each.purpose is None and released.issuperset(each.columns)
    ]


def well_formed_marginals(checked: Manifest, plan: Plan) -> list[Allocation]:
    """Return the marginals that were measured whole; none if one of them is not as it must be."""
    read = marginals_in(checked, plan)
    well_formed = [each for each in read if each is not None]
    return well_formed if len(well_formed) == len(read) else []


def marginals_in(checked: Manifest, plan: Plan) -> list[Allocation | None]:
    """Return the allocation of each marginal that was measured whole; None for one that is not as it must be."""
    read = (_allocation(entry, plan) for entry in checked.measurements if entry.purpose is None)
    return [None if isinstance(each, str) else each for each in read]


def _allocation(entry: MeasurementEntry, plan: Plan) -> Allocation | str:
    """Return what was measured at what ε, or what is wrong with it. Only an adaptive plan may measure no columns."""
    epsilon = positive(entry.epsilon)
    if epsilon is None:
        return ": epsilon is not a number above 0, in its shortest exact form"
    if not set(entry.columns) <= set(plan.released) or not (
        entry.columns or is_adaptive(plan) or is_choice(entry, plan)
    ):
        return ": its columns are not all in plan.yaml"
    if len(set(entry.columns)) < len(entry.columns):
        return ": it names a column twice"
    tally = _tally(entry, plan)
    if tally is None:
        return ": the number of cells per person, or the table, is not the one in plan.yaml"
    grain = plan.grain(entry.columns)
    if entry.units_per_row != grain:
        return f": units_per_row is not {grain:,}, as for these columns"
    return Allocation(tuple(entry.columns), epsilon, entry.sensitivity, grain, tally)


def _tally(entry: MeasurementEntry, plan: Plan) -> int | None:
    """Return the index of the tally that was measured; None if the plan has no such tally."""
    columns = set(entry.columns)
    for k, tally in enumerate(plan.tallies):
        of_table = tally.cells in (None, 1) or columns == set(tally.plan.marginals[0])
        if tally.cells == entry.cells_per_person and columns <= set(tally.plan.released) and of_table:
            return k
    return None


def merged_shape(entry: MeasurementEntry, plan: Plan) -> Sequence[int] | None:
    """Return how many cells of each column are left after merging; None if they cannot come from the column's own."""
    sizes, merged = plan.shape(tuple(entry.columns)), entry.merged_to or []
    fits = len(merged) == len(sizes) and all(0 < cells <= size for cells, size in zip(merged, sizes, strict=True))
    return merged if fits else None


def positive(text: str) -> Fraction | None:
    """Return `text` as an exact number, or None unless it is above 0 and written as `exact_text` writes it."""
    try:
        value = rational(text)
    except ValueError:
        return None
    return value if value > 0 and exact_text(value) == text else None
