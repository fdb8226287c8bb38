"""A noisy table of two columns and guesses at it: the likelihood of each guess, and the table updated from it.

The columns' counts are known better than the sums of the noisy table. It is shifted to them, shrunk towards a guess
with the same sums (`shrinkage`), and projected on them; a mostly empty table is only scaled to columns that were
measured apart from it, so that empty cells stay so. To compare guesses, only likelihoods are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.marginals.fitting import project_on_margins, rake_two, shift_to_margins
from dpengine.marginals.marginal import Number
from dpengine.marginals.measurement import Measurement
from dpengine.marginals.shrinkage import Weighed, weigh

__all__ = ["EMPTY", "NoisyPair", "WeighedGuess", "merge", "touch_up"]

EMPTY = 1e-9  # added to every cell, so that raking can raise it from 0
RAKING_SWEEPS = 15  # at most, until margins are within `RAKED`
PROJECTING_SWEEPS = 10  # more do not change the error of a model of Adult by 1 in 1,000; raking does the rest
RAKED = 1e-5  # fraction of all rows by which margins may be off
TOUCH_UP_SWEEPS = 3  # of a table whose margins are nearly right


@dataclass(frozen=True, slots=True)
class NoisyPair:
    """A noisy table of two columns of known counts, shifted to these, in `merged` bins if there are any.

    `scale` is that of the noise that is left. The columns may have been measured `apart`, with noise of their own.
    """

    values: Floats
    scale: float
    rows: Floats
    columns: Floats
    merged: tuple[Ints, ...]
    apart: bool = False

    @classmethod
    def of(cls, measured: Measurement, one: Mapping[str, Floats], *, apart: bool) -> NoisyPair:
        """Return a measurement of two columns, given the counts of each."""
        rows, columns = (one[name] for name in measured.allocation.columns)
        values = measured.values.astype(np.float64)
        scale = float(measured.allocation.scale) * _noise_beside_margins(values)
        return replace(cls.shifted(values, scale, rows, columns, measured.merged), apart=apart)

    @classmethod
    def shifted(
        cls, values: Floats, scale: float, rows: Floats, columns: Floats, merged: tuple[Ints, ...] = ()
    ) -> NoisyPair:
        """Return a noisy table shifted to the counts of its columns; `scale` is that of the noise left by then."""
        shifted = shift_to_margins(values, merge(rows, merged[:1]), merge(columns, merged[1:]))
        return cls(shifted, scale, rows, columns, merged)

    def weigh(self, guess: Floats, before: float = 0.0) -> WeighedGuess:
        """Weigh a guess at the pair, to which earlier noisy tables have led; `before` is their log-likelihood."""
        weighed = weigh(self.values, merge(guess, self.merged), self.scale)
        return WeighedGuess(self, guess, weighed, before + weighed.likelihood)


@dataclass(frozen=True, slots=True)
class WeighedGuess:
    """A guess at a pair beside a noisy table of it, and the log-likelihood of this and all earlier ones."""

    noisy: NoisyPair
    guess: Floats
    weighed: Weighed
    likelihood: float

    def by_neighbours(self) -> WeighedGuess:
        """Return the guess with errors that neighbouring cells have in common, if it is clearly likelier."""
        return replace(self, weighed=self.weighed.by_neighbours())

    def updated(self) -> Floats:
        """Return the pair's expected counts: the guess, updated by the noisy table."""
        merged = self.noisy.merged
        rows, columns = merge(self.noisy.rows, merged[:1]), merge(self.noisy.columns, merged[1:])
        near = RAKED * float(rows.sum())
        better = self.weighed.shrunk()
        if self.weighed.sparse is None or not self.noisy.apart:  # a shift to the margins would fill empty cells
            better = project_on_margins(better, rows, columns, PROJECTING_SWEEPS, near)
        better = rake_two(better + EMPTY, rows, columns, RAKING_SWEEPS, near)
        if not merged:
            return better
        factors = better / np.maximum(merge(self.guess, merged), 1e-300)
        return touch_up(self.guess * factors[np.ix_(*merged)], self.noisy.rows, self.noisy.columns)


def touch_up(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Rake a table whose sums are nearly those of `rows` and `columns`."""
    return rake_two(table + EMPTY, rows, columns, TOUCH_UP_SWEEPS, RAKED * float(rows.sum()))


def merge(table: npt.NDArray[Number], merged: tuple[Ints, ...]) -> npt.NDArray[Number]:
    """Sum neighbouring cells of `table` into merged bins, given for each axis as increasing integers from 0.

    >>> merge(np.array([1.0, 2.0, 3.0]), (np.array([0, 0, 1]),))
    array([3., 3.])
    """
    for axis, bins in enumerate(merged):
        table = np.add.reduceat(table, np.searchsorted(bins, np.arange(bins[-1] + 1)), axis=axis)
    return table


def _noise_beside_margins(table: Floats) -> float:
    """Return the noise of a table that was shifted to known margins, as a multiple of its noise before.

    A table of a single row or column is determined by its margins, and hence by the guess: any multiple will do.
    """
    return math.prod(math.sqrt(1 - 1 / max(2, size)) for size in table.shape)
