"""Expected counts of a tree whose leaves are mostly empty, by empirical Bayes.

Least squares takes the noise of an empty leaf as seriously as that of a full one. Here the distribution of the true
counts of leaves is estimated from their noisy counts, without assumptions on its form (Kiefer & Wolfowitz 1956), and so
is the fraction of groups of leaves that are entirely empty. The mean and the variance of each leaf given the noisy
counts then replace its own noisy count and the variance of its noise:

    upwards     z_v = α·y + (1 − α)·S,   α = V / (V + variance of y),   with the sums S and V over the children
    downwards   x_c = z_c + (variance of z_c) / V · (x_v − S)

If noise alone explains a leaf, its variance is near 0: it adds no noise to the sums above, and gets no share of their
corrections. Errors of the means are not independent, since all follow from one estimated distribution. So V is raised
on each measured level until it explains the differences between S and the noisy counts there.

All functions take noisy numbers and public structure, so nothing here costs privacy. The results are estimates that are
biased towards 0 where counts are small: intervals follow from least squares (`marginals.level_tree`), not from these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.marginals.level_tree import LevelTree

__all__ = ["expected_counts", "given_noisy"]

MIN_LEAVES = 500  # with fewer leaves, their distribution is too uncertain
MOSTLY = 0.5  # leaves are estimated as mostly empty if at least this part of them is
FAR = 20.0  # in scales of the noise; larger counts are not shrunk
ROUNDS, FEW_ROUNDS, WORK = 300, 50, 10**8  # of the estimation at most; fewer if rounds × leaves would exceed this
NEAR = 1e-5  # change of a round after which it ends


def expected_counts(tree: LevelTree, values: Sequence[Floats | None], scale: float) -> list[Floats] | None:
    """Return the expected count of each node by level; None unless most of the many leaves are empty.

    `values` are noisy counts by level, as for `LevelTree.estimate`; `scale` is that of the noise in the leaves.
    """
    leaves = values[-1]
    assert leaves is not None, "the last level is measured"
    if leaves.size < MIN_LEAVES:
        return None
    trees = leaves.reshape(leaves.shape[0], -1).shape[1]
    parent = tree.groups[-1][:, None] * trees + np.arange(trees)
    mean, variance, empty = given_noisy(leaves, parent, scale)
    if empty < MOSTLY:
        return None
    means, variances = [mean], [variance]
    sums: list[Floats] = []
    for group, noisy, noise in zip(tree.groups[::-1], values[-2::-1], tree.variances[-2::-1], strict=True):
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        total, spread = (np.add.reduceat(each[0], starts, axis=0) for each in (means, variances))
        sums.insert(0, total)
        if noisy is None or noise == math.inf:
            means.insert(0, total)
            variances.insert(0, spread)
            continue
        spread = spread * max(1.0, float(((noisy - total) ** 2 - noise).sum() / spread.sum()))
        part = spread / (spread + noise)
        means.insert(0, part * noisy + (1 - part) * total)
        variances.insert(0, part * noise)
    expected = [means[0]]
    for k, group in enumerate(tree.groups):
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        share = variances[k + 1] / np.add.reduceat(variances[k + 1], starts, axis=0)[group]
        expected.append(means[k + 1] + share * (expected[k] - sums[k])[group])
    return expected


def given_noisy(noisy: Floats, parent: Ints, scale: float) -> tuple[Floats, Floats, float]:
    """Return the mean and variance of each true count given all noisy ones, and the fraction of true counts that are 0.

    The noise is discrete Laplace of `scale`. All counts below a `parent` are 0, or all are drawn from one distribution.
    The probabilities of both cases and the distribution are estimated from the noisy counts (EM). Variances are above
    0.

    >>> noisy = np.array([0, 1, -1, 2, -2, 0, 0, 1] * 100 + [60, 61, 0, 1] * 20)
    >>> mean, variance, empty = given_noisy(noisy, np.arange(noisy.size) // 4, 1.0)
    >>> [float(mean[k].round(1)) for k in (0, 3, -4)], round(empty, 1)
    ([0.1, 0.5, 60.0], 0.7)
    """
    grid = np.arange(0, FAR * scale, max(1.0, scale))
    counts, inverse = np.unique(noisy.ravel(), return_inverse=True)
    near = counts < 0.75 * FAR * scale
    likely = np.exp(-np.abs(counts[near][:, None] - grid) / scale + np.maximum(-counts[near], 0)[:, None] / scale)
    prior, some = np.full(grid.size, 1 / grid.size), 0.5  # of counts below parents with people, and how many these are
    surplus = counts / scale  # log-likelihood ratio of a parent with people to one without
    for _ in range(min(ROUNDS, max(FEW_ROUNDS, WORK // noisy.size))):
        posterior = likely * prior
        known = posterior.sum(axis=1)
        posterior /= known[:, None]
        surplus[near] = np.log(known / likely[:, 0])
        total = np.clip(np.bincount(parent.ravel(), surplus[inverse]) + math.log(some / (1 - some)), -700, 700)
        peopled = 1 / (1 + np.exp(-total))
        some = float(np.clip(peopled.mean(), 1e-6, 1 - 1e-6))
        before, weights = prior, np.bincount(inverse, peopled[parent.ravel()], counts.size)[near]
        prior = weights @ posterior + 1e-300
        prior /= prior.sum()
        if np.abs(prior - before).max() < NEAR:
            break
    decay = math.exp(-1 / scale)
    noise = max(2 * decay / (1 - decay) ** 2, 1e-12)
    first, second, zero = counts.astype(np.float64), counts.astype(np.float64) ** 2 + noise, np.zeros(counts.size)
    first[near], second[near], zero[near] = posterior @ grid, posterior @ grid**2, posterior[:, 0]
    chance = peopled[parent.ravel()]
    mean = chance * first[inverse]
    variance = np.maximum(chance * second[inverse] - mean**2, 1e-6 * noise)
    empty = float((1 - chance + chance * zero[inverse]).mean())
    return mean.reshape(noisy.shape), variance.reshape(noisy.shape), empty
