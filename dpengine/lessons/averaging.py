"""Averaging attack: ask one question again and again, until fresh noise averages away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpengine.accounting.ledger import Ledger
from dpengine.errors import PlanError
from dpengine.lessons.defences import Defence
from dpengine.lessons.success_rate import Rate
from dpengine.release import release
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan

__all__ = ["ask_engine", "averaging_attack"]

MIN_OTHERS, MAX_OTHERS = 100, 300  # people in the register besides the target


def averaging_attack(defence: Defence, asks: int, games: int, *, seed: int | None = None) -> Rate:
    """Guess whether one person is in a register by asking for its total `asks` times, in each of `games` games.

    In each game a fair coin puts the person in the register or not, beside others whose number the attacker knows. If
    answers are noisy, the attacker says *in* when their average is nearer to the total with the person. If they follow
    from the truth alone, the attacker says *in* when the answer differs from the one without the person. A stored
    answer is the same each time, so asking again shows nothing: against the engine's noise the guess is right with
    probability e^ε/(1 + e^ε).

    A `seed` repeats everything except the noise of the engine. Raises `PlanError` for no asks or no games.
    """
    if asks < 1 or games < 1:
        raise PlanError("there must be at least one ask and one game")
    rng = np.random.default_rng(seed)
    inside = rng.integers(0, 2, games)
    others = rng.integers(MIN_OTHERS, MAX_OTHERS, games)
    totals = np.repeat((others + inside)[:, None], asks if defence.redraws else 1, axis=1)
    average = defence.answer(totals, 1, rng).mean(axis=1)
    guess = average > others + 0.5 if defence.noisy else average != defence.answer(others, 1, rng)
    return Rate.of(guess == (inside == 1))


def ask_engine(people: int, times: int, epsilon: Fraction) -> tuple[list[int], Fraction]:
    """Publish the size of a register `times` times with the real engine; return the answers and the ε spent.

    Each request is a release: the table is read and counted, and a ledger in memory is charged.
    """
    plan = Plan(dataset="register", epsilon=epsilon,
                columns=[{"name": "listed", "kind": "category", "values": ["yes"], "other": False, "missing": False}],
                tables=[["listed"]])  # fmt: skip
    ledger = Ledger.in_memory()
    with open_table(pa.table({"listed": ["yes"] * people})) as rows:
        answers = [int(release(rows, plan, ledger).counts(("listed",)).sum()) for _ in range(times)]
    return answers, ledger.spent(plan.dataset)
