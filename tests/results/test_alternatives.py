"""Alternatives to a plan are judged by the same predictions as the plan itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpengine import Plan, epsilon_for, predict
from dpengine.array_types import Columns
from dpengine.measure.strategy import decide
from dpengine.results.alternatives import (
    ALL_CELLS,
    MockCells,
    compare_allocations,
    compare_strategies,
    epsilon_by_trials,
    mostly_noise_shares,
    predict_table,
    rows_beyond_noise,
    simulate_errors,
)
from tests.plans import category, survey


def test_one_table_is_predicted_as_among_all() -> None:
    plan = survey()
    every = predict(plan)
    for place, table in enumerate(plan.marginals):
        (row,) = predict_table(plan, table).to_dict("records")
        assert row.pop("epsilon") == 0.5
        assert row == every.iloc[place][list(row)].to_dict()


def test_the_share_of_noisy_cells_at_many_half_widths_is_that_of_single_predictions() -> None:
    plan = survey()
    table = plan.marginals[0]
    epsilons = ["0.01", "0.1", "0.5", "2", "20", "1000"]
    widths = [predict_table(plan.at(epsilon), table)["half_width_95"][0] for epsilon in epsilons]
    shares = MockCells.of(plan, table).mostly_noise(widths)
    assert shares == pytest.approx([mostly_noise_shares(plan.at(epsilon), [table])[table] for epsilon in epsilons])
    assert shares[0] > shares[-1] == 0


def test_made_up_cells_are_counted_once_for_all_epsilons(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, known = survey(), dict[Columns, MockCells]()
    first, other = (mostly_noise_shares(plan.at(epsilon), plan.marginals) for epsilon in ("0.01", "0.1"))
    assert mostly_noise_shares(plan.at("0.01"), plan.marginals, known) == first != other
    monkeypatch.delattr("dpengine.results.alternatives.mock_counts")
    assert mostly_noise_shares(plan.at("0.1"), plan.marginals, known) == other


def test_ways_to_allocate_epsilon_have_their_own_predictions() -> None:
    plan = survey()
    ways = compare_allocations(plan).set_index("table")
    widths = predict(plan).set_index("table")["half_width_95"]
    for table in plan.marginals:
        name = " × ".join(table)
        alone = predict(survey(tables=[list(table)], epsilon="0.25")).iloc[0]["half_width_95"]
        assert ways.loc[name, "this plan"] == widths[name]
        assert ways.loc[name, "ε split evenly"] == alone
    assert ways.loc[ALL_CELLS, "this plan"] <= ways["this plan"].max()


def test_one_table_of_all_columns_that_is_too_large_has_no_prediction() -> None:
    names = [f"c{k}" for k in range(8)]
    plan = survey(columns=[category(name, 12) for name in names], tables=[[name] for name in names])
    assert compare_allocations(plan)["one table of all columns"].isna().all()


def test_strategies_are_compared_by_their_predictions_and_report_each_stage() -> None:
    plan, stages = survey(strategy="adaptive"), list[str]()
    numbers, faults = compare_strategies(plan, ["0.3", "3"], stages.append)
    assert list(numbers.columns) == ["epsilon", "direct", "optimised", "adaptive"]
    assert list(numbers["epsilon"]) == [0.3, 3]
    for name in ("direct", "optimised"):
        exact = predict(plan.model_copy(update={"strategy": name}).at("0.3"))[:-1]
        assert numbers[name][0] == pytest.approx((exact["mean_abs_error"] * exact["cells"]).mean() / 4000)
    assert (numbers.diff().drop(columns="epsilon")[1:] < 0).all(axis=None), "more ε, smaller errors"
    assert not faults
    assert stages[:2] == ["Direct at ε = 0.3", "Direct at ε = 3"]


def test_a_strategy_that_the_plan_cannot_have_is_left_out_with_its_fault() -> None:
    columns = [category(f"c{k}", 3) for k in range(2)]
    tables = [["c0"], {"columns": ["c0", "c1"], "distinct": True}]
    plan = survey(columns=columns, tables=tables, unit={"id": "person", "rows": 2}, strategy="direct")
    numbers, faults = compare_strategies(plan, ["1"])
    assert list(numbers.columns) == ["epsilon", "direct"]
    assert faults["adaptive"].startswith("tables of distinct persons are measured directly")


def test_a_simulation_compares_with_the_counts_of_the_mock_table() -> None:
    plan = survey()
    errors, draws = simulate_errors(plan, plan.marginals[0], max_draws=20)
    by_kind = {kind: rows.set_index("true size of the cell") for kind, rows in errors.groupby("number")}
    raw, clipped = by_kind["raw estimate"], by_kind["set to 0 where negative"]
    assert 1 <= draws <= 20
    assert raw["cells"].sum() == plan.cells(plan.marginals[0])
    assert (clipped["bias"] >= raw["bias"]).all()
    assert (clipped["off"] <= raw["off"]).all()
    # The mean error of the total is that of a handful of draws: far below what the cells are off by together.
    count = by_kind["consistent count"]
    assert abs((count["bias"] * count["cells"]).sum()) < (raw["off"] * raw["cells"]).sum()


def test_the_mock_cells_are_counted_whole() -> None:
    cells = MockCells.of(survey(), ("age", "region"))
    assert cells.cumulative[-1] == 1
    assert (np.diff(cells.sizes) > 0).all()


RISING = [Fraction(tenths, 10) for tenths in (1, 3, 10, 30, 100)]


@pytest.mark.parametrize("half_width", [2, 20, 60, 10_000])
def test_trials_find_the_epsilon_that_can_be_computed(half_width: float) -> None:
    plan = survey()
    least = epsilon_for(plan, half_width)
    expected = next((epsilon for epsilon in RISING if epsilon >= least), None)
    assert epsilon_by_trials(plan, half_width, RISING) == expected


def test_trials_find_an_epsilon_for_an_adaptive_plan_and_can_be_broken_off() -> None:
    plan, trials = survey(strategy="adaptive"), list[None]()
    width = predict(plan.at(1))[:-1]["half_width_95"].max()
    epsilon = epsilon_by_trials(plan, 1.5 * width, RISING, lambda: trials.append(None))
    assert epsilon is not None
    assert Fraction(3, 10) <= epsilon <= 1, "errors fall about as ε rises"
    assert len(trials) <= 2 * 3, "two at each of log₂ 5"
    assert epsilon_by_trials(plan, 0.01, RISING[:2]) is None

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        epsilon_by_trials(plan, width, RISING, stop)


@pytest.mark.parametrize("epsilon", ["0.02", "0.5"])
def test_half_of_the_cells_are_mostly_noise_at_the_size_from_which_on_a_plan_is_of_use(epsilon: str) -> None:
    plan = survey().at(epsilon)
    least = rows_beyond_noise(plan, plan.marginals)
    assert least is not None

    def noisy(rows: int) -> float:
        sized = plan.model_copy(update={"rows_about": rows})
        shares = mostly_noise_shares(sized, sized.marginals)
        cells = [plan.cells(table) for table in shares]
        return float(np.average(list(shares.values()), weights=cells))

    assert noisy(least // 2) > 0.5 > noisy(2 * least)
    assert rows_beyond_noise(plan.model_copy(update={"rows_about": 77}), plan.marginals) == least


def test_noise_that_is_almost_certainly_zero_matters_at_no_size() -> None:
    plan = survey().at("1000")
    assert rows_beyond_noise(plan, plan.marginals) is None


def test_the_error_of_one_table_is_that_of_all_where_coarser_levels_are_sums() -> None:
    age = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": 20}}
    others = [{"name": name, "kind": "category", "values": [f"v{k}" for k in range(6)]} for name in "abc"]
    pairs = [list(pair) for pair in combinations(["age", *"abc"], 2)]
    tables = [*pairs, ["age@20-year", "a"]]
    plan = Plan(dataset="d", epsilon=2, rows_about=90_000, columns=[age, *others], tables=tables)
    assert decide(plan).plan.coarser_levels == "summed"
    of_all = predict(plan).set_index("table")["half_width_95"]
    for table in (("age", "a"), ("age@20-year", "a")):
        assert predict_table(plan, table)["half_width_95"].iloc[0] == of_all[" × ".join(table)]
