"""Latent classes: a mixture of a few groups of people; within a group all columns are independent.

A few classes can express structure that many noisy pairs have in common, but not the noise of a single pair. So the
pairs that the classes imply are a good guess at pairs that were measured with much noise, or not at all.

Source: latent class analysis (Lazarsfeld & Henry 1968), fitted to pairs of columns as a composite likelihood by
expectation maximisation; for a single pair that is the algorithm of Lee & Seung (1999) for the divergence.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

from dpengine.array_types import Floats
from dpengine.quasi_random import golden_fractions

__all__ = ["fit_latent_classes"]

Pair = tuple[str, str]

CLASSES = 32
ROUNDS = 60
APART = 0.7  # how different the classes start: the standard deviation of the logarithms of their cells
TINY = 1e-12


def fit_latent_classes(
    one: Mapping[str, Floats], two: Mapping[Pair, Floats], weights: Mapping[Pair, float]
) -> dict[Pair, Floats]:
    """Fit `CLASSES` latent classes to the pairs `two`, by their `weights`; return the tables of pairs they imply.

    `one` holds the table of each column. All tables hold expected counts with one common total. A fixed function of
    its arguments: the classes start apart by multiples of the golden section, not by chance.
    """
    total = float(next(iter(one.values())).sum())
    cells, start = {}, 1
    for name, counts in one.items():
        places = golden_fractions(np.arange(start, start + CLASSES * counts.size))
        start += places.size
        spread = np.exp(APART * ndtri(np.clip(places, 1e-6, 1 - 1e-6))).reshape(CLASSES, -1) * counts
        cells[name] = spread / spread.sum(axis=1, keepdims=True)
    size = np.full((CLASSES, 1), 1 / CLASSES)
    for _ in range(ROUNDS):
        expected = {name: np.full_like(table, TINY) for name, table in cells.items()}
        for (a, b), table in two.items():
            left, right = cells[a] * size, cells[b]
            ratio = table * (weights[a, b] / total) / np.maximum(left.T @ right, TINY)
            expected[a] += left * (right @ ratio.T)
            expected[b] += right * (left @ ratio)
        heavy = sum(table.sum(axis=1, keepdims=True) for table in expected.values())
        size = heavy / heavy.sum()
        cells = {name: table / table.sum(axis=1, keepdims=True) for name, table in expected.items()}
    return {(a, b): total * (cells[a] * size).T @ cells[b] for a, b in two}
