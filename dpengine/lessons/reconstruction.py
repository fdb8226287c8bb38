"""Linear reconstruction attack: enough answers about random groups reveal everybody's secret.

Of n people some are in a register; each question counts those of a random group. Overly accurate answers to too many
questions destroy privacy altogether: with noise well below √n, about n questions reveal almost all of the register
(Dinur & Nissim 2003). Least squares finds it, and so does a linear program, even if a good part of the answers is
arbitrary (Dwork, McSherry & Talwar 2007).
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
from dpengine.translation.catalogue import _, mark

__all__ = [
    "METHODS", "Reconstruction", "least_absolute_error", "least_squares", "random_groups",
    "reconstruct",
]  # fmt: skip

Method = Callable[[Ints, Floats], Floats]

TIME_LIMIT = 60  # seconds for one linear program


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """Membership in the register (`secret`), and the attacker's guess of it (`guess`): one entry for each person."""

    secret: Bools
    guess: Bools
    questions: int

    @property
    def rate(self) -> Rate:
        """Fraction of people guessed correctly; the guesses are nearly independent."""
        return Rate.of(self.secret == self.guess)


def random_groups(people: int, questions: int, rng: np.random.Generator) -> Ints:
    """Draw the group of each question by fair coins: 1 for a person in it, else 0; shape (questions, people).

    Raises `PlanError` for fewer than two people, or no questions.
    """
    if people < 2 or questions < 1:
        raise PlanError("there must be at least two people and one question")
    return rng.integers(0, 2, (questions, people))


def least_squares(groups: Ints, answers: Floats) -> Floats:
    """Return the x nearest to one half that minimises Σ (A·x − answer)², with A the `groups`."""
    matrix = groups.astype(np.float64)
    offsets = answers - matrix.sum(axis=1) / 2  # without questions, a person stays at one half
    if groups.shape[0] >= 2 * groups.shape[1] >= 100:  # columns are nearly orthogonal, so this is safe
        solution: Floats = np.linalg.solve(matrix.T @ matrix, matrix.T @ offsets) + 0.5
        return solution
    solution = np.linalg.lstsq(matrix, offsets, rcond=None)[0] + 0.5
    return solution


def least_absolute_error(groups: Ints, answers: Floats) -> Floats:
    """Return the x within [0, 1] that minimises Σ |A·x − answer|. Source: Dwork, McSherry & Talwar 2007."""
    questions, people = groups.shape
    slack = sparse.eye_array(questions)
    matrix: Any = sparse.csc_array(sparse.hstack([sparse.csr_array(groups), slack, -slack]))
    prices = np.concatenate([np.zeros(people), np.ones(2 * questions)])
    bounds: Any = [(0.0, 1.0)] * people + [(0.0, None)] * (2 * questions)
    return _solve(people, prices, A_eq=matrix, b_eq=answers, bounds=bounds)


def least_maximum_error(groups: Ints, answers: Floats) -> Floats:
    """Return the x within [0, 1] that minimises max |A·x − answer|. Source: Dinur & Nissim 2003."""
    questions, people = groups.shape
    matrix = np.block([[groups, -np.ones((questions, 1))], [-groups, -np.ones((questions, 1))]])
    prices = np.concatenate([np.zeros(people), [1.0]])
    bounds: Any = [(0.0, 1.0)] * people + [(0.0, None)]
    return _solve(people, prices, A_ub=matrix, b_ub=np.concatenate([answers, -answers]), bounds=bounds)


def _solve(people: int, prices: Floats, **program: Any) -> Floats:
    """Solve a linear program by HiGHS, and return its first variables, which stand for the people."""
    options: Any = {"time_limit": TIME_LIMIT}
    solved = linprog(prices, **program, method="highs-ipm", options=options)
    if solved.x is None:
        raise PlanError(
            _("the linear program was not solved in {seconds} seconds; ask fewer questions", seconds=TIME_LIMIT)
        )
    solution: Floats = solved.x[:people]
    return solution


METHODS: dict[str, Method] = {
    mark("least squares"): least_squares,
    mark("linear program, smallest sum of errors"): least_absolute_error,
    mark("linear program, smallest largest error"): least_maximum_error,
}


def reconstruct(
    defence: Defence, people: int, questions: int, *, method: Method = least_squares, seed: int | None = None
) -> Reconstruction:
    """Ask `defence` random questions about a register that is filled by fair coins, and guess who is in it.

    The questions are public before any is answered. The engine answers them all under one ε: its noise has scale Δ/ε,
    with Δ the largest number of questions about one person. A `seed` repeats everything except the noise of the
    engine.

    Raises `PlanError` for fewer than two people, no questions, or a program that takes too long.
    """
    rng = np.random.default_rng(seed)
    groups = random_groups(people, questions, rng)
    secret = rng.integers(0, 2, people)
    answers = defence.answer(groups @ secret, int(groups.sum(axis=0).max()), rng)
    return Reconstruction(secret == 1, method(groups, answers) > 0.5, questions)
