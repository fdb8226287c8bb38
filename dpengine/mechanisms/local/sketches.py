"""Count-mean sketches: local mechanisms for very many answers. Hash functions are shared, and each person draws one.

Answers that share a bucket under some function are confused with each other. So an estimate is unbiased over the random
choice of the functions, but has a fixed error for any one choice. The variance includes it; it is derived here.

Source: Apple, "Learning with Privacy at Scale" (2017), whose variance is corrected by Pan 2024.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError, TableError
from dpengine.mechanisms.local.coins import check_answers, check_chance, check_values, check_whole, coins, min_flip
from dpengine.mechanisms.local.frequency_oracles import column_sums, noisy_bits
from dpengine.mechanisms.local.protocol import PureProtocol
from dpengine.mechanisms.local.universal_hashing import Hashes, draw_keys, hash_table, walsh
from dpengine.noise.selection import uniform_below

__all__ = ["CountMeanSketch", "HadamardSketch", "SketchReports"]

HALF = Fraction(1, 2)
MAX_WIDTH = 2**15
MAX_CELLS = 2**26  # limit for the table of hashes, and for a sketch


@dataclass(frozen=True, slots=True, eq=False)
class SketchReports:
    """Reports of a sketch: for each person the number of the hash function drawn, and the noisy message."""

    functions: Ints
    messages: npt.NDArray[np.generic]

    def __len__(self) -> int:
        return self.functions.size


@dataclass(frozen=True, slots=True, eq=False)
class _Sketch(PureProtocol[SketchReports]):
    """The common part of both sketches: public hash functions into `width` buckets, drawn when the sketch is made.

    `functions` is their number, `flip` the probability that a bit is reported wrong, and `table` holds the bucket of
    each answer (one row each) under each function (one column each).
    """

    answers: int
    flip: Fraction
    functions: int
    width: int
    table: Hashes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_answers(self.answers)
        needed = f"a sketch has 1 to {MAX_CELLS:,} hash functions, and a power of two from 2 to {MAX_WIDTH:,} as width"
        check_whole(self.functions, 1, MAX_CELLS, needed)
        if check_whole(self.width, 2, MAX_WIDTH, needed).bit_count() != 1:
            raise PlanError(needed)
        if self.functions * max(self.answers, self.width) > MAX_CELLS:
            raise PlanError("the sketch is too large: take fewer hash functions, or a smaller width")
        check_chance(self.flip, below=HALF)
        keys = draw_keys(self.functions, self.answers, self.width)
        object.__setattr__(self, "table", hash_table(keys, self.answers, self.width))

    @property
    @abstractmethod
    def beside(self) -> Fraction:
        """The probability that a report supports an answer whose bucket is not that of the true answer."""

    @property
    def hit(self) -> Fraction:
        return 1 - self.flip

    @property
    def miss(self) -> Fraction:
        return self.beside + (self.hit - self.beside) / self.width

    def variance(self, shares: npt.ArrayLike, people: int) -> Floats:
        """Return the variances of estimated shares: those of a pure protocol, plus those of collisions.

        Collisions add (Σ f′² − (1−f)/n) / (k(m−1)), summed over the other answers. The probability that a report of
        another answer supports this one depends on the hash functions: it varies by (p − beside) times the share of the
        k functions under which both collide, which has variance (1/k)(1/m)(1 − 1/m). Collisions with different answers
        are independent, and affect all people with one answer alike: hence the squares of shares.
        """
        f = np.clip(np.asarray(shares, dtype=np.float64), 0, 1)
        others = np.maximum((f**2).sum() - f**2 - (1 - f) / people, 0)
        spread: Floats = PureProtocol.variance(self, f, people) + others / (self.functions * (self.width - 1))
        return spread

    def _drawn(self, values: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Draw a function for each person; return the functions, and the buckets of the answers under them."""
        true = check_values(values, self.answers)
        drawn = uniform_below(self.functions, true.size)
        return drawn, self.table[true, drawn].astype(np.int64)

    def _read(self, sketch: Ints) -> Ints:
        """Sum for each answer its buckets in `sketch`, which has one row for each function."""
        places = np.arange(self.functions)
        return np.array([sketch[places, buckets].sum() for buckets in self.table], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CountMeanSketch(_Sketch):
    """Count-mean sketch: one bit for each bucket, set for the answer's, and each flipped with probability `flip`.

    flip = 1/(e^(ε/2) + 1): answers in different buckets differ in two bits, so e^ε = ((1−flip)/flip)². Messages are
    packed bits, one row for each person. The estimate is Apple's, m/(m−1)·(mean of M[l, h_l(d)] − n/m), written as that
    of a pure protocol with p = 1 − flip and q = flip + (1 − 2·flip)/m.

    >>> sketch = CountMeanSketch(10_000, Fraction(1, 4), functions=8, width=16)
    >>> sketch.ratio, len(sketch.randomise([7, 9_999]))
    (Fraction(9, 1), 2)
    """

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, functions: int = 1024, width: int = 64) -> CountMeanSketch:
        """Return the sketch with the smallest `flip` that costs at most `epsilon`."""
        return cls(answers, min_flip(epsilon, bits=2), functions, width)

    @property
    def ratio(self) -> Fraction:
        return ((1 - self.flip) / self.flip) ** 2

    @property
    def beside(self) -> Fraction:
        return self.flip

    def randomise(self, values: npt.ArrayLike) -> SketchReports:
        drawn, buckets = self._drawn(values)
        return SketchReports(drawn, noisy_bits(buckets, self.width, self.hit, self.flip))

    def support(self, reports: SketchReports) -> Ints:
        drawn, rows = check_values(reports.functions, self.functions), reports.messages
        if rows.dtype != np.uint8 or rows.shape != (drawn.size, -(-self.width // 8)):
            raise TableError("reports must have a row of packed bits and a hash function for each person")
        return self._read(column_sums(rows.view(np.uint8), self.width, drawn, self.functions))


@dataclass(frozen=True, slots=True, eq=False)
class HadamardSketch(_Sketch):
    """Hadamard count-mean sketch: a uniform place l of `width`, and the sign of the Hadamard matrix at (bucket, l).

    The sign is reported wrong with probability flip = 1/(e^ε + 1), so e^ε = (1−flip)/flip. A message is 2·l, plus 1
    where the reported sign is −1. The estimate is Apple's, written as that of a pure protocol: a report supports the
    answers whose bucket has the reported sign at l, with beside = ½ for other buckets.

    >>> sketch = HadamardSketch(10_000, Fraction(1, 4), functions=8, width=16)
    >>> sketch.ratio, len(sketch.randomise([7, 9_999]))
    (Fraction(3, 1), 2)
    """

    @classmethod
    def of(cls, answers: int, epsilon: Fraction, functions: int = 1024, width: int = 1024) -> HadamardSketch:
        """Return the sketch with the smallest `flip` that costs at most `epsilon`."""
        return cls(answers, min_flip(epsilon), functions, width)

    @property
    def ratio(self) -> Fraction:
        return (1 - self.flip) / self.flip

    @property
    def beside(self) -> Fraction:
        return HALF

    def randomise(self, values: npt.ArrayLike) -> SketchReports:
        drawn, buckets = self._drawn(values)
        places = uniform_below(self.width, drawn.size)
        minus = (np.bitwise_count(buckets & places) & 1) ^ coins(self.flip, drawn.size)
        return SketchReports(drawn, (2 * places + minus).astype(np.int64))

    def support(self, reports: SketchReports) -> Ints:
        drawn, signs = check_values(reports.functions, self.functions), check_values(reports.messages, 2 * self.width)
        if drawn.size != signs.size:
            raise TableError("reports must have a sign and a hash function for each person")
        cells = np.bincount(drawn * (2 * self.width) + signs, minlength=2 * self.width * self.functions)
        plus_minus = cells.reshape(self.functions, self.width, 2)
        sketch = walsh(plus_minus[..., 0] - plus_minus[..., 1])
        counts: Ints = (drawn.size + self._read(sketch)) // 2
        return counts
