"""Random hash functions whose collisions have exactly the chance that estimators assume, and Walsh–Hadamard sums.

h(x) = b + Σ a_i·x_i mod g, where x_i are the binary digits of x and a, b are even draws from 0 … g−1. Digits of
two numbers differ by −1, 0 or 1, and 1 and −1 have inverses whatever g is. So h(x) − h(y) is even over
0 … g−1 for x ≠ y: exactly universal. For three different numbers x, y, z the digits of x − y and x − z, being
independent modulo 2, have a 2 × 2 minor that is odd and at most 2 in size, thus ±1: the two differences are
even and independent, so hashes of three numbers are, for every g.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.noise.selection import uniform_below

__all__ = ["Hashes", "binary_digits", "draw_keys", "hash_own", "hash_table", "walsh"]

Hashes = npt.NDArray[np.unsignedinteger]  # keys or values of hashes, in as few bytes as hold twice g


def binary_digits(answers: int) -> int:
    """How many binary digits the numbers 0 … ``answers`` − 1 need."""
    return max(1, (answers - 1).bit_length())


def draw_keys(functions: int, answers: int, buckets: int) -> Hashes:
    """Keys of so many functions into 0 … ``buckets`` − 1: b and the a_i down, a column a function."""
    rows = 1 + binary_digits(answers)
    drawn = uniform_below(buckets, rows * functions).reshape(rows, functions)
    keys: Hashes = drawn.astype(np.min_scalar_type(2 * buckets - 1))
    return keys


def hash_own(keys: Hashes, values: Ints, buckets: int) -> Hashes:
    """The hash of each of ``values`` by the function of its own column."""
    hashed: Hashes = keys[0].copy()
    for digit, key in enumerate(keys[1:]):
        hashed = _added(hashed, key * ((values >> digit) & 1).astype(keys.dtype), buckets)
    return hashed


def hash_table(keys: Hashes, answers: int, buckets: int) -> Hashes:
    """The hashes of 0 … ``answers`` − 1, a row each, by the function of each column: each digit doubles the table."""
    table = np.empty((answers, keys.shape[1]), dtype=keys.dtype)
    table[0] = keys[0]
    for digit, key in enumerate(keys[1:]):
        known = 1 << digit
        rest = min(known, answers - known)
        table[known : known + rest] = _added(table[:rest], key, buckets)
    return table


def _added(first: Hashes, second: Hashes, buckets: int) -> Hashes:
    """Sums modulo ``buckets``: the less of a sum and the sum − ``buckets``, which wraps around below 0."""
    total = first + second
    modulo: Hashes = np.minimum(total, total - total.dtype.type(buckets))
    return modulo


def walsh(sums: Ints) -> Ints:
    """For each j the sum over l of (−1)^⟨j, l⟩·``sums``[…, l], ⟨j, l⟩ the number of binary ones they share.

    The length of the last axis is a power of two.
    """
    *lead, length = sums.shape
    done = 1
    while done < length:
        halves = sums.reshape(*lead, -1, 2, done)
        sums = np.stack([halves[..., 0, :] + halves[..., 1, :], halves[..., 0, :] - halves[..., 1, :]], axis=-2)
        done *= 2
    return sums.reshape(*lead, length)
