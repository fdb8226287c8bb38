"""Frequency oracles: local mechanisms for questions with many answers, whose error hardly grows with their number.

Beside k-ary randomized response, which is best for few answers: unary encoding has the least variance and the
longest reports, local hashing the same variance with short reports and a slow estimate, Hadamard response short
reports and a quick estimate, and a variance that is as good for small ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.errors import PlanError, TableError
from dpengine.mechanisms.local.coins import (
    checked_answers,
    checked_chance,
    checked_values,
    coins,
    flip,
    least_chance,
)
from dpengine.mechanisms.local.randomized_response import PureProtocol, kary, kary_ratio
from dpengine.mechanisms.local.universal_hashing import Hashes, binary_digits, draw_keys, hash_own, hash_table, walsh
from dpengine.noise.bits import keystream
from dpengine.noise.selection import uniform_below

__all__ = ["HadamardResponse", "Hashed", "LocalHashing", "UnaryEncoding", "column_sums", "noisy_bits"]

Bits = npt.NDArray[np.uint8]
HALF = Fraction(1, 2)
MAX_UNARY = 2**16
MAX_BUCKETS = 2**15
_BLOCK = 2**19  # bits of reports held unpacked at once


@dataclass(frozen=True, slots=True)
class UnaryEncoding(PureProtocol[Bits]):
    """A row of bits, one for each answer: the own one set with chance ½, each other with chance ``stray``.

    Optimised unary encoding (Wang et al. 2017): p = ½, q = 1/(e^ε + 1), e^ε = (1−q)/q, and variance about
    4e^ε/((e^ε−1)²n) for rare answers. Two answers differ in two bits, of which one moves by (½)/q and one by (1−q)/½.

    Reports are packed eight bits to a byte, a row a person.
    """

    answers: int
    stray: Fraction

    def __post_init__(self) -> None:
        if checked_answers(self.answers) > MAX_UNARY:
            raise PlanError(f"unary encoding sends a bit for each answer: at most {MAX_UNARY:,} answers")
        if checked_chance(self.stray, HALF) == HALF:
            raise PlanError("if every bit is a fair coin, nothing can be learned; take a smaller chance")

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> UnaryEncoding:
        """The least chance of a stray bit that keeps within ε."""
        return cls(answers, _least_flip(epsilon))

    @property
    def hit(self) -> Fraction:
        return HALF

    @property
    def miss(self) -> Fraction:
        return self.stray

    @property
    def ratio(self) -> Fraction:
        return (1 - self.stray) / self.stray

    def randomise(self, values: npt.ArrayLike) -> Bits:
        return noisy_bits(checked_values(values, self.answers), self.answers, HALF, self.stray)

    def support(self, reports: Bits) -> Ints:
        if reports.ndim != 2 or reports.dtype != np.uint8 or reports.shape[1] != -(-self.answers // 8):
            raise TableError("reports must be rows of packed bits, one row for each person")
        counts: Ints = column_sums(reports, self.answers)[0]
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class Hashed:
    """Reports of local hashing: the keys of each person's own hash function, a column a person, and an answer to it."""

    keys: Hashes
    buckets: Hashes

    def __len__(self) -> int:
        return self.buckets.size


