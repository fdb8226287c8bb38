"""Runs of learners on one market: their rates, losses and regrets, and the bounds that are proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.mechanisms.online_learning import (
    advanced_rate,
    average_regret,
    expected_loss,
    follow_the_leader,
    free_rate,
    on_grid,
    picked_loss,
    regret_bound,
    weighted_majority,
    zcdp_rate,
)
from dpengine.translation.catalogue import _, localised, mark, plural
from pages.parts.shared.epsilon_ladder import coarse

__all__ = ["LEADER", "NO_PRIVACY", "RATES", "Run", "after_rounds", "named", "over_epsilon", "rate", "run",
           "thinned"]  # fmt: skip

RATES = {mark("by zCDP"): zcdp_rate, mark("by advanced composition"): advanced_rate}
NO_PRIVACY, LEADER = mark("no privacy"), mark("follow the leader")
CURVE = coarse("0.01", "100")
_POINTS = 300


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a learner: its rate η (or None), the average regret after each round, and the average loss."""

    name: str
    eta: Fraction | None
    regret: Floats
    loss: float


def named(name: str) -> str:
    """Return the name of a learner in the page's language.

    >>> named("ε = 0.1"), named(NO_PRIVACY)
    ('ε = 0.1', 'no privacy')
    """
    return localised(_(name))


def after_rounds(unit: str, rounds: int) -> str:
    """Say after how many rounds of this `unit`.

    >>> after_rounds("day", 1200)
    'after 1,200 days'
    """
    if unit == "day":
        return plural("after {n} day", "after {n} days", rounds)
    if unit == "week":
        return plural("after {n} week", "after {n} weeks", rounds)
    return plural("after {n} round", "after {n} rounds", rounds)


def rate(rule: str, epsilon: Fraction, delta: Fraction, losses: Floats) -> Fraction | None:
    """Return η for (ε, δ), at most the rate that minimises the bound on regret; None if none is proved for this ε."""
    rounds, experts = losses.shape
    try:
        return min(RATES[rule](epsilon, delta, rounds), free_rate(rounds, experts))
    except PlanError:
        return None


def run(losses: Floats, rule: str, delta: Fraction, epsilons: Sequence[Fraction]) -> list[Run]:
    """Run every learner once with fresh exact draws: one at each of `epsilons`, one without privacy, and the leader."""
    steps = on_grid(losses)
    runs = []
    etas = {f"ε = {exact_text(each)}": rate(rule, each, delta, losses) for each in epsilons}
    for name, eta in {**etas, NO_PRIVACY: free_rate(*losses.shape)}.items():
        if eta is not None:
            runs.append(_run(name, eta, steps, weighted_majority(steps, eta)))
    return [*runs, _run(LEADER, None, steps, follow_the_leader(steps))]


def _run(name: str, eta: Fraction | None, steps: Ints, picks: Ints) -> Run:
    loss = picked_loss(steps, picks)
    return Run(name, eta, average_regret(steps, loss), float(loss.mean()))


def over_epsilon(losses: Floats, rule: str, delta: Fraction) -> pd.DataFrame:
    """Return the expected regret after the last round and its bound, for each ε of `CURVE` with a proven rate."""
    steps, rows = on_grid(losses), []
    for epsilon in CURVE:
        if (eta := rate(rule, epsilon, delta, losses)) is not None:
            expected = average_regret(steps, expected_loss(steps, eta))[-1]
            rows.append((float(epsilon), float(eta), float(expected), regret_bound(eta, *losses.shape)))
    return pd.DataFrame(rows, columns=["epsilon", "eta", "expected", "bound"])


def thinned(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the average regret over time, a column for each learner, at `_POINTS` rounds without the first 5 %."""
    rounds = len(runs[0].regret)
    places = np.unique(np.linspace(rounds // 20, rounds - 1, _POINTS).astype(int))
    return pd.DataFrame({"round": places + 1} | {each.name: each.regret[places] for each in runs})
