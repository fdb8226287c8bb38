"""Quantiles of amounts: in intervals that hold, near the true ones, on the grid, and rising with their part.

Intervals reach from knot to knot, so they hold 99 times in 100 even where knots are close and there is much noise. Of
the 900 that are tried, fewer than 94 in 100 hold with a probability below 10⁻⁸ in each of the three cases. (Chernoff's
bound for 300 groups of three intervals, whose misses were counted in 5,200 to 8,600 groups, at the upper 10⁻⁶ limits of
their frequencies; by the frequencies themselves it is below 10⁻²⁰.) Intervals of half the width hold in 91 of 100.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest

from dpengine import Plan, PlanError
from dpengine.array_types import Floats, Ints
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.quantiles import fit_quantiles, quantile_intervals
from dpengine.marginals.measurement import Measurement, Measurements
from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts
from dpengine.results.predict import predict
from dpengine.spec.domain import Amount
from tests.estimate.test_amounts import SIZES, counts_of, people, plan_of, release_of
from tests.given_noise import noisy_measurement

KNOTS = [0, 25, 50, 75, *range(100, 401, 50), 500, 600, 800, 1000]
PARTS = (Decimal("0.25"), Decimal("0.5"), Decimal("0.9"))
TABLES = ({"columns": ["g"], "quantiles": {"pay": list(PARTS)}},)


def with_knots(epsilon: object = 1, tables: Any = TABLES, knots: Any = KNOTS, **more: Any) -> Plan:
    return plan_of(epsilon, tables, knots=knots, **more)


def true_quantiles(groups: Ints, pay: Ints) -> Floats:
    """The least value that the part of a group's people have at most, by part and group."""
    each = [np.quantile(pay[groups == g], [float(part) for part in PARTS], method="inverted_cdf")
            for g in range(len(SIZES))]  # fmt: skip
    return np.array(each).T


@pytest.mark.parametrize(("epsilon", "spread"), [("0.05", "skewed"), ("0.05", "even"), ("2", "at knots")])
@pytest.mark.by_day(1)
def test_intervals_hold_the_true_quantile(epsilon: str, spread: str) -> None:
    groups, others, pay = people("skewed")
    fine, runs = [*range(0, 1001, 20)], 60
    if spread == "even":
        pay = np.arange(pay.size) * 377 % 1001
    if spread == "at knots":
        pay = np.array(fine)[np.searchsorted(fine, pay)]
    plan = with_knots(epsilon, knots=fine)
    true, covered, strategy = true_quantiles(groups, pay), 0, decide(plan)
    exact = counts_of(plan, (groups, others, pay), list(strategy.marginals))
    for _ in range(runs):
        estimates = derive_estimates(plan, strategy.measure(lambda marginals: exact))
        spans = quantile_intervals(plan.amount("pay"), ("g",), PARTS, estimates.soft)
        covered += sum(int(((low <= of) & (of <= high)).sum()) for (low, high), of in zip(spans, true, strict=True))
    assert covered / (runs * true.size) > 0.94


def test_without_noise_a_quantile_is_near_and_its_interval_two_pieces_wide() -> None:
    """The exact odds of all choices: one is wrong with a probability of 5·10⁻³⁴."""
    groups, others, pay = people("skewed")
    cells = release_of(with_knots(1000), (groups, others, pay)).cells(("g",))
    for part, true in zip(PARTS, true_quantiles(groups, pay), strict=True):
        middle, low, high = (cells[f"quantile_{part}_pay{end}"] for end in ("", "_low", "_high"))
        piece = np.searchsorted(KNOTS, true)
        assert (np.abs(middle - true) <= np.diff(KNOTS)[piece - 1])[1:].all()  # 30 people leave gaps
        pieces = np.searchsorted(KNOTS, high) - np.searchsorted(KNOTS, low)
        assert ((pieces >= 1) & (pieces <= 3)).all()


def test_without_noise_an_interval_holds_the_quantile_of_any_three_people() -> None:
    amount = Amount(name="pay", low=0, high=4, knots=[0, 2, 4], missing=False)
    for values in combinations_with_replacement(range(5), 3):
        weights = np.zeros(3)
        for cells, units in amount.corners(*amount.split(np.array(values))):
            np.add.at(weights, cells, units / amount.grain)
        spans = quantile_intervals(amount, (), PARTS, NoNoise(weights))
        for part, (low, high) in zip(PARTS, spans, strict=True):
            assert low <= np.quantile(values, float(part), method="inverted_cdf") <= high


