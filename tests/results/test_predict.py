"""What is predicted is what is observed: within 3 % where there is a law, within 15 % where it was tried out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dpengine import Plan, predict
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.measurement import Measurements
from dpengine.measure.measure import add_noise
from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts
from tests.plans import letters_plan

SIGMAS = 6.0  # a normal variable is farther out with probability 2e-9


def observed(plan: Plan, draws: int) -> np.ndarray:
    """The mean error of each table in each of so many releases of the made-up table, of shape (draws, tables)."""
    adaptive = plan.strategy == "adaptive"
    truth = {table: mock_counts(plan, table).astype(float) for table in plan.marginals}
    allocations = () if adaptive else decide(plan).allocations
    exact = [mock_counts(plan, allocation.columns) for allocation in allocations]
    if not adaptive:  # each measured marginal was rounded by itself: the truth is what they say together
        squares = least_squares(plan, allocations)
        truth = {table: squares.estimate(table, exact) for table in plan.marginals}
    rows = []
    for _ in range(draws):
        drawn = (
            Measurements(tuple(map(add_noise, exact, allocations)))
            if allocations
            else decide(plan).measure(lambda tables: made(plan, tables))
        )
        believed = derive_estimates(plan, drawn)
        rows.append([float(np.abs(believed.estimate(table) - truth[table]).mean()) for table in plan.marginals])
    return np.array(rows)


def made(plan: Plan, tables: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
    return [mock_counts(plan, table) for table in tables]


@pytest.mark.parametrize("strategy", ["direct", "optimised"])
@pytest.mark.parametrize(
    ("sizes", "tables", "epsilon"),
    [
        ([20, 15], [["a", "b"]], "1"),
        ([20, 15, 12], [["a", "b"], ["b", "c"]], "0.5"),
        ([16, 14, 12, 10], {"each": 2}, "1"),
        ([16, 14, 12], [["a"], ["a", "b"], ["b", "c"]], "0.1"),
    ],
)
def test_a_law_is_met_within_three_percent(strategy: str, sizes: list[int], tables: object, epsilon: str) -> None:
    """Over the cells of all tables. Draws go on until 3 % are six standard errors: a false alarm has 2e-9."""
    plan = letters_plan(sizes, tables, epsilon=epsilon, rows_about=50_000, strategy=strategy)
    frame = predict(plan).set_index("table").drop("total")
    weights = (frame["cells"] / frame["cells"].sum()).to_numpy()
    told = float(frame["mean_abs_error"] @ weights)
    means = observed(plan, 150) @ weights
    while SIGMAS * means.std(ddof=1) / math.sqrt(means.size) > 0.03 * told:
        means = np.concatenate([means, observed(plan, 150) @ weights])
        assert means.size < 3000
    assert abs(means.mean() - told) <= 0.03 * told
    assert abs(means.mean() - told * 1.07) > 0.03 * told, "a prediction off by 7 % would not pass"


def test_a_trial_is_met_within_fifteen_percent() -> None:
    """The mean over tables. Trials spread by some 3 %, so the means of 16 and 24 are never 15 % apart.

    At a quarter of this ε they do not: about one trial in seven picks worse pairs, and is two fifths further off.
    """
    plan = letters_plan([30, 20, 10, 8], {"each": 3}, rows_about=20_000, epsilon="2", strategy="adaptive")
    frame = predict(decide(plan).plan)
    assert frame.attrs["simulated"]
    told = float(frame.set_index("table").drop("total")["mean_abs_error"].mean())
    means = observed(plan, 24).mean(axis=1)
    assert abs(told / means.mean() - 1) <= 0.15
    assert means.std(ddof=1) < 0.12 * means.mean(), "the spread is about as stated"
