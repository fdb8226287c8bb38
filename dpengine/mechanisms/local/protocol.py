"""The interface of all local mechanisms: randomise answers, count what reports support, estimate shares.

Local differential privacy: people randomise their own answers, and nobody else holds the true ones. A mechanism M is
ε-locally private if P(M(x) = y) ≤ e^ε·P(M(x′) = y) for all answers x, x′ and every report y. Here each mechanism is a
*pure protocol*: a report supports some of the answers, the person's own with probability p, and each other one with
probability q. If C of n reports support an answer, the share of people with it is estimated by (C/n − q)/(p − q).

Source: Kasiviswanathan et al. 2008 (local privacy); Wang et al. 2017, "Locally Differentially Private Protocols for
Frequency Estimation" (pure protocols).
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
from dpengine.marginals.fitting import project
from dpengine.mechanisms.local.coins import log_rounded_up

__all__ = ["Estimate", "PureProtocol"]

Reports = TypeVar("Reports", bound=Sized)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated shares of the answers, and their variances, from the reports of `people`.

    Shares are unbiased, so they may lie below 0. Variances follow from the protocol's formula at these shares.
    """

    shares: Floats
    variances: Floats
    people: int

    @property
    def fitted(self) -> Floats:
        """The nearest shares that are not negative and add up to 1: post-processing, no longer unbiased.

        Source: Wang et al. 2020, "Locally Differentially Private Frequency Estimation with Consistency" (Norm-Sub).

        >>> estimate = Estimate(np.array([0.7, 0.5, -0.1]), np.array([0.01, 0.01, 0.01]), 100)
        >>> estimate.fitted.round(3).tolist()
        [0.6, 0.4, 0.0]
        """
        return project(self.shares, 1.0)

    def half_widths(self, confidence: float = 0.95) -> Floats:
        """Return half-widths of intervals that hold each share with probability `confidence`.

        They use the normal approximation, which is good from some hundred people on. Raises `PlanError` unless
        0 < `confidence` < 1.

        >>> Estimate(np.array([0.7, 0.3]), np.array([0.01, 0.01]), 100).half_widths().round(3).tolist()
        [0.196, 0.196]
        """
        if not 0 < confidence < 1:
            raise PlanError("confidence must lie between 0 and 1")
        return NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(self.variances)


class PureProtocol(ABC, Generic[Reports]):
    """A local mechanism for a question with `answers` answers, numbered from 0."""

    __slots__ = ()
    answers: int

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """e^ε exactly: the largest ratio of the probabilities of a report under two answers."""

    @property
    @abstractmethod
    def hit(self) -> Fraction:
        """p: the probability that a report supports the person's own answer."""

    @property
    @abstractmethod
    def miss(self) -> Fraction:
        """q: the probability that a report supports another answer."""

    @abstractmethod
    def randomise(self, values: npt.ArrayLike) -> Reports:
        """Draw a report for each person with exact coins; `values` holds the number of each person's answer.

        Raises `TableError` unless `values` is a vector of such numbers that is not empty.
        """

    @abstractmethod
    def support(self, reports: Reports) -> Ints:
        """Count for each answer the `reports` that support it. Raises `TableError` for reports of another shape."""

    @property
    def epsilon(self) -> Fraction:
        """The ε of one report, rounded up."""
        return log_rounded_up(self.ratio)

    def estimate(self, reports: Reports) -> Estimate:
        """Estimate the share of each answer from reports alone. Raises `TableError` if there are none."""
        people = len(reports)
        if not people:
            raise TableError("there are no reports to estimate from")
        p, q = float(self.hit), float(self.miss)
        shares: Floats = (self.support(reports) / people - q) / (p - q)
        return Estimate(shares, self.variance(shares, people), people)

    def variance(self, shares: npt.ArrayLike, people: int) -> Floats:
        """Return the variances of shares estimated from `people` reports if `shares` are the true ones.

        They are (f·p(1−p) + (1−f)·q(1−q)) / (n(p−q)²), since each report is a coin of probability p or q. `shares`
        outside 0 to 1, as estimates may be, are taken as 0 or 1.

        Source: Wang et al. 2017, Theorem 2.
        """
        p, q, f = float(self.hit), float(self.miss), np.clip(np.asarray(shares, dtype=np.float64), 0, 1)
        spread: Floats = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (people * (p - q) ** 2)
        return spread
