"""Compare the tables of a release file with each other and with its synthetic rows, one table at a time.

Only what tables can share is kept: their totals, columns and pairs of columns. So checking a bundle of hundreds of
large tables needs only the memory for one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.bundle.checks.amount_check import AmountCheck, columns_and_pairs, odd_amounts
from dpengine.bundle.checks.file_tables import Codes, Numbers, read_rows, read_table
from dpengine.bundle.checks.model_check import ModelBounds, wrong_estimates, wrong_intervals
from dpengine.bundle.checks.width_check import AmountWidths
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.marginals.graphs import junction_order
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.plan_levels import are_levels
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["CrossCheck"]

ESTIMATE_ROUNDING = 1e-6
MODEL_ROUNDING, MODEL_TOLERANCE = 5e-4, 1e-3  # a model's estimates have 3 decimals; its tables are fitted in sweeps
ROWS_AT_ONCE = 1_000_000
_ONE_TOTAL = (Estimator.MODEL, Estimator.BOXES)  # all estimates are from one model or tree


@dataclass(frozen=True, slots=True)
class _Sums:
    """The numbers of a table of `cells` cells, summed over all but some columns; without estimates if these differ."""

    file: str
    cells: int
    count: Ints
    estimate: Floats | None


class CrossCheck:
    """A comparison of the tables of a bundle. Add its rows first, then its tables, small ones first.

    `measured` are the columns of each measured marginal. Counts and amounts must agree with each other and with the
    rows; estimates by least squares must agree with each other too, but across levels only if each level was measured
    with all other columns. If all are those of one model or of one tree of boxes, their totals must agree.
    `half_widths` of tables, each one number or one for each cell, follow from the measurements. `of_model` are the
    tables of a model, whose intervals lie around their estimates, and `of_boxes` the tables of boxes, whose estimates
    are near their intervals. `stated` are the half-widths of tables for which they do not follow from the measurements:
    intervals must be as wide as these say; in tables `of_model` exactly so if they are `exact`. `widths` are
    the known half-widths of sums and means, and `bounds` the least half-widths of a model's tables.
    """

    def __init__(
        self,
        plan: Plan,
        measured: Sequence[Columns],
        *,
        half_widths: Mapping[Columns, float | Floats] | None = None,
        of_model: Collection[Columns] = (),
        of_boxes: Collection[Columns] = (),
        stated: Mapping[Columns, float] | None = None,
        exact: bool = True,
        widths: AmountWidths | None = None,
        bounds: ModelBounds | None = None,
    ) -> None:
        self._plan, self._estimator = plan, estimator(plan)
        counted = [each for each in measured if not plan.has_amount(each)]
        self._across_levels = not plan.resolution.levels or are_levels(plan, counted)
        direct = self._estimator is Estimator.LEAST_SQUARES
        self._rounded = _rounded_tallies(plan, measured) if direct else set()
        self._half_widths = half_widths or {}
        self._of_model, self._of_boxes = of_model, of_boxes
        self._stated, self._exact = stated or {}, exact
        self._widths, self._bounds = widths, bounds
        self._first: dict[tuple[int, Columns], _Sums] = {}
        self._rows: dict[str, Codes] = {}
        self._amounts = AmountCheck(plan, measured)

    def add_rows(self, pieces: Iterable[bytes]) -> list[str]:
        """Take the synthetic rows that tables are compared with. Return the faults found."""
        try:
            self._rows = read_rows(pieces, self._plan)
        except ValueError as error:
            return [f"synthetic.csv {error}"]
        return self._odd_levels()

    def _odd_levels(self) -> list[str]:
        """Return the coarser levels of the rows that do not follow from the finest one."""
        resolution = self._plan.resolution
        levels = [(name, chain[-1]) for chain in resolution.chains.values() for name in chain[:-1]]
        return [
            _(
                "synthetic.csv: the column {name} is not the level of the column {finest} everywhere",
                name=name,
                finest=finest,
            )
            for name, finest in levels
            if not np.array_equal(self._rows[name], resolution.groups(finest, name)[self._rows[finest]])
        ]

    def add_table(self, pieces: Iterable[bytes], file: str, table: Columns) -> list[str]:
        """Return the faults of one table: by itself, beside earlier tables, and beside the rows."""
        try:
            numbers = read_table(pieces, file, table, self._plan)
        except ValueError as error:
            return [f"{file} {error}"]
        faults = [f"{file}: {fault}" for fault in self._odd_table(numbers, table)]
        faults += self._disagreements(numbers, table)
        faults += self._amounts.disagreements(table, numbers.count, numbers.amounts, file)
        return faults + self._differs_from_rows(numbers, table)

    def _odd_table(self, numbers: Numbers, table: Columns) -> list[str]:
        """Return what is wrong with a table by itself."""
        faults = _odd_numbers(numbers, self._half_widths.get(table))
        if self._plan.tally_index(table) in self._rounded and not _adds_up(numbers):
            faults.append(_("counts do not add up as the estimates do"))
        faults += self._odd_intervals(numbers, table)
        faults += odd_amounts(self._plan, table, numbers.count, numbers.amounts)
        if self._widths is not None and not faults:
            faults += self._widths.faults(table, numbers.count, numbers.estimate, numbers.amounts)
        return faults

    def _odd_intervals(self, numbers: Numbers, table: Columns) -> Iterator[str]:
        """Yield what is wrong with intervals beside estimates that are no least squares."""
        stated = self._stated.get(table)
        if table in self._of_model:
            bounds: tuple[Floats | None, Floats | None] = (None, None)
            if self._bounds is not None:
                bounds = self._bounds.half_widths(table, numbers.estimate)
                self._bounds.add(table, numbers.estimate)
            ends = (numbers.low, numbers.high, stated if self._exact else None)
            yield from wrong_intervals(numbers.count, numbers.estimate, *ends, *bounds)
            stated = None if self._exact else stated
        if table in self._of_boxes:
            yield from wrong_estimates(numbers.estimate, numbers.low, numbers.high)
        of_model = self._estimator is Estimator.MODEL and self._plan.resolution.finest_columns(table) == table
        if stated is not None and not _is_as_wide(numbers, stated, alike=not table or of_model):
            yield _("intervals are not as wide as half_width_95 says")

    def _differs_from_rows(self, numbers: Numbers, table: Columns) -> list[str]:
        """Compare a table with the synthetic rows, if these were read and can be compared."""
        if not self._rows:
            return []
        faults = []
        of_rows = self._plan.tally_index(table) == 0  # tables of further tallies count what the rows do not
        if of_rows and not np.array_equal(_count(self._rows, table, self._plan), numbers.count):
            faults.append(_("{file} is not what synthetic.csv gives when counted", file=numbers.file))
        if self._plan.amounts(table):
            blocks = _blocks(self._rows, table, self._plan)
            faults += self._amounts.differs_from_rows(table, numbers.amounts, blocks, numbers.file)
        return faults

    def of_all(self) -> list[str]:
        """Return the faults that show only once all tables were added."""
        return [] if self._bounds is None else [*self._bounds.wrong_error()]

    def _disagreements(self, numbers: Numbers, table: Columns) -> list[str]:
        """Compare totals, columns and pairs of columns with those of earlier tables."""
        faults = []
        resolution = self._plan.resolution
        for coarser in resolution.coarser_tables(table):
            count = resolution.coarsen(numbers.count, table, coarser)
            comparable = coarser == table or self._across_levels
            estimate = resolution.coarsen(numbers.estimate, table, coarser) if comparable else None
            faults += self._disagreements_at(numbers, coarser, count, estimate, self._plan.tally_index(table))
        return faults

    def _disagreements_at(
        self, numbers: Numbers, table: Columns, counts: Ints, estimates: Floats | None, tally: int
    ) -> list[str]:
        """Compare the numbers of a table, summed to the levels of `table`, with those of earlier tables."""
        faults = []
        for shared in columns_and_pairs(table):
            count = Marginal(table, counts).project(shared).values
            estimate = None if estimates is None else Marginal(table, estimates).project(shared).values
            sums = _Sums(numbers.file, numbers.count.size, count, estimate)
            first = self._first.setdefault((tally, shared), sums)
            if first is not sums:
                faults += self._differences(sums, first, shared)
                if first.estimate is None:
                    self._first[tally, shared] = replace(first, cells=sums.cells, estimate=estimate)
        return faults

    def _differences(self, sums: _Sums, first: _Sums, shared: Columns) -> list[str]:
        """Return how the sums of a table over the `shared` columns differ from those of the first table with these."""
        faults = []
        where = _("of {columns}", columns=" × ".join(shared)) if shared else _("in all")
        places = {"file": sums.file, "other": first.file, "where": where}
        if not np.array_equal(sums.count, first.count):
            faults.append(_("{file} and {other} disagree on the counts {where}", **places))
        if sums.estimate is None or first.estimate is None:
            return faults
        cells = sums.cells + first.cells
        exact = np.allclose(sums.estimate, first.estimate, rtol=1e-9, atol=ESTIMATE_ROUNDING * cells)
        # Totals of a model's estimates agree up to rounding and the last sweep of fitting.
        near = np.allclose(sums.estimate, first.estimate, rtol=MODEL_TOLERANCE, atol=MODEL_ROUNDING * cells)
        direct, one_total = self._estimator is Estimator.LEAST_SQUARES, self._estimator in _ONE_TOTAL and not shared
        if (direct and not exact) or (one_total and not near):
            faults.append(_("{file} and {other} disagree on the estimates {where}", **places))
        return faults


def _odd_numbers(numbers: Numbers, half_width: float | Floats | None) -> list[str]:
    """Return what is wrong with the numbers themselves, and with intervals that do not follow from the estimates."""
    faults = []
    if (numbers.count < 0).any():
        faults.append(_("a count is negative"))
    if not ((numbers.low <= numbers.count) & (numbers.count <= numbers.high)).all():
        faults.append(_("a count lies outside its interval"))
    if (numbers.low < 0).any():
        faults.append(_("an interval goes below 0"))
    if not np.isfinite(numbers.estimate).all():
        faults.append(_("an estimate is not finite"))
    elif half_width is not None:
        # Estimates are rounded in the file, so a bound may have been rounded from either side.
        narrow_low, narrow_high = _interval(numbers, half_width)
        wide_low, wide_high = _interval(numbers, half_width + 2 * ESTIMATE_ROUNDING)
        low = (wide_low <= numbers.low) & (numbers.low <= narrow_low)
        high = (narrow_high <= numbers.high) & (numbers.high <= wide_high)
        if not (low & high).all():
            faults.append(_("an interval is not the estimate ± half_width_95"))
    return faults


def _is_as_wide(numbers: Numbers, half_width: float, *, alike: bool) -> bool:
    """Return whether intervals have their table's stated half-width, as far as rounded ends can show it.

    Their ends are whole, at least 0, and moved to the published count if that would be outside. With `alike`, the cells
    of a single column have one width, around a middle that is not published. In other tables, 95 in 100 are no wider.
    """
    width, too_wide = numbers.high - numbers.low.astype(np.float64), 2 * half_width + 4 * ESTIMATE_ROUNDING
    moved = (numbers.low == numbers.count) | (numbers.high == numbers.count)
    wide = ~moved & (width > too_wide)
    if numbers.count.ndim > 1 or not alike:
        return bool(wide.mean() <= 0.05)
    narrow = ~moved & (numbers.low > 0) & (width < 2 * half_width - 2)
    return not (wide | narrow).any()


def _rounded_tallies(plan: Plan, measured: Sequence[Columns]) -> set[int]:
    """Return the tallies whose counts add up to the estimates of the total, rounded (`estimate.consistency`).

    Where tables overlap in a ring, or have levels, counts may add up to another number.
    """
    if plan.resolution.chains:
        return set()
    if len(plan.tallies) > 1:
        supports = (tally.plan.estimated_tables for tally in plan.tallies)
        return {k for k, tables in enumerate(supports) if junction_order([*dict.fromkeys(tables)]) is not None}
    counted = (tuple(name for name in each if not plan.has_amount((name,))) for each in measured)
    return set() if junction_order([*dict.fromkeys(filter(None, counted))]) is None else {0}


def _adds_up(numbers: Numbers) -> bool:
    """Return whether the counts add up to the estimates, rounded and not below 0."""
    expected = max(0.0, float(numbers.estimate.sum()))
    slack = 0.5 + ESTIMATE_ROUNDING * numbers.count.size + 1e-9 * expected
    return abs(float(numbers.count.sum()) - expected) <= slack


def _interval(numbers: Numbers, half_width: float | Floats) -> tuple[Floats, Floats]:
    """Return bounds for the true count as a release gives them: whole, not negative, around the published count."""
    low = np.minimum(np.maximum(np.ceil(numbers.estimate - half_width), 0), numbers.count)
    return low, np.maximum(np.floor(numbers.estimate + half_width), numbers.count)


def _blocks(rows: Mapping[str, Codes], table: Columns, plan: Plan) -> Iterator[tuple[Ints, dict[str, Ints]]]:
    """Yield, block by block, the rows' places in the flat table and on the grid of each of its amounts."""
    shape, size = plan.shape(table), len(rows[plan.of_rows.released[0]])
    step = max(ROWS_AT_ONCE, math.prod(shape))
    for part in (slice(start, start + step) for start in range(0, size, step)):
        cells = np.zeros(len(range(size)[part]), dtype=np.int64)
        if table:
            cells = Domain(table, shape).cells([rows[name][part] for name in table])
        yield cells, {name: rows[name][part].astype(np.int64) for name in plan.amounts(table)}


def _count(rows: Mapping[str, Codes], table: Columns, plan: Plan) -> Ints:
    """Count rows, given as cells of each column, into a table with one axis for each of its columns."""
    counted = np.zeros(plan.cells(table), dtype=np.int64)
    for cells, _amounts in _blocks(rows, table, plan):
        counted += np.bincount(cells, minlength=counted.size)
    return counted.reshape(plan.shape(table))
