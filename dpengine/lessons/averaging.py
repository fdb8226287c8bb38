"""The averaging attack: ask the same question again and again, and noise that is drawn afresh averages away."""

from __future__ import annotations

from dataclasses import dataclass
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

__all__ = ["Averaged", "averaging", "engine_asked"]

FEWEST, MOST = 100, 300  # people in the register besides the one who is looked for


@dataclass(frozen=True, slots=True)
class Averaged:
    """How often the attacker was right, and by how much the average was typically off (its mean |error|)."""

    rate: Rate
    off: float


def averaging(defence: Defence, asks: int, games: int, *, seed: int | None = None) -> Averaged:
    """How often an attacker who knows all others is right on one person, who asks for the total ``asks`` times.

    In each game a fair coin puts her in the register or not, beside others whose number the attacker knows. Where
    answers follow from the truth alone, they say *in* when the answer is not what it would be without her; else when
    the average lies nearer to the total with her. A stored answer is the same each time, so that asking again shows
    nothing: the guess is right with probability e^ε/(1 + e^ε) for the engine's noise.

    A ``seed`` repeats all but noise of the engine. Raises `PlanError` for no asks or games.
    """
    if asks < 1 or games < 1:
        raise PlanError("there must be at least one ask and one game")
    rng = np.random.default_rng(seed)
    inside = rng.integers(0, 2, games)
    others = rng.integers(FEWEST, MOST, games)
    totals = np.repeat((others + inside)[:, None], asks if defence.afresh else 1, axis=1)
    average = defence.answer(totals, 1, rng).mean(axis=1)
    guess = average > others + 0.5 if defence.noisy else average != defence.answer(others, 1, rng)
    right = int((guess == (inside == 1)).sum())
    return Averaged(Rate(right, games), float(np.abs(average - others - inside).mean()))


def engine_asked(people: int, times: int, epsilon: Fraction) -> tuple[list[int], Fraction]:
    """The count that the whole engine publishes of a register, each time it is asked, and what all of it cost.

    Goes the way of a release: the table is read and counted, a ledger is asked and charged.
    """
    plan = Plan(dataset="register", epsilon=epsilon,
                columns=[{"name": "listed", "kind": "category", "values": ["yes"], "other": False, "missing": False}],
                tables=[["listed"]])  # fmt: skip
    ledger = Ledger.in_memory()
    with open_table(pa.table({"listed": ["yes"] * people})) as rows:
        answers = [int(release(rows, plan, ledger).counts(("listed",)).sum()) for _ in range(times)]
    return answers, ledger.spent(plan.dataset)
