"""Standard deviation, covariance, correlation and slope by group.

They are in intervals that hold, right without noise, and checked in bundles.

Statistical tests: the bounds are those of a binomial at 1e-9. Coverage tests see intervals of half the width with a
probability above 0.999.
"""

from __future__ import annotations

import math
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpengine import Plan, predict, release, verify
from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.associations import REACH, _solve, _Sums, associations
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.measurement import Measurement, Measurements
from dpengine.measure.strategy import decide
from dpengine.results.result import Result, conclude
from dpengine.spec.domain import Amount, cells_payload
from dpengine.spec.numeric.association import Association
from tests.bundles import cell, faults_of, members_of, zipped

SIZES = (30, 300, 3000, 10_000)
ASKED: dict[str, Any] = {
    "standard_deviation": ["pay"], "covariance": [["pay", "hours"]],
    "correlation": [["pay", "hours"]], "slope": [{"of": "pay", "on": "hours"}],
}  # fmt: skip


def plan_of(
    epsilon: object = 1, tables: Any = ({"columns": ["g"]} | ASKED,), missing: bool = False, **more: Any
) -> Plan:
    groups = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)], "other": False,
               "missing": False} for name, size in (("g", len(SIZES)), ("h", 3))]  # fmt: skip
    amounts = [{"name": name, "kind": "amount", "from": 0, "to": to, "step": step, "missing": missing}
               for name, to, step in (("pay", 1000, 10), ("hours", 80, 1))]  # fmt: skip
    return Plan(dataset="d", epsilon=epsilon, columns=[*groups, *amounts], tables=list(tables), **more)


