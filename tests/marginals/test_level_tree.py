"""Least squares over levels against the dense Gauss–Markov solution, on random trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpengine.array_types import Floats
from dpengine.marginals.fitting import project
from dpengine.marginals.level_tree import LevelTree, project_groups


def _random_tree(seed: int) -> LevelTree:
    random = np.random.default_rng(seed)
    groups, size = [], 1
    for _ in range(int(random.integers(1, 4))):
        group = np.repeat(np.arange(size), random.integers(1, 5, size))
        groups.append(group)
        size = group.size
    variances = [float(each) for each in random.uniform(0.2, 5.0, len(groups) + 1)]
    if seed % 2:
        variances[int(random.integers(0, len(groups)))] = math.inf
    return LevelTree(tuple(groups), tuple(variances))


def _rows_of_nodes(tree: LevelTree) -> list[Floats]:
    """Return for each level the sums over leaves that its nodes are."""
    rows: list[Floats] = [np.eye(tree.groups[-1].size)]
    for group in tree.groups[::-1]:
        rows.insert(0, np.add.reduceat(rows[0], np.flatnonzero(np.diff(group, prepend=-1))))
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_estimates_weights_and_variances_are_those_of_gauss_and_markov(seed: int) -> None:
    tree = _random_tree(seed)
    rows = _rows_of_nodes(tree)
    measured = [k for k, variance in enumerate(tree.variances) if variance < math.inf]
    design = np.vstack([rows[k] for k in measured])
    precision = np.concatenate([np.full(len(rows[k]), 1 / tree.variances[k]) for k in measured])
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    random = np.random.default_rng(seed)
    noisy = [random.normal(size=(len(each), 2)) for each in rows]
    values = [each if k in measured else None for k, each in enumerate(noisy)]
    leaves = covariance @ design.T @ (precision[:, None] * np.vstack([noisy[k] for k in measured]))
    estimates = tree.estimate(values)
    for k, of_nodes in enumerate(rows):
        assert np.allclose(estimates[k], of_nodes @ leaves)
        assert np.allclose(tree.node_variances[k], np.einsum("ij,jk,ik->i", of_nodes, covariance, of_nodes))
        node = int(random.integers(len(of_nodes)))
        dense = of_nodes[node] @ covariance @ design.T * precision
        weights = tree.weights(k, node)
        assert np.allclose(np.concatenate([weights[j] for j in measured]), dense)
        assert all(np.allclose(weights[j], 0) for j in range(len(rows)) if j not in measured)


def test_groups_are_projected_like_each_by_itself() -> None:
    random = np.random.default_rng(3)
    group = np.repeat(np.arange(20), random.integers(1, 6, 20))
    values, totals = random.normal(size=group.size), np.maximum(random.normal(size=20), 0)
    projected = project_groups(values, totals, group)
    for k in range(20):
        assert np.allclose(projected[group == k], project(values[group == k], totals[k]))
