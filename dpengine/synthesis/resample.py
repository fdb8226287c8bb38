"""A consistent model → rows: synthetic people who add up to the published tables.

Rows hold cells, since cells are all that a release knows; `synthesis.cell_values` gives them values. Where the model
is a tree of tables, a row's columns are drawn together table by table: given the columns that two tables share, the
rest are paired evenly (as if independent), which is the least that the published tables say.

For another number of rows a row that stands t times is taken ⌊t·N/n⌋ or ⌈t·N/n⌉ times. So every count c, of every
table, becomes one between ⌊N/n⌋·c and ⌈N/n⌉·c: what was empty stays empty, and a whole multiple of n is exact. Which
rows are taken once more is not sampled: they are picked evenly along the rows, then swapped while that brings the
tables nearer to the published ones, scaled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Ints
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.marginal import Domain
from dpengine.quasi_random import golden_fractions, shuffled
from dpengine.synthesis.generate_rows import SyntheticRows

__all__ = ["expand", "rescale", "unique_rows"]


MAX_CELLS_MENDED = 2_000_000  # of all tables together; beyond it, their pairs of columns stand for them
MAX_MENDED = 200_000_000  # rows times tables looked at
BATCHES = 96
ACCEPTED = (0.2, 0.1, 0.1, 0.05)  # part of a batch's helpful swaps that a pass makes at once


def unique_rows(model: ConsistentTables | SyntheticRows) -> tuple[dict[str, Ints], Ints]:
    """Return unique rows, as the cells of each column, and their weights; counted, they give the model's tables."""
    if isinstance(model, SyntheticRows):
        named = zip(model.domain, model.codes, strict=True)
        return {name: codes.astype(np.int64) for name, codes in named}, model.weights
    rows = _joined(model)
    return rows, np.ones(len(next(iter(rows.values()))), dtype=np.int64)


def expand(weights: Ints) -> Ints:
    """Return places of rows, each as often as its weight: first all rows, then all of weight 2 and more, and so on.

    >>> expand(np.array([3, 1, 2]))
    array([0, 1, 2, 0, 2, 0])
    """
    taken: Ints = np.repeat(np.arange(weights.size), weights)
    if weights.max(initial=0) > 1:
        before = np.arange(taken.size) - np.repeat(np.cumsum(weights) - weights, weights)
        taken = taken[np.argsort(before.astype(np.min_scalar_type(weights.max())), kind="stable")]
    return taken


def _joined(model: ConsistentTables) -> dict[str, Ints]:
    rows: dict[str, Ints] = {}
    for table in model.tables:
        shared = tuple(name for name in table.columns if name in rows)
        own = tuple(name for name in table.columns if name not in rows)
        ordered = table.project((*shared, *own))
        codes = np.repeat(np.arange(ordered.values.size), ordered.values.ravel())
        unpacked = dict(zip(ordered.columns, np.unravel_index(codes, ordered.values.shape), strict=True))
        if not rows:
            rows = {name: unpacked[name] for name in own}
            continue
        place = _spread_within_groups(rows, ordered.domain.project(shared))
        for name in own:
            rows[name] = np.empty_like(unpacked[name])
            rows[name][place] = unpacked[name]
    return rows


def rescale(
    rows: Mapping[str, Ints], weights: Ints, count: int, tables: Iterable[Columns], sizes: Mapping[str, int]
) -> Ints:
    """Return weights of `rows`, in place of `weights`, that add up to `count` and keep `tables` as alike as they can.

    There is one row at least. `sizes` gives the cells of each column. A fixed function of its arguments.
    """
    people = int(weights.sum())
    taken, rest = np.divmod(weights * count, people)
    running = np.cumsum(rest) // people
    more = np.diff(running, prepend=0) > 0
    if rest.any():
        _swap(more, rest / people, rows, _compared(tables, sizes), sizes)
    return taken + more


def _compared(tables: Iterable[Columns], sizes: Mapping[str, int]) -> list[Columns]:
    """The tables and what they hold of single columns and pairs; without the tables themselves where they are large."""
    wanted = list(tables)
    parts = {part for table in wanted for k in (1, 2) for part in combinations(sorted(table), k)}
    whole = {tuple(sorted(table)) for table in wanted}
    fit = sum(math.prod(sizes[name] for name in table) for table in whole) <= MAX_CELLS_MENDED
    return sorted(parts | whole if fit else parts)


def _swap(
    more: npt.NDArray[np.bool_],
    share: npt.NDArray[np.float64],
    rows: Mapping[str, Ints],
    tables: Sequence[Columns],
    sizes: Mapping[str, int],
) -> None:
    """Swap rows that are taken once more for others while the tables' sum of squares falls.

    ``share`` says how much of once more would be exact for each. With ``over`` by how much each cell is held too often,
    taking out a row and putting in another one changes the sum by 2·(Σ over[the other's cells] − Σ over[its own]) + 2
    for each table in which their cells differ.
    """
    if more.size * len(tables) > MAX_MENDED:
        return
    over = []
    for table in tables:
        cell = _cells(rows, table, sizes, slice(None))
        cells = math.prod(sizes[name] for name in table)
        over.append(np.bincount(cell, more - share, minlength=cells))
    size = max(256, -(-more.size // BATCHES))
    for salt, accepted in enumerate(ACCEPTED):
        order = shuffled(more.size, salt)
        for start in range(0, more.size, size):
            batch = order[start : start + size]
            own = [_cells(rows, table, sizes, batch) for table in tables]
            score = np.zeros(batch.size)
            for excess, cell in zip(over, own, strict=True):
                score += excess[cell]
            held = more[batch]
            out, into = np.flatnonzero(held), np.flatnonzero(~held & (share[batch] > 0))
            out, into = out[np.argsort(-score[out], kind="stable")], into[np.argsort(score[into], kind="stable")]
            pairs = min(out.size, into.size)
            gain = score[out[:pairs]] - score[into[:pairs]] - len(tables)
            helpful = int(np.count_nonzero(gain > 0))
            made = max(1, int(accepted * helpful)) if helpful else 0
            for places, step in ((out[:made], -1), (into[:made], 1)):
                more[batch[places]] = step > 0
                for excess, cell in zip(over, own, strict=True):
                    np.add.at(excess, cell[places], step)


def _cells(
    rows: Mapping[str, Ints], table: Columns, sizes: Mapping[str, int], which: slice | npt.NDArray[np.intp]
) -> Ints:
    cell = rows[table[0]][which]
    for name in table[1:]:
        cell = cell * sizes[name] + rows[name][which]
    return cell


def _spread_within_groups(rows: Mapping[str, Ints], shared: Domain) -> Ints:
    """Positions of the rows, group by group of equal shared columns, and within a group in golden order.

    Filling a sorted column into these positions pairs it evenly with what the rows already hold: the
    multiples of the golden section leave every stretch of a group the least uneven (Weyl; Niederreiter 1992).
    """
    count = len(next(iter(rows.values())))
    group = shared.cells([rows[name] for name in shared]) if shared.names else np.zeros(count, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    within = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    golden = golden_fractions(within)
    spread: Ints = order[np.lexsort((golden, group[order]))]
    return spread
