"""Success rate of an attack, with an exact confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from dpengine.array_types import Bools
from dpengine.errors import PlanError

__all__ = ["Rate"]


@dataclass(frozen=True, slots=True)
class Rate:
    """Number of `successes` in `tries` independent tries.

    Raises `PlanError` unless 0 ≤ successes ≤ tries and there is at least one try.

    >>> Rate(9, 10).share, [round(end, 3) for end in Rate(9, 10).interval()]
    (0.9, [0.555, 0.997])
    """

    successes: int
    tries: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.tries or self.tries == 0:
            raise PlanError("a rate needs at least one try, and no more successes than tries")

    @classmethod
    def of(cls, hits: Bools) -> Rate:
        """Count the true values of `hits`.

        >>> import numpy as np
        >>> Rate.of(np.array([True, False, True]))
        Rate(successes=2, tries=3)
        """
        return cls(int(hits.sum()), hits.size)

    @property
    def share(self) -> float:
        """Observed share of successes."""
        return self.successes / self.tries

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval that covers the true rate with at least this probability.

        Source: Clopper & Pearson 1934, from quantiles of the beta distribution.
        """
        tail, failures = (1 - confidence) / 2, self.tries - self.successes
        low = float(betaincinv(self.successes, failures + 1, tail)) if self.successes else 0.0
        high = float(betaincinv(self.successes + 1, failures, 1 - tail)) if failures else 1.0
        return low, high
