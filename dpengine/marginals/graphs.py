"""Graphs of columns: which tables contain others, spanning trees, and whether tables overlap along a tree.

Tables that do not overlap along a tree *overlap in a ring*: as a model they are not decomposable, and have no junction
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from dpengine.array_types import Columns

__all__ = ["Components", "junction_order", "maximal", "spanning_tree"]

Node = TypeVar("Node")


def maximal(tables: Sequence[Columns]) -> list[Columns]:
    """Return the tables that no other contains, each with its columns sorted, in sorted order.

    >>> maximal([("b", "a"), ("a",), ("c",)])
    [('a', 'b'), ('c',)]
    """
    largest: list[frozenset[str]] = []
    for _, sized in groupby(sorted({frozenset(table) for table in tables}, key=len, reverse=True), key=len):
        larger = tuple(largest)
        largest += [one for one in sized if not any(one < other for other in larger)]
    return sorted(tuple(sorted(one)) for one in largest)


def spanning_tree(nodes: Sequence[Node], weight: Callable[[Node, Node], Any]) -> list[tuple[Node, Node, Any]]:
    """Return the edges (parent, child, weight) of a tree of greatest weight, from the first node outwards.

    `weight(parent, child)` may return anything that can be ordered. Ties go to the earlier edge and node.

    Source: Prim 1957.

    >>> spanning_tree("abc", lambda a, b: 1 if {a, b} == {"a", "c"} else 2)
    [('a', 'b', 2), ('b', 'c', 2)]
    """
    edges = []
    latest, *rest = nodes
    nearest = {node: (weight(latest, node), latest) for node in rest}
    while nearest:
        child = max(nearest, key=lambda node: nearest[node][0])
        best, parent = nearest.pop(child)
        edges.append((parent, child, best))
        for node, known in nearest.items():
            nearest[node] = max(known, (weight(child, node), child), key=lambda edge: edge[0])
    return edges


class Components:
    """Sets of connected nodes, which grow as edges are added (the core of Kruskal's spanning forest)."""

    def __init__(self, nodes: Iterable[str]) -> None:
        self._root = {node: node for node in nodes}

    def connected(self, a: str, b: str) -> bool:
        """Return whether a path of edges joins two nodes."""
        return self._root[a] == self._root[b]

    def add(self, a: str, b: str) -> bool:
        """Add an edge, unless it would close a ring; return whether it was added.

        >>> forest = Components("abc")
        >>> forest.add("a", "b"), forest.add("b", "c"), forest.add("c", "a")
        (True, True, False)
        """
        first, second = self._root[a], self._root[b]
        self._root = {node: first if root == second else root for node, root in self._root.items()}
        return first != second


def junction_order(cliques: Sequence[Columns]) -> list[Columns] | None:
    """Return the cliques in an order along a tree, or None if they overlap in a ring.

    A spanning tree of greatest overlap is a junction tree if and only if its overlaps and the number of columns add
    up to the sizes of all cliques.

    Source: Bernstein & Goodman 1981.

    >>> junction_order([("a", "b"), ("c", "d"), ("b", "c")])
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    >>> junction_order([("a", "b"), ("b", "c"), ("c", "a")]) is None
    True
    """
    sets = [frozenset(clique) for clique in cliques]
    if len(frozenset().union(*sets)) == sum(map(len, sets)):  # none overlap: any order is along a tree
        return list(cliques)
    columns, widest = frozenset().union(*sets), max(map(len, sets))
    # Along a tree, each table that no other contains adds a column of its own.
    if sum(len(each) == widest for each in {*sets}) > len(columns) - widest + 1:
        return None
    edges = spanning_tree(range(len(sets)), lambda a, b: len(sets[a] & sets[b]))
    overlap = sum(shared for _, _, shared in edges)
    if overlap + len(columns) != sum(map(len, sets)):
        return None
    return [cliques[0], *(cliques[child] for _, child, _ in edges)]
