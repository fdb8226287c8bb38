"""Tables at several levels are measured apart where crossing levels with all other columns adds more noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, predict
from dpengine.bundle.verify import verify
from dpengine.bundle.write import pack
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.levels import LevelEstimates
from dpengine.measure.level_strategies import Levels, LevelsApart
from dpengine.measure.parts import InParts
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.summed_strategy import Summed
from dpengine.results.mock_table import mock_counts
from dpengine.results.preview import preview
from dpengine.translation.catalogue import speaking

AGE = {"name": "age", "kind": "number", "edges": list(range(0, 81, 4)), "levels": {"20-year": 20}}
OTHERS = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)]}
          for name, size in (("sex", 2), ("job", 12), ("land", 9))]  # fmt: skip
BESIDE = [["age", "job"], ["age@20-year", "land"]]


def plan_of(tables: list[Any], epsilon: object = "1/2", **more: Any) -> Plan:
    return Plan(dataset="d", epsilon=epsilon, rows_about=4000, columns=[AGE, *OTHERS], tables=tables, **more)


@pytest.mark.parametrize(
    ("tables", "epsilon", "way", "by_auto"),
    [
        (BESIDE, "1/2", LevelsApart, LevelsApart),
        ([["age", "job"], ["age@20-year"], ["land", "job"]], "1/2", LevelsApart, Summed),  # the coarser one is a sum
        ([["age", "sex"], ["age@20-year", "sex"]], "1/2", Levels, Levels),  # crossing adds no cells
        ([["age"], ["age@20-year"]], "1/2", Levels, Levels),
        ([["age"], ["age@20-year", "sex"]], "10", Levels, Levels),  # most noise in the one table of all is 0
        ([["age", "job"], ["age@20-year", "land"], ["job", "land"]], "1/2", Levels, Summed),  # they overlap in a ring
    ],
)
def test_the_way_of_least_variance_is_chosen(
    tables: list[Any], epsilon: str, way: type[object], by_auto: type[object]
) -> None:
    """Only *auto* may make coarser levels sums; by other strategies, what is asked is what is measured."""
    assert type(decide(plan_of(tables, epsilon))) is by_auto
    assert type(decide(plan_of(tables, epsilon, strategy="optimised"))) is way


def test_the_reason_is_given_in_the_language_of_the_reader() -> None:
    with speaking("de"):
        crossed, apart = decide(plan_of([["age"], ["age@20-year"]])).why, decide(plan_of(BESIDE)).why
        optimised = decide(plan_of(BESIDE, strategy="optimised")).why
    assert crossed.startswith("Direkt: Ebenen von age")
    assert apart.startswith("Direkt: Jede Tabelle wird auf ihren eigenen Ebenen von age")
    assert optimised.startswith("Optimiert: ")


def test_tables_that_are_measured_apart_have_a_fraction_of_the_error() -> None:
    plan = plan_of(BESIDE)
    crossed = LevelEstimates(plan, Levels(plan).blank().marginals)
    errors = predict(plan).set_index("table")["mean_abs_error"].iloc[:2]
    assert (2.5 * errors < [crossed.mean_abs_error(table) for table in plan.marginals]).all()


def test_each_table_is_paid_for_and_a_row_costs_epsilon() -> None:
    strategy = decide(plan_of(BESIDE))
    assert [each.columns for each in strategy.allocations] == [("age", "job"), ("age@20-year", "land")]
    assert sum((each.epsilon for each in strategy.allocations), Fraction(0)) == Fraction(1, 2)
    assert all(each.scale * each.epsilon == 1 for each in strategy.allocations)


@pytest.mark.parametrize("strategy", ["auto", "optimised"])
def test_counts_of_all_levels_agree_and_the_release_verifies(strategy: str) -> None:
    made = preview(plan_of([*BESIDE, ["age@20-year"], ["sex"]], strategy=strategy))
    fine, coarse, by_age, sexes = (made.counts(table) for table in made.plan.marginals)
    group = made.plan.resolution.groups("age", "age@20-year")
    assert np.array_equal(np.bincount(group, fine.sum(axis=1)), by_age)
    assert np.array_equal(coarse.sum(axis=1), by_age)
    assert sexes.sum() == by_age.sum()
    verify(pack(made))


def test_intervals_hold_the_truth() -> None:
    """Of 20 draws of 562 cells, with 95 % expected; less than 92 % would be a fault."""
    plan = plan_of(BESIDE)
    strategy = decide(plan)
    truths = [mock_counts(plan, table) for table in plan.marginals]
    covered = []
    for _draw in range(20):
        estimates = derive_estimates(plan, strategy.measure(lambda each: [mock_counts(plan, one) for one in each]))
        for table, truth in zip(plan.marginals, truths, strict=True):
            middle, half_widths = estimates.intervals(table)
            covered.append((np.abs(middle - truth) <= half_widths).ravel())
    assert np.concatenate(covered).mean() > 0.92


def test_a_release_whose_levels_were_crossed_before_is_read_as_that() -> None:
    plan = plan_of(BESIDE)
    crossed = Levels(plan)
    measured = crossed.measure(lambda each: [mock_counts(plan, one) for one in each])
    assert isinstance(derive_estimates(plan, measured), LevelEstimates)
    assert isinstance(resolved(plan, measured), Levels)
    assert isinstance(resolved(plan, decide(plan).blank()), LevelsApart)


def test_a_model_draws_on_the_rest_where_that_is_better() -> None:
    pairs = [["sex", "job"], ["job", "land"], ["sex", "land"]]  # a ring, beside levels that share no column with it
    assert isinstance(decide(plan_of([["age"], ["age@20-year"], *pairs], strategy="adaptive")), InParts)
