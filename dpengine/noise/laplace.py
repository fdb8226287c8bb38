"""Exact discrete Laplace noise from the operating system's randomness.

A draw is the place of a uniform number U among the breakpoints of a distribution function. The first 16
bits of U look the answer up in a table. Where a breakpoint lies within that 1/65536, more bits are drawn until
they decide. So the distribution is exact for uniform bits, not an approximation at some depth.

Wide noise is split into parts with few values. With q = exp(−1/scale), X is G, or −1−G with probability
q/(1+q), where P(G=g) = (1−q)·q^g; and the binary digits of a geometric number are independent (Dwork et
al. 2006, "Our data, ourselves"; Balcer & Vadhan 2019). So with m = 2^d the coarse part Y = ⌊X/m⌋ and
groups of the low d digits of G are drawn independently, and X = m·Y + (low digits, inverted where Y < 0).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.errors import NoiseError
from dpengine.exact import rational
from dpengine.noise.bits import BitSource, keystream
from dpengine.noise.exact_exp import Bounds, complement, exp_bounds, product, quotient
from dpengine.noise.moments import MAX_SCALE

__all__ = ["discrete_laplace", "likelihoods", "perturb"]

_CHUNK = 2**15  # with this many lanes all work arrays stay in a second-level cache
_UNSURE = -128  # in a guide table: a breakpoint lies within this 1/65536
_COARSE_SCALE = 12  # the largest scale whose values, except in tails rarer than 2^-16, fit a byte beside _UNSURE
_DIGITS = 7  # the largest number of binary digits whose values fit a byte beside _UNSURE
_LIMIT = 2**61  # |X| beyond it has probability below exp(−2^21), and is refused rather than wrapped
_GUARD = 96  # bits computed beyond those compared; where these do not suffice, precision is doubled


def discrete_laplace(scale: Fraction | int | str, size: int | tuple[int, ...]) -> Ints:
    """Draw independent integers X with P(X=k) = (1−q)/(1+q)·q^|k| exactly, q = exp(−1/scale).

    `scale` is a Fraction, an int, or an exact string such as "10", "0.5" or "3/7"; `size` is a length or
    a shape. Returns int64 of that shape; every integer within ±2^61 is possible. Each call takes a fresh
    256-bit key from the operating system and expands it with AES-CTR. Nothing outlives the call, so processes
    after a fork and threads never share noise. There is no seed.

    Added to counts of L1 sensitivity Δ with scale Δ/ε, the noise makes them ε-differentially private: shifting
    a count by one changes the probability of any outcome by a factor of at most exp(1/scale) (the geometric
    mechanism: Ghosh, Roughgarden & Sundararajan 2009; exactness: Canonne, Kamath & Steinke 2020).

    Table look-ups do not take constant time: draw all noise in one call, before anything is shown, and
    not beside an adversary who can time this machine's memory.

    Raises `NoiseError` for a `scale` that is a float or bool, unreadable, not positive, or above `MAX_SCALE`, and for a
    `size` that is no length and no shape. A draw beyond ±2^61 would raise OverflowError; its probability is below
    exp(−2^21).

    >>> discrete_laplace("3/7", (2, 5)).shape
    (2, 5)
    """
    levels = _levels(_exact(scale))
    try:
        out = np.empty(size if size is not None else -1, dtype=np.int64)  # NumPy takes None as ()
    except (TypeError, ValueError):
        raise NoiseError("the size is a length or a shape: whole numbers, 0 or more") from None
    _fill(out.reshape(-1), levels, keystream())
    return out


def perturb(exact: Ints, scale: Fraction | int | str) -> Ints:
    """Add independent discrete Laplace noise of `scale` to every number of an array, exactly.

    All counts become public here and nowhere else, so a test can watch this one function and force its results. Each
    call draws fresh noise. Arrays of Python integers stay arrays of Python integers. If one person changes the numbers
    by at most Δ in total (in L1), any outcome is at most exp(Δ/scale) times as likely with them as without.

    Raises as `discrete_laplace` does. Source: Ghosh, Roughgarden & Sundararajan 2009.

    >>> perturb(np.array([[12, 7]]), "3/7").shape
    (1, 2)
    """
    noise = discrete_laplace(scale, exact.shape)
    noisy: Ints = np.asarray(exact + (noise.astype(object) if exact.dtype == object else noise))
    return noisy


def likelihoods(scale: Fraction | int | str) -> tuple[int, dict[int, int]]:
    """Return the probabilities from which the sampler draws at `scale`, for audits: (m, {k: P(⌊X/m⌋ = k) in 2^-64}).

    Each is truncated to a whole number, so its error is less than one; the tails, which more bits decide, are left out.
    m is 1 for scales up to 12.

    >>> unit, chances = likelihoods(1)
    >>> unit, round(chances[0] / 2**64, 6), round(chances[1] / chances[0], 6)
    (1, 0.462117, 0.367879)
    """
    coarse = _levels(_exact(scale))[0]
    floors = [int(floor) for floor in coarse.floors]
    pairs = enumerate(pairwise(floors), coarse.first + 1)
    return coarse.distribution.unit, {k: high - low for k, (low, high) in pairs}


def _exact(scale: object) -> Fraction:
    try:
        exact = rational(scale, "scale", strict=True, digits=40)
    except (TypeError, ValueError) as error:
        raise NoiseError(str(error)) from None
    if not 0 < exact <= MAX_SCALE:
        raise NoiseError(f"scale must be above 0 and at most {MAX_SCALE}")
    return exact


@dataclass(frozen=True, slots=True)
class _Distribution:
    """The distribution function F of one part of a draw.

    With `span` 0 it is that of Y = ⌊X/unit⌋; otherwise that of the digits of G from `unit` on, which have `span`
    values. F(k) is a rational function, and not a constant, of exp(1/n) for some integer n. So it is irrational
    (Lindemann): it never equals a binary fraction, and enough bits always decide.
    """

    rate: Fraction
    unit: int
    span: int = 0

    @property
    def step(self) -> Fraction:
        return self.rate * self.unit

    def power(self, times: int, bits: int) -> Bounds:
        """Return bounds on q^(unit·times)."""
        return exp_bounds(self.step * times, bits) if times else (1 << bits, 1 << bits)

    def floor(self, k: int, depth: int, bounds: Callable[[int], Bounds] | None = None) -> int:
        """Return ⌊F(k)·2^depth⌋; `bounds` may supply those on F that are tried first.

        F(span−1) = 1 is taken as just below 1, which decides every draw alike.
        """
        bits = depth + _GUARD
        while True:
            low, high = (bounds or self.bounds(bits))(k)
            low, high = max(low, 0), min(high, (1 << bits) - 1)
            if low >> (bits - depth) == high >> (bits - depth):
                return low >> (bits - depth)
            bits, bounds = 2 * bits, None

    def bounds(self, bits: int, power: Callable[[int], Bounds] | None = None) -> Callable[[int], Bounds]:
        """Return bounds on F(k), in 2^−bits, as a function of k; `power` may supply powers computed before."""
        power = power or partial(self.power, bits=bits)
        if self.span:
            total = complement(power(self.span), bits)
            return lambda k: quotient(complement(power(k + 1), bits), total, bits)
        q, one = exp_bounds(self.rate, bits), 1 << bits
        positive = quotient((one, one), (one + q[0], one + q[1]), bits)
        negative = complement(positive, bits)
        return lambda k: (
            product(negative, power(-1 - k), bits) if k < 0 else complement(product(positive, power(k + 1), bits), bits)
        )


@dataclass(frozen=True, slots=True)
class _Level:
    """A distribution with its tables.

    `floors` holds the breakpoints to 64 bits, without those in the tails that would be 0 or all ones; `first` is
    the value below them all; `guide` gives the value for each 16 bits, or `_UNSURE`.
    """

    distribution: _Distribution
    first: int
    floors: npt.NDArray[np.uint64]
    guide: npt.NDArray[np.int8]


def _level(distribution: _Distribution) -> _Level:
    reach = int(45 / distribution.step) + 2  # exp(−45) < 2^-64
    candidates = range(distribution.span - 1) if distribution.span else range(-reach, reach)
    bits = 64 + _GUARD
    powers, ratio = [distribution.power(0, bits)], distribution.power(1, bits)
    for _ in range(distribution.span or reach):
        powers.append(product(powers[-1], ratio, bits))
    bounds = distribution.bounds(bits, powers.__getitem__)
    every = {k: distribution.floor(k, 64, bounds) for k in candidates}
    inner = {k: floor for k, floor in every.items() if 0 < floor < 2**64 - 1}
    first = min(inner, default=0)
    floors = np.array(list(inner.values()), dtype=np.uint64)
    hits = np.bincount((floors >> np.uint64(48)).astype(np.int64), minlength=2**16)
    wide = first + np.cumsum(hits) - hits
    wide[hits > 0] = _UNSURE
    if not distribution.span:
        wide[[0, -1]] = _UNSURE  # the tails, which have infinitely many breakpoints
    guide = wide.astype(np.int8)
    for table in (floors, guide):
        table.setflags(write=False)  # shared by threads
    return _Level(distribution, first, floors, guide)


@lru_cache(maxsize=128)
def _levels(scale: Fraction) -> tuple[_Level, ...]:
    """Return the tables for noise at `scale`: its coarse part, then groups of digits, high to low.

    The cache holds nothing private: a scale is public.
    """
    digits = max(0, math.ceil(scale / _COARSE_SCALE) - 1).bit_length()
    groups = -(-digits // _DIGITS)
    edges = [digits * (groups - i) // groups for i in range(groups + 1)] if groups else [0]
    distributions = [_Distribution(1 / scale, 2 ** edges[0])]
    distributions += [_Distribution(1 / scale, 2**low, 2 ** (high - low)) for high, low in pairwise(edges)]
    return tuple(map(_level, distributions))


@dataclass(frozen=True, slots=True)
class _Work:
    """Work arrays, one entry a lane: random words, the same as places in a table, values, signs and doubts."""

    words: npt.NDArray[np.uint16]
    places: npt.NDArray[np.intp]
    values: npt.NDArray[np.int8]
    signs: npt.NDArray[np.int8]
    doubts: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, lanes: int) -> _Work:
        dtypes: tuple[Any, ...] = (np.uint16, np.intp, np.int8, np.int8, np.bool_)
        return cls(*(np.empty(lanes, dtype=dtype) for dtype in dtypes))


def _fill(out: Ints, levels: tuple[_Level, ...], bits: BitSource) -> None:
    """Fill the vector `out` with draws: 16 bits a lane for each level, and more where they do not decide."""
    work = _Work.of(min(_CHUNK, out.size))
    coarse, *fine = levels
    for start in range(0, out.size, _CHUNK):
        part = out[start : start + _CHUNK]
        if part.size < work.words.size:
            work = _Work.of(part.size)
        doubtful, decided = _look_up(coarse, work, bits)
        np.copyto(part, work.values)
        part[doubtful] = decided
        work.values[doubtful] = decided >> 63
        np.right_shift(work.values, 7, out=work.signs)
        for level in fine:
            doubtful, decided = _look_up(level, work, bits)
            work.values[doubtful] = decided
            np.bitwise_xor(work.values, work.signs & np.int8(level.distribution.span - 1), out=work.values)
            np.left_shift(part, level.distribution.span.bit_length() - 1, out=part)
            np.bitwise_or(part, work.values, out=part)


def _look_up(level: _Level, work: _Work, bits: BitSource) -> tuple[npt.NDArray[np.intp], Ints]:
    """Draw `work.values` from a level. Returns the lanes that 16 bits did not decide, and the values of these."""
    bits(work.words)
    np.copyto(work.places, work.words)
    level.guide.take(work.places, out=work.values, mode="wrap")  # "raise" would copy; no place is out of range
    np.equal(work.values, _UNSURE, out=work.doubts)
    doubtful = np.flatnonzero(work.doubts)
    return doubtful, _decide(level, work.words[doubtful], bits)


def _decide(level: _Level, words: npt.NDArray[np.uint16], bits: BitSource) -> Ints:
    """Return the values of lanes that their first 16 bits, `words`, did not decide: draw 48 more bits, then 64 each."""
    more = np.empty(words.size, dtype=np.uint64)
    bits(more)
    known = (words.astype(np.uint64) << np.uint64(48)) | (more >> np.uint64(16))
    below = np.searchsorted(level.floors, known, side="left")
    through = np.searchsorted(level.floors, known, side="right")
    values = level.first + through
    tied = (below != through) | (known == 0) | (known == np.uint64(2**64 - 1))
    for lane in np.flatnonzero(tied):
        values[lane] = _refine(level.distribution, int(known[lane]), bits)
    return values


def _refine(distribution: _Distribution, known: int, bits: BitSource) -> int:
    """Return the value of a draw that its first 64 bits, `known`, did not decide: draw 64 more until they do.

    It is the least k with U < F(k), where known ≤ U·2^depth < known + 1. If ⌊F(j)·2^depth⌋ < known, then
    F(j) ≤ U; if ⌊F(k)·2^depth⌋ > known, then U < F(k). Only equality is a tie.
    """
    reach = _LIMIT // distribution.unit
    ks = range(distribution.span) if distribution.span else range(-reach, reach)
    more = np.empty(1, dtype=np.uint64)
    depth = 64
    while True:
        if known:  # zeros alone are below every F(k), and never decide
            index = bisect.bisect_left(ks, known, key=partial(distribution.floor, depth=depth))
            if not distribution.span and not 0 < index < len(ks):
                raise OverflowError("a draw lies beyond ±2^61")
            if distribution.floor(ks[index], depth) > known:
                return ks[index]
        bits(more)
        known, depth = known << 64 | int(more[0]), depth + 64
