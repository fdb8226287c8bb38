"""Private selection: which of many candidates is (nearly) the best, and nothing else.

Probabilities are exact, as in `noise.discrete_laplace`. A coin that lands heads with probability exp(−x) compares a
64-bit word with an interval around exp(−x); while the word lies inside, both get more bits. Both mechanisms use
such coins and uniform draws alone.

Neighbouring tables differ in one person, who changes no score by more than the sensitivity Δ.
"""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpengine.array_types import Bools, Floats, Ints
from dpengine.noise.bits import random_words
from dpengine.noise.exact_exp import exp_bounds

__all__ = [
    "Draw", "exp_coins", "exponential_mechanism", "exponential_probabilities", "permute_and_flip",
    "permute_and_flip_probabilities", "uniform_below",
]  # fmt: skip


MAX_APART = 2**62  # between two scores
_WORD = 2.0**64
_RELATIVE = 1e-12  # far above what a float loses on exp(−x) for x ≤ 64
_FAR = 2000  # exp(−2000) is 0 as a float
_FIRST_TRIES = 1024
_NODES = 32  # of Gauss's rule on each interval of an integral
_LANES = 2**18  # numbers worked on at once


class Draw(Protocol):
    """A mechanism that draws the index of a candidate by its score."""

    def __call__(self, scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int: ...


def permute_and_flip(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
    """Draw the place of a candidate, preferring high `scores`, by permute-and-flip.

    Every candidate r flips a coin that lands heads with probability exp(ε·(score_r − max)/2Δ), and one of those with
    heads is drawn uniformly. This equals walking through the candidates in random order and taking the first with
    heads. ε-differentially private if adding or removing one person changes no score by more than `sensitivity` Δ, and
    never worse in expected score than the exponential mechanism.

    `monotone` says that one person changes all scores in the same direction, as with counts: none goes down when
    somebody is added. Then ε/Δ replaces ε/2Δ, since the mechanism is the largest of scores with exponential noise (Ding
    et al. 2021), where a person shifts the bar for each candidate by at most Δ instead of 2Δ.

    `scores` is a vector of whole numbers, not empty, of 64 bits or Python's own; `epsilon` and `sensitivity` are above
    0. Raises ValueError otherwise.

    Source: McKenna & Sheldon 2020, "Permute-and-Flip", Theorems 1 and 2.

    >>> permute_and_flip(np.array([0, 900]), epsilon=Fraction(1))
    1
    """
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    heads = np.flatnonzero(exp_coins(gaps, unit))
    return int(heads[secrets.randbelow(heads.size)])


def exponential_mechanism(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
    """Draw the place of a candidate with probability proportional to exp(ε·score/2Δ), exactly.

    ε-differentially private. `monotone` and the conditions on the arguments are as in `permute_and_flip`.

    A candidate is drawn uniformly and kept if a coin of probability exp(ε·(score − max)/2Δ) lands heads, else
    another is drawn. The best is always kept, so at most one try for each candidate is expected. The number of
    tries depends on the scores: do not let an adversary measure the time.

    Source: McSherry & Talwar 2007; Dwork & Roth 2014, Theorem 3.10.

    >>> exponential_mechanism(np.array([0, 900]), epsilon=Fraction(1))
    1
    """
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    tries = min(_FIRST_TRIES, gaps.size)
    while True:
        drawn = uniform_below(gaps.size, tries)
        heads = np.flatnonzero(exp_coins(gaps[drawn], unit))
        if heads.size:
            return int(drawn[heads[0]])
        tries = min(4 * tries, gaps.size)


def exponential_probabilities(
    scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False
) -> Floats:
    """Return the probability of each candidate under `exponential_mechanism`, as floats: to display, not to draw.

    >>> exponential_probabilities(np.array([3, 3]), epsilon=Fraction(1))
    array([0.5, 0.5])
    """
    weights = _weights(scores, epsilon, sensitivity, monotone)
    shares: Floats = weights / weights.sum()
    return shares


def permute_and_flip_probabilities(
    scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False
) -> Floats:
    """Return the probability of each candidate under `permute_and_flip`, as floats: to display, not to draw.

    Give every candidate a uniform place t in [0, 1) in the walk. Candidate r wins if its own coin lands heads
    and nobody before t has heads: P(r) = p_r·∫ Π_{s≠r} (1 − t·p_s) dt. The integrand falls like exp(−t·Σp),
    so Gauss's rule is used on stretches that halve towards 0; accurate to about 1e-12 for thousands of candidates.

    >>> permute_and_flip_probabilities(np.array([3, 3]), epsilon=Fraction(1)).round(6)
    array([0.5, 0.5])
    """
    weights = _weights(scores, epsilon, sensitivity, monotone)
    distinct, inverse, times = np.unique(weights, return_inverse=True, return_counts=True)
    places, shares = _stretches(float(weights.sum()))
    chances = np.zeros(distinct.size)
    step = max(1, _LANES // distinct.size)
    for start in range(0, places.size, step):
        missed = np.log1p(-places[start : start + step, None] * distinct)
        others = np.exp(missed @ times)[:, None] / np.exp(missed)
        chances += shares[start : start + step] @ others
    result: Floats = (distinct * chances)[inverse]
    return result


def uniform_below(bound: int, size: int) -> Ints:
    """Draw `size` independent whole numbers, each exactly uniform over 0 … `bound` − 1.

    >>> uniform_below(1, 3)
    array([0, 0, 0])
    """
    words = random_words(size)
    last = np.uint64(2**64 // bound * bound - 1)  # words past it are an incomplete run, which would favour some
    while (again := np.flatnonzero(words > last)).size:
        words[again] = random_words(again.size)
    return (words % np.uint64(bound)).astype(np.int64)


def exp_coins(gaps: Ints, unit: Fraction) -> Bools:
    """Flip one coin for each entry of `gaps`, of any shape: heads with probability exp(−gap·unit) exactly.

    Gaps are 0 or more, `unit` above 0.

    >>> exp_coins(np.array([0, 0, 10**6]), Fraction(1))
    array([ True,  True, False])
    """
    words = random_words(gaps.size).reshape(gaps.shape)
    middle = np.exp(-np.minimum(_exponents(gaps, unit), 60.0)) * _WORD
    margin = middle * _RELATIVE + 4096  # the second part covers rounding a word to a float
    place = words.astype(np.float64)
    heads: Bools = (place < middle - margin) | (gaps == 0)
    for k in np.argwhere((np.abs(place - middle) <= margin) & (gaps > 0)):
        cell = tuple(k)
        heads[cell] = _below_exp(int(words[cell]), int(gaps[cell]) * unit)
    return heads


def _below_exp(word: int, x: Fraction) -> bool:
    """Return whether the uniform number that starts with `word` lies below exp(−x), drawing more of its bits."""
    bits = 64
    while True:
        low, high = exp_bounds(x, bits)
        if word < low:
            return True
        if word >= high:
            return False
        word, bits = word << 64 | secrets.randbits(64), bits + 64


def _gaps(scores: Ints, epsilon: Fraction, sensitivity: int, monotone: bool) -> tuple[Ints, Fraction]:
    """Return how far each score is below the best, and the weight of one unit of this in the exponent."""
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError("there must be at least one candidate, in one row")
    large = scores.dtype == object and all(type(score) is int for score in scores)
    if not (large or np.issubdtype(scores.dtype, np.integer)):
        raise ValueError("scores must be whole numbers; scale rational ones with a common denominator")
    if epsilon <= 0 or sensitivity < 1:
        raise ValueError("epsilon and sensitivity must be above 0")
    if not large and int(scores.max()) - int(scores.min()) > MAX_APART:
        raise ValueError("scores of 64 bits lie too far apart: at most 2^62")
    gaps: Ints = scores.max() - scores
    return gaps, Fraction(epsilon) / ((1 if monotone else 2) * sensitivity)


def _weights(scores: Ints, epsilon: Fraction, sensitivity: int, monotone: bool) -> Floats:
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    weights: Floats = np.exp(-_exponents(gaps, unit))
    return weights


def _exponents(gaps: Ints, unit: Fraction) -> Floats:
    """Return gap·unit as floats, up to `_FAR`; integers beyond 64 bits are divided exactly."""
    if gaps.dtype != object:
        return np.multiply(gaps, float(unit), dtype=np.float64)
    over, under = unit.numerator, unit.denominator
    large: list[int] = gaps.ravel().tolist()
    exponents = [_FAR if gap * over > _FAR * under else gap * over / under for gap in large]
    return np.array(exponents, dtype=np.float64).reshape(gaps.shape)


def _stretches(fall: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss's rule on [½, 1], [¼, ½], … down to where exp(−t·fall) is nearly level."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.concatenate([[0.0], 0.5 ** np.arange(int(np.ceil(np.log2(max(fall, 1.0)))) + 1, -1, -1)])
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1, None] + edges[1:, None]) / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()