@dataclass(frozen=True, slots=True)
class LocalHashing(PureProtocol[Hashed]):
    """Everybody draws a hash function into ``buckets``, and tells it and the own bucket by k-ary randomized response.

    Optimised local hashing (Wang et al. 2017) has about e^ε + 1 buckets: p as of k-ary response on them, q = 1/g,
    and the variance of unary encoding. Hashes collide with chance 1/g exactly (see ``local_hashes``). The function
    is drawn without a look at the answer, so the bucket alone costs: e^ε = 1 + g(1−λ)/λ.

    Estimating tries each answer on each report: time grows with people × answers.
    """

    answers: int
    buckets: int
    random: Fraction

    def __post_init__(self) -> None:
        checked_answers(self.answers)
        if not 2 <= self.buckets <= MAX_BUCKETS:
            raise PlanError(f"answers must be hashed into from 2 to {MAX_BUCKETS:,} buckets")
        if checked_chance(self.random) == 1:
            raise PlanError("if everybody answers at random, nothing can be learned; take a smaller chance")

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, buckets: int | None = None) -> LocalHashing:
        """The coin of least chance that keeps within ε, with the best number of buckets unless one is given."""
        best = min(round(math.exp(min(epsilon, Fraction(20)))) + 1, MAX_BUCKETS)
        found = best if buckets is None else buckets
        return cls(answers, found, least_chance(epsilon, lambda random: kary_ratio(found, random)))

    @property
    def hit(self) -> Fraction:
        return 1 - self.random + self.random / self.buckets

    @property
    def miss(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def ratio(self) -> Fraction:
        return kary_ratio(self.buckets, self.random)

    def randomise(self, values: npt.ArrayLike) -> Hashed:
        true = checked_values(values, self.answers)
        keys = draw_keys(true.size, self.answers, self.buckets)
        own = hash_own(keys, true, self.buckets).astype(np.int64)
        return Hashed(keys, kary(own, self.buckets, self.random).astype(keys.dtype))

    def support(self, reports: Hashed) -> Ints:
        if reports.buckets.ndim != 1 or reports.keys.shape != (1 + binary_digits(self.answers), len(reports)):
            raise TableError("reports must have a column of keys and a bucket for each person")
        counts = np.zeros(self.answers, dtype=np.int64)
        block = max(1, _BLOCK // self.answers)
        for start in range(0, len(reports), block):
            people = slice(start, start + block)
            table = hash_table(reports.keys[:, people], self.answers, self.buckets)
            counts += np.count_nonzero(table == reports.buckets[people], axis=1)
        return counts


@dataclass(frozen=True, slots=True)
class HadamardResponse(PureProtocol[Ints]):
    """An even draw from a half of all codes that belongs to one's answer; with chance ``flip``, from the other half.

    Codes are 0 … K−1 for the least power of two K above the number of answers. The half of answer x is where row
    x + 1 of the Hadamard matrix has +1. Two halves overlap in K/4 codes, so q = ½; p = 1 − flip, e^ε = p/(1 − p) and
    the variance is ((e^ε+1)/(e^ε−1))²/n. A report is log₂ K bits (Acharya, Sun & Zhang 2019, for small ε).
    """

    answers: int
    flip: Fraction

    def __post_init__(self) -> None:
        checked_answers(self.answers)
        if checked_chance(self.flip, HALF) == HALF:
            raise PlanError("if both halves are as likely, nothing can be learned; take a smaller chance")

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> HadamardResponse:
        """The least chance of the other half that keeps within ε."""
        return cls(answers, _least_flip(epsilon))

    @property
    def codes(self) -> int:
        """K, the number of codes."""
        return 1 << self.answers.bit_length()

    @property
    def hit(self) -> Fraction:
        return 1 - self.flip

    @property
    def miss(self) -> Fraction:
        return HALF

    @property
    def ratio(self) -> Fraction:
        return (1 - self.flip) / self.flip

    def randomise(self, values: npt.ArrayLike) -> Ints:
        """An even code each; where it lies in the wrong half, one binary digit is turned, which pairs up the halves."""
        rows = checked_values(values, self.answers) + 1
        codes = uniform_below(self.codes, rows.size)
        outside = (np.bitwise_count(codes & rows) & 1).astype(np.bool_)
        wrong = outside != coins(self.flip, rows.size)
        lowest = rows & -rows
        return np.where(wrong, codes ^ lowest, codes)

    def support(self, reports: Ints) -> Ints:
        codes = checked_values(reports, self.codes)
        signs = walsh(np.bincount(codes, minlength=self.codes))
        counts: Ints = (codes.size + signs[1 : self.answers + 1]) // 2
        return counts


def noisy_bits(own: Ints, width: int, hit: Fraction, stray: Fraction) -> Bits:
    """A row of ``width`` bits for each of ``own``: that one set with chance ``hit``, others with ``stray``; packed."""
    bits = keystream()
    packed = np.empty((own.size, -(-width // 8)), dtype=np.uint8)
    set_own = coins(hit, own.size)
    block = max(1, _BLOCK // width)
    for start in range(0, own.size, block):
        mine = own[start : start + block]
        row = np.empty(mine.size * width, dtype=np.bool_)
        flip(row, stray, bits)
        row[np.arange(mine.size) * width + mine] = set_own[start : start + block]
        packed[start : start + block] = np.packbits(row.reshape(-1, width), axis=1)
    return packed


def column_sums(packed: Bits, width: int, group: Ints | None = None, groups: int = 1) -> Ints:
    """How many bits are set in each of ``width`` columns of packed rows; for each ``group`` of rows, a row of sums.

    Bytes are counted by their value, group and place, and only the counts are unpacked.
    """
    offset = 0 if group is None else 256 * group
    digits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    counts = [np.bincount(offset + column, minlength=256 * groups).reshape(groups, 256) for column in packed.T]
    sums: Ints = np.concatenate([each @ digits for each in counts], axis=1)[:, :width]
    return sums


def _least_flip(epsilon: Fraction) -> Fraction:
    """The least q with (1−q)/q within ε."""
    return least_chance(epsilon, lambda random: (2 - random) / random) / 2
