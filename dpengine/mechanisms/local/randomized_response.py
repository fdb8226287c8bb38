"""Local differential privacy: people randomise their own answers, and nobody else ever holds the true ones.

M is ε-locally private if P(M(x) = y) ≤ e^ε·P(M(x′) = y) for all answers x, x′ and every report y (Kasiviswanathan
et al. 2008). Here each mechanism is a *pure protocol* (Wang et al. 2017): a report supports some of the answers, a
person's own with chance p, any other with chance q. The share of people with an answer is then estimated by
(C/n − q)/(p − q), where C of n reports support it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sized
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError, TableError
from dpengine.mechanisms.local.coins import (
    checked_answers,
    checked_chance,
    checked_values,
    coins,
    least_chance,
    log_up,
)
from dpengine.noise.selection import uniform_below

__all__ = ["FAIR", "Estimate", "KaryResponse", "PureProtocol", "RandomizedResponse", "norm_sub", "pair_table"]

Small = npt.NDArray[np.unsignedinteger]
Reports = TypeVar("Reports", bound=Sized)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What reports of ``people`` tell: for each answer its share, unbiased (it may lie below 0), and its variance.

    The variance is the protocol's formula at the estimated share.
    """

    shares: Floats
    variances: Floats
    people: int

    def within(self, confidence: float = 0.95) -> Floats:
        """Half-widths of intervals for the shares, each by itself; normal, so for some hundred people or more."""
        if not 0 < confidence < 1:
            raise PlanError("confidence must lie between 0 and 1")
        return NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(self.variances)


class PureProtocol(ABC, Generic[Reports]):
    """A way to ask a question with ``answers`` answers."""

    __slots__ = ()
    answers: int

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """e^ε exactly: the largest ratio of the chances of a report under two answers."""

    @property
    @abstractmethod
    def hit(self) -> Fraction:
        """p: the chance that a report supports the person's own answer."""

    @property
    @abstractmethod
    def miss(self) -> Fraction:
        """q: the chance that a report supports another answer."""

    @abstractmethod
    def randomise(self, values: npt.ArrayLike) -> Reports:
        """A report for each person, by exact coins; ``values`` holds the place of each person's answer, from 0 on.

        Raises `TableError` where that is no vector of such numbers, or empty.
        """

    @abstractmethod
    def support(self, reports: Reports) -> Ints:
        """For each answer, how many of ``reports`` support it."""

    @property
    def epsilon(self) -> Fraction:
        """The ε of one report, rounded up."""
        return log_up(self.ratio)

    def estimate(self, reports: Reports) -> Estimate:
        """The share of each answer, from reports alone."""
        people = len(reports)
        if not people:
            raise TableError("there are no reports to estimate from")
        p, q = float(self.hit), float(self.miss)
        shares: Floats = (self.support(reports) / people - q) / (p - q)
        return Estimate(shares, self.variance(shares, people), people)

    def variance(self, shares: npt.ArrayLike, people: int) -> Floats:
        """Variance of the estimated share of answers that ``shares`` of ``people`` have; needs no data.

        (f·p(1−p) + (1−f)·q(1−q)) / (n(p−q)²): each person is one coin of chance p or q (Wang et al. 2017, Theorem 2).
        ``shares`` outside 0 to 1, as estimates may be, are taken as 0 or 1.
        """
        p, q, f = float(self.hit), float(self.miss), np.clip(np.asarray(shares, dtype=np.float64), 0, 1)
        spread: Floats = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (people * (p - q) ** 2)
        return spread


