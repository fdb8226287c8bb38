"""Estimates of coarser levels that are sums: they add up, and their intervals are those of the sums' noise."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan
from dpengine.array_types import Floats
from dpengine.estimate.error_distribution import error_of_terms
from dpengine.estimate.estimates import ModelledEstimates, derive_estimates
from dpengine.estimate.summed import SummedEstimates
from dpengine.marginals.measurement import Measurements
from dpengine.marginals.plan_levels import group_sizes
from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts

AGE = {
    "name": "age",
    "kind": "number",
    "edges": [0, 5, 10, 15, 20, 40, 60, 65, 70],
    "levels": {"wide": [0, 20, 60, 70]},
}
DAY = {"name": "day", "kind": "number", "edges": list(range(8)), "levels": {"half": [0, 5, 7]}}
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
TABLES = [["age", "sex"], ["age@wide", "sex"], ["age@wide", "day@half"], ["day", "sex"], ["age@wide"]]


def plan_of(epsilon: str = "1", **more: Any) -> Plan:
    fields: dict[str, Any] = {"dataset": "d", "epsilon": epsilon, "columns": [AGE, DAY, SEX], "tables": TABLES}
    return Plan(**(fields | {"coarser_levels": "summed", "strategy": "direct", "rows_about": 5_000} | more))


def release_of(plan: Plan) -> tuple[SummedEstimates, Measurements]:
    strategy = decide(plan)
    measured = strategy.measure(lambda marginals: [mock_counts(plan, each) for each in marginals])
    estimates = derive_estimates(strategy.plan, measured)
    assert isinstance(estimates, SummedEstimates)
    return estimates, measured


@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
def test_coarser_tables_are_sums_of_the_finest(strategy: str) -> None:
    plan = plan_of(strategy=strategy)
    estimates, _ = release_of(plan)
    for table in plan.marginals:
        finest = plan.resolution.finest_columns(table)
        sums = plan.resolution.coarsen(estimates.finest.estimate(finest), finest, table)
        assert np.allclose(estimates.estimate(table), sums, atol=1e-3 * sums.size)
        assert estimates.estimate(table).shape == plan.shape(table)


def test_half_widths_are_those_of_the_summed_noise() -> None:
    """The half-width of a normal sum is 1.96 standard deviations; of Laplace noise, up to 2.12."""
    plan = plan_of("1/100")
    estimates, _ = release_of(plan)
    assert estimates.direct is not None
    for table in (("age@wide", "sex"), ("age@wide", "day@half"), ("age@wide",)):
        finest = plan.resolution.finest_columns(table)
        groups = [plan.resolution.groups(fine, name) if fine != name else np.arange(plan.column(name).size)
                  for fine, name in zip(finest, table, strict=True)]  # fmt: skip
        covariance = estimates.direct.squares.covariance(finest, finest)
        half_widths = np.broadcast_to(estimates.intervals(table)[1], plan.shape(table))
        for cell in product(*(range(size) for size in plan.shape(table))):
            inside = np.ix_(*(np.flatnonzero(group == k) for group, k in zip(groups, cell, strict=True)))
            deviation = np.sqrt(_over(covariance, inside))
            assert 1.94 * deviation <= half_widths[cell] <= 2.16 * deviation
        assert estimates.half_width(table) == half_widths.max()


def _over(covariance: Floats, inside: tuple[np.ndarray, ...]) -> float:
    flat = np.zeros(covariance.shape[: covariance.ndim // 2], dtype=bool)
    flat[inside] = True
    return float(covariance.reshape(flat.size, flat.size)[np.ix_(flat.ravel(), flat.ravel())].sum())


@given(sizes=st.lists(st.integers(1, 6), min_size=2, max_size=2))
def test_the_mean_variance_of_sums_is_that_of_their_noise(sizes: list[int]) -> None:
    estimates, _ = release_of(plan_of())
    assert estimates.direct is not None
    squares = estimates.direct.squares
    noise = squares.noise(("age", "day"), groups=tuple(sizes))
    variance = sum(each.weight**2 * each.times * squares.variances[each.measured] for each in noise)
    groups = [np.array([size]) for size in sizes]
    assert squares.variance_of_sums(("age", "day"), groups) == pytest.approx(variance)


def test_intervals_of_sums_hold_the_true_count_as_often_as_they_say() -> None:
    """40 releases of 38 cells each: fewer than 92 % would be missed by chance once in 10⁹ (normal, 400 free cells)."""
    plan = plan_of("1/20")
    held = []
    for _ in range(40):
        estimates, _measured = release_of(plan)
        for table in (each for each in plan.marginals if plan.resolution.finest_columns(each) != each):
            middle, half = estimates.intervals(table)
            held.append((np.abs(middle - mock_counts(plan, table)) <= half).ravel())
    assert np.concatenate(held).mean() > 0.92


def test_a_models_sums_have_intervals_around_their_estimates() -> None:
    plan = plan_of("1/2", strategy="adaptive")
    estimates, _ = release_of(plan)
    assert estimates.model is not None
    middle, half = estimates.intervals(("age@wide", "sex"))
    assert np.array_equal(middle, estimates.estimate(("age@wide", "sex")))
    assert (half >= 1).all()
    assert estimates.usual_half_width(("age@wide", "sex"), middle) > 0


def test_sums_of_a_measured_table_have_intervals_of_the_noise_of_all_cells_that_they_add_up() -> None:
    """Counts far above their noise: a sum of n cells has √n times the noise of one, as in a table measured as it is.

    A table of noise λ has half-widths from 3·λ to 5·λ. Of sums of four cells and more, λ for √n·λ would be too narrow.
    """
    plan = plan_of("3", strategy="adaptive", rows_about=50_000)
    estimates, measured = release_of(plan)
    assert estimates.model is not None
    scales = {one.allocation.columns: float(one.allocation.scale) for one in measured.marginals}
    for table, most in ((("age@wide", "sex"), 4), (("age@wide", "day@half"), 20)):
        added = np.multiply.outer(*group_sizes(plan, table))
        noise = scales[plan.resolution.finest_columns(table)] * np.sqrt(added)
        middle, half_widths = estimates.intervals(table)
        large = middle >= noise
        assert added[large].max() == most
        assert (half_widths[large] >= 3 * noise[large] - 1e-9).all()
        assert (half_widths <= np.maximum(5 * noise, 1) + 1e-9).all()
        usual = estimates.model.half_widths_of_sums(
            plan.resolution.finest_columns(table), middle, group_sizes(plan, table), usual=True
        )
        assert (usual[large] >= 3 * noise[large] - 1e-9).all()


def test_sums_in_a_model_have_the_noise_of_as_many_cells_of_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell holds a third of the rows of its age; 95 % of Laplace noise is within 3 times its scale."""
    estimates, _ = release_of(plan_of("1/2", strategy="adaptive"))
    model = estimates.model
    assert model is not None
    monkeypatch.setattr(ModelledEstimates, "_scales", {"age": 50.0, "sex": 0.0})
    monkeypatch.setattr(ModelledEstimates, "_own_scales", {})
    one, four = (
        model.half_widths_of_sums(("age", "sex"), np.full((2, 3), 1_000.0), [np.array([size, size]), np.ones(3)])
        for size in (1, 4)
    )
    np.testing.assert_allclose(four**2 - one**2, (4 - 1) * (3 * 50 / 3) ** 2)


