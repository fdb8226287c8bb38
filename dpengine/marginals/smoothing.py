"""Estimate the counts of columns from noisy ones, by the order of their cells and by their sizes.

There are four descriptions of a column. The noisy counts themselves give the likelihood of each, and hence its weight:

* counts are nearly alike, as those of months, of the years of a panel, or of groups that were made equal;
* counts come, in any order, from one unknown distribution of sizes;
* counts follow a level that moves along the cells, in small steps or, rarely, a jump. Some cells are heaps or gaps:
  their counts come from the distribution of sizes instead;
* under wide noise, counts are as unequal as those of other columns of the table (`dirichlet`).

The third is a hidden Markov chain. Order is that of the cells in the plan. All functions take noisy numbers and public
structure, so nothing here costs privacy; as in `shrinkage`, densities are continuous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.dirichlet import Posterior, is_wide, pool_prior, posterior
from dpengine.marginals.fitting import project
from dpengine.marginals.shrinkage import MIN_GUESS, density, likeliest_spread, posterior_median

__all__ = ["MAX_SMOOTHED", "smooth", "smooth_by_order_and_size", "smooth_columns"]

MAX_KEPT = 1024  # columns whose results are kept: more than tables of pairs share within one release of 40 columns
WINDOWS = (1, 2, 4, 8)  # neighbours on either side
MIN_TO_SMOOTH = 8  # cells
MAX_SMOOTHED = 1024  # cells of a column; time and memory grow with the square of their number
SMALL_SIZES = 6  # below and around the noise, at which the distribution of sizes has mass beside the noisy counts
SIZE_ROUNDS = 10  # of expectation maximisation: few, so that it does not follow the noise
LESS_LIKELY = 1.0  # difference of log-likelihoods up to which neighbours have full weight
LITTLE_NOISE = 0.004  # relative to a mean count: with less noise, levels add nothing
STEP = 0.07  # between levels, of their logarithms
STEPS = (0.06, 0.2, 0.6)  # mean absolute steps of the level between cells, as fractions of it, weighted by likelihood
HEAPS = (0.03, 0.2)  # fractions of cells that are heaps or gaps, likewise
JUMPS = 0.02  # fraction of the steps that lead to any level
ALIKE: Floats = np.array([2.0**k for k in range(-9, -1)])  # mean distance of counts that are alike, of the mean count
NO_FIT = 2.0  # log-likelihood added for concentrations: unlike sizes, they are hardly fitted to the noisy counts
LESS_USUAL = 2.0  # log-likelihood taken from counts that are alike, which are rarer than others (a prior)


def smooth(noisy: Floats, scale: float, total: float) -> Floats:
    """Estimate the counts of a column alone from noisy ones; return non-negative counts that add up to `total`.

    `scale` is that of the noise.
    """
    return smooth_by_order_and_size(noisy, scale, total)[1]


def smooth_columns(columns: Mapping[str, tuple[Floats, float]], total: float) -> dict[str, Floats]:
    """Estimate the counts of several columns of one table, given by the noisy counts and the scale of their noise.

    Return non-negative counts that add up to `total`. Under wide noise, how unequal the counts of a column are likely
    to be is learnt from all these columns together: with noise of at least 0.4 of a mean count, errors of public tables
    are 2 to 11 % smaller than those by order and sizes alone (`benchmarks/columns_together.py`).
    """
    smoothed = {name: _smoothed(noisy.tobytes(), scale, total) for name, (noisy, scale) in columns.items()}
    estimated = {name: counts for name, (_, counts) in smoothed.items()}
    wide = [name for name, (noisy, scale) in columns.items() if is_wide(noisy.size, scale, total)]
    if len(wide) < 2:  # a column alone is better described by its order and sizes
        return estimated
    posteriors = {name: _posterior(columns[name][0].tobytes(), columns[name][1], total) for name in wide}
    prior = pool_prior([*posteriors.values()])
    for name, column in posteriors.items():
        noisy, scale = columns[name]
        likelihood, counts = column.mean(prior)
        odds = likelihood - smoothed[name][0] + NO_FIT + 2 * math.log(scale * noisy.size / total)
        weight = 1 / (1 + math.exp(min(-odds, 50.0)))
        estimated[name] = weight * counts + (1 - weight) * estimated[name]
    return estimated


@lru_cache(maxsize=MAX_KEPT)
def _smoothed(noisy: bytes, scale: float, total: float) -> tuple[float, Floats]:
    """Return `smooth_by_order_and_size`, of the bytes of the noisy counts; the counts cannot be written to.

    Tables that are fitted one by one share columns, with equal counts if the estimates of the tables agree.
    """
    likelihood, counts = smooth_by_order_and_size(np.frombuffer(noisy), scale, total)
    counts.setflags(write=False)
    return likelihood, counts


@lru_cache(maxsize=MAX_KEPT)
def _posterior(noisy: bytes, scale: float, total: float) -> Posterior:
    """Return `posterior`, of the bytes of the noisy counts."""
    return posterior(np.frombuffer(noisy), scale, total)


def smooth_by_order_and_size(noisy: Floats, scale: float, total: float) -> tuple[float, Floats]:
    """Return the counts of one column as its order and the sizes of its cells suggest, after their log-likelihood.

    For cells in any order, the result is the mean of two estimates, from neighbouring cells and from cells of similar
    size. Each is up to a third more accurate than a projection for some columns, and less accurate for others.
    Neighbours weigh less if they make the noisy counts far less likely, as where one cell holds almost all rows. If
    counts are nearly alike, the result is near their mean. The likelihood is 0, and its logarithm −∞, where a column
    has too few or too many cells to be described.
    """
    likelihood, in_order = _by_neighbours(noisy, scale, total)
    if not 2 < noisy.size <= MAX_SMOOTHED:
        return -math.inf, in_order
    likely, by_size = _by_size(noisy, scale, total)
    evidence = float(np.log(likely).sum())
    trust = math.exp(min(0.0, likelihood - evidence + LESS_LIKELY))
    counts = (trust * in_order + (2 - trust) * project(by_size, total)) / 2
    if noisy.size >= MIN_TO_SMOOTH and scale * noisy.size >= LITTLE_NOISE * total:
        weight, by_level = _by_level(noisy, scale, likely, by_size)
        counts = project(weight * by_level + (1 - weight) * counts, total)
        evidence -= math.log(max(1 - weight, 1e-12))  # of levels and sizes together
    likelihood, alike = _alike(noisy, scale, total)
    both = float(np.logaddexp(evidence, likelihood - LESS_USUAL))
    weight = math.exp(likelihood - LESS_USUAL - both)
    return both, project(weight * alike + (1 - weight) * counts, total)


def _alike(noisy: Floats, scale: float, total: float) -> tuple[float, Floats]:
    """Return the log-likelihood of the noisy counts if counts lie closely around their mean, and these counts."""
    mean = np.full(noisy.size, total / noisy.size)
    distance = np.abs(noisy - mean)
    likelihood, spread = likeliest_spread(distance, mean, scale, ALIKE, (1.0,))
    return likelihood, mean + np.sign(noisy - mean) * posterior_median(distance, spread, scale)


def _by_level(noisy: Floats, scale: float, likely: Floats, by_size: Floats) -> tuple[float, Floats]:
    """Return the posterior probability that counts follow levels, and the posterior means of the counts if they do.

    A level's logarithm moves by Laplace steps. A count is spread around its level as a Poisson count is, and by the
    width between levels. `likely` and `by_size` are the densities of the noisy counts and their posterior means if
    sizes come in any order. The prior over steps and fractions of heaps is uniform.

    Source: the forward and backward sums of Baum et al. 1970.
    """
    half = scale / 2  # levels are evenly spaced below half of the noise, and grow by a factor above
    places = STEP * np.arange(int(np.log1p(max(float(noisy.max()), scale) / half) / STEP) + 2, dtype=np.float64)
    levels = half * np.expm1(places)
    spread = np.sqrt((levels + (STEP * (levels + half)) ** 2 / 12) / 2)
    distances = np.abs(noisy[:, None] - levels)
    near = density(distances, spread, scale)
    counts = np.maximum(levels + np.sign(noisy[:, None] - levels) * posterior_median(distances, spread, scale), 0.0)

    moves = np.exp(-np.abs(places[:, None] - places) / np.array(STEPS)[:, None, None])
    moves = (1 - JUMPS) * moves / moves.sum(axis=2, keepdims=True) + JUMPS / levels.size
    heaps = np.array(HEAPS)[:, None]
    # From here on, axes are: cell, step, part of heaps, level.
    seen = (1 - heaps) * near[:, None, None] + heaps * likely[:, None, None, None]
    most = seen.max(axis=3)
    seen /= most[..., None]
    forward = np.empty((noisy.size, len(STEPS), len(HEAPS), levels.size))
    now = np.full(forward.shape[1:], 1 / levels.size)
    evidence = np.log(most).sum(axis=0) + np.zeros(forward.shape[1:3])
    for cell in range(noisy.size):
        now = (now @ moves if cell else now) * seen[cell]
        sums = now.sum(axis=2, keepdims=True)
        now = forward[cell] = now / sums
        evidence += np.log(sums[..., 0])
    in_any_order = float(np.log(likely).sum())
    best = max(float(evidence.max()), in_any_order)
    weights = np.exp(evidence - best)
    weight = float(weights.mean() / (weights.mean() + np.exp(in_any_order - best)))
    weights /= weights.sum()

    # The correction by a level of the expected count that follows from size alone.
    more = (1 - heaps) * (near * (counts - by_size[:, None]))[:, None, None] / (most[..., None] * seen)
    expected = by_size.copy()
    after, back = np.ones(forward.shape[1:]), moves.transpose(0, 2, 1)
    for cell in reversed(range(noisy.size)):
        both = forward[cell] * after
        both *= (weights / both.sum(axis=2))[..., None]
        expected[cell] += (both * more[cell]).sum()
        after = (after * seen[cell]) @ back
        after /= after.max(axis=2, keepdims=True)
    return weight, expected


def _by_size(noisy: Floats, scale: float, total: float) -> tuple[Floats, Floats]:
    """Return densities of the noisy counts, and posterior means, if counts come from an unknown distribution of sizes.

    The distribution is on the noisy counts themselves and some small sizes. It is found by a few steps of expectation
    maximisation, from and towards a prior that makes small counts likelier.

    Source: nonparametric empirical Bayes (Kiefer & Wolfowitz 1956; Laird 1978), stopped early and with a prior.
    """
    small: Floats = np.geomspace(max(scale / 8, 1.0), max(4 * scale, 2.0), SMALL_SIZES)
    sizes = np.sort(np.concatenate([[0.0], small, np.maximum(noisy, 0.0), project(noisy, total)]))
    sizes = sizes[np.diff(sizes, prepend=-1.0) > 0]  # np.unique would import masked arrays, which takes longer
    likely = np.exp(-np.abs(noisy[:, None] - sizes) / scale) + 1e-300
    prior = 1 / (sizes + scale)
    prior /= prior.sum()
    weights = prior
    for _ in range(SIZE_ROUNDS):
        posterior = likely * weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        weights = (posterior.mean(axis=0) + prior) / 2
    posterior = likely * weights
    sums = posterior.sum(axis=1)
    return sums / (2 * scale), (posterior @ sizes) / sums


def _by_neighbours(noisy: Floats, scale: float, total: float) -> tuple[float, Floats]:
    """Return noisy counts smoothed along their order, and projected; and before it their log-likelihood.

    The guess at a cell is the mean of its neighbours. If counts spread widely around it, as in columns without order,
    they are only projected: the likelihood is infinite, since no order is claimed.
    """
    plain = project(noisy, total)
    if noisy.size < MIN_TO_SMOOTH:
        return math.inf, plain
    best: tuple[float, Floats, Floats] | None = None
    for window in WINDOWS:
        if 2 * window + 1 > noisy.size:
            break
        kernel = np.ones(2 * window + 1)
        kernel[window] = 0
        guess = np.convolve(plain, kernel, "same") / np.convolve(np.ones(noisy.size), kernel, "same")
        for power in (0.5, 1.0):
            spreads: Floats = scale ** (1 - power) * 2.0 ** np.arange(-6, 8)
            fit = likeliest_spread(
                np.abs(noisy - guess), np.maximum(guess, MIN_GUESS * scale), scale, spreads, (power,)
            )
            if best is None or fit[0] > best[0]:
                best = (*fit, guess)
    assert best is not None  # the narrowest window always fits
    likelihood, spread, guess = best
    if float((spread * guess).sum()) > 1.5 * scale * float(guess.sum()):
        return math.inf, plain
    moved = posterior_median(np.abs(noisy - guess), spread, scale)
    return likelihood, project(guess + np.sign(noisy - guess) * moved, total)
