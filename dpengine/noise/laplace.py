"""Exact discrete Laplace noise from the operating system's randomness.

A draw is the place of a uniform number U among the breakpoints of a distribution function. Its first 16
bits look the answer up in a table; only where a breakpoint lies within that 1/65536 are more bits drawn,
and as many as it takes. So the law is exact for uniform bits, not an approximation at some depth.

Wide noise is split into parts with few values. With q = exp(−1/scale), X is G, or −1−G with probability
q/(1+q), where P(G=g) = (1−q)·q^g; and the binary digits of a geometric number are independent (Dwork et
al. 2006, "Our data, ourselves"; Balcer & Vadhan 2019). So with m = 2^d the coarse part Y = ⌊X/m⌋ and
groups of the low d digits of G are drawn independently, and X = m·Y + (low digits, inverted where Y < 0).
"""

from __future__ import annotations

import bisect
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpengine.array_types import Ints
from dpengine.exact import rational

__all__ = ["MAX_SCALE", "BitSource", "discrete_laplace", "exp_between", "keystream"]

MAX_SCALE = 2**40

Bounds = tuple[int, int]  # low ≤ value·2^bits ≤ high
BitSource = Callable[[npt.NDArray[Any]], None]  # fills an array with independent fair bits

_CHUNK = 2**15  # with this many lanes all work arrays stay in a second-level cache
_ZEROS = bytes(8 * _CHUNK)
_UNSURE = -128  # in a guide table: a breakpoint lies within this 1/65536
_COARSE_SCALE = 12  # the largest whose values, short of tails rarer than 2^-16, fit a byte beside _UNSURE
_DIGITS = 7  # the most binary digits whose values fit a byte beside _UNSURE
_REACH = 2**61  # |X| beyond it has probability below exp(−2^21), and is refused rather than wrapped
_GUARD = 96  # bits computed beyond those compared; should they not suffice, more are


def discrete_laplace(scale: Fraction | int | str, size: int | tuple[int, ...]) -> Ints:
    """Draw independent integers X with P(X=k) = (1−q)/(1+q)·q^|k| exactly, q = exp(−1/scale).

    ``scale`` is a Fraction, an int, or an exact string such as "10", "0.5" or "3/7"; ``size`` a length or
    a shape. The array returned is int64 of that shape; every integer within ±2^61 is possible. Each call
    takes a fresh 256-bit key from the operating system and expands it with AES-CTR, and nothing outlives
    the call, so processes after a fork and threads never share noise. There is no seed.

    Added to counts of L1 sensitivity Δ with scale Δ/ε, the noise makes them ε-differentially private: shifting
    a count by one changes the probability of any outcome by a factor of at most exp(1/scale) (the geometric
    mechanism: Ghosh, Roughgarden & Sundararajan 2009; exactness: Canonne, Kamath & Steinke 2020).

    Table look-ups do not take constant time: draw all noise in one call, before anything is shown, and
    not beside an adversary who can time this machine's memory.

    Raises TypeError for a float or bool ``scale`` and ValueError for one that is unreadable, not positive,
    or above ``MAX_SCALE``. A draw beyond ±2^61 would raise OverflowError; its probability is below exp(−2^21).

    >>> discrete_laplace("3/7", (2, 5)).shape
    (2, 5)
    """
    levels = _levels(_exact(scale))
    out = np.empty(size, dtype=np.int64)
    _fill(out.reshape(-1), levels, keystream())
    return out


def _exact(scale: object) -> Fraction:
    exact = rational(scale, "scale", strict=True, digits=40)
    if not 0 < exact <= MAX_SCALE:
        raise ValueError(f"scale must be above 0 and at most {MAX_SCALE}")
    return exact


def keystream() -> BitSource:
    """A source of bits: AES-256-CTR under a key that nothing else has used, so the counter may start at zero.

    It fills contiguous arrays of any kind and size.
    """
    encryptor = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    zeros = memoryview(_ZEROS)

    def fill(buffer: npt.NDArray[Any]) -> None:
        places = buffer.reshape(-1).view(np.uint8).data
        for start in range(0, len(places), len(zeros)):
            encryptor.update_into(zeros[: len(places) - start], places[start : start + len(zeros)])

    return fill


