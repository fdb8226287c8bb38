"""The noisy histogram of a universe too large to write down: exactly those of its cells that reach a threshold.

Give every key of a public universe its number of people plus discrete Laplace noise of `scale`, keys without people
too, and show the keys whose noisy number is `least` or more. If one person changes the numbers by at most Δ in total,
the whole noisy histogram is Δ/scale-differentially private, with δ = 0, and leaving out its small numbers is
post-processing. Doing so literally would take time and memory in proportion to the universe. So the same distribution
is drawn in parts. Of the n keys without people, each reaches `least` with the same probability q = P(X ≥ least) =
a^least/(1 + a), a = exp(−1/scale), independently of all else. So

* how many of them do is Binomial(n, q): drawn as the place of a uniform number among the sums of its probabilities,
  which are bounded in whole numbers (`exact_exp`) as closely as the bits of that number that were drawn require;
* which ones, given how many, is a uniform choice without replacement;
* what they show is `least` plus a geometric number of ratio a, since P(X = least + g | X ≥ least) = (1 − a)·a^g.

Keys with people get their own noise. The result has exactly the distribution of the whole histogram above `least`, and
is in the order of the universe, so it does not show which of its keys have people. Its running time and memory do
depend on how many keys have people: a release promises nothing about time and memory.

`least` follows from the size of the universe, the scale and a chance alone (`threshold`), never from the rows.

Sources: Cormode, Procopiuc, Srivastava & Tran 2012, "Differentially Private Summaries for Sparse Data", whose filtered
histogram this is; Balcer & Vadhan 2019, "Differential Privacy on Finite Computers", on pure sparse histograms.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dpengine.array_types import Ints
from dpengine.noise.bits import random_words
from dpengine.noise.exact_exp import Bounds, complement, product, quotient
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.selection import uniform_below
from dpengine.noise.threshold import GUARD, MAX_KEYS, tail

__all__ = ["sparse_histogram"]

_WORD = 64


def sparse_histogram(places: Ints, counts: Ints, keys: int, scale: Fraction, least: int) -> tuple[Ints, Ints]:
    """Add noise to the counts of all keys of a universe; return the places, in order, and numbers that reach `least`.

    `places` are those of the keys with people, different and in increasing order, out of 0 … `keys` − 1, and `counts`
    the numbers of people there; all other keys have none. With L1 sensitivity Δ and `scale` Δ/ε, what is returned is
    ε-differentially private (see above). `keys`, `scale` and `least` are public; `least` is 1 or more.

    >>> places, numbers = sparse_histogram(np.array([7]), np.array([900]), 10**12, Fraction(1), 100)
    >>> places.tolist(), numbers[0] > 800
    ([7], np.True_)
    """
    if not 1 <= keys <= MAX_KEYS or least < 1:
        raise ValueError("a universe has from 1 to 2^62 keys, and the least number that is shown is 1 or more")
    noisy = counts + discrete_laplace(scale, counts.shape)
    reached = noisy >= least
    passed = _number_passed(keys - places.size, scale, least)
    empty = _without_people(_different(keys - places.size, passed), places)
    shown = np.concatenate([places[reached], empty])
    numbers = np.concatenate([noisy[reached], least + _geometric(scale, passed)])
    order = np.argsort(shown)
    return shown[order], numbers[order]


def _number_passed(keys: int, scale: Fraction, least: int) -> int:
    """Draw how many of `keys` keys without people reach `least`: Binomial(keys, q), exactly.

    It is the first k with U < F(k). F(k) for k < keys is a rational function, and not a constant, of exp(1/n) for some
    integer n, so it is transcendental (Lindemann) and never equals a binary fraction: enough bits of U always decide.
    """
    word, depth, passed = int(random_words(1)[0]), _WORD, 0
    while passed < keys:
        low, high = _distribution(keys, scale, least, passed, depth)
        if word < low:
            break
        if word >= high:
            passed += 1
        else:
            word, depth = word << _WORD | int(random_words(1)[0]), depth + _WORD
    return passed


def _distribution(keys: int, scale: Fraction, least: int, upto: int, depth: int) -> Bounds:
    """Return bounds on F(upto) of Binomial(keys, q), in 2^-depth.

    P(0) = (1 − q)^keys and P(k + 1) = P(k)·(keys − k)/(k + 1)·q/(1 − q).
    """
    bits = depth + GUARD
    q = tail(scale, least, bits)
    stay = complement(q, bits)
    odds = quotient(q, stay, bits)
    mass = _power(stay, keys, partial(product, bits=bits), (1 << bits, 1 << bits))
    low, high = mass
    for k in range(upto):
        mass = product(mass, odds, bits)
        mass = mass[0] * (keys - k) // (k + 1), mass[1] * (keys - k) // (k + 1) + 1
        low, high = low + mass[0], high + mass[1]
    return low >> (bits - depth), (high >> (bits - depth)) + 1


def _power(base: Bounds, times: int, multiplied: Callable[[Bounds, Bounds], Bounds], one: Bounds) -> Bounds:
    """Return bounds on base^times, by squaring."""
    power = one
    while times:
        power = multiplied(power, base) if times & 1 else power
        base, times = multiplied(base, base), times >> 1
    return power


def _different(keys: int, size: int) -> Ints:
    """Draw `size` different numbers below `keys`, every set of them equally likely; in increasing order."""
    numbers: set[int] = set()
    while len(numbers) < size:
        numbers.add(int(uniform_below(keys, 1)[0]))
    return np.array(sorted(numbers), dtype=np.int64)


def _without_people(numbers: Ints, places: Ints) -> Ints:
    """Return the places of the keys without people with these indices among all such keys, counted from 0."""
    return numbers + np.searchsorted(places - np.arange(places.size), numbers, side="right")


def _geometric(scale: Fraction, size: int) -> Ints:
    """Draw independent numbers G with P(G = g) = (1 − a)·a^g: discrete Laplace noise, given that it is not negative."""
    numbers = np.empty(0, dtype=np.int64)
    while numbers.size < size:
        drawn = discrete_laplace(scale, size - numbers.size)
        numbers = np.concatenate([numbers, drawn[drawn >= 0]])
    return numbers
