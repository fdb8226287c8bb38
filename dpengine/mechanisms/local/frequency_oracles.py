"""Frequency oracles: local mechanisms for many answers, whose error hardly grows with the number of answers.

k-ary randomized response is best for few answers. For many answers, unary encoding has the least variance and the
longest reports. Local hashing has the same variance and short reports, but a slow estimate. Hadamard response has short
reports, a fast estimate, and about the same variance for small ε.
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
    check_answers,
    check_chance,
    check_values,
    check_whole,
    coins,
    flip,
    min_chance,
    min_flip,
)
from dpengine.mechanisms.local.protocol import PureProtocol
from dpengine.mechanisms.local.randomized_response import kary_ratio, randomise_kary
from dpengine.mechanisms.local.universal_hashing import Hashes, binary_digits, draw_keys, hash_table, hash_values, walsh
from dpengine.noise.bits import keystream
from dpengine.noise.selection import uniform_below

__all__ = ["HadamardResponse", "HashedReports", "LocalHashing", "UnaryEncoding", "column_sums", "noisy_bits"]

Bits = npt.NDArray[np.uint8]
HALF = Fraction(1, 2)
MAX_UNARY = 2**16  # answers
MAX_BUCKETS = 2**15
_BLOCK = 2**19  # unpacked bits of reports in memory at once


@dataclass(frozen=True, slots=True)
class UnaryEncoding(PureProtocol[Bits]):
    """Unary encoding: one bit for each answer, set with probability ½ for the true one and `stray` for others.

    p = ½, q = 1/(e^ε + 1), e^ε = (1−q)/q, and the variance is about 4e^ε/((e^ε−1)²n) for rare answers. Two answers
    differ in two bits: one changes the probability of a report by a factor of at most (½)/q, the other of (1−q)/½.

    Reports are packed eight bits to a byte, one row for each person.

    Source: Wang et al. 2017 (optimised unary encoding).

    >>> UnaryEncoding(10, Fraction(1, 4)).ratio
    Fraction(3, 1)
    >>> UnaryEncoding(10, Fraction(1, 4)).randomise([0, 9, 4]).shape
    (3, 2)
    """

    answers: int
    stray: Fraction

    def __post_init__(self) -> None:
        if check_answers(self.answers) > MAX_UNARY:
            raise PlanError(f"unary encoding sends a bit for each answer: at most {MAX_UNARY:,} answers")
        check_chance(self.stray, below=HALF)

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> UnaryEncoding:
        """Return the protocol with the smallest `stray` that costs at most `epsilon`."""
        return cls(answers, min_flip(epsilon))

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
        return noisy_bits(check_values(values, self.answers), self.answers, HALF, self.stray)

    def support(self, reports: Bits) -> Ints:
        if reports.ndim != 2 or reports.dtype != np.uint8 or reports.shape[1] != -(-self.answers // 8):
            raise TableError("reports must be rows of packed bits, one row for each person")
        counts: Ints = column_sums(reports, self.answers)[0]
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class HashedReports:
    """Reports of local hashing: for each person the keys of a hash function, one column each, and a noisy bucket."""

    keys: Hashes
    buckets: Hashes

    def __len__(self) -> int:
        return self.buckets.size


@dataclass(frozen=True, slots=True)
class LocalHashing(PureProtocol[HashedReports]):
    """Local hashing: each person draws a hash function, and reports the answer's bucket by k-ary randomized response.

    With g = `buckets`, about e^ε + 1 of them, and λ = `random`: p is that of k-ary response on the buckets, q = 1/g,
    and the variance is that of unary encoding. Hashes collide with probability 1/g exactly (`universal_hashing`). The
    function is drawn independently of the answer, so only the bucket costs: e^ε = 1 + g(1−λ)/λ.

    An estimate compares each report with each answer: time grows with people × answers.

    Source: Wang et al. 2017 (optimised local hashing).

    >>> LocalHashing(1000, 4, Fraction(1, 2)).ratio
    Fraction(5, 1)
    >>> len(LocalHashing(1000, 4, Fraction(1, 2)).randomise([7, 900]))
    2
    """

    answers: int
    buckets: int
    random: Fraction

    def __post_init__(self) -> None:
        check_answers(self.answers)
        _check_buckets(self.buckets)
        check_chance(self.random, below=Fraction(1))

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, buckets: int | None = None) -> LocalHashing:
        """Return the protocol with the smallest `random` that costs at most `epsilon`.

        By default it has the number of `buckets` with the least variance.
        """
        if buckets is not None:
            _check_buckets(buckets)
        else:
            buckets = min(round(math.exp(min(epsilon, Fraction(20)))) + 1, MAX_BUCKETS)
        return cls(answers, buckets, min_chance(epsilon, lambda random: kary_ratio(buckets, random)))

    @property
    def hit(self) -> Fraction:
        return 1 - self.random + self.random / self.buckets

    @property
    def miss(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def ratio(self) -> Fraction:
        return kary_ratio(self.buckets, self.random)

    def randomise(self, values: npt.ArrayLike) -> HashedReports:
        true = check_values(values, self.answers)
        keys = draw_keys(true.size, self.answers, self.buckets)
        hashed = hash_values(keys, true, self.buckets).astype(np.int64)
        return HashedReports(keys, randomise_kary(hashed, self.buckets, self.random).astype(keys.dtype))

    def support(self, reports: HashedReports) -> Ints:
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
    """Hadamard response: a uniform code from the answer's half of the codes or, with chance `flip`, from the other.

    Codes are 0 … K−1, where K is the least power of two above the number of answers. The half of answer x is where row
    x + 1 of the Hadamard matrix has +1. Two halves overlap in K/4 codes, so q = ½; p = 1 − flip, e^ε = p/(1 − p), and
    the variance is ((e^ε+1)/(e^ε−1))²/n. A report has log₂ K bits.

    Source: Acharya, Sun & Zhang 2019, "Hadamard Response" (here for small ε).

    >>> protocol = HadamardResponse(100, Fraction(1, 4))
    >>> protocol.codes, protocol.ratio
    (128, Fraction(3, 1))
    >>> protocol.randomise([99, 0]).size
    2
    """

    answers: int
    flip: Fraction

    def __post_init__(self) -> None:
        check_answers(self.answers)
        check_chance(self.flip, below=HALF)

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> HadamardResponse:
        """Return the protocol with the smallest `flip` that costs at most `epsilon`."""
        return cls(answers, min_flip(epsilon))

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
        """Draw uniform codes; one in the wrong half moves to the other half by a change of one binary digit."""
        rows = check_values(values, self.answers) + 1
        codes = uniform_below(self.codes, rows.size)
        outside = (np.bitwise_count(codes & rows) & 1).astype(np.bool_)
        wrong = outside != coins(self.flip, rows.size)
        lowest = rows & -rows
        return np.where(wrong, codes ^ lowest, codes)

    def support(self, reports: Ints) -> Ints:
        codes = check_values(reports, self.codes)
        signs = walsh(np.bincount(codes, minlength=self.codes))
        counts: Ints = (codes.size + signs[1 : self.answers + 1]) // 2
        return counts


def _check_buckets(buckets: int) -> None:
    check_whole(buckets, 2, MAX_BUCKETS, f"answers must be hashed into from 2 to {MAX_BUCKETS:,} buckets")


def noisy_bits(places: Ints, width: int, hit: Fraction, stray: Fraction) -> Bits:
    """Draw `width` bits for each place in `places`: the bit there is set with probability `hit`, others with `stray`.

    Rows are packed eight bits to a byte.

    >>> noisy_bits(np.array([0, 9]), 10, Fraction(1), Fraction(0)).tolist()
    [[128, 0], [0, 64]]
    """
    bits = keystream()
    packed = np.empty((places.size, -(-width // 8)), dtype=np.uint8)
    set_own = coins(hit, places.size)
    block = max(1, _BLOCK // width)
    for start in range(0, places.size, block):
        mine = places[start : start + block]
        row = np.empty(mine.size * width, dtype=np.bool_)
        flip(row, stray, bits)
        row[np.arange(mine.size) * width + mine] = set_own[start : start + block]
        packed[start : start + block] = np.packbits(row.reshape(-1, width), axis=1)
    return packed


def column_sums(packed: Bits, width: int, group: Ints | None = None, groups: int = 1) -> Ints:
    """Count the bits that are set in each of `width` columns of packed rows, separately for each `group` of rows.

    Bytes are counted by value, group and place, and only these counts are unpacked.

    >>> column_sums(np.array([[128, 0], [128, 64]], dtype=np.uint8), 10).tolist()
    [[2, 0, 0, 0, 0, 0, 0, 0, 0, 1]]
    """
    offset = 0 if group is None else 256 * group
    digits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    counts = [np.bincount(offset + column, minlength=256 * groups).reshape(groups, 256) for column in packed.T]
    sums: Ints = np.concatenate([each @ digits for each in counts], axis=1)[:, :width]
    return sums
