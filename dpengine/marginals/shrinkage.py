"""Shrink noisy counts towards a guess, by empirical Bayes.

The prior of a count is a Laplace distribution around the guess m, of scale s = c·m^g; the noise is Laplace of scale b.
The spread of the prior, (c, g), is estimated from the noisy counts themselves, by maximum likelihood over a small grid;
the result is the posterior median of each count. If noise alone explains the distance between noisy counts and guess,
the result is the guess. If counts typically differ from the guess by most of it, most cells may be empty:
then a prior for such tables (`sparse_prior`) is compared with the one around the guess.

All functions take noisy numbers and public structure, so nothing here costs privacy. They use the continuous Laplace
density for noise that is discrete: the results are estimates, and no guarantee rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.sparse_prior import SparsePrior

__all__ = ["Weighed", "density", "likeliest_spread", "posterior_median", "shrink", "weigh"]

SPREADS: Floats = np.array([2.0**k for k in range(-5, 5)])  # c, the grid of `shrink`
POWERS = (0.5, 0.75, 1.0)  # g
MIN_GUESS = 0.05  # smaller guesses have the spread of this one
# The mean spread, as a part of the mean guess, beyond which most cells may be empty. Of 369 public pairs at ε = 10, the
# sparse prior was likelier in 38 of the 44 beyond it, and in 3 of the others, by little.
SPARSE = 0.6
SURER = 10.0  # gain of log-likelihood for which the sparse prior is used: it has ten parameters or so more
NEARBY = ((0, 1), (1, 0), (1, 1), (0, 3), (3, 0))  # neighbours on either side, along both axes
PSEUDO_COUNT = 2.0  # in noise scales, added to the sums of neighbours: few people are little evidence
CLEARER = 1.0  # gain of log-likelihood for which neighbours are used
AT_ONCE = 2**10  # cells times spreads, on either side of the first: so that small tables take few steps


@dataclass(frozen=True, slots=True)
class Weighed:
    """A guess at noisy counts, and how likely it makes them, before they are shrunk towards it.

    Several guesses are compared by their `likelihood`, a logarithm, and only the best is shrunk to. Counts are spread
    around the guess by `spread`, unless `noise_alone` explains the distance, or the prior of a `sparse` table is
    likelier.
    """

    noisy: Floats
    guess: Floats
    scale: float
    likelihood: float
    spread: Floats
    noise_alone: bool = False
    sparse: SparsePrior | None = None

    def shrunk(self) -> Floats:
        """Return the noisy counts shrunk towards the guess."""
        if self.noise_alone:
            return self.guess
        if self.sparse is not None:
            return self.sparse.shrunk()
        distance = np.abs(self.noisy - self.guess)
        return self.guess + np.sign(self.noisy - self.guess) * posterior_median(distance, self.spread, self.scale)

    def by_neighbours(self) -> Weighed:
        """Weigh the guess again, for two columns in which neighbouring cells may have similar errors of the guess.

        Besides the guess itself, scaled guesses are tried: in each cell, by the ratio of the noisy counts around it to
        the guesses around it. A cell's own noisy count is not part of its guess, so likelihoods can still be compared.
        """
        noisy, guess, scale = self.noisy, self.guess, self.scale
        scaled, likeliest = guess, -math.inf
        for reach in NEARBY:
            if any(2 * near >= cells for near, cells in zip(reach, noisy.shape, strict=True)):
                continue
            seen, expected = np.maximum(_around(noisy, reach), 0.0), _around(guess, reach)
            trial = guess * (seen + PSEUDO_COUNT * scale) / (expected + PSEUDO_COUNT * scale)
            trial *= guess.sum() / trial.sum()
            likely = float(np.log(density(np.abs(noisy - trial), self.spread, scale)).sum())
            if likely > likeliest:
                scaled, likeliest = trial, likely
        if likeliest == -math.inf:
            return self
        other = weigh(noisy, scaled, scale)
        return other if other.likelihood > self.likelihood + CLEARER else self


def weigh(noisy: Floats, guess: Floats, scale: float) -> Weighed:
    """Return how likely `noisy` counts are around `guess`, of the same shape, with noise of `scale`."""
    distance = np.abs(noisy - guess)
    likelihood, spread = likeliest_spread(distance, np.maximum(guess, MIN_GUESS), scale, SPREADS, POWERS)
    noise_alone = float((-distance / scale).sum() - distance.size * math.log(2 * scale)) + math.log(2)
    if noise_alone >= likelihood:
        return Weighed(noisy, guess, scale, noise_alone, spread, noise_alone=True)
    if spread.sum() > SPARSE * guess.sum():
        sparse = SparsePrior.fit(noisy, guess, scale)
        likely = sparse.likelihood()
        if likely > likelihood + SURER:
            return Weighed(noisy, guess, scale, likely, spread, sparse=sparse)
    return Weighed(noisy, guess, scale, likelihood, spread)


def shrink(noisy: Floats, guess: Floats, scale: float) -> Floats:
    """Return `noisy` shrunk towards `guess`, of the same shape. `scale` is that of the noise."""
    return weigh(noisy, guess, scale).shrunk()


def _around(table: Floats, reach: tuple[int, int]) -> Floats:
    """Return for each cell the sum of the cells within `reach` along both axes, without the cell itself.

    >>> _around(np.array([[1.0, 2.0, 4.0]]), (0, 1))
    array([[2., 5., 2.]])
    """
    sums = table
    for near in reach:
        cells, sums = sums, sums.copy()
        for step in range(1, near + 1):
            sums[step:] += cells[:-step]
            sums[:-step] += cells[step:]
        sums = sums.T
    return sums - table


def likeliest_spread(
    distance: Floats, guess: Floats, scale: float, spreads: Floats, powers: tuple[float, ...]
) -> tuple[float, Floats]:
    """Return the greatest log-likelihood over spreads c and powers g, and the corresponding spread of each cell.

    The spreads are c·guess^g. For each power, `spreads` are climbed from the one that the mean distance suggests to the
    likeliest: likelihoods hardly ever have a second summit. Few cells try all spreads and powers at once.
    """
    shape, distance, guess = guess.shape, distance.ravel(), guess.ravel()
    noise, beside = scale * np.exp(-distance / scale), AT_ONCE // distance.size
    if beside >= spreads.size:
        bases = np.stack([guess**power for power in powers])
        every = np.log(density(distance, spreads[:, None] * bases[:, None], scale, noise)).sum(axis=2)
        likeliest, top = divmod(int(every.argmax()), spreads.size)
        return float(every[likeliest, top]), (spreads[top] * bases[likeliest]).reshape(shape)
    best, sum_of_spread = (-math.inf, guess), max(float(distance.sum()) - scale * distance.size, 0.0)
    for power in powers:  # one after another: bases of large tables would take much memory together
        base = guess**power
        sum_of_base = float(base.sum())
        start = min(int(np.searchsorted(spreads, sum_of_spread / sum_of_base)), spreads.size - 1)
        places = [*range(max(0, start - beside), min(spreads.size, start + beside + 1))]
        tried = dict[int, float]()
        while places:
            likelihoods = np.log(density(distance, np.multiply.outer(spreads[places], base), scale, noise)).sum(axis=1)
            tried |= zip(places, likelihoods.tolist(), strict=True)
            top = max(tried, key=tried.__getitem__)
            places = [k for k in (top - 1, top + 1) if 0 <= k < spreads.size and k not in tried]
        sum_of_spread = float(spreads[top]) * sum_of_base
        if tried[top] > best[0]:
            best = tried[top], spreads[top] * base
    return best[0], best[1].reshape(shape)


def density(distance: Floats, spread: Floats, scale: float, noise: Floats | None = None) -> Floats:
    """Return the density of noisy counts that are `distance` from their guesses: at least 10⁻³⁰⁰.

    The difference of two Laplace variables of scales s ≠ b has density (s·e^(−r/s) − b·e^(−r/b)) / 2(s² − b²). `noise`
    is the term b·e^(−r/b), if it was calculated before.
    """
    noise = scale * np.exp(-distance / scale) if noise is None else noise
    apart = np.where(np.abs(spread - scale) < 0.001 * scale, 1.002 * scale, spread)
    densities: Floats = np.exp(-distance / apart)
    densities *= apart
    densities -= noise
    apart *= 2 * apart
    apart -= 2 * scale * scale
    densities /= apart
    return np.maximum(densities, 1e-300, out=densities)


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
