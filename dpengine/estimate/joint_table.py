"""One joint table of all columns whose tables are near to fitted ones: expected counts, and whole ones.

Expected counts are those of greatest entropy. They are rounded, and then single people move to another value of one
column where that brings the tables nearer. What falls is the sum of worth · (count − fitted)² over the cells of all
tables; an error in a small cell is worth more.

Moves are made for many people at once, the most helpful first. Since they were judged one by one, together they may go
too far; the gain of undoing them tells how far, and as many as went too far are undone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Columns, Floats, Ints
from dpengine.marginals.fitting import rake, round_to_total
from dpengine.quasi_random import shuffled

__all__ = ["fit_joint", "kept", "round_joint"]

Reals = npt.NDArray[np.float32]

SWEEPS = 60
POWER = 0.5  # an error in a cell of m people is worth (1 + m)^−POWER
PASSES = 12  # over people of different cells, at most
MOST_CELLS = 2**17  # whose people may move in a pass
BATCHES, LEAST_BATCH, MAX_PRICES = 32, 64, 2**20  # of a pass; cells in a batch; cells times values of a column
MOST = 0.5  # of the helpful moves of a batch that are tried at once
ENOUGH = 0.05  # of what is left: a pass that gains less is the last
NOBODY = 1e-6  # of the mean cell: where fewer people are expected, nobody moves


def fit_joint(
    names: Columns,
    fitted: Mapping[Columns, Floats],
    single: Mapping[str, Floats],
    total: int,
    sweeps: int = SWEEPS,
) -> Floats:
    """Return the joint table of greatest entropy with the fitted marginals, off by at most 1 in 1,000 people.

    Where these contradict each other, it is the one that so many `sweeps` lead to.
    """
    joint = np.ones([single[name].size for name in names])
    joint = rake(joint, [((names.index(name),), wanted) for name, wanted in single.items()], 1)
    margins = [(tuple(axis for axis, name in enumerate(names) if name in clique), fitted[clique]) for clique in fitted]
    return rake(joint, margins, sweeps - 1, tolerance=1e-3 * total)


def kept(count: int, gain: float, undone: float) -> int:
    """Return how many of `count` changes to keep that gain `gain` one by one, and `undone` if each is then undone.

    Along the changes the sum falls as −2·gain·p + (gain + undone)·p² at the part p, if they are alike.

    >>> kept(10, 5.0, -5.0), kept(10, 5.0, 5.0)
    (10, 5)
    """
    return count if undone <= 0 else max(1, int(count * gain / (gain + undone)))


def round_joint(joint: Floats, names: Columns, fitted: Mapping[Columns, Floats], total: int) -> Ints:
    """Return whole counts near to a joint table that add up to `total`, whose tables come near to the fitted ones.

    >>> round_joint(np.array([[0.6, 0.4], [0.4, 0.6]]), ("a", "b"), {("a", "b"): np.eye(2)}, 2)
    array([[1, 0],
           [0, 1]])
    """
    counts = round_to_total(joint, total)
    tables = [
        _table_of(counts, tuple(axis for axis, name in enumerate(names) if name in clique), wanted)
        for clique, wanted in fitted.items()
    ]
    possible = (joint > NOBODY * total / joint.size).ravel()
    cells = counts.reshape(-1)
    left = sum(table.off() for table in tables)
    for salt in range(PASSES):
        occupied = np.flatnonzero(cells)
        chosen = occupied[shuffled(occupied.size, salt)[:MOST_CELLS]]
        size = max(LEAST_BATCH, min(-(-chosen.size // BATCHES), MAX_PRICES // max(joint.shape)))
        for start in range(0, chosen.size, size):
            _move(cells, chosen[start : start + size], joint.shape, tables, possible)
        before, left = left, sum(table.off() for table in tables)
        if left >= (1 - ENOUGH * chosen.size / max(1, occupied.size)) * before:
            break
    return counts


@dataclass(frozen=True, slots=True)
class _Table:
    """A table over some axes of the joint one: its cells in one line, and how far apart values of each axis are.

    One more person in a cell adds 2·`price` to what falls, and one less takes 2·(`price` − `worth`) from it.
    """

    steps: Mapping[int, int]
    price: Reals
    worth: Reals

    def off(self) -> float:
        """Return Σ worth · (count − wanted)²."""
        return float(((self.price - self.worth / 2) ** 2 / self.worth).sum(dtype=np.float64))


def _table_of(counts: Ints, axes: tuple[int, ...], wanted: Floats) -> _Table:
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    excess = (counts.sum(axis=others) - wanted).ravel()
    worth = (1 + np.maximum(wanted, 0).ravel()) ** -POWER
    steps = {axis: math.prod(wanted.shape[k + 1 :]) for k, axis in enumerate(axes)}
    return _Table(steps, (worth * (excess + 0.5)).astype(np.float32), worth.astype(np.float32))


def _move(cells: Ints, batch: Ints, shape: Sequence[int], tables: Sequence[_Table], possible: Bools) -> None:
    """Move one person of each cell of `batch`, along one axis after another, where that helps."""
    places = np.array(np.unravel_index(batch, shape))
    now, rows = batch.copy(), np.arange(batch.size)
    for axis, values in enumerate(shape):
        own, step = places[axis], math.prod(shape[axis + 1 :])
        along = np.arange(values)
        lines = [(table, _first(table, places, axis), table.steps[axis]) for table in tables if axis in table.steps]
        cost = np.zeros((batch.size, values), dtype=np.float32)
        for table, first, apart in lines:
            cost += table.price.take(first[:, None] + along * apart)
        cost[~possible.take((now - own * step)[:, None] + along * step)] = np.inf
        cost[rows, own] = np.inf
        best = cost.argmin(axis=1)
        gain = _gain(lines, own, best)
        helpful = np.flatnonzero((gain > 0) & np.isfinite(cost[rows, best]))
        if helpful.size == 0:
            continue
        helpful = helpful[np.argsort(-gain[helpful], kind="stable")][: max(16, int(MOST * helpful.size))]
        here, there = own[helpful], best[helpful]
        lines = [(table, first[helpful], apart) for table, first, apart in lines]
        _shift(lines, here, there)
        keep = kept(helpful.size, float(gain[helpful].sum()), float(_gain(lines, there, here).sum()))
        _shift([(table, first[keep:], apart) for table, first, apart in lines], there[keep:], here[keep:])
        moved = helpful[:keep]
        np.subtract.at(cells, now[moved], 1)
        now[moved] += (there[:keep] - here[:keep]) * step
        np.add.at(cells, now[moved], 1)
        places[axis, moved] = there[:keep]


def _first(table: _Table, places: Ints, axis: int) -> Ints:
    """Return the cells of a table in which people would be with the first value of `axis`."""
    first = np.zeros(places.shape[1], dtype=np.int64)
    for other, step in table.steps.items():
        if other != axis:
            first += places[other] * step
    return first


def _gain(lines: Sequence[tuple[_Table, Ints, int]], here: Ints, there: Ints) -> Reals:
    """Return what it gains to move each person alone; in each table, their line begins at a cell and has a step."""
    gain = np.zeros(here.size, dtype=np.float32)
    for table, first, apart in lines:
        cells = first + here * apart
        gain += table.price.take(cells) - table.worth.take(cells) - table.price.take(first + there * apart)
    return gain


def _shift(lines: Sequence[tuple[_Table, Ints, int]], here: Ints, there: Ints) -> None:
    """Move people between values of one axis."""
    for table, first, apart in lines:
        for values, sign in ((here, np.float32(-1)), (there, np.float32(1))):
            cells = first + values * apart
            np.add.at(table.price, cells, sign * table.worth.take(cells))
