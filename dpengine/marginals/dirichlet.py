"""Estimate the counts of columns under wide noise, by their posterior under symmetric Dirichlet priors.

Where noise is as wide as a typical count, what matters most is how unequal the counts of a column are: whether one
value holds nearly everybody, or all values are about alike. A symmetric Dirichlet prior says that with one number, its
concentration: near 0, one cell holds nearly all people; if it is large, cells are alike. Each of several concentrations
has a likelihood. How common they are is learnt from all columns of a table together, because one column under wide
noise says little about it.

Given the concentration, the posterior is exact up to a grid of counts: the cells are independent Gamma variables, given
that their sum is the total, so sums of some cells have distributions that follow from each other by convolution.

All functions take noisy numbers and public structure, so nothing here costs privacy; the noise is taken as continuous.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpengine.array_types import Floats

__all__ = ["EVEN", "Posterior", "is_wide", "pool_prior", "posterior"]

CONCENTRATIONS = (0.03, 0.12, 0.5, 2.0, 8.0)
MAX_CELLS = 128  # of a column or table: time grows with their number
WIDE_NOISE = 1 / 128  # relative to the total: with less, concentrations say little, and the grid would be too fine
MIN_STEPS = 64  # of the grid of counts, from 0 to the total
STEPS_OF_NOISE = 2  # steps of the grid for each scale of the noise, at least
ROUNDS = 20  # of expectation maximisation, for how common the concentrations are
PSEUDO_COLUMNS = 1.0  # that are spread evenly over the concentrations, beside those of the table


EVEN: Floats = np.full(len(CONCENTRATIONS), -math.log(len(CONCENTRATIONS)))  # the prior if nothing is known of them


class Posterior(NamedTuple):
    """The posterior of one column's counts: for each concentration its log-likelihood and the mean counts.

    Shapes: (concentrations,) and (concentrations, cells).
    """

    log_likelihoods: Floats
    means: Floats

    def mean(self, log_prior: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of the noisy counts and the mean counts, under a prior of the concentrations."""
        likely = self.log_likelihoods + log_prior
        best = float(likely.max())
        weights = np.exp(likely - best)
        return best + math.log(float(weights.sum())), weights @ self.means / weights.sum()


def is_wide(cells: int, scale: float, total: float) -> bool:
    """Return whether noise is wide enough, and `cells` few enough, for a posterior."""
    return 1 < cells <= MAX_CELLS and scale >= WIDE_NOISE * total


def posterior(noisy: Floats, scale: float, total: float) -> Posterior:
    """Return the posterior of counts that add up to `total`, given `noisy` ones with Laplace noise of `scale`.

    There are two cells at least.

    Source: sums over all counts by convolving cell after cell, forward and backward (Baum et al. 1970).
    """
    cells, steps = noisy.size, max(MIN_STEPS, math.ceil(STEPS_OF_NOISE * total / scale))
    counts: Floats = np.linspace(0.0, total, steps + 1)
    seen = -np.abs(noisy[:, None] - counts) / scale
    most = seen.max(axis=1, keepdims=True)
    seen = np.exp(seen - most)
    same = float(most.sum()) - cells * math.log(2 * scale)
    near = np.stack([_prior(concentration, steps) for concentration in CONCENTRATIONS])[:, None] * seen
    others, likelihoods = np.empty_like(near), np.empty(len(CONCENTRATIONS))
    for place, concentration in enumerate(CONCENTRATIONS):
        others[place], log = _sums_of_others(near[place])
        of_prior = _log_prior_of_total(concentration, cells, steps)
        likelihoods[place] = same + log + _log(near[place, 0] @ others[place, 0, ::-1]) - of_prior
    near *= others[:, :, ::-1]
    of_total = near.sum(axis=2)
    likely = of_total > 0
    means = np.where(likely, near @ counts / np.where(likely, of_total, 1.0), total / cells)
    return Posterior(likelihoods, means * (total / means.sum(axis=1, keepdims=True)))


def pool_prior(columns: Sequence[Posterior]) -> Floats:
    """Return the logarithm of how common each concentration is among columns, of shape (concentrations,).

    Source: maximum likelihood of the weights of a mixture, by expectation maximisation (Laird 1978).
    """
    log_likelihoods = np.stack([column.log_likelihoods for column in columns])
    likely = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    common: Floats = np.full(len(CONCENTRATIONS), 1 / len(CONCENTRATIONS))
    for _ in range(ROUNDS):
        shares = likely * common
        shares /= shares.sum(axis=1, keepdims=True)
        common = shares.sum(axis=0) + PSEUDO_COLUMNS / len(CONCENTRATIONS)
        common /= common.sum()
    return np.log(common)


@lru_cache(maxsize=256)
def _prior(concentration: float, steps: int) -> Floats:
    """Return the prior weights of a cell's counts on the grid: x^(concentration − 1), integrated over each step."""
    bounds = np.concatenate([[0.0], np.arange(steps) + 0.5, [float(steps)]])
    weights: Floats = np.diff(bounds**concentration)
    weights /= weights.sum()
    weights.setflags(write=False)
    return weights


@lru_cache(maxsize=4096)
def _log_prior_of_total(concentration: float, cells: int, steps: int) -> float:
    """Return the logarithm of the prior weight of all counts that add up to the total, by repeated squaring."""
    (now, log), (power, log_of_power) = (_nothing(steps), 0.0), (_prior(concentration, steps), 0.0)
    left = cells
    while left:
        if left % 2:
            now, grown = _scaled(np.convolve(now, power)[: steps + 1])
            log += log_of_power + grown
        left //= 2
        if left:
            power, grown = _scaled(np.convolve(power, power)[: steps + 1])
            log_of_power = 2 * log_of_power + grown
    return log + _log(now[steps])


def _sums_of_others(near: Floats) -> tuple[Floats, float]:
    """Return for each cell the distribution of the sum of all others, up to a factor; its logarithm for the first cell.

    `near` has a row of weights for each of two cells or more.
    """
    cells, steps = near.shape
    others = np.empty_like(near)
    now, log = near[0], 0.0
    for k in range(1, cells):
        others[k] = now
        if k + 1 < cells:
            now, _ = _scaled(np.convolve(now, near[k])[:steps])
    now = near[-1]
    for k in reversed(range(1, cells - 1)):
        others[k] = np.convolve(others[k], now)[:steps]
        now, grown = _scaled(np.convolve(now, near[k])[:steps])
        log += grown
    others[0] = now
    return others, log


def _nothing(steps: int) -> Floats:
    """Return the distribution of the sum of no cells."""
    weights = np.zeros(steps + 1)
    weights[0] = 1.0
    return weights


def _scaled(weights: Floats) -> tuple[Floats, float]:
    """Return weights that add up to 1, and the logarithm of what they added up to."""
    added = max(float(weights.sum()), 1e-300)
    return weights / added, math.log(added)


def _log(weight: float) -> float:
    return math.log(max(float(weight), 1e-300))
