"""Floating-point Laplace noise gives the truth away in its lowest bits (Mironov 2012).

A sampler turns one of 2^53 uniform numbers into Laplace noise by a logarithm. So around a true answer of 0 only some
of all doubles can ever come out, around a true answer of 1 only some others, and the two sets hardly agree: an output
that is impossible for one of the two is proof of the other, whatever ε says. Here it is found out by trying the
uniform numbers around the one that would give an output, through the sampler's own formula.

Two samplers: numpy's own (``Generator.laplace``, whose formula in C is followed operation by operation), and the
inverse distribution function as in textbooks. Their logarithm is that of the C library, which ``math.log`` calls;
numpy's own vector logarithm differs in the last bit of some results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Bools, Floats, Ints
from dpengine.errors import PlanError
from dpengine.lessons.defences import engine
from dpengine.lessons.success_rate import Rate

__all__ = ["NUMPY", "SAMPLERS", "TEXTBOOK", "Neighbourhood", "Sampler", "Verdicts", "around", "possible", "tried",
           "tried_on_engine"]  # fmt: skip


LATTICE = 2.0**53  # the uniform numbers of numpy, and of most others, are k/2^53
MARGIN = 8  # multiples of 1/2^53 that rounding in a formula and in its inverse can be off, and some to spare
FARTHEST = 64  # the largest |true answer|/scale that is looked at: beyond it, the margin would grow without end
EPSILONS = (Fraction(1, 1000), Fraction(16))

_log = np.frompyfunc(math.log, 1, 1)


@dataclass(frozen=True, slots=True)
class Sampler:
    """``draw`` takes true answers, a scale and a seed or None; ``formula`` what a uniform number becomes there."""

    name: str
    code: str
    draw: Callable[[Floats, float, int | None], Floats]
    formula: Callable[[Floats, Floats, float], Floats]


def _logarithm(numbers: Floats) -> Floats:
    return np.asarray(_log(numbers), dtype=np.float64)


def _numpy_formula(uniform: Floats, true: Floats, scale: float) -> Floats:
    upper = uniform >= 0.5
    logarithm = scale * _logarithm(np.where(upper, 2.0 - uniform - uniform, uniform + uniform))
    found: Floats = np.where(upper, true - logarithm, true + logarithm)
    return found


def _textbook_formula(uniform: Floats, true: Floats, scale: float) -> Floats:
    centred = uniform - 0.5
    found: Floats = true - scale * np.sign(centred) * _logarithm(1.0 - 2.0 * np.abs(centred))
    return found


def _by_numpy(true: Floats, scale: float, seed: int | None) -> Floats:
    return np.random.default_rng(seed).laplace(true, scale)


def _by_textbook(true: Floats, scale: float, seed: int | None) -> Floats:
    uniform = np.random.default_rng(seed).random(true.shape)
    return _textbook_formula(np.maximum(uniform, 1 / LATTICE), true, scale)


NUMPY = Sampler(
    "numpy's Generator.laplace",
    "u = random()  # k / 2**53\n"
    "if u >= 0.5: return loc - scale * log(2.0 - u - u)\n"
    "if u > 0.0:  return loc + scale * log(u + u)",
    _by_numpy,
    _numpy_formula,
)
TEXTBOOK = Sampler(
    "the textbook's inverse",
    "u = random() - 0.5  # k / 2**53 - 1/2\nreturn loc - scale * sign(u) * log(1 - 2 * abs(u))",
    _by_textbook,
    _textbook_formula,
)
SAMPLERS = (NUMPY, TEXTBOOK)


def possible(sampler: Sampler, outputs: Floats, true: float, scale: float) -> Bools:
    """Whether each of ``outputs`` can come from ``sampler`` at all, if ``true`` is the true answer.

    The uniform number u that gives x = true ± s·log w, where w is 2u or 2 − 2u, is near exp(−|x − true|/s)/2 or one
    minus that. One step 1/2^53 of u moves x by s·2^-52/w; all roundings together move it by no more than half a unit
    in the last place of x and three of the logarithm, and the inverse is off by as little: together less than
    4 + abs(true)/2s steps, since w·abs(log w) ≤ 1/e. So trying ``MARGIN`` + abs(true)/s steps either way decides it.

    Raises `PlanError` where |true| is more than ``FARTHEST`` scales.
    """
    if not scale > 0 or abs(true) > FARTHEST * scale:
        raise PlanError(f"the true answer must lie within {FARTHEST} scales of the noise")
    margin = MARGIN + math.ceil(abs(true) / scale)
    distance = (outputs - true) / scale
    lower = np.exp(-np.abs(distance)) / 2
    start = np.round(np.where(distance < 0, lower, 1 - lower) * LATTICE)
    steps = np.clip(start[..., None] + np.arange(-margin, margin + 1), 1, LATTICE - 1)
    values = sampler.formula(steps / LATTICE, np.full_like(steps, true), scale)
    reached: Bools = (values == outputs[..., None]).any(axis=-1)
    return reached


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Doubles one after the other, and which of them can be an output where 0, or 1, is the true answer."""

    steps: Ints
    doubles: Floats
    zero: Bools
    one: Bools

    @property
    def telling(self) -> float:
        """The share of those that can come out at all which tell the two true answers apart."""
        any_of_both = int((self.zero | self.one).sum())
        return int((self.zero ^ self.one).sum()) / any_of_both if any_of_both else math.nan


