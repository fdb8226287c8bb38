"""Synthetic rows from a model of pairs: whole, repeatable, and as near to the pairs as is said."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dpengine.consistency import rows_of
from dpengine.pairwise import Pairwise
from dpengine.rows import deal_rows
from dpengine.synthesis import deal

NAMES = ("a", "b", "c", "d")


def model_of(people: np.ndarray, size: int) -> Pairwise:
    """The exact pairs of real rows, of shape (columns, rows): a model that whole rows can meet."""
    one = {name: np.bincount(codes, minlength=size).astype(float) for name, codes in zip(NAMES, people, strict=True)}
    two = {}
    for (i, a), (k, b) in combinations(enumerate(NAMES), 2):
        cells = np.bincount(people[i] * size + people[k], minlength=size * size)
        two[a, b] = cells.reshape(size, size).astype(float)
    return Pairwise(float(people.shape[1]), one, two)


def people(rows: int, size: int) -> np.ndarray:
    """Columns that depend on each other in rings."""
    k = np.arange(rows)
    a, b = k * 7 % size, (k * 7 + (k // 11) % 3) % size
    return np.stack([a, b, (a + b + k // 1000) % size, (a * b + k // 500) % size])


def test_pairs_counted_from_the_rows_are_within_two_percent_of_the_model() -> None:
    """The bound that is stated: where whole rows can meet the model, less than 2 % of them lie in a wrong cell."""
    model = model_of(people(20_000, 6), 6)
    rows = rows_of(model)
    for a, b in combinations(NAMES, 2):
        assert np.abs(rows.table((a, b)) - model.pair(a, b)).sum() < 0.02 * 20_000


def test_rows_and_tables_are_one() -> None:
    model = model_of(people(5000, 4), 4)
    rows = rows_of(model)
    dealt = deal(rows)
    assert rows.table(()) == 5000
    assert list(dealt) == list(NAMES)
    cells = np.ravel_multi_index([dealt[name] for name in ("c", "a", "d")], (4, 4, 4))
    assert np.array_equal(rows.table(("c", "a", "d")).ravel(), np.bincount(cells, minlength=64))


def test_the_same_model_gives_the_same_rows() -> None:
    model = model_of(people(3000, 5), 5)
    assert np.array_equal(deal_rows(model, 3000), deal_rows(model, 3000))


def test_a_model_with_empty_rows_is_dealt_all_the_same() -> None:
    two = {(a, b): np.zeros((3, 3)) for a, b in combinations(NAMES, 2)}
    model = Pairwise(10.0, dict.fromkeys(NAMES, np.array([10.0, 0.0, 0.0])), two)
    assert deal_rows(model, 10).shape == (4, 10)


def test_any_number_of_rows_can_be_dealt() -> None:
    model = model_of(people(1000, 3), 3)
    for rows in (0, 1, 2, 7, 2500):
        codes = deal_rows(model, rows)
        assert codes.shape == (4, rows)
        assert codes.size == 0 or (codes.min() >= 0 and codes.max() < 3)
