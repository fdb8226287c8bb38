"""How often an attack succeeds, with the interval that so many tries allow."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from dpengine.errors import PlanError

__all__ = ["Rate"]


@dataclass(frozen=True, slots=True)
class Rate:
    """``successes`` out of ``tries``.

    >>> Rate(9, 10).share, [round(end, 3) for end in Rate(9, 10).interval()]
    (0.9, [0.555, 0.997])
    """

    successes: int
    tries: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.tries or self.tries == 0:
            raise PlanError("a rate needs at least one try, and no more successes than tries")

    @property
    def share(self) -> float:
        return self.successes / self.tries

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The exact interval of Clopper & Pearson 1934: it covers the true rate at least this often."""
        beyond, failures = (1 - confidence) / 2, self.tries - self.successes
        low = float(betaincinv(self.successes, failures + 1, beyond)) if self.successes else 0.0
        high = float(betaincinv(self.successes + 1, failures, 1 - beyond)) if failures else 1.0
        return low, high
