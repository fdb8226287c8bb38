"""Tables at several levels agree in whole numbers, and their intervals are wide enough."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpengine import Plan
from dpengine.array_types import Columns, Ints
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.level_errors import LevelErrors
from dpengine.estimate.levels import LevelEstimates
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Measurements
from dpengine.marginals.plan_levels import added_up, level_of, tree_of
from dpengine.measure.strategy import decide
from dpengine.noise import moments
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result, conclude
from tests.given_noise import noisy_measurement
from tests.plans import geography_plan


def truth(plan: Plan, table: Columns) -> Ints:
    """Return the counts of a table that all tables are sums of."""
    joint = ("place", "sex")
    counts = Marginal(joint, mock_counts(plan, joint))
    declared = plan.resolution.declared_columns(table)
    return plan.resolution.coarsen(counts.project(declared).values, declared, table)


@pytest.mark.by_day(6)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", ["1/20", "1", "9"])
def test_children_add_up_to_their_parents_in_every_table_and_row(seed: int, epsilon: str) -> None:
    tables = [None, [["place@zone", "sex"], ["place@land"]], [["place@land", "sex"], ["place@zone"]]][seed % 3]
    plan = geography_plan(seed, tables, epsilon=epsilon, rows_about=500)
    measured = decide(plan).measure(lambda marginals: [truth(plan, each) for each in marginals])
    result = Result.from_bytes(conclude(plan, measured).to_bytes())
    finest = plan.resolution.levels[-1]
    rows, estimates = result.rows(), result.estimates
    for table in (*plan.marginals, ()):
        counts = result.counts(table)
        assert counts.min() >= 0
        assert counts.shape == plan.shape(table)
        assert counts.sum() == result.counts(()) == len(rows[finest])
        counted = np.zeros_like(counts)
        np.add.at(counted, tuple(rows[name] for name in table), 1 if table else counts)
        assert (counted == counts).all()
        if 1 <= level_of(plan, table) < len(plan.resolution.levels):
            axis = next(k for k, name in enumerate(table) if "@" in name)
            fine = tuple(finest if k == axis else name for k, name in enumerate(table))
            group = plan.resolution.groups(finest, table[axis])
            for whole, parts in ((counts, result.counts(fine)), (estimates.estimate(table), estimates.estimate(fine))):
                sums = [np.take(parts, np.flatnonzero(group == k), axis).sum(axis) for k in range(whole.shape[axis])]
                assert np.allclose(np.stack(sums, axis), whole, atol=1e-5)
    for name in plan.resolution.levels[:-1]:
        assert (plan.resolution.groups(finest, name)[rows[finest]] == rows[name]).all()


@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_no_cell_has_a_narrower_interval_than_its_own_noise_calls_for(epsilon: str) -> None:
    plan = geography_plan(3, epsilon=epsilon)
    errors = LevelErrors(plan, decide(plan).allocations)
    for table in (*plan.marginals, ()):
        widths = np.ravel(errors.half_widths(table))
        exact = [errors._error_of(table, node, added_up(plan, table).max()).half_width() for node in range(widths.size)]
        # Steps of the lattice apart, on which a half-width of few draws lies.
        assert all(width >= 0.98 * own - 1 for width, own in zip(widths, exact, strict=True))
        assert max(widths) <= 1.15 * max(exact) + 1
        assert math.isclose(errors.error(table).half_width(), max(widths), rel_tol=0.02)


@pytest.mark.parametrize("epsilon", ["1", "5", "6"])
@pytest.mark.parametrize("parts", [3, 6, 12, 17])
def test_intervals_of_a_group_of_few_leaves_allow_for_its_noise(parts: int, epsilon: str) -> None:
    groups = {f"g{k}": [f"p{k}"] for k in range(97)} | {"few": [f"f{k}" for k in range(parts)]}
    groups["many"] = [f"m{k}" for k in range(200)]
    place = {"name": "place", "kind": "category", "values": groups, "levels": ["group", "place"]}
    plan = Plan(dataset="d", epsilon=epsilon, columns=[place], tables=[["place@group"], ["place"]])
    errors = LevelErrors(plan, decide(plan).allocations)
    node = list(plan.column("place@group").labels).index("few")
    width = float(np.ravel(errors.half_widths(("place@group",)))[node])
    assert width >= 0.98 * errors._error_of(("place@group",), node, 1).half_width() - 1e-6


@pytest.mark.nightly
def test_intervals_hold_the_truth() -> None:
    plan, random = geography_plan(2, epsilon="1"), np.random.default_rng(0)
    exact = {table: truth(plan, table) for table in plan.marginals}
    inside: dict[object, list[float]] = {table: [] for table in exact}
    for _ in range(60):
        noisy = [noisy_measurement(each, truth(plan, each.columns), random) for each in decide(plan).allocations]
        estimates = LevelEstimates(plan, tuple(noisy))
        for table, counts in exact.items():
            middle, half_width = estimates.intervals(table)
            inside[table].append(float((np.abs(counts - middle) <= half_width).mean()))
    assert all(np.mean(shares) > 0.93 for shares in inside.values())


def test_a_person_in_a_crowded_tree_keeps_the_sums_of_groups() -> None:
    """With next to no noise, every level is exact."""
    plan = geography_plan(4, epsilon="500")
    measured = decide(plan).measure(lambda marginals: [truth(plan, each) for each in marginals])
    result = conclude(plan, measured)
    for table in plan.marginals:
        assert (result.counts(table) == truth(plan, table)).all()


def test_where_leaves_are_mostly_empty_counts_agree_and_estimates_and_intervals_are_those_of_least_squares() -> None:
    """The noisy counts are given ones: numpy's generator with a seed."""
    values = {f"z{z}": {f"l{z}.{k}": [f"p{z}.{k}.{p}" for p in range(10)] for k in range(10)} for z in range(8)}
    place = {"name": "place", "kind": "category", "values": values, "levels": ["zone", "land", "place"], "other": False}
    tables = [["place@zone"], ["place@land"], ["place"]]
    plan = Plan(dataset="d", epsilon="1", columns=[place], tables=tables)
    random = np.random.default_rng(2)
    leaves = random.integers(20, 300, plan.column("place").size) * (random.random(plan.column("place").size) < 0.06)
    noisy = []
    for allocation in decide(plan).allocations:
        exact = plan.resolution.coarsen(leaves, ("place",), allocation.columns)
        noisy.append(noisy_measurement(allocation, exact, random))
    result = conclude(plan, Measurements(tuple(noisy)))
    squares = tree_of(plan, {each.allocation.columns: moments.variance(each.allocation.scale) for each in noisy})
    by_columns = {each.allocation.columns: each.values.astype(np.float64) for each in noisy}
    nodes = squares.estimate([None, *(by_columns[table] for table in plan.marginals)])
    for table, expected in zip(plan.marginals, nodes[1:], strict=True):
        assert np.allclose(result.estimates.estimate(table), expected, atol=1e-5)
        assert (result.counts(table) == plan.resolution.coarsen(result.counts(("place",)), ("place",), table)).all()
    published, linear = result.counts(("place",)), np.rint(np.maximum(nodes[-1], 0))
    assert np.abs(published - leaves).sum() < 0.5 * np.abs(linear - leaves).sum()
    assert (published[leaves == 0] == 0).mean() > 0.9


def test_what_levels_say_to_a_model_beside_them_has_their_noise() -> None:
    """A model takes the total and the columns beside the levels as measured once more: with this variance, and 1/12."""
    cells = {"sex": 2, "ward": 5, "age": 4}
    columns: list[dict[str, Any]] = [
        {"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)]}
        for name, size in cells.items()
    ]
    towns = {"north": ["n1", "n2"], "south": ["s1"]}
    columns.append({"name": "place", "kind": "category", "values": towns, "levels": ["state", "town"]})
    tables = [["place@state", "sex"], ["place", "sex"], ["sex", "ward"], ["ward", "age"], ["sex", "age"]]
    strategy = decide(Plan(dataset="d", epsilon=4, columns=columns, tables=tables, strategy="adaptive"))
    estimates = derive_estimates(strategy.plan, strategy.blank())
    assert isinstance(estimates, EstimatesOfParts)
    assert estimates.model is not None
    (levels,) = estimates.levels
    stated = {one.allocation.columns: float(2 * one.allocation.scale**2) for one in estimates.model.known}
    assert stated == {each: pytest.approx(levels.variance(each) + 1 / 12, rel=1e-4) for each in ((), ("sex",))}
