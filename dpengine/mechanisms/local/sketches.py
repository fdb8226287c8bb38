"""Count-mean sketches: shared hash functions, one of them drawn by each person, for questions with very many answers.

Apple, "Learning with Privacy at Scale" (2017). Answers that share a bucket under some of the functions disturb each
other, so an estimate is unbiased over the draw of functions, and off by a fixed amount under any one draw. Both are
in the variance, which is derived here and not taken from there (Pan 2024 corrects what is stated there).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError, TableError
from dpengine.mechanisms.local.coins import checked_answers, checked_chance, checked_values, coins, least_chance
from dpengine.mechanisms.local.frequency_oracles import column_sums, noisy_bits
from dpengine.mechanisms.local.randomized_response import PureProtocol
from dpengine.mechanisms.local.universal_hashing import Hashes, draw_keys, hash_table, walsh
from dpengine.noise.selection import uniform_below

__all__ = ["CountMeanSketch", "HadamardSketch", "Told"]

HALF = Fraction(1, 2)
MAX_WIDTH = 2**15
MAX_CELLS = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Reports of a sketch: the number of the hash function that each person drew, and what was told of its bucket."""

    functions: Ints
    told: npt.NDArray[np.generic]

    def __len__(self) -> int:
        return self.functions.size


@dataclass(frozen=True, slots=True, eq=False)
class _Sketch(PureProtocol[Told]):
    """What both sketches share: ``functions`` hash functions into ``width`` buckets, drawn when it is made, and public.

    ``flip`` is the chance that a bit is told wrong.
    """

    answers: int
    flip: Fraction
    functions: int
    width: int
    table: Hashes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checked_answers(self.answers)
        if self.functions < 1 or not 2 <= self.width <= MAX_WIDTH or self.width & (self.width - 1):
            raise PlanError(f"a sketch needs a hash function, and a power of two from 2 to {MAX_WIDTH:,} as its width")
        if self.functions * max(self.answers, self.width) > MAX_CELLS:
            raise PlanError("the sketch is too large: take fewer hash functions, or a smaller width")
        if checked_chance(self.flip, HALF) == HALF:
            raise PlanError("if every bit is a fair coin, nothing can be learned; take a smaller chance")
        keys = draw_keys(self.functions, self.answers, self.width)
        object.__setattr__(self, "table", hash_table(keys, self.answers, self.width))

    @property
    @abstractmethod
    def beside(self) -> Fraction:
        """The chance that a report supports an answer in another bucket than the own one."""

    @property
    def hit(self) -> Fraction:
        return 1 - self.flip

    @property
    def miss(self) -> Fraction:
        return self.beside + (self.hit - self.beside) / self.width

    def variance(self, shares: npt.ArrayLike, people: int) -> Floats:
        """That of a pure protocol, and what collisions add: (Σ f′² − (1−f)/n) / (k(m−1)), over the other answers.

        The chance that others' reports support an answer moves with the draw of functions: by (p − beside) times the
        share of the k functions under which both collide, of variance (1/k)(1/m)(1 − 1/m), and collisions with
        different answers are independent. It moves all people with the same answer alike, hence squares of shares.
        """
        f = np.clip(np.asarray(shares, dtype=np.float64), 0, 1)
        others = np.maximum((f**2).sum() - f**2 - (1 - f) / people, 0)
        spread: Floats = PureProtocol.variance(self, f, people) + others / (self.functions * (self.width - 1))
        return spread

    def _drawn(self, values: npt.ArrayLike) -> tuple[Ints, Ints]:
        """For each person a function, and the bucket of the answer under it."""
        true = checked_values(values, self.answers)
        drawn = uniform_below(self.functions, true.size)
        return drawn, self.table[true, drawn].astype(np.int64)

    def _read(self, sketch: Ints) -> Ints:
        """For each answer the sum over functions of its bucket in ``sketch``, a row a function."""
        places = np.arange(self.functions)
        return np.array([sketch[places, buckets].sum() for buckets in self.table], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CountMeanSketch(_Sketch):
    """A row of bits, one for each bucket, the own one set, and then each told wrong with chance ``flip``.

    flip = 1/(e^(ε/2) + 1): answers in different buckets differ in two bits, so e^ε = ((1−flip)/flip)². ``told`` holds
    packed bits, a row a person. The estimate is Apple's, m/(m−1)·(mean of M[l, h_l(d)] − n/m), written as that of a
    pure protocol with p = 1 − flip and q = flip + (1 − 2·flip)/m.
    """

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, functions: int = 1024, width: int = 64) -> CountMeanSketch:
        """The least chance of a wrong bit that keeps within ε."""
        return cls(answers, least_chance(epsilon, lambda random: ((2 - random) / random) ** 2) / 2, functions, width)

    @property
    def ratio(self) -> Fraction:
        return ((1 - self.flip) / self.flip) ** 2

    @property
    def beside(self) -> Fraction:
        return self.flip

    def randomise(self, values: npt.ArrayLike) -> Told:
        drawn, buckets = self._drawn(values)
        return Told(drawn, noisy_bits(buckets, self.width, self.hit, self.flip))

    def support(self, reports: Told) -> Ints:
        drawn, rows = checked_values(reports.functions, self.functions), reports.told
        if rows.dtype != np.uint8 or rows.shape != (drawn.size, -(-self.width // 8)):
            raise TableError("reports must have a row of packed bits and a hash function for each person")
        return self._read(column_sums(rows.view(np.uint8), self.width, drawn, self.functions))


@dataclass(frozen=True, slots=True, eq=False)
class HadamardSketch(_Sketch):
    """One bit: an even draw l of ``width`` places, and the sign of the Hadamard matrix at (own bucket, l).

    The bit is told wrong with chance flip = 1/(e^ε + 1), so e^ε = (1−flip)/flip. ``told`` holds 2·l + (1 where the
    sign told is −1). The estimate is Apple's of the Hadamard count-mean sketch, as that of a pure protocol: a report
    supports the answers whose bucket has the sign told at l, with beside = ½ for other buckets.
    """

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, functions: int = 1024, width: int = 1024) -> HadamardSketch:
        """The least chance of a wrong bit that keeps within ε."""
        return cls(answers, least_chance(epsilon, lambda random: (2 - random) / random) / 2, functions, width)

    @property
    def ratio(self) -> Fraction:
        return (1 - self.flip) / self.flip

    @property
    def beside(self) -> Fraction:
        return HALF

    def randomise(self, values: npt.ArrayLike) -> Told:
        drawn, buckets = self._drawn(values)
        places = uniform_below(self.width, drawn.size)
        minus = (np.bitwise_count(buckets & places) & 1) ^ coins(self.flip, drawn.size)
        return Told(drawn, (2 * places + minus).astype(np.int64))

    def support(self, reports: Told) -> Ints:
        drawn, told = checked_values(reports.functions, self.functions), checked_values(reports.told, 2 * self.width)
        if drawn.size != told.size:
            raise TableError("reports must have a told sign and a hash function for each person")
        cells = np.bincount(drawn * (2 * self.width) + told, minlength=2 * self.width * self.functions)
        plus_minus = cells.reshape(self.functions, self.width, 2)
        signs = walsh(plus_minus[..., 0] - plus_minus[..., 1])
        counts: Ints = (drawn.size + self._read(signs)) // 2
        return counts
