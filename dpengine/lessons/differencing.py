"""Differencing attack: two questions that differ in one person.

"How many are in the register?" and "how many, except those born on 3 March 1957?": if one person was born that day,
the difference of the two answers is that person. Neither question looks like one about her.

Source: Dwork & Roth 2014, Section 1.1.
"""

from __future__ import annotations

import numpy as np

from dpengine.errors import PlanError
from dpengine.lessons.defences import Defence
from dpengine.lessons.success_rate import Rate

__all__ = ["differencing_attack"]

MIN_OTHERS, MAX_OTHERS = 20, 400  # how many other people a question counts


def differencing_attack(defence: Defence, pairs: int, games: int) -> Rate:
    """Guess whether one person is in a register from `pairs` of questions, in each of `games` games.

    In each game a fair coin puts the person in the register or not. Each pair asks about another group of people: with
    the person, and without. If answers are noisy, the attacker says *in* when the mean difference is above ½. If they
    follow from the truth alone (true or rounded counts), the attacker says *in* as soon as one pair differs: without
    the person none does.

    A defence that stores its answers publishes one table instead, and both questions are sums of it. Each difference
    is then the same published cell, whose noise has sensitivity 1: the best guess is right with probability
    e^ε/(1 + e^ε), the most that ε allows, and more pairs add nothing.

    Raises `PlanError` for no pairs or no games.
    """
    if pairs < 1 or games < 1:
        raise PlanError("there must be at least one pair of questions and one game")
    rng = np.random.default_rng()
    inside = rng.integers(0, 2, games)
    if defence.stored:
        differences = defence.answer(inside[:, None], 1, rng)
    else:
        others = rng.integers(MIN_OTHERS, MAX_OTHERS, (games, pairs))
        with_person = defence.answer(others + inside[:, None], 1, rng)
        differences = with_person - defence.answer(others, 1, rng)
    guess = differences.mean(axis=1) > 0.5 if defence.noisy else (differences != 0).any(axis=1)
    return Rate.of(guess == (inside == 1))
