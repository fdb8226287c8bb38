"""Tables of pairs → a few kinds of people, within each of which all columns are independent (latent classes).

What many noisy pairs have in common shows in few kinds; what is noise in one of them does not. So the pairs that
the kinds imply are a good guess at pairs that were measured with much noise, or not at all.

Source: latent class analysis (Lazarsfeld & Henry 1968), fitted to pairs of columns as a composite likelihood by
expectation maximisation; for a single pair that is the algorithm of Lee & Seung (1999) for the divergence.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

from dpengine.array_types import Floats
from dpengine.quasi_random import golden_fractions

__all__ = ["latent_class_pairs"]

Pair = tuple[str, str]

KINDS = 32
ROUNDS = 60
APART = 0.7  # how unlike each other the kinds start: the sd of the logarithm of their chances
TINY = 1e-12


def latent_class_pairs(
    one: Mapping[str, Floats], two: Mapping[Pair, Floats], weights: Mapping[Pair, float]
) -> dict[Pair, Floats]:
    """The tables of all pairs that ``KINDS`` latent classes imply, fitted to the tables ``two`` by their ``weights``.

    All tables hold expected counts with one common total. A fixed function of its arguments: the classes start
    apart by the multiples of the golden section, not by chance.
    """
    total = float(next(iter(one.values())).sum())
    chances, start = {}, 1
    for name, counts in one.items():
        places = golden_fractions(np.arange(start, start + KINDS * counts.size))
        start += places.size
        spread = np.exp(APART * ndtri(np.clip(places, 1e-6, 1 - 1e-6))).reshape(KINDS, -1) * counts
        chances[name] = spread / spread.sum(axis=1, keepdims=True)
    share = np.full((KINDS, 1), 1 / KINDS)
    for _ in range(ROUNDS):
        grown = {name: np.full_like(table, TINY) for name, table in chances.items()}
        for (a, b), table in two.items():
            left, right = chances[a] * share, chances[b]
            ratio = table * (weights[a, b] / total) / np.maximum(left.T @ right, TINY)
            grown[a] += left * (right @ ratio.T)
            grown[b] += right * (left @ ratio)
        heavy = sum(table.sum(axis=1, keepdims=True) for table in grown.values())
        share = heavy / heavy.sum()
        chances = {name: table / table.sum(axis=1, keepdims=True) for name, table in grown.items()}
    return {(a, b): total * (chances[a] * share).T @ chances[b] for a, b in two}
