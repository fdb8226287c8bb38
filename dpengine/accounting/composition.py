"""Rules of composition: the joint cost of several private results, groups of people, and the meaning of a budget.

Rational budgets stay rational. Where a root or a logarithm is needed the result is a float, rounded in the safe
direction: a cost never below the formula's value, an allowance never above it. (The formulas are sums and products of
positive numbers, on which floats lose less than 1e-14 of the value; a cost is raised by 1e-12 of it.)

The ledger adds ε up, and so do all releases here. The other rules are for planning, and for mechanisms whose guarantee
is stated with a δ.
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction

from dpengine.errors import PlanError

__all__ = [
    "Rule", "advanced_composition", "allowance", "group_epsilon", "log_inverse",
    "posterior", "selection_zcdp_rho", "total_cost", "zcdp_allowance", "zcdp_epsilon", "zcdp_rho",
]  # fmt: skip

BILLION = 10**9
MAX_TIMES = 10**9
MAX_EXPONENT = 700  # e to a power above 709 overflows a float
MIN_DELTA = Fraction(1, 10**300)  # within the range of floats
_SLACK = 1e-12


class Rule(StrEnum):
    """A rule of composition."""

    BASIC = "basic"
    ADVANCED = "advanced"
    ZCDP = "zcdp"


def advanced_composition(epsilon: Fraction, times: int, delta: Fraction) -> float:
    """Return the ε of `times` releases at `epsilon` each, at the price of `delta`; rounded up.

    If each of k mechanisms, chosen adaptively, is ε-differentially private, all are together
    (ε√(2k ln(1/δ)) + kε(e^ε − 1), δ)-differentially private, for every δ in (0, 1). That is more than k·ε for few or
    costly releases; then k·ε holds.

    Source: Dwork, Rothblum & Vadhan 2010, Theorem III.3; Dwork & Roth 2014, Theorem 3.20.

    >>> round(advanced_composition(Fraction(1, 50), 1000, Fraction(1, 10**6)), 2)
    3.73
    """
    _check(times, epsilon)
    per_release = float(epsilon)
    if per_release > MAX_EXPONENT:
        return math.inf
    return _up(per_release * math.sqrt(2 * times * log_inverse(delta)) + times * per_release * math.expm1(per_release))


def zcdp_rho(epsilon: Fraction, times: int = 1) -> Fraction:
    """Return the ρ of `times` releases at `epsilon` each, exactly: each is ε²/2-zCDP, and ρ adds up.

    Source: zero-concentrated differential privacy, Bun & Steinke 2016, Proposition 1.4 and Lemma 1.7.

    >>> zcdp_rho(Fraction(1, 3), times=4)
    Fraction(2, 9)
    """
    _check(times, epsilon)
    return times * Fraction(epsilon) ** 2 / 2


def selection_zcdp_rho(epsilon: Fraction, times: int = 1) -> Fraction:
    """Return the ρ of `times` draws of the exponential mechanism at `epsilon` each, exactly: ε²/8 a draw.

    Its log-probabilities move within a range of width ε, not 2ε: a quarter of `zcdp_rho`.

    Source: Dong, Durfee & Rogers 2020; Cesar & Rogers 2021, "Bounding, Concentrating, and Truncating".
    """
    return zcdp_rho(epsilon, times) / 4


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> float:
    """Return the ε that ρ-zCDP implies at `delta`, rounded up: ρ + 2√(ρ ln(1/δ)).

    Source: Bun & Steinke 2016, Proposition 1.3.

    >>> round(zcdp_epsilon(Fraction(1, 5), Fraction(1, 10**6)), 3)
    3.525
    """
    if rho < 0:
        raise PlanError("ρ must not be below 0")
    return _up(float(rho) + 2 * math.sqrt(float(rho) * log_inverse(delta)))


def zcdp_allowance(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ, rounded down, with which `zcdp_epsilon` stays within ε."""
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
    log = log_inverse(delta)
    # √(log + ε) − √log, in a form without cancellation
    root = float(epsilon) / (math.sqrt(log + float(epsilon)) + math.sqrt(log))
    rho = Fraction(root * root * (1 - 4 * _SLACK))
    assert zcdp_epsilon(rho, delta) <= epsilon
    return rho


def total_cost(rule: Rule, epsilon: Fraction, times: int, delta: Fraction) -> Fraction | float:
    """Return the cost of `times` releases at `epsilon` each together: exact for the basic rule, else rounded up.

    >>> total_cost(Rule.BASIC, Fraction(1, 3), 12, Fraction(1, 10**6))
    Fraction(4, 1)
    """
    _check(times, epsilon)
    if rule is Rule.BASIC:
        return times * Fraction(epsilon)
    if rule is Rule.ADVANCED:
        return advanced_composition(epsilon, times, delta)
    return zcdp_epsilon(zcdp_rho(epsilon, times), delta)


def allowance(rule: Rule, total: Fraction, times: int, delta: Fraction) -> Fraction:
    """Return the largest ε of each of `times` releases for which all together stay within `total` (and `delta`).

    Exact for the basic rule; else rounded down to billionths.
    Raises `PlanError` unless `total` is above 0 and `times` is from 1 to a billion.

    >>> allowance(Rule.BASIC, Fraction(4), 12, Fraction(1, 10**6))
    Fraction(1, 3)
    """
    _check(times, total)
    if total == 0:
        raise PlanError("the total must be above 0")
    if rule is Rule.BASIC:
        return Fraction(total) / times
    low, high = 0, math.ceil(total * BILLION) + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = total_cost(rule, Fraction(middle, BILLION), times, delta) <= total
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(low, BILLION)


def group_epsilon(epsilon: Fraction, size: int) -> Fraction:
    """Return the ε for `size` people at once, exactly: size·ε, a factor of e^(size·ε).

    Source: Dwork & Roth 2014, Theorem 2.2.

    >>> group_epsilon(Fraction(1, 3), 4)
    Fraction(4, 3)
    """
    _check(size, epsilon)
    return size * Fraction(epsilon)


def posterior(prior: float, epsilon: Fraction) -> float:
    """Return the largest probability of a person's presence after a release, if it was `prior` before.

    Bayes' rule with the likelihood ratio at its bound e^ε: p·e^ε / (1 − p + p·e^ε).

    >>> round(posterior(0.5, Fraction(1)), 3)
    0.731
    """
    exponent = max(-MAX_EXPONENT, min(float(epsilon), MAX_EXPONENT))
    return 1 / (1 + (1 - prior) / prior * math.exp(-exponent))


def log_inverse(delta: Fraction) -> float:
    """Return ln(1/δ)."""
    if not MIN_DELTA <= delta < 1:
        raise PlanError("δ must lie between 0 and 1, such as 1/1000000")
    return -math.log1p(float(delta - 1)) if delta > Fraction(1, 2) else -math.log(float(delta))


def _check(times: int, epsilon: Fraction) -> None:
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
        raise PlanError(f"the number of releases or people must be a whole number from 1 to {MAX_TIMES:,}")
    if epsilon < 0:
        raise PlanError("ε must not be below 0")


def _up(value: float) -> float:
    return math.nextafter(value * (1 + _SLACK), math.inf) if value else 0.0
