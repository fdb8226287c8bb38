"""Intervals of associations count the noise of second order: products and squares of means that are noisy.

Exact, without a draw: the noise is normal, in a few directions, and a polynomial of degree 5 in a normal number has the
mean that it has over three points (Gauss and Hermite). The square of a sum of squares is of degree 4.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpengine.array_types import Floats
from dpengine.estimate.associations import REACH, _solve, _Sums
from dpengine.spec.numeric.association import Association

PEOPLE = 20.0
STEPS = np.linspace(-0.5, 0.5, 5)
S, T = np.repeat(STEPS, STEPS.size), np.tile(STEPS, STEPS.size)  # 25 cells, from the middle of both amounts
EVEN = np.full((1, S.size), PEOPLE / S.size)
NO_LIMIT = 1e9


def sums(rows: Floats, noise: Floats, other: Floats = T) -> _Sums:
    return _Sums(rows, noise, 0.5 + S, 0.5 + other, (0.5 + S) ** 2, (0.5 + other) ** 2)


def squares(of: Floats) -> Floats:
    """A direction of noise that changes squares, but neither means nor the number of people."""
    return 2.5 * (of**2 - np.mean(of**2))


def points_of(directions: Floats) -> tuple[Floats, Floats]:
    """Noise in each cell, a line each, and its chances."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(3)
    points = np.array([*itertools.product(nodes, repeat=len(directions))])
    chances: Floats = np.array([*itertools.product(shares / shares.sum(), repeat=len(directions))]).prod(axis=1)
    return points @ directions, chances


@pytest.mark.parametrize(("kind", "noisy"), [("slope", T), ("correlation", T), ("correlation", S)])
def test_the_sum_below_is_as_unsure_as_its_second_moment_says(kind: str, noisy: Floats) -> None:
    directions = np.stack([0.9 * noisy, squares(noisy), S * T])
    noise = directions.T @ directions
    drawn, chances = points_of(directions)

    def below(rows: Floats) -> Floats:
        """The sum that an association is divided by; the standard deviations are equal, so their ratio is 1."""
        _, of_s, of_t = sums(rows, noise).products
        total: Floats = (rows * (of_t if kind == "slope" else (of_s + of_t) / 2)).sum(axis=1)
        return total

    (true,) = below(EVEN)
    second_moment = chances @ (below(EVEN + drawn) - true) ** 2
    first_order = chances @ (drawn @ (T**2 if kind == "slope" else (S**2 + T**2) / 2)) ** 2
    assert second_moment > 1.5 * first_order
    _, low, high = _solve(Association(kind, "a", "b"), sums(EVEN, noise), NO_LIMIT, 0.0)  # type: ignore[arg-type]
    above = (S * T) @ noise @ (S * T)
    end = np.sqrt(REACH**2 * above / (true**2 - REACH**2 * second_moment))
    assert [-low[0], high[0]] == pytest.approx([end, end], rel=1e-9)


@pytest.mark.parametrize(("kind", "other"), [("covariance", T), ("standard_deviation", S)])
def test_the_sum_above_is_as_unsure_as_its_second_moment_says(kind: str, other: Floats) -> None:
    """Below stands the number of people, which is exact here. Of a standard deviation, this is its square."""
    means = np.stack([1.1 * S, 1.1 * T] if kind == "covariance" else [1.1 * S])
    directions = np.stack([*means, 0.3 * S * T if kind == "covariance" else 0.1 * squares(S)])
    noise = directions.T @ directions
    drawn, chances = points_of(directions)

    def above(rows: Floats) -> Floats:
        product, of_s, _ = sums(rows, noise, other).products
        total: Floats = (rows * (product if kind == "covariance" else of_s)).sum(axis=1)
        return total

    (true,) = above(EVEN)
    second_moment = chances @ (above(EVEN + drawn) - true) ** 2
    first_order = chances @ (drawn @ (S * other)) ** 2
    assert second_moment > 1.5 * first_order
    _, low, high = _solve(Association(kind, "a", "b"), sums(EVEN, noise, other), NO_LIMIT, 0.0)  # type: ignore[arg-type]
    ends = [(true + sign * REACH * np.sqrt(second_moment)) / PEOPLE for sign in (-1, 1)]
    assert [low[0], high[0]] == pytest.approx(ends)
