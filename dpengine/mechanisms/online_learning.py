"""Private online learning: pick an expert in each round, nearly as well as the best, and reveal little of any round.

Randomized weighted majority: in round t expert i is picked with probability proportional to exp(−η·L_i), where L_i is
the sum of its losses, each in [0, 1], in the rounds before. This is the exponential mechanism in every round:

- Neighbouring tables of losses differ in one round, in which all losses may be different.
- One round changes each sum by at most 1. So each later pick is 2η-differentially private; earlier picks do not change.
- The picks may be published. The weights, the losses and the regret may not.

Losses are whole numbers of steps of 1/`GRID`, their sums are exact integers, and η is rational. So every exponent is
rational, and each pick is drawn with its exact probability.

Source: Littlestone & Warmuth 1994; Freund & Schapire 1997.
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
from dpengine.translation.catalogue import _, mark, number

__all__ = [
    "GRID", "advanced_rate", "average_regret", "best_expert", "expected_loss", "follow_the_leader", "free_rate",
    "on_grid", "picked_loss", "regret_bound", "weighted_majority", "zcdp_rate",
]  # fmt: skip

GRID = 10**6  # steps of a loss from 0 to 1
MAX_ROUNDS = 10**7
_BLOCK = 2**20  # sums of losses in memory at once
_LANES = 2**17  # draws at once
_RATE_STEPS = 10**12  # a rate is a whole number of these parts of 1


def on_grid(losses: npt.ArrayLike) -> Ints:
    """Round `losses`, one row for each round and one column for each expert, to whole steps of 1/`GRID`.

    Raises `TableError` unless they are a table of numbers from 0 to 1 with at least one round and two experts. The
    message gives the place of a fault, never a loss.

    >>> on_grid([[0, 0.25], [1, 0.5]]).tolist()
    [[0, 250000], [1000000, 500000]]
    """
    try:
        table = np.asarray(losses, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError(
            _("losses must be numbers from 0 to 1 in a table: a row for each round, a column for each expert")
        ) from None
    _check_shape(table.shape)
    faults = {
        mark(
            "the loss of expert {expert} in round {round} is missing or no number; scale losses to lie in 0 to 1"
        ): ~np.isfinite(table),
        mark("the loss of expert {expert} in round {round} is outside 0 to 1; scale losses to lie in 0 to 1"): (
            table < 0
        )
        | (table > 1),
    }
    for text, wrong in faults.items():
        if wrong.any():
            row, column = np.argwhere(wrong)[0] + 1
            raise TableError(_(text, expert=column, round=row))
    steps: Ints = np.rint(table * GRID).astype(np.int64)
    return steps


def advanced_rate(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """Return the η at which `rounds` picks are (ε, δ)-private by advanced composition: ε/√(32·T·ln(1/δ)), rounded down.

    T = `rounds` must be known beforehand. The theorem also holds for larger ε than the source states, up to about
    4·ln(1/δ) for many rounds. Raises `PlanError` if `advanced_composition` does not prove this η.

    Source: Dwork & Roth 2014, Corollary 3.21 and Section 11.2, for ε up to 1.

    >>> round(float(advanced_rate(Fraction(1), Fraction(1, 10**6), 1000)), 5)
    0.0015
    """
    _check_rounds(rounds)
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
    eta = _down(float(epsilon) / math.sqrt(32 * rounds * composition.log_inverse(delta)))
    if composition.advanced_composition(2 * eta, rounds, delta) > epsilon:
        raise PlanError("advanced composition proves this rate for smaller ε only: lower ε, or take the rate by zCDP")
    return eta


def zcdp_rate(epsilon: Fraction, delta: Fraction, rounds: int) -> Fraction:
    """Return the η at which `rounds` picks are (ε, δ)-private by zCDP: √(2ρ/T), ρ + 2√(ρ ln(1/δ)) = ε, rounded down.

    A pick is the exponential mechanism at 2η, so it is (2η)²/8 = η²/2-zCDP, and T picks are T·η²/2-zCDP. The rate is
    about four times `advanced_rate`, and holds for every ε.

    Source: Cesar & Rogers 2021.

    >>> round(float(zcdp_rate(Fraction(1), Fraction(1, 10**6), 1000)), 5)
    0.00591
    """
    _check_rounds(rounds)
    eta = _down(math.sqrt(2 * float(composition.zcdp_allowance(epsilon, delta)) / rounds))
    assert composition.zcdp_epsilon(composition.selection_zcdp_rho(2 * eta, rounds), delta) <= epsilon
    return eta


def free_rate(rounds: int, experts: int) -> Fraction:
    """Return the η that minimises `regret_bound`, √(ln k/T): the best rate without privacy.

    The bound is then 2√(ln k/T), with k = `experts`. A private η above this rate helps neither privacy nor regret: take
    the smaller one.

    >>> round(float(free_rate(1000, 10)), 4)
    0.048
    """
    _check_shape((rounds, experts))
    return _down(math.sqrt(math.log(experts) / rounds))


def regret_bound(eta: Fraction, rounds: int, experts: int) -> float:
    """Return an upper bound on expected average regret for any losses: η + ln k/(ηT); above 1 it is trivial.

    Source: Littlestone & Warmuth 1994, in the form of Dwork & Roth 2014, Theorem 11.1.

    >>> round(regret_bound(Fraction(1, 20), 1000, 10), 3)
    0.096
    """
    _check_shape((rounds, experts))
    _check_rate(eta)
    return float(eta) + math.log(experts) / (float(eta) * rounds)


def weighted_majority(losses: Ints, eta: Fraction) -> Ints:
    """Return the number of the expert picked in each round, drawn with its exact probability.

    `losses` are whole steps, as `on_grid` returns them. Given the losses, picks are independent. Each is
    2η-differentially private; another draw for the same losses costs the same again.

    An expert is drawn uniformly and kept if a coin of probability exp(−η·(L_i − min L)) lands heads, otherwise another
    is drawn. The running time depends on the losses.

    Raises `TableError` for losses off the grid, `PlanError` for a rate that is not above 0.

    >>> weighted_majority(on_grid([[0, 1]] * 5), Fraction(1, 10)).size
    5
    """
    _check_losses(losses)
    _check_rate(eta)
    unit = Fraction(eta) / GRID
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


def expected_loss(losses: Ints, eta: Fraction) -> Floats:
    """Return the expected loss of `weighted_majority` in each round. It is as private as the losses: never publish it.

    >>> expected_loss(on_grid([[0, 1], [0, 1]]), Fraction(1)).round(3).tolist()
    [0.5, 0.269]
    """
    _check_losses(losses)
    _check_rate(eta)
    sums = np.cumsum(losses, axis=0, dtype=np.int64) - losses
    weights = np.exp((sums.min(axis=1, keepdims=True) - sums) * (float(eta) / GRID))
    expected: Floats = (weights * losses).sum(axis=1) / (weights.sum(axis=1) * GRID)
    return expected


def follow_the_leader(losses: Ints) -> Ints:
    """Return in each round the expert with the least loss so far, the first of equals. Not private, and easily misled.

    >>> follow_the_leader(on_grid([[1, 0], [0, 1], [0, 1]])).tolist()
    [0, 1, 0]
    """
    sums = np.cumsum(losses, axis=0, dtype=np.int64) - losses
    leaders: Ints = sums.argmin(axis=1).astype(np.int64)
    return leaders


def best_expert(losses: Ints) -> int:
    """Return the expert with the least total loss, the first of equals. It is known only after the last round.

    >>> best_expert(on_grid([[1, 0], [1, 0.5]]))
    1
    """
    return int(losses.sum(axis=0).argmin())


def picked_loss(losses: Ints, picks: Ints) -> Floats:
    """Return the loss of the picked expert in each round.

    >>> picked_loss(on_grid([[1, 0], [1, 0.5]]), np.array([0, 1])).tolist()
    [1.0, 0.5]
    """
    incurred: Floats = np.take_along_axis(losses, picks[:, None], axis=1)[:, 0] / GRID
    return incurred


def average_regret(losses: Ints, incurred: Floats) -> Floats:
    """Return the average regret after each round: the mean loss `incurred` until then, minus the best expert's.

    >>> average_regret(on_grid([[1, 0], [1, 0.5]]), np.array([1.0, 0.5])).tolist()
    [1.0, 0.5]
    """
    counted = np.arange(1, len(losses) + 1)
    best = np.cumsum(losses, axis=0, dtype=np.int64).min(axis=1) / GRID
    regret: Floats = (np.cumsum(incurred) - best) / counted
    return regret


def _draw(gaps: Ints, unit: Fraction) -> Ints:
    """Draw a column for each row of `gaps`, with probability proportional to exp(−gap·unit) exactly."""
    rows, columns = gaps.shape
    drawn = np.empty(rows, dtype=np.int64)
    live = np.arange(rows)
    while live.size:
        tries = max(1, min(columns, _LANES // live.size))  # `columns` is the largest expected number of tries
        offered = uniform_below(columns, live.size * tries).reshape(live.size, tries)
        heads = exp_coins(gaps[live[:, None], offered], unit)
        first = heads.argmax(axis=1)
        lanes = np.arange(live.size)
        decided = heads[lanes, first]
        drawn[live[decided]] = offered[lanes, first][decided]
        live = live[~decided]
    return drawn


def _down(rate: float) -> Fraction:
    """Round a rate down to at most twelve digits after the point: a smaller rate is more private."""
    return Fraction(math.floor(rate * (1 - 1e-12) * _RATE_STEPS), _RATE_STEPS)


def _check_rate(eta: Fraction) -> None:
    if eta <= 0:
        raise PlanError("the rate η must be above 0; take a larger ε, or fewer rounds")


def _check_rounds(rounds: int) -> None:
    if not 1 <= rounds <= MAX_ROUNDS:
        raise PlanError(f"the number of rounds must lie between 1 and {MAX_ROUNDS:,}")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise TableError(_("losses must be a table: a row for each round, a column for each expert"))
    if not 1 <= shape[0] <= MAX_ROUNDS:
        raise TableError(_("there must be from 1 to {most} rounds", most=number(MAX_ROUNDS)))
    if shape[1] < 2:
        raise TableError(_("there must be two experts or more: with one there is nothing to choose"))


def _check_losses(losses: Ints) -> None:
    _check_shape(losses.shape)
    if not np.issubdtype(losses.dtype, np.integer) or losses.min() < 0 or losses.max() > GRID:
        raise TableError("losses must be whole steps of the grid, from 0 to 1: make them with on_grid")
