"""A number with a 95 % interval and replicates of its error, and the comparison of two such numbers.

A difference follows from two intervals and the correlation of their errors (Zou and Donner 2008, "Construction of
confidence limits about effect measures", Statistics in Medicine 27, 1693-1702), and so does a ratio (Donner and Zou
2012, "Closed-form confidence intervals for functions of the normal mean and standard deviation", Statistical Methods in
Medical Research 21, 347-359). For symmetric intervals, the latter is that of Fieller (1954).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpengine.array_types import Floats
from dpengine.errors import ReleaseError
from dpengine.percentages import ends_of_ratio
from dpengine.translation.catalogue import _

__all__ = ["HALF_WIDTH", "NoisyNumber", "correlation", "from_replicates", "part_of_group"]

HALF_WIDTH = 2.1  # root mean square errors of replicates: 1.96 or, for Laplace noise, 2.12, and room for 50 draws
DECIMALS = 9  # of a percentage


@dataclass(frozen=True, slots=True)
class NoisyNumber:
    """A published value, its estimate with the ends of its interval, and the estimate's errors in the replicates."""

    value: float
    estimate: float
    low: float
    high: float
    errors: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def below(self) -> float:
        """How far the lower end is below the estimate."""
        return self.estimate - self.low

    @property
    def above(self) -> float:
        """How far the upper end is above the estimate."""
        return self.high - self.estimate

    def less(self, other: NoisyNumber, rho: float) -> NoisyNumber:
        """Return the difference from another number; `rho` is the correlation of their errors.

        >>> one, other = (NoisyNumber(n, n, n - 3, n + 3) for n in (9.0, 5.0))
        >>> one.less(other, 0.5)
        NoisyNumber(value=4.0, estimate=4.0, low=1.0, high=7.0, errors=array([], dtype=float64))
        """

        def distance(one: float, two: float) -> float:
            return math.sqrt(max(0.0, one**2 + two**2 - 2 * rho * one * two))

        estimate = self.estimate - other.estimate
        below, above = distance(self.below, other.above), distance(self.above, other.below)
        return NoisyNumber(self.value - other.value, estimate, estimate - below, estimate + above)

    def percent_more(self, other: NoisyNumber, rho: float) -> NoisyNumber:
        """Return the difference from another number in percent of that number; `rho` is as for `less`.

        Raises `ReleaseError` if the other number may be 0: the ratio may then be any number.

        >>> NoisyNumber(112.0, 112.0, 108.0, 116.0).percent_more(NoisyNumber(100.0, 100.0, 100.0, 100.0), 0)
        NoisyNumber(value=12.0, estimate=12.0, low=8.0, high=16.0, errors=array([], dtype=float64))
        """
        if not (other.low > 0 and other.value > 0):
            raise ReleaseError(
                _("the number that is compared with may be 0, so the difference cannot be given in percent of it")
            )
        turned = NoisyNumber(-self.value, -self.estimate, -self.high, -self.low)
        value, estimate = (one / two for one, two in ((self.value, other.value), (self.estimate, other.estimate)))
        ends = _least_ratio(self, other, rho), -_least_ratio(turned, other, -rho)
        value, estimate, low, high = (round(100 * ratio - 100, DECIMALS) for ratio in (value, estimate, *ends))
        return NoisyNumber(value, estimate, low, high)


def _least_ratio(cell: NoisyNumber, group: NoisyNumber, rho: float) -> float:
    """Return the lower end of the interval of cell ÷ group, which is known to be more than 0.

    It is the p where cell − p·group is as far above 0 as noise may put it, by the sides of both intervals that point
    there: the root of below² − 2·p·shared + p²·side². So it is negative if the cell's own lower end is.
    """
    side = group.above if cell.low >= 0 else group.below
    covariance = rho * cell.below * side
    square, constant = group.estimate**2 - side**2, cell.estimate**2 - cell.below**2
    middle = cell.estimate * group.estimate - covariance
    root = math.sqrt(max(middle**2 - square * constant, 0.0))
    if cell.low >= 0:
        return constant / (middle + root) if constant > 0 else 0.0
    return (middle - root) / square


def correlation(one: NoisyNumber, other: NoisyNumber) -> float:
    """Return the correlation of the errors of two numbers of one release.

    >>> one, other = (NoisyNumber(9, 9, 8, 10, np.array(errors)) for errors in ([1.0, -1.0], [-2.0, 2.0]))
    >>> correlation(one, other)
    -1.0
    """
    size = math.sqrt(float((one.errors**2).sum() * (other.errors**2).sum()))
    return float((one.errors * other.errors).sum()) / size if size else 0.0


def from_replicates(value: float, drawn: Floats) -> NoisyNumber:
    """Return a number with the interval of its estimate; `drawn` are the estimate and its replicates."""
    reach = _reach(drawn)
    return NoisyNumber(value, drawn[0], drawn[0] - reach, drawn[0] + reach, drawn[1:] - drawn[0])


def part_of_group(cell: Floats, group: Floats) -> NoisyNumber:
    """Return the ratio, from 0 to 1, of two estimates, each with its replicates; errors are those of a small change."""
    errors = [each[1:] - each[0] for each in (cell, group)]
    covariance = HALF_WIDTH**2 * float((errors[0] * errors[1]).mean())
    reaches: Sequence[Floats] = [np.full((1, 1), _reach(each)) for each in (cell, group)]
    covariances = [np.full((1, 1), covariance)] * 2
    ends = ends_of_ratio(cell[:1, None], group[:1, None], [reaches[0]] * 2, [reaches[1]] * 2, covariances)
    low, high = (float(each[0, 0]) for each in ends)
    estimate = min(max(cell[0] / group[0], low), high) if group[0] > 0 else (low + high) / 2
    size = max(group[0], float(reaches[1][0, 0]), np.finfo(float).tiny)
    return NoisyNumber(estimate, estimate, low, high, (errors[0] - estimate * errors[1]) / size)


def _reach(drawn: Floats) -> float:
    return HALF_WIDTH * math.sqrt(float(((drawn[1:] - drawn[0]) ** 2).mean()))
