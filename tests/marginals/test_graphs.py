"""Graphs of columns, against brute force over all trees of small graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from dpengine import Plan
from dpengine.marginals.graphs import Components, junction_order, maximal, spanning_tree
from tests.plans import plans


def is_tree(edges: list[tuple[int, int]], size: int) -> bool:
    parts = Components(map(str, range(size)))
    return all(parts.add(str(a), str(b)) for a, b in edges)


@pytest.mark.parametrize("seed", range(20))
def test_a_spanning_tree_has_the_greatest_weight_of_all_trees(seed: int) -> None:
    size = 5
    weights = np.random.default_rng(seed).integers(0, 6, (size, size))
    weights += weights.T
    edges = spanning_tree(range(size), lambda a, b: int(weights[a, b]))
    assert is_tree([(a, b) for a, b, _ in edges], size)
    trees = [each for each in combinations(combinations(range(size), 2), size - 1) if is_tree(list(each), size)]
    assert len(trees) == size ** (size - 2), "Cayley's formula"
    assert sum(weight for _, _, weight in edges) == max(sum(weights[edge] for edge in tree) for tree in trees)


def test_a_child_comes_after_its_parent() -> None:
    seen = {0}
    for parent, child, _ in spanning_tree(range(6), lambda a, b: a * b % 5):
        assert parent in seen
        seen.add(child)


def test_components_are_joined_along_paths() -> None:
    parts = Components("abcd")
    assert parts.add("a", "b")
    assert parts.add("c", "d")
    assert not parts.connected("a", "d")
    assert parts.add("b", "c")
    assert parts.connected("a", "d")
    assert not parts.add("d", "a"), "that would close a ring"


def test_a_table_within_another_is_not_maximal() -> None:
    assert maximal([("b", "a"), ("a",), ("a", "b"), ("c", "a", "d"), ("d", "c")]) == [("a", "b"), ("a", "c", "d")]


@pytest.mark.parametrize(
    ("cliques", "along_a_tree"),
    [
        ([("a",)], True),
        ([("a", "b"), ("c", "d")], True),
        ([("a", "b", "c"), ("b", "c", "d"), ("c", "d", "e")], True),
        ([("a", "b", "c"), ("b", "c", "d"), ("b", "e")], True),
        ([("a", "b"), ("b", "c"), ("a", "c")], False),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], False),
        ([("a", "b", "c"), ("a", "d"), ("b", "d")], False),
    ],
)
def test_an_order_is_found_just_where_tables_overlap_along_a_tree(cliques: list, along_a_tree: bool) -> None:
    order = junction_order(cliques)
    assert (order is not None) == along_a_tree
    if order is not None:
        assert sorted(order) == sorted(cliques)
        for k, clique in enumerate(order[1:], start=1):
            shared = set(clique) & set().union(*order[:k])
            assert any(shared <= set(earlier) for earlier in order[:k])


@given(plans())
def test_a_junction_order_has_the_running_intersection_property(plan: Plan) -> None:
    order = junction_order(maximal(plan.marginals))
    for k, clique in enumerate(order or []):
        seen = {name for earlier in (order or [])[:k] for name in earlier}
        shared = set(clique) & seen
        assert not shared or any(shared <= set(earlier) for earlier in (order or [])[:k])


@given(plans())
def test_maximal_tables_are_those_that_no_other_contains(plan: Plan) -> None:
    sets = [frozenset(table) for table in plan.marginals]
    slowly = {one for one in sets if not any(one < other for other in sets)}
    assert maximal(plan.marginals) == sorted(tuple(sorted(one)) for one in slowly)
