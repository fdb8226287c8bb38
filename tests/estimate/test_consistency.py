"""Published counts are whole, not negative, and agree everywhere, whatever the noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.estimate.consistency import ConsistentTables, make_consistent
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals.fitting import project, rake
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.pairwise import Pairwise, fit_one_table
from dpengine.marginals.smoothing import smooth
from dpengine.measure.allocation import allocate_by_cells
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.moments import variance
from dpengine.synthesis.generate_rows import realise
from tests.given_noise import noisy_measurement
from tests.plans import letters_plan, noisy_values, plans
from tests.synthesis.whole_counts import whole_counts


def noisy(counts: np.ndarray, epsilon: str, random: np.random.Generator | None = None) -> Measurement:
    """Return `counts` as measured, with fresh noise, or with that of a generator."""
    allocation = Allocation(tuple("abcd"[: counts.ndim]), Fraction(epsilon), 1)
    if random is not None:
        return noisy_measurement(allocation, counts, random)
    return Measurement(allocation, counts + discrete_laplace(allocation.scale, counts.shape))


def published(one: Measurement) -> np.ndarray:
    """The consistent counts of a single measured table."""
    values = one.values
    sizes = dict(zip(one.allocation.columns, values.shape, strict=True))
    squares = LeastSquares(sizes, (one.allocation.columns,), (variance(one.allocation.scale),))
    return make_consistent(squares, [values]).table(one.allocation.columns)


@settings(max_examples=60)
@given(plans(), st.data())
def test_tables_are_whole_and_agree_on_all_they_share(plan: Plan, data: st.DataObject) -> None:
    allocations = decide(plan).allocations
    values = noisy_values(data, plan, allocations, -40, 60)
    squares = least_squares(plan, allocations)
    model = realise(make_consistent(squares, values), plan.marginals)  # rows, if pairs overlap in a ring
    tables = {table: model.table(table) for table in (*plan.marginals, ())}
    total = max(0, round(float(squares.estimate((), values))))
    for table, counts in tables.items():
        assert counts.dtype == np.int64
        assert counts.shape == plan.shape(table)
        assert counts.min() >= 0
        assert counts.sum() == total
        for other, others in tables.items():
            shared = tuple(name for name in table if name in other)
            assert (
                Marginal(table, counts).project(shared).values == Marginal(other, others).project(shared).values
            ).all()


@pytest.mark.parametrize("tables", [[["a", "b", "c"]], [["a", "b"], ["b", "c"]], [["a", "b"], ["c"]]])
def test_consistent_tables_stay_as_they_are(tables: list[list[str]]) -> None:
    plan = letters_plan([5, 4, 3], tables, epsilon="10")  # so that noise is not to be expected
    joint = np.arange(60).reshape(5, 4, 3) % 7
    allocations = decide(plan).allocations
    values = [Marginal(("a", "b", "c"), joint).project(allocation.columns).values for allocation in allocations]
    model = make_consistent(least_squares(plan, allocations), values)
    for table in plan.marginals:
        assert (model.table(table) == Marginal(("a", "b", "c"), joint).project(table).values).all()
    again = make_consistent(
        least_squares(plan, allocations), [model.table(allocation.columns) for allocation in allocations]
    )
    assert all((a.values == b.values).all() for a, b in zip(again.tables, model.tables, strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(2, 2), (1, 5), (7, 9), (3, 4, 5), (2, 2, 2, 3)]),
    st.integers(0, 300),
    st.sampled_from(["0.05", "1", "5"]),
)
def test_counts_of_one_table_are_whole_and_add_up_to_its_noisy_total(
    shape: tuple[int, ...], most: int, epsilon: str
) -> None:
    one = noisy((np.arange(np.prod(shape)).reshape(shape) * 7919) % (most + 1), epsilon)
    whole = published(one)
    assert whole.dtype == np.int64
    assert whole.min() >= 0
    assert whole.sum() == max(0, one.values.sum())
    assert (published(one) == whole).all()


def test_counts_of_one_table_are_nearer_the_truth_than_projected_ones() -> None:
    """20,000 people in 30 × 20 × 4 cells, near a line, most cells empty; the noise is the same in every run.

    Errors are 0.62 times as large; in 31 other draws from 0.60 to 0.64 times, and those of projected counts are 1.
    """
    random = np.random.default_rng(1)
    a, b, c = np.indices((30, 20, 4))
    shape = np.exp(-(((a / 30 - b / 20) / 0.12) ** 2)) * 0.5**c
    counts = np.round(20_000 * shape / shape.sum()).astype(np.int64)
    ours, projected = 0.0, 0.0
    for _ in range(10):
        one = noisy(counts, "0.1", random)
        total = float(one.values.sum())
        margins = [((k,), project(one.values.sum(axis=tuple({0, 1, 2} - {k})), total)) for k in range(3)]
        ours += np.abs(published(one) - counts).sum()
        projected += np.abs(rake(project(one.values, total), margins, 10) - counts).sum()
    assert ours < 0.75 * projected


def test_counts_of_one_column_are_smoothed_unless_noise_is_little_or_cells_are_very_many() -> None:
    """Cells hold 40 people each, noise has the scale 10 or 0.5; a projection leaves the noise as it is.

    The noise is the same in every run. In 280 other draws, smoothing left 0.06 of the error (at most 0.20); without it,
    1 is left. Counts that are not smoothed are rounded, so they differ by less than 1 whatever the noise.
    """
    random = np.random.default_rng(1)

    def of(cells: int, epsilon: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        one = noisy(np.full(cells, 40), epsilon, random)
        return published(one), project(one.values, int(one.values.sum())), np.full(cells, 40)

    smoothed, projected, truth = of(500, "0.1")
    assert np.abs(smoothed - truth).sum() < 0.8 * np.abs(projected - truth).sum()
    for plain, projected, _ in (of(500, "2"), of(1100, "0.1")):
        assert np.abs(plain - projected).max() < 1


def test_a_ring_of_wide_tables_is_rounded_to_within_the_noise_of_its_fit() -> None:
    """Rounding one joint table costs little beyond the fit, where plain rounding would cost much more.

    The noise is the same in every run. In 17 other draws, errors were 0.01 less than those of the estimates, up to 0.01
    more; rounded one by one, 5,760 cells would have half a person each too much or too little.
    """
    plan = letters_plan([12, 10, 8, 6], {"each": 3}, epsilon="2")
    rng = np.random.default_rng(5)
    truth = rng.multinomial(20_000, rng.dirichlet(np.full(12 * 10 * 8 * 6, 0.3))).reshape(12, 10, 8, 6)
    allocations, names = allocate_by_cells(plan, plan.marginals[:4]), ("a", "b", "c", "d")
    squares = least_squares(plan, allocations)
    values = [noisy_measurement(s, Marginal(names, truth).project(s.columns).values, rng).values for s in allocations]
    model = make_consistent(squares, values)
    assert [table.columns for table in model.tables] == [names]
    for table in plan.marginals[:4]:
        exact = Marginal(names, truth).project(table).values
        unbiased = np.abs(squares.estimate(table, values) - exact).mean()
        assert np.abs(model.table(table) - exact).mean() < unbiased + 0.25


def test_rows_of_a_ring_of_pairs_are_as_near_as_its_noise() -> None:
    """The noise is the same in every run. In 18 other draws, rows were 0.06 (0.00 to 0.17) farther than estimates."""
    plan = letters_plan([12, 10, 8, 6], {"each": 2}, epsilon="2")
    rng = np.random.default_rng(5)
    truth = rng.multinomial(20_000, rng.dirichlet(np.full(12 * 10 * 8 * 6, 0.3))).reshape(12, 10, 8, 6)
    pairs, names = [table for table in plan.marginals if len(table) == 2], ("a", "b", "c", "d")
    allocations = allocate_by_cells(plan, pairs)
    squares = least_squares(plan, allocations)
    values = [noisy_measurement(s, Marginal(names, truth).project(s.columns).values, rng).values for s in allocations]
    rows = whole_counts(make_consistent(squares, values), 2)
    for table in pairs:
        exact = Marginal(names, truth).project(table).values
        unbiased = np.abs(squares.estimate(table, values) - exact).mean()
        assert np.abs(rows.table(table) - exact).mean() < unbiased + 0.25


def test_rows_of_some_measured_pairs_are_as_near_as_these() -> None:
    """Each column is nearly the next one. Pairs that were not measured would be taken for independent.

    In 12 trials, rows were 1.1 to 1.3 times as far off as the fitted pairs; more than 150 times if they followed all.
    """
    plan, rng = letters_plan([20] * 5, {"each": 2}, epsilon="8"), np.random.default_rng(3)
    first = rng.integers(0, 20, 30_000)
    codes = np.stack([(first + rng.integers(0, 2, first.size)) % 20 for _ in range(5)])
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e")]
    allocations = allocate_by_cells(plan, ring)
    exact = {pair: np.zeros((20, 20), dtype=np.int64) for pair in ring}
    for pair, counts in exact.items():
        np.add.at(counts, tuple(codes["abcde".index(name)] for name in pair), 1)
    values = [noisy_measurement(each, exact[each.columns], rng).values for each in allocations]
    model = make_consistent(least_squares(plan, allocations), values)
    rows = realise(model, ring)
    off = [sum(np.abs(whole.table(pair) - exact[pair]).sum() for pair in ring) for whole in (rows, model)]
    assert off[0] < 2 * off[1]


@pytest.mark.parametrize("wide", [3, 4])
def test_larger_tables_in_a_ring_follow_their_pairs_and_agree(wide: int) -> None:
    """Their joint table would have 3.2 million cells. Pairs say nothing of the last column, other columns do.

    In 12 trials, errors were 0.26 times those of the estimates and 0.29 times those of a model of pairs; with tables of
    four columns 0.08 and 0.29 times. Rows were 0.90 and 0.82 times as far off.
    """
    plan, rng = letters_plan([20] * 5, {"each": wide}, epsilon="8"), np.random.default_rng(3)
    codes = rng.binomial(19, 0.3, size=(5, 30_000))
    codes[4] = (codes[0] + codes[1] + codes[2] + codes[3]) % 20
    codes[3] = (codes[0] + codes[1]) % 20
    allocations = allocate_by_cells(plan, maximal(plan.estimated_tables))
    assert len(allocations) == math.comb(5, wide)
    exact = {each.columns: np.zeros(plan.shape(each.columns), dtype=np.int64) for each in allocations}
    for columns, counts in exact.items():
        np.add.at(counts, tuple(codes["abcde".index(name)] for name in columns), 1)
    values = [
        exact[each.columns] + np.rint(rng.laplace(0, float(each.scale), plan.shape(each.columns))).astype(np.int64)
        for each in allocations
    ]
    squares = least_squares(plan, allocations)
    model = make_consistent(squares, values)
    of_pairs = replace(model, wide={})
    apart = ours = estimated = modelled = 0.0
    for columns, counts in exact.items():
        table = model.table(columns)
        ours += np.abs(table - counts).sum()
        estimated += np.abs(squares.estimate(columns, values) - counts).sum()
        modelled += np.abs(of_pairs.table(columns) - counts).sum()
        for pair in combinations(columns, 2):
            apart = max(apart, np.abs(Marginal(columns, table).project(pair).values - model.pair(*pair)).sum())
        assert np.allclose(model.table(columns[::-1]), table.T)
        sums = (Marginal(each, model.table(each)).project("ace").values for each in exact if {*"ace"} <= {*each})
        assert any(np.allclose(model.table(tuple("ace")), one) for one in sums)
    assert apart < 0.05 * model.total
    assert ours < 0.4 * estimated
    assert ours < 0.5 * modelled
    rows = whole_counts(model, wide)
    assert sum(np.abs(rows.table(columns) - counts).sum() for columns, counts in exact.items()) < ours


def test_larger_tables_in_a_ring_are_shrunk_by_all_noise_that_their_pairs_have_no_part_in() -> None:
    """A column of one value leaves the noise of the three others together.

    In 12 trials, the error was 0.24 to 0.29 of all rows, and 0.45 to 0.50 if it was taken to leave none.
    """
    rng, tables = np.random.default_rng(4), [(*three, "e") for three in combinations("abcd", 3)]
    sizes = dict(zip("abcde", (40, 40, 40, 40, 1), strict=True))
    codes = {name: rng.binomial(size - 1, 0.3, size=20_000) for name, size in sizes.items()}
    exact = {table: np.zeros([sizes[name] for name in table], dtype=np.int64) for table in tables}
    for table, counts in exact.items():
        np.add.at(counts, tuple(codes[name] for name in table), 1)
    values = [counts + np.rint(rng.laplace(0, 2, counts.shape)).astype(np.int64) for counts in exact.values()]
    model = make_consistent(LeastSquares(sizes, tuple(tables), (8.0,) * len(tables)), values)
    assert sum(np.abs(model.table(table) - counts).sum() for table, counts in exact.items()) < 0.37 * 80_000


@pytest.mark.parametrize(
    ("columns", "size", "scale", "one"), [(4, 6, 1, True), (4, 6, 200, False), (6, 11, 0.001, False)]
)
def test_larger_tables_in_a_ring_go_through_one_table_only_if_it_is_small_and_noise_little(
    columns: int, size: int, scale: float, one: bool
) -> None:
    """Noise of scale 1 in 216 cells is less than 10,000 people, of scale 200 more; 11⁶ cells are too many."""
    names, rng = "abcdef"[:columns], np.random.default_rng(6)
    tables = tuple(combinations(names, 3))
    squares = LeastSquares(dict.fromkeys(names, size), tables, (2.0 * scale**2,) * len(tables))
    codes = dict(zip(names, rng.integers(0, size, (columns, 10_000)), strict=True))
    values = [np.zeros((size,) * 3, dtype=np.int64) for _ in tables]
    for table, counts in zip(tables, values, strict=True):
        np.add.at(counts, tuple(codes[name] for name in table), 1)
    assert isinstance(make_consistent(squares, values), ConsistentTables) == one


def ring_of_pairs(
    people: int, epsilon: str, *, seed: int
) -> tuple[LeastSquares, dict[tuple[str, ...], np.ndarray], list[np.ndarray]]:
    """Four columns that follow one number: exact pairs, and what measuring them all gives, the same in every run."""
    plan, rng = letters_plan([12, 10, 8, 6], {"each": 2}, epsilon=epsilon), np.random.default_rng(seed)
    common = rng.normal(size=people)
    codes = [
        np.clip((common + rng.normal(size=people) + 3) / 6 * size, 0, size - 1).astype(int) for size in (12, 10, 8, 6)
    ]
    allocations = allocate_by_cells(plan, [table for table in plan.marginals if len(table) == 2])
    exact = {}
    for each in allocations:
        exact[each.columns] = np.zeros(plan.shape(each.columns), dtype=np.int64)
        np.add.at(exact[each.columns], tuple(codes["abcd".index(name)] for name in each.columns), 1)
    noise = [
        np.rint(rng.laplace(0, float(each.scale), plan.shape(each.columns))).astype(np.int64) for each in allocations
    ]
    return (
        least_squares(plan, allocations),
        exact,
        [counts + more for counts, more in zip(exact.values(), noise, strict=True)],
    )


def test_pairs_of_a_ring_are_nearer_than_each_by_itself() -> None:
    """Columns and other pairs say more of a pair than its own sums: errors were 0.67 to 0.81 times in 20 trials."""
    squares, exact, values = ring_of_pairs(5_000, "0.5", seed=3)
    model = make_consistent(squares, values)
    together = alone = 0.0
    for pair, counts in exact.items():
        together += np.abs(model.table(pair) - counts).sum()
        alone += np.abs(
            fit_one_table(squares.estimate(pair, values), pair, math.sqrt(squares.variance(pair) / 2)) - counts
        ).sum()
    assert together < 0.9 * alone


def test_columns_of_a_ring_follow_their_pairs_where_most_cells_are_empty() -> None:
    """A column decides the others: empty cells lose their noise, so sums are 0.53 to 0.67 times as far off."""
    plan, rng = letters_plan([20, 20, 20], {"each": 2}, epsilon="1"), np.random.default_rng(5)
    pairs = [table for table in plan.marginals if len(table) == 2]
    allocations, counts = allocate_by_cells(plan, pairs), rng.integers(100, 1_000, 20)
    squares = least_squares(plan, allocations)
    values = [np.diag(counts) + np.rint(rng.laplace(0, float(each.scale), (20, 20))) for each in allocations]
    model = make_consistent(squares, values)
    smoothed = smooth(squares.estimate(("a",), values), math.sqrt(squares.variance(("a",)) / 2), float(counts.sum()))
    assert np.abs(model.table(("a",)) - counts).sum() < 0.8 * np.abs(smoothed - counts).sum()


def test_a_ring_with_hardly_any_noise_keeps_its_columns_and_one_of_a_single_value_is_no_trouble() -> None:
    squares, _, values = ring_of_pairs(5_000, "12", seed=4)
    column = squares.estimate(("a",), values)
    assert np.array_equal(make_consistent(squares, values).table(("a",)), project(column, round(column.sum())))
    plan = letters_plan([1, 4, 5], {"each": 2}, epsilon="1")
    allocations = allocate_by_cells(plan, [table for table in plan.marginals if len(table) == 2])
    noisy = [np.full(plan.shape(each.columns), 3) for each in allocations]
    for values in (noisy, [0 * each for each in noisy]):
        model = make_consistent(least_squares(plan, allocations), values)
        assert np.isfinite(model.table(("a", "b"))).all()


@pytest.mark.parametrize(("epsilon", "kind"), [("3", "fitted"), ("6", "both"), ("9", "measured")])
def test_rows_follow_measured_pairs_the_more_of_their_noise_is_none(epsilon: str, kind: str) -> None:
    """Up to a deviation of 1, they follow these alone, from 1.7 on the fitted ones, and a mean of both between."""
    squares, exact, values = ring_of_pairs(5_000, epsilon, seed=4)
    model = make_consistent(squares, values)
    assert isinstance(model, Pairwise)
    deviation = math.sqrt(max(map(squares.variance, exact)))
    part = min(1, max(0, (1.7 - deviation) / 0.7))
    assert {0: "fitted", 1: "measured"}.get(part, "both") == kind
    estimate = squares.estimator(values)
    for pair in exact:
        wanted = part * project(estimate(pair), model.total) + (1 - part) * model.table(pair)
        assert np.allclose(model.noise[pair][0], wanted)


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_counts_of_sparse_tables_are_nearer_than_estimates(epsilon: str) -> None:
    """The noise is the same in every run. In 146 other draws, errors were 0.11 to 0.31 times those of the estimates.

    At ε = 1, in 354 draws, they were 0.41 to 0.64 times.
    """
    plan = letters_plan([20, 30, 10], [["a", "b", "c"], ["a", "b"]], epsilon=epsilon)
    rng = np.random.default_rng(6)
    truth = rng.multinomial(5_000, rng.dirichlet(np.full(6000, 0.1))).reshape(20, 30, 10)
    allocations = decide(plan).allocations
    squares = least_squares(plan, allocations)
    values = [noisy_measurement(allocations[0], truth, rng).values]
    model = make_consistent(squares, values)
    for table in plan.marginals:
        exact = Marginal(("a", "b", "c"), truth).project(table).values
        assert np.abs(model.table(table) - exact).mean() < 0.9 * np.abs(squares.estimate(table, values) - exact).mean()


@pytest.mark.parametrize("values", [[-5, -3], [0, 0], [7, -9]])
def test_an_empty_or_negative_total_gives_an_empty_table(values: list[int]) -> None:
    plan = letters_plan([2], [["a"]])
    model = make_consistent(least_squares(plan, decide(plan).allocations), [np.array(values, dtype=np.int64)])
    assert model.table(("a",)).tolist() == [0, 0]
