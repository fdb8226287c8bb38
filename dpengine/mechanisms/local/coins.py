"""Coins of exact bias, and the exact price of what is told with them.

Whoever answers a survey by coins is protected before anything leaves their hands. What such an answer costs
is the largest ratio of the chances of any report under two true answers: a rational number, when all coins
are rational. Its logarithm is irrational, so ε is that logarithm rounded up; and where an ε is wanted, coins
are chosen whose ε, so rounded, does not exceed it.
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
    "checked_answers",
    "checked_chance",
    "checked_values",
    "coins",
    "composed",
    "flip",
    "least_chance",
    "log_up",
]  # fmt: skip

MIN_EPSILON, MAX_EPSILON = Fraction(1, 1000), Fraction(20)
COIN_STEPS = 2**48  # coins made for a wanted ε have a whole number of these parts as their chance
MAX_ANSWERS = 2**24
MAX_TIMES = 10_000
_STEP = Decimal(1).scaleb(-12)
_LANES = 2**18


def coins(chance: Fraction, size: int) -> Bools:
    """Independent coins, each heads with probability ``chance`` exactly; a vector of length ``size``.

    Bits are of a generator that the operating system seeds for this call. Raises `PlanError` unless
    0 ≤ ``chance`` ≤ 1.
    """
    if not 0 <= chance <= 1:
        raise PlanError("a chance must lie between 0 and 1")
    heads = np.empty(size, dtype=np.bool_)
    flip(heads, Fraction(chance), keystream())
    return heads


def flip(heads: Bools, chance: Fraction, bits: BitSource) -> None:
    """Fill the vector ``heads`` with coins of ``chance``.

    A coin is heads if a uniform number lies below ``chance``. Eight of its bits settle that unless they equal the
    first eight of ``chance``; then the rest of the number is held against the rest of ``chance`` in the same way.
    """
    whole, rest = divmod(chance * 256, 1)
    words = np.empty(min(heads.size, _LANES), dtype=np.uint8)
    for start in range(0, heads.size, _LANES):
        part = heads[start : start + _LANES]
        seen = words[: part.size]
        bits(seen)
        np.less(seen, whole, out=part)
        if rest and (tied := np.flatnonzero(seen == whole)).size:
            settled = np.empty(tied.size, dtype=np.bool_)
            flip(settled, rest, bits)
            part[tied] = settled


def log_up(ratio: Fraction) -> Fraction:
    """ln(``ratio``) rounded up to twelve digits after the point: an ε that a ratio of chances never exceeds.

    >>> log_up(Fraction(3))
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


def least_chance(epsilon: Fraction, ratio: Callable[[Fraction], Fraction]) -> Fraction:
    """The least chance, in parts of 1/``COIN_STEPS``, at which a mechanism's ``ratio`` keeps within ε, rounded up.

    ``ratio`` gives the exact ratio for a chance above 0, falls as it grows, and is 1 for a chance of 1. Raises
    `PlanError` for an ε that coins are not made for.
    """
    if isinstance(epsilon, float | bool) or not MIN_EPSILON <= Fraction(epsilon) <= MAX_EPSILON:
        raise PlanError(f"ε of a survey must be exact, from {float(MIN_EPSILON):g} to {MAX_EPSILON}")
    costly, enough = 0, COIN_STEPS
    while enough - costly > 1:
        middle = (costly + enough) // 2
        if log_up(ratio(Fraction(middle, COIN_STEPS))) <= epsilon:
            enough = middle
        else:
            costly = middle
    return Fraction(enough, COIN_STEPS)


def composed(ratio: Fraction, times: int) -> Fraction:
    """The ε of ``times`` independent reports about one person, each of this ``ratio``; rounded up.

    The chances of independent reports multiply, so for two bits told by fair coins it is ln 9, not ln 3 (Dwork 2011,
    "A firm foundation for private data analysis").
    """
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
        raise PlanError(f"reports of a person must number from 1 to {MAX_TIMES:,}")
    return log_up(Fraction(ratio) ** times) if times <= 64 else times * log_up(Fraction(ratio))


def checked_chance(chance: Fraction, most: Fraction = Fraction(1)) -> Fraction:
    """``chance`` as an exact number above 0 and at most ``most``, else `PlanError`."""
    if isinstance(chance, float | bool) or not 0 < (exact := Fraction(chance)) <= most:
        raise PlanError(f"the chance of a coin must be exact, above 0 and at most {most}")
    return exact


def checked_answers(answers: int) -> int:
    """How many answers there are, else `PlanError`."""
    if isinstance(answers, bool) or not isinstance(answers, int) or not 2 <= answers <= MAX_ANSWERS:
        raise PlanError(
            f"a question needs from 2 to {MAX_ANSWERS:,} answers: with one there is nothing to ask, or to hide"
        )
    return answers


def checked_values(values: npt.ArrayLike, answers: int) -> Ints:
    """True answers as a vector of whole numbers from 0 to ``answers`` − 1, one a person; else `TableError`."""
    found = np.asarray(values)
    if found.ndim != 1 or found.size == 0:
        raise TableError("answers must be one number for each person, in one row, and at least one")
    if not (np.issubdtype(found.dtype, np.integer) or found.dtype == np.bool_):
        raise TableError("answers must be whole numbers: the place of each answer in the list, from 0 on")
    if found.min() < 0 or found.max() >= answers:
        raise TableError(f"there is an answer that is not on the list: they go from 0 to {answers - 1}")
    return found.astype(np.int64, copy=False)
