"""Check the measurements in a release file together: their price, what they cover, and the errors that follow."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.bundle.checks.choice_check import wrong_audit
from dpengine.bundle.checks.division_check import wrong_division, wrong_parts
from dpengine.bundle.checks.expected_widths import EXACT_SINCE, exactly_known, tables_of_model, with_shapes
from dpengine.bundle.checks.measurement_check import boxes_in, marginals_in, positive, wrong_measurements
from dpengine.bundle.checks.model_check import half_width
from dpengine.bundle.estimator import Estimator, estimator, is_adaptive
from dpengine.bundle.read import Manifest, MeasurementEntry, TableEntry
from dpengine.estimate.source_part import allocated_to
from dpengine.estimate.table_errors import table_errors
from dpengine.exact import exact_text, rational
from dpengine.marginals.measurement import DISCRETE_LAPLACE, QUANTILES, SEARCH, Allocation, Search
from dpengine.marginals.plan_levels import measures_levels
from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = ["wrong_prices"]

IN_SUMS = 0.9  # relative to the half-width of one draw, rounded up: no sum of draws has a smaller half-width
_OTHER_HALF_WIDTH = "manifest.json: half_width_95 of {file} does not follow from the measurements"


def wrong_prices(checked: Manifest, published: Plan, searches: Sequence[Search]) -> list[str]:
    """Return what is wrong with the measurements, each by itself and all together.

    Each must have the noise that its price and its sensitivity ask for, their prices must add up to ε, and the
    half-widths of tables must follow from them. `searches` are those in the file for the cells of
    `published.found_columns`.
    """
    plan = published.finest
    faults = [*wrong_measurements(checked, plan, searches), *_wrong_sum(checked, plan)]
    marginals = [each for each in marginals_in(checked, plan) if each is not None]
    if not faults:
        faults += wrong_division(
            plan, marginals, _prices(each for each in checked.measurements if each.purpose == QUANTILES)
        )
    if not is_adaptive(plan):
        return faults + list(_wrong_coverage(checked, published, marginals, sound=not faults))
    faults += [*_wrong_parts(plan, marginals), *_wrong_boxes(checked, plan.ranged, plan.unit.rows)]
    if not faults:
        faults += wrong_parts(plan, marginals, _prices(boxes_in(checked)))
    return faults or [
        *wrong_audit(checked, plan),
        *_wrong_columns(checked, published, marginals),
        *_wrong_half_widths(exactly_known(checked, plan), plan, marginals),
    ]


def _wrong_sum(checked: Manifest, plan: Plan) -> Iterator[str]:
    """Check that cells were searched once in each column that asks for it, and that all prices add up to ε."""
    searched = [entry.columns for entry in checked.measurements if entry.purpose == SEARCH]
    if searched != [[name] for name in plan.found_columns]:
        yield "manifest.json: there must be exactly one search for each column whose cells were found"
    spent = sum((positive(entry.epsilon) or Fraction(0) for entry in checked.measurements), Fraction(0))
    if spent != plan.epsilon:
        yield f"manifest.json: the ε of all measurements does not add up to {exact_text(plan.epsilon)}"


def _prices(entries: Iterable[MeasurementEntry]) -> list[tuple[Columns, Fraction]]:
    """Return the columns and the ε of each entry."""
    return [(tuple(entry.columns), rational(entry.epsilon)) for entry in entries]


def _wrong_coverage(checked: Manifest, plan: Plan, marginals: list[Allocation], *, sound: bool) -> Iterator[str]:
    """Check that each table lies within a measured marginal and, if all else is `sound`, has the right half-width."""
    if len({(marginal.tally, frozenset(marginal.columns)) for marginal in marginals}) < len(marginals):
        sound = False
        yield "manifest.json: the same columns are measured twice"
    at_own_levels = bool(plan.resolution.levels) and not measures_levels(plan, marginals)
    for k, tally in enumerate(plan.finest.tallies):
        measured = [frozenset(marginal.columns) for marginal in marginals if marginal.tally == k]
        # Amounts, and tables that are measured apart, are measured at their own levels.
        tables = [table if at_own_levels or plan.has_amount(table) else plan.resolution.finest_columns(table)
                  for table in tally.plan.estimated_tables]  # fmt: skip
        faults = [*_uncovered(tables, measured)]
        sound = sound and not faults
        yield from faults
    if sound:
        yield from _wrong_half_widths(checked.tables, plan, marginals)


def _wrong_parts(plan: Plan, marginals: Sequence[Allocation]) -> Iterator[str]:
    """Check that what an adaptive plan measures directly was measured once: levels, tables, and those with amounts."""
    in_part: dict[int | None, list[Allocation]] = defaultdict(list)
    for each in marginals:
        in_part[allocated_to(plan, each.columns) if plan.in_parts else None].append(each)
    for k, part in enumerate(plan.parts.levels if plan.in_parts else ()):
        if not measures_levels(part, in_part[k]):
            name = part.resolution.column
            yield f"manifest.json: the measured marginals are not the levels of {name}, each with all other columns"
    expected = [table for table in plan.estimated_tables if plan.has_amount(table)]
    measured = [frozenset(each.columns) for each in in_part[None]]
    if plan.in_parts and plan.parts.rest is not None and modelled(plan) is None:
        expected += plan.parts.rest.estimated_tables
    else:
        measured = [each for each in measured if plan.has_amount(each)]
    yield from _uncovered(dict.fromkeys(expected), measured)
    if len({*measured}) < len(measured):
        yield "manifest.json: the same columns are measured twice"


def _uncovered(tables: Iterable[Columns], measured: Sequence[Set[str]]) -> Iterator[str]:
    """Report `tables` whose columns are not all in one measured marginal."""
    for table in tables:
        if not any({*table} <= each for each in measured):
            yield f"manifest.json: table {' × '.join(table)} lies within no measured marginal"


def _wrong_boxes(checked: Manifest, ranged: Sequence[Columns], rows: int) -> list[str]:
    """Check that the tables for ranges were measured in boxes, and nothing else was."""
    measured = [(tuple(entry.columns), entry.sensitivity, entry.mechanism) for entry in boxes_in(checked)]
    if not ranged or measured == [(table, rows, DISCRETE_LAPLACE) for table in ranged]:
        return []
    name = " and ".join(" × ".join(table) for table in ranged)
    return [f"manifest.json: exactly table {name} must be measured in boxes, once"]


def _wrong_columns(checked: Manifest, plan: Plan, marginals: Sequence[Allocation]) -> Iterator[str]:
    """Check that a model has its columns from measured marginals, and their half-widths, if all is of one model."""
    covered = {name for each in marginals for name in each.columns}
    for name in sorted({name for table in tables_of_model(checked, plan.finest) for name in table} - covered):
        yield f"manifest.json: column {name} lies within no measured marginal"
    if estimator(plan) is not Estimator.MODEL:
        return
    measured, exact = with_shapes(checked, plan, marginals), checked.schema_version >= EXACT_SINCE
    for entry in (each for each in checked.tables if len(each.columns) < 2):
        expected = half_width(plan, tuple(entry.columns), measured)
        if exact:
            fits = expected is not None and _is_near(entry.half_width_95, expected)
        else:
            fits = expected is None or entry.half_width_95 >= IN_SUMS * (expected - 1)
        if not fits:
            yield _OTHER_HALF_WIDTH.format(file=entry.file)


def _wrong_half_widths(entries: Iterable[TableEntry], plan: Plan, marginals: list[Allocation]) -> Iterator[str]:
    """Check the half-widths of tables whose errors follow from these marginals alone."""
    error_of, published = table_errors(plan, marginals), {*plan.published}
    for entry in entries:
        if tuple(entry.columns) not in published:
            continue  # which is reported where tables are compared with the plan
        if not _is_near(entry.half_width_95, error_of(tuple(entry.columns)).half_width()):
            yield _OTHER_HALF_WIDTH.format(file=entry.file)


def _is_near(stated: float, expected: float) -> bool:
    """Return whether a half-width is the one that follows from the measurements, up to what other versions compute."""
    return math.isclose(stated, expected, rel_tol=0.02, abs_tol=1e-9)
