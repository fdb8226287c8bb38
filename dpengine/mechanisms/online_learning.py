"""Private online learning: pick an expert each round, do nearly as well as the best, and tell little of any round.

Randomized weighted majority: in round t expert i is picked with probability proportional to exp(−η·L_i), where
L_i is the sum of its losses, each in [0, 1], in the rounds before (Littlestone & Warmuth 1994; Freund & Schapire
1997). That is the exponential mechanism in every round, and what is private is proved like this:

- Neighbouring tables of losses differ in one round, whose whole vector of losses may be another.
- One round moves every sum by at most 1, so each later pick is 2η-differentially private; earlier ones do not move.
- The picks are what may be seen. The weights, the losses, and the regret may not.

Losses are whole numbers of steps of 1/``grid``, sums are exact integers and η is rational, so every exponent is
rational, and each pick is drawn with its exact probability.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.accounting import composition
from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError, TableError
from dpengine.noise.selection import exp_coins, uniform_below

__all__ = [
    "GRID", "advanced_rate", "average_regret", "best_expert", "expected_loss", "follow_the_leader", "free_rate",
    "on_grid", "picked_loss", "regret_bound", "weighted_majority", "zcdp_rate",
]  # fmt: skip


GRID = 10**6
MAX_GRID = 10**9
MAX_ROUNDS = 10**7
_BLOCK = 2**20  # sums of losses held at once
_LANES = 2**17  # tries made at once
_RATE_STEPS = 10**12


def on_grid(losses: npt.ArrayLike, grid: int = GRID) -> Ints:
    """``losses``, a row a round and a column an expert, as whole steps of 1/``grid``: each to the nearest.

    Raises `TableError` where it is no table of numbers from 0 to 1, has no round or fewer than two experts.
    A message names places, never a loss.
    """
    try:
        table = np.asarray(losses, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError("losses must be numbers from 0 to 1 in a table: a row a round, a column an expert") from None
    _check_shape(table.shape)
    faults = {"is missing or no number": ~np.isfinite(table), "is outside 0 to 1": (table < 0) | (table > 1)}
    for what, wrong in faults.items():
        if wrong.any():
            row, column = np.argwhere(wrong)[0] + 1
            raise TableError(f"the loss of expert {column} in round {row} {what}; scale losses to lie in 0 to 1")
    steps: Ints = np.rint(table * _checked_grid(grid)).astype(np.int64)
    return steps


def advanced_rate(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """The η at which ``rounds`` picks are (ε, δ)-private by advanced composition: ε/√(32·T·ln(1/δ)), rounded down.

    Dwork & Roth 2014, Corollary 3.21 and Section 11.2, for ε up to 1. The theorem behind it carries further, to about
    4·ln(1/δ) if rounds are many: what `accounting.composition.advanced` does not prove for this very η is refused
    as PlanError. T must be known beforehand.
    """
    _check_rounds(rounds)
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
    eta = _down(float(epsilon) / math.sqrt(32 * rounds * composition.log_inverse(delta)))
    if composition.advanced(2 * eta, rounds, delta) > epsilon:
        raise PlanError("advanced composition proves this rate for smaller ε only: take one, or the rate by zCDP")
    return eta


def zcdp_rate(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """The η at which ``rounds`` picks are (ε, δ)-private by zCDP: √(2ρ/T) with ρ + 2√(ρ ln(1/δ)) = ε, rounded down.

    A pick is the exponential mechanism at 2η, so it is (2η)²/8 = η²/2-zCDP (Cesar & Rogers 2021), and T of them
    T·η²/2. About four times `advanced_rate`, for every ε.
    """
    _check_rounds(rounds)
    eta = _down(math.sqrt(2 * float(composition.zcdp_allowed(epsilon, delta)) / rounds))
    assert composition.zcdp_epsilon(composition.selection_zcdp(2 * eta, rounds), delta) <= epsilon
    return eta


def free_rate(rounds: int, experts: int) -> Fraction:
    """The η of least `regret_bound`, √(ln k/T), which is then 2√(ln k/T): best where nothing is private.

    A private η above it would serve neither privacy nor regret: take the smaller of both.
    """
    _check_shape((rounds, experts))
    return _down(math.sqrt(math.log(experts) / rounds))


def regret_bound(eta: Fraction, rounds: int, experts: int) -> float:
    """The most that the average loss is expected to lie above the best expert's: η + ln k/(ηT), whatever the losses.

    Littlestone & Warmuth 1994, in the form of Dwork & Roth 2014, Theorem 11.1. Above 1 it says nothing.
    """
    _check_shape((rounds, experts))
    _check_rate(eta)
    return float(eta) + math.log(experts) / (float(eta) * rounds)


def weighted_majority(losses: Ints, eta: Fraction, grid: int = GRID) -> Ints:
    """The expert picked in each round: exact draws, independent given the losses; a vector as long as ``losses``.

    ``losses`` are as `on_grid` gives them. The picks are private as the module says; to draw them again for
    the same losses costs as much again.

    In each round an expert is drawn evenly and kept if a coin of probability exp(−η·(L_i − min L)) lands heads,
    else another is drawn. How long that takes depends on the losses.
    """
    _check_losses(losses, grid)
    _check_rate(eta)
    unit = Fraction(eta) / grid
    rounds, experts = losses.shape
    picks = np.empty(rounds, dtype=np.int64)
    before = np.zeros(experts, dtype=np.int64)
    block = max(1, _BLOCK // experts)
    for start in range(0, rounds, block):
        part = losses[start : start + block]
        sums = np.cumsum(part, axis=0, dtype=np.int64) - part + before
        picks[start : start + block] = _draw(sums - sums.min(axis=1, keepdims=True), unit)
        before += part.sum(axis=0)
    return picks


def expected_loss(losses: Ints, eta: Fraction, grid: int = GRID) -> Floats:
    """The loss that `weighted_majority` expects in each round, as floats: to look at, as private as losses."""
    _check_losses(losses, grid)
    _check_rate(eta)
    sums = np.cumsum(losses, axis=0, dtype=np.int64) - losses
    weights = np.exp((sums.min(axis=1, keepdims=True) - sums) * (float(eta) / grid))
    expected: Floats = (weights * losses).sum(axis=1) / (weights.sum(axis=1) * grid)
    return expected


def follow_the_leader(losses: Ints) -> Ints:
    """The expert with the least loss so far in each round, the first of equals: not private, and easily misled."""
    sums = np.cumsum(losses, axis=0, dtype=np.int64) - losses
    leaders: Ints = sums.argmin(axis=1).astype(np.int64)
    return leaders


def best_expert(losses: Ints) -> int:
    """The expert of least loss in all rounds, the first of equals: known only afterwards."""
    return int(losses.sum(axis=0).argmin())


def picked_loss(losses: Ints, picks: Ints, grid: int = GRID) -> Floats:
    """The loss met in each round by following ``picks``."""
    met: Floats = np.take_along_axis(losses, picks[:, None], axis=1)[:, 0] / grid
    return met


def average_regret(losses: Ints, met: Floats, grid: int = GRID) -> Floats:
    """After each round, how far the average of the losses ``met`` lies above that of the best expert until then."""
    counted = np.arange(1, len(losses) + 1)
    best = np.cumsum(losses, axis=0, dtype=np.int64).min(axis=1) / grid
    regret: Floats = (np.cumsum(met) - best) / counted
    return regret


def _draw(gaps: Ints, unit: Fraction) -> Ints:
    """One column for each row of ``gaps``, with probability proportional to exp(−gap·unit) exactly."""
    rows, columns = gaps.shape
    drawn = np.empty(rows, dtype=np.int64)
    live = np.arange(rows)
    while live.size:
        tries = max(1, min(columns, _LANES // live.size))  # no more than so many are expected to be needed
        offered = uniform_below(columns, live.size * tries).reshape(live.size, tries)
        heads = exp_coins(gaps[live[:, None], offered], unit)
        first = heads.argmax(axis=1)
        lanes = np.arange(live.size)
        settled = heads[lanes, first]
        drawn[live[settled]] = offered[lanes, first][settled]
        live = live[~settled]
    return drawn


def _down(rate: float) -> Fraction:
    """A rate of at most twelve digits after the point, never above ``rate``: less of it is more private."""
    return Fraction(math.floor(rate * (1 - 1e-12) * _RATE_STEPS), _RATE_STEPS)


def _checked_grid(grid: int) -> int:
    if not 1 <= grid <= MAX_GRID:
        raise PlanError(f"the grid of losses must have from 1 to {MAX_GRID:,} steps")
    return grid


def _check_rate(eta: Fraction) -> None:
    if eta <= 0:
        raise PlanError("the rate η must be above 0; take a larger ε, or fewer rounds")


def _check_rounds(rounds: int) -> None:
    if not 1 <= rounds <= MAX_ROUNDS:
        raise PlanError(f"the number of rounds must lie between 1 and {MAX_ROUNDS:,}")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise TableError("losses must be a table: a row a round, a column an expert")
    if not 1 <= shape[0] <= MAX_ROUNDS:
        raise TableError(f"there must be from 1 to {MAX_ROUNDS:,} rounds")
    if shape[1] < 2:
        raise TableError("there must be two experts or more: with one there is nothing to choose, and nothing to hide")


def _check_losses(losses: Ints, grid: int) -> None:
    _check_shape(losses.shape)
    if not np.issubdtype(losses.dtype, np.integer) or losses.min() < 0 or losses.max() > _checked_grid(grid):
        raise TableError("losses must be whole steps of the grid, from 0 to 1: make them with on_grid")
