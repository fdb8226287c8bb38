"""Weighted least squares over the levels of a tree, in closed form: two passes over its nodes.

Every node has a true count, which is the sum of those of its children. The nodes of some levels are measured, each
level with noise of one variance. With y the noisy count of node v, and S and V the sums of its children's estimates z
and of their variances:

    upwards     z_v = α·y + (1 − α)·S,   α = V / (V + variance of y)       the best estimate from below
    downwards   x_c = z_c + (variance of z_c) / V · (x_v − S)              the best estimate from everything

This is the method of Hay, Rastogi, Miklau & Suciu (PVLDB 3, 2010, Theorem 3), for unequal numbers of children and
unequal variances of levels. It equals the dense Gauss–Markov solution, with which the tests compare it. Children add up
to their parents exactly.

Variances follow in the same passes. Let x_v = A·S + o, where o is independent of all that is below v. Then, with k =
(variance of z_c) / V and B = 1 + k·(A − 1),

    x_c = B·z_c + k·(A − 1)·(the siblings' z) + k·o.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.marginals.fitting import project

__all__ = ["LevelTree", "project_groups"]

NOT_MEASURED = math.inf


@dataclass(frozen=True)
class LevelTree:
    """A tree of levels below one root: `groups[k]` gives for each node of level k + 1 its parent's index on level k.

    The children of a node are contiguous, in the order of their parents. `variances` has one entry per level, the
    root's first; the variance of an unmeasured level is infinite. The last level is measured.
    """

    groups: tuple[Ints, ...]
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.variances) != len(self.groups) + 1 or not 0 < self.variances[-1] < math.inf:
            raise ValueError("every level needs a variance above 0, and the last one is measured")

    @cached_property
    def _starts(self) -> list[Ints]:
        """For each level except the last, where the children of each node begin."""
        return [np.flatnonzero(np.diff(group, prepend=-1)) for group in self.groups]

    @cached_property
    def _upwards(self) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """By level: α of each node, the variance of its z, and V of each node of all levels except the last."""
        alpha: list[Floats] = [np.ones(self._sizes[-1])]
        variance: list[Floats] = [np.full(self._sizes[-1], self.variances[-1])]
        below: list[Floats] = []
        for starts, noise in zip(self._starts[::-1], self.variances[-2::-1], strict=True):
            sums = np.add.reduceat(variance[0], starts)
            part = sums / (sums + noise)
            of_count = part**2 * noise if noise < math.inf else np.zeros_like(part)
            alpha.insert(0, part)
            variance.insert(0, of_count + (1 - part) ** 2 * sums)
            below.insert(0, sums)
        return alpha, variance, below

    @cached_property
    def _sizes(self) -> list[int]:
        return [1, *(group.size for group in self.groups)]

    @cached_property
    def node_variances(self) -> tuple[Floats, ...]:
        """The variance of the estimate of each node, by level."""
        alpha, variance, below = self._upwards
        variances = [variance[0]]
        a = 1 - alpha[0]
        outside = self._noise_variance(0, alpha[0])
        for k, group in enumerate(self.groups):
            share = variance[k + 1] / below[k][group]
            loss = share * (a[group] - 1)
            b = 1 + loss
            rest = loss**2 * (below[k][group] - variance[k + 1]) + share**2 * outside[group]
            variances.append(b**2 * variance[k + 1] + rest)
            a = b * (1 - alpha[k + 1])
            outside = rest + self._noise_variance(k + 1, b * alpha[k + 1])
        return tuple(variances)

    def _noise_variance(self, level: int, weights: Floats) -> Floats:
        """Return the variance of a level's noise with these weights, which are 0 where it is not measured."""
        return weights**2 * self.variances[level] if self.variances[level] < math.inf else np.zeros_like(weights)

    def estimate(self, values: Sequence[Floats | None]) -> list[Floats]:
        """Return the estimates of all nodes by level, from noisy `values` by level: None for one not measured.

        Values may have more axes after that of the nodes; each index of these is a separate tree.
        """
        alpha, variance, below = self._upwards
        finest = values[-1]
        assert finest is not None, "the last level is measured"
        up: list[Floats] = [finest]
        sums: list[Floats] = []
        for k in range(len(self.groups) - 1, -1, -1):
            total = np.add.reduceat(up[0], self._starts[k], axis=0)
            sums.insert(0, total)
            noisy, part = values[k], _spread(alpha[k], total)
            up.insert(0, total if noisy is None else part * noisy + (1 - part) * total)
        estimates = [up[0]]
        for k, group in enumerate(self.groups):
            share = _spread(variance[k + 1] / below[k][group], up[k + 1])
            estimates.append(up[k + 1] + share * (estimates[k] - sums[k])[group])
        return estimates

    def weights(self, level: int, node: int) -> list[Floats]:
        """Return the weight of each noisy count in the estimate of one node, by level.

        >>> halves = LevelTree((np.array([0, 0]),), (1.0, 1.0))
        >>> [each.round(3).tolist() for each in halves.weights(1, 0)]
        [[0.333], [0.667, -0.333]]
        """
        alpha, variance, below = self._upwards
        path = [node]
        for k in range(level - 1, -1, -1):
            path.insert(0, int(self.groups[k][path[0]]))
        weights: list[Floats] = []
        of_z: Floats = np.ones(1)  # weights of the upward estimates of a level
        for k in range(len(self._sizes)):
            weights.append(of_z * alpha[k])
            if k == len(self.groups):
                break
            group = self.groups[k]
            of_z = (of_z * (1 - alpha[k]))[group]
            if k < level:
                share = variance[k + 1][path[k + 1]] / below[k][path[k]]
                weights = [share * each for each in weights]
                of_z = share * of_z - share * (group == path[k])
                of_z[path[k + 1]] += 1
        return weights


def _spread(values: Floats, like: Floats) -> Floats:
    """Return one value per node, with as many axes as `like`."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def project_groups(values: Floats, totals: Floats, group: Ints) -> Floats:
    """Return the non-negative values nearest to `values` that add up to `totals` in each group.

    Groups are contiguous, in order. Source: Duchi et al. 2008, Figure 1, in all groups at once.

    >>> project_groups(np.array([0.5, 0.75, -0.5, 3.0]), np.array([1.0, 2.0]), np.array([0, 0, 0, 1]))
    array([0.375, 0.625, 0.   , 2.   ])
    """
    if totals.size == 1:
        return project(values, float(totals[0]))
    order = np.lexsort((-values, group))
    descending, starts = values[order], np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.cumsum(descending)
    before = (sums[starts] - descending[starts])[group]
    rank = np.arange(values.size) - starts[group] + 1
    excess = (sums - before - totals[group]) / rank
    positive = np.maximum(np.add.reduceat((descending > excess).astype(np.int64), starts), 1)
    nearest: Floats = np.maximum(values - excess[starts + positive - 1][group], 0.0)
    return nearest