@lru_cache(maxsize=64)
def exp_between(x: Fraction, bits: int) -> Bounds:
    """Bounds on exp(−x), x > 0."""
    if x > bits:
        return 0, 1
    digits = bits // 3 + 12  # 2^-bits needs 0.302·bits; the rest is for the whole part of x and rounding
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    ratio = Decimal(-x.numerator), Decimal(x.denominator)
    low = down.next_minus(down.exp(down.divide(*ratio)))
    high = up.next_plus(up.exp(up.divide(*ratio)))
    return math.floor(Fraction(low) * 2**bits), math.ceil(Fraction(high) * 2**bits)


def _times(a: Bounds, b: Bounds, bits: int) -> Bounds:
    return a[0] * b[0] >> bits, (a[1] * b[1] >> bits) + 1


def _over(a: Bounds, b: Bounds, bits: int) -> Bounds:
    return (a[0] << bits) // b[1], (a[1] << bits) // b[0] + 1


def _less(a: Bounds, bits: int) -> Bounds:
    """Bounds on 1 − a."""
    return (1 << bits) - a[1], (1 << bits) - a[0]


@dataclass(frozen=True, slots=True)
class _Law:
    """The distribution function F of one part of a draw.

    With ``span`` 0 it is that of Y = ⌊X/unit⌋; otherwise that of ``span`` values of the digits of G which
    start at ``unit``. F(k) is a rational function, and not a constant, of exp(1/n) for some integer n, so
    it is irrational (Lindemann): it never equals a binary fraction, and enough bits always decide.
    """

    rate: Fraction
    unit: int
    span: int = 0

    @property
    def step(self) -> Fraction:
        return self.rate * self.unit

    def power(self, times: int, bits: int) -> Bounds:
        """Bounds on q^(unit·times)."""
        return exp_between(self.step * times, bits) if times else (1 << bits, 1 << bits)

    def floor(self, k: int, depth: int, power: Callable[[int, int], Bounds] | None = None) -> int:
        """⌊F(k)·2^depth⌋; ``power`` may serve powers already at hand.

        F(span−1) = 1 is taken as just below 1, which decides no draw otherwise.
        """
        bits = depth + _GUARD
        while True:
            low, high = self._bounds(k, bits, power or self.power)
            low, high = max(low, 0), min(high, (1 << bits) - 1)
            if low >> (bits - depth) == high >> (bits - depth):
                return low >> (bits - depth)
            bits, power = 2 * bits, None

    def _bounds(self, k: int, bits: int, power: Callable[[int, int], Bounds]) -> Bounds:
        if self.span:
            return _over(_less(power(k + 1, bits), bits), _less(power(self.span, bits), bits), bits)
        q = exp_between(self.rate, bits)
        one = 1 << bits
        positive = _over((one, one), (one + q[0], one + q[1]), bits)
        if k < 0:
            return _times(_less(positive, bits), power(-1 - k, bits), bits)
        return _less(_times(positive, power(k + 1, bits), bits), bits)


@dataclass(frozen=True, slots=True)
class _Level:
    """A law with its tables.

    ``floors`` are the breakpoints to 64 bits, but for those in the tails that would be 0 or all ones;
    ``first`` is the value below them all; ``guide`` gives the value for each 16 bits, or ``_UNSURE``.
    """

    law: _Law
    first: int
    floors: npt.NDArray[np.uint64]
    guide: npt.NDArray[np.int8]


def _level(law: _Law) -> _Level:
    reach = int(45 / law.step) + 2  # exp(−45) < 2^-64
    candidates = range(law.span - 1) if law.span else range(-reach, reach)
    bits = 64 + _GUARD
    powers, ratio = [law.power(0, bits)], law.power(1, bits)
    for _ in range(law.span or reach):
        powers.append(_times(powers[-1], ratio, bits))
    every = {k: law.floor(k, 64, lambda times, _: powers[times]) for k in candidates}
    inner = {k: floor for k, floor in every.items() if 0 < floor < 2**64 - 1}
    first = min(inner, default=0)
    floors = np.array(list(inner.values()), dtype=np.uint64)
    hits = floors >> np.uint64(48)
    wide = first + np.searchsorted(hits, np.arange(2**16, dtype=np.uint64))
    wide[hits] = _UNSURE
    if not law.span:
        wide[[0, -1]] = _UNSURE  # the tails, which have infinitely many breakpoints
    guide = wide.astype(np.int8)
    for table in (floors, guide):
        table.setflags(write=False)  # shared by threads
    return _Level(law, first, floors, guide)


