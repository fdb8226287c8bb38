"""Check what a release file says of its measurements: what each cost, its noise, and how far off tables are by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from dpengine.array_types import Columns, Floats
from dpengine.bundle.promises import estimator, table_files
from dpengine.bundle.read import Manifest, MeasurementEntry, TableEntry
from dpengine.bundle.wording import Estimator
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.table_errors import table_error
from dpengine.exact import exact_text, rational
from dpengine.marginals.measurement import DISCRETE_LAPLACE, PERMUTE_AND_FLIP, Allocation
from dpengine.marginals.plan_levels import measures_levels, of_counts
from dpengine.spec.plan import Plan

__all__ = ["beside_boxes", "level_half_widths", "wrong_prices"]


def wrong_prices(checked: Manifest, plan: Plan) -> list[str]:
    """Check that the measurements cost what they say, together cost ε, and give each table its half-width."""
    faults: list[str] = []
    spent = Fraction(0)
    marginals: list[Allocation] = []
    whole: list[Allocation] = []  # without choices, the audit and boxes
    adaptive = estimator(plan) is not Estimator.LEAST_SQUARES
    for position, entry in enumerate(checked.measurements, start=1):
        allocation, wrong = _allocation(entry, plan, adaptive=adaptive)
        if allocation is not None:
            spent += allocation.epsilon
            wrong += _wrong_noise(entry, allocation, plan, adaptive=adaptive)
            if not (entry.purpose is None and entry.merged_to is None):
                if plan.has_amount(entry.columns):
                    wrong.append(": a table with an amount is measured whole, and for no other purpose")
                elif not adaptive:
                    wrong.append(": a plan that is not adaptive measures tables whole, and for no other purpose")
            marginals.append(allocation)
            whole += [allocation] if entry.purpose is None else []
        faults += [f"manifest.json: measurement {position}{fault}" for fault in wrong]
    if spent != plan.epsilon:
        faults.append(f"manifest.json: the ε of all measurements does not add up to {exact_text(plan.epsilon)}")
    if not adaptive:
        return faults + list(_wrong_coverage(checked, plan, marginals, sound=not faults))
    together = estimator(plan) is Estimator.TOGETHER
    direct = [each for each in whole if together or plan.has_amount(each.columns)]
    measured = [frozenset(each.columns) for each in direct]
    faults += [
        f"manifest.json: table {' × '.join(table)} lies within no measured marginal"
        for table in plan.supports
        if (plan.has_amount(table) or (together and not {*table} <= {*(plan.ranged or ())}))
        and not any(each >= {*table} for each in measured)
    ]
    faults += ["manifest.json: the same columns are measured twice"] if len({*measured}) < len(measured) else []
    if plan.ranged is not None:
        faults += _wrong_boxes(checked, plan.ranged, plan.unit.rows)
    return faults + ([] if faults else list(_wrong_half_widths(beside_boxes(checked, plan), plan, direct)))


def _wrong_boxes(checked: Manifest, ranged: Columns, rows: int) -> list[str]:
    """Check that the table for ranges was measured in boxes, and nothing else was."""
    boxes = [entry for entry in checked.measurements if entry.purpose is not None]
    if [(tuple(entry.columns), entry.sensitivity, entry.mechanism) for entry in boxes] == [
        (ranged, rows, DISCRETE_LAPLACE)
    ]:
        return []
    return [f"manifest.json: table {' × '.join(ranged)}, and no other, is to be measured once in boxes"]


def beside_boxes(checked: Manifest, plan: Plan) -> list[TableEntry]:
    """Return the tables beside one for ranges that follow from what was measured directly (`estimate.beside_ranges`).

    How far off the others are depends on the boxes, of which the file says only how many there are.
    """
    if estimator(plan) is not Estimator.TOGETHER:
        return []
    direct = [{*entry.columns} for entry in checked.measurements if entry.purpose is None]
    return [
        entry
        for entry in checked.tables
        if entry.columns
        and {*entry.columns} != {*(plan.ranged or ())}
        and any({*entry.columns} <= each for each in direct)
    ]


def _allocation(entry: MeasurementEntry, plan: Plan, *, adaptive: bool) -> tuple[Allocation | None, list[str]]:
    """Return what was measured at what ε, or what is wrong with it. Only an adaptive plan may measure no columns."""
    epsilon = _positive(entry.epsilon)
    if epsilon is None:
        return None, [": epsilon is not a number above 0"]
    if not set(entry.columns) <= set(plan.released) or not (entry.columns or adaptive):
        return None, [": its columns are not all in plan.yaml"]
    if len(set(entry.columns)) < len(entry.columns):
        return None, [": it names a column twice"]
    tally = _tally(entry, plan)
    if tally is None:
        return None, [": it counts persons in more cells, or other ones, than plan.yaml says"]
    grain = plan.grain(entry.columns)
    if entry.units_per_row != grain:
        return None, [f": a row is not {grain:,} units of these columns"]
    return Allocation(tuple(entry.columns), epsilon, entry.sensitivity, grain, tally), []


def _tally(entry: MeasurementEntry, plan: Plan) -> int | None:
    """Return the place of the tally that was measured; None if the plan has none that counts so."""
    return next(
        (
            k
            for k, tally in enumerate(plan.tallies)
            if tally.cells == entry.cells_per_person
            and set(entry.columns) <= set(tally.plan.released)
            and (tally.cells in (None, 1) or set(entry.columns) == set(tally.plan.marginals[0]))
        ),
        None,
    )


def _wrong_noise(entry: MeasurementEntry, allocation: Allocation, plan: Plan, *, adaptive: bool) -> list[str]:
    """Check scale, sensitivity, mechanism and cells of one measurement."""
    faults = []
    if _positive(entry.scale) != allocation.scale:
        faults.append(f": scale is not sensitivity / epsilon, which is {exact_text(allocation.scale)}")
    if adaptive and entry.purpose is not None:  # not a marginal: a choice, the audit, a tree of boxes
        if entry.sensitivity % plan.unit.rows or entry.mechanism not in (DISCRETE_LAPLACE, PERMUTE_AND_FLIP):
            faults.append(": mechanism or sensitivity does not fit this purpose")
        return faults
    tally = plan.tallies[allocation.tally]
    if entry.sensitivity != tally.bound:
        noun = "rows" if tally.cells is None else "cells"
        faults.append(f": sensitivity {entry.sensitivity} does not protect a person with {tally.bound} {noun}")
    merged = adaptive and entry.merged_to is not None and 0 < entry.cells == math.prod(entry.merged_to)
    if entry.mechanism != DISCRETE_LAPLACE or not (merged or entry.cells == plan.cells(allocation.columns)):
        faults.append(": mechanism or number of cells does not fit these columns")
    return faults


def _wrong_coverage(checked: Manifest, plan: Plan, marginals: list[Allocation], *, sound: bool) -> Iterator[str]:
    """Check that each table lies within a measured marginal and, where all else is `sound`, has its half-width."""
    if len({(marginal.tally, frozenset(marginal.columns)) for marginal in marginals}) < len(marginals):
        sound = False
        yield "manifest.json: the same columns are measured twice"
    if plan.resolution.levels and not measures_levels(plan, marginals):
        sound = False
        yield "manifest.json: what is measured is not the levels of plan.yaml, each with all other columns"
    for k, tally in enumerate(plan.tallies):
        measured = [set(marginal.columns) for marginal in marginals if marginal.tally == k]
        for table in tally.plan.supports:
            if not plan.has_amount(table):  # else it is measured at its own level
                table = plan.resolution.finest(table)
            if not any(set(table) <= each for each in measured):
                sound = False
                yield f"manifest.json: table {' × '.join(table)} lies within no measured marginal"
    if not sound:
        return
    yield from _wrong_half_widths(checked.tables, plan, marginals)


def _wrong_half_widths(entries: Iterable[TableEntry], plan: Plan, marginals: list[Allocation]) -> Iterator[str]:
    for entry in entries:
        half_width = table_error(plan, marginals, tuple(entry.columns)).half_width()
        if not math.isclose(entry.half_width_95, half_width, rel_tol=0.02, abs_tol=1e-9):
            yield f"manifest.json: half_width_95 of {entry.file} does not follow from the measurements"


def _positive(text: str) -> Fraction | None:
    """Return `text` as an exact number, or None unless it is above 0."""
    try:
        value = rational(text)
    except ValueError:
        return None
    return value if value > 0 else None


def level_half_widths(checked: Manifest, plan: Plan) -> dict[Columns, Floats]:
    """Return the half-widths of all cells of tables at several levels, where the measurements give these."""
    read = [_allocation(entry, plan, adaptive=False)[0] for entry in checked.measurements]
    allocations = [each for each in read if each is not None]
    if not plan.resolution.levels or len(allocations) < len(read) or not measures_levels(plan, allocations):
        return {}
    errors = LevelErrors(plan, of_counts(plan, allocations))
    return {table: errors.half_widths(table) for table in table_files(plan)}
