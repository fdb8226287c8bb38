"""Moves of single people to another value of one column, made where they bring tables nearer to wanted ones.

What falls is the sum of worth · (count − wanted)² over the cells of all tables; an error in a small cell is worth more.

Moves are made for many people at once, the most helpful first. Since they were judged one by one, together they may go
too far; the gain of undoing them tells how far, and as many as went too far are undone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Floats, Ints

__all__ = ["Table", "kept", "move", "table_of"]

Reals = npt.NDArray[np.float32]

POWER = 0.5  # an error in a cell of m people is worth (1 + m)^−POWER
MOST = 0.5  # of the helpful moves of a batch that are tried at once


@dataclass(frozen=True, slots=True)
class Table:
    """A table over some of the columns: its cells in one line, and how far apart values of each column are in it.

    One more person in a cell adds 2·`price` to what falls, and one less takes 2·(`price` − `worth`) from it.
    """

    steps: Mapping[int, int]
    price: Reals
    worth: Reals

    def off(self) -> float:
        """Return Σ worth · (count − wanted)²."""
        return float(((self.price - self.worth / 2) ** 2 / self.worth).sum(dtype=np.float64))

    def gain_of_leaving(self, places: Ints) -> Reals:
        """Return what it gains to take each person away, who has these values of all columns, a row each."""
        cells = sum(places[column] * step for column, step in self.steps.items())
        gain: Reals = self.price.take(cells) - self.worth.take(cells)
        return gain


def table_of(columns: Sequence[int], excess: Floats | Reals, wanted: Floats) -> Table:
    """Return the table over `columns` whose counts exceed those `wanted` by `excess`, both with an axis a column."""
    worth = (1 + np.maximum(wanted, 0).ravel()) ** -POWER
    steps = {column: math.prod(wanted.shape[k + 1 :]) for k, column in enumerate(columns)}
    return Table(steps, (worth * (excess.ravel() + 0.5)).astype(np.float32), worth.astype(np.float32))


def kept(count: int, gain: float, undone: float) -> int:
    """Return how many of `count` changes to keep that gain `gain` one by one, and `undone` if each is then undone.

    Along the changes the sum falls as −2·gain·p + (gain + undone)·p² at the part p, if they are alike.

    >>> kept(10, 5.0, -5.0), kept(10, 5.0, 5.0)
    (10, 5)
    """
    return count if undone <= 0 else max(1, int(count * gain / (gain + undone)))


def move(places: Ints, shape: Sequence[int], tables: Sequence[Table], possible: Bools | None = None) -> None:
    """Give each person the best value of one column after another, where that helps; `places` and `tables` change.

    `places` has a row for each column, of so many values as `shape` says. Nobody moves to a cell of all columns that is
    not `possible`.
    """
    people = np.arange(places.shape[1])
    for column, values in enumerate(shape):
        own, along = places[column], np.arange(values)
        lines = [
            (table, _first(table, places, column), table.steps[column]) for table in tables if column in table.steps
        ]
        cost = np.zeros((people.size, values), dtype=np.float32)
        for table, first, apart in lines:
            cost += table.price.take(first[:, None] + along * apart)
        if possible is not None:
            step = math.prod(shape[column + 1 :])
            cell = np.ravel_multi_index(tuple(places), shape) - own * step
            cost[~possible.take(cell[:, None] + along * step)] = np.inf
        cost[people, own] = np.inf
        best = cost.argmin(axis=1)
        gain = _gain(lines, own, best)
        helpful = np.flatnonzero((gain > 0) & np.isfinite(cost[people, best]))
        if helpful.size == 0:
            continue
        helpful = helpful[np.argsort(-gain[helpful], kind="stable")][: max(16, int(MOST * helpful.size))]
        here, there = own[helpful], best[helpful]
        lines = [(table, first[helpful], apart) for table, first, apart in lines]
        _shift(lines, here, there)
        keep = kept(helpful.size, float(gain[helpful].sum()), float(_gain(lines, there, here).sum()))
        _shift([(table, first[keep:], apart) for table, first, apart in lines], there[keep:], here[keep:])
        own[helpful[:keep]] = there[:keep]


def _first(table: Table, places: Ints, column: int) -> Ints:
    """Return the cells of a table in which people would be with the first value of `column`."""
    first = np.zeros(places.shape[1], dtype=np.int64)
    for other, step in table.steps.items():
        if other != column:
            first += places[other] * step
    return first


def _gain(lines: Sequence[tuple[Table, Ints, int]], here: Ints, there: Ints) -> Reals:
    """Return what it gains to move each person alone; in each table, their line begins at a cell and has a step."""
    gain = np.zeros(here.size, dtype=np.float32)
    for table, first, apart in lines:
        cells = first + here * apart
        gain += table.price.take(cells) - table.worth.take(cells) - table.price.take(first + there * apart)
    return gain


def _shift(lines: Sequence[tuple[Table, Ints, int]], here: Ints, there: Ints) -> None:
    """Move people between values of one column."""
    for table, first, apart in lines:
        for values, sign in ((here, np.float32(-1)), (there, np.float32(1))):
            cells = first + values * apart
            np.add.at(table.price, cells, sign * table.worth.take(cells))
