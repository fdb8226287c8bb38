"""Fixed sequences that look random or are evenly spread, for arbitrary choices. Nothing here is secret.

No privacy may rest on them: noise and private choices come from `noise`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats

__all__ = ["golden_fractions", "mix64", "shuffled", "uniforms"]

Words = npt.NDArray[np.uint64]

WEYL = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd: the step of SplitMix64
GOLDEN_SECTION = (5**0.5 - 1) / 2


def mix64(words: Words, spare: Words) -> None:
    """Scramble `words` in place, one to one, by the finaliser of SplitMix64; `spare` is work space of the same shape.

    Fingerprints of tables in ledgers rest on it, so it must not change.
    Each bit of the output depends on all bits of the input. Source: Steele, Lea & Flood 2014, "Fast splittable
    pseudorandom number generators", with the constants of Stafford's variant 13.
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        np.right_shift(words, np.uint64(shift), out=spare)
        words ^= spare
        words *= np.uint64(factor)
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare


def shuffled(count: int, salt: int) -> npt.NDArray[np.intp]:
    """Return the numbers below `count` in the order of their hashes; each `salt` gives another order.

    >>> shuffled(6, 0)
    array([3, 5, 4, 1, 2, 0])
    """
    words = np.arange(count, dtype=np.uint64) + np.uint64((salt + 1) * WEYL % 2**64)
    mix64(words, np.empty_like(words))
    return np.argsort(words)  # the hash is one to one: no ties


def golden_fractions(places: npt.NDArray[Any]) -> Floats:
    """Return the fractional parts of `places` times the golden section: consecutive places are spread evenly.

    Source: Weyl 1916; Niederreiter 1992.

    >>> golden_fractions(np.arange(4)).round(3)
    array([0.   , 0.618, 0.236, 0.854])
    """
    fractions: Floats = places * GOLDEN_SECTION % 1
    return fractions


def uniforms(count: int, start: int) -> Floats:
    """Return numbers strictly between 0 and 1 that look random: the same on every machine, others for each `start`.

    Source: SplitMix64, begun at `start` (Steele, Lea & Flood 2014).

    >>> uniforms(3, 7).round(3)
    array([0.39 , 0.017, 0.901])
    """
    words = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(WEYL)) + np.uint64(start % 2**64)
    mix64(words, np.empty_like(words))
    numbers: Floats = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return numbers
