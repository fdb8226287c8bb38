"""Deterministic checks of ε: recompute the promise from the definition, over every case of a small example.

A lower bound from outputs can show that a promise is broken, never that it is kept. These checks can, for what they
cover: the distribution of the noise, private choices, the parts of ε of a release, how far a person moves
all that is measured of amounts, quantiles, levels and distinct persons, and reports of surveys.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpengine.array_types import Floats
from dpengine.audit.neighbours import MOVES
from dpengine.audit.publications import RELEASES, publish_once
from dpengine.choose import Candidates, Mechanism, probabilities
from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.protocol import PureProtocol
from dpengine.mechanisms.local.randomized_response import KaryResponse, RandomizedResponse
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
from dpengine.noise.laplace import likelihoods
from dpengine.translation.catalogue import _, mark

__all__ = ["Check", "checks"]

SLACK = 1e-9  # where probabilities are computed as floats


@dataclass(frozen=True, slots=True)
class Check:
    """A check: what was computed, the promised ε, the largest ε of all cases, and their number."""

    what: str
    claimed: Fraction
    largest: float
    cases: int

    @property
    def holds(self) -> bool:
        """Whether the promise holds in every case."""
        return self.largest <= float(self.claimed) * (1 + SLACK) + SLACK


def checks(epsilon: Fraction) -> Iterator[Check]:
    """Yield every check as soon as it is done."""
    yield _noise(epsilon)
    for mechanism in Mechanism:
        for monotone in (False, True):
            yield _choices(epsilon, mechanism, monotone)
    yield _far_scores(epsilon)
    for publication in RELEASES:
        yield _parts(epsilon, publication)
    for publication in MOVES:
        yield _moves(epsilon, publication)
    yield from _surveys(epsilon)


def _noise(epsilon: Fraction) -> Check:
    """Compare the probabilities of neighbouring outcomes in the sampler's own table, where they have ten digits."""
    unit, chances = likelihoods(1 / epsilon)
    pairs = [(chance, chances[k + 1]) for k, chance in chances.items() if min(chance, chances.get(k + 1, 0)) > 2**31]
    worst = max(abs(math.log(chance / next_chance)) for chance, next_chance in pairs) / unit
    return Check(_("noise: log of the largest ratio of neighbouring outcomes"), epsilon, worst, len(pairs))


def _choices(epsilon: Fraction, mechanism: Mechanism, monotone: bool) -> Check:
    """Enumerate three scores from 0 to 2 and every way in which one person may move them."""

    def pairs() -> Iterator[tuple[Floats, Floats]]:
        steps = (0, 1) if monotone else (-1, 0, 1)
        for scores in product(range(3), repeat=3):
            first = _chances(scores, epsilon, mechanism, monotone)
            for step in product(steps, repeat=3):
                moved = tuple(score + each for score, each in zip(scores, step, strict=True))
                yield first, _chances(moved, epsilon, mechanism, monotone)

    what = (
        _("{mechanism}, scores that move alike: log of the largest ratio", mechanism=_(mechanism.value))
        if monotone
        else _("{mechanism}: log of the largest ratio", mechanism=_(mechanism.value))
    )
    return Check(what, epsilon, *_largest_ratio(pairs()))


def _largest_ratio(pairs: Iterable[tuple[Floats, Floats]]) -> tuple[float, int]:
    """Return the log of the largest ratio of any probability in pairs of distributions, and the number of pairs."""
    ratios = [float(np.abs(np.log(first / second)).max()) for first, second in pairs]
    return max(ratios), len(ratios)


def _chances(
    scores: tuple[object, ...], epsilon: Fraction, mechanism: Mechanism, monotone: bool, sensitivity: object = 1
) -> Floats:
    return probabilities(Candidates.of("abc", scores, sensitivity, epsilon, mechanism, monotone))


def _far_scores(epsilon: Fraction) -> Check:
    """Check float scores that are large compared with their sensitivity: reading them must not round."""

    def chances(scores: tuple[object, ...], step: float) -> Floats:
        return _chances(scores, epsilon, Mechanism.PERMUTE_AND_FLIP, False, step)

    pairs = (
        (chances((high, high + step, high), step), chances((high, high, high + step), step))
        for high, step in ((1e12 + 4.75, 0.5), (1e14 + 499.75, 0.5), (1e17, 16.0), (2.0**60, 256.0))
    )
    return Check(_("choices by scores far from 0: log of the largest ratio"), epsilon, *_largest_ratio(pairs))


def _parts(epsilon: Fraction, publication: str) -> Check:
    """Publish once, and add up the ε of every measurement and choice, each as sensitivity over scale."""
    measured = publish_once(publication, epsilon)
    steps = len(measured.marginals) + len(measured.choices) + (measured.audit is not None)
    steps += len(measured.trees) + len(measured.searches)
    what = _("{way}: parts of ε that a release spends", way=_(publication))
    return Check(what, epsilon, float(measured.cost), steps)


def _moves(epsilon: Fraction, publication: str) -> Check:
    """Count with and without each of some persons, and add up the changes of the counts over the noise scales."""
    costs = MOVES[publication](epsilon).costs
    what = _("{way}: log of the largest ratio of any outcome", way=_(publication))
    return Check(what, epsilon, float(max(costs)), len(costs))


def _surveys(epsilon: Fraction) -> Iterator[Check]:
    protocols: dict[str, PureProtocol[Any]] = {
        mark("randomized response"): RandomizedResponse.of(epsilon),
        mark("k-ary response"): KaryResponse.of(5, epsilon),
        mark("unary encoding"): UnaryEncoding.of(5, epsilon),
        mark("local hashing"): LocalHashing.of(5, epsilon),
        mark("Hadamard response"): HadamardResponse.of(5, epsilon),
        mark("count-mean sketch"): CountMeanSketch.of(5, epsilon, 4, 16),
        mark("Hadamard sketch"): HadamardSketch.of(5, epsilon, 4, 16),
    }
    for name, protocol in protocols.items():
        what = _("survey, {method}: ε of a report, rounded up", method=_(name))
        yield Check(what, epsilon, float(protocol.epsilon), 1)
