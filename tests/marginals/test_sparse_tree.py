"""Where leaves are mostly empty, expected counts are nearer to the truth than least squares, and add up as well."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpengine.array_types import Floats, Ints
from dpengine.marginals.level_tree import NOT_MEASURED, LevelTree, project_groups
from dpengine.marginals.sparse_tree import MIN_LEAVES, expected_counts, given_noisy

PARENTS, CHILDREN = 100, 10
GROUPS = (np.zeros(PARENTS, dtype=np.int64), np.repeat(np.arange(PARENTS), CHILDREN))
SCALE = 4.0


def noise(size: int, random: np.random.Generator) -> Ints:
    one = random.geometric(1 - math.exp(-1 / SCALE), (2, size))
    difference: Ints = one[0] - one[1]
    return difference


def tree(*variances: float) -> LevelTree:
    return LevelTree(GROUPS, variances)


def published(nodes: list[Floats]) -> list[Floats]:
    """Return non-negative nodes below the root."""
    above, nodes_of_levels = np.maximum(nodes[0], 0.0), []
    for level, group in zip(nodes[1:], GROUPS, strict=True):
        above = project_groups(level, above, group)
        nodes_of_levels.append(above)
    return nodes_of_levels


def counts(empty: str, random: np.random.Generator) -> Ints:
    size = PARENTS * CHILDREN
    people = random.integers(20, 400, size)
    if empty == "leaves":
        return people * (random.random(size) < 0.05)
    return people * np.repeat(random.random(PARENTS) < 0.1, CHILDREN)


@pytest.mark.parametrize(("empty", "most"), [("leaves", (0.8, 0.65)), ("parents", (0.65, 1.0))])
def test_errors_are_smaller_than_those_of_least_squares(empty: str, most: tuple[float, float]) -> None:
    """The draws are given ones: numpy's generator with a seed."""
    random, squares = np.random.default_rng(7), []
    variance = 2 * SCALE**2
    for _ in range(5):
        leaves = counts(empty, random)
        exact = [np.add.reduceat(leaves, np.arange(0, leaves.size, CHILDREN)), leaves]
        noisy: list[Floats | None] = [None, *((each + noise(each.size, random)).astype(np.float64) for each in exact)]
        one = tree(NOT_MEASURED, variance, variance)
        expected = expected_counts(one, noisy, SCALE)
        assert expected is not None
        ways = [published(expected), published(one.estimate(noisy))]
        squares.append([[float(((a - b) ** 2).mean()) for a, b in zip(way, exact, strict=True)] for way in ways])
    here, there = np.sqrt(np.mean(squares, axis=0))
    assert (here <= np.array(most) * there).all(), here / there


@pytest.mark.parametrize(
    "variances", [(NOT_MEASURED, 8.0, 8.0), (50.0, NOT_MEASURED, 8.0), (NOT_MEASURED,) * 2 + (8.0,)]
)
def test_children_add_up_and_levels_that_are_not_measured_are_sums(variances: tuple[float, ...]) -> None:
    random = np.random.default_rng(0)
    leaves = (np.stack([counts("leaves", random)] * 3, axis=1) + random.integers(-3, 4, (PARENTS * CHILDREN, 3))) * 1.0
    noisy = [None if variance == NOT_MEASURED else np.zeros((size, 3)) + 40.0
             for variance, size in zip(variances, (1, PARENTS), strict=False)]  # fmt: skip
    expected = expected_counts(tree(*variances), [*noisy, leaves], 2.0)
    assert expected is not None
    for k, group in enumerate(GROUPS):
        sums = np.add.reduceat(expected[k + 1], np.flatnonzero(np.diff(group, prepend=-1)), axis=0)
        assert np.allclose(sums, expected[k], atol=1e-6)


def test_full_leaves_and_few_leaves_are_left_to_least_squares() -> None:
    random = np.random.default_rng(1)
    full = random.integers(1, 400, PARENTS * CHILDREN).astype(np.float64)
    assert expected_counts(tree(NOT_MEASURED, 8.0, 8.0), [None, None, full], 2.0) is None
    few = LevelTree((np.zeros(MIN_LEAVES - 1, dtype=np.int64),), (NOT_MEASURED, 8.0))
    assert expected_counts(few, [None, np.zeros(MIN_LEAVES - 1)], 2.0) is None


@pytest.mark.parametrize("scale", [0.001, 0.3, 4.0, 5_000.0])
def test_counts_far_above_the_noise_stay_and_empty_ones_become_certain(scale: float) -> None:
    noisy = np.zeros(2_000)
    noisy[:20] = np.ceil(100 * scale) + np.arange(20)
    mean, variance, empty = given_noisy(noisy, np.arange(2_000) // 10, scale)
    assert np.allclose(mean[:20], noisy[:20], rtol=1e-6)
    assert np.abs(mean[20:]).max() < 0.2 * max(1.0, scale)
    assert empty > 0.9
    assert (variance > 0).all()
