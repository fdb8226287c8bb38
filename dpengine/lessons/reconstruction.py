"""Linear reconstruction: enough answers about random groups, and every secret comes back.

n people, some of them in a register; each question counts those of a random half who are. Overly accurate answers to
too many questions destroy privacy altogether: with noise well below √n, a number of questions of the order of n gives
almost all of the register away (Dinur & Nissim 2003). Solving a linear program does it, also when a good part of the
answers is arbitrary (Dwork, McSherry & Talwar 2007), and so does least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dpengine.array_types import Bools, Floats, Ints
from dpengine.errors import PlanError
from dpengine.lessons.defences import Defence
from dpengine.lessons.success_rate import Rate

__all__ = [
    "METHODS", "Reconstruction", "groups", "least_error", "least_largest_error", "least_squares", "one_person",
    "reconstruct",
]  # fmt: skip

Method = Callable[[Ints, Floats], Floats]

PATIENCE: Any = {"time_limit": 60}  # seconds


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """Who is in the register (``secret``), and who the attacker says is (``guess``); one place a person."""

    secret: Bools
    guess: Bools
    questions: int

    @property
    def rate(self) -> Rate:
        """People guessed right. The answers are shared by all, but bind any two of them hardly together."""
        return Rate(int((self.secret == self.guess).sum()), self.secret.size)


def groups(people: int, questions: int, rng: np.random.Generator) -> Ints:
    """Which people each question asks about: 0 or 1, of shape (questions, people), each by a fair coin."""
    if people < 2 or questions < 1:
        raise PlanError("there must be at least two people and one question")
    return rng.integers(0, 2, (questions, people))


def least_squares(asked: Ints, answers: Floats) -> Floats:
    """The x that makes Σ (A·x − answer)² least, the shortest of them where they are many."""
    matrix = asked.astype(np.float64)
    offsets = answers - matrix.sum(axis=1) / 2  # with few questions, undecided people stay at one half and not at 0
    if asked.shape[0] >= 2 * asked.shape[1] >= 100:  # then random columns are nearly orthogonal, and this is safe
        found: Floats = np.linalg.solve(matrix.T @ matrix, matrix.T @ offsets) + 0.5
        return found
    found = np.linalg.lstsq(matrix, offsets, rcond=None)[0] + 0.5
    return found


def least_error(asked: Ints, answers: Floats) -> Floats:
    """The x within [0, 1] that makes Σ |A·x − answer| least (Dwork, McSherry & Talwar 2007)."""
    questions, people = asked.shape
    slack = sparse.eye_array(questions)
    matrix: Any = sparse.csc_array(sparse.hstack([sparse.csr_array(asked), slack, -slack]))
    prices = np.concatenate([np.zeros(people), np.ones(2 * questions)])
    bounds: Any = [(0.0, 1.0)] * people + [(0.0, None)] * (2 * questions)
    return _first(
        people, linprog(prices, A_eq=matrix, b_eq=answers, bounds=bounds, method="highs-ipm", options=PATIENCE)
    )


def least_largest_error(asked: Ints, answers: Floats) -> Floats:
    """The x within [0, 1] that makes max |A·x − answer| least: near to all answers at once (Dinur & Nissim 2003)."""
    questions, people = asked.shape
    matrix = np.block([[asked, -np.ones((questions, 1))], [-asked, -np.ones((questions, 1))]])
    prices = np.concatenate([np.zeros(people), [1.0]])
    bounds: Any = [(0.0, 1.0)] * people + [(0.0, None)]
    limits = np.concatenate([answers, -answers])
    return _first(
        people, linprog(prices, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs-ipm", options=PATIENCE)
    )


def _first(people: int, solved: Any) -> Floats:
    if solved.x is None:
        raise PlanError(f"the linear program was not solved in {PATIENCE['time_limit']} seconds; ask fewer questions")
    found: Floats = solved.x[:people]
    return found


METHODS: dict[str, Method] = {
    "least squares": least_squares,
    "linear program, least sum of errors": least_error,
    "linear program, least largest error": least_largest_error,
}


def reconstruct(
    defence: Defence, people: int, questions: int, *, method: Method = least_squares, seed: int | None = None
) -> Reconstruction:
    """Ask ``defence`` random questions about a register that fair coins filled, and guess who is in it.

    The questions are public before any is answered. The engine answers them all under one ε: its noise has the scale
    Δ/ε, Δ the most questions that ask about any one person. A ``seed`` repeats all but noise of the engine.

    Raises `PlanError` for fewer than two people, no questions, or a program that takes too long.
    """
    rng = np.random.default_rng(seed)
    asked = groups(people, questions, rng)
    secret = rng.integers(0, 2, people)
    answers = defence.answer(asked @ secret, int(asked.sum(axis=0).max()), rng)
    return Reconstruction(secret == 1, method(asked, answers) > 0.5, questions)


def one_person(defence: Defence, people: int, questions: int, runs: int, *, seed: int | None = None) -> Rate:
    """How often least squares is right on the first person, over independent registers and one list of questions.

    One person a run, so that runs are independent and intervals exact.
    """
    rng = np.random.default_rng(seed)
    asked = groups(people, questions, rng)
    secrets = rng.integers(0, 2, (people, runs))
    answers = defence.answer(asked @ secrets, max(1, int(asked.sum(axis=0).max())), rng)
    guess = 0.5 + np.linalg.pinv(asked.astype(np.float64))[0] @ (answers - asked.sum(axis=1)[:, None] / 2) > 0.5
    return Rate(int((guess == (secrets[0] == 1)).sum()), runs)
