"""Lower confidence bounds on the ε that a mechanism shows, from counts of one event on two neighbours."""

from __future__ import annotations

import math

from scipy import stats

__all__ = ["least_epsilon"]


def least_epsilon(hits: int, runs: int, hits_neighbour: int, runs_neighbour: int, alpha: float) -> float:
    """ε is at least this with confidence 1 − ``alpha`` (Clopper–Pearson on both sides, alpha/2 each)."""
    low = stats.beta.ppf(alpha / 2, hits, runs - hits + 1) if hits else 0.0
    high = (
        stats.beta.ppf(1 - alpha / 2, hits_neighbour + 1, runs_neighbour - hits_neighbour)
        if hits_neighbour < runs_neighbour
        else 1.0
    )
    return math.log(low / high) if low > 0 else -math.inf
