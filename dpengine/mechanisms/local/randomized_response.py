"""Randomized response: answer truthfully or by a coin. For yes-or-no questions, and for questions with few answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Ints
from dpengine.errors import PlanError, TableError
from dpengine.marginals.fitting import project
from dpengine.mechanisms.local.coins import check_answers, check_chance, check_values, coins, min_chance
from dpengine.mechanisms.local.protocol import Estimate, PureProtocol
from dpengine.noise.selection import uniform_below

__all__ = ["FAIR", "KaryResponse", "RandomizedResponse", "kary_ratio", "pair_table", "randomise_kary"]

Small = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class RandomizedResponse(PureProtocol[Bools]):
    """A yes-or-no question that is answered with two coins; only the share of *yes* is estimated.

    With probability `random` the second coin answers, which says yes with probability `yes`; otherwise the answer is
    truthful. With fair coins a report is yes with probability 3/4 or 1/4, so ε = ln 3.

    Source: Warner 1965; in this form Dwork 2011, "A firm foundation for private data analysis".

    >>> FAIR.epsilon
    Fraction(1098612288669, 1000000000000)
    >>> RandomizedResponse(Fraction(1, 2)).randomise([True, False, True]).size
    3
    """

    random: Fraction
    yes: Fraction = Fraction(1, 2)
    answers: int = 2

    def __post_init__(self) -> None:
        check_chance(self.random, below=Fraction(1))
        check_chance(self.yes)
        if self.yes == 1 or self.answers != 2:
            raise PlanError("the second coin must have two sides, and the question two answers")

    @classmethod
    def of(cls, epsilon: Fraction) -> RandomizedResponse:
        """Return the protocol with the smallest `random` that costs at most `epsilon`, and a fair second coin."""
        return cls(min_chance(epsilon, lambda random: cls(random).ratio))

    @property
    def hit(self) -> Fraction:
        return 1 - self.random + self.random * self.yes

    @property
    def miss(self) -> Fraction:
        return self.random * self.yes

    @property
    def ratio(self) -> Fraction:
        return max(self.hit / self.miss, (1 - self.miss) / (1 - self.hit))

    def randomise(self, values: npt.ArrayLike) -> Bools:
        reports = check_values(values, 2).astype(np.bool_)
        by_coin = np.flatnonzero(coins(self.random, reports.size))
        reports[by_coin] = coins(self.yes, by_coin.size)
        return reports

    def support(self, reports: Bools) -> Ints:
        return np.array([np.count_nonzero(_row(reports, 2))])


FAIR = RandomizedResponse(Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class KaryResponse(PureProtocol[Small]):
    """k-ary randomized response: with probability `random` report a uniform answer, otherwise the truth.

    With λ = `random`: p = 1 − λ + λ/k, q = λ/k, e^ε = 1 + k(1−λ)/λ. Best for few answers: k < 3e^ε + 2.

    Source: Kairouz, Oh & Viswanath 2014; Wang et al. 2017 (as direct encoding).

    >>> KaryResponse(5, Fraction(1, 2)).ratio
    Fraction(6, 1)
    """

    answers: int
    random: Fraction

    def __post_init__(self) -> None:
        check_answers(self.answers)
        check_chance(self.random, below=Fraction(1))

    @classmethod
    def of(cls, answers: int, epsilon: Fraction) -> KaryResponse:
        """Return the protocol with the smallest `random` that costs at most `epsilon`."""
        return cls(answers, min_chance(epsilon, lambda random: kary_ratio(check_answers(answers), random)))

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
        return randomise_kary(check_values(values, self.answers), self.answers, self.random)

    def support(self, reports: Small) -> Ints:
        return np.bincount(_row(reports, self.answers), minlength=self.answers)


def kary_ratio(answers: int, random: Fraction) -> Fraction:
    """Return e^ε of k-ary randomized response: (1 − λ + λ/k) / (λ/k).

    >>> kary_ratio(2, Fraction(1, 2))
    Fraction(3, 1)
    """
    return 1 + answers * (1 - random) / random


def randomise_kary(values: Ints, answers: int, random: Fraction) -> Small:
    """Replace each of `values` with probability `random` by a uniform answer. Reports take as few bytes as they need.

    >>> randomise_kary(np.array([0, 3, 1]), 4, Fraction(1, 2)).size
    3
    """
    reports: Small = values.astype(np.min_scalar_type(answers - 1))
    by_coin = np.flatnonzero(coins(random, reports.size))
    reports[by_coin] = uniform_below(answers, by_coin.size)
    return reports


def pair_table(coin: RandomizedResponse, first: npt.ArrayLike, second: npt.ArrayLike) -> Estimate:
    """Estimate the four cells of two yes-or-no questions from reports that were randomised independently with `coin`.

    Shares and variances have shape (2, 2): no and yes to the first question, by no and yes to the second. Each report
    costs `coin.epsilon`, the pair twice that: e^ε is `coin.ratio`².

    With P[y, b] the probability of report y if the answer is b, the rows of P⁻¹ are unbiased indicators of b, and their
    products those of pairs. The variance is that of these products, over the pairs of answers that people may have.

    Raises `TableError` unless both are vectors of reports from the same people.
    """
    one, other = _row(first, 2), _row(second, 2)
    people = one.size
    if other.size != people:
        raise TableError("both questions must be answered by the same people, in the same order")
    reported = np.bincount(2 * one + other, minlength=4).reshape(2, 2)
    chances = np.array([[1 - coin.miss, 1 - coin.hit], [coin.miss, coin.hit]], dtype=np.float64)
    inverse = np.linalg.inv(chances)
    shares = inverse @ (reported / people) @ inverse.T
    squares = inverse**2 @ chances
    likely = project(shares, 1.0)
    variances = (squares @ likely @ squares.T - likely) / people
    return Estimate(shares, variances, people)


def _row(reports: npt.ArrayLike, answers: int) -> Ints:
    """Return reports as a vector of answer numbers, one for each person."""
    try:
        return check_values(reports, answers)
    except TableError:
        raise TableError(f"reports must be a row of numbers from 0 to {answers - 1}, one for each person") from None
