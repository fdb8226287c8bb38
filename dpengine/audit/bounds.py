"""Audit a mechanism from outside: a lower bound on ε from its answers alone.

The mechanism is run many times on two neighbouring tables. If some event is much more frequent on one table than on the
other, ε cannot be small: ε ≥ ln(P/P′). Clopper–Pearson bounds on both frequencies give a bound on ε that is wrong with
a known probability. An audit can show that a promise is broken; it can never prove that one is kept.

Source: Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Floats
from dpengine.errors import PlanError
from dpengine.lessons.success_rate import Rate
from dpengine.translation.catalogue import _, number

__all__ = ["Audit", "audit", "least_epsilon"]

Event = tuple[float, bool, tuple[int, int]]  # threshold; whether at or above it; the tables, more frequent first

MAX_THRESHOLDS = 100


def least_epsilon(hits: int, runs: int, hits_neighbour: int, runs_neighbour: int, alpha: float) -> float:
    """Return a lower bound on ε that holds with confidence 1 − `alpha`; −∞ if the event was never seen.

    Each of the two frequencies is bounded by Clopper–Pearson with error `alpha`/2.

    >>> round(least_epsilon(900, 1000, 300, 1000, 0.05), 2)
    0.98
    """
    low, _ = Rate(hits, runs).interval(1 - alpha)
    _, high = Rate(hits_neighbour, runs_neighbour).interval(1 - alpha)
    return math.log(low / high) if low > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class Audit:
    """Result of an audit: an event, its rate on both tables, and the lower bound on ε that follows.

    The bound is wrong with probability at most the `alpha` of the audit.
    """

    event: str
    frequent: Rate
    rare: Rate
    least_epsilon: float


def audit(answers: Floats, answers_neighbour: Floats, alpha: float = 0.05) -> Audit:
    """Bound ε from below by answers on two neighbouring tables, one number a run.

    The event (a threshold and a side of it) is chosen on the first half of the runs and counted on the second, so
    choosing the best event costs no confidence. Raises `PlanError` for fewer than four runs on either table.
    """
    if min(len(answers), len(answers_neighbour)) < 4:
        raise PlanError("an audit needs at least four runs on each table")
    tables = answers, answers_neighbour
    first = [part[: len(part) // 2] for part in tables]
    second = [part[len(part) // 2 :] for part in tables]
    candidates = np.unique(np.concatenate(first))
    thresholds = candidates[:: max(1, candidates.size // MAX_THRESHOLDS)]
    events = [(float(t), above, order) for t in thresholds for above in (True, False) for order in ((0, 1), (1, 0))]
    return _count(second, max(events, key=lambda event: _count(first, event, alpha).least_epsilon), alpha)


def _count(tables: Sequence[Floats], event: Event, alpha: float) -> Audit:
    threshold, above, order = event
    hits = [(answers >= threshold if above else answers <= threshold) for answers in tables]
    frequent, rare = (Rate.of(hits[k]) for k in order)
    bound = least_epsilon(frequent.successes, frequent.tries, rare.successes, rare.tries, alpha)
    side = _("at least") if above else _("at most")
    return Audit(f"{side} {number(threshold, 'g')}", frequent, rare, bound)