@lru_cache(maxsize=128)
def _levels(scale: Fraction) -> tuple[_Level, ...]:
    """The coarse part of noise at ``scale``, then groups of digits, high to low; ``scale`` is public."""
    digits = max(0, math.ceil(scale / _COARSE_SCALE) - 1).bit_length()
    groups = -(-digits // _DIGITS)
    edges = [digits * (groups - i) // groups for i in range(groups + 1)] if groups else [0]
    laws = [_Law(1 / scale, 2 ** edges[0])]
    laws += [_Law(1 / scale, 2**low, 2 ** (high - low)) for high, low in pairwise(edges)]
    return tuple(map(_level, laws))


@dataclass(frozen=True, slots=True)
class _Work:
    """Work arrays for some lanes: random words, the same as places in a table, values, signs, and doubts."""

    words: npt.NDArray[np.uint16]
    places: npt.NDArray[np.intp]
    values: npt.NDArray[np.int8]
    signs: npt.NDArray[np.int8]
    doubts: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, lanes: int) -> _Work:
        kinds: tuple[Any, ...] = (np.uint16, np.intp, np.int8, np.int8, np.bool_)
        return cls(*(np.empty(lanes, dtype=kind) for kind in kinds))


def _fill(out: Ints, levels: tuple[_Level, ...], bits: BitSource) -> None:
    """Fill the vector ``out`` with draws; 16 bits a lane for each level, more where they do not decide."""
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
            np.bitwise_xor(work.values, work.signs & np.int8(level.law.span - 1), out=work.values)
            np.left_shift(part, level.law.span.bit_length() - 1, out=part)
            np.bitwise_or(part, work.values, out=part)


def _look_up(level: _Level, work: _Work, bits: BitSource) -> tuple[npt.NDArray[np.intp], Ints]:
    """Draw ``work.values`` from a level, but for the lanes returned, whose values are returned beside them."""
    bits(work.words)
    np.copyto(work.places, work.words)
    level.guide.take(work.places, out=work.values, mode="wrap")  # "raise" would copy; no place is out of range
    np.equal(work.values, _UNSURE, out=work.doubts)
    doubtful = np.flatnonzero(work.doubts)
    return doubtful, _decide(level, work.words[doubtful], bits)


def _decide(level: _Level, words: npt.NDArray[np.uint16], bits: BitSource) -> Ints:
    """Values of lanes whose first 16 bits are ``words`` and have a breakpoint in their interval: 48 more bits."""
    more = np.empty(words.size, dtype=np.uint64)
    bits(more)
    known = (words.astype(np.uint64) << np.uint64(48)) | (more >> np.uint64(16))
    below = np.searchsorted(level.floors, known, side="left")
    through = np.searchsorted(level.floors, known, side="right")
    values = level.first + through
    tied = (below != through) | (known == 0) | (known == np.uint64(2**64 - 1))
    for lane in np.flatnonzero(tied):
        values[lane] = _settle(level.law, int(known[lane]), bits)
    return values


def _settle(law: _Law, known: int, bits: BitSource) -> int:
    """The value of a draw whose first 64 bits, ``known``, do not decide it: 64 more bits until they do.

    It is the least k with U < F(k), where known ≤ U·2^depth < known + 1. If ⌊F(j)·2^depth⌋ < known, then
    F(j) ≤ U; if ⌊F(k)·2^depth⌋ > known, then U < F(k). Only equality is a tie.
    """
    reach = _REACH // law.unit
    ks = range(law.span) if law.span else range(-reach, reach)
    more = np.empty(1, dtype=np.uint64)
    depth = 64
    while True:
        if known:  # zeros alone are below every F(k), and never decide
            place = bisect.bisect_left(ks, known, key=partial(law.floor, depth=depth))
            if not law.span and not 0 < place < len(ks):
                raise OverflowError("a draw lies beyond ±2^61")
            if law.floor(ks[place], depth) > known:
                return ks[place]
        bits(more)
        known, depth = known << 64 | int(more[0]), depth + 64
