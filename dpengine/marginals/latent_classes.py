"""Latent classes: a mixture of a few groups of people; within a group all columns are independent.

A few classes can express structure that many noisy pairs have in common, but not the noise of a single pair. So the
pairs that the classes imply are a good guess at pairs that were measured with much noise, or not at all. They also say
how three columns depend on each other beyond their pairs; whether that is true is another question.

Source: latent class analysis (Lazarsfeld & Henry 1968), fitted to pairs of columns as a composite likelihood by
expectation maximisation; for a single pair that is the algorithm of Lee & Seung (1999) for the divergence. Steps are
longer than its own, which near a solution converges sooner (over-relaxation: Salakhutdinov & Roweis 2003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpengine.array_types import Columns, Floats, Reals
from dpengine.quasi_random import golden_fractions

__all__ = ["LatentClasses", "find_latent_classes", "fit_latent_classes"]

Pair = tuple[str, str]

STEP = 1.8  # each round goes this many times as far as one of expectation maximisation, in logarithms
ROUNDS = 34  # these come as far as 60 rounds of expectation maximisation
STARTS = ((32, 0.7), (24, 1.0))  # per fit: number of classes, standard deviation of the log cells
# The same if the classes are used beyond pairs: few classes in many fits, since each fit finds other spurious classes.
FEW, MORE_ROUNDS = ((6, 0.7), (8, 0.8), (12, 0.9), (16, 1.0)), 160
PIECE = 2**19  # cells of all pairs that are divided at a time: they stay in the processor's cache
TINY = 1e-12  # the least fraction, so that nothing is divided by 0


@dataclass(frozen=True)
class LatentClasses:
    """The sizes of classes, which add up to 1, and the distribution of each column in each class, a row each."""

    sizes: Floats
    cells: Mapping[str, Floats]

    def table(self, columns: Columns) -> Floats:
        """Return the distribution over `columns`, one axis each; none is 0.

        >>> even, apart = np.array([0.5, 0.5]), np.eye(2)
        >>> LatentClasses(even, {"a": apart, "b": apart}).table(("a", "b")).round(3)
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        joint = self.sizes[:, None]
        for name in columns[:-1]:
            joint = (joint[:, :, None] * self.cells[name][:, None, :]).reshape(self.sizes.size, -1)
        together = joint.T @ self.cells[columns[-1]] + TINY
        distribution: Floats = together.reshape([self.cells[name].shape[1] for name in columns])
        return distribution


def find_latent_classes(one: Mapping[str, Floats], two: Mapping[Pair, Floats]) -> LatentClasses:
    """Find latent classes that explain all pairs: those of several fits, combined.

    The arguments are those of `fit_latent_classes`.
    """
    starts, ends = _places(one)
    fits = _fits(one, _all_pairs(one, two, dict.fromkeys(two, 1.0)), FEW, MORE_ROUNDS)
    cells = np.vstack([cells for cells, _ in fits])
    sizes = np.vstack([sizes for _, sizes in fits])[:, 0] / len(fits)
    return LatentClasses(sizes, {name: cells[:, a:b] for name, a, b in zip(one, starts, ends, strict=True)})


def fit_latent_classes(
    one: Mapping[str, Floats], two: Mapping[Pair, Floats], weights: Mapping[Pair, float]
) -> dict[Pair, Floats]:
    """Fit latent classes to the pairs `two`, by their `weights`; return the tables of pairs they imply.

    `one` holds the table of each column. All tables hold expected counts with one common total. They are fitted from
    two starts, and the mean is returned: each follows some noise that the other does not. A fixed function of its
    arguments: the starting classes differ by multiples of the golden section, not at random.
    """
    total = float(next(iter(one.values())).sum())
    starts, ends = _places(one)
    fits = _fits(one, _all_pairs(one, two, weights), STARTS, ROUNDS)
    place = {name: slice(first, last) for name, first, last in zip(one, starts, ends, strict=True)}
    left = np.vstack([cells * size for cells, size in fits]) * (total / len(fits))
    right = np.vstack([cells for cells, _ in fits])
    return {(a, b): left[:, place[a]].T @ right[:, place[b]] for a, b in two}


