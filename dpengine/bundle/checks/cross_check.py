"""Compare the tables of a release file with each other and with its synthetic rows, one table at a time.

Only what tables can share is kept: their totals, columns and pairs of columns. So checking a bundle of hundreds of
large tables needs only the memory for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import safe_csv
from dpengine.array_types import Columns, Floats, Ints
from dpengine.bundle.checks.amount_check import AmountCheck, columns_and_pairs, odd_amounts
from dpengine.bundle.checks.model_check import ModelBounds, wrong_estimates, wrong_intervals
from dpengine.bundle.checks.width_check import AmountWidths
from dpengine.errors import ReleaseError
from dpengine.marginals.graphs import junction_order
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.plan_levels import are_levels
from dpengine.results.published_columns import INTEGERS, NUMBERS, header, number_columns
from dpengine.spec.domain import Amount, Column
from dpengine.spec.plan import Plan
from dpengine.synthesis import cell_values
from dpengine.translation.catalogue import _, mark, number

__all__ = ["CrossCheck"]

Codes = npt.NDArray[np.unsignedinteger[Any]]

ESTIMATE_ROUNDING = 1e-6
MODEL_ROUNDING, MODEL_TOLERANCE = 5e-4, 1e-3  # a model's estimates have 3 decimals; its tables are fitted in sweeps
MAX_CODES_BYTES = 200_000_000  # of the rows' cells, at one to four bytes each: about 10 s
ROWS_AT_ONCE = 1_000_000
ROWS_FOR_CELLS = mark("has {rows} rows, not one for each of {cells} cells")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one table file; each array has one axis for each column."""

    file: str
    count: Ints
    estimate: Floats
    low: Ints
    high: Ints
    amounts: dict[str, Floats]  # by the names of `number_columns`


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
    rows; with `estimates`, estimates must agree with each other too, but across levels only if each level was measured
    with all other columns. If all are those of one model (`modelled`) or of one tree of boxes, their totals must agree
    (`one_total`). `of_model` are the tables whose intervals lie around their estimates though these are no least
    squares, and `of_boxes` those whose estimates are near their intervals. `stated` are half-widths of tables for which
    they do not follow from the measurements: intervals must be as wide as these say; those `of_model` exactly so if
    they are `exact`. `widths` are those of sums and means, as far as they are known, and `bounds` the least ones of
    a model's tables.
    """

    def __init__(
        self,
        plan: Plan,
        measured: Sequence[Columns],
        *,
        estimates: bool,
        modelled: bool = False,
        one_total: bool = False,
        of_model: Collection[Columns] = (),
        of_boxes: Collection[Columns] = (),
        stated: Mapping[Columns, float] | None = None,
        exact: bool = True,
        widths: AmountWidths | None = None,
        bounds: ModelBounds | None = None,
    ) -> None:
        self._plan = plan
        self._estimates = estimates
        counted = [each for each in measured if not plan.has_amount(each)]
        self._across_levels = not plan.resolution.levels or are_levels(plan, counted)
        self._rounded = _rounded_tallies(plan, measured) if estimates else set()
        self._modelled = modelled
        self._one_total = one_total
        self._of_model, self._of_boxes = of_model, of_boxes
        self._stated, self._exact = stated or {}, exact
        self._widths, self._bounds = widths, bounds
        self._first: dict[tuple[int, Columns], _Sums] = {}
        self._rows: dict[str, Codes] = {}
        self._amounts = AmountCheck(plan, measured)

    def add_rows(self, pieces: Iterable[bytes]) -> list[str]:
        """Take the synthetic rows that tables are compared with. Return the faults found."""
        try:
            self._rows = _read_rows(pieces, self._plan)
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

    def add_table(
        self, pieces: Iterable[bytes], file: str, table: Columns, half_width: float | Floats | None
    ) -> list[str]:
        """Return the faults of one table. `half_width` is one number, or an array of one per cell; None if unknown."""
        try:
            numbers = _read_table(pieces, file, table, self._plan)
        except ValueError as error:
            return [f"{file} {error}"]
        faults = [f"{file}: {fault}" for fault in _odd_numbers(numbers, half_width)]
        if self._plan.tally_of(table) in self._rounded and not _adds_up(numbers):
            faults.append(_("{file}: counts do not add up as the estimates do", file=file))
        stated = self._stated.get(table)
        if table in self._of_model:
            ends = (numbers.low, numbers.high, stated if self._exact else None)
            bounds = (None, None) if self._bounds is None else self._bounds.half_widths(table, numbers.estimate)
            if self._bounds is not None:
                self._bounds.add(table, numbers.estimate)
            wrong = wrong_intervals(numbers.count, numbers.estimate, *ends, *bounds)
            faults += [f"{file}: {fault}" for fault in wrong]
            stated = None if self._exact else stated
        if table in self._of_boxes:
            wrong = wrong_estimates(numbers.estimate, numbers.low, numbers.high)
            faults += [f"{file}: {fault}" for fault in wrong]
        alike = not table or (self._modelled and self._plan.resolution.finest(table) == table)
        if stated is not None and not _is_as_wide(numbers, stated, alike=alike):
            faults.append(_("{file}: intervals are not as wide as half_width_95 says", file=file))
        faults += [f"{file}: {fault}" for fault in odd_amounts(self._plan, table, numbers.count, numbers.amounts)]
        if self._widths is not None and not faults:
            wrong = self._widths.faults(table, numbers.count, numbers.estimate, numbers.amounts)
            faults += [f"{file}: {fault}" for fault in wrong]
        faults += self._disagreements(numbers, table) + self._amounts.disagreements(
            table, numbers.count, numbers.amounts, file
        )
        of_rows = self._plan.tally_of(table) == 0  # tables of further tallies count what the rows do not
        if self._rows and of_rows and not np.array_equal(_count(self._rows, table, self._plan), numbers.count):
            faults.append(_("{file} is not what synthetic.csv gives when counted", file=file))
        if self._rows and self._plan.amounts(table):
            blocks = _blocks(self._rows, table, self._plan)
            faults += self._amounts.off_the_rows(table, numbers.amounts, blocks, file)
        return faults

    def of_all(self) -> list[str]:
        """Return the faults that only all tables together show."""
        return [] if self._bounds is None else [*self._bounds.wrong_error()]

    def _disagreements(self, numbers: Numbers, table: Columns) -> list[str]:
        """Compare totals, columns and pairs of columns with those of earlier tables."""
        faults = []
        resolution = self._plan.resolution
        for wanted in resolution.coarser_tables(table):
            count = resolution.coarsen(numbers.count, table, wanted)
            comparable = wanted == table or self._across_levels
            estimate = resolution.coarsen(numbers.estimate, table, wanted) if comparable else None
            faults += self._disagreements_at(numbers, wanted, count, estimate, self._plan.tally_of(table))
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
        if (self._estimates and not exact) or (self._one_total and not shared and not near):
            faults.append(_("{file} and {other} disagree on the estimates {where}", **places))
        return faults


def _read_rows(pieces: Iterable[bytes], plan: Plan) -> dict[str, Codes]:
    """Read the synthetic rows as cells of each column, in the smallest type that holds them.

    Raises ValueError with what is wrong with the file, and `ReleaseError` if it has too many rows to be checked.
    """
    released = plan.of_rows.released
    readers = {name: cell_values.reader(plan.column(name)) for name in released}
    types = {name: np.min_scalar_type(_max_code(plan.column(name))) for name in released}
    most = MAX_CODES_BYTES // sum(kind.itemsize for kind in types.values())
    parts: dict[str, list[Codes]] = {name: [] for name in released}
    rows = 0
    for columns in safe_csv.read_blocks(pieces, released):
        rows += len(columns[0])
        if rows > most:
            raise ReleaseError(
                _(
                    "synthetic.csv has more than {most} rows, the most that are checked for a plan of these "
                    "columns; check it by means of your own, or ask for a release of fewer columns",
                    most=number(most),
                )
            )
        for (name, read), column in zip(readers.items(), columns, strict=True):
            codes = read(column)
            if (codes < 0).any():
                raise ValueError(_("has a text in the column {name} that is no declared cell", name=name))
            parts[name].append(codes.astype(types[name]))
    return {name: np.concatenate(parts.pop(name)) for name in released}


def _read_table(pieces: Iterable[bytes], file: str, table: Columns, plan: Plan) -> Numbers:
    """Read the numbers of a table whose labels are the declared cross-product in declared order.

    Raises ValueError with what is wrong with the file.
    """
    cells, names = plan.cells(table), number_columns(plan, table)
    numbers: dict[str, npt.NDArray[Any]] = {
        name: np.empty(cells, dtype=np.int64 if name in INTEGERS else np.float64) for name in names
    }
    check_labels = _label_check(plan, table)
    blocks = safe_csv.read_blocks(pieces, header(plan, table))
    start = 0
    for block in blocks:
        stop = start + len(block[0])
        if stop > cells:
            rows = stop + sum(len(later[0]) for later in blocks)
            raise ValueError(_(ROWS_FOR_CELLS, rows=rows, cells=cells))
        check_labels(block[: len(table)], start, stop)
        for name, column in zip(names, block[len(table) :], strict=True):
            numbers[name][start:stop] = _read_numbers(column, name)
        start = stop
    if start != cells:
        raise ValueError(_(ROWS_FOR_CELLS, rows=start, cells=cells))
    shaped = {name: values.reshape(plan.shape(table)) for name, values in numbers.items()}
    return Numbers(file, **{name: shaped.pop(name) for name in NUMBERS}, amounts=shaped)


def _label_check(plan: Plan, table: Columns) -> Callable[[Sequence[Any], int, int], None]:
    """Return a function that raises ValueError unless labels are those of the cells from one place to another."""
    readers = [safe_csv.label_reader(plan.column(name).labels) for name in table]

    def check(labels: Sequence[Any], start: int, stop: int) -> None:
        places = np.unravel_index(np.arange(start, stop), plan.shape(table)) if table else ()
        for name, read, column, place in zip(table, readers, labels, places, strict=True):
            wrong = read(column) != place
            if wrong.any():
                line = start + int(np.argmax(wrong)) + 2
                raise ValueError(
                    _("line {line}, column {name}: this is not the cell declared for this place", line=line, name=name)
                )

    return check


def _read_numbers(column: Any, name: str) -> npt.NDArray[Any]:
    """Read texts as the numbers of the column `name` of a table. Raises ValueError."""
    try:
        return safe_csv.read_numbers(column, pa.int64() if name in INTEGERS else pa.float64())
    except ValueError:
        if name in INTEGERS:
            raise ValueError(_("has a count, low or high that is not a whole number")) from None
        if name == "estimate":
            raise ValueError(_("has an estimate that is not a number")) from None
        raise ValueError(_("has a value of {name} that is not a number", name=name)) from None


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
    """Return whether intervals are as wide as the half-width stated for their table, as far as they tell.

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
        supports = (tally.plan.supports for tally in plan.tallies)
        return {k for k, tables in enumerate(supports) if junction_order([*dict.fromkeys(tables)]) is not None}
    counted = (tuple(name for name in each if not plan.has_amount((name,))) for each in measured)
    return set() if junction_order([*dict.fromkeys(filter(None, counted))]) is None else {0}


def _adds_up(numbers: Numbers) -> bool:
    """Return whether the counts add up to the estimates, rounded and not below 0."""
    wanted = max(0.0, float(numbers.estimate.sum()))
    slack = 0.5 + ESTIMATE_ROUNDING * numbers.count.size + 1e-9 * wanted
    return abs(float(numbers.count.sum()) - wanted) <= slack


def _interval(numbers: Numbers, half_width: float | Floats) -> tuple[Floats, Floats]:
    """Return bounds for the true count as a release gives them: whole, not negative, around the published count."""
    low = np.minimum(np.maximum(np.ceil(numbers.estimate - half_width), 0), numbers.count)
    return low, np.maximum(np.floor(numbers.estimate + half_width), numbers.count)


def _max_code(column: Column) -> int:
    """Return the greatest code of a column in the rows: a place on the grid of an amount, or otherwise a cell."""
    return column.grid.steps + 1 if isinstance(column, Amount) else column.size


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
