"""Latent classes: a mixture of a few groups of people; within a group all columns are independent.

A few classes can express structure that many noisy pairs have in common, but not the noise of a single pair. So the
pairs that the classes imply are a good guess at pairs that were measured with much noise, or not at all.

Source: latent class analysis (Lazarsfeld & Henry 1968), fitted to pairs of columns as a composite likelihood by
expectation maximisation; for a single pair that is the algorithm of Lee & Seung (1999) for the divergence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpengine.array_types import Floats
from dpengine.quasi_random import golden_fractions

__all__ = ["fit_latent_classes"]

Pair = tuple[str, str]

ROUNDS = 60
STARTS = ((32, 0.7), (24, 1.0))  # of each fit: classes, and the standard deviation of the logarithms of their cells
TINY = 1e-12


def fit_latent_classes(
    one: Mapping[str, Floats], two: Mapping[Pair, Floats], weights: Mapping[Pair, float]
) -> dict[Pair, Floats]:
    """Fit latent classes to the pairs `two`, by their `weights`; return the tables of pairs they imply.

    `one` holds the table of each column. All tables hold expected counts with one common total. They are fitted from
    two starts, and the mean is returned: each follows some noise that the other does not. A fixed function of its
    arguments: the classes start apart by multiples of the golden section, not by chance.
    """
    total = float(next(iter(one.values())).sum())
    names, ends = list(one), np.cumsum([counts.size for counts in one.values()]).tolist()
    starts = [0, *ends[:-1]]
    # The pairs of a column with all later ones stand side by side: a few large products are quicker than many small.
    beside = [_beside(name, names[k + 1 :], one, two, weights) / total for k, name in enumerate(names[:-1])]
    fits = [_fit(_apart(one, *start), beside, starts, ends) for start in STARTS]
    place = {name: slice(first, last) for name, first, last in zip(names, starts, ends, strict=True)}
    left = np.vstack([cells * size for cells, size in fits]) * (total / len(fits))
    right = np.vstack([cells for cells, _ in fits])
    return {(a, b): left[:, place[a]].T @ right[:, place[b]] for a, b in two}


def _apart(one: Mapping[str, Floats], classes: int, apart: float) -> Floats:
    """Return the columns' distributions in each of some `classes` that differ, all columns side by side."""
    from scipy.special import ndtri  # only where a model is fitted: it takes long to load

    cells, start = [], 1
    for counts in one.values():
        places = golden_fractions(np.arange(start, start + classes * counts.size))
        start += places.size
        spread = np.exp(apart * ndtri(np.clip(places, 1e-6, 1 - 1e-6))).reshape(classes, -1) * counts
        cells.append(spread / spread.sum(axis=1, keepdims=True))
    return np.hstack(cells)


def _fit(cells: Floats, beside: Sequence[Floats], starts: Sequence[int], ends: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the columns' distributions in each class and the sizes of the classes, improved in `ROUNDS`."""
    classes = len(cells)
    size = np.full((classes, 1), 1 / classes)
    for _ in range(ROUNDS):
        expected = np.full_like(cells, TINY)
        for table, first, last in zip(beside, starts, ends, strict=False):
            left, right = cells[:, first:last] * size, cells[:, last:]
            ratio = table / np.maximum(left.T @ right, TINY)
            expected[:, first:last] += left * (right @ ratio.T)
            expected[:, last:] += right * (left @ ratio)
        heavy = expected.sum(axis=1, keepdims=True)
        size = heavy / heavy.sum()
        cells = expected / np.repeat(np.add.reduceat(expected, starts, axis=1), np.diff([*starts, ends[-1]]), axis=1)
    return cells, size


def _beside(
    name: str,
    later: Sequence[str],
    one: Mapping[str, Floats],
    two: Mapping[Pair, Floats],
    weights: Mapping[Pair, float],
) -> Floats:
    """Return the weighted tables of a column with `later` ones side by side; zeros for pairs that are not there."""
    tables = []
    for other in later:
        if (name, other) in two:
            tables.append(two[name, other] * weights[name, other])
        elif (other, name) in two:
            tables.append(two[other, name].T * weights[other, name])
        else:
            tables.append(np.zeros((one[name].size, one[other].size)))
    return np.hstack(tables)
