"""Predicted error is computed, not guessed: against closed forms, exact enumeration, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpengine import Plan, PlanError, predict
from dpengine.accounting.composition import posterior
from dpengine.estimate.error_distribution import _weighted_sum, table_error
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from dpengine.results.predict import epsilon_for
from tests.plans import CLINIC, letters_plan, plans


@pytest.mark.parametrize("epsilon", ["1/1000", "0.1", "0.5", "1", "3/7", "2", "10"])
def test_one_draw_has_the_closed_forms_of_discrete_laplace_noise(epsilon: str) -> None:
    plan = letters_plan([4], [["a"]], epsilon=epsilon)
    error = table_error(plan, decide(plan).allocations, ("a",))
    oracle = stats.dlaplace(float(plan.epsilon))
    reach = np.arange(int(60 / float(plan.epsilon)) + 2)
    assert error.sd**2 == pytest.approx(oracle.var(), rel=1e-9)
    assert error.mean_abs == pytest.approx(2 * (reach * oracle.pmf(reach)).sum(), rel=1e-9)
    for confidence in [0.5, 0.9, 0.95, 0.99, 0.999999]:
        half_width = int(error.half_width(confidence))
        within = oracle.cdf(reach) - oracle.cdf(-reach - 1)
        assert half_width == int(np.argmax(within >= confidence - 1e-12))


def test_clipping_lifts_an_empty_cell_by_half_the_mean_error() -> None:
    """At ε = 0.5 each empty cell reads 0.96 too high: a thousand of them invent 960 people."""
    for epsilon, bias in [("0.1", 4.99), ("0.5", 0.96), ("1", 0.43)]:
        plan = letters_plan([4], [["a"]], epsilon=epsilon)
        a = math.exp(-float(plan.epsilon))
        error = table_error(plan, decide(plan).allocations, ("a",))
        assert error.empty_cell_bias == pytest.approx(a / (1 - a**2), rel=1e-9)
        assert error.empty_cell_bias == pytest.approx(bias, abs=0.005)


def test_half_widths_are_those_worked_out_by_hand() -> None:
    expected = {"0.1": (30, 46), "0.5": (6, 9), "1": (3, 4), "2": (1, 2)}
    for epsilon, (at_95, at_99) in expected.items():
        plan = letters_plan([4], [["a"]], epsilon=epsilon)
        error = table_error(plan, decide(plan).allocations, ("a",))
        assert (error.half_width(), error.half_width(0.99)) == (at_95, at_99)


@pytest.mark.parametrize(("epsilon", "times", "expected"), [("0.5", 2, 8), ("1", 10, 9), ("0.1", 50, 196)])
def test_sums_of_draws_have_exact_half_widths(epsilon: str, times: int, expected: int) -> None:
    assert _weighted_sum(((1.0, times, 1 / Fraction(epsilon)),)).half_width() == expected


@pytest.mark.parametrize("times", [2, 3, 6])
def test_sums_of_draws_are_distributed_as_the_convolution(times: int) -> None:
    pmf = stats.dlaplace(1.0).pmf(np.arange(-60, 61))
    whole = pmf
    for _ in range(times - 1):
        whole = np.convolve(whole, pmf)
    distance = np.abs(np.arange(len(whole)) - len(whole) // 2)
    error = _weighted_sum(((1.0, times, Fraction(1)),))
    assert error.mean_abs == pytest.approx((whole * distance).sum(), rel=1e-9)
    for confidence in [0.5, 0.95, 0.999]:
        within = np.array([whole[distance <= m].sum() for m in range(60)])
        assert error.half_width(confidence) == int(np.argmax(within >= confidence))


def test_weighted_sums_agree_with_simulation() -> None:
    terms = ((0.7, 1, Fraction(3)), (0.2, 5, Fraction(4)), (0.05, 30, Fraction(3)))
    error = _weighted_sum(terms)
    draws = 200_000
    drawn = sum(w * discrete_laplace(scale, (times, draws)).sum(axis=0) for w, times, scale in terms)
    observed = np.abs(drawn)
    z = (observed.mean() - error.mean_abs) / (observed.std() / math.sqrt(draws))
    assert abs(z) < 6, "false alarm 2e-9"
    for confidence in [0.8, 0.95, 0.99]:
        covered = (observed <= error.half_width(confidence)).mean()
        assert covered > confidence - 6 * math.sqrt(confidence * (1 - confidence) / draws)
        assert covered < confidence + 0.01, "and the interval is not much wider than it must be"


@settings(max_examples=40)
@given(plans())
def test_predictions_have_a_row_a_table_and_the_total(plan: Plan) -> None:
    frame = predict(plan)
    assert list(frame.columns) == ["table", "cells", "mean_abs_error", "half_width_95", "total_half_width_95"]
    assert list(frame["table"]) == [" × ".join(table) for table in plan.marginals] + ["total"]
    assert list(frame["cells"]) == [plan.cells(table) for table in plan.marginals] + [1]
    assert (frame["total_half_width_95"] == frame["half_width_95"].iloc[-1]).all()
    assert (frame["mean_abs_error"] >= 0).all()


@settings(max_examples=25)
@given(plans(), st.floats(0.05, 5))
def test_more_epsilon_never_predicts_more_error(plan: Plan, epsilon: float) -> None:
    curve = predict(plan, [epsilon, epsilon * 1.1, epsilon * 2])
    for _, rows in curve.groupby("table"):
        assert (np.diff(rows["mean_abs_error"]) <= 1e-9).all()
        assert (np.diff(rows["half_width_95"]) <= rows["half_width_95"].iloc[0] * 0.01).all()


def test_a_curve_is_the_prediction_at_each_epsilon() -> None:
    plan = Plan.loads(CLINIC)
    curve = predict(plan, [0.1, "1/2", Fraction(1)])
    assert list(curve["epsilon"].unique()) == [0.1, 0.5, 1.0]
    assert curve[curve["epsilon"] == 1].drop(columns="epsilon").reset_index(drop=True).equals(predict(plan))


@pytest.mark.parametrize("bad", [[0], [-1], ["x"], [float("nan")], []])
def test_an_unusable_epsilon_is_refused(bad: list[object]) -> None:
    with pytest.raises(PlanError):
        predict(Plan.loads(CLINIC), bad)


@pytest.mark.parametrize("tables", [[["a"]], [["a", "b"]], {"each": 2}, [["a", "b"], ["b", "c"]]])
@pytest.mark.parametrize("half_width", [2, 10, 150])
def test_epsilon_for_is_the_least_that_does_it(tables: object, half_width: float) -> None:
    plan = letters_plan([20, 10, 8], tables)
    epsilon = epsilon_for(plan, half_width)
    cells = len(plan.marginals)
    assert predict(plan.at(epsilon))["half_width_95"][:cells].max() <= half_width
    less = epsilon - Fraction(1, 10**6)
    assert predict(plan.at(less))["half_width_95"][:cells].max() > half_width


def test_a_half_width_out_of_reach_is_refused() -> None:
    plan = letters_plan([3, 3], [["a", "b"]])
    assert epsilon_for(plan, 0) > 1
    for bad in [-1, float("nan"), float("inf")]:
        with pytest.raises(PlanError):
            epsilon_for(plan, bad)
    with pytest.raises(PlanError):
        epsilon_for(plan, 10, confidence=1.0)


def test_tiny_and_huge_epsilon_are_computed_quickly_and_finitely() -> None:
    plan = letters_plan([20, 10, 8], {"each": 2})
    for epsilon in ["0.000001", "1000"]:
        assert np.isfinite(predict(plan.at(epsilon))["half_width_95"]).all()


def test_epsilon_in_words() -> None:
    assert posterior(0.5, Fraction(1)) == pytest.approx(0.731, abs=1e-3)
    assert posterior(0.5, Fraction(1000)) == 1.0


@pytest.mark.parametrize("bad", ["10", None, -1, float("nan"), float("inf"), [10]])
def test_a_half_width_and_a_confidence_are_numbers(bad: object) -> None:
    plan = letters_plan([2], [["a"]])
    with pytest.raises(PlanError, match="a half-width is a number"):
        epsilon_for(plan, bad)
    with pytest.raises(PlanError, match="a confidence lies between"):
        epsilon_for(plan, 10, bad)
