"""Coarser levels of a column, of any kind, as category columns whose values are the groups.

A level of a date or of a number is a category of periods or bins as texts. So a synthetic row has the name of the group
of its own value there, not another date or number from that group.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpengine import shapes as outlines
from dpengine.array_types import Ints
from dpengine.spec.categories import tree as trees
from dpengine.spec.categories.category import Category
from dpengine.spec.column import ColumnBase

__all__ = ["cell_groups", "coarser_level"]


def coarser_level(column: ColumnBase, name: str) -> Category:
    """Return the column of one of the coarser levels, called like county@state.

    >>> county = Category(name="county", values={"CA": ["Kern"], "TX": ["Travis"]}, levels=["state", "county"])
    >>> coarser_level(county, "state").name, coarser_level(county, "state").values
    ('county@state', ('CA', 'TX'))
    """
    names = [*column.groupings]
    index = names.index(name)
    rows = zip(*(column.groupings[each] for each in names[: index + 1]), strict=True)
    paths = [*dict.fromkeys(rows)]  # a group as the path to it
    values = [path[-1] for path in paths]
    words = column.group_words
    return Category(
        name=f"{column.name}{trees.MARK}{name}", label=column.level_heading(name), values=values, other=column.other,
        missing=column.missing, source=column.source, levels=names[: index + 1] if index else (),
        parents=[[path[k] for path in paths] for k in range(index)],
        words={value: words[value] for value in values if value in words},
        shapes=_shapes(column, column.groupings[name]) if isinstance(column, Category) and column.shapes else {},
    )  # fmt: skip


def _shapes(column: Category, groups: Sequence[str]) -> dict[str, str]:
    """Return the outlines of groups whose parts all have one: a gap would look like foreign territory."""
    inside: dict[str, list[str]] = {}
    for value, group in zip(column.values, groups, strict=True):
        inside.setdefault(group, []).append(column.shapes.get(value, ""))
    shapes = {group: outlines.together(parts) for group, parts in inside.items() if all(parts)}
    return {group: outline for group, outline in shapes.items() if outline}


def cell_groups(column: ColumnBase, name: str) -> Ints:
    """Return for each cell the index of its cell at the coarser level `name`.

    >>> county = Category(name="county", values={"CA": ["Kern"], "TX": ["Travis"]}, levels=["state", "county"])
    >>> cell_groups(county, "state")
    array([0, 1, 2, 3])
    """
    of_values = column.groupings[name]
    return trees.groups(of_values, tuple(dict.fromkeys(of_values)), column.other + column.missing)
