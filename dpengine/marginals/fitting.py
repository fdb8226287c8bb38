"""Fit arrays of counts to known sums: proportional fitting, projection by least squares, rounding to whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints

__all__ = [
    "Margin", "largest_remainders", "project", "project_on_margins", "rake", "rake_three", "rake_two",
    "round_to_total", "round_to_totals", "shift_to_margins",
]  # fmt: skip

TINY = 1e-100  # for a sum of 0, whose cells are all 0 and stay so
Margin = tuple[tuple[int, ...], npt.NDArray[Any]]  # increasing axes, and the required sums over all others


def rake(table: Floats, margins: Sequence[Margin], sweeps: int, tolerance: float = 0.0) -> Floats:
    """Scale a copy of `table` until its sums are those of `margins`: iterative proportional fitting.

    Each sweep fits the margins in turn. Sweeps end early once all sums together are off by `tolerance` (L1) at most.
    Slices that are all zeros stay so.

    Source: Deming & Stephan 1940.

    >>> rake(np.ones((2, 2)), [((0,), np.array([3.0, 1.0])), ((1,), np.array([2.0, 2.0]))], sweeps=1)
    array([[1.5, 1.5],
           [0.5, 0.5]])
    """
    table = np.array(table)
    steps = []
    for axes, wanted in margins:
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        shape = [size if axis in axes else 1 for axis, size in enumerate(table.shape)]
        steps.append((others, wanted.reshape(shape), np.ones(shape)))
    for _ in range(sweeps):
        error = 0.0
        for others, wanted, ratio in steps:
            sums = np.add.reduce(table, axis=others, keepdims=True)
            if tolerance:
                error += float(np.abs(wanted - sums).sum())
            np.divide(wanted, sums, out=ratio, where=sums > 0)
            table *= ratio
        if tolerance and error <= tolerance:
            break
    return table


def rake_two(table: Floats, rows: Floats, columns: Floats, sweeps: int, tolerance: float = 0.0) -> Floats:
    """Return what `rake` makes of a table of two columns without zeros, by factors of its rows and columns.

    Source: Sinkhorn 1967.

    >>> rake_two(np.ones((2, 2)), np.array([3.0, 1.0]), np.array([2.0, 2.0]), sweeps=1)
    array([[1.5, 1.5],
           [0.5, 0.5]])
    """
    down, across = np.ones(len(rows)), np.ones(len(columns))
    for _ in range(sweeps):
        sums = table @ across
        error = np.abs(rows - down * sums).sum()
        down = rows / sums
        sums = down @ table
        error += np.abs(columns - across * sums).sum()
        across = columns / sums
        if error <= tolerance:
            break
    fitted: Floats = down[:, None] * table * across
    return fitted


def rake_three(first: Floats, middle: Floats, last: Floats, sweeps: int) -> Floats:
    """Return the table of three columns to which `rake` brings one of ones, given its sums over each of them.

    The sums are those of the pairs (0, 1), (0, 2) and (1, 2); the last are met. The table is a product of three
    factors, one for each pair. So its sums are products of matrices, and it is written down only once.

    >>> rake_three(np.full((2, 2), 2.0), np.full((2, 1), 4.0), np.array([[3.0], [5.0]]), sweeps=1)[0]
    array([[1.5],
           [2.5]])
    """
    b, c = np.ones_like(middle), np.ones_like(last)
    for _ in range(sweeps):
        a = first / np.maximum(b @ c.T, TINY)
        b = middle / np.maximum(a @ c, TINY)
        c = last / np.maximum(a.T @ b, TINY)
    table: Floats = a[:, :, None] * b[:, None, :]
    table *= c
    return table


def project(values: Floats, total: float) -> Floats:
    """Return the point of {x ≥ 0, Σx = `total`} nearest to `values`, of the same shape.

    Source: Duchi et al. 2008, Figure 1.

    >>> project(np.array([0.5, 0.75, -0.5]), 1.0)
    array([0.375, 0.625, 0.   ])
    """
    flat = values.ravel()
    descending = np.sort(flat)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, flat.size + 1)
    last = max(int(np.count_nonzero(descending > excess)), 1)
    nearest: Floats = np.maximum(values - excess[last - 1], 0.0)
    return nearest


def shift_to_margins(values: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the table of two axes with the given sums of `rows` and `columns` nearest to `values`, by least squares.

    Each row, and then each column, is shifted by a constant; counts may become negative. Noise that is independent and
    of equal variance in all cells of an m × n table keeps (1 − 1/m)·(1 − 1/n) of its variance if the sums are exact.

    Source: the additive adjustment of Stephan 1942, in closed form.

    >>> shift_to_margins(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([2.0, 2.0]), np.array([3.0, 1.0]))
    array([[ 2.25, -0.25],
           [ 0.75,  1.25]])
    """
    shifted = values + ((rows - values.sum(axis=1)) / values.shape[1])[:, None]
    nearest: Floats = shifted + (columns - shifted.sum(axis=0)) / values.shape[0]
    return nearest


