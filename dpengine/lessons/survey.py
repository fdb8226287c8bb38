"""A survey whose people protect their own answers, beside a curator who is trusted with them.

The coins and the noise are those that the engine publishes with: fresh on every run, without a seed. Only the
people may be made up. Local privacy hides which answer a person gave, so for the comparison the curator
hides the same: one changed answer moves two counts by one, and noise of scale 2/ε hides that. (A release
hides whether a person is there at all, for which scale 1/ε is enough.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpengine.array_types import Ints
from dpengine.errors import TableError
from dpengine.estimate.error_distribution import noise_variance
from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.randomized_response import (
    Estimate,
    KaryResponse,
    PureProtocol,
    RandomizedResponse,
    pair_table,
)
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
from dpengine.noise.laplace import discrete_laplace

__all__ = [
    "METHODS",
    "Spread",
    "ask",
    "asked_again",
    "central",
    "central_error",
    "local_error",
    "made_up",
    "over_people",
    "pair_laws",
    "pairs",
    "scaled",
]  # fmt: skip

Protocol = PureProtocol[Any]
Make = Callable[[int, Fraction], Protocol]  # a protocol for so many answers and an ε

METHODS: dict[str, Make] = {
    "Randomized response": KaryResponse.of,
    "Unary encoding": UnaryEncoding.of,
    "Local hashing": LocalHashing.of,
    "Hadamard response": HadamardResponse.of,
    "Count-mean sketch": CountMeanSketch.of,
    "Hadamard sketch": HadamardSketch.of,
}


def made_up(answers: int, people: int) -> Ints:
    """Made-up counts: the second answer is half as frequent as the first, the third a third, and so on."""
    return _rounded(1 / np.arange(1, answers + 1), people)


def scaled(counts: Ints, people: int) -> Ints:
    """``counts`` in the same proportions, of ``people`` in all."""
    if not counts.sum():
        raise TableError("nobody has answered: there is no row to count")
    return _rounded(counts, people)


def ask(protocol: Protocol, counts: Ints) -> Estimate:
    """Everybody of ``counts`` reports by fresh coins; what the reports tell."""
    return protocol.estimate(protocol.randomise(np.repeat(np.arange(counts.size), counts)))


def central(counts: Ints, epsilon: Fraction) -> Ints:
    """What a trusted curator would publish: ``counts`` with discrete Laplace noise of scale 2/ε."""
    published: Ints = counts + discrete_laplace(2 / Fraction(epsilon), counts.shape)
    return published


def central_error(epsilon: Fraction) -> float:
    """Standard error of `central`, in people; the same for any number of people."""
    return math.sqrt(noise_variance(2 / Fraction(epsilon)))


def local_error(protocol: Protocol, shares: npt.ArrayLike, people: int) -> float:
    """Standard error of an estimated count, in people: the root of the mean over answers of variances; grows as √n."""
    return people * math.sqrt(float(protocol.variance(shares, people).mean()))


@dataclass(frozen=True, slots=True)
class Spread:
    """For a number of people the predicted standard error of a count, and that found in one run, of both models."""

    people: int
    local: float
    central: float
    local_found: float | None
    central_found: float | None


def over_people(protocol: Protocol, counts: Ints, sizes: Sequence[int], most_run: int = 10**5) -> list[Spread]:
    """Errors for surveys of these ``sizes`` with the shares of ``counts``; those up to ``most_run`` people are run.

    Noise of the curator is for the ε of ``protocol``. Errors found are the root of the mean square over the answers.
    """
    found = []
    shares = counts / counts.sum()
    for size in sizes:
        here: tuple[float | None, float | None] = (None, None)
        if size <= most_run:
            people = scaled(counts, size)
            told = ask(protocol, people).shares * size
            here = _root(told - people), _root(central(people, protocol.epsilon) - people)
        found.append(Spread(size, local_error(protocol, shares, size), central_error(protocol.epsilon), *here))
    return found


def pairs(coin: RandomizedResponse, cells: Ints) -> tuple[Estimate, Ints]:
    """Two yes-or-no questions to the people of ``cells`` (shape (2, 2)): by coins, and by a curator of the same ε.

    The ε is that of both reports of a person together, twice ``coin.epsilon``.
    """
    first, second = (np.repeat(bits, cells.ravel()) for bits in ([0, 0, 1, 1], [0, 1, 0, 1]))
    estimate = pair_table(coin, coin.randomise(first), coin.randomise(second))
    return estimate, central(cells, 2 * coin.epsilon)


def pair_laws(coin: RandomizedResponse) -> dict[str, tuple[Fraction, ...]]:
    """For the true bits 00, 01, 10 and 11 the chances of the reports 00, 01, 10 and 11, exactly.

    The last is the chance that the AND of the two reported bits is 1.
    """
    told = ((1 - coin.miss, coin.miss), (1 - coin.hit, coin.hit))  # by the true bit
    bits = [(a, b) for a in (0, 1) for b in (0, 1)]
    return {f"{a}{b}": tuple(told[a][y] * told[b][z] for y, z in bits) for a, b in bits}


def asked_again(ratio: Fraction, days: int) -> tuple[float, float]:
    """After ``days`` fresh reports of one yes-or-no answer: how often the best guess is right, and the bound by ε.

    A report is right with chance r/(1 + r); the guess is what most reports say. Someone who held both answers for
    equally likely can never be surer than r^t/(1 + r^t).
    """
    right = float(ratio / (1 + ratio))
    most = float(stats.binom.sf(days // 2, days, right))
    tied = float(stats.binom.pmf(days // 2, days, right)) / 2 if days % 2 == 0 else 0.0
    return most + tied, 1 / (1 + math.exp(-min(days * math.log(ratio), 700)))


def _rounded(weights: npt.NDArray[np.generic], people: int) -> Ints:
    """Whole counts in proportion to ``weights``, of ``people`` in all: those with the largest rests are rounded up."""
    exact = weights * (people / weights.sum())
    whole: Ints = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: people - int(whole.sum())]] += 1
    return whole


def _root(errors: npt.NDArray[np.generic]) -> float:
    return float(np.sqrt((errors.astype(np.float64) ** 2).mean()))
