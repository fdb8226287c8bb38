"""Shrink noisy counts of a table in which most cells are empty and a few hold nearly everybody.

A column that nearly decides another leaves most cells of their table empty. A prior around a guess fits such a table
badly, whatever its spread: the guess puts a few people into every cell. Here the prior of a count is a mixture: the
count is 0, or exponential with one of several means. Means grow as the square root of the guess, since cells of large
margins are larger. The weights of the mixture follow from the noisy counts, and the result is the posterior median of
each count.

As in `shrinkage`, which compares both priors, nothing here costs privacy, and densities are continuous.

Source: a spike at 0 as in Johnstone & Silverman 2004; weights by expectation maximisation (Laird 1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Floats
from dpengine.quasi_random import shuffled

__all__ = ["SparsePrior"]

# Set on pairs of columns of five public tables at ε = 10 and 20, on which twice or half of any of these, or powers of
# 0.3 and 0.7, change the mean error by up to 4 %.
SMALLEST, FACTOR = 0.25, 3.0  # the smallest mean, in noise scales, and the factor between means
POWER = 0.5  # means grow with this power of the guess
ROUNDS = 20  # rounds of expectation maximisation
MIN_GUESS = 0.05  # smaller guesses have the means of this one
HALVINGS = 30  # bisections of the interval that holds a posterior median
MAX_LEARNT = 2**16  # cells from which the weights are found: of larger tables, some cells drawn by a hash
AT_ONCE = 2**16  # cells


@dataclass(frozen=True, slots=True)
class SparsePrior:
    """The prior of a sparse table, fitted to its noisy counts: the weights of zeros and of each of the means."""

    noisy: Floats
    base: Floats  # what a mean is multiplied by in each cell
    scale: float
    means: Floats
    weights: Floats

    @classmethod
    def fit(cls, noisy: Floats, guess: Floats, scale: float) -> SparsePrior:
        """Fit the prior to `noisy` counts with noise of `scale`.

        `guess` has the shape of `noisy` and says which cells may be larger; its own size does not matter.
        """
        counts, base = noisy.ravel(), np.maximum(guess.ravel(), MIN_GUESS) ** POWER
        base = base / base.mean()
        largest = max(scale, float(counts.max()))
        number = 1 + math.ceil(math.log(largest / (SMALLEST * scale), FACTOR))
        means = SMALLEST * scale * FACTOR ** np.arange(number, dtype=np.float64)
        some = slice(None) if counts.size <= MAX_LEARNT else shuffled(counts.size, 0)[:MAX_LEARNT]
        weights = _weights(_densities(counts[some], np.multiply.outer(means, base[some]), scale))
        return cls(noisy, base, scale, means, weights)

    def likelihood(self) -> float:
        """Return the log-likelihood of the noisy counts."""
        return sum(float(np.log(likely.sum(axis=0)).sum()) for _, _, likely in self._parts())

    def shrunk(self) -> Floats:
        """Return the posterior median of each count, up to the noisy count."""
        medians = []
        for counts, means, likely in self._parts():
            sums = likely.sum(axis=0)
            medians.append(_medians(counts, means, self.scale, self.weights, likely[0] / sums, sums))
        return np.concatenate(medians).reshape(self.noisy.shape)

    def _parts(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield the noisy counts of some cells, their means, and their weighted densities if 0 and with each mean."""
        counts = self.noisy.ravel()
        for start in range(0, counts.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            means = np.multiply.outer(self.means, self.base[part])
            yield counts[part], means, self.weights[:, None] * _densities(counts[part], means, self.scale)


def _densities(noisy: Floats, means: Floats, scale: float) -> Floats:
    """Return the density of each noisy count if the count is 0, and if it is exponential with each of its `means`.

    A sum of an exponential variable of mean θ and a Laplace variable of scale b ≠ θ has, at x ≥ 0, the density
    (e^(−x/θ) − e^(−x/b)) / 2(θ − b) + e^(−x/θ) / 2(θ + b), and e^(x/b) / 2(θ + b) below 0. Densities are at least
    10⁻³⁰⁰.
    """
    means, above = _apart(means, scale), np.maximum(noisy, 0.0)
    fall = np.exp(-np.abs(noisy) / scale)
    tail = np.exp(-above / means)
    within = np.where(noisy > 0, (tail - fall) / (2 * (means - scale)), 0.0)
    beyond = np.where(noisy > 0, tail, fall) / (2 * (means + scale))
    densities: Floats = np.concatenate([fall[None] / (2 * scale), within + beyond])
    return np.maximum(densities, 1e-300)


def _apart(means: Floats, scale: float) -> Floats:
    apart: Floats = np.where(np.abs(means - scale) < 0.001 * scale, 1.002 * scale, means)
    return apart


def _weights(densities: Floats) -> Floats:
    """Return the weights of a mixture, given the density of each observation under each of its parts."""
    weights: Floats = np.full(len(densities), 1 / len(densities))
    for _ in range(ROUNDS):
        weights = weights * (densities @ (1 / (weights @ densities))) / densities.shape[1]
    return weights


def _medians(noisy: Floats, means: Floats, scale: float, weights: Floats, empty: Floats, sums: Floats) -> Floats:
    """Return the posterior median of each count, up to the noisy count, by bisection.

    `empty` is the posterior probability of 0, and `sums` the density of each noisy count x. For 0 ≤ t ≤ x, an
    exponential count of mean θ is at most t together with x with density (e^(−t/θ − (x−t)/b) − e^(−x/b)) / 2(θ − b).
    """
    medians = np.zeros(noisy.size)
    (some,) = np.nonzero((noisy > 0) & (empty < 0.5))
    top, means = noisy[some], _apart(means[:, some], scale)
    share = weights[1:, None] / (2 * (means - scale) * sums[some])
    none, half = (share * np.exp(-top / scale)).sum(axis=0), 0.5 - empty[some]
    low, high = np.zeros(some.size), top.copy()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = (share * np.exp(-middle / means - (top - middle) / scale)).sum(axis=0) - none < half
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    medians[some] = high
    return medians
