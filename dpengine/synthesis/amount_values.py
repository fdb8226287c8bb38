"""Values of amounts in synthetic rows: whole steps of the grid whose sums over cells are the published ones.

The people of a cell whose value is known get values spread evenly around the cell's mean, as widely as the bounds
allow. The assignment of values to rows follows a sequence that is also evenly spread, so that neighbouring rows, which
are alike in other columns, get values from the whole range.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.estimate.amounts import AmountTable
from dpengine.marginals.marginal import Domain
from dpengine.quasi_random import GOLDEN_SECTION

__all__ = ["AmountValues"]


@dataclass
class AmountValues:
    """Assigns each row of a release, block by block, its place on an amount's grid; −1 if it is missing.

    `people` are the rows in each cell of `table`; if they differ from the `counts` of the release, the known fractions
    and the means stay the same. `top` is the grid's last place.
    """

    table: AmountTable
    counts: Ints
    people: Ints
    top: int
    _seen: Ints = field(init=False)

    def __post_init__(self) -> None:
        counts, people = (np.maximum(each.ravel(), 1) for each in (self.counts, self.people))
        known, steps = self.table.known.ravel(), self.table.steps.ravel()
        same = self.counts.ravel() == self.people.ravel()
        self._known = np.where(same, known, np.rint(known * (people / counts)).astype(np.int64))
        scaled = np.rint(steps / np.maximum(known, 1) * self._known).astype(np.int64)
        self._steps = np.where(self._known == known, steps, scaled)
        self._seen = np.zeros(people.size, dtype=np.int64)
        self._stride = _coprime(np.maximum(self.people.ravel(), 1))

    @property
    def columns(self) -> Columns:
        """The columns whose cells decide the values."""
        return self.table.columns

    def next(self, codes: list[Ints]) -> Ints:
        """Return the place of each of the next rows, whose cells in `columns` are `codes`."""
        if not codes:
            raise ValueError("an amount needs a table of at least one column")
        cells = Domain(self.columns, self.table.known.shape).cells([each.astype(np.int64) for each in codes])
        order = np.argsort(cells, kind="stable")
        sizes = np.bincount(cells, minlength=self._seen.size)
        rank = np.empty(len(cells), dtype=np.int64)
        rank[order] = np.arange(len(cells)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank += self._seen[cells]
        self._seen += sizes
        people = self.people.ravel()[cells]
        place = rank * self._stride[cells] % people
        known, steps = self._known[cells], self._steps[cells]
        values = _running(place + 1, known, steps, self.top) - _running(place, known, steps, self.top)
        return np.where(place < known, values, -1)


def _running(count: Ints, known: Ints, steps: Ints, top: int) -> Ints:
    """Return the sum of the first values of a cell: evenly spread ones around the mean, rounded as a running sum."""
    mean = steps / np.maximum(known, 1)
    reach = np.minimum(mean, top - mean)
    part = np.minimum(count, known)
    # ∫ from mean − reach upwards: at `known` it is exactly known · mean.
    sums = part * (mean - reach + reach * part / np.maximum(known, 1))
    running: Ints = np.where(part >= known, steps, np.floor(sums + 0.5).astype(np.int64))
    return running


def _coprime(sizes: Ints) -> Ints:
    """Return for each size a number near its golden section that has no common factor with it."""
    strides: Ints = np.maximum(1, np.rint(sizes * GOLDEN_SECTION).astype(np.int64))
    while (common := np.gcd(strides, sizes) > 1).any():
        strides[common] += 1
    return strides
