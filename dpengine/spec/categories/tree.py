"""Levels: one category column at several resolutions, such as region, state and county.

The values of a column with levels are the leaves of a tree; every coarser level groups them. A table names the level
that it wants: `county@state` is the column `county` by state. Leaves are kept in the order of the tree, so that those
of one group are contiguous. The cells *other* and *missing* are leaves whose parents have the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.translation.catalogue import _, mark, some_of

__all__ = ["MARK", "arranged", "check_tree", "flattened", "from_rows", "groups", "nested", "split_name", "sum_groups"]

Numbers = TypeVar("Numbers", Ints, Floats)

MARK = "@"
UNNAMED = mark("nested values need the names of their levels, coarsest first, such as levels: [state, county]")
MAX_LEVELS = 10


def split_name(name: str) -> tuple[str, str]:
    """Return column and level of a name such as county@state; the level is empty if none is named.

    >>> split_name("county@state"), split_name("county")
    (('county', 'state'), ('county', ''))
    """
    column, mark, level = name.rpartition(MARK)
    return (column, level) if mark else (name, "")


def flattened(values: Mapping[Any, Any], levels: Sequence[str]) -> tuple[list[Any], list[list[Any]]]:
    """Return the leaves of nested values, and for each coarser level the parent of every leaf. Raises ValueError.

    >>> flattened({"CA": ["Kern", "Napa"], "TX": ["Travis"]}, ["state", "county"])
    (['Kern', 'Napa', 'Travis'], [['CA', 'CA', 'TX']])
    """
    rows = list(_paths(values, levels, ()))
    return [row[-1] for row in rows], [[row[k] for row in rows] for k in range(len(levels) - 1)]


def _paths(values: Any, levels: Sequence[str], path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if not levels:
        raise ValueError(_(UNNAMED))
    last = len(path) == len(levels) - 1
    if not isinstance(values, list | tuple if last else Mapping):
        raise ValueError(
            _(
                "values are not nested as deeply as there are levels ({levels}): name a level for each step, the "
                "finest last, such as {example}",
                levels=", ".join(levels),
                example="levels: [chapter, code], values: {I: [I10, I21], J: [J18]}",
            )
        )
    if not values and path:
        raise ValueError(_("{group!r} holds no {level}", group=path[-1], level=levels[len(path)]))
    for value in values:
        if last:
            yield (*path, value)
        else:
            yield from _paths(values[value], levels, (*path, value))


def from_rows(header: Sequence[str], rows: Sequence[Sequence[str]], levels: Sequence[str]) -> dict[str, Any]:
    """Return `values` and `parents` from the rows of a codebook with one column for each level. Raises ValueError."""
    if absent := [level for level in levels if level not in header]:
        raise ValueError(
            _(
                "it has no column {level!r}, which 'levels' names; there are {columns}",
                level=absent[0],
                columns=some_of(header),
            )
        )
    places = [list(header).index(level) for level in levels]
    lines = []
    for line, row in enumerate(rows, start=2):
        path = [row[index].strip() if index < len(row) else "" for index in places]
        if not any(path):
            continue
        for level, value in zip(levels, path, strict=True):
            if not value:
                known = path[-1] or next(filter(None, path))
                raise ValueError(_("line {line}: {value!r} has no {level}", line=line, value=known, level=level))
        lines.append(path)
    paths = list(dict.fromkeys(tuple(path) for path in lines))  # the same line twice says nothing new
    return {"values": [path[-1] for path in paths], "parents": [[p[k] for p in paths] for k in range(len(levels) - 1)]}


def arranged(values: Sequence[Any], parents: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Return leaves and parents in the order of the tree: groups as they first appear, and leaves within them.

    >>> arranged(["Kern", "Travis", "Napa"], [["CA", "TX", "CA"]])
    (['Kern', 'Napa', 'Travis'], [['CA', 'CA', 'TX']])
    """
    first: dict[tuple[Any, ...], int] = {}
    keys = []
    for leaf in range(len(values)):
        path = tuple(parent[leaf] for parent in parents)
        keys.append([first.setdefault(path[: k + 1], leaf) for k in range(len(path))])
    order = sorted(range(len(values)), key=lambda leaf: (*keys[leaf], leaf))
    return [values[leaf] for leaf in order], [[parent[leaf] for leaf in order] for parent in parents]


def check_tree(levels: Sequence[str], values: Sequence[str], parents: Sequence[Sequence[str]]) -> None:
    """Raise ValueError unless every value of a level lies in one value of the next coarser level."""
    if len(levels) < 2 or len(levels) > MAX_LEVELS:
        raise ValueError(
            _("'levels' names 2 to {most} levels, coarsest first, such as [state, county]", most=MAX_LEVELS)
        )
    if twice := [level for level in levels if levels.count(level) > 1]:
        raise ValueError(_("the level {level!r} is named twice", level=twice[0]))
    if odd := [level for level in levels if not level.strip() or MARK in level]:
        raise ValueError(_("a level needs a name without {mark}; {level!r} is none", mark=MARK, level=odd[0]))
    if len(parents) != len(levels) - 1 or any(len(each) != len(values) for each in parents):
        raise ValueError(_("every value needs a parent at each level"))
    named = [*zip(levels, (*parents, values), strict=True)]
    for (upper, above), (lower, below) in pairwise(named):
        parent_of: dict[str, str] = {}
        for parent, child in zip(above, below, strict=True):
            if not parent:
                raise ValueError(_("{value!r} has no {level}", value=child, level=upper))
            if parent_of.setdefault(child, parent) != parent:
                raise ValueError(
                    _(
                        "{value!r} ({lower}) has two parents, {first!r} and {second!r} ({upper}): levels are a tree, "
                        "in which everything has one parent",
                        value=child,
                        lower=lower,
                        first=parent_of[child],
                        second=parent,
                        upper=upper,
                    )
                )


def nested(values: Sequence[str], parents: Sequence[Sequence[str]]) -> Any:
    """Return the values nested in their parents, as a plan file has them: the inverse of `flattened`."""
    if not parents:
        return list(values)
    tree: dict[str, Any] = {}
    for leaf, value in enumerate(values):
        inner: Any = tree
        for parent in parents[:-1]:
            inner = inner.setdefault(parent[leaf], {})
        inner.setdefault(parents[-1][leaf], []).append(value)
    return tree


def groups(fine: Sequence[str], coarse: Sequence[str], extra: int) -> Ints:
    """Return for each cell of a level the index of its group, given the group of each of its values, in tree order.

    The last `extra` cells, for other and missing values, are groups of their own.

    >>> groups(["CA", "CA", "TX"], ["CA", "TX"], extra=1)
    array([0, 0, 1, 2])
    """
    index = {name: k for k, name in enumerate(coarse)}
    return np.array([*(index[name] for name in fine), *range(len(coarse), len(coarse) + extra)], dtype=np.int64)


def sum_groups(counts: Numbers, axis: int, group: Ints) -> Numbers:
    """Add up the cells along an axis by their groups, which are contiguous and in order.

    >>> sum_groups(np.array([[1, 2, 3]]), 1, np.array([0, 0, 1]))
    array([[3, 3]])
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sums: Numbers = np.add.reduceat(counts, starts, axis=axis)
    return sums