@dataclass
class NoNoise:
    """Exact numbers of people at each knot, in place of estimates."""

    weights: Floats

    def estimate(self, table: tuple[str, ...]) -> Floats:
        return self.weights

    def noise_along(self, table: tuple[str, ...], coefficients: Any) -> tuple[float, float]:
        return 0.0, 1e-9

    def variance_along(self, table: tuple[str, ...], coefficients: Any) -> float:
        raise NotImplementedError

    def covariance_along(self, table: tuple[str, ...], along: tuple[str, ...]) -> Floats:
        raise NotImplementedError


def test_people_at_the_bounds_are_seen_there() -> None:
    """The exact odds of all choices: one is wrong with a probability of 2·10⁻⁹⁹, and then by a step or more."""
    groups = np.repeat(np.arange(len(SIZES)), 2000)
    pay = np.where(np.arange(groups.size) % 10 < 4, 0, np.where(np.arange(groups.size) % 10 < 6, 420, 1000))
    cells = release_of(with_knots(5), (groups, groups % 3, pay)).cells(("g",))
    assert cells["quantile_0.25_pay"].max() <= 5
    assert ((cells["quantile_0.5_pay"] >= 400) & (cells["quantile_0.5_pay"] <= 500)).all()
    assert cells["quantile_0.9_pay"].min() >= 990


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("strategy", "more"), [("direct", {"missing": True, "step": "2.5"}), ("optimised", {}), ("adaptive", {})]
)
def test_quantiles_lie_on_the_grid_in_their_intervals_and_rise(strategy: str, more: dict[str, Any]) -> None:
    """Also in tables of several columns, and beside means and counts."""
    tables = [{"columns": ["g", "h"], "quantiles": {"pay": [0.9, 0.25]}}, ["h"],
              {"columns": ["g"], "mean": ["pay"], "quantiles": {"pay": [0.5]}}]  # fmt: skip
    plan = with_knots("0.3", tables, **more).model_copy(update={"strategy": strategy})
    result, step = release_of(plan, people("skewed")), float(plan.amount("pay").step)
    for table, parts in [(("g", "h"), ("0.25", "0.9")), (("g",), ("0.5",)), ((), ("0.25", "0.5", "0.9"))]:
        cells = result.cells(table)
        assert [name for name in cells if name.startswith("quantile_")] == [
            f"quantile_{part}_pay{end}" for part in parts for end in ("", "_low", "_high")
        ]
        spans = [np.stack([cells[f"quantile_{part}_pay{end}"] for end in ("_low", "", "_high")]) for part in parts]
        for span in spans:
            assert (span % step == 0).all()
            assert (np.diff(span, axis=0) >= 0).all()
            assert ((span >= 0) & (span <= 1000)).all()
        assert all((later[1] >= earlier[1]).all() for earlier, later in pairwise(spans))


def test_a_group_too_small_for_its_noise_has_the_whole_range() -> None:
    """Given numbers: no people, and many people, half of them at either end of a piece."""
    plan = with_knots("0.1")
    shape = (len(SIZES), len(KNOTS))
    (drawn,) = decide(plan).measure(lambda marginals: [np.zeros(shape, dtype=np.int64)]).marginals
    values = np.zeros_like(drawn.values)
    values[1, 4:6] = 500_000_000
    soft = derive_estimates(plan, Measurements((replace(drawn, values=values),))).soft
    ((low, high),) = quantile_intervals(plan.amount("pay"), ("g",), PARTS[1:2], soft)
    assert (low[0], high[0]) == (0, 1000)
    assert 75 <= low[1] <= 100 < 150 <= high[1] <= 200


