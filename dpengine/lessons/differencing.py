"""The differencing attack: two questions that differ in one person.

"How many are in the register?" and "how many, but for those born on 3 March 1957?": if one person was born that
day, the difference is that person (Dwork & Roth 2014, section 1.1). Neither question looks like one about her.
"""

from __future__ import annotations

import numpy as np

from dpengine.errors import PlanError
from dpengine.lessons.defences import Defence
from dpengine.lessons.success_rate import Rate

__all__ = ["differencing"]

SMALLEST, LARGEST = 20, 400  # how many others a question counts


def differencing(defence: Defence, pairs: int, games: int, *, seed: int | None = None) -> Rate:
    """How often an attacker is right on whether one person is in the register, after ``pairs`` of questions.

    In each game a fair coin puts her in or not. Each pair asks about another group of others: with her, and
    without. Who gets answers that follow from the truth alone (true, or rounded) says *in* as soon as one pair
    differs, since without her none ever does; who gets noisy ones says *in* where the mean difference is above ½.

    A defence that stores its answers publishes one table instead, of which both questions are sums. Each difference
    is then the same published cell, hers, whose noise has sensitivity 1: the attacker's best guess is right with
    probability e^ε/(1 + e^ε), the most that ε allows, and further pairs bring nothing.

    A ``seed`` repeats all but noise of the engine. Raises `PlanError` for no pairs or games.
    """
    if pairs < 1 or games < 1:
        raise PlanError("there must be at least one pair of questions and one game")
    rng = np.random.default_rng(seed)
    inside = rng.integers(0, 2, games)
    if defence.stored:
        differences = defence.answer(inside[:, None], 1, rng)
    else:
        others = rng.integers(SMALLEST, LARGEST, (games, pairs))
        with_her = defence.answer(others + inside[:, None], 1, rng)
        differences = with_her - defence.answer(others, 1, rng)
    guess = differences.mean(axis=1) > 0.5 if defence.noisy else (differences != 0).any(axis=1)
    return Rate(int((guess == (inside == 1)).sum()), games)
