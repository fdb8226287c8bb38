"""Ways to answer counting questions about people, from none at all to this engine's: what attacks are tried on.

In every attack a register holds some people, and being in it is the secret. A question counts people of the
register; a defence turns true counts into answers.
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
    """How true counts become answers.

    ``answer`` takes true counts of any shape, the L1 sensitivity of all questions that share one budget, and a
    source of chance for those defences that draw with numpy. ``noisy``: chance has a part in it. ``stored``: the
    first answer is kept, and given to whoever asks again.
    """

    name: str
    answer: Callable[[Ints, int, np.random.Generator], Floats]
    noisy: bool = False
    stored: bool = False

    @property
    def afresh(self) -> bool:
        """Whether asking again brings another answer."""
        return self.noisy and not self.stored


RAW = Defence("true counts", lambda truths, sensitivity, rng: truths.astype(np.float64))


def rounded(base: int) -> Defence:
    """Each count rounded to the nearest multiple of ``base``, halves up."""
    if base < 1:
        raise PlanError("counts can be rounded to multiples of 1 or more")
    return Defence(
        f"rounded to {base}s",
        lambda truths, sensitivity, rng: ((truths + base // 2) // base * base).astype(np.float64),
    )


def jittered(width: int) -> Defence:
    """A whole number between −``width`` and ``width``, all as likely, added afresh to each answer."""
    if width < 1:
        raise PlanError("noise needs a width of 1 or more")

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return (truths + rng.integers(-width, width + 1, truths.shape)).astype(np.float64)

    return Defence(f"± {width} at random, afresh each time", answer, noisy=True)


def unbudgeted(epsilon: Fraction) -> Defence:
    """Floating-point Laplace noise of scale 1/ε on each answer, afresh each time, and nobody adds the ε up.

    Each answer is ε-differentially private but for its low bits (`lessons.floating_point`); k of
    them are k·ε-private.
    """
    _check(epsilon)

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return truths + rng.laplace(0.0, 1 / float(epsilon), truths.shape)

    return Defence("Laplace noise without a budget", answer, noisy=True, stored=False)


def engine(epsilon: Fraction) -> Defence:
    """This engine: exact discrete Laplace noise of scale Δ/ε, one ε for all questions, each answered once.

    The noise is that of a release (`measure.measure.add_noise`), from the operating system: no seed repeats it.
    """
    _check(epsilon)

    def answer(truths: Ints, sensitivity: int, rng: np.random.Generator) -> Floats:
        return (truths + discrete_laplace(sensitivity / epsilon, truths.shape)).astype(np.float64)

    return Defence("this engine", answer, noisy=True, stored=True)


def _check(epsilon: Fraction) -> None:
    if epsilon <= 0:
        raise PlanError("ε must be above 0")