@dataclass(frozen=True, slots=True)
class RandomizedResponse(PureProtocol[npt.NDArray[np.bool_]]):
    """A yes-or-no question, answered by two coins: only the share of *yes* is estimated.

    With chance ``random`` the first coin bids to answer by the second, which says yes with chance ``yes``; else
    one answers truthfully. Fair coins give 3/4 against 1/4, so ε = ln 3 (Warner 1965; in this form Dwork 2011).
    """

    random: Fraction
    yes: Fraction = Fraction(1, 2)
    answers: int = 2

    def __post_init__(self) -> None:
        checked_chance(self.random)
        if checked_chance(self.yes) == 1 or self.answers != 2:
            raise PlanError("the second coin must have two sides, and the question two answers")

    @classmethod
    def of(cls, epsilon: Fraction) -> RandomizedResponse:
        """A first coin for ε, with a fair second one."""
        return cls(least_chance(epsilon, lambda random: cls(random).ratio))

    @property
    def hit(self) -> Fraction:
        return 1 - self.random + self.random * self.yes

    @property
    def miss(self) -> Fraction:
        return self.random * self.yes

    @property
    def ratio(self) -> Fraction:
        return max(self.hit / self.miss, (1 - self.miss) / (1 - self.hit))

    def randomise(self, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        reports = checked_values(values, 2).astype(np.bool_)
        by_coin = np.flatnonzero(coins(self.random, reports.size))
        reports[by_coin] = coins(self.yes, by_coin.size)
        return reports

    def support(self, reports: npt.NDArray[np.bool_]) -> Ints:
        return np.array([np.count_nonzero(_row(reports, 2))])


FAIR = RandomizedResponse(Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class KaryResponse(PureProtocol[Small]):
    """With chance ``random`` say any of the answers, evenly; else the truth (k-ary or generalised randomized response).

    p = 1 − λ + λ/k, q = λ/k, e^ε = 1 + k(1−λ)/λ (Kairouz, Oh & Viswanath 2014; Wang et al. 2017 as direct
    encoding). Best for few answers: k < 3e^ε + 2.
    """

    answers: int
    random: Fraction

    def __post_init__(self) -> None:
        checked_answers(self.answers)
        if checked_chance(self.random) == 1:
            raise PlanError("if everybody answers at random, nothing can be learned; take a smaller chance")

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> KaryResponse:
        """The coin of least chance that keeps within ε."""
        return cls(answers, least_chance(epsilon, lambda random: kary_ratio(checked_answers(answers), random)))

    @property
    def hit(self) -> Fraction:
        return 1 - self.random + self.miss

    @property
    def miss(self) -> Fraction:
        return self.random / self.answers

    @property
    def ratio(self) -> Fraction:
        return kary_ratio(self.answers, self.random)

    def randomise(self, values: npt.ArrayLike) -> Small:
        return kary(checked_values(values, self.answers), self.answers, self.random)

    def support(self, reports: Small) -> Ints:
        return np.bincount(_row(reports, self.answers), minlength=self.answers)


def kary_ratio(answers: int, random: Fraction) -> Fraction:
    """e^ε of k-ary randomized response: (1 − λ + λ/k) / (λ/k)."""
    return 1 + answers * (1 - random) / random


def kary(values: Ints, answers: int, random: Fraction) -> Small:
    """``values``, each replaced with chance ``random`` by an even draw; in as few bytes as they need."""
    reports: Small = values.astype(np.min_scalar_type(answers - 1))
    by_coin = np.flatnonzero(coins(random, reports.size))
    reports[by_coin] = uniform_below(answers, by_coin.size)
    return reports


def pair_table(coin: RandomizedResponse, first: npt.ArrayLike, second: npt.ArrayLike) -> Estimate:
    """The four cells of two yes-or-no questions from reports on both, each randomised with ``coin`` by itself.

    Shares and variances are of shape (2, 2): no and yes to the first question, then to the second; the last cell
    is the logical AND. Each bit costs ``coin.epsilon``, the pair twice that: e^ε is ``coin.ratio``².

    With P[y, b] the chance of report y under truth b, the rows of P⁻¹ are unbiased indicators of b; for two bits
    they multiply. The variance is that of their product, summed over what people may have.
    """
    one, other = _row(first, 2), _row(second, 2)
    people = one.size
    if other.size != people:
        raise TableError("both questions must be answered by the same people, in the same order")
    told = np.bincount(2 * one + other, minlength=4).reshape(2, 2)
    chances = np.array([[1 - coin.miss, 1 - coin.hit], [coin.miss, coin.hit]], dtype=np.float64)
    inverse = np.linalg.inv(chances)
    shares = inverse @ (told / people) @ inverse.T
    squares = inverse**2 @ chances
    likely = norm_sub(shares)
    variances = (squares @ likely @ squares.T - likely) / people
    return Estimate(shares, variances, people)


def norm_sub(shares: Floats) -> Floats:
    """Post-processing: ``shares`` made to be none below 0 and 1 in sum, by one shift and cutting at 0.

    Costs no privacy, and they are no longer unbiased. It is the nearest such point (Wang et al. 2020, "Norm-Sub";
    Duchi et al. 2008). Any shape.
    """
    falling = np.sort(shares, axis=None)[::-1]
    shifts = (1 - np.cumsum(falling)) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling + shifts > 0)[-1]
    fitted: Floats = np.maximum(shares + shifts[kept], 0)
    return fitted


def _row(reports: npt.ArrayLike, answers: int) -> Ints:
    """Reports as a vector of numbers of answers; one for each person."""
    try:
        return checked_values(reports, answers)
    except TableError:
        raise TableError(f"reports must be a row of numbers from 0 to {answers - 1}, one for each person") from None
