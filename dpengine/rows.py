"""A model of pairs → whole synthetic rows whose own tables come as near to the pairs' as whole rows can.

Rows are first dealt along the tree of strongest dependence: the counts of a column among the rows that share a
value of its parent are those of the model, rounded, and what rounding takes from one value it gives to the next.
Then single values are changed, a few rows and one column at a time, wherever that brings the tables of all pairs
together nearer to the model's in the sum of squares. Rows are not sampled: sampling n rows would add an error as
of √n to every count, which is more than the noise at usual ε.

A fixed function of the model: where an order is needed that has no meaning, it is that of a hash.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dpengine.pairwise import Pairwise

__all__ = ["Codes", "deal_rows", "shuffled"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

BATCHES = 192  # a pass looks at all rows in about so many batches
# Part of a batch's helpful changes, the most helpful first, that a pass makes at once: many undo each other's help.
ACCEPTED = (0.1, 0.05, 0.05, 0.03, 0.02)


def deal_rows(model: Pairwise, rows: int) -> Codes:
    """Codes of ``rows`` synthetic rows, of shape (columns, rows), columns in the order of the model's."""
    names = list(model.one)
    if rows == 0:
        return np.zeros((len(names), 0), dtype=np.int32)
    codes = _along_tree(model, names, rows)
    if len(names) > 1:
        _mend(codes, {name: k for k, name in enumerate(names)}, model)
    return codes


def _along_tree(model: Pairwise, names: list[str], rows: int) -> Codes:
    place = {name: k for k, name in enumerate(names)}
    codes = np.zeros((len(names), rows), dtype=np.int32)
    codes[0] = np.repeat(np.arange(model.one[names[0]].size), _whole(model.one[names[0]] + 1e-9, rows))
    for salt, (parent, child) in enumerate(_tree(model, names)):
        given = codes[place[parent]]
        order = shuffled(rows, salt)
        order = order[np.argsort(given[order], kind="stable")]
        table = model.pair(parent, child)
        sizes, carried, start = np.bincount(given, minlength=len(table)), np.zeros(table.shape[1]), 0
        for value in np.flatnonzero(sizes):
            likely = table[value] if table[value].sum() > 0 else model.one[child] + 1e-9
            wanted = likely * (sizes[value] / likely.sum()) + carried
            counts = _whole(np.maximum(wanted, 0.0) + 1e-12, int(sizes[value]))
            carried = wanted - counts
            codes[place[child], order[start : start + sizes[value]]] = np.repeat(np.arange(counts.size), counts)
            start += sizes[value]
    return codes


def _tree(model: Pairwise, names: list[str]) -> list[tuple[str, str]]:
    """Edges (parent, child) of the tree of strongest dependence, from the first column outwards (Prim)."""
    edges: list[tuple[str, str]] = []
    nearest = dict.fromkeys(names[1:], (-1.0, ""))
    latest = names[0]
    while nearest:
        for name, (strength, _) in nearest.items():
            apart = model.pair(latest, name) - np.outer(model.one[latest], model.one[name]) / model.total
            nearest[name] = max((strength, nearest[name][1]), (float(np.abs(apart).sum()), latest))
        child = max(nearest, key=lambda name: nearest[name])
        edges.append((nearest.pop(child)[1], child))
        latest = child
    return edges


def _whole(expected: Floats, rows: int) -> npt.NDArray[np.int64]:
    """Whole numbers near to ``expected``, scaled to add up to ``rows``: the largest remainders are rounded up."""
    scaled = expected * (rows / expected.sum())
    counts = np.floor(scaled).astype(np.int64)
    up = np.argsort(counts - scaled, kind="stable")[: rows - int(counts.sum())]
    counts[up] += 1
    whole: npt.NDArray[np.int64] = counts
    return whole


def shuffled(count: int, salt: int) -> npt.NDArray[np.intp]:
    """The numbers below ``count`` in the order of a hash (the finaliser of SplitMix64; Steele et al. 2014)."""
    x = np.arange(count, dtype=np.uint64) + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    order: npt.NDArray[np.intp] = np.argsort(x ^ (x >> np.uint64(31)), kind="stable")
    return order


def _mend(codes: Codes, place: Mapping[str, int], model: Pairwise) -> None:
    """Change single values of rows while that brings the pairs' tables nearer to the model's.

    Values of all columns are numbered through. ``over[x, y]`` is by how much values x and y of two columns are held
    together too often; 0 where they are of one column. Moving a row from value u to v changes the sum of squares by
    2·Σ_y (over[y, v] − over[y, u] + 1), over the row's values y of other columns.
    """
    columns, rows = codes.shape
    starts = np.cumsum([0, *(counts.size for counts in model.one.values())])
    over = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    for a, i in place.items():
        for b, k in place.items():
            if i < k:
                table = model.pair(a, b)
                held = np.bincount(codes[i] * table.shape[1] + codes[k], minlength=table.size).reshape(table.shape)
                excess = held - rows / model.total * table
                over[starts[i] : starts[i + 1], starts[k] : starts[k + 1]] = excess
                over[starts[k] : starts[k + 1], starts[i] : starts[i + 1]] = excess.T
    size = max(64, -(-rows // BATCHES))
    for salt, accepted in enumerate(ACCEPTED):
        order = shuffled(rows, columns + salt)
        for start in range(0, rows, size):
            _improve(codes, order[start : start + size], starts, over, accepted)


def _improve(
    codes: Codes, batch: npt.NDArray[np.intp], starts: npt.NDArray[np.int64], over: npt.NDArray[np.float32], part: float
) -> None:
    """Move some rows of the batch to the best value of one column after another."""
    from scipy.sparse import csr_array  # only where rows are dealt: it takes long to load

    columns, lanes = len(codes), np.arange(batch.size)
    flat, width = over.reshape(-1), len(over)
    # Which values each row has, as a sparse matrix of ones; held is a view of its indices, and changes it.
    own = (codes[:, batch] + starts[:-1, None]).T.ravel()
    ends = np.arange(0, own.size + 1, columns)
    rows = csr_array((np.ones(own.size, np.float32), own, ends), shape=(batch.size, width))
    held = rows.indices.reshape(batch.size, columns).T
    for a in range(columns):
        cost = rows @ np.ascontiguousarray(over[:, starts[a] : starts[a + 1]])
        here = cost[lanes, held[a] - starts[a]]
        best = cost.argmin(axis=1)
        gain = here - cost[lanes, best] - (columns - 1)
        helpful = np.flatnonzero(gain > 0)
        if helpful.size == 0:
            continue
        moved = helpful[np.argsort(-gain[helpful], kind="stable")][: max(1, int(part * helpful.size))]
        others = np.delete(held[:, moved], a, axis=0).astype(np.int64)
        for value, step in ((held[a][moved].astype(np.int64), -1), (best[moved] + starts[a], 1)):
            np.add.at(flat, (others * width + value).ravel(), np.float32(step))
            np.add.at(flat, (value * width + others).ravel(), np.float32(step))
        held[a][moved] = best[moved] + starts[a]
        codes[a, batch[moved]] = best[moved]
