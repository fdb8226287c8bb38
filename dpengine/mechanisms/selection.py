"""Private selection: which of many candidates is (nearly) the best, and nothing else.

Chance is exact here as in :mod:`dpengine.noise`: a coin that lands heads with probability exp(−x) is a
64-bit word held against an interval around exp(−x), and against a narrower one with more bits for as
long as the two cannot be told apart.
"""

from __future__ import annotations

import os
import secrets
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.noise import exp_between

__all__ = ["permute_and_flip"]

Ints = npt.NDArray[np.int64]

_WORD = 2.0**64
_RELATIVE = 1e-12  # far above what a float loses on exp(−x) for x ≤ 64


def permute_and_flip(scores: Ints, epsilon: Fraction, sensitivity: int = 1) -> int:
    """The place of a candidate drawn with a preference, exponential in ε, for high ``scores``.

    Every candidate r flips a coin that lands heads with probability exp(ε·(score_r − max)/2Δ), and one of
    those with heads is drawn evenly: which is to walk through them in random order and take the first
    with heads. ε-differentially private if adding or removing one person moves no score by more than
    ``sensitivity`` Δ, and never worse in expected score than the exponential mechanism (McKenna & Sheldon
    2020, "Permute-and-Flip", Theorems 1 and 2).

    ``scores`` is a vector of whole numbers, not empty; ``epsilon`` and ``sensitivity`` are above 0, else
    ValueError.
    """
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError("there must be at least one candidate, in one row")
    if epsilon <= 0 or sensitivity < 1:
        raise ValueError("epsilon and sensitivity must be above 0")
    heads = np.flatnonzero(_coins(scores.max() - scores, Fraction(epsilon) / (2 * sensitivity)))
    return int(heads[secrets.randbelow(heads.size)])


def _coins(gaps: Ints, unit: Fraction) -> npt.NDArray[np.bool_]:
    """One coin each, heads with probability exp(−gap·unit) exactly."""
    words = np.frombuffer(os.urandom(8 * gaps.size), dtype="<u8")
    middle = np.exp(-np.minimum(gaps * float(unit), 60.0)) * _WORD
    margin = middle * _RELATIVE + 4096  # also what rounding a word to a float may lose
    place = words.astype(np.float64)
    heads: npt.NDArray[np.bool_] = (place < middle - margin) | (gaps == 0)
    unsure = np.flatnonzero((np.abs(place - middle) <= margin) & (gaps > 0))
    for k in unsure:
        heads[k] = _settle(int(words[k]), int(gaps[k]) * unit)
    return heads


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
