"""A survey by local privacy, compared with one by a trusted curator who holds the true answers.

Coins and noise are drawn as for a publication: fresh on every run, without a seed. Only the people may be made up.
Local privacy hides which answer a person gave, so here the curator hides the same: one changed answer changes two
counts by one, which needs noise of scale 2/ε. (A release hides whether a person is in the table at all: scale 1/ε is
enough.)
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

from dpengine.array_types import Floats, Ints
from dpengine.errors import TableError
from dpengine.marginals.fitting import largest_remainders
from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.protocol import Estimate, PureProtocol
from dpengine.mechanisms.local.randomized_response import KaryResponse, RandomizedResponse, pair_table
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
from dpengine.noise.laplace import discrete_laplace
from dpengine.noise.moments import variance
from dpengine.translation.catalogue import _, mark

__all__ = [
    "METHODS", "SurveyError", "ask_pairs", "ask_people", "curator_counts", "curator_error", "errors_by_size",
    "local_error", "made_up_counts", "pair_distributions", "repeated_guess", "scaled_counts",
]  # fmt: skip

Protocol = PureProtocol[Any]
Make = Callable[[int, Fraction], Protocol]  # from the number of answers and ε

MAX_SIMULATED = 10**5  # people

METHODS: dict[str, Make] = {
    mark("Randomized response"): KaryResponse.of,
    mark("Unary encoding"): UnaryEncoding.of,
    mark("Local hashing"): LocalHashing.of,
    mark("Hadamard response"): HadamardResponse.of,
    mark("Count-mean sketch"): CountMeanSketch.of,
    mark("Hadamard sketch"): HadamardSketch.of,
}


def made_up_counts(answers: int, people: int) -> Ints:
    """Make up counts of `people`: the second answer is half as frequent as the first, the third a third, and so on.

    >>> made_up_counts(3, 11).tolist()
    [6, 3, 2]
    """
    return largest_remainders(1 / np.arange(1, answers + 1), people)


def scaled_counts(counts: Ints, people: int) -> Ints:
    """Scale `counts` to a total of `people`, in the same proportions. Raises `TableError` if all are 0.

    >>> scaled_counts(np.array([3, 0, 9]), 4).tolist()
    [1, 0, 3]
    """
    if not counts.sum():
        raise TableError(_("nobody has answered: there is no row to count"))
    return largest_remainders(counts.astype(np.float64), people)


def ask_people(protocol: Protocol, counts: Ints) -> Estimate:
    """Let everybody in `counts` report by `protocol`, with fresh coins, and estimate the shares from the reports."""
    return protocol.estimate(protocol.randomise(np.repeat(np.arange(counts.size), counts)))


def curator_counts(counts: Ints, epsilon: Fraction) -> Ints:
    """Publish `counts` as a trusted curator would: with discrete Laplace noise of scale 2/ε."""
    published: Ints = counts + discrete_laplace(2 / Fraction(epsilon), counts.shape)
    return published


def curator_error(epsilon: Fraction) -> float:
    """Return the standard error of `curator_counts`, in people; it is the same for any number of people."""
    return math.sqrt(variance(2 / Fraction(epsilon)))


def local_error(protocol: Protocol, shares: npt.ArrayLike, people: int) -> float:
    """Return the standard error of an estimated count, in people: the root mean variance over the answers.

    It grows as the root of `people`. `shares` are the true shares of the answers.
    """
    return people * math.sqrt(float(protocol.variance(shares, people).mean()))


@dataclass(frozen=True, slots=True)
class SurveyError:
    """Standard errors of a count, in people, in a survey of `people`: by local privacy, and by a curator.

    `local` and `curator` are predicted; the other two were observed in one run, or are None without a run.
    """

    people: int
    local: float
    curator: float
    local_observed: float | None
    curator_observed: float | None


def errors_by_size(protocol: Protocol, counts: Ints, sizes: Sequence[int]) -> list[SurveyError]:
    """Return the errors of surveys of these `sizes` with the shares of `counts`; up to `MAX_SIMULATED` people are run.

    The curator's noise is for the ε of `protocol`. Observed errors are root mean squares over the answers.
    """
    errors = []
    shares = counts / counts.sum()
    for size in sizes:
        observed: tuple[float | None, float | None] = (None, None)
        if size <= MAX_SIMULATED:
            people = scaled_counts(counts, size)
            estimate = ask_people(protocol, people).shares * size
            observed = _root(estimate - people), _root(curator_counts(people, protocol.epsilon) - people)
        predicted = local_error(protocol, shares, size), curator_error(protocol.epsilon)
        errors.append(SurveyError(size, *predicted, *observed))
    return errors


def ask_pairs(coin: RandomizedResponse, cells: Ints) -> tuple[Estimate, Ints]:
    """Ask the people in `cells`, shape (2, 2), two yes-or-no questions: with `coin`, and by a curator with the same ε.

    That ε is twice `coin.epsilon`, since a person gives two reports. Returns the estimate and the curator's counts.
    """
    first, second = (np.repeat(bits, cells.ravel()) for bits in ([0, 0, 1, 1], [0, 1, 0, 1]))
    estimate = pair_table(coin, coin.randomise(first), coin.randomise(second))
    return estimate, curator_counts(cells, 2 * coin.epsilon)


def pair_distributions(coin: RandomizedResponse) -> dict[str, tuple[Fraction, ...]]:
    """Return, for the true bits 00, 01, 10 and 11, the exact probabilities of the reports 00, 01, 10 and 11.

    The last of each is the probability that the AND of the two reported bits is 1.

    >>> from dpengine.mechanisms.local.randomized_response import FAIR
    >>> [str(p) for p in pair_distributions(FAIR)["11"]]
    ['1/16', '3/16', '3/16', '9/16']
    """
    report = ((1 - coin.miss, coin.miss), (1 - coin.hit, coin.hit))  # by the true bit
    bits = [(a, b) for a in (0, 1) for b in (0, 1)]
    return {f"{a}{b}": tuple(report[a][y] * report[b][z] for y, z in bits) for a, b in bits}


def repeated_guess(ratio: Fraction, days: int) -> tuple[float, float]:
    """Return the probability that the best guess is right after `days` fresh reports of one answer, and its bound by ε.

    A report of a yes-or-no answer is right with probability r/(1 + r), with r = `ratio`; the guess is the answer of
    most reports. If both answers were equally likely before, t reports make none likelier than r^t/(1 + r^t).
    """
    right = float(ratio / (1 + ratio))
    most = float(stats.binom.sf(days // 2, days, right))
    tied = float(stats.binom.pmf(days // 2, days, right)) / 2 if days % 2 == 0 else 0.0
    return most + tied, 1 / (1 + math.exp(-min(days * math.log(ratio), 700)))


def _root(errors: Floats | Ints) -> float:
    """Return the root mean square."""
    return float(np.sqrt((errors.astype(np.float64) ** 2).mean()))
