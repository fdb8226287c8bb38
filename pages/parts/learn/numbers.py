"""What the Learn lab calculates: learners of one market, their rates, what they met, and what is proved of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

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

__all__ = ["CURVE", "LEADER", "NO_PRIVACY", "RATES", "Run", "over_epsilon", "rate", "run", "thinned"]

ZCDP, BOOK = "by zCDP", "by advanced composition"
RATES = {ZCDP: zcdp_rate, BOOK: advanced_rate}
NO_PRIVACY, LEADER = "no privacy", "follow the leader"
CURVE = tuple(map(Fraction, ("0.01", "0.03", "0.1", "0.3", "0.5", "1", "2", "3", "5", "10", "30", "100")))
_POINTS = 300


@dataclass(frozen=True, slots=True)
class Run:
    """One learner's way through the market: its η (None without one), and the average regret after each round."""

    name: str
    eta: Fraction | None
    regret: np.ndarray
    loss: float


def rate(way: str, epsilon: Fraction, delta: Fraction, losses: np.ndarray) -> Fraction | None:
    """η for (ε, δ), but no more than serves the regret; None where nothing is proved for this ε."""
    rounds, experts = losses.shape
    try:
        return min(RATES[way](epsilon, delta, rounds), free_rate(rounds, experts))
    except PlanError:
        return None


def run(losses: np.ndarray, way: str, delta: Fraction, epsilons: Sequence[Fraction]) -> list[Run]:
    """Every learner once, with fresh exact draws: those at ``epsilons``, the one without privacy, and the leader's."""
    steps = on_grid(losses)
    found = []
    etas = {f"ε = {exact_text(each)}": rate(way, each, delta, losses) for each in epsilons}
    for name, eta in {**etas, NO_PRIVACY: free_rate(*losses.shape)}.items():
        if eta is not None:
            found.append(_run(name, eta, steps, weighted_majority(steps, eta)))
    return [*found, _run(LEADER, None, steps, follow_the_leader(steps))]


def _run(name: str, eta: Fraction | None, steps: np.ndarray, picks: np.ndarray) -> Run:
    met = picked_loss(steps, picks)
    return Run(name, eta, average_regret(steps, met), float(met.mean()))


def over_epsilon(losses: np.ndarray, way: str, delta: Fraction) -> pd.DataFrame:
    """Expected regret after the last round and its bound, for each ε of `CURVE` that the rate is proved for."""
    steps, rows = on_grid(losses), []
    for epsilon in CURVE:
        if (eta := rate(way, epsilon, delta, losses)) is not None:
            expected = average_regret(steps, expected_loss(steps, eta))[-1]
            rows.append((float(epsilon), float(eta), float(expected), regret_bound(eta, *losses.shape)))
    return pd.DataFrame(rows, columns=["epsilon", "eta", "expected", "bound"])


def thinned(runs: Sequence[Run]) -> pd.DataFrame:
    """Average regret over time, a column a learner, in rounds enough to draw, from a twentieth of them on."""
    rounds = len(runs[0].regret)
    places = np.unique(np.linspace(rounds // 20, rounds - 1, _POINTS).astype(int))
    return pd.DataFrame({"round": places + 1} | {each.name: each.regret[places] for each in runs})
