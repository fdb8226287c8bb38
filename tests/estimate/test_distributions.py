"""Distributions of amounts in groups: from each other as far as noise calls for, and read between knots by curves."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from dpengine import Plan
from dpengine.array_types import Floats, Ints
from dpengine.estimate.distributions import fit_distributions, reach
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.quantiles import fit_quantiles, legacy_quantiles
from dpengine.marginals.measurement import Measurements
from dpengine.measure.strategy import decide
from tests.given_noise import noisy_measurement

PARTS = [0.1, 0.25, 0.5, 0.75, 0.9]
KNOTS = [*range(0, 2001, 100)]
SIZES = np.round(np.geomspace(100, 2000, 16)).astype(int)


def plan_of(epsilon: str, **amount: object) -> Plan:
    pay = {"name": "pay", "kind": "amount", "knots": KNOTS, "step": 1, "missing": False, **amount}
    groups = {"name": "g", "kind": "category", "values": [f"g{k}" for k in range(len(SIZES))]} | {
        "other": False, "missing": False,
    }  # fmt: skip
    table = {"columns": ["g"], "quantiles": {"pay": PARTS}}
    return Plan(dataset="pay", epsilon=epsilon, columns=[groups, pay], tables=[table])


def exact_counts(plan: Plan, groups: Ints, pay: Ints) -> Ints:
    """The people of each group, shared between knots, in the units and with the axes in which they are measured."""
    (columns, *_) = decide(plan).marginals
    amount = plan.amount("pay")
    shape = {"g": len(SIZES), "pay": len(amount.all_knots) + int(amount.missing)}
    counts = np.zeros(tuple(shape[name] for name in columns), dtype=np.int64)
    for cells, units in amount.corners(*amount.split(pay)):
        np.add.at(counts, tuple({"g": groups, "pay": cells}[name] for name in columns), units)
    return counts


def errors(plan: Plan, groups: Ints, pay: Ints, runs: int) -> tuple[Floats, Floats]:
    """The errors of quantiles, and of those of earlier releases, by run, part and group; noise is always the same."""
    strategy, random = decide(plan), np.random.default_rng(5)
    exact, known = exact_counts(plan, groups, pay), np.bincount(groups)
    true = np.stack([np.quantile(pay[groups == g], PARTS, method="inverted_cdf") for g in range(len(SIZES))], axis=1)
    parts, off = [Decimal(str(part)) for part in PARTS], []
    for _ in range(runs):
        noisy = noisy_measurement(strategy.allocations[0], exact, random)
        soft = derive_estimates(plan, Measurements((noisy,))).soft
        off.append([np.stack(fit(plan.amount("pay"), ("g",), known, parts, soft)) - true
                    for fit in (fit_quantiles, legacy_quantiles)])  # fmt: skip
    return np.array(off)[:, 0], np.array(off)[:, 1]


def incomes(spread: float) -> tuple[Ints, Ints]:
    """Groups whose incomes are alike, but for a factor of about this spread."""
    random, groups = np.random.default_rng(1), np.repeat(np.arange(len(SIZES)), SIZES)
    factors = np.exp(random.normal(6, spread, len(SIZES)))[groups]
    return groups, np.clip(np.rint(factors * np.exp(random.normal(0, 0.5, groups.size))), 0, 2000).astype(int)


def root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize(("epsilon", "spread", "most"), [("0.3", 0.3, 0.8), ("1", 0.1, 0.8), ("20", 0.3, 0.75)])
def test_quantiles_are_nearer_than_those_of_sums_one_by_one(epsilon: str, spread: float, most: float) -> None:
    by_distribution, legacy = errors(plan_of(epsilon), *incomes(spread), runs=6)
    assert root_mean_square(by_distribution) < most * root_mean_square(legacy)


def test_a_group_unlike_all_others_keeps_its_own_distribution() -> None:
    groups, pay = incomes(0.05)
    pay = np.where(groups == len(SIZES) - 3, 2000 - pay, pay)
    now, _ = errors(plan_of("2"), groups, pay, runs=3)
    assert np.abs(now[:, :, -3]).max() < 100  # a knot's distance, of a difference of 1200


def test_hardly_any_noise_leaves_each_group_as_it_is() -> None:
    """Also groups with nothing in common: each has one income of its own."""
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    now, _ = errors(plan_of("1000"), groups, 50 + 120 * groups, runs=1)
    assert np.abs(now).max() <= 100


@pytest.mark.parametrize("people", [0, 1, 10**7])
def test_any_number_of_people_and_values_that_nobody_has_are_fitted(people: int) -> None:
    """Almost without noise, where matrices are nearly singular."""
    plan = plan_of("1000")
    exact = np.zeros((len(SIZES), len(KNOTS)), dtype=np.int64)
    exact[:, 4] = exact[::2, 9] = people * plan.amount("pay").grain
    strategy = decide(plan)
    counts = exact if strategy.marginals[0][0] == "g" else exact.T
    noisy = noisy_measurement(strategy.allocations[0], counts, np.random.default_rng(3))
    soft = derive_estimates(plan, Measurements((noisy,))).soft
    known = people * (1 + (np.arange(len(SIZES)) % 2 == 0))
    fractions = fit_distributions(plan.amount("pay"), ("g",), known, soft)
    assert ((fractions >= 0) & (fractions <= 1)).all()
    if people > 1:
        assert np.abs(fractions[4:9] - np.where(np.arange(len(SIZES)) % 2 == 0, 0.5, 1.0)).max() < 0.01


def test_people_without_a_known_amount_count_for_nothing() -> None:
    """One plan has a cell for them, in which nearly everybody is; the other has none."""
    groups, pay = incomes(0.2)
    fractions = []
    for plan, missing in ((plan_of("50"), False), (plan_of("50", missing=True), True)):
        exact, strategy = exact_counts(plan, groups, pay), decide(plan)
        if missing:
            axis = strategy.marginals[0].index("pay")
            np.moveaxis(exact, axis, -1)[:, -1] = 100_000 * plan.amount("pay").grain
        noisy = noisy_measurement(strategy.allocations[0], exact, np.random.default_rng(2))
        soft = derive_estimates(plan, Measurements((noisy,))).soft
        fractions.append(fit_distributions(plan.amount("pay"), ("g",), np.bincount(groups), soft))
    assert np.abs(fractions[0] - fractions[1]).max() < 0.02


def test_a_smooth_distribution_is_read_to_a_tenth_of_the_distance_of_knots() -> None:
    knots = np.linspace(0.0, 400, 21)
    areas = knots + 50 * np.exp(-knots / 50)  # the integral of an exponential distribution function, mean 50
    averages = (np.diff(areas) / np.diff(knots)) / (1 - np.exp(-8))
    parts = np.linspace(0.05, 0.95, 19)
    true = stats.truncexpon(8, scale=50).ppf(parts)
    assert np.abs(np.array(reach(parts.tolist(), knots, averages)) - true).max() < 1.0  # straight lines: 2.4


@pytest.mark.parametrize("averages", [[0.0, 0.0, 0.5, 1.0, 1.0], [0.4, 0.4, 0.4, 0.4, 0.4], [0.1, 0.1, 0.9, 0.9, 1.0],
                                      [0.2, 0.4, 0.6, 0.8, 0.9]])  # fmt: skip
def test_curves_rise_keep_their_averages_and_jump_only_at_knots(averages: list[float]) -> None:
    knots, parts = np.array([0.0, 1, 2, 4, 8, 9]), np.linspace(0.0005, 0.9995, 1000)
    places = np.array(reach(parts.tolist(), knots, np.array(averages)))
    assert (np.diff(places) >= 0).all()
    for k, average in enumerate(averages):
        inside = np.clip((places - knots[k]) / (knots[k + 1] - knots[k]), 0, 1)
        assert 1 - inside.mean() == pytest.approx(average, abs=1e-3)  # the area below a function and below its inverse


def test_the_bounds_hold_those_whom_no_curve_reaches() -> None:
    places = reach([0.2, 0.3, 0.95], np.arange(6.0), np.array([0.3, 0.4, 0.5, 0.6, 0.7]))
    assert places == [0.0, pytest.approx(0.5), 5.0]
