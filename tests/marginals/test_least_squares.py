"""The closed form is the Gauss–Markov solution: compared with a dense solver that knows no closed form."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.array_types import Columns
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from tests.calls_and_memory import calls


def dense(squares: LeastSquares, names: Columns) -> np.ndarray:
    """One row a measured cell, one column a joint cell, scaled to unit variance."""
    shape = [squares.sizes[name] for name in names]
    cells = list(product(*(range(size) for size in shape)))
    rows = []
    for columns, variance in zip(squares.measured, squares.variances, strict=True):
        for cell in product(*(range(squares.sizes[name]) for name in columns)):
            wanted = dict(zip(columns, cell, strict=True))
            row = [all(c[names.index(n)] == v for n, v in wanted.items()) for c in cells]
            rows.append(np.array(row, dtype=float) / math.sqrt(variance))
    return np.array(rows)


@st.composite
def estimators(draw: st.DrawFn) -> LeastSquares:
    names = "abcd"[: draw(st.integers(1, 4))]
    sizes = {name: draw(st.integers(1, 3)) for name in names}
    columns = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
    measured = draw(st.lists(columns, min_size=1, max_size=4, unique_by=frozenset))
    variances = tuple(draw(st.sampled_from((1.0, 2.0)) | st.floats(0.1, 10)) for _ in measured)
    return LeastSquares(sizes, tuple(measured), variances)


@given(estimators(), st.data())
def test_estimates_and_variances_equal_the_dense_solution(squares: LeastSquares, data: st.DataObject) -> None:
    names = tuple(sorted(squares.sizes))
    values = [
        np.array(data.draw(st.lists(st.integers(-50, 50), min_size=n, max_size=n)), dtype=np.int64).reshape(shape)
        for columns in squares.measured
        for shape in [[squares.sizes[name] for name in columns]]
        for n in [math.prod(shape)]
    ]
    design = dense(squares, names)
    observed = np.concatenate([v.ravel() / math.sqrt(var) for v, var in zip(values, squares.variances, strict=True)])
    inverse = np.linalg.pinv(design)
    joint = (inverse @ observed).reshape([squares.sizes[name] for name in names])
    covariance = inverse @ inverse.T
    of = data.draw(st.sampled_from(squares.measured))
    table = tuple(data.draw(st.permutations(of)))[: data.draw(st.integers(0, len(of)))]
    assert np.allclose(squares.estimate(table, values), Marginal(names, joint).project(table).values, atol=1e-8)

    first = np.zeros([squares.sizes[name] for name in names])
    first[tuple(0 if name in table else slice(None) for name in names)] = 1
    assert squares.variance(table) == pytest.approx(first.ravel() @ covariance @ first.ravel(), rel=1e-8)


def test_the_variance_beyond_sums_is_that_of_what_is_left_without_them() -> None:
    """It is that of a cell times the part of the cells that the sums leave free."""
    sizes, table = {"a": 3, "b": 2, "c": 4, "d": 1}, ("a", "b", "c", "d")
    squares = LeastSquares(sizes, (table,), (6.0,))
    assert squares.variance_beyond(2, table) == pytest.approx(6 * (2 * 1 * 3) / 24)  # of 24 cells, 6 are left free
    assert squares.variance_beyond(1, table) == pytest.approx(6 * (6 + 2 * 1 + 2 * 3 + 1 * 3) / 24)
    assert squares.variance_beyond(3, table) == 0


@given(estimators(), st.data())
def test_the_noise_terms_have_the_variance_of_the_estimate(squares: LeastSquares, data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(squares.measured))
    table = of[: data.draw(st.integers(0, len(of)))]
    terms = squares.noise(table)
    variance = sum(term.times * term.weight**2 * squares.variances[term.measured] for term in terms)
    assert variance == pytest.approx(squares.variance(table), rel=1e-9)


def test_the_work_of_finding_noise_doubles_with_each_column() -> None:
    def work(columns: int) -> int:
        names = tuple("abcdefghijklm"[:columns])
        squares = LeastSquares(dict.fromkeys(names, 2), (names[:-1], names[1:]), (1.0, 2.0))

        def variance() -> float:
            terms = replace(squares).noise(names[1:-1])  # a new one, which has found nothing yet
            return sum(term.weight**2 * term.times * squares.variances[term.measured] for term in terms)

        assert variance() == pytest.approx(squares.variance(names[1:-1]))
        return calls(variance)

    assert work(12) < 3 * work(11), "it once took 4^k steps for k columns"


def test_a_table_outside_of_what_was_measured_is_refused() -> None:
    squares = LeastSquares({"a": 2, "b": 2}, (("a",), ("b",)), (1.0, 1.0))
    with pytest.raises(ValueError, match="does not lie within"):
        squares.estimate(("a", "b"), [np.zeros(2, dtype=np.int64)] * 2)


def test_projecting_sums_and_reorders() -> None:
    values = np.arange(24).reshape(2, 3, 4)
    assert Marginal(("a", "b", "c"), values).project(("c", "a")).values.tolist() == values.sum(axis=1).T.tolist()
    assert Marginal(("a", "b", "c"), values).project(()).values == 276


def _pairs(columns: int) -> LeastSquares:
    names = [f"c{k:02}" for k in range(columns)]
    return LeastSquares(dict.fromkeys(names, 3), tuple(combinations(names, 2)), (2.0,) * math.comb(columns, 2))


def test_what_many_tables_share_is_computed_once() -> None:
    def work(columns: int) -> float:
        squares = _pairs(columns)
        values = [np.arange(9).reshape(3, 3) + k for k in range(len(squares.measured))]
        estimate = squares.estimator(values)
        return calls(lambda: [estimate(table) for table in squares.measured]) / len(squares.measured)

    assert work(24) < 1.5 * work(12), "each table once read all that share a column with it"


def test_the_noise_of_a_table_costs_little_more_beside_many_that_are_alike() -> None:
    def work(columns: int) -> int:
        squares = _pairs(columns)
        squares = replace(squares, sizes=squares.sizes | {"c01": 4})  # so that the second table is not as the first
        squares.noise(squares.measured[0])
        return calls(lambda: squares.noise(squares.measured[1]))

    assert work(24) < 1.5 * work(12), "it once had a step for each table that shares a column with it"
    terms = _pairs(24).noise(("c00", "c01"))
    assert len(terms) < 10
    assert sum(term.times for term in terms) == 9 * math.comb(24, 2), "each measured cell has its part"


@given(estimators())
def test_noise_computed_for_a_similar_table_is_that_of_the_table(squares: LeastSquares) -> None:
    def noise(of: LeastSquares, table: Columns, *along: object) -> list[tuple[float, float, int]]:
        terms = of.noise(table, *along)
        return sorted((of.variances[term.measured], term.weight, term.times) for term in terms)

    for columns in squares.measured:
        for table in (columns[:size] for size in range(len(columns) + 1)):
            assert noise(squares, table) == noise(replace(squares), table)
            for name in table:
                along = (name, [float(k) for k in range(squares.sizes[name])])
                assert noise(squares, table, *along) == noise(replace(squares), table, *along)


def test_tables_that_share_no_column_cost_little_more_when_they_are_many() -> None:
    def work(tables: int) -> int:
        names = [f"c{k}" for k in range(tables)]
        squares = LeastSquares(dict.fromkeys(names, 5), tuple((name,) for name in names), (2.0,) * tables)
        squares.noise((names[0],))
        return calls(lambda: [squares.noise((name,)) for name in names[1:]])

    assert work(80) < 3 * work(40), "it once was the square of their number"
