"""Sketches of tables, and a test of whether two of them are of the same people.

A `Sketch` holds histograms: how many rows fall into each of 256 bins by a hash of a value, of a whole row, or of a cell
of a counted table. Hashes do not depend on the order of rows, so a missing row changes one count; nor, except for one
of whole rows, on the names or the order of columns. A histogram of one column does not change with other columns.

`resemblance` compares histograms with n and n′ rows by Pearson's statistic of homogeneity,

    D = Σ (n′x − nx′)² / (n n′ (x + x′)), over the bins that are not empty.

At best, tables of different people agree like two random halves of one crowd: D is then about d, the number of bins
less one. If m rows are in both, D is about d (1 − 2m/(n + n′)), which estimates the share of rows in common.
Two tables are taken to be of the same people if they agree too well for chance: if a random division of the same rows
has so small a D with a probability of at most `FALSE_ALARM`. This is a permutation test of exact level for people of
any distribution, however few values a column has, because its distribution is that of the rows themselves. Running
numbers are no sample of a distribution: they fill all bins more evenly than chance does, and would agree with any large
table whose bins are nearly equal. Columns that are so even are left out.

`chance` bounds that probability. Given the bins' sums s, the counts x of a random division are binomial, conditional on
their total. By Markov's inequality for exp(−θD) and by P(A | B) ≤ P(A)/P(B),

    P(D ≤ d) ≤ exp(θd) Π E exp(−θ D_b) / P(total), for every θ > 0.

Source: Chernoff (1952), "A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
observations"; Charikar, Chen and Farach-Colton (2002), "Finding frequent items in data streams", for hashed histograms
from which distances between tables are read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, log1p, pi, sqrt

import numpy as np

from dpengine.array_types import Floats, Ints

__all__ = ["BINS", "FALSE_ALARM", "NAMELESS", "ROWS", "VALUES", "Histogram", "Sketch", "chance", "resemblance"]

BINS = 256
VALUES, ROWS = "values", "rows"  # kinds of histograms: of one column, of whole rows; the others are of counted cells
NAMELESS = "rows in any order of columns"  # such as after columns were renamed, by whose names `ROWS` are hashed
FALSE_ALARM = 1e-4  # tables of different people resemble each other with at most this probability
_EXACT = 64  # rows in a bin up to which its distribution is summed exactly
_WORTH_TESTING = 0.8  # ratio of D to its expectation by chance, above which no test is passed
_TOO_EVEN = 0.6  # as a fraction of the D that chance gives between a sample and equal bins; by chance below 1e-6
_NEARLY_EQUAL = 0.02  # the same ratio for a copy with one row in fifty exchanged
_THETAS = np.geomspace(0.1, 1e6, 60)  # each gives a bound; the least one counts


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows in each of `BINS` bins.

    `kind` says what was hashed; only histograms of the same kind are compared. `used` is true for a column that the
    plan or question reads.
    """

    kind: str
    counts: Ints
    used: bool = False


