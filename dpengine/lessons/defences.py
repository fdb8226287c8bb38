"""Defences against the attacks: ways to answer counting questions about people, from true counts to this engine.

In every attack a register holds some people, and being in it is the secret. A question counts people in the register; a
defence turns true counts into answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError
from dpengine.noise.laplace import discrete_laplace

__all__ = ["RAW", "Defence", "engine", "jittered", "rounded", "unbudgeted"]


@dataclass(frozen=True, slots=True)
class Defence:
    """A way to turn true counts into answers.

    `answer` takes true counts of any shape, the L1 sensitivity of all questions that share one budget, and a generator
    for defences that draw their noise with NumPy. `noisy` says that answers are random, `stored` that the first answer
    is kept and given again.
    """

    name: str
    answer: Callable[[Ints, int, np.random.Generator], Floats]
    noisy: bool = False
    stored: bool = False

    @property
    def redraws(self) -> bool:
        """True if each repetition of a question draws a new answer."""
        return self.noisy and not self.stored


RAW = Defence("true counts", lambda truths, sensitivity, rng: truths.astype(np.float64))


def rounded(base: int) -> Defence:
    """Round each count to the nearest multiple of `base`, halves up.

    >>> rounded(5).answer(np.array([2, 3, 12]), 1, np.random.default_rng()).tolist()
    [0.0, 5.0, 10.0]
    """
    if base < 1:
        raise PlanError("counts can be rounded to multiples of 1 or more")
    return Defence(
        f"rounded to {base}s",
        lambda truths, sensitivity, rng: ((truths + base // 2) // base * base).astype(np.float64),
    )


def jittered(width: int) -> Defence:
    """Add to each answer a fresh whole number, uniform between −`width` and `width`."""
    if width < 1:
        raise PlanError("noise needs a width of 1 or more")

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return (truths + rng.integers(-width, width + 1, truths.shape)).astype(np.float64)

    return Defence(f"± {width} at random, new for each answer", answer, noisy=True)


def unbudgeted(epsilon: Fraction) -> Defence:
    """Add fresh floating-point Laplace noise of scale 1/ε to each answer, without adding up the ε.

    Each answer is ε-differentially private except for its low bits (`lessons.floating_point`); k answers are only
    kε-private.
    """
    _check(epsilon)

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return truths + rng.laplace(0.0, 1 / float(epsilon), truths.shape)

    return Defence("Laplace noise without a budget", answer, noisy=True)


def engine(epsilon: Fraction) -> Defence:
    """Answer as this engine does: exact discrete Laplace noise of scale Δ/ε, one ε for all questions, drawn once.

    The noise is that of a release (`noise.laplace`), from the operating system: no seed repeats it.
    """
    _check(epsilon)

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return (truths + discrete_laplace(sensitivity / epsilon, truths.shape)).astype(np.float64)

    return Defence("this engine", answer, noisy=True, stored=True)


def _check(epsilon: Fraction) -> None:
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
