"""Decide whether a model, or boxes, would be more accurate than measured tables, by the expected number of rows.

Functions of the plan alone, by which *auto* decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain

from dpengine.array_types import Columns
from dpengine.marginals.division import ASSUMED_ROWS
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.measurement import Allocation
from dpengine.measure.allocation import allocate_by_cells, allocate_directly, needs_a_model
from dpengine.measure.strategy_base import MAX_ADAPTIVE_SCALE
from dpengine.noise.moments import mean_absolute, variance
from dpengine.spec.plan import Plan

__all__ = ["has_large_ranges", "is_sparse", "most_noise", "noise_in_a_table", "noise_is_too_much", "noise_of"]

MEASURE_ALL = 0.15  # as a fraction of all rows: noise in a table below which a model is no better (benchmarks/bank.py)
MEASURE_ALL_OF_FEW = 0.25  # the same for pairs whose joint table could be written down
# The same for pairs that are sums of one measured table, which agree as they are, at small ε; how much more for each ε
# of a row; and more, if noise is at most so many times that of independent columns that get all ε
# (benchmarks/one_table.py).
MEASURE_ALL_BY_SUMS, MORE_SUMS_BY_EPSILON, AS_COLUMNS = 0.3, 0.06, 1.25
# The same for larger tables that are sums of one. More noise is worth it if the scale in a cell of that one is at most
# so many times the root of its mean count, by which it would vary in a random sample (benchmarks/larger_tables.py).
MEASURE_ALL_BY_LARGE_SUMS, AS_IN_SAMPLES_BY_SUMS = 0.5, 2.0
# The same for larger tables whose joint table could not be written down, × √(cells of a table): measured tables follow
# what the pairs say of them, which is most where cells are many (benchmarks/larger_tables.py). Of more columns, less
# noise is too much: a model's pairs then say more.
MEASURE_ALL_LARGER, FEW_COLUMNS_OF_LARGER = 0.2 / math.sqrt(1000), 8
# The same if there are fewer than so many of them for each column: few tables leave each much of ε, while a model needs
# all pairs of their columns (benchmarks/workloads.py --rings).
FEW_LARGER, MEASURE_ALL_OF_FEW_LARGER = 2, 1.5
# The same if some tables have three or more columns, about which a model of pairs says less, or if tables agree without
# a model: at small ε, and how much more for each ε of a row, since then most noise in empty cells is 0 or removed
# (benchmarks/workloads.py).
MEASURE_ALL_OTHERS, MORE_BY_EPSILON = 1.5, 3.0
# The same two for more tables than columns, such as all of three columns; the most noise that is worth it at small ε,
# and how much more for each ε of a row (benchmarks/larger_tables.py).
MEASURE_ALL_OF_MANY, AS_IN_SAMPLES = 0.4, 3.0
MOST_OF_MANY, MORE_OF_MANY = 1.1, 0.1
MEASURE_ALL_EMPTY = 1.05  # the same for pairs, × √(cells per row): noise in cells that are empty is mostly removed
FEW_COLUMNS = 12  # of more columns, fewer pairs are worth measuring, so less noise is too much
SPARSE = 4.0  # noise in a single table, per row, beyond which its margins are better evidence (benchmarks/single.py)
FLAT_CELLS = 24  # cells; ranges of fewer are as accurate if cells are measured one by one (benchmarks/ranges.py)
# The same if a cell has noise of at most this scale (benchmarks/small_noise_ranges.py).
FLAT_CELLS_OF_LITTLE_NOISE, LITTLE_NOISE = 1024, Fraction(1, 2)
# The same over several ordered columns, of a table alone and beside others: a range then holds few of the cells. If the
# noise in the table is a larger part of the rows, boxes leave out more of it.
FLAT_CELLS_OF_SEVERAL, MUCH_NOISE = (150, 60), Fraction(3, 10)
SPARSE_EPSILON = 1.2  # of a row; beyond it most noise is 0, and direct counts are hard to beat


def is_sparse(plan: Plan, tables: Sequence[Columns]) -> bool:
    """Return whether noise in the one table that holds all others would exceed its counts, if rows are stated."""
    per_row = float(plan.epsilon_for_tables) / plan.unit.rows
    if plan.rows_about is None or len(tables) > 1 or len(tables[0]) == 1 or per_row > SPARSE_EPSILON:
        return False
    return plan.cells(tables[0]) * mean_absolute(plan.unit.rows / plan.epsilon_for_tables) > SPARSE * plan.rows_about


def noise_is_too_much(plan: Plan, tables: Sequence[Columns]) -> bool:
    """Return whether a model of pairs is needed, or is predicted to be more accurate than measured tables.

    Tables that agree without a model get one only if the number of rows is stated and noise is clearly too much:
    without a model, their errors are known exactly. So do larger tables whose joint table could not be written down if
    the number is not stated, or if they have amounts. Tables with amounts are measured either way, so only the noise in
    those beside them matters.
    """
    if len(tables) == 1:
        return False
    counted, per_row = maximal(plan.marginals), float(plan.epsilon_for_tables) / plan.unit.rows
    if needs_a_model(plan):
        unknown = plan.rows_about is None or bool(plan.amounts(()))
        return (unknown and _are_larger(counted)) or noise_in_a_table(plan, tables) > most_noise(plan, counted)
    if plan.rows_about is None or per_row * MAX_ADAPTIVE_SCALE < 1 or not _without_amounts(plan, tables):
        return False
    if len(counted) == 1:
        return per_row <= SPARSE_EPSILON and noise_in_a_table(plan, tables) > SPARSE
    if plan.ranged and junction_order(counted) is not None:
        return False  # small ranges are served by measured cells; beside large ones, boxes are chosen anyway
    return noise_in_a_table(plan, tables) > most_noise(plan, counted)


def most_noise(plan: Plan, tables: Sequence[Columns]) -> float:
    """Return the largest noise in a table, as a fraction of the rows, at which several tables are still measured."""
    per_row = float(plan.epsilon_for_tables) / plan.unit.rows
    ring = needs_a_model(plan) or junction_order(tables) is None
    if ring and len(allocate_directly(plan)) == 1:
        if not _are_larger(tables):
            alone = AS_COLUMNS * _noise_of_columns(plan, tables)
            return max(MEASURE_ALL_BY_SUMS + MORE_SUMS_BY_EPSILON * per_row, alone)
        return max(MEASURE_ALL_BY_LARGE_SUMS, _noise_as_in_samples(plan, tables, AS_IN_SAMPLES_BY_SUMS))
    if needs_a_model(plan):
        if _are_larger(tables):
            cells = math.fsum(map(plan.cells, tables)) / len(tables)
            many = MEASURE_ALL_LARGER * math.sqrt(cells) * min(1.0, FEW_COLUMNS_OF_LARGER / len(plan.counted))
            are_few = len(tables) < FEW_LARGER * len(plan.counted)
            return max(many, MEASURE_ALL_OF_FEW_LARGER) if are_few else many
        return max(MEASURE_ALL, _most_noise_of_empty(plan, tables))
    if ring and not _are_larger(tables):
        return max(MEASURE_ALL_OF_FEW, _most_noise_of_empty(plan, tables))
    if ring and len(tables) > len(plan.counted):
        sampled = max(MEASURE_ALL_OF_MANY, _noise_as_in_samples(plan, tables, AS_IN_SAMPLES))
        return min(sampled, MOST_OF_MANY + MORE_OF_MANY * per_row)
    return MEASURE_ALL_OTHERS + MORE_BY_EPSILON * per_row


def _are_larger(tables: Sequence[Columns]) -> bool:
    """Return whether some of the tables have more than two columns."""
    return max(map(len, tables)) > 2


def _most_noise_of_empty(plan: Plan, tables: Sequence[Columns]) -> float:
    """Return `most_noise` for pairs whose cells are mostly empty, since there are more cells than rows."""
    cells_per_row = math.fsum(map(plan.cells, tables)) / (len(tables) * (plan.rows_about or ASSUMED_ROWS))
    columns = len({*chain.from_iterable(tables)})
    return MEASURE_ALL_EMPTY * math.sqrt(cells_per_row) * min(1.0, FEW_COLUMNS / columns)


def noise_in_a_table(plan: Plan, tables: Sequence[Columns]) -> float:
    """Return the expected L1 noise per table under direct allocation, as a fraction of the rows.

    Tables with amounts do not count if there are others.
    """
    scales = {each.columns: float(each.scale) for each in _measured(plan, tables)}
    judged = _without_amounts(plan, tables) or tables
    return _noise(plan, judged, scales if len(scales) == 1 else {table: scales[table] for table in judged})


def noise_of(plan: Plan, variances: Mapping[Columns, float]) -> float:
    """Return the expected L1 noise per table of cells with these mean variances, taken as normal, as a fraction."""
    noise = math.fsum(plan.cells(table) * math.sqrt(2 / math.pi * variance) for table, variance in variances.items())
    return noise / (len(variances) * (plan.rows_about or ASSUMED_ROWS))


def _without_amounts(plan: Plan, tables: Sequence[Columns]) -> list[Columns]:
    return [table for table in tables if not plan.has_amount(table)]


def _noise_as_in_samples(plan: Plan, tables: Sequence[Columns], times: float) -> float:
    """Return the same if measured cells had noise of a scale of so many `times` the roots of their mean counts."""
    rows, measured = plan.rows_about or ASSUMED_ROWS, _measured(plan, tables)
    roots = {each.columns: math.sqrt(rows / plan.cells(each.columns)) for each in measured}
    return _noise(plan, tables, {columns: times * root for columns, root in roots.items()})


def _noise_of_columns(plan: Plan, tables: Sequence[Columns]) -> float:
    """Return the noise in a table of independent columns that share all ε, as a fraction of the rows.

    Errors of the columns of a table add up like independent ones.
    """
    scale = len({*chain.from_iterable(tables)}) * plan.unit.rows / plan.epsilon_for_tables
    cells = math.fsum(math.hypot(*(plan.column(name).size for name in table)) for table in tables)
    return cells * mean_absolute(scale) / (len(tables) * (plan.rows_about or ASSUMED_ROWS))


def _measured(plan: Plan, tables: Sequence[Columns]) -> Sequence[Allocation]:
    """Return what direct allocation measures: the one table of which all are sums, or each of the tables."""
    measured = allocate_directly(plan)
    return measured if len(measured) == 1 else allocate_by_cells(plan, tables)


def _noise(plan: Plan, tables: Sequence[Columns], scales: Mapping[Columns, float]) -> float:
    """Return the expected L1 noise per table, as a fraction of the rows, from the scales in measured tables.

    If one table is measured of which these are sums, it is that of the sums, taken as normal; but no more than if the
    noise of different cells never cancelled, as where hardly any is not 0.
    """
    if len(scales) == 1 < len(tables):
        ((columns, scale),) = scales.items()
        deviation = math.sqrt(2 / math.pi * variance(Fraction(scale)))
        most = plan.cells(columns) * mean_absolute(scale)
        noise = math.fsum(min(math.sqrt(plan.cells(columns) * plan.cells(table)) * deviation, most) for table in tables)
    else:
        noise = math.fsum(plan.cells(columns) * mean_absolute(scale) for columns, scale in scales.items())
    return noise / (len(tables) * (plan.rows_about or ASSUMED_ROWS))


def has_large_ranges(plan: Plan) -> bool:
    """Return whether boxes give better ranges than cells that are measured one by one."""
    large = [table for table in plan.ranged if plan.cells(table) > FLAT_CELLS]
    if not large or plan.resolution.levels or needs_a_model(plan):
        return bool(large)
    measured = allocate_directly(plan)
    return not all(_is_flat(plan, table, _least_variance(plan, measured, table)) for table in large)


def _is_flat(plan: Plan, table: Columns, variance: Fraction) -> bool:
    """Return whether ranges of `table` are most accurate from single cells, with noise of this squared scale."""
    cells, rows = plan.cells(table), plan.rows_about or ASSUMED_ROWS
    if cells <= FLAT_CELLS_OF_LITTLE_NOISE and variance <= LITTLE_NOISE**2:
        return True
    several = sum(plan.column(name).kind in ("number", "date") for name in table) > 1
    most = FLAT_CELLS_OF_SEVERAL[len(maximal(plan.estimated_tables)) > 1]
    return several and cells <= most and variance * cells**2 <= (MUCH_NOISE * rows) ** 2


def _least_variance(plan: Plan, measured: Sequence[Allocation], table: Columns) -> Fraction:
    """Return the square of the scale of the noise in a cell of `table`, times the cells that it adds up, at best."""
    return min(
        each.scale**2 * Fraction(plan.cells(each.columns), plan.cells(table))
        for each in measured
        if {*table} <= {*each.columns}
    )
