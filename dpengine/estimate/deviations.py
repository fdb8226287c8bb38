"""Estimate by how much the mean of each cell of a table differs from what is expected, from noisy sums.

The prior of a deviation is a sum of three parts: one that changes smoothly along one of the table's columns, such as
ages or months; one of each cell by itself; and the chance by which so few people differ. The first is a Gaussian
process, of a Matérn kernel with ν = 3/2, which starts anew for each combination of the other columns. The likelihood
of the noisy sums says how large and how smooth these parts are, and along which column: all possibilities on a grid
are averaged by it. A column without order gets hardly any smooth part, so all columns are tried. In a few cells the
second and the third part are much larger than in others, with small odds.

The process is a Markov chain of its value and its slope, so two passes along the cells, forward and backward, take time
proportional to their number. Where a cell may be one of the few, a Gaussian of the same mean and variance replaces the
mixture. Noise is taken as a mixture of two Gaussians, which has tails as heavy as that of a few cells.

All of this is post-processing of noisy numbers (Dwork & Roth 2014, Proposition 2.1): nothing here costs privacy.

Sources: Gaussian processes as Markov chains, Hartikainen & Särkkä, "Kalman filtering and smoothing solutions to
temporal Gaussian process regression models", 2010; mixtures replaced by Gaussians, Minka, "Expectation propagation for
approximate Bayesian inference", 2001, section 2; averages over parameters, Rasmussen & Williams 2006, section 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints

__all__ = ["fit_deviations"]

# Standard deviations of the second and the first part, the length of the first one in cells, and the variance of one
# person, as parts of the range of values. They were chosen on public tables (benchmarks/mean_tables.py).
OWN, SMOOTH, LENGTHS = (0.0, 0.01, 0.04, 0.16), (0.02, 0.06, 0.2), (3.0, 12.0, 48.0)
PERSON = (0.0003, 0.003, 0.02, 0.1, 0.25)
NONE = 1e-5  # the standard deviation of the first part where there is none
TIMES = ((1.0, 0.95), (16.0, 0.05))  # the variance of the other parts as a multiple of the usual one, and its odds
NOISE = ((0.5, 0.8), (3.0, 0.2))  # variances as multiples of the noise's, and odds, so that its tails are heavier
MOST_LEARNT = 32  # chains of cells from which the parts are learnt
MIXTURE = np.array([(own, noise, odds * likely) for (own, odds), (noise, likely) in product(TIMES, NOISE)])
OF_OWN, OF_NOISE, ODDS = MIXTURE.T[:, :, None, None]
LEAST_WEIGHT = 0.05  # of a prior whose results are averaged, relative to the likeliest one's
LEAST_AVERAGED, MOST_AVERAGED = 8, 1 << 17  # priors in any table, and priors × cells, of which results are averaged
MAX_LENGTH = 1024  # cells along a column; a longer column is taken as one without order
AT_ONCE = 1 << 20  # numbers in an array
TINY = 1e-300


class Prior(NamedTuple):
    """Parameters of several priors, each of shape (priors, 1)."""

    own: Floats
    smooth: Floats
    length: Floats
    person: Floats

    def choose(self, some: Ints) -> Prior:
        """Return some of the priors."""
        return Prior(*(each[some] for each in self))


class Chains(NamedTuple):
    """Chains of cells along a column, with noisy sums; arrays have the shape (cells, chains)."""

    deviations: Floats  # noisy sums ÷ people
    people: Floats
    variance: float  # of the noise in a sum
    follows: npt.NDArray[np.bool_]  # of each cell along the column, whether it has an order with the cell before it

    def choose(self, some: Ints | slice) -> Chains:
        """Return some of the chains."""
        return self._replace(deviations=self.deviations[:, some], people=self.people[:, some])

    def backward(self) -> Chains:
        """Return the chains from their last cells to their first."""
        follows = np.concatenate([[False], self.follows[:0:-1]])
        return Chains(self.deviations[::-1], self.people[::-1], self.variance, follows)


class Moments(NamedTuple):
    """Means and covariances of the smooth part and its slope, of shape (priors, chains)."""

    value: Floats
    slope: Floats
    variance: Floats
    covariance: Floats
    variance_of_slope: Floats


def fit_deviations(sums: Floats, people: Floats, variance: float, ordered: Sequence[int]) -> Floats:
    """Return the mean of a quantity in each cell of a table, from noisy sums of it.

    `sums` and `people` have one axis for each column; `variance` is that of the noise in a sum. Values of single people
    are between −1 and 1, and 0 is expected. `ordered` has for each axis the number of cells at its beginning that have
    an order; the others are those of odd or missing values.
    """
    at_least_one = np.maximum(people, 1.0)
    axes: list[int | None] = [axis for axis, size in enumerate(sums.shape) if 1 < size <= MAX_LENGTH]
    axes = axes or [None]
    chains = []
    for axis in axes:
        deviations, counts = _turned(sums / at_least_one, axis), _turned(at_least_one, axis)
        places = np.arange(len(counts))
        follows = (places > 0) & (places < (0 if axis is None else ordered[axis]))
        chains.append(Chains(deviations, counts, variance, follows))
    prior = _grid()
    logs = [_log_likelihoods(_learnt_from(each), prior) for each in chains]
    # Columns are compared by what a smooth part adds, since each has likelihoods of other cells in a large table.
    logs = [log - np.logaddexp.reduce(log[prior.smooth[:, 0] == NONE]) for log in logs]
    likeliest, weight, total = max(float(each.max()) for each in logs), 0.0, np.zeros(sums.shape)
    for axis, along, log in zip(axes, chains, logs, strict=True):
        weights = np.exp(log - likeliest)
        some = np.argsort(-weights, kind="stable")[: max(LEAST_AVERAGED, MOST_AVERAGED // sums.size)]
        some = some[weights[some] > LEAST_WEIGHT]
        weight += float(weights[some].sum())
        total += _turned_back(_weighted_means(along, prior.choose(some), weights[some]), sums, axis)
    return total / weight


def _grid() -> Prior:
    rows = product(OWN, [(NONE, 1.0), *product(SMOOTH, LENGTHS)], PERSON)
    columns = zip(*((own, smooth, length, person) for own, (smooth, length), person in rows), strict=True)
    return Prior(*(np.array(column)[:, None] for column in columns))


def _turned(cells: Floats, axis: int | None) -> Floats:
    """Return cells as chains along an axis; without an axis, each is a chain by itself."""
    return cells.reshape(1, -1) if axis is None else np.moveaxis(cells, axis, 0).reshape(cells.shape[axis], -1)


def _turned_back(chains: Floats, cells: Floats, axis: int | None) -> Floats:
    """Return chains in the shape of `cells`: the inverse of `_turned`."""
    if axis is None:
        return chains.reshape(cells.shape)
    return np.moveaxis(chains.reshape(np.moveaxis(cells, axis, 0).shape), 0, axis)


def _learnt_from(chains: Chains) -> Chains:
    """Return at most `MOST_LEARNT` of the chains, of all sizes."""
    by_size = np.argsort(-chains.people.sum(axis=0), kind="stable")
    return chains.choose(by_size[:: -(-by_size.size // MOST_LEARNT)])


def _log_likelihoods(chains: Chains, prior: Prior) -> Floats:
    """Return the log-likelihood of all chains under each prior, up to a constant."""
    logs = np.zeros((len(prior.own), chains.people.shape[1]))
    for _, log in _forward(chains, prior):
        logs += log
    likelihoods: Floats = logs.sum(axis=1)
    return likelihoods


def _weighted_means(chains: Chains, prior: Prior, weights: Floats) -> Floats:
    """Return the sum of the posterior means of each cell under all priors, times their weights."""
    cells, width = chains.people.shape
    total = np.zeros((cells, width))
    step = max(1, AT_ONCE // (cells * max(weights.size, 1)))
    for first in range(0, width if weights.size else 0, step):
        some = slice(first, first + step)
        for cell, means in enumerate(_posterior_means(chains.choose(some), prior)):
            total[cell, some] = weights @ means
    return total


def _posterior_means(chains: Chains, prior: Prior) -> Iterator[Floats]:
    """Yield the posterior mean of one cell after the other, of shape (priors, chains)."""
    backward = [before for before, _ in _forward(chains.backward(), prior)][::-1]
    of_value, of_slope = prior.smooth**2, 3 * (prior.smooth / prior.length) ** 2
    for cell, (before, _) in enumerate(_forward(chains, prior)):
        (p0, p1, p2), (q0, q1, q2) = _inverse(before), _inverse(backward[cell])
        after, falling = backward[cell].value, backward[cell].slope  # seen backward, slope and covariance change signs
        a, b, c = p0 + q0 - 1 / of_value, p1 - q1, p2 + q2 - 1 / of_slope  # the prior is in both
        first = p0 * before.value + p1 * before.slope + q0 * after + q1 * falling
        second = p1 * before.value + p2 * before.slope - q1 * after - q2 * falling
        determinant = a * c - b * b
        value, variance = (c * first - b * second) / determinant, c / determinant
        own, noise = _other_variances(chains, prior, cell)
        residual, noisy = chains.deviations[cell] - value, variance + own + noise
        weights = ODDS * np.exp(-(residual**2) / (2 * noisy)) / np.sqrt(noisy) + TINY
        part = (weights * (variance + own) / noisy).sum(axis=0) / weights.sum(axis=0)  # of the difference that is kept
        yield value + part * residual


def _forward(chains: Chains, prior: Prior) -> Iterator[tuple[Moments, Floats]]:
    """Yield what the cells before each cell say of its smooth part, and the log-likelihood of its sum after these."""
    rate = math.sqrt(3) / prior.length
    decay = np.exp(-rate)
    a, b, c, d = decay * (1 + rate), decay, -decay * rate**2, decay * (1 - rate)
    nothing = np.zeros((len(rate), chains.people.shape[1]))
    of_value, of_slope = prior.smooth**2 + nothing, (prior.smooth * rate) ** 2 + nothing
    start = at = Moments(nothing, nothing, of_value, nothing, of_slope)
    new = (
        of_value * (1 - a * a) - of_slope * b * b,
        -of_value * a * c - of_slope * b * d,
        of_slope * (1 - d * d) - of_value * c * c,
    )
    for cell, follows in enumerate(chains.follows):
        if follows:
            value, slope, p, q, r = at
            at = Moments(
                a * value + b * slope,
                c * value + d * slope,
                a * a * p + 2 * a * b * q + b * b * r + new[0],
                a * c * p + (a * d + b * c) * q + b * d * r + new[1],
                c * c * p + 2 * c * d * q + d * d * r + new[2],
            )
        else:
            at = start
        residual = chains.deviations[cell] - at.value
        noisy = at.variance + sum(_other_variances(chains, prior, cell))
        squares = residual**2 / noisy
        parts = ODDS * np.exp(squares / -2) / np.sqrt(noisy)
        density = parts.sum(axis=0) + TINY
        yield at, np.log(density)
        slopes = parts / noisy
        gain = slopes.sum(axis=0) * residual / density  # the derivative of the log density, and the fall of that one
        fall = (slopes * (1 - squares)).sum(axis=0) / density + gain**2
        at = Moments(
            at.value + at.variance * gain,
            at.slope + at.covariance * gain,
            at.variance - at.variance**2 * fall,
            at.covariance - at.variance * at.covariance * fall,
            at.variance_of_slope - at.covariance**2 * fall,
        )


def _other_variances(chains: Chains, prior: Prior, cell: int) -> tuple[Floats, Floats]:
    """Return the variances of a cell's own parts and of its noise, for each part of `MIXTURE` (first axis)."""
    people = chains.people[cell]
    return OF_OWN * (prior.own**2 + prior.person / people), OF_NOISE * (chains.variance / people**2)


def _inverse(moments: Moments) -> tuple[Floats, Floats, Floats]:
    """Return the inverse of the covariance of value and slope."""
    determinant = np.maximum(moments.variance * moments.variance_of_slope - moments.covariance**2, TINY)
    return moments.variance_of_slope / determinant, -moments.covariance / determinant, moments.variance / determinant
