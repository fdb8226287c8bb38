"""Compute the privately found cells of columns from noisy counts that were paid for, and from nothing else.

So this is post-processing (Dwork & Roth 2014, Proposition 2.1). It is a fixed function of the plan and of these noisy
counts: every reader of a release computes the same cells.

*Bins.* The noisy boxes of the steps of a range give an expected count for each step (`marginals.box_tree`). Edges are
cut so that the heaviest bin of more than one step is as light as possible; a heavier step gets a bin of its own. So
most bins hold about the same number of people, and values that many people share, such as an income of 0, have their
own bins. The weight of a bin is mostly its number of people, and to a small part its width, so that none becomes very
wide.

*Upper bounds.* See `estimate.found_bound`.

*Values.* The keys that were shown are the values, in the order of their universe. All other values count as *other*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpengine.array_types import Ints
from dpengine.estimate.found_bound import bound_place, rows_above
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, FoundKeys, Search
from dpengine.spec.domain import Amount, Category, Column, Number
from dpengine.spec.numeric.found_upper import candidate_steps
from dpengine.spec.plan import Plan

__all__ = ["cut", "resolve"]

GRAIN = 16  # expected counts are rounded to these fractions of a row, so that every machine cuts alike
WEIGHTS = (4, 1)  # the weights of a bin's people and of its width (benchmarks/bins.py)


def resolve(plan: Plan, searches: Sequence[Search]) -> Plan:
    """Return `plan` with the cells that follow from `searches`, one for each of `plan.found_columns`, in this order.

    Raises ValueError if they are for other columns.
    """
    if tuple(each.columns[0] for each in searches) != plan.found_columns:
        raise ValueError("each column whose cells are found is searched once")
    return plan.with_columns(
        {name: _with_cells(plan, name, one) for name, one in zip(plan.found_columns, searches, strict=True)}
    )


def _with_cells(plan: Plan, name: str, searched: Search) -> Column:
    column = plan.column(name)
    if isinstance(searched, FoundKeys):
        assert isinstance(column, Category), "a column whose values are found"
        assert column.among is not None, "a column whose values are found"
        return column.with_values(column.among.values_at(searched.places.tolist()))
    if isinstance(column, Amount):
        place = bound_place(searched.values.tolist(), searched.scale(PARTS), rows_above(plan, name))
        steps = candidate_steps(column.as_written.grid.steps)[place]
        return column.with_high(column.low + steps * column.step)
    assert isinstance(column, Number), "a column whose bins are found"
    assert column.bins is not None, "a column whose bins are found"
    edges, expected = column.steps.edges, BoxTree(searched).table
    places = cut(np.rint(expected * GRAIN).astype(np.int64), column.bins.count)
    return column.with_edges(tuple(edges[place] for place in places))


def cut(people: Ints, bins: int) -> list[int]:
    """Return the places of `bins` + 1 edges, from 0 to the number of steps; `people` are the counts of the steps.

    There are at least as many steps as bins.

    >>> cut(np.array([90, 1, 1, 1, 1, 1, 1, 1, 1, 1]), 4)
    [0, 1, 4, 7, 10]
    """
    of_people, of_width = WEIGHTS
    weights = of_people * people.size * people + of_width * max(1, int(people.sum()))
    up_to = np.concatenate([[0], np.cumsum(weights)])
    least, most = 0, int(up_to[-1])  # `most` is enough, and `least` is not, unless every step may stand alone
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if len(_filled(up_to, middle, bins)) <= bins else (middle, most)
    starts = _filled(up_to, most, bins)
    while len(starts) < bins:
        starts = _with_one_more(up_to, starts)
    return [*starts, people.size]


def _filled(up_to: Ints, most: int, bins: int) -> list[int]:
    """Return the starts of bins that weigh at most `most` or are single steps, each as wide as possible.

    More than `bins` are not listed.
    """
    starts, steps = [0], up_to.size - 1
    while len(starts) <= bins:
        end = int(np.searchsorted(up_to, up_to[starts[-1]] + most, side="right")) - 1
        end = max(end, starts[-1] + 1)
        if end >= steps:
            break
        starts.append(end)
    return starts


def _with_one_more(up_to: Ints, starts: list[int]) -> list[int]:
    """Cut the heaviest bin of more than one step where its halves are most alike."""
    ends = np.array([*starts[1:], up_to.size - 1])
    begins = np.array(starts)
    heavy = np.where(ends - begins > 1, up_to[ends] - up_to[begins], -1)
    first, last = int(begins[heavy.argmax()]), int(ends[heavy.argmax()])
    inner = np.arange(first + 1, last)
    apart = np.abs(2 * up_to[inner] - up_to[first] - up_to[last])
    return sorted([*starts, int(inner[apart.argmin()])])
