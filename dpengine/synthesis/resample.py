"""Make any number of rows from a consistent model: synthetic people who add up to the published tables.

Rows hold cells, the finest information in a release; `synthesis.cell_values` gives them values. If the model is a tree
of tables, columns are joined table by table. Given the columns that two tables share, the others are paired evenly, as
if independent, since the published tables say no more.

To make N rows of n, a row of weight t is taken ⌊t·N/n⌋ or ⌈t·N/n⌉ times. So every count c, of every table, becomes one
between ⌊N/n⌋·c and ⌈N/n⌉·c: empty cells stay empty, and whole multiples of n are exact. The rows to round up are not
sampled: they are picked evenly along the rows, then swapped while that brings the tables closer to the scaled published
ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Ints
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.marginal import Domain
from dpengine.marginals.nested import NO_LEVELS
from dpengine.quasi_random import golden_fractions, shuffled
from dpengine.spec.categories.resolution import Resolution
from dpengine.synthesis.generate_rows import SyntheticRows, WholeCounts

__all__ = ["expand", "rescale", "unique_rows"]

MAX_CELLS_COMPARED = 2_000_000  # of all tables together; beyond it, only their pairs of columns are compared
MAX_SWAPPED = 200_000_000  # rows times tables: beyond it, no rows are swapped
ROUND = 50  # rows that are repeated together: ten times as many make the compressed file three times as large
BATCHES = 96  # of rows in a pass of swaps
ACCEPTED = (0.2, 0.1, 0.1, 0.05)  # fraction of a batch's helpful swaps that a pass makes at once


def unique_rows(model: WholeCounts, resolution: Resolution = NO_LEVELS) -> tuple[dict[str, Ints], Ints]:
    """Return unique rows, as the cells of each column, and their weights; counted, they give the model's tables."""
    if isinstance(model, SyntheticRows):
        named = zip(model.domain, model.codes, strict=True)
        return {name: codes.astype(np.int64) for name, codes in named}, model.weights
    rows = _joined(model, resolution)
    return rows, np.ones(len(next(iter(rows.values()))), dtype=np.int64)


def expand(weights: Ints) -> Ints:
    """Return the index of each row as often as its weight, for `ROUND` rows at a time.

    Of these, first come all rows, then all of weight 2 and more, and so on. So neighbours differ, but repetitions are
    close enough for the file to compress well.

    >>> expand(np.array([3, 1, 2]))
    array([0, 1, 2, 0, 2, 0])
    """
    taken: Ints = np.repeat(np.arange(weights.size), weights)
    if weights.max(initial=0) > 1:
        before = np.arange(taken.size) - np.repeat(np.cumsum(weights) - weights, weights)
        before = before.astype(np.min_scalar_type(weights.max()))
        ends = np.cumsum(np.add.reduceat(weights, np.arange(0, weights.size, ROUND)))
        for start, end in pairwise([0, *ends.tolist()]):
            taken[start:end] = taken[start:end][np.argsort(before[start:end], kind="stable")]
    return taken


def _joined(model: ConsistentTables, resolution: Resolution) -> dict[str, Ints]:
    """Return one row for each person of the tables, as the cells of each column and of its coarser levels."""
    rows: dict[str, Ints] = {}
    if isinstance(model.rows, SyntheticRows):
        unique, times = unique_rows(model.rows)
        index = expand(times)
        rows = resolution.with_coarser({name: codes[index] for name, codes in unique.items()})
    for table in model.tables:
        codes = np.repeat(np.arange(table.values.size), table.values.ravel())
        unpacked = dict(zip(table.columns, np.unravel_index(codes, table.values.shape), strict=True))
        people = resolution.with_coarser(unpacked)
        if not rows:
            rows = people
            continue
        shared = resolution.shared_columns(table.columns, tuple(rows))
        sizes = tuple(int(max(rows[name].max(initial=0), people[name].max(initial=0))) + 1 for name in shared)
        domain = Domain(shared, sizes)
        place = _spread_within_groups(rows, domain)
        groups = domain.cells([people[name] for name in shared]) if shared else np.zeros(codes.size, dtype=np.int64)
        order = np.argsort(groups, kind="stable")
        for name in people.keys() - rows.keys():
            rows[name] = np.empty_like(people[name])
            rows[name][place] = people[name][order]
    return rows


