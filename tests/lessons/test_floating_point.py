"""Floating-point noise: the attack succeeds on numpy's own sampler, and finds nothing on this engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons.floating_point import (
    LATTICE,
    NUMPY,
    SAMPLERS,
    Sampler,
    attack_engine,
    attack_sampler,
    neighbourhood,
    possible,
)
from tests.binomial import agrees, within

GAMES = 4000
EPSILONS = [Fraction(1, 100), Fraction(1), Fraction(2)]

both = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("true", [0.0, 1.0])
def test_the_formula_is_numpys_own_to_the_last_bit(scale: float, true: float) -> None:
    truths = np.full(50_000, true)
    uniform = np.random.default_rng(11).random(truths.size)
    drawn = np.random.default_rng(11).laplace(truths, scale)
    assert np.array_equal(NUMPY.formula(uniform, truths, scale), drawn)


@pytest.mark.by_day(36)
@both
@pytest.mark.parametrize("true", [0.0, 1.0])
@pytest.mark.parametrize("scale", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("uniform", [1e-9, 0.01, 0.2, 0.3, 0.49, 0.51, 0.7, 0.9, 0.9999])
def test_possible_outputs_are_those_that_enumeration_finds(
    sampler: Sampler, true: float, scale: float, uniform: float
) -> None:
    k = np.arange(-60, 61) + round(uniform * LATTICE)
    reached = sampler.formula(k / LATTICE, np.full(k.shape, true), scale)
    inner = np.sort(reached)[20:-20]
    assert inner[0] * inner[-1] > 0, "a window must not hold 0"
    first, last = sorted(np.abs(inner[[0, -1]]).view(np.int64))
    bits = np.unique(np.concatenate([np.arange(first, min(last, first + 3000)), np.abs(inner).view(np.int64)]))
    doubles = np.copysign(bits.view(np.float64), inner[0])
    assert np.array_equal(possible(sampler, doubles, true, scale), np.isin(doubles, reached))


@both
@pytest.mark.parametrize("true", [0.0, 1.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 1000.0])
def test_every_output_that_is_drawn_is_possible(sampler: Sampler, true: float, scale: float) -> None:
    drawn = sampler.draw(np.full(5000, true), scale, None)
    assert possible(sampler, drawn, true, scale).all()


@both
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_impossible_outputs_prove_the_truth_at_any_epsilon(sampler: Sampler, epsilon: Fraction) -> None:
    verdicts = attack_sampler(sampler, epsilon, GAMES)
    assert verdicts.mistaken == 0
    # About 0.82 are proved and 0.9 right; a false alarm is less likely than one at 0.77 and 0.86.
    assert binom.cdf(0.7 * GAMES, GAMES, 0.77) < 1e-9 > binom.cdf(0.8 * GAMES, GAMES, 0.86)
    assert verdicts.proved.share > 0.7
    assert verdicts.correct.share > 0.8
    assert not within(verdicts.correct, posterior(0.5, min(epsilon, Fraction(1))))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_outputs_of_this_engine_prove_nothing_and_guesses_reach_the_bound(epsilon: Fraction) -> None:
    verdicts = attack_engine(epsilon, GAMES)
    assert verdicts.proved.successes == 0
    assert agrees(verdicts.correct, posterior(0.5, epsilon))


@both
@pytest.mark.parametrize("output", [0.3, -2.2, 5.5])
def test_doubles_around_an_output_are_consecutive_and_often_conclusive(sampler: Sampler, output: float) -> None:
    seen = neighbourhood(sampler, output, Fraction(1), 500)
    assert seen.doubles[500] == output
    assert np.array_equal(np.nextafter(seen.doubles[:-1], np.inf), seen.doubles[1:])
    assert 0 < seen.zero.sum() < 500
    assert 0 < seen.one.sum() < 500
    assert (seen.zero ^ seen.one).sum() > (seen.zero | seen.one).sum() / 2


def test_a_seed_repeats_a_demonstration() -> None:
    assert attack_sampler(NUMPY, Fraction(1), 100, seed=5) == attack_sampler(NUMPY, Fraction(1), 100, seed=5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: attack_sampler(NUMPY, Fraction(0), 10),
        lambda: attack_sampler(NUMPY, Fraction(100), 10),
        lambda: attack_engine(Fraction(-1), 10),
        lambda: attack_sampler(NUMPY, Fraction(1), 0),
        lambda: neighbourhood(NUMPY, 0.0, Fraction(1), 10),
        lambda: neighbourhood(NUMPY, float("inf"), Fraction(1), 10),
        lambda: possible(NUMPY, np.ones(1), 100.0, 1.0),
    ],
)
def test_settings_out_of_range_are_refused(wrong: object) -> None:
    with pytest.raises(PlanError):
        wrong()  # type: ignore[operator]
