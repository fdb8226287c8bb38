"""Each rule of composition states at least the privacy loss that releases can have together, and hardly more."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.accounting.composition import (
    Rule,
    advanced_composition,
    allowance,
    group_epsilon,
    posterior,
    selection_zcdp_rho,
    total_cost,
    zcdp_allowance,
    zcdp_epsilon,
    zcdp_rho,
)
from dpengine.errors import PlanError

MILLIONTH = Fraction(1, 10**6)
RULES = list(Rule)


def delta_at_least(each: Fraction, times: int, epsilon: float) -> float:
    """The δ at which ``times`` coins of randomized response with ratio e^each are together (ε, δ)-private, exactly.

    The worst case of all mechanisms (Kairouz, Oh & Viswanath 2015, Theorem 3.3): i of k coins land on the true side
    with probability C(k, i)·e^(i·each)/(1 + e^each)^k under one table, and with i and k − i exchanged under the other.
    """
    with localcontext() as context:
        context.prec = 60
        ratio = (Decimal(each.numerator) / each.denominator).exp()
        bound, total = Decimal(epsilon).exp(), Decimal(0)
        for i in range(times + 1):
            here, there = ratio**i, ratio ** (times - i)
            total += max(Decimal(0), here - bound * there) * math.comb(times, i)
        return float(total / (1 + ratio) ** times)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("each", "times"), [("1/100", 1), ("1/10", 10), ("1/10", 100), ("1/2", 40), ("1", 5)])
@pytest.mark.parametrize("delta", [MILLIONTH, Fraction(1, 1000), Fraction(3, 5)])
def test_no_rule_states_a_smaller_loss_than_the_worst_mechanism_has(
    rule: Rule, each: str, times: int, delta: Fraction
) -> None:
    epsilon = float(total_cost(rule, Fraction(each), times, delta))
    assert delta_at_least(Fraction(each), times, epsilon) <= delta


def test_basic_composition_is_what_the_worst_mechanism_needs_without_a_delta() -> None:
    each = Fraction(1, 10)
    assert delta_at_least(each, 10, 1.0) < 1e-15
    assert delta_at_least(each, 10, 0.9) > 0.0001, "negative control: a smaller ε does not hold"


def test_for_many_releases_each_rule_is_as_tight_as_published() -> None:
    """1000 releases at 0.02 with δ = 10⁻⁶: the truth, zCDP, advanced and basic composition, in this order."""
    each, times = Fraction(1, 50), 1000
    low, high = 0.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at_least(each, times, middle) <= MILLIONTH else (middle, high)
    costs = [float(total_cost(rule, each, times, MILLIONTH)) for rule in (Rule.ZCDP, Rule.ADVANCED, Rule.BASIC)]
    assert high == pytest.approx(2.916, abs=0.001)
    assert costs == pytest.approx([3.525, 3.728, 20.0], abs=0.002)


def test_costs_of_groups_and_of_many_releases_are_exact() -> None:
    assert [group_epsilon(Fraction(1, 3), size) for size in (1, 2, 3, 4)] == [
        Fraction(size, 3) for size in (1, 2, 3, 4)
    ]
    assert total_cost(Rule.BASIC, Fraction(1, 3), 12, MILLIONTH) == 4
    assert zcdp_rho(Fraction(1, 3), 4) == Fraction(2, 9)
    assert selection_zcdp_rho(Fraction(1, 3), 4) == Fraction(1, 18)


def test_formulas_are_those_of_their_theorems() -> None:
    assert advanced_composition(Fraction(1, 10), 100, MILLIONTH) == pytest.approx(
        math.sqrt(200 * math.log(1e6)) / 10 + 10 * math.expm1(0.1)
    )
    assert zcdp_epsilon(Fraction(1, 2), MILLIONTH) == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e6)))
    assert advanced_composition(Fraction(1000), 2, MILLIONTH) == math.inf


@given(
    total=st.fractions(Fraction(1, 100), 50, max_denominator=1000),
    times=st.integers(1, 3000),
    delta=st.fractions(Fraction(1, 10**12), Fraction(999, 1000), max_denominator=10**12),
    rule=st.sampled_from(RULES),
)
def test_the_price_of_each_release_is_nearly_the_largest_that_fits(
    total: Fraction, times: int, delta: Fraction, rule: Rule
) -> None:
    each = allowance(rule, total, times, delta)
    assert total_cost(rule, each, times, delta) <= total
    assert total_cost(rule, each + Fraction(2, 10**9), times, delta) > total


@given(
    epsilon=st.fractions(Fraction(1, 10**6), 100, max_denominator=10**6),
    delta=st.fractions(Fraction(1, 10**15), Fraction(999, 1000), max_denominator=10**15),
)
def test_the_rho_that_fits_is_the_largest(epsilon: Fraction, delta: Fraction) -> None:
    rho = zcdp_allowance(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon
    assert zcdp_epsilon(rho * (1 + Fraction(1, 10**9)), delta) > epsilon


def test_floats_are_rounded_up_never_down() -> None:
    with localcontext() as context:
        context.prec = 50
        for each in (Fraction(1, 7), Fraction(3), Fraction(1, 10**6)):
            exact = (Decimal(each.numerator) / each.denominator).exp()
            root = (2 * Decimal(10) * Decimal(10**6).ln()).sqrt() * each.numerator / each.denominator
            drift = 10 * (Decimal(each.numerator) / each.denominator) * (exact - 1)
            assert root + drift < Decimal(advanced_composition(each, 10, MILLIONTH))


def test_a_budget_in_odds() -> None:
    assert posterior(0.5, Fraction(1)) == pytest.approx(0.731, abs=1e-3)
    assert posterior(0.5, Fraction(1000)) == 1.0
    assert posterior(0.5, Fraction(-1000)) < 1e-300
    prior, most = 0.2, posterior(0.2, Fraction(1))
    assert most / (1 - most) == pytest.approx(math.e * prior / (1 - prior))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(1, 10**301)])
def test_an_invalid_delta_is_refused(delta: Fraction) -> None:
    with pytest.raises(PlanError, match="δ"):
        zcdp_epsilon(Fraction(1), delta)
    with pytest.raises(PlanError, match="δ"):
        advanced_composition(Fraction(1), 2, delta)


@pytest.mark.parametrize("times", [0, -1, 10**10, True, 1.5])
def test_an_invalid_number_of_releases_is_refused(times: object) -> None:
    with pytest.raises(PlanError, match="whole number"):
        allowance(Rule.ZCDP, Fraction(1), times, MILLIONTH)  # type: ignore[arg-type]


def test_negative_budgets_are_refused() -> None:
    for wrong in (lambda: zcdp_rho(Fraction(-1)), lambda: zcdp_allowance(Fraction(0), MILLIONTH),
                  lambda: zcdp_epsilon(Fraction(-1), MILLIONTH)):  # fmt: skip
        with pytest.raises(PlanError):
            wrong()
    with pytest.raises(PlanError, match="above 0"):
        allowance(Rule.BASIC, Fraction(0), 3, MILLIONTH)
