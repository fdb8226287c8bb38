"""Random hash functions that collide with exactly the probability that estimators assume; the Walsh–Hadamard transform.

h(x) = b + Σ a_i·x_i mod g, where x_i are the binary digits of x, and a and b are uniform over 0 … g−1. Digits of two
numbers differ by −1, 0 or 1, and 1 and −1 have inverses modulo every g. So h(x) − h(y) is uniform over 0 … g−1 for
x ≠ y: the functions are exactly universal. For three different numbers x, y, z the digits of x − y and x − z are
independent modulo 2, so they have a 2 × 2 minor that is odd and at most 2 in size, thus ±1. So the two differences are
uniform and independent, and so are the hashes of three numbers, for every g.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.noise.selection import uniform_below

__all__ = ["Hashes", "binary_digits", "draw_keys", "hash_table", "hash_values", "walsh"]

Hashes = npt.NDArray[np.unsignedinteger]  # keys or values of hashes, in as few bytes as hold twice g


def binary_digits(answers: int) -> int:
    """Return how many binary digits the numbers 0 … `answers` − 1 need.

    >>> binary_digits(2), binary_digits(1000)
    (1, 10)
    """
    return max(1, (answers - 1).bit_length())


def draw_keys(functions: int, answers: int, buckets: int) -> Hashes:
    """Draw the keys of `functions` hash functions into 0 … `buckets` − 1, one column each: b, then the a_i.

    >>> draw_keys(3, 1000, 4).shape
    (11, 3)
    """
    rows = 1 + binary_digits(answers)
    drawn = uniform_below(buckets, rows * functions).reshape(rows, functions)
    keys: Hashes = drawn.astype(np.min_scalar_type(2 * buckets - 1))
    return keys


def hash_values(keys: Hashes, values: Ints, buckets: int) -> Hashes:
    """Hash the k-th of `values` by the function whose keys are the k-th column.

    >>> keys = np.array([[1, 0], [2, 3], [1, 1]], dtype=np.uint8)
    >>> hash_values(keys, np.array([3, 1]), 4).tolist()
    [0, 3]
    """
    hashed: Hashes = keys[0].copy()
    for digit, key in enumerate(keys[1:]):
        hashed = _added(hashed, key * ((values >> digit) & 1).astype(keys.dtype), buckets)
    return hashed


def hash_table(keys: Hashes, answers: int, buckets: int) -> Hashes:
    """Hash each of 0 … `answers` − 1, one row each, by every function, one column each. Every digit doubles the table.

    >>> hash_table(np.array([[1], [2], [1]], dtype=np.uint8), 4, 4).T.tolist()
    [[1, 3, 2, 0]]
    """
    table = np.empty((answers, keys.shape[1]), dtype=keys.dtype)
    table[0] = keys[0]
    for digit, key in enumerate(keys[1:]):
        known = 1 << digit
        rest = min(known, answers - known)
        table[known : known + rest] = _added(table[:rest], key, buckets)
    return table


def _added(first: Hashes, second: Hashes, buckets: int) -> Hashes:
    """Return sums modulo `buckets`: the smaller of a sum and the sum − `buckets`, which wraps around below 0."""
    total = first + second
    modulo: Hashes = np.minimum(total, total - total.dtype.type(buckets))
    return modulo


def walsh(sums: Ints) -> Ints:
    """Return the Walsh–Hadamard transform over the last axis, whose length is a power of two.

    Entry j is the sum over l of (−1)^⟨j, l⟩·`sums`[…, l], where ⟨j, l⟩ is the number of binary ones that both share.

    >>> walsh(np.array([5, 1, 0, 2])).tolist()
    [8, 2, 4, 6]
    """
    *lead, length = sums.shape
    done = 1
    while done < length:
        halves = sums.reshape(*lead, -1, 2, done)
        sums = np.stack([halves[..., 0, :] + halves[..., 1, :], halves[..., 0, :] - halves[..., 1, :]], axis=-2)
        done *= 2
    return sums.reshape(*lead, length)
