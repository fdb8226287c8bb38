"""Sets of columns as graphs: which tables contain others, and whether tables overlap along a tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dpengine.array_types import Columns

__all__ = ["junction_order", "maximal"]


def maximal(tables: Sequence[Columns]) -> list[Columns]:
    """The tables that no other contains, each with its columns sorted, in sorted order."""
    kept: list[frozenset[str]] = []
    for _, sized in groupby(sorted({frozenset(table) for table in tables}, key=len, reverse=True), key=len):
        larger = tuple(kept)
        kept += [one for one in sized if not any(one < other for other in larger)]
    return sorted(tuple(sorted(one)) for one in kept)


def junction_order(cliques: Sequence[Columns]) -> list[Columns] | None:
    """The cliques in an order along a tree, or None where they overlap in a ring.

    A spanning tree of greatest overlap is a junction tree if and only if its overlaps and the number
    of columns add up to the sizes of all cliques (Bernstein & Goodman 1981). Grown by Prim's algorithm.
    """
    sets = [frozenset(clique) for clique in cliques]
    order, overlap = [0], 0
    shared = {k: len(sets[k] & sets[0]) for k in range(1, len(sets))}
    while shared:
        best = max(shared, key=lambda k: (shared[k], -k))
        overlap += shared.pop(best)
        order.append(best)
        for k in shared:
            shared[k] = max(shared[k], len(sets[k] & sets[best]))
    columns = frozenset().union(*sets)
    return [cliques[k] for k in order] if overlap + len(columns) == sum(map(len, sets)) else None
