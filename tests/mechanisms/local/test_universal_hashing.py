"""Hash functions collide exactly as often as estimators assume."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from dpengine.mechanisms.local.universal_hashing import hash_table, hash_values, walsh
from tests.mechanisms.local.distributions import sign


def test_two_answers_collide_exactly_one_time_in_the_number_of_buckets() -> None:
    """Every pair of eleven answers, over all keys of small hash functions."""
    for buckets in (2, 3, 4, 6):
        keys = np.array(list(product(range(buckets), repeat=5)), dtype=np.uint8).T
        table = hash_table(keys, 11, buckets)
        for one, other in combinations(range(11), 2):
            assert (table[one] == table[other]).sum() * buckets == keys.shape[1]
        for value in range(11):
            assert (hash_values(keys, np.full(keys.shape[1], value), buckets) == table[value]).all()


def test_three_answers_collide_independently() -> None:
    for buckets in (2, 3, 4, 6):
        keys = np.array(list(product(range(buckets), repeat=4)), dtype=np.uint8).T
        table = hash_table(keys, 8, buckets)
        for x, y, z in combinations(range(8), 3):
            triples = np.unique(table[[x, y, z]], axis=1, return_counts=True)[1]
            assert (triples * buckets**3 == keys.shape[1]).all()
            assert triples.size == buckets**3


def test_hadamard_sums_are_those_of_the_matrix() -> None:
    sums = np.arange(24).reshape(3, 8) ** 2
    matrix = np.array([[sign(row, column) for column in range(8)] for row in range(8)])
    assert (walsh(sums) == sums @ matrix).all()
