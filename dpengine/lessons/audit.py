"""Trying to break a mechanism from outside: what ε must its answers have, going by the answers alone?

Two neighbouring tables, many runs on each, and one event. If the event is much more frequent on one table than
on the other, ε cannot be small: ε ≥ ln(P/P′), and Clopper–Pearson bounds on both make that a statement with a
known chance of being wrong (Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020). Such an
audit can show that a promise is broken; it can never prove that one is kept.
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
from dpengine.measure.measure import measure
from dpengine.spec.plan import Plan

__all__ = ["Audit", "audit", "least_epsilon", "released"]


Event = tuple[float, bool, tuple[int, int]]  # a threshold, whether above it, and which table it should be frequent on

MAX_BOUNDS = 100


def least_epsilon(hits: int, runs: int, hits_neighbour: int, runs_neighbour: int, alpha: float) -> float:
    """ε is at least this with confidence 1 − ``alpha`` (Clopper–Pearson on both sides, alpha/2 each)."""
    low, _ = Rate(hits, runs).interval(1 - alpha)
    _, high = Rate(hits_neighbour, runs_neighbour).interval(1 - alpha)
    return math.log(low / high) if low > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found: the event, how often it came on the table where it is frequent and on the other, and the ε.

    ε is at least ``least``, but for a chance of the alpha that was asked for.
    """

    event: str
    often: Rate
    seldom: Rate
    least: float


def audit(here: Floats, there: Floats, alpha: float = 0.05) -> Audit:
    """The least ε that answers on two neighbouring tables show; ``here`` and ``there`` have one number a run.

    The event, a threshold and a side of it, is picked on the first half of the runs and counted on the second, so
    that picking the best one costs no confidence. Raises `PlanError` for fewer than four runs on either.
    """
    if min(len(here), len(there)) < 4:
        raise PlanError("an audit needs at least four runs on each table")
    tables = here, there
    first = [part[: len(part) // 2] for part in tables]
    second = [part[len(part) // 2 :] for part in tables]
    seen = np.unique(np.concatenate(first))
    bounds = seen[:: max(1, seen.size // MAX_BOUNDS)]
    events = [(float(bound), above, order) for bound in bounds for above in (True, False) for order in ((0, 1), (1, 0))]
    return _tried(second, max(events, key=lambda event: _tried(first, event, alpha).least), alpha)


def _tried(tables: Sequence[Floats], event: Event, alpha: float) -> Audit:
    bound, above, order = event
    hits = [(answers >= bound if above else answers <= bound) for answers in tables]
    often, seldom = (Rate(int(hits[k].sum()), hits[k].size) for k in order)
    least = least_epsilon(often.successes, often.tries, seldom.successes, seldom.tries, alpha)
    return Audit(f"{'at least' if above else 'at most'} {bound:g}", often, seldom, least)


def released(people: int, epsilon: Fraction, runs: int) -> Floats:
    """One published cell, over ``runs`` releases of a table with ``people`` in that cell, and some in three others.

    Each run goes through `measure.measure`, as a release does.
    """
    values = ["hers", "second", "third", "fourth"]
    plan = Plan(dataset="audit", epsilon=epsilon, tables=[["group"]],
                columns=[{"name": "group", "kind": "category", "values": values, "other": False, "missing": False}],
                strategy="direct")  # fmt: skip
    exact = np.array([people, 40, 7, 0], dtype=np.int64)

    def counted(marginals: Sequence[Columns]) -> list[Ints]:
        return [exact for _ in marginals]

    return np.array([measure(plan, counted).marginals[0].values[0] for _ in range(runs)], dtype=np.float64)