def rescale(
    rows: Mapping[str, Ints], weights: Ints, count: int, tables: Iterable[Columns], sizes: Mapping[str, int]
) -> Ints:
    """Return new weights of `rows` that add up to `count` and change the proportions in `tables` as little as possible.

    There is at least one row. `sizes` gives the number of cells of each column. A fixed function of its arguments.
    """
    people = int(weights.sum())
    taken, rest = np.divmod(weights * count, people)
    running = np.cumsum(rest) // people
    more = np.diff(running, prepend=0) > 0
    if rest.any():
        _swap(more, rest / people, rows, _compared(tables, sizes), sizes)
    return taken + more


def _compared(tables: Iterable[Columns], sizes: Mapping[str, int]) -> list[Columns]:
    """Return the single columns and pairs of the tables, and the tables themselves if they are small."""
    wanted = list(tables)
    parts = {part for table in wanted for k in (1, 2) for part in combinations(sorted(table), k)}
    whole = {tuple(sorted(table)) for table in wanted}
    fit = sum(math.prod(sizes[name] for name in table) for table in whole) <= MAX_CELLS_COMPARED
    return sorted(parts | whole if fit else parts)


def _swap(
    more: npt.NDArray[np.bool_],
    exact: npt.NDArray[np.float64],
    rows: Mapping[str, Ints],
    tables: Sequence[Columns],
    sizes: Mapping[str, int],
) -> None:
    """Swap rows that are rounded up (`more`) for others while the tables' sum of squared errors falls.

    `exact` is the fraction that was rounded for each row. Swapping one row for another changes the sum by
    2·(Σ excess[the other's cells] − Σ excess[its own]) + 2 for each table in which they differ.
    """
    if more.size * len(tables) > MAX_SWAPPED:
        return
    excess = []
    for table in tables:
        cell = _cells(rows, table, sizes, slice(None))
        cells = math.prod(sizes[name] for name in table)
        excess.append(np.bincount(cell, more - exact, minlength=cells))
    size = max(256, -(-more.size // BATCHES))
    for salt, accepted in enumerate(ACCEPTED):
        order = shuffled(more.size, salt)
        for start in range(0, more.size, size):
            batch = order[start : start + size]
            own = [_cells(rows, table, sizes, batch) for table in tables]
            score = np.zeros(batch.size)
            for table_excess, cell in zip(excess, own, strict=True):
                score += table_excess[cell]
            taken = more[batch]
            out, into = np.flatnonzero(taken), np.flatnonzero(~taken & (exact[batch] > 0))
            out, into = out[np.argsort(-score[out], kind="stable")], into[np.argsort(score[into], kind="stable")]
            pairs = min(out.size, into.size)
            gain = score[out[:pairs]] - score[into[:pairs]] - len(tables)
            helpful = int(np.count_nonzero(gain > 0))
            made = max(1, int(accepted * helpful)) if helpful else 0
            for places, step in ((out[:made], -1), (into[:made], 1)):
                more[batch[places]] = step > 0
                for table_excess, cell in zip(excess, own, strict=True):
                    np.add.at(table_excess, cell[places], step)


def _cells(
    rows: Mapping[str, Ints], table: Columns, sizes: Mapping[str, int], which: slice | npt.NDArray[np.intp]
) -> Ints:
    """Return the index of each row's cell in `table`."""
    return Domain(table, tuple(sizes[name] for name in table)).cells([rows[name][which] for name in table])


def _spread_within_groups(rows: Mapping[str, Ints], shared: Domain) -> Ints:
    """Return positions of the rows, grouped by their shared columns, and within a group in golden order.

    Filling a sorted column into these positions pairs it evenly with the columns that the rows have already, since
    multiples of the golden section are evenly spread over every section of a group.
    """
    count = len(next(iter(rows.values())))
    group = shared.cells([rows[name] for name in shared]) if shared.names else np.zeros(count, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    within = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    golden = golden_fractions(within)
    spread: Ints = order[np.lexsort((golden, group[order]))]
    return spread