def project_on_margins(values: Floats, rows: Floats, columns: Floats, sweeps: int, tolerance: float = 0.0) -> Floats:
    """Return the non-negative table with the given sums of `rows` and `columns` nearest to `values`.

    The nearest one is max(0, values + uᵢ + vⱼ). Each sweep improves u and then v by a step of Newton's method. Sweeps
    end early once all sums together are off by `tolerance` (L1) at most; columns are fitted last.

    Source: the dual of a least-squares projection, by block coordinates (Bregman 1967).

    >>> project_on_margins(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([2.0, 2.0]), np.array([3.0, 1.0]), sweeps=50)
    array([[2., 0.],
           [1., 1.]])
    """
    table, error = values, 0.0
    for _ in range(sweeps):
        shifts, error = _shift_to_rows(table, rows)
        table = table + shifts[:, None]
        shifts, further = _shift_to_rows(table.T, columns)
        table = table + shifts
        if error + further <= tolerance:
            break
    nearest: Floats = np.maximum(table, 0.0)
    return nearest


def _shift_to_rows(table: Floats, rows: Floats) -> tuple[Floats, float]:
    """Return a Newton step towards the shift of each row at which its positive part has the sum in `rows`.

    A row without a positive cell is first shifted until its greatest cell is 0. Also return how far the sums are off.
    """
    cells = np.add.reduce(table > 0, axis=1, dtype=np.float64)
    off = rows - np.add.reduce(np.maximum(table, 0.0), axis=1)
    shifts: Floats = off / np.maximum(cells, 1.0)
    if not cells.all():
        shifts -= np.where(cells, 0.0, table.max(axis=1))
    return shifts, float(np.add.reduce(np.abs(off)))


def round_to_totals(values: Floats, totals: Ints) -> Ints:
    """Round each row of `values` to whole numbers that add up to its entry of `totals`.

    Rows are scaled to their totals first; a row of zeros is filled evenly. Running sums are rounded, so every run of
    neighbouring cells keeps its sum to within one.

    >>> round_to_totals(np.array([[0.4, 0.4, 1.2], [0.0, 0.0, 0.0]]), np.array([2, 3]))
    array([[0, 1, 1],
           [1, 1, 1]])
    """
    sums = values.sum(axis=1, keepdims=True)
    even = np.broadcast_to(1.0 / values.shape[1], values.shape)
    running = np.cumsum(np.where(sums > 0, values / np.where(sums > 0, sums, 1), even), axis=1)
    up_to = np.floor(running * totals[:, None] + 0.5).astype(np.int64)
    up_to[:, -1] = totals
    np.minimum(up_to, totals[:, None], out=up_to)
    rounded: Ints = np.diff(up_to, axis=1, prepend=0)
    return rounded


def round_to_total(values: Floats, total: int) -> Ints:
    """Round `values`, of any shape, to whole numbers that add up to `total`: `round_to_totals` of a single row.

    >>> round_to_total(np.array([[1.0, 1.0], [1.0, 1.0]]), 6)
    array([[2, 1],
           [2, 1]])
    """
    return round_to_totals(values.reshape(1, -1), np.array([total])).reshape(values.shape)


def largest_remainders(values: Floats, total: int) -> Ints:
    """Scale `values`, one axis, to add up to `total` and round them: the largest remainders are rounded up.

    Every value changes by less than one. Of equal remainders, the first are rounded up.

    >>> largest_remainders(np.array([1.0, 2.0, 3.0]), 4)
    array([1, 1, 2])
    """
    scaled = values * (total / values.sum())
    counts: Ints = np.floor(scaled).astype(np.int64)
    up = np.argsort(counts - scaled, kind="stable")[: total - int(counts.sum())]
    counts[up] += 1
    return counts
