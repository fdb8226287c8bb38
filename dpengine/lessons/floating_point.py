"""Floating-point Laplace noise reveals the true answer in its lowest bits.

A sampler turns one of 2^53 uniform numbers into Laplace noise by a logarithm. So only some doubles are possible outputs
if the true answer is 0, and others if it is 1; the two sets hardly overlap. An output that is impossible for one true
answer proves the other, whatever ε is. The attack puts the uniform numbers near the one that would give an output
through the sampler's own formula.

Two samplers are attacked: NumPy's (`Generator.laplace`, whose C code is followed operation by operation), and the
inverse distribution function of textbooks. Both use the logarithm of the C library, which `math.log` calls; NumPy's
own vector logarithm differs in the last bit of some results.

Source: Mironov 2012, "On significance of the least significant bits for differential privacy".
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
from dpengine.translation.catalogue import _, mark

__all__ = ["NUMPY", "SAMPLERS", "Neighbourhood", "Sampler", "Verdicts", "attack_engine", "attack_sampler",
           "neighbourhood", "possible"]  # fmt: skip

LATTICE = 2.0**53  # the uniform numbers of NumPy, and of most libraries, are k/2^53
MARGIN = 8  # in steps of 1/2^53: the error of a formula and its inverse by rounding, and some to spare
MAX_SCALES = 64  # largest |true answer|/scale that is accepted: the margin grows with it
MIN_EPSILON, MAX_EPSILON = Fraction(1, 1000), Fraction(16)

_log = np.frompyfunc(math.log, 1, 1)


@dataclass(frozen=True, slots=True)
class Sampler:
    """A way to draw Laplace noise.

    `draw` takes true answers, a scale and a seed (or None). `formula` maps uniform numbers, true answers and a scale
    to outputs; `code` shows it to a reader.
    """

    name: str
    code: str
    draw: Callable[[Floats, float, int | None], Floats]
    formula: Callable[[Floats, Floats, float], Floats]


def _logarithm(numbers: Floats) -> Floats:
    return np.asarray(_log(numbers), dtype=np.float64)


def _numpy_formula(uniform: Floats, true: Floats, scale: float) -> Floats:
    upper = uniform >= 0.5
    logarithm = scale * _logarithm(np.where(upper, 2.0 - uniform - uniform, uniform + uniform))
    noisy: Floats = np.where(upper, true - logarithm, true + logarithm)
    return noisy


def _textbook_formula(uniform: Floats, true: Floats, scale: float) -> Floats:
    centred = uniform - 0.5
    noisy: Floats = true - scale * np.sign(centred) * _logarithm(1.0 - 2.0 * np.abs(centred))
    return noisy


def _by_numpy(true: Floats, scale: float, seed: int | None) -> Floats:
    return np.random.default_rng(seed).laplace(true, scale)


def _by_textbook(true: Floats, scale: float, seed: int | None) -> Floats:
    uniform = np.random.default_rng(seed).random(true.shape)
    return _textbook_formula(np.maximum(uniform, 1 / LATTICE), true, scale)


NUMPY = Sampler(
    mark("numpy's Generator.laplace"),
    "u = random()  # k / 2**53\n"
    "if u >= 0.5: return loc - scale * log(2.0 - u - u)\n"
    "if u > 0.0:  return loc + scale * log(u + u)",
    _by_numpy,
    _numpy_formula,
)
TEXTBOOK = Sampler(
    mark("the textbook's inverse"),
    "u = random() - 0.5  # k / 2**53 - 1/2\nreturn loc - scale * sign(u) * log(1 - 2 * abs(u))",
    _by_textbook,
    _textbook_formula,
)
SAMPLERS = (NUMPY, TEXTBOOK)


def possible(sampler: Sampler, outputs: Floats, true: float, scale: float) -> Bools:
    """Return whether each of `outputs` can come from `sampler` at all if `true` is the true answer.

    The uniform number u that gives x = true ± s·log w, where w is 2u or 2 − 2u, is near exp(−|x − true|/s)/2 or one
    minus that. One step 1/2^53 of u moves x by s·2^-52/w; all roundings together move it by no more than half a unit
    in the last place of x and three of the logarithm, and the inverse is off by as little: together less than
    4 + abs(true)/2s steps, since w·abs(log w) ≤ 1/e. So trying `MARGIN` + abs(true)/s steps either way decides it.

    Raises `PlanError` if |true| is more than `MAX_SCALES` scales.
    """
    if not scale > 0 or abs(true) > MAX_SCALES * scale:
        raise PlanError(f"the true answer must lie within {MAX_SCALES} scales of the noise")
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
    """Consecutive `doubles`, and which of them are possible outputs if the true answer is `zero`, or `one`.

    `steps` are their distances from the output in the middle, in doubles.
    """

    steps: Ints
    doubles: Floats
    zero: Bools
    one: Bools


def neighbourhood(sampler: Sampler, output: float, epsilon: Fraction, doubles: int) -> Neighbourhood:
    """Examine the given number of doubles on either side of `output`, with Laplace noise of scale 1/ε.

    Raises `PlanError` if they would reach 0, or `output` is not finite.
    """
    _check(epsilon)
    bits = int(np.float64(abs(output)).view(np.int64))
    if not math.isfinite(output) or doubles < 0 or bits <= doubles:
        raise PlanError(_("this output is too near to 0 or infinite, so its neighbours cannot be listed"))
    steps = np.arange(-doubles, doubles + 1)
    values = np.copysign((bits + np.sign(output).astype(np.int64) * steps).view(np.float64), output)
    scale = 1 / float(epsilon)
    return Neighbourhood(steps, values, *(possible(sampler, values, true, scale) for true in (0.0, 1.0)))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Outcome of an attack that sees one output per game.

    `proved` is the rate of outputs that are impossible for one true answer, so that the other is certain; `correct` the
    rate of correct guesses, by distance if nothing is proved. `mistaken` counts proofs of a wrong answer: there are
    none.
    """

    proved: Rate
    correct: Rate
    mistaken: int


