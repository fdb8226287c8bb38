"""Private selection: which of many candidates is (nearly) the best, and nothing else.

Chance is exact here as in `noise.discrete_laplace`: a coin that lands heads with probability exp(−x) is a
64-bit word held against an interval around exp(−x), and against a narrower one with more bits for as
long as the two cannot be told apart. Both mechanisms are made of such coins and of even draws alone.

Neighbouring tables differ in one person, who moves no score by more than the sensitivity Δ.
"""

from __future__ import annotations

import os
import secrets
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Floats, Ints
from dpengine.noise.laplace import exp_between

__all__ = [
    "Draw", "evenly", "exp_coins", "exponential_mechanism", "exponential_probabilities", "permute_and_flip",
    "permute_and_flip_probabilities",
]  # fmt: skip


class Draw(Protocol):
    """What both mechanisms have in common."""

    def __call__(self, scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int: ...


MAX_APART = 2**62
_WORD = 2.0**64
_RELATIVE = 1e-12  # far above what a float loses on exp(−x) for x ≤ 64
_FIRST_TRIES = 1024
_NODES = 32  # of Gauss's rule on each stretch of an integral
_LANES = 2**18  # numbers worked on at once


def permute_and_flip(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
    """The place of a candidate drawn with a preference, exponential in ε, for high ``scores``.

    Every candidate r flips a coin that lands heads with probability exp(ε·(score_r − max)/2Δ), and one of
    those with heads is drawn evenly: which is to walk through them in random order and take the first
    with heads. ε-differentially private if adding or removing one person moves no score by more than
    ``sensitivity`` Δ, and never worse in expected score than the exponential mechanism (McKenna & Sheldon
    2020, "Permute-and-Flip", Theorems 1 and 2).

    ``monotone`` says that one person moves all scores the same way, as with counts, which none goes down when
    somebody is added: then ε/Δ stands for ε/2Δ. The mechanism is the largest of scores with exponential noise (Ding
    et al. 2021), where a person shifts what one candidate must exceed by at most Δ instead of 2Δ.

    ``scores`` is a vector of whole numbers, not empty; ``epsilon`` and ``sensitivity`` are above 0, else
    ValueError.
    """
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    heads = np.flatnonzero(exp_coins(gaps, unit))
    return int(heads[secrets.randbelow(heads.size)])


def exponential_mechanism(scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> int:
    """The place of a candidate drawn with probability proportional to exp(ε·score/2Δ), exactly.

    ε-differentially private (McSherry & Talwar 2007; Dwork & Roth 2014, Theorem 3.10). ``monotone``, and what is
    refused, are as in `permute_and_flip`: then ε/Δ stands for ε/2Δ.

    A candidate is drawn evenly and kept if a coin of probability exp(ε·(score − max)/2Δ) lands heads, else
    another is drawn; as the best is always kept, no more than one try for each candidate is expected. How many
    tries it takes depends on the scores, so time is not to be shown to an adversary.
    """
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    tries = min(_FIRST_TRIES, gaps.size)
    while True:
        drawn = evenly(gaps.size, tries)
        heads = np.flatnonzero(exp_coins(gaps[drawn], unit))
        if heads.size:
            return int(drawn[heads[0]])
        tries = min(4 * tries, gaps.size)


def exponential_probabilities(
    scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False
) -> Floats:
    """Probability of each candidate under `exponential_mechanism`, as floats: to look at, not to draw by."""
    weights = _weights(scores, epsilon, sensitivity, monotone)
    shares: Floats = weights / weights.sum()
    return shares


def permute_and_flip_probabilities(
    scores: Ints, epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False
) -> Floats:
    """Probability of each candidate under `permute_and_flip`, as floats: to look at, not to draw by.

    Give every candidate an even place t in [0, 1) in the walk. Candidate r wins if its own coin lands heads
    and nobody before t has heads: P(r) = p_r·∫ Π_{s≠r} (1 − t·p_s) dt. The integrand falls like exp(−t·Σp),
    so Gauss's rule is used on stretches that halve towards 0; accurate to about 1e-12 for thousands of candidates.
    """
    weights = _weights(scores, epsilon, sensitivity, monotone)
    distinct, inverse, times = np.unique(weights, return_inverse=True, return_counts=True)
    places, shares = _stretches(float(weights.sum()))
    found = np.zeros(distinct.size)
    step = max(1, _LANES // distinct.size)
    for start in range(0, places.size, step):
        missed = np.log1p(-places[start : start + step, None] * distinct)
        others = np.exp(missed @ times)[:, None] / np.exp(missed)
        found += shares[start : start + step] @ others
    result: Floats = (distinct * found)[inverse]
    return result


def evenly(bound: int, size: int) -> Ints:
    """Independent whole numbers, each exactly even over 0 … ``bound`` − 1; a vector of length ``size``."""
    words = _words(size)
    most = np.uint64(2**64 // bound * bound - 1)  # the words past it are an incomplete run, and would favour some
    while (again := np.flatnonzero(words > most)).size:
        words[again] = _words(again.size)
    return (words % np.uint64(bound)).astype(np.int64)


def exp_coins(gaps: Ints, unit: Fraction) -> Bools:
    """One coin for each entry of ``gaps``, of any shape: heads with probability exp(−gap·unit) exactly.

    Gaps are 0 or more, ``unit`` above 0.
    """
    words = _words(gaps.size).reshape(gaps.shape)
    middle = np.exp(-np.minimum(gaps * float(unit), 60.0)) * _WORD
    margin = middle * _RELATIVE + 4096  # also what rounding a word to a float may lose
    place = words.astype(np.float64)
    heads: Bools = (place < middle - margin) | (gaps == 0)
    for k in np.argwhere((np.abs(place - middle) <= margin) & (gaps > 0)):
        cell = tuple(k)
        heads[cell] = _settle(int(words[cell]), int(gaps[cell]) * unit)
    return heads


def _words(size: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(bytearray(os.urandom(8 * size)), dtype="<u8")


def _settle(word: int, x: Fraction) -> bool:
    """Whether the uniform number that starts with ``word`` lies below exp(−x)."""
    bits = 64
    while True:
        low, high = exp_between(x, bits)
        if word < low:
            return True
        if word >= high:
            return False
        word, bits = word << 64 | secrets.randbits(64), bits + 64


def _gaps(scores: Ints, epsilon: Fraction, sensitivity: int, monotone: bool) -> tuple[Ints, Fraction]:
    """How far each score lies below the best, and what one step of that weighs in the exponent."""
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError("there must be at least one candidate, in one row")
    if not np.issubdtype(scores.dtype, np.integer):
        raise ValueError("scores must be whole numbers; scale rational ones with a common denominator")
    if epsilon <= 0 or sensitivity < 1:
        raise ValueError("epsilon and sensitivity must be above 0")
    if int(scores.max()) - int(scores.min()) > MAX_APART:
        raise ValueError("scores lie too far apart: at most 2^62")
    gaps: Ints = scores.max() - scores
    return gaps, Fraction(epsilon) / ((1 if monotone else 2) * sensitivity)


def _weights(scores: Ints, epsilon: Fraction, sensitivity: int, monotone: bool) -> Floats:
    gaps, unit = _gaps(scores, epsilon, sensitivity, monotone)
    weights: Floats = np.exp(-gaps * float(unit))
    return weights


def _stretches(fall: float) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss's rule on [½, 1], [¼, ½], … down to where exp(−t·fall) hardly falls any more."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.concatenate([[0.0], 0.5 ** np.arange(int(np.ceil(np.log2(max(fall, 1.0)))) + 1, -1, -1)])
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1, None] + edges[1:, None]) / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()
