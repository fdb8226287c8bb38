"""Divide the count of an unsplit box among its cells, along a slope between its neighbours.

The inside of such a box was not measured. If the neighbours on both sides show that counts rise or fall through it, its
cells follow with the smaller of the two slopes (the minmod limiter, Roe 1986); otherwise they share evenly. Sums of
boxes do not change. This is a guess from noisy numbers, so it is post-processing (Dwork & Roth 2014, Proposition 2.1).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from dpengine.array_types import Floats, Ints

__all__ = ["sloped"]


def sloped(table: Floats, first: Ints, last: Ints, cells: Ints) -> Floats:
    """Return `table` with a slope along each axis within each box; it is even within boxes that cover it once.

    Boxes are from `first` to before `last`, one row per box. `cells` are the flat places of all cells, in the order of
    the boxes. Counts stay non-negative.
    """
    widths = last - first
    sizes = widths.prod(axis=1)
    wide = sizes > 1
    if not wide.any():
        return table
    sums = _running(table)
    level, slopes = np.zeros(sizes.size), np.zeros(widths.shape)
    level[wide] = _means(sums, first[wide], last[wide])
    for axis in range(table.ndim):
        slopes[wide, axis] = _slope(sums, first[wide], last[wide], level[wide], axis)
    reach = (np.abs(slopes) * (widths - 1) / 2).sum(axis=1)
    slopes *= np.divide(level, reach, out=np.ones_like(level), where=reach > level)[:, None]
    change = np.repeat(-(slopes * (first + last - 1) / 2).sum(axis=1), sizes)
    step, rest = table.size, cells
    for axis, size in enumerate(table.shape):
        step //= size
        place, rest = (rest, rest) if step == 1 else np.divmod(rest, step)
        change += np.repeat(slopes[:, axis], sizes) * place
    found = table.copy()
    found.ravel()[cells] += change
    return np.maximum(found, 0, out=found)


def _slope(sums: Floats, first: Ints, last: Ints, level: Floats, axis: int) -> Floats:
    """Return the slope of each box along one axis: the smaller of those to both neighbours, if their signs agree.

    At an end of the table, there is only one neighbour.
    """
    widths, size = (last - first)[:, axis], sums.shape[axis] - 1
    sides = []
    for outside in (first[:, axis] - 1, last[:, axis]):
        there = np.clip(outside, 0, size - 1)
        start, end = first.copy(), last.copy()
        start[:, axis], end[:, axis] = there, there + 1
        difference = (_means(sums, start, end) - level) * np.sign(outside - first[:, axis])
        sides.append(np.where(outside == there, difference / widths, np.nan))
    before, after = (np.where(np.isnan(one), other, one) for one, other in (sides, sides[::-1]))
    agree = (before * after > 0) & (widths > 1) & (widths < size)
    lesser: Floats = np.where(agree, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0)
    return lesser


def _running(table: Floats) -> Floats:
    """Return sums from the first cell on, along all axes, with a zero before each."""
    sums = np.zeros([size + 1 for size in table.shape])
    sums[(slice(1, None),) * table.ndim] = table
    for axis in range(table.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return sums


def _means(sums: Floats, first: Ints, last: Ints) -> Floats:
    """Return the mean of the cells of each box, from running sums by inclusion and exclusion."""
    total = np.zeros(len(first))
    for corner in product((False, True), repeat=first.shape[1]):
        total += (-1) ** corner.count(False) * sums[tuple(np.where(corner, last, first).T)]
    means: Floats = np.maximum(total, 0) / (last - first).prod(axis=1)
    return means
