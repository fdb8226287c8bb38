"""Defences answer as they are described, and refuse settings without meaning."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpengine.errors import PlanError
from dpengine.lessons.defences import RAW, Defence, engine, jittered, rounded, unbudgeted

COUNTS = np.arange(200)
RNG = np.random.default_rng(5)


def test_true_counts_are_answered_as_they_are() -> None:
    assert (RAW.answer(COUNTS, 1, RNG) == COUNTS).all()


@pytest.mark.parametrize("base", [5, 10, 100])
def test_rounded_answers_are_the_nearest_multiples(base: int) -> None:
    answers = rounded(base).answer(COUNTS, 1, RNG)
    assert (answers % base == 0).all()
    assert np.abs(answers - COUNTS).max() <= base / 2


def test_jitter_stays_within_its_width() -> None:
    noise = jittered(5).answer(np.zeros(10_000, dtype=np.int64), 1, RNG)
    assert set(noise) == set(range(-5, 6)), "each is missed with a chance below 1e-400"


@pytest.mark.parametrize(
    ("defence", "redraws"),
    [
        (RAW, False),
        (rounded(5), False),
        (jittered(5), True),
        (unbudgeted(Fraction(1)), True),
        (engine(Fraction(1)), False),
    ],
)
def test_only_noise_that_is_not_stored_is_drawn_again(defence: Defence, redraws: bool) -> None:
    assert defence.redraws == redraws


@pytest.mark.parametrize(
    "make", [lambda: rounded(0), lambda: jittered(0), lambda: engine(Fraction(0)), lambda: unbudgeted(Fraction(-1))]
)
def test_settings_without_meaning_are_refused(make: Callable[[], Defence]) -> None:
    with pytest.raises(PlanError):
        make()