@dataclass(frozen=True, slots=True)
class Sketch:
    """The histograms by which a table is recognised. They are private, and are kept in the ledger only."""

    histograms: tuple[Histogram, ...]

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes that `from_bytes` reads."""
        return zlib.compress(json.dumps([[h.kind, h.used, h.counts.tolist()] for h in self.histograms]).encode())

    @classmethod
    def from_bytes(cls, payload: bytes) -> Sketch:
        """Return the sketch that `to_bytes` wrote."""
        histograms = json.loads(zlib.decompress(payload))
        return cls(tuple(Histogram(kind, np.array(counts, dtype=np.int64), used) for kind, used, counts in histograms))


def resemblance(new: Sketch, old: Sketch) -> float | None:
    """Estimate the share of rows that two tables have in common; None if they seem to be of different people.

    They seem to be of the same people if a histogram of whole rows, of counted cells, or of a column that `new` reads
    agrees too well for chance with one of `old`; or if those of at least two columns do, and of more than half of the
    columns that could tell.
    """
    new, old = _without_running_numbers(new), _without_running_numbers(old)
    pairs = sum(each.kind == other.kind for each in new.histograms for other in old.histograms)
    level = FALSE_ALARM / max(1, pairs)
    agreeing = []
    for each in new.histograms:
        shared = _best(each.counts, [other.counts for other in old.histograms if other.kind == each.kind], level)
        if shared is not None and (each.kind != VALUES or each.used):
            return shared
        agreeing += [] if shared is None else [shared]
    if len(agreeing) < 2 or 2 * len(agreeing) <= min(_informative_columns(sketch, level) for sketch in (new, old)):
        return None
    return max(agreeing)


def _without_running_numbers(sketch: Sketch) -> Sketch:
    """Leave out columns whose bins are more equal than those of any sample of values."""
    return Sketch(tuple(each for each in sketch.histograms if each.kind != VALUES or not _too_even(each.counts)))


def _too_even(counts: Ints) -> bool:
    mean = counts.mean()
    return bool(mean) and float(((counts - mean) ** 2).sum() / mean) < _TOO_EVEN * (len(counts) - 1)


def _informative_columns(sketch: Sketch, level: float) -> int:
    """Count the columns in which a near copy would agree too well for chance."""
    columns = [each.counts for each in sketch.histograms if each.kind == VALUES]
    near = [_NEARLY_EQUAL * (np.count_nonzero(counts) - 1) for counts in columns]
    return sum(_chance(counts, counts, distance) <= level for counts, distance in zip(columns, near, strict=True))


def _best(counts: Ints, others: Sequence[Ints], level: float) -> float | None:
    """Return the largest estimated share among the histograms that agree with `counts` too well for chance."""
    shares = [1 - of_chance for other in others if (of_chance := _relative_to_chance(counts, other)) <= _WORTH_TESTING
             and chance(counts, other) <= level]  # fmt: skip
    return max(shares, default=None)


def chance(x: Ints, y: Ints) -> float:
    """Bound the probability that a random division of the same rows into two tables of these sizes agrees as well.

    >>> rows, others = np.random.default_rng(0).poisson(40, (2, BINS))
    >>> chance(rows, rows) < 1e-100
    True
    >>> chance(rows, others) > 0.1
    True
    """
    return _chance(x, y, _distance(x, y))


def _distance(x: Ints, y: Ints) -> float:
    """Return Pearson's statistic of homogeneity."""
    n, m = float(x.sum()), float(y.sum())
    if not n or not m:
        return float("inf")
    both = (x + y).astype(np.float64)
    filled = both > 0
    return float(((x * m - y * n)[filled] ** 2 / both[filled]).sum() / (n * m))


def _relative_to_chance(x: Ints, y: Ints) -> float:
    """Return the statistic divided by its expectation under chance."""
    bins = np.count_nonzero(x + y) - 1
    return _distance(x, y) / bins if bins > 0 else float("inf")


def _chance(x: Ints, y: Ints, distance: float) -> float:
    """Bound the probability that a random division of the same rows has at most this distance."""
    both = x + y
    sizes, times = np.unique(both[both > 0], return_counts=True)
    n, total = int(x.sum()), int(both.sum())
    if not 0 < n < total or distance == float("inf"):
        return 1.0
    part = n / total
    logs = _THETAS * distance - _log_binomial(total, n, part)
    for size, often in zip(sizes.tolist(), times.tolist(), strict=True):
        logs += often * _log_transform(size, part)
    return float(np.exp(min(0.0, logs.min())))


def _log_transform(size: int, part: float) -> Floats:
    """Bound log E exp(−θ D_b) of a bin of `size` rows, for all `_THETAS`."""
    if size > _EXACT:
        return _log_transform_of_normal(size * part * (1 - part), (1 - 2 * part) ** 2)
    counts = range(size + 1)
    weights = np.array([_log_binomial(size, count, part) for count in counts])
    squares = (np.array(counts) - size * part) ** 2 / (size * part * (1 - part))
    logs = weights[:, None] - np.outer(squares, _THETAS)
    largest = logs.max(axis=0)
    transformed: Floats = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return transformed


def _log_transform_of_normal(variance: float, skew: float) -> Floats:
    """Bound `_log_transform` of a large bin, whose counts are nearly normal on the whole numbers.

    A sum of exp(−ax²) over whole numbers shifted by any amount is at most 1 + √(π/a), and by Poisson's summation at
    most √(π/a) (1 + 2/(exp(π²/a) − 1)). A binomial probability is above the normal one by its skewness at most.
    """
    spread = 1 / np.sqrt(1 + 2 * _THETAS)
    summation = 1 + 2 / np.expm1(np.minimum(2 * pi**2 * variance * spread**2, 700))
    sums = np.minimum(1 / sqrt(2 * pi * variance) + spread, spread * summation)
    return np.minimum(0.0, np.log(sums) + log1p(skew / (4 * variance)))


def _log_binomial(size: int, count: int, part: float) -> float:
    """Return the logarithm of the probability of `count` successes among `size`."""
    ways = lgamma(size + 1) - lgamma(count + 1) - lgamma(size - count + 1)
    return ways + count * log(part) + (size - count) * log(1 - part)
