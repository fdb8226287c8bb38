"""Coins of exact bias, and the exact ε of an answer that is randomised with them.

The e^ε of such an answer is the largest ratio of the probabilities of any report under two true answers. It is a
rational number, since all coins are rational. Its logarithm is irrational, so ε is that logarithm rounded up. For a
given ε, coins are chosen so that even the rounded value does not exceed it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Ints
from dpengine.errors import PlanError, TableError
from dpengine.noise.bits import BitSource, keystream

__all__ = [
    "COIN_STEPS",
    "MAX_EPSILON",
    "MAX_TIMES",
    "MIN_EPSILON",
    "check_answers",
    "check_chance",
    "check_values",
    "check_whole",
    "coins",
    "composed",
    "flip",
    "log_rounded_up",
    "min_chance",
    "min_flip",
]  # fmt: skip

MIN_EPSILON, MAX_EPSILON = Fraction(1, 1000), Fraction(20)
COIN_STEPS = 2**48  # the probability of a coin for a given ε is a multiple of 1/COIN_STEPS
MAX_ANSWERS = 2**24
MAX_TIMES = 10_000
_STEP = Decimal(1).scaleb(-12)  # of an ε
_LANES = 2**18  # coins tossed at once


def coins(chance: Fraction, size: int) -> Bools:
    """Toss `size` independent coins, each heads (True) with probability `chance` exactly.

    Bits come from a generator that the operating system seeds for this call. Raises `PlanError` unless
    0 ≤ `chance` ≤ 1.

    >>> coins(Fraction(1, 3), 1000).shape
    (1000,)
    >>> coins(Fraction(1), 3).tolist()
    [True, True, True]
    """
    if not 0 <= chance <= 1:
        raise PlanError("a chance must lie between 0 and 1")
    heads = np.empty(size, dtype=np.bool_)
    flip(heads, Fraction(chance), keystream())
    return heads


def flip(heads: Bools, chance: Fraction, bits: BitSource) -> None:
    """Fill the vector `heads` with coins of probability `chance`, using random `bits`.

    A coin is heads if a uniform number is below `chance`. The first eight bits of both decide unless they are equal;
    then the remaining bits are compared in the same way.
    """
    whole, rest = divmod(chance * 256, 1)
    words = np.empty(min(heads.size, _LANES), dtype=np.uint8)
    for start in range(0, heads.size, _LANES):
        part = heads[start : start + _LANES]
        first = words[: part.size]
        bits(first)
        np.less(first, whole, out=part)
        if rest and (tied := np.flatnonzero(first == whole)).size:
            decided = np.empty(tied.size, dtype=np.bool_)
            flip(decided, rest, bits)
            part[tied] = decided


def log_rounded_up(ratio: Fraction) -> Fraction:
    """Return ln(`ratio`) rounded up to twelve digits after the point: an ε with e^ε ≥ `ratio`.

    Raises `PlanError` for a ratio below 1.

    >>> log_rounded_up(Fraction(3))
    Fraction(1098612288669, 1000000000000)
    """
    if ratio < 1:
        raise PlanError("a ratio of chances is 1 or more")
    if ratio == 1:
        return Fraction(0)
    up = Context(prec=60, rounding=ROUND_CEILING)
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    above = up.next_plus(up.ln(quotient))  # ln itself is rounded to the nearest
    return Fraction(above.quantize(_STEP, rounding=ROUND_CEILING, context=up))


def min_chance(epsilon: Fraction, ratio: Callable[[Fraction], Fraction]) -> Fraction:
    """Return the least probability, in steps of 1/`COIN_STEPS`, at which the ε of a mechanism is at most `epsilon`.

    `ratio` maps a probability above 0 to the mechanism's exact e^ε; it is decreasing, and 1 at 1. Raises `PlanError`
    unless `epsilon` is exact and from `MIN_EPSILON` to `MAX_EPSILON`.

    >>> float(min_chance(Fraction(1), lambda chance: (2 - chance) / chance))
    0.5378828427399931
    """
    if isinstance(epsilon, float | bool) or not MIN_EPSILON <= Fraction(epsilon) <= MAX_EPSILON:
        raise PlanError(f"ε of a survey must be exact, from {float(MIN_EPSILON):g} to {MAX_EPSILON}")
    costly, enough = 0, COIN_STEPS
    while enough - costly > 1:
        middle = (costly + enough) // 2
        if log_rounded_up(ratio(Fraction(middle, COIN_STEPS))) <= epsilon:
            enough = middle
        else:
            costly = middle
    return Fraction(enough, COIN_STEPS)


def min_flip(epsilon: Fraction, bits: int = 1) -> Fraction:
    """Return the least probability of flipping a bit at which reports that differ in `bits` bits cost at most ε.

    The ratio is ((1 − q)/q)^`bits`. Raises `PlanError` as `min_chance` does.

    >>> float(min_flip(Fraction(1)))
    0.26894142136999655
    """
    return min_chance(epsilon, lambda random: ((2 - random) / random) ** bits) / 2


def composed(ratio: Fraction, times: int) -> Fraction:
    """Return the ε of `times` independent reports on one person, each with e^ε = `ratio`, rounded up.

    The probabilities of independent reports multiply: two answers by fair coins cost ln 9, not ln 3. Raises
    `PlanError` unless `times` is from 1 to `MAX_TIMES`.

    Source: Dwork 2011, "A firm foundation for private data analysis".

    >>> composed(Fraction(3), 2) == log_rounded_up(Fraction(9))
    True
    """
    check_whole(times, 1, MAX_TIMES, f"reports of a person must number from 1 to {MAX_TIMES:,}")
    return log_rounded_up(Fraction(ratio) ** times) if times <= 64 else times * log_rounded_up(Fraction(ratio))


def check_chance(chance: Fraction, below: Fraction | None = None) -> None:
    """Raise `PlanError` unless `chance` is exact, above 0, at most 1, and less than `below`.

    `below` is the chance at which reports no longer depend on the answers.

    >>> check_chance(Fraction(1, 2), below=Fraction(1, 2))
    Traceback (most recent call last):
    dpengine.errors.PlanError: the chance of a coin must lie below 1/2: at 1/2 nothing can be learned
    """
    if isinstance(chance, float | bool) or not 0 < Fraction(chance) <= 1:
        raise PlanError("the chance of a coin must be exact, above 0 and at most 1")
    if below is not None and chance >= below:
        raise PlanError(f"the chance of a coin must lie below {below}: at {below} nothing can be learned")


def check_answers(answers: int) -> int:
    """Return `answers`, a number of answers. Raises `PlanError` unless it is whole and from 2 to `MAX_ANSWERS`.

    >>> check_answers(5)
    5
    """
    needed = f"a question needs from 2 to {MAX_ANSWERS:,} answers: with one there is nothing to ask, or to hide"
    return check_whole(answers, 2, MAX_ANSWERS, needed)


def check_whole(number: int, least: int, most: int, message: str) -> int:
    """Return `number`. Raises `PlanError` with `message` unless it is a whole number from `least` to `most`.

    >>> check_whole(2.5, 2, 4, "from 2 to 4 buckets")
    Traceback (most recent call last):
    dpengine.errors.PlanError: from 2 to 4 buckets
    """
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise PlanError(message)
    return number


def check_values(values: npt.ArrayLike, answers: int) -> Ints:
    """Return `values` as a vector of answer numbers, one for each person.

    Raises `TableError` unless there is at least one, and all are whole numbers from 0 to `answers` − 1.

    >>> check_values([0, 2, 1], 3).tolist()
    [0, 2, 1]
    """
    vector = np.asarray(values)
    if vector.ndim != 1 or vector.size == 0:
        raise TableError("answers must be one number for each person, in one row, and at least one")
    if not (np.issubdtype(vector.dtype, np.integer) or vector.dtype == np.bool_):
        raise TableError("answers must be whole numbers: the place of each answer in the list, from 0 on")
    if vector.min() < 0 or vector.max() >= answers:
        raise TableError(f"there is an answer that is not on the list: they go from 0 to {answers - 1}")
    return vector.astype(np.int64, copy=False)
