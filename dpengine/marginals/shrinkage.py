"""Shrink noisy counts towards a guess, by empirical Bayes.

The prior of a count is a Laplace distribution around the guess m, of scale s = c·m^g; the noise is Laplace of scale b.
The spread of the prior, (c, g), is estimated from the noisy counts themselves, by maximum likelihood over a small grid;
the result is the posterior median of each count. If noise alone explains the distance between noisy counts and guess,
the result is the guess. If counts typically differ from the guess by most of it, the cells may be empty but for a few:
then a prior for such tables (`sparse_prior`) is compared with the one around the guess.

All functions take noisy numbers and public structure, so nothing here costs privacy. They use the continuous Laplace
density for noise that is discrete: the results are estimates, and no guarantee rests on them.
"""

from __future__ import annotations

import math

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.sparse_prior import shrink_sparse

__all__ = ["density", "likeliest_spread", "posterior_median", "shrink", "shrink_nearby"]

SPREADS: Floats = np.array([2.0**k for k in range(-5, 5)])  # c, the grid of `shrink`
POWERS = (0.5, 0.75, 1.0)  # g
MIN_GUESS = 0.05  # smaller guesses have the spread of this one
# The mean spread, as a part of the mean guess, beyond which most cells may be empty. Of 369 public pairs at ε = 10, the
# sparse prior was likelier in 38 of the 44 beyond it, and in 3 of the others, by little.
SPARSE = 0.6
SURER = 10.0  # gain of log-likelihood for which the sparse prior is used: it has ten parameters or so more
NEARBY = ((0, 1), (1, 0), (1, 1), (0, 3), (3, 0))  # neighbours on either side, along both axes
PSEUDO_COUNT = 2.0  # times the noise scale, added to the sums of neighbours: few people are little evidence
CLEARER = 1.0  # gain of log-likelihood for which neighbours are used
AT_ONCE = 2**13  # cells times spreads per step, so that small tables take few steps


def shrink(noisy: Floats, guess: Floats, scale: float) -> tuple[Floats, float]:
    """Return `noisy` shrunk towards `guess`, of the same shape, and the log-likelihood of the noisy counts.

    `scale` is that of the noise. The likelihood ranks guesses: the best one explains the noisy counts best.
    """
    better, likelihood, _ = _shrunk(noisy, guess, scale)
    return better, likelihood


def shrink_nearby(noisy: Floats, guess: Floats, scale: float) -> tuple[Floats, float]:
    """Return the same as `shrink` for two columns in which neighbouring cells may have similar errors of the guess.

    Besides the guess itself, scaled guesses are tried: in each cell, by the ratio of the noisy counts around it to the
    guesses around it. A cell's own noisy count is not part of its guess, so likelihoods can still be compared.
    """
    better, likelihood, spread = _shrunk(noisy, guess, scale)
    scaled, likeliest = guess, -math.inf
    for reach in NEARBY:
        if any(2 * near >= cells for near, cells in zip(reach, noisy.shape, strict=True)):
            continue
        seen, expected = np.maximum(_around(noisy, reach), 0.0), _around(guess, reach)
        trial = guess * (seen + PSEUDO_COUNT * scale) / (expected + PSEUDO_COUNT * scale)
        trial *= guess.sum() / trial.sum()
        likely = float(np.log(density(np.abs(noisy - trial), spread, scale)).sum())
        if likely > likeliest:
            scaled, likeliest = trial, likely
    if likeliest > -math.inf:
        other = _shrunk(noisy, scaled, scale)
        if other[1] > likelihood + CLEARER:
            return other[0], other[1]
    return better, likelihood