def attack_sampler(sampler: Sampler, epsilon: Fraction, games: int, *, seed: int | None = None) -> Verdicts:
    """Guess whether a true answer is 0 or 1, equally likely, from one output with Laplace noise of scale 1/ε.

    Raises `PlanError` for no games, or ε outside `MIN_EPSILON` to `MAX_EPSILON`.
    """
    _check(epsilon)
    scale = 1 / float(epsilon)
    coins = np.random.default_rng(None if seed is None else [seed, 1])
    truths = coins.integers(0, 2, games)
    outputs = sampler.draw(truths.astype(np.float64), scale, seed)
    zero, one = (possible(sampler, outputs, true, scale) for true in (0.0, 1.0))
    return _judge(truths, outputs, zero, one)


def attack_engine(epsilon: Fraction, games: int) -> Verdicts:
    """Run the same attack on this engine's noise: every whole number is possible for both answers and proves nothing.

    Raises `PlanError` as `attack_sampler` does.
    """
    _check(epsilon)
    rng = np.random.default_rng()
    truths = rng.integers(0, 2, games)
    outputs = engine(epsilon).answer(truths, 1, rng)
    is_integer = outputs == np.round(outputs)
    return _judge(truths, outputs, is_integer, is_integer)


def _judge(truths: Ints, outputs: Floats, zero: Bools, one: Bools) -> Verdicts:
    proof = zero ^ one
    guess = np.where(proof, one, outputs > 0.5)
    correct = guess == (truths == 1)
    return Verdicts(Rate.of(proof), Rate.of(correct), int((proof & ~correct).sum()))


def _check(epsilon: Fraction) -> None:
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise PlanError(f"ε must lie between {float(MIN_EPSILON):g} and {float(MAX_EPSILON):g} here")
