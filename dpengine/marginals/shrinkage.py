"""Shrinkage: noisy counts drawn towards a guess, by empirical Bayes.

The prior of a count is a Laplace distribution around the guess m, of scale s = c·m^g; the noise is Laplace of scale
b. The spread of the prior, (c, g), is estimated from the noisy counts themselves, by maximum likelihood over a small
grid; the result is the posterior median of each count. Where noise alone explains the distance between noisy counts
and guess, the guess stays.

All functions take noisy numbers and public structure, so nothing here costs privacy. They use the continuous Laplace
density for noise that is discrete: the results are estimates, and no guarantee rests on them.
"""

from __future__ import annotations

import math

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.fitting import project

__all__ = ["shrink", "smooth"]

SPREADS: Floats = np.array([2.0**k for k in range(-5, 5)])  # c, the grid of `shrink`
POWERS = (0.5, 0.75, 1.0)  # g
MIN_GUESS = 0.05  # smaller guesses have the spread of this one
WINDOWS = (1, 2, 4, 8)  # neighbours on either side
MIN_TO_SMOOTH = 8  # cells
SIZES_TOLD = range(3, 513)  # numbers of cells that are compared: more take the square in time and memory
SMALL_SIZES = 6
SIZE_ROUNDS = 10
AT_ONCE = 2**13  # cells, times spreads, so that small tables take few steps


def shrink(noisy: Floats, guess: Floats, scale: float) -> tuple[Floats, float]:
    """Return `noisy` drawn towards `guess`, both of one shape, and the log-likelihood of the noisy counts.

    `scale` is that of the noise. The likelihood ranks guesses: the best one explains the noisy counts best.
    """
    off = np.abs(noisy - guess)
    likelihood, spread = _spread(off, np.maximum(guess, MIN_GUESS), scale, SPREADS, POWERS)
    noise_alone = float((-off / scale).sum() - off.size * math.log(2 * scale)) + math.log(2)
    if noise_alone >= likelihood:
        return guess.copy(), noise_alone
    return guess + np.sign(noisy - guess) * _median(off, spread, scale), likelihood


def smooth(noisy: Floats, scale: float, total: float) -> Floats:
    """Estimate the counts of one column from noisy ones; return non-negative counts that add up to `total`.

    It is the mean of two estimates: from neighbouring cells, and from cells of like size. Each is up to a third nearer
    than a projection for some columns, and farther for others; their mean is hardly ever farther.
    """
    in_order = _by_neighbours(noisy, scale, total)
    return (in_order + _by_size(noisy, scale, total)) / 2 if noisy.size in SIZES_TOLD else in_order


def _by_size(noisy: Floats, scale: float, total: float) -> Floats:
    """Return posterior means of counts that come from an unknown distribution of sizes, projected.

    The distribution is on the noisy counts themselves and some small sizes. It is found by a few steps of expectation
    maximisation, from and towards a prior that makes small counts likelier.

    Source: nonparametric empirical Bayes (Kiefer & Wolfowitz 1956; Laird 1978), stopped early and with a prior.
    """
    small: Floats = np.geomspace(max(scale / 8, 1.0), max(4 * scale, 2.0), SMALL_SIZES)
    sizes = np.unique(np.concatenate([[0.0], small, np.maximum(noisy, 0.0), project(noisy, total)]))
    likely = np.exp(-np.abs(noisy[:, None] - sizes) / scale) + 1e-300
    prior = 1 / (sizes + scale)
    prior /= prior.sum()
    weights = prior
    for _ in range(SIZE_ROUNDS):
        found = likely * weights
        found /= found.sum(axis=1, keepdims=True)
        weights = (found.mean(axis=0) + prior) / 2
    found = likely * weights
    return project((found @ sizes) / found.sum(axis=1), total)


def _by_neighbours(noisy: Floats, scale: float, total: float) -> Floats:
    """Return noisy counts smoothed along their order, and projected.

    The guess at a cell is the mean of its neighbours. If counts spread widely around it, as in columns without order,
    they are only projected.
    """
    plain = project(noisy, total)
    if noisy.size < MIN_TO_SMOOTH:
        return plain
    best: tuple[float, Floats, Floats] | None = None
    for window in WINDOWS:
        if 2 * window + 1 > noisy.size:
            break
        kernel = np.ones(2 * window + 1)
        kernel[window] = 0
        guess = np.convolve(plain, kernel, "same") / np.convolve(np.ones(noisy.size), kernel, "same")
        for power in (0.5, 1.0):
            spreads: Floats = scale ** (1 - power) * 2.0 ** np.arange(-6, 8)
            found = _spread(np.abs(noisy - guess), np.maximum(guess, MIN_GUESS * scale), scale, spreads, (power,))
            if best is None or found[0] > best[0]:
                best = (*found, guess)
    assert best is not None  # the narrowest window always fits
    _, spread, guess = best
    if float((spread * guess).sum()) > 1.5 * scale * float(guess.sum()):
        return plain
    return project(guess + np.sign(noisy - guess) * _median(np.abs(noisy - guess), spread, scale), total)


def _spread(
    off: Floats, guess: Floats, scale: float, spreads: Floats, powers: tuple[float, ...]
) -> tuple[float, Floats]:
    """Return the greatest log-likelihood over spreads c and powers g, and the spread of each cell that has it.

    The difference of two Laplace variables of scales s ≠ b has density (s·e^(−r/s) − b·e^(−r/b)) / 2(s² − b²).
    """
    noise, some = scale * np.exp(-off / scale), max(1, AT_ONCE // off.size)
    best = (-math.inf, guess)
    for power in powers:
        base = guess**power
        for start in range(0, spreads.size, some):
            spread = np.multiply.outer(spreads[start : start + some], base)
            apart = np.where(np.abs(spread - scale) < 0.001 * scale, 1.002 * scale, spread)
            density = (apart * np.exp(-off / apart) - noise) / (2 * (apart * apart - scale * scale))
            likelihoods = np.log(np.maximum(density, 1e-300)).reshape(len(spread), -1).sum(axis=1)
            if (likelihood := float(likelihoods.max())) > best[0]:
                best = (likelihood, spread[likelihoods.argmax()])
    return best


def _median(off: Floats, spread: Floats, scale: float) -> Floats:
    """Return the distance of the posterior median from the guess: between 0 and `off`, that of the noisy count.

    Beyond the guess and the noisy count, the posterior density falls as e^(−αt) with α = 1/s + 1/b; between them it is
    proportional to e^(βt) with β = 1/b − 1/s. Solved for half the mass.
    """
    alpha, beta = 1 / spread + 1 / scale, 1 / scale - 1 / spread
    beta = np.where(np.abs(beta) < 1e-6 / scale, 1e-6 / scale, beta)
    steep = beta * off
    with np.errstate(all="ignore"):  # the branch not taken may overflow
        z = np.exp(np.minimum(steep, 60.0))
        half = (1 / alpha + (z - 1) / beta + z / alpha) / 2
        near = np.log(np.maximum(1 + beta * (half - 1 / alpha), 1e-300)) / beta
        far = off + np.log((1 + beta / alpha) / 2) / beta
    clipped: Floats = np.clip(np.nan_to_num(np.where(steep > 60, far, near)), 0, off)
    return clipped
