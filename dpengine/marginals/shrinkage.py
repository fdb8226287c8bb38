"""Noisy counts and a guess at them → better counts: empirical Bayes, told by the noisy numbers alone.

A count x is believed to lie around a prior guess m like a Laplace variable of scale s = c·m^g; the noise is
Laplace of scale b. How far guesses of this kind are off, (c, g), is read from the noisy counts themselves, by
maximum likelihood over a small grid; each count is then the median of what is believed after seeing it. Where
the noisy counts are no farther from the guess than noise alone explains, the guess stays.

All functions take noisy numbers and public structure, so nothing here costs privacy. They use the continuous
Laplace density for the noise, which is discrete: what they give is an estimate, and no guarantee rests on it.
"""

from __future__ import annotations

import math

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.fitting import project

__all__ = ["shrink", "smooth"]


SPREADS: Floats = np.array([2.0**k for k in range(-5, 5)])
POWERS = (0.5, 0.75, 1.0)
MIN_GUESS = 0.05
WINDOWS = (1, 2, 4, 8)
MIN_TO_SMOOTH = 8


def shrink(noisy: Floats, guess: Floats, scale: float) -> tuple[Floats, float]:
    """``noisy`` drawn towards ``guess``, both of one shape, and the log-likelihood of the noisy counts.

    ``scale`` is that of the noise. The likelihood ranks guesses: the best explains the noisy counts best.
    """
    off = np.abs(noisy - guess)
    likelihood, spread = _spread(off, np.maximum(guess, MIN_GUESS), scale, SPREADS, POWERS)
    noise_alone = float((-off / scale).sum() - off.size * math.log(2 * scale)) + math.log(2)
    if noise_alone >= likelihood:
        return guess.copy(), noise_alone
    return guess + np.sign(noisy - guess) * _median(off, spread, scale), likelihood


def smooth(noisy: Floats, scale: float, total: float) -> Floats:
    """A single column's counts, one axis, non-negative with sum ``total``; neighbours tell of each other if they do.

    The guess at a cell is the mean of its neighbours. Columns without order show a wide spread around it,
    and are left as they are.
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
    """The likeliest (log-likelihood, spread of each cell), over spreads c and powers g.

    The difference of two Laplace variables of scales s ≠ b has density (s·e^(−r/s) − b·e^(−r/b)) / 2(s² − b²).
    """
    noise = scale * np.exp(-off / scale)
    best = (-math.inf, guess)
    for power in powers:
        base = guess**power
        for c in spreads:
            spread = c * base
            apart = np.where(np.abs(spread - scale) < 0.001 * scale, 1.002 * scale, spread)
            density = (apart * np.exp(-off / apart) - noise) / (2 * (apart * apart - scale * scale))
            likelihood = float(np.log(np.maximum(density, 1e-300)).sum())
            if likelihood > best[0]:
                best = (likelihood, spread)
    return best


def _median(off: Floats, spread: Floats, scale: float) -> Floats:
    """How far from the guess, of ``off``, the posterior median lies: between 0 and ``off``.

    After a count is seen at distance r from the guess, what is believed falls off as e^(−αt) beyond either end,
    with α = 1/s + 1/b, and is proportional to e^(βt) between them, with β = 1/b − 1/s; solved for half the mass.
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