def test_small_groups_are_drawn_towards_the_others_only_as_far_as_the_noise_calls_for() -> None:
    """Similar groups gain a third or more from each other; at a large ε, no estimate is shrunk."""
    groups = np.repeat(np.arange(len(SIZES)), 100)
    pay, random = np.arange(groups.size) * 37 % 300, np.random.default_rng(0)

    def error(epsilon: str, table: tuple[str, ...]) -> float:
        plan, off = with_knots(epsilon), []
        strategy = decide(plan)
        exact = counts_of(plan, (groups, groups % 3, pay), [strategy.marginals[0]])
        for _ in range(20):
            noisy = noisy_measurement(strategy.allocations[0], exact[0], random)
            estimates = derive_estimates(plan, Measurements((noisy,)))
            known = np.full(len(SIZES), 100) if table else np.array(groups.size)
            fitted = fit_quantiles(plan.amount("pay"), table, known, PARTS[1:2], estimates.soft)
            off.append(fitted[0] - 150)
        return float(np.sqrt(np.mean(np.square(off))))

    assert error("0.1", ("g",)) < 5 * 0.6 * error("0.1", ())  # a fifth of the people: five times the noise
    assert error("50", ("g",)) < 3


def test_quantiles_that_cannot_be_found_are_refused() -> None:
    def refused(fragment: str, quantiles: Any, **amount: Any) -> None:
        with pytest.raises(PlanError, match=fragment):
            with_knots(1, [{"columns": ["g"], "quantiles": quantiles}], **amount)

    few = [0, 500, 700, 1000]
    refused(r"at least 5: declare knots in its range, such as \[0, 50, 100, .*, 1000\]", {"pay": [0.5]}, knots=few)
    refused("needs at least 5", {"pay": [0.5]}, knots=[0, 1000])
    refused("between 0 and 1", {"pay": [0, 0.5]})
    refused("between 0 and 1", {"pay": ["half"]})
    refused("at most 4 decimals", {"pay": ["0.33333"]})
    refused("such as", {"pay": 0.5})
    refused("of kind amount", {"h": [0.5]})
    refused("quantiles", {"pay": []})


def test_an_amount_whose_quantiles_are_asked_for_has_even_knots_if_it_declares_none() -> None:
    asked = [{"columns": ["g"], "quantiles": {"pay": [0.5]}}]
    plan, declared = with_knots(1, asked, knots=()), with_knots(1, asked, knots=[*range(0, 1001, 50)])
    assert plan.amount("pay").knots == declared.amount("pay").knots
    assert plan.key == declared.key
    assert plan.amount("pay").grain == declared.amount("pay").grain
    assert Plan.loads(plan.dumps()) == plan
    assert with_knots(1, [{"columns": ["g"], "mean": ["pay"]}], knots=()).amount("pay").knots == ()


def test_quantiles_are_read_and_written_and_cost_nothing_beside_means() -> None:
    plan = with_knots(1, [{"columns": ["g"], "mean": ["pay"], "quantiles": {"pay": [0.5, "0.50", 0.25]}}])
    assert plan.quantiles(("g",), "pay") == plan.quantiles((), "pay") == (Decimal("0.25"), Decimal("0.5"))
    assert Plan.loads(plan.dumps()) == plan
    plain = with_knots(1, [{"columns": ["g"], "sum": ["pay"]}])
    assert decide(plan).plan_id == decide(plain).plan_id


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.by_day(1)
def test_the_predicted_half_width_is_that_of_the_mock_table_without_noise(missing: bool) -> None:
    plan = with_knots("0.5", missing=missing)
    predicted, strategy = predict(plan).set_index("table"), decide(plan)
    exact = tuple(Measurement(each, mock_counts(plan, each.columns)) for each in strategy.allocations)
    soft = derive_estimates(plan, Measurements(exact)).soft
    spans = quantile_intervals(plan.amount("pay"), ("g",), PARTS, soft)
    people_of = mock_counts(plan, ("g",))
    for part, (low, high) in zip(PARTS, spans, strict=True):
        half_widths = predicted[f"quantile_{part}_pay_half_width_95"]
        assert half_widths["g"] == pytest.approx(np.average((high - low) / 2, weights=people_of), rel=0.02)
        assert half_widths["total"] > 0
    wider = predict(plan.at("0.05")).set_index("table")["quantile_0.5_pay_half_width_95"]
    assert wider["g"] > predicted["quantile_0.5_pay_half_width_95"]["g"]
