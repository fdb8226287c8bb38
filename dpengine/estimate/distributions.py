"""Estimate how an amount is distributed in each cell of a table, and read quantiles from it.

What is measured, fractions of the people up to a value, averaged between two knots, is as in `estimate.quantiles`.

Groups of people mostly differ from all people in a smooth way: their amounts are higher, or more spread. So the prior
of a group's distribution is that of all people, changed on the scale of log odds by a Gaussian process: by the same at
all values, and by a curve. Beside these a group is a sample of its people. How large both changes usually are is what
makes the noisy counts of all cells likeliest. Some groups differ far more than others, so the changes of a group may
also be several times as large, with small odds. The result is the mean of the posterior, for which noise and prior are
taken as Gaussian. Cells of several columns begin with what each of their columns says, one after another.

Between two knots, fractions follow a parabola with the same average. Its ends are those of the smoothest curve with all
these averages, moved where the parabola would fall.

All of this is post-processing of noisy numbers (Dwork & Roth 2014, Proposition 2.1): nothing here costs privacy.

Sources: Gaussian processes, Rasmussen & Williams 2006, sections 2.2 and 5.4.1; parabolas with given averages that
rise, Colella & Woodward, "The piecewise parabolic method", Journal of Computational Physics 1984, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.amounts import SoftEstimates
from dpengine.spec.domain import Amount

__all__ = ["fit_distributions", "reach", "rising"]

# Standard deviations of the changes of log odds, alike at all values and by a curve. They were set on half of 25 tables
# and tried on the other half (benchmarks/quantile_tables.py).
SHIFTS, CURVES = (0.0, 0.05, 0.2, 0.5, 1.6), (0.0, 0.025, 0.1, 0.4, 1.6)
LENGTH = 2.0  # correlation length of the curve, in log odds
TIMES = ((1.0, 0.85), (4.0, 0.13), (16.0, 0.02))  # a group's changes as a multiple of the usual ones, and its odds
SAMPLED = 1e-4  # of the variance of one person, by which unusual groups may differ even if others do not
MOST_LEARNT = 48  # cells, and knots, from which the usual changes are learnt
SIZES = 4  # numbers of people, for each factor of 2, that are told apart in the prior
LEAST = 1e-6  # fraction of the people up to a value, at least, so that log odds are finite
RIDGE = 1e-9  # relative, added to variances: values that nobody has are known alike


def fit_distributions(amount: Amount, table: Columns, known: Ints, soft: SoftEstimates) -> Floats:
    """Return the fractions of each cell's people up to a value, averaged between any two neighbouring knots.

    `known` are the people of each cell of `table` whose amount is known. The result has the intervals between knots as
    first axis, along which it increases, and then those of `known`.
    """
    knots = len(amount.all_knots)
    at_knots = soft.estimate((amount.name,))[:knots]
    everybody = np.clip(rising(at_knots.cumsum()[:-1] / max(float(at_knots.sum()), 1.0)), LEAST, 1 - LEAST)
    up_to = np.tri(knots - 1, knots) - everybody[:, None]
    coefficients = np.hstack([up_to, np.zeros((knots - 1, int(amount.missing)))])  # people beyond all, for each knot
    people, from_everybody = known.astype(np.float64), np.zeros((*known.shape, knots - 1))
    for part in dict.fromkeys([*((name,) for name in table), table]):
        if not part:
            continue
        others = tuple(axis for axis, name in enumerate(table) if name not in part)
        size = np.asarray(people.sum(axis=others, keepdims=True))
        observed = soft.estimate((*part, amount.name)) @ coefficients.T
        already = (people[..., None] * from_everybody).sum(axis=others, keepdims=True)
        noise = coefficients @ soft.covariance_along((*part, amount.name), (amount.name,)) @ coefficients.T
        gaps = (observed.reshape(already.shape) - already).reshape(-1, knots - 1)
        from_everybody += _shrunk(gaps, np.maximum(size.ravel(), 1.0), everybody, noise).reshape(already.shape)
    return rising(np.clip(everybody.reshape(-1, *[1] * known.ndim) + np.moveaxis(from_everybody, -1, 0), 0.0, 1.0))


def rising(sums: Floats) -> Floats:
    """Return the middle between the nearest increasing numbers, along the first axis, from below and from above."""
    rising: Floats = (np.maximum.accumulate(sums) + np.minimum.accumulate(sums[::-1])[::-1]) / 2
    return rising


def _shrunk(gaps: Floats, people: Floats, everybody: Floats, noise: Floats) -> Floats:
    """Return the shrunken difference of each cell's fractions from those of `everybody`, given noisy numbers of people.

    `gaps` has a row for each cell, and `noise` is the covariance of such a row. Shapes: (cells, intervals), (cells,),
    (intervals,), (intervals, intervals).
    """
    spread, log_odds = everybody * (1 - everybody), np.log(everybody / (1 - everybody))
    alike = np.outer(spread, spread)
    curved = alike * np.exp(-(np.subtract.outer(log_odds, log_odds) ** 2) / (2 * LENGTH**2))
    sample = np.minimum.outer(everybody, everybody) - np.outer(everybody, everybody)
    sizes = 2 ** (np.rint(np.log2(people) * SIZES) / SIZES)
    cells = np.argsort(-people, kind="stable")[:: max(1, -(-people.size // MOST_LEARNT))]
    values = np.arange(everybody.size)[:: max(1, -(-everybody.size // MOST_LEARNT))]
    among = np.ix_(values, values)

    def likelihood(changes: tuple[float, float]) -> float:
        own = changes[0] ** 2 * alike[among] + changes[1] ** 2 * curved[among]
        return sum(
            float(_log_density(gaps[[cell]][:, values], _firm(size**2 * own + size * sample[among] + noise[among]))[0])
            for cell, size in zip(cells, sizes[cells], strict=True)
        )

    shift, curve = max(product(SHIFTS, CURVES), key=likelihood)
    own, shrunk = shift**2 * alike + curve**2 * curved, np.empty_like(gaps)
    for size in np.unique(sizes):
        of_size = np.flatnonzero(sizes == size)
        priors = [size**2 * (times**2 * own + (times > 1) * SAMPLED * times * sample) + size * sample
                  for times, _ in TIMES]  # fmt: skip
        noisy = [_firm(prior + noise) for prior in priors]
        logs = np.stack([np.log(odds) + _log_density(gaps[of_size], covariance)
                         for covariance, (_, odds) in zip(noisy, TIMES, strict=True)])  # fmt: skip
        weights = np.exp(logs - logs.max(axis=0))
        weights /= weights.sum(axis=0)
        means = np.stack([np.linalg.solve(covariance, gaps[of_size].T).T @ prior
                          for covariance, prior in zip(noisy, priors, strict=True)])  # fmt: skip
        shrunk[of_size] = (weights[..., None] * means).sum(axis=0) / people[of_size, None]
    return shrunk


def _firm(covariance: Floats) -> Floats:
    """Return a regularised covariance, which is invertible even if some of its values determine others."""
    ridge = RIDGE * float(np.trace(covariance)) / len(covariance)
    firm: Floats = covariance + ridge * np.eye(len(covariance))
    return firm


def _log_density(rows: Floats, covariance: Floats) -> Floats:
    """Return the logarithm of the Gaussian density of each row about 0, up to a constant."""
    root = np.linalg.cholesky(covariance)
    standard = np.linalg.solve(root, rows.T)
    logs: Floats = -(standard**2).sum(axis=0) / 2 - np.log(np.diagonal(root)).sum()
    return logs


def reach(parts: Sequence[float], knots: Floats, averages: Floats) -> list[Floats]:
    """Return the quantiles at `parts` of distributions with these `averages` between `knots`.

    People whom the curves leave at the first and the last knot are those with just that value, such as no income.
    Shapes: (knots,), (knots − 1, …).

    >>> reach([0.125, 0.5], np.array([0.0, 1, 2, 3, 4]), np.array([0.125, 0.375, 0.625, 0.875]))
    [array(0.5), array(2.)]
    """
    from scipy.interpolate import CubicSpline  # slow to import, and few releases have quantiles

    widths = np.diff(knots).reshape(-1, *[1] * (averages.ndim - 1))
    areas = np.concatenate([np.zeros_like(averages[:1]), (averages * widths).cumsum(axis=0)])
    edges = CubicSpline(knots, areas)(knots, 1)
    least, most = (np.concatenate([np.zeros_like(averages[:1]), averages]),
                   np.concatenate([averages, np.ones_like(averages[:1])]))  # fmt: skip
    edges = np.clip(edges, least, most)
    left = np.maximum(edges[:-1], 3 * averages - 2 * edges[1:])
    right = np.minimum(edges[1:], 3 * averages - 2 * left)
    return [_crossing(part, knots, left, right, averages) for part in parts]


def _crossing(part: float, knots: Floats, left: Floats, right: Floats, averages: Floats) -> Floats:
    """Return where parabolas between `knots`, from `left` to `right` with these averages, reach `part`."""
    first = np.asarray((right < part).sum(axis=0))
    within = np.minimum(first, len(averages) - 1)
    low, high, average = (np.take_along_axis(each, within[None], axis=0)[0] for each in (left, right, averages))
    bend, ahead = 6 * average - 3 * (low + high), np.clip(part - low, 0.0, high - low)
    # low + (high − low)·x + bend·x·(1 − x) = part, by the root that stays finite without a bend
    slope = high - low + bend
    below = slope + np.sqrt(np.maximum(slope**2 - 4 * bend * ahead, 0.0))
    share = np.clip(np.divide(2 * ahead, below, out=np.zeros(np.shape(ahead)), where=below > 0), 0.0, 1.0)
    crossings: Floats = np.where(first == len(averages), knots[-1], knots[within] + share * np.diff(knots)[within])
    return crossings