def _shrunk(noisy: Floats, guess: Floats, scale: float) -> tuple[Floats, float, Floats]:
    """Return `noisy` shrunk towards `guess`, the log-likelihood of the noisy counts, and the spread of the prior."""
    distance = np.abs(noisy - guess)
    likelihood, spread = likeliest_spread(distance, np.maximum(guess, MIN_GUESS), scale, SPREADS, POWERS)
    noise_alone = float((-distance / scale).sum() - distance.size * math.log(2 * scale)) + math.log(2)
    if noise_alone >= likelihood:
        return guess.copy(), noise_alone, spread
    if spread.sum() > SPARSE * guess.sum():
        sparse, likely = shrink_sparse(noisy, guess, scale)
        if likely > likelihood + SURER:
            return sparse, likely, spread
    return guess + np.sign(noisy - guess) * posterior_median(distance, spread, scale), likelihood, spread


def _around(table: Floats, reach: tuple[int, int]) -> Floats:
    """Return for each cell the sum of the cells within `reach` along both axes, without the cell itself.

    >>> _around(np.array([[1.0, 2.0, 4.0]]), (0, 1))
    array([[2., 5., 2.]])
    """
    sums = table
    for axis, near in enumerate(reach):
        running = np.insert(np.cumsum(sums, axis=axis), 0, 0.0, axis=axis)
        cells = np.arange(table.shape[axis])
        last, first = np.minimum(cells + near + 1, cells.size), np.maximum(cells - near, 0)
        sums = running.take(last, axis=axis) - running.take(first, axis=axis)
    return sums - table


def likeliest_spread(
    distance: Floats, guess: Floats, scale: float, spreads: Floats, powers: tuple[float, ...]
) -> tuple[float, Floats]:
    """Return the greatest log-likelihood over spreads c and powers g, and the corresponding spread of each cell.

    The spreads are c·guess^g.
    """
    noise, some = scale * np.exp(-distance / scale), max(1, AT_ONCE // distance.size)
    best = (-math.inf, guess)
    for power in powers:
        base = guess**power
        for start in range(0, spreads.size, some):
            spread = np.multiply.outer(spreads[start : start + some], base)
            likelihoods = np.log(density(distance, spread, scale, noise)).reshape(len(spread), -1).sum(axis=1)
            if (likelihood := float(likelihoods.max())) > best[0]:
                best = (likelihood, spread[likelihoods.argmax()])
    return best


def density(distance: Floats, spread: Floats, scale: float, noise: Floats | None = None) -> Floats:
    """Return the density of noisy counts that are `distance` from their guesses: at least 10⁻³⁰⁰.

    The difference of two Laplace variables of scales s ≠ b has density (s·e^(−r/s) − b·e^(−r/b)) / 2(s² − b²). `noise`
    is the term b·e^(−r/b), if it was calculated before.
    """
    noise = scale * np.exp(-distance / scale) if noise is None else noise
    apart = np.where(np.abs(spread - scale) < 0.001 * scale, 1.002 * scale, spread)
    densities: Floats = (apart * np.exp(-distance / apart) - noise) / (2 * (apart * apart - scale * scale))
    return np.maximum(densities, 1e-300)


def posterior_median(distance: Floats, spread: Floats, scale: float) -> Floats:
    """Return the distance of the posterior median from the guess: between 0 and `distance`, that of the noisy count.

    Beyond the guess and the noisy count, the posterior density falls as e^(−αt) with α = 1/s + 1/b; between them it is
    proportional to e^(βt) with β = 1/b − 1/s. Solved for half the mass.
    """
    alpha, beta = 1 / spread + 1 / scale, 1 / scale - 1 / spread
    beta = np.where(np.abs(beta) < 1e-6 / scale, 1e-6 / scale, beta)
    steep = beta * distance
    with np.errstate(all="ignore"):  # the branch not taken may overflow
        z = np.exp(np.minimum(steep, 60.0))
        half = (1 / alpha + (z - 1) / beta + z / alpha) / 2
        near = np.log(np.maximum(1 + beta * (half - 1 / alpha), 1e-300)) / beta
        far = distance + np.log((1 + beta / alpha) / 2) / beta
    clipped: Floats = np.clip(np.nan_to_num(np.where(steep > 60, far, near)), 0, distance)
    return clipped