def _places(one: Mapping[str, Floats]) -> tuple[list[int], list[int]]:
    """Return where the cells of each column begin and end if all columns are concatenated."""
    ends: list[int] = np.cumsum([counts.size for counts in one.values()]).tolist()
    return [0, *ends[:-1]], ends


def _apart(one: Mapping[str, Floats], classes: int, apart: float) -> Floats:
    """Return distinct starting distributions for each of `classes`, with all columns concatenated."""
    cells, start = [], 1
    # NumPy has no quantiles of the normal distribution, and to load SciPy for them would take longer than all the rest.
    normal: Floats = np.linspace(-5, 5, 1001)
    below = [NormalDist().cdf(z) for z in normal.tolist()]
    for counts in one.values():
        places = golden_fractions(np.arange(start, start + classes * counts.size))
        start += places.size
        spread = np.exp(apart * np.interp(places, below, normal)).reshape(classes, -1) * counts
        cells.append(spread / spread.sum(axis=1, keepdims=True))
    return np.hstack(cells)


def _fits(
    one: Mapping[str, Floats], pairs: Reals, begin: Sequence[tuple[int, float]], rounds: int
) -> list[tuple[Floats, Floats]]:
    """Return `_fit` from each of several starts, given by classes and spread: two at a time, most classes first."""
    starts, _ = _places(one)
    with ThreadPoolExecutor(2) as pool:
        fits = {start: pool.submit(_fit, _apart(one, *start), pairs, starts, rounds)
                for start in sorted(begin, reverse=True)}  # fmt: skip
    return [fits[start].result() for start in begin]


def _fit(begin: Floats, pairs: Reals, starts: Sequence[int], rounds: int) -> tuple[Floats, Floats]:
    """Return the columns' distributions in each class and the sizes of the classes, improved in `rounds` rounds."""
    classes, all_cells = begin.shape
    cells: Reals = begin.astype(np.float32)
    size: Reals = np.full((classes, 1), 1 / classes, dtype=np.float32)
    cuts = range(0, all_cells, max(1, PIECE // all_cells))
    pieces = [slice(first, min(first + cuts.step, all_cells)) for first in cuts]
    ratio, growth = np.empty((pieces[0].stop, all_cells), dtype=np.float32), np.empty_like(cells)
    lengths = np.diff([*starts, all_cells])
    for _ in range(rounds):
        people = cells * size
        for piece in pieces:
            part = ratio[: piece.stop - piece.start]
            np.matmul(people[:, piece].T, cells, out=part)
            part += np.float32(TINY)
            np.divide(pairs[piece], part, out=part)
            np.matmul(cells, part.T, out=growth[:, piece])
        heavy = (people * growth).sum(axis=1, keepdims=True)
        size = size * np.exp(STEP * np.log(heavy / size))
        size /= size.sum()
        cells = cells * np.exp(STEP * np.log(np.maximum(growth, TINY))) + np.float32(TINY)
        cells /= np.repeat(np.add.reduceat(cells, starts, axis=1), lengths, axis=1)
    return cells.astype(np.float64), size.astype(np.float64)


def _all_pairs(one: Mapping[str, Floats], two: Mapping[Pair, Floats], weights: Mapping[Pair, float]) -> Reals:
    """Return one matrix of the weighted tables `two` as fractions of all rows, both ways, and zeros elsewhere.

    It has a row and a column for each cell of all columns: one large product is faster than many small ones. Fits need
    no more digits than its floats have.
    """
    total = float(next(iter(one.values())).sum())
    starts, ends = _places(one)
    place = {name: slice(first, last) for name, first, last in zip(one, starts, ends, strict=True)}
    pairs: Reals = np.zeros((ends[-1], ends[-1]), dtype=np.float32)
    for (a, b), table in two.items():
        pairs[place[a], place[b]] = table * (weights[a, b] / total)
        pairs[place[b], place[a]] = pairs[place[a], place[b]].T
    return pairs
