"""The exact distribution of each local mechanism's report, derived from its coins, for questions with few answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from scipy import stats

from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, HashedReports, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.protocol import PureProtocol
from dpengine.mechanisms.local.randomized_response import KaryResponse, RandomizedResponse
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch, SketchReports
from dpengine.mechanisms.local.universal_hashing import binary_digits

Distribution = dict[Hashable, Fraction]


def indicator(flag: bool) -> int:
    return int(flag)


def sign(row: int, column: int) -> int:
    """Entry of the Hadamard matrix, by its definition."""
    return -1 if bin(row & column).count("1") % 2 else 1


def bucket(key: tuple[int, ...], value: int, buckets: int) -> int:
    """h(x) = b + Σ a_i x_i mod g."""
    return (key[0] + sum(a for i, a in enumerate(key[1:]) if value >> i & 1)) % buckets


def bits_distribution(
    width: int, own: int, hit: Fraction, stray: Fraction
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    for bits in product((0, 1), repeat=width):
        chance = Fraction(1)
        for place, bit in enumerate(bits):
            heads = hit if place == own else stray
            chance *= heads if bit else 1 - heads
        yield bits, chance


def distribution_of(protocol: PureProtocol, x: int) -> Distribution:
    """P(report = y | answer x), exactly."""
    match protocol:
        case RandomizedResponse(random=r, yes=yes):
            return {y: (1 - r) * indicator(x == y) + r * (yes if y else 1 - yes) for y in (0, 1)}
        case KaryResponse(answers=k, random=r):
            return {y: (1 - r) * indicator(x == y) + r / k for y in range(k)}
        case UnaryEncoding(answers=k, stray=stray):
            return dict(bits_distribution(k, x, Fraction(1, 2), stray))
        case LocalHashing(answers=k, buckets=g, random=r):
            keys = list(product(range(g), repeat=1 + binary_digits(k)))
            return {
                (key, y): Fraction(1, len(keys)) * ((1 - r) * indicator(bucket(key, x, g) == y) + r / g)
                for key, y in product(keys, range(g))
            }
        case HadamardResponse(flip=flip, codes=codes):
            half = Fraction(codes, 2)
            return {y: (1 - flip if sign(x + 1, y) == 1 else flip) / half for y in range(codes)}
        case CountMeanSketch(flip=flip, functions=functions, width=m, table=table):
            return {
                (row, bits): chance / functions
                for row in range(functions)
                for bits, chance in bits_distribution(m, int(table[x, row]), 1 - flip, flip)
            }
        case HadamardSketch(flip=flip, functions=functions, width=m, table=table):
            return {
                (row, place, reported): (1 - flip if sign(int(table[x, row]), place) == reported else flip)
                / (functions * m)
                for row, place, reported in product(range(functions), range(m), (1, -1))
            }
    raise AssertionError(protocol)


def keys_of(protocol: PureProtocol, reports: object) -> list[Hashable]:
    """Return reports in the form of the keys of `distribution_of`."""
    match protocol, reports:
        case UnaryEncoding(answers=k), np.ndarray():
            return [tuple(map(int, bits)) for bits in np.unpackbits(reports, axis=1, count=k)]
        case LocalHashing(), HashedReports(keys=keys, buckets=buckets):
            return [(tuple(map(int, key)), int(y)) for key, y in zip(keys.T, buckets, strict=True)]
        case CountMeanSketch(width=m), SketchReports(functions=functions, messages=messages):
            rows = np.unpackbits(messages, axis=1, count=m)
            return [(int(row), tuple(map(int, bits))) for row, bits in zip(functions, rows, strict=True)]
        case HadamardSketch(), SketchReports(functions=functions, messages=messages):
            pairs = zip(functions.tolist(), messages.tolist(), strict=True)
            return [(row, each // 2, -1 if each % 2 else 1) for row, each in pairs]
    return [int(y) for y in reports]  # type: ignore[attr-defined]


def supports(protocol: PureProtocol, report: Hashable, answer: int) -> bool:
    """Say by definition whether a report, a key of `distribution_of`, supports an answer."""
    match protocol, report:
        case UnaryEncoding(), bits:
            return bool(bits[answer])  # type: ignore[index]
        case LocalHashing(buckets=g), (key, y):
            return bucket(key, answer, g) == y
        case HadamardResponse(), y:
            return sign(answer + 1, y) == 1  # type: ignore[arg-type]
        case CountMeanSketch(table=table), (row, bits):
            return bool(bits[table[answer, row]])
        case HadamardSketch(table=table), (row, place, reported):
            return sign(int(table[answer, row]), place) == reported
    return bool(report == answer)


def p_value(protocol: PureProtocol, other: Distribution, answer: int, people: int) -> float:
    """Return the p-value of χ² of `people` reports about `answer` against a distribution."""
    counts = Counter(keys_of(protocol, protocol.randomise(np.full(people, answer))))
    assert counts.keys() <= other.keys()
    observed = [counts[y] for y in other]
    expected = [float(chance) * people for chance in other.values()]
    assert min(expected) > 5, "too few draws for χ²"
    return float(stats.chisquare(observed, expected).pvalue)