def people(spread: str) -> tuple[Ints, Ints, Ints]:
    """Groups of four sizes, what they are paid, and their hours."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    hours = np.clip(rng.normal(35, 12, groups.size), 0, 80)
    pay = np.clip(8 * hours + rng.lognormal(5, 0.7, groups.size), 0, 1000)
    if spread == "two values":
        hours = np.where(rng.random(groups.size) < 0.2, 80, 0)
        pay = np.where(rng.random(groups.size) < 0.1 + hours / 200, 1000, 0)
    return groups, np.round(pay / 10).astype(np.int64) * 10, np.round(hours).astype(np.int64)


def counts_of(plan: Plan, rows: tuple[Ints, Ints, Ints], marginal: Columns) -> Ints:
    """Count a table of groups and both amounts, in units."""
    counts = np.zeros(plan.shape(marginal), dtype=np.int64)
    pay, hours = plan.amount("pay"), plan.amount("hours")
    for first, some in pay.corners(*pay.split(rows[1] // 10)):
        for second, others in hours.corners(*hours.split(rows[2])):
            cells = {"g": rows[0], "pay": first, "hours": second}
            np.add.at(counts, tuple(cells[name] for name in marginal), some * others)
    return counts


def release_of(plan: Plan, rows: tuple[Ints, Ints, Ints]) -> Result:
    strategy = decide(plan)
    return conclude(
        strategy.plan, strategy.measure(lambda marginals: [counts_of(plan, rows, each) for each in marginals])
    )


def true_numbers(rows: tuple[Ints, Ints, Ints]) -> dict[str, Floats]:
    """Return what numpy says of each group."""
    both = [np.cov(rows[1][rows[0] == g], rows[2][rows[0] == g], ddof=0) for g in range(len(SIZES))]
    return {
        "standard_deviation": np.array([np.sqrt(each[0, 0]) for each in both]),
        "covariance": np.array([each[0, 1] for each in both]),
        "correlation": np.array([each[0, 1] / np.sqrt(each[0, 0] * each[1, 1]) for each in both]),
        "slope": np.array([each[0, 1] / each[1, 1] for each in both]),
    }


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("epsilon", "spread", "asked"),
    [
        ("0.1", "skewed", ASKED),
        ("1", "skewed", ASKED),
        ("10", "two values", ASKED),
        ("0.1", "two values", {"standard_deviation": ["pay"]}),
        ("1", "skewed", {"standard_deviation": ["pay"]}),
    ],
)
def test_intervals_hold_the_true_number(epsilon: str, spread: str, asked: dict[str, Any]) -> None:
    rows, runs, plan = people(spread), 60, plan_of(epsilon, [{"columns": ["g"]} | asked])
    strategy, true = decide(plan), true_numbers(rows)
    exact = [counts_of(plan, rows, each) for each in strategy.marginals]
    covered = {each.kind: 0 for each in plan.associations(("g",))}
    for _ in range(runs):
        soft = derive_estimates(plan, strategy.measure(lambda marginals: exact)).soft
        for each in plan.associations(("g",)):
            _, low, high = associations(each, plan.amount(each.of), plan.amount(each.on), ("g",), soft)
            covered[each.kind] += int(((low <= true[each.kind]) & (true[each.kind] <= high)).sum())
    assert min(covered.values()) >= stats.binom.ppf(1e-9, runs * len(SIZES), 0.945)


def test_without_noise_they_are_those_of_the_rows() -> None:
    rows = people("skewed")
    cells = release_of(plan_of(1000), rows).cells(("g",))
    for kind, true in true_numbers(rows).items():
        (name,) = (each.column for each in plan_of().associations(()) if each.kind == kind)
        assert cells[name][1:] == pytest.approx(true[1:], rel=0.02)
        assert (cells[f"{name}_high"] - cells[f"{name}_low"])[-1] < 0.01 * abs(true[-1])


def test_groups_of_nobody_or_of_equal_people_give_no_slope() -> None:
    """A slope needs values that differ. Given numbers: the first two groups have no people, the third equal ones."""
    groups, pay, hours = people("skewed")
    some, plan = groups > 1, plan_of("0.5")
    rows = groups[some], pay[some], np.where(groups == 2, 40, hours)[some]
    exact = tuple(Measurement(each, counts_of(plan, rows, each.columns)) for each in decide(plan).allocations)
    cells = conclude(plan, Measurements(exact)).cells(("g",))
    assert cells["slope_pay_on_hours_low"][:3].tolist() == [-1000, -1000, -1000]
    assert cells["slope_pay_on_hours_high"][:3].tolist() == [1000, 1000, 1000]
    assert cells["correlation_pay_hours_low"][:3].tolist() == [-1, -1, -1]
    assert cells["covariance_pay_hours_high"][:2].tolist() == [20_000, 20_000]  # a quarter of both ranges
    assert cells["covariance_pay_hours_high"][2] < 5000
    assert cells["standard_deviation_pay_low"][:2].tolist() == [0, 0]
    assert cells["standard_deviation_pay_high"][:2].tolist() == [500, 500]  # half at each end of the range
    assert np.isfinite(np.stack([values for name, values in cells.items() if name != "g"])).all()


@pytest.mark.by_day(2)
@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive", "auto"])
def test_a_bundle_with_them_verifies_and_a_changed_one_does_not(strategy: str) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.choice(["g0", "g1"], 400), "hours": rng.integers(0, 81, 400)})
    frame["pay"] = (frame.hours * 10).where(rng.random(400) < 0.9)
    tables = [{"columns": ["g"], "mean": ["hours"]} | ASKED]
    made = release(frame, plan_of(20, tables, missing=True, strategy=strategy))
    table = made.tables["g",]
    assert table.columns.tolist()[-9:] == [
        f"{name}{end}" for name in ("covariance_pay_hours", "correlation_pay_hours", "slope_pay_on_hours")
        for end in ("", "_low", "_high")
    ]  # fmt: skip
    assert table["slope_pay_on_hours"][:2].tolist() == pytest.approx([10, 10], abs=3)
    assert [each.allocation.columns for each in made.measurements if plan_of().has_amount(each.allocation.columns)] == [
        ("g", "hours", "pay")
    ]  # all of it from one measurement
    assert table["standard_deviation_pay"][:2].tolist() == pytest.approx(
        [frame.pay[frame.g == group].std() for group in ("g0", "g1")], rel=0.2
    )
    manifest = verify(made.bundle)
    assert any(each.startswith("standard deviation:") for each in manifest["post_processing"])
    assert any(each.startswith("covariance, correlation and slope") for each in manifest["post_processing"])
    members = members_of(made.bundle)
    assert "slope of pay on hours" in members["report.html"].decode()
    forged = {
        "slope_pay_on_hours_low": ("1000000000", "lies outside its interval"),
        "slope_pay_on_hours_high": ("1000000000", "lies outside its possible range"),
        "standard_deviation_pay_low": ("-1", "lies outside its possible range"),
        "standard_deviation_pay_high": ("500.1", "lies outside its possible range"),
        "standard_deviation_pay": ("500", "lies outside its interval"),
    }
    for name, (value, fault) in forged.items() if strategy == "direct" else ():
        changed = dict(members)
        cell("tables/01-g.csv", 1, len(table.columns) - table.columns.get_loc(name), lambda _, v=value: v)(changed)
        statistic = name.removesuffix("_low").removesuffix("_high")
        assert any(f"{statistic} {fault}" in each for each in faults_of(zipped(changed))), name


@pytest.mark.parametrize("strategy", ["direct", "optimised"])
def test_the_covariance_of_noise_is_that_of_sums_along_a_column(strategy: str) -> None:
    """Tables overlap here, and are combined by least squares."""
    plan = plan_of(2, [{"columns": ["g"]} | ASKED, ["h", "g"], {"columns": ["h"]} | ASKED], True, strategy=strategy)
    strategy_of, rng = decide(plan), np.random.default_rng(1)
    soft = derive_estimates(plan, strategy_of.blank()).soft
    for table in [("g", "pay", "hours"), ("pay", "hours"), ("hours",)]:
        coefficients = rng.normal(size=plan.column(table[-1]).size)
        noise = soft.covariance_along(table, table[-1:])
        assert coefficients @ noise @ coefficients == pytest.approx(soft.variance_along(table, coefficients.tolist()))
    both = soft.covariance_along(("g", "pay", "hours"), ("pay", "hours"))
    assert both.sum(axis=(0, 2)) == pytest.approx(soft.covariance_along(("g", "hours"), ("hours",)))


def test_predictions_cover_them_and_plans_read_back() -> None:
    plan = plan_of("0.5")
    assert Plan.loads(plan.dumps()) == plan
    assert Plan.loads(plan.dumps().replace("'on'", "on")) == plan
    frame = predict(plan).set_index("table")
    for name in ("standard_deviation_pay", "covariance_pay_hours", "correlation_pay_hours", "slope_pay_on_hours"):
        assert 0 < frame[f"{name}_half_width_95"]["total"] < frame[f"{name}_half_width_95"]["g"]
    without = plan_of("0.5", [{"columns": ["g"], "covariance": [["pay", "hours"]]}])
    assert (plan.amount("hours").grain, without.amount("hours").grain) == (6400, 80)
    knots = plan.amount("hours").model_copy(update={"knots": (Decimal(0), Decimal(40), Decimal(80))})
    assert without.amount("hours").degree == 1
    assert plan.amount("hours").labels == Amount(**knots.model_dump()).labels  # of other weights, and so not the same
    assert cells_payload(plan.amount("hours")) != cells_payload(Amount(**knots.model_dump()))


def test_an_interval_reaches_as_far_as_a_single_draw_does_in_95_of_100_cases() -> None:
    """P(|X| > t) = exp(−√2·t/σ) for Laplace noise X; a normal law would reach less far."""
    assert math.exp(-math.sqrt(2) * REACH) == pytest.approx(0.05)


def test_nothing_is_known_of_a_slope_where_noise_makes_the_squares_negative() -> None:
    """The noisy sum of squares is far below 0: clear of its noise, and yet it tells no slope."""
    at, noise = np.array([0.0, 1.0]), np.eye(2)
    sums = _Sums(np.array([[110.0, -50.0]]), noise, at, at, at, at)
    slope = cast(Association, SimpleNamespace(kind="slope"))
    _, low, high = _solve(slope, sums, limit=7.0, others=0.0)
    assert (low.tolist(), high.tolist()) == ([-7.0], [7.0])