def around(sampler: Sampler, output: float, epsilon: Fraction, reach: int) -> Neighbourhood:
    """The ``reach`` doubles on either side of ``output``. Raises `PlanError` where they would pass 0."""
    _check(epsilon)
    bits = int(np.float64(abs(output)).view(np.int64))
    if not math.isfinite(output) or reach < 0 or bits <= reach:
        raise PlanError("so near to 0, or beyond all numbers, doubles are not looked at")
    steps = np.arange(-reach, reach + 1)
    doubles = np.copysign((bits + np.sign(output).astype(np.int64) * steps).view(np.float64), output)
    scale = 1 / float(epsilon)
    return Neighbourhood(steps, doubles, *(possible(sampler, doubles, true, scale) for true in (0.0, 1.0)))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What an attacker makes of one output a game.

    ``proved``: it is impossible for one of the two true answers, so that the other is certain. ``right``: all guesses,
    also those by distance where nothing is proved. ``mistaken`` counts proofs of what was not so: there are none.
    """

    proved: Rate
    right: Rate
    mistaken: int


def tried(sampler: Sampler, epsilon: Fraction, games: int, *, seed: int | None = None) -> Verdicts:
    """Tell whether a true answer was 0 or 1, each as likely, from one output with Laplace noise of scale 1/ε."""
    _check(epsilon)
    scale = 1 / float(epsilon)
    coins = np.random.default_rng(None if seed is None else [seed, 1])
    truths = coins.integers(0, 2, games)
    outputs = sampler.draw(truths.astype(np.float64), scale, seed)
    zero, one = (possible(sampler, outputs, true, scale) for true in (0.0, 1.0))
    return _judged(truths, outputs, zero, one)


def tried_on_engine(epsilon: Fraction, games: int) -> Verdicts:
    """The same on this engine's noise: every whole number can come out on either table, so nothing is ever proved."""
    _check(epsilon)
    rng = np.random.default_rng()
    truths = rng.integers(0, 2, games)
    outputs = engine(epsilon).answer(truths, 1, rng)
    whole = outputs == np.round(outputs)
    return _judged(truths, outputs, whole, whole)


def _judged(truths: Ints, outputs: Floats, zero: Bools, one: Bools) -> Verdicts:
    proof = zero ^ one
    guess = np.where(proof, one, outputs > 0.5)
    right = guess == (truths == 1)
    return Verdicts(
        Rate(int(proof.sum()), truths.size), Rate(int(right.sum()), truths.size), int((proof & ~right).sum())
    )


def _check(epsilon: Fraction) -> None:
    least, most = EPSILONS
    if not least <= epsilon <= most:
        raise PlanError(f"ε must lie between {float(least):g} and {float(most):g} here")