def test_of_groups_of_many_sizes_none_has_the_error_of_a_smaller_one() -> None:
    """Groups of 1 to 20 cells: errors of a few sizes are worked out, and those between get that of a larger one."""
    ends = np.cumsum([0, *range(1, 21)])
    column = {"name": "age", "kind": "number", "edges": list(range(ends[-1] + 1)), "levels": {"wide": ends.tolist()}}
    plan = plan_of(columns=[column, SEX], tables=[["age", "sex"], ["age@wide", "sex"]])
    estimates, _ = release_of(plan)
    assert estimates.direct is not None
    table, squares = ("age@wide", "sex"), estimates.direct.squares
    half_widths = np.broadcast_to(estimates.intervals(table)[1], plan.shape(table))[:, 0]
    for size, half_width in zip(range(1, 21), half_widths, strict=False):
        noise = squares.noise(("age", "sex"), groups=(size, 1))
        assert half_width >= error_of_terms(estimates.direct.allocations)(noise).half_width()


def test_group_sizes_add_up_to_the_finest_level() -> None:
    plan = plan_of()
    for table in combinations(["age@wide", "day@half", "sex"], 2):
        for name, sizes in zip(table, group_sizes(plan, table), strict=True):
            assert sizes.sum() == plan.column(plan.resolution.finest_columns((name,))[0]).size
            assert (sizes.max() > 1) == ("@" in name)


def test_the_noise_of_a_whole_column_is_that_of_the_total() -> None:
    estimates, _ = release_of(plan_of())
    assert estimates.direct is not None
    squares, sizes = estimates.direct.squares, estimates.direct.squares.sizes
    noise = squares.noise(("age", "sex"), groups=(sizes["age"], sizes["sex"]))
    variance = sum(each.weight**2 * each.times * squares.variances[each.measured] for each in noise)
    assert variance == pytest.approx(squares.variance(()))
