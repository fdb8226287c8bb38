"""Published counts are whole, not negative, and agree everywhere, whatever the noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dpengine import Plan
from dpengine.estimate.consistency import make_consistent
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals.fitting import project, round_to_totals
from dpengine.marginals.marginal import Marginal
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from tests.plans import letters_plan, plans


@settings(max_examples=60)
@given(plans(), st.data())
def test_tables_are_whole_and_agree_on_all_they_share(plan: Plan, data: st.DataObject) -> None:
    allocations = decide(plan).allocations
    values = []
    for allocation in allocations:
        cells = plan.cells(allocation.columns)
        drawn = data.draw(st.lists(st.integers(-40, 60), min_size=cells, max_size=cells))
        values.append(np.array(drawn, dtype=np.int64).reshape(plan.shape(allocation.columns)))
    squares = least_squares(plan, allocations)
    model = make_consistent(squares, values)
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
def test_what_is_consistent_already_stays_as_it_is(tables: list[list[str]]) -> None:
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


@given(st.lists(st.integers(-20, 30), min_size=1, max_size=8), st.integers(0, 60))
def test_projection_is_the_nearest_point_of_the_simplex(values: list[int], total: int) -> None:
    ours = project(np.array(values, dtype=float), total)
    assert ours.sum() == pytest.approx(total, abs=1e-9)
    assert ours.min() >= 0
    start = np.full(len(values), total / len(values))
    theirs = optimize.minimize(
        lambda x: ((x - values) ** 2).sum(),
        start,
        jac=lambda x: 2 * (x - values),
        bounds=[(0, None)] * len(values),
        constraints={"type": "eq", "fun": lambda x: x.sum() - total, "jac": lambda x: np.ones_like(x)},
        method="SLSQP",
    )
    assert ((ours - values) ** 2).sum() <= theirs.fun + 1e-6 * (1 + abs(theirs.fun))


@given(st.lists(st.lists(st.floats(0, 9), min_size=3, max_size=3), min_size=1, max_size=5), st.data())
def test_rounding_keeps_totals_and_running_sums(rows: list[list[float]], data: st.DataObject) -> None:
    values = np.array(rows)
    totals = np.array([data.draw(st.integers(0, 40)) for _ in rows])
    whole = round_to_totals(values, totals)
    assert (whole.sum(axis=1) == totals).all()
    assert whole.min() >= 0
    sums = values.sum(axis=1, keepdims=True)
    scaled = np.where(sums > 0, values / np.where(sums > 0, sums, 1), 1 / 3) * totals[:, None]
    assert np.abs(np.cumsum(whole, axis=1) - np.cumsum(scaled, axis=1)).max() <= 0.5 + 1e-6


def test_a_ring_is_rounded_to_within_the_noise_of_its_fit() -> None:
    """Rounding one joint table costs little beyond the fit, where plain rounding would cost much more."""
    plan = letters_plan([12, 10, 8, 6], {"each": 2}, epsilon="2")
    rng = np.random.default_rng(5)
    truth = rng.multinomial(20_000, rng.dirichlet(np.full(12 * 10 * 8 * 6, 0.3))).reshape(12, 10, 8, 6)
    allocations, names = decide(plan).allocations, ("a", "b", "c", "d")
    squares = least_squares(plan, allocations)
    values = [
        Marginal(names, truth).project(s.columns).values + discrete_laplace(s.scale, plan.shape(s.columns))
        for s in allocations
    ]
    model = make_consistent(squares, values)
    assert [table.columns for table in model.tables] == [names]
    for table in plan.marginals:
        exact = Marginal(names, truth).project(table).values
        unbiased = np.abs(squares.estimate(table, values) - exact).mean()
        assert np.abs(model.table(table) - exact).mean() < unbiased + 0.25


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_counts_of_sparse_tables_are_nearer_than_estimates(epsilon: str) -> None:
    plan = letters_plan([20, 30, 10], [["a", "b", "c"], ["a", "b"]], epsilon=epsilon)
    rng = np.random.default_rng(6)
    truth = rng.multinomial(5_000, rng.dirichlet(np.full(6000, 0.1))).reshape(20, 30, 10)
    allocations = decide(plan).allocations
    squares = least_squares(plan, allocations)
    values = [truth + discrete_laplace(allocations[0].scale, truth.shape)]
    model = make_consistent(squares, values)
    for table in plan.marginals:
        exact = Marginal(("a", "b", "c"), truth).project(table).values
        assert np.abs(model.table(table) - exact).mean() < 0.9 * np.abs(squares.estimate(table, values) - exact).mean()


@pytest.mark.parametrize("values", [[-5, -3], [0, 0], [7, -9]])
def test_an_empty_or_negative_total_gives_an_empty_table(values: list[int]) -> None:
    plan = letters_plan([2], [["a"]])
    model = make_consistent(least_squares(plan, decide(plan).allocations), [np.array(values, dtype=np.int64)])
    assert model.table(("a",)).tolist() == [0, 0]
