"""What several private answers tell together: composition, conversion, groups, and what a budget means.

Budgets that are rational stay rational. Where a root or a logarithm is needed the result is a float, rounded in
the safe direction: a cost never below, an allowance never above the formula's value. (The formulas are sums and
products of positive numbers, on which floats lose less than 1e-14 of the value; a cost is raised by 1e-12 of it.)

The ledger adds ε up, and so do all releases here. Other rules are for planning, and for mechanisms whose
guarantee is stated with a δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

from dpengine.errors import PlanError

__all__ = [
    "Rule", "advanced", "allowance", "basic", "cost", "group", "group_delta", "log_inverse", "odds_factor", "posterior",
    "selection_zcdp", "zcdp", "zcdp_allowed", "zcdp_epsilon",
]  # fmt: skip

BILLION = 10**9
MAX_TIMES = 10**9
MIN_DELTA = Fraction(1, 10**300)  # floats reach down to it
_SLACK = 1e-12


class Rule(StrEnum):
    """How the costs of releases are put together."""

    BASIC = "basic"
    ADVANCED = "advanced"
    ZCDP = "zcdp"


def basic(epsilons: Sequence[Fraction]) -> Fraction:
    """The ε of releases of these ε together, exactly: their sum (Dwork & Roth 2014, Theorem 3.16)."""
    return sum(epsilons, Fraction(0))


def advanced(epsilon: Fraction, times: int, delta: Fraction, each_delta: Fraction = Fraction(0)) -> float:
    """The ε of ``times`` releases at ``epsilon`` each, at the price of ``delta``; rounded up.

    If each of k mechanisms, chosen adaptively, is (ε, δ₀)-differentially private, all are together
    (ε√(2k ln(1/δ)) + kε(e^ε − 1), kδ₀ + δ)-differentially private, for every δ in (0, 1) (Dwork, Rothblum &
    Vadhan 2010, Theorem III.3; Dwork & Roth 2014, Theorem 3.20). That is more than k·ε for few or costly
    releases: the smaller of both holds. ``each_delta`` is δ₀, which does not change ε; k·δ₀ + δ must stay below 1.
    """
    _check(times, epsilon)
    if not 0 <= each_delta * times + delta < 1:
        raise PlanError("δ of all releases together must stay below 1")
    each = float(epsilon)
    if each > 700:
        return math.inf
    return _up(each * math.sqrt(2 * times * log_inverse(delta)) + times * each * math.expm1(each))


def zcdp(epsilon: Fraction, times: int = 1) -> Fraction:
    """The ρ of ``times`` releases at ``epsilon`` each, exactly: each is ε²/2-zCDP, and ρ adds up.

    Zero-concentrated differential privacy (Bun & Steinke 2016, Proposition 1.4 and Lemma 1.7).
    """
    _check(times, epsilon)
    return times * Fraction(epsilon) ** 2 / 2


def selection_zcdp(epsilon: Fraction, times: int = 1) -> Fraction:
    """The ρ of ``times`` draws of the exponential mechanism at ``epsilon`` each, exactly: ε²/8 a draw.

    Its log-probabilities move within a range of width ε, not 2ε (Dong, Durfee & Rogers 2020; Cesar & Rogers 2021,
    "Bounding, Concentrating, and Truncating"): a quarter of `zcdp`.
    """
    return zcdp(epsilon, times) / 4


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> float:
    """The ε that ρ-zCDP promises with ``delta``, rounded up: ρ + 2√(ρ ln(1/δ)) (Bun & Steinke 2016, Prop. 1.3)."""
    if rho < 0:
        raise PlanError("ρ must not be below 0")
    return _up(float(rho) + 2 * math.sqrt(float(rho) * log_inverse(delta)))


def zcdp_allowed(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The ρ that (ε, δ) leaves room for: the largest, rounded down, with `zcdp_epsilon` at most ε."""
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
    log = log_inverse(delta)
    # √(log + ε) − √log, written so as not to cancel
    root = float(epsilon) / (math.sqrt(log + float(epsilon)) + math.sqrt(log))
    rho = Fraction(root * root * (1 - 4 * _SLACK))
    assert zcdp_epsilon(rho, delta) <= epsilon
    return rho


def cost(rule: Rule, epsilon: Fraction, times: int, delta: Fraction) -> Fraction | float:
    """What ``times`` releases at ``epsilon`` each cost together: exact for the basic rule, else rounded up."""
    _check(times, epsilon)
    if rule is Rule.BASIC:
        return times * Fraction(epsilon)
    return advanced(epsilon, times, delta) if rule is Rule.ADVANCED else zcdp_epsilon(zcdp(epsilon, times), delta)


def allowance(rule: Rule, total: Fraction, times: int, delta: Fraction) -> Fraction:
    """The most that each of ``times`` releases may cost for all to stay within ``total`` (and ``delta``).

    Exact for the basic rule; else in billionths, rounded down, and 0 where less than that is left for each.
    Raises `PlanError` unless ``total`` is above 0 and ``times`` is from 1 to a billion.
    """
    _check(times, total)
    if total == 0:
        raise PlanError("the total must be above 0")
    if rule is Rule.BASIC:
        return Fraction(total) / times
    low, high = 0, math.ceil(total * BILLION) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(rule, Fraction(middle, BILLION), times, delta) <= total else (low, middle)
    return Fraction(low, BILLION)


def group(epsilon: Fraction, size: int) -> Fraction:
    """The ε for ``size`` people at once, exactly: size·ε, a factor of e^(size·ε) (Dwork & Roth 2014, Theorem 2.2).

    A δ grows too: see `group_delta`.
    """
    _check(size, epsilon)
    return size * Fraction(epsilon)


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> float:
    """The δ that goes with `group`: δ·(1 + e^ε + … + e^((size−1)ε)), rounded up, and 1 where it is no promise.

    By going from one table to the other a person at a time (Vadhan 2017, Lemma 2.2, whose bound is a little larger).
    """
    _check(size, epsilon)
    each = float(epsilon)
    if size * each > 700:
        return 1.0
    return min(1.0, _up(float(delta) * math.expm1(size * each) / math.expm1(each)))


def odds_factor(epsilon: Fraction) -> float:
    """The most that a release can multiply anyone's odds that a person is in the data by: e^ε, rounded up."""
    return _up(math.exp(float(epsilon))) if epsilon <= 700 else math.inf


def posterior(prior: float, epsilon: Fraction) -> float:
    """The most that someone ``prior``-sure of a person's presence can become, having seen the release.

    Bayes' rule with the likelihood ratio at its bound e^ε: p·e^ε / (1 − p + p·e^ε).
    """
    return 1 / (1 + (1 - prior) / prior * math.exp(-min(float(epsilon), 700.0)))


def log_inverse(delta: Fraction) -> float:
    """ln(1/δ)."""
    if not MIN_DELTA <= delta < 1:
        raise PlanError("δ must lie between 0 and 1, such as 1/1000000")
    return -math.log1p(float(delta - 1)) if delta > Fraction(1, 2) else -math.log(float(delta))


def _check(times: int, epsilon: Fraction) -> None:
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
        raise PlanError(f"how many must be a whole number from 1 to {MAX_TIMES:,}")
    if epsilon < 0:
        raise PlanError("ε must not be below 0")


def _up(value: float) -> float:
    return math.nextafter(value * (1 + _SLACK), math.inf) if value else 0.0
