"""Audit of a mechanism from outside: a lower bound on ε from the answers alone.

A mechanism is run many times on two neighbouring tables. If some event is much more frequent on one table than on the
other, ε cannot be small: ε ≥ ln(P/P′). Clopper–Pearson bounds on both frequencies turn that into a statement with a
known chance of being wrong. An audit can show that a promise is broken; it can never prove that one is kept.

Source: Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.errors import PlanError
from dpengine.lessons.success_rate import Rate
from dpengine.measure.strategy import decide
from dpengine.spec.plan import Plan

__all__ = ["Audit", "audit", "least_epsilon", "released_counts"]


Event = tuple[float, bool, tuple[int, int]]  # threshold; at or above it; the table where it should be frequent first

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


def audit(here: Floats, there: Floats, alpha: float = 0.05) -> Audit:
    """Bound ε from below by answers on two neighbouring tables, one number a run.

    The event (a threshold and a side of it) is chosen on the first half of the runs and counted on the second, so
    choosing the best event costs no confidence. Raises `PlanError` for fewer than four runs on either table.
    """
    if min(len(here), len(there)) < 4:
        raise PlanError("an audit needs at least four runs on each table")
    tables = here, there
    first = [part[: len(part) // 2] for part in tables]
    second = [part[len(part) // 2 :] for part in tables]
    seen = np.unique(np.concatenate(first))
    thresholds = seen[:: max(1, seen.size // MAX_THRESHOLDS)]
    events = [(float(t), above, order) for t in thresholds for above in (True, False) for order in ((0, 1), (1, 0))]
    return _count(second, max(events, key=lambda event: _count(first, event, alpha).least_epsilon), alpha)


def _count(tables: Sequence[Floats], event: Event, alpha: float) -> Audit:
    threshold, above, order = event
    hits = [(answers >= threshold if above else answers <= threshold) for answers in tables]
    frequent, rare = (Rate.of(hits[k]) for k in order)
    bound = least_epsilon(frequent.successes, frequent.tries, rare.successes, rare.tries, alpha)
    return Audit(f"{'at least' if above else 'at most'} {threshold:g}", frequent, rare, bound)


def released_counts(people: int, epsilon: Fraction, runs: int) -> Floats:
    """Return one published cell over `runs` releases of a table with `people` in that cell and a few in three others.

    Each run goes through `measure.strategy`, as a release does.
    """
    values = ["hers", "second", "third", "fourth"]
    plan = Plan(dataset="audit", epsilon=epsilon, tables=[["group"]],
                columns=[{"name": "group", "kind": "category", "values": values, "other": False, "missing": False}],
                strategy="direct")  # fmt: skip
    strategy = decide(plan)
    exact = np.array([people, 40, 7, 0], dtype=np.int64)

    def count(marginals: Sequence[Columns]) -> list[Ints]:
        return [exact for _ in marginals]

    return np.array([strategy.measure(count).marginals[0].values[0] for _ in range(runs)], dtype=np.float64)
