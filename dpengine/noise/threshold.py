"""Compute the threshold from which the noisy count of a key is shown, from public numbers alone; nothing is drawn here.

A key without people has discrete Laplace noise X for its number. With a = exp(−1/scale), it reaches t ≥ 1 with
probability q = P(X ≥ t) = a^t/(1 + a). So of all keys without people in a universe, any at all does with probability
keys·q at most (Boole's inequality).
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpengine.noise.exact_exp import Bounds, exp_bounds, quotient

__all__ = ["GUARD", "MAX_KEYS", "chance_of_reaching", "release_threshold", "tail"]

MAX_KEYS = 2**62  # keys of a universe, so that places in it fit in 64 bits
GUARD = 160  # bits beyond those compared: a power of up to 2^62 factors loses 64 of them


def release_threshold(keys: int, scale: Fraction, chance: Fraction) -> int:
    """Return the threshold of a partition selection: the least number with keys·P(noise ≥ number) ≤ `chance`, exactly.

    So with probability 1 − `chance` at least, no key without people is shown. `chance` is above 0 and at most 1/2. The
    number is about scale·ln(keys/chance).

    >>> [release_threshold(keys, Fraction(4), Fraction(1, 1000)) for keys in (10**5, 26**12)]
    [72, 182]
    """
    if not 0 < chance <= Fraction(1, 2):
        raise ValueError("the chance that a key without people is shown is above 0 and at most 1/2")
    log = math.log(keys) - math.log(chance) - math.log1p(math.exp(-1 / scale))
    least = max(1, math.ceil(scale * Fraction(log)))
    while not _is_rare(keys, scale, least, chance):
        least += 1
    while least > 1 and _is_rare(keys, scale, least - 1, chance):
        least -= 1
    return least


def chance_of_reaching(count: int, scale: Fraction, least: int) -> float:
    """Return the probability that a key with `count` people is shown: P(X ≥ least − count), as a float.

    >>> round(chance_of_reaching(80, Fraction(4), 72), 3), chance_of_reaching(72, Fraction(4), 72) > 0.5
    (0.941, True)
    """
    away, a = least - count, math.exp(-1 / scale)
    return math.exp(-away / scale) / (1 + a) if away > 0 else 1 - math.exp((away - 1) / scale) / (1 + a)


def _is_rare(keys: int, scale: Fraction, least: int, chance: Fraction) -> bool:
    """Return whether keys·q ≤ chance; never equal, since q is transcendental (Lindemann), so enough bits decide."""
    bits = 64 + GUARD
    while True:
        low, high = tail(scale, least, bits)
        if keys * high * chance.denominator <= chance.numerator << bits:
            return True
        if keys * low * chance.denominator > chance.numerator << bits:
            return False
        bits *= 2


def tail(scale: Fraction, least: int, bits: int) -> Bounds:
    """Return bounds on q = P(X ≥ least), `least` ≥ 1, in 2^-bits.

    >>> tail(Fraction(1), 1, 16)  # 65536/(e + 1) = 17625.4…
    (17624, 17626)
    """
    a, one = exp_bounds(1 / scale, bits), 1 << bits
    return quotient(exp_bounds(least / scale, bits), (one + a[0], one + a[1]), bits)
