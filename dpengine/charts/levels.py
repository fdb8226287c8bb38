"""The levels of a column as a tree of published numbers, and as a treemap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Columns
from dpengine.charts.cells import CellsOfTable, Fixed
from dpengine.charts.drawable import Drawable
from dpengine.charts.drawing import Drawing
from dpengine.charts.style import ACCENT, GREY, INK, escape, short_name
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["GROUP", "MAX_NODES", "Node", "level_table", "level_tree", "tables_of_levels", "treemap_chart"]

MAX_NODES = 1_500  # that a figure or a page can show
GROUP = {False: "#d5e6e7", True: "#23464a"}  # the colour of groups around their parts


@dataclass(frozen=True, slots=True)
class Node:
    """A group or a value with its published numbers, and its parts at the next finer level."""

    label: str
    count: int
    low: int
    high: int
    noisy: bool
    parts: tuple[Node, ...] = ()

    def all(self) -> Iterator[Node]:
        """Yield this node and all nodes in it."""
        yield self
        for part in self.parts:
            yield from part.all()


def level_table(plan: Plan, table: Columns) -> str | None:
    """Return the column of `table` whose coarser levels the plan uses too, if there is room for all of its groups."""
    name = next((each for each in table if each in plan.resolution.chain(each)[1:]), None)
    if name is None or sum(plan.column(each).size for each in _levels(plan, name)) > MAX_NODES:
        return None
    return name


def tables_of_levels(plan: Plan, table: Columns, name: str) -> list[Columns]:
    """Return `table` at each level of its column `name`, the coarsest first."""
    return [tuple(fine if each == name else each for each in table) for fine in _levels(plan, name)]


def _levels(plan: Plan, name: str) -> Columns:
    """Return the levels that are used, from the coarsest to `name`."""
    levels = plan.resolution.chain(name)
    return levels[: levels.index(name) + 1]


def level_tree(result: Drawable, table: Columns, name: str, fixed: Fixed) -> tuple[Node, ...]:
    """Return the groups of the coarsest level that the plan uses, with all finer levels down to `name`.

    `fixed` holds a label, or `ALL`, for each other column of `table`.

    >>> from dpengine import preview
    >>> county = {"name": "county", "kind": "category", "values": {"CA": ["Kern", "Napa"], "TX": ["Hays"]},
    ...           "levels": ["state", "county"], "other": False, "missing": False}
    >>> made = preview(Plan(dataset="d", epsilon=1000, columns=[county], tables=[["county"], ["county@state"]]))
    >>> [(group.label, [part.label for part in group.parts]) for group in level_tree(made, ("county",), "county", {})]
    [('CA', ['Kern', 'Napa']), ('TX', ['Hays'])]
    """
    plan, levels = result.plan, _levels(result.plan, name)
    nodes: list[Node] = []
    for place in reversed(range(len(levels))):  # the finest level first
        at = tuple(levels[place] if each == name else each for each in table)
        cells = CellsOfTable(result, at, (levels[place],), fixed)
        parts: list[list[Node]] = [[] for _cell in range(cells.value.size)]
        if nodes:
            for node, group in zip(nodes, plan.resolution.groups(levels[place + 1], levels[place]), strict=True):
                parts[int(group)].append(node)
        nodes = [
            Node(
                label,
                int(cells.value[k]),
                int(cells.low[k]),
                int(cells.high[k]),
                bool(cells.noisy[k]),
                # *other* and *missing* are the same cell at every level
                () if [part.label for part in parts[k]] == [label] else tuple(parts[k]),
            )
            for k, label in enumerate(cells.labels[0])
        ]
    return tuple(nodes)


def treemap_chart(tree: tuple[Node, ...], noun: str, dark: bool) -> Drawing:
    """Draw groups as areas in proportion to counts, their parts inside; those that are mostly noise are hatched."""
    ids, parents, nodes = [], [], []
    waiting = [("", node, str(k)) for k, node in enumerate(tree)]
    while waiting:
        parent, node, key = waiting.pop(0)
        ids.append(key)
        parents.append(parent)
        nodes.append(node)
        waiting += [(key, part, f"{key}.{k}") for k, part in enumerate(node.parts)]
    noisy = np.array([node.noisy for node in nodes])
    shade = [(ACCENT if key.count(".") % 2 else GROUP)[dark] for key in ids]  # alternating, so that borders are visible
    trace = {
        "type": "treemap",
        "ids": ids,
        "parents": parents,
        "labels": [short_name(node.label) for node in nodes],
        "values": [node.count for node in nodes],
        "branchvalues": "total",
        "customdata": [
            [escape(node.label), node.low, node.high, f"<br>{_('mostly noise')}" if node.noisy else ""]
            for node in nodes
        ],
        "texttemplate": "%{label}<br>%{value:,}",
        "hovertemplate": "%{customdata[0]}<br><b>%{value:,}</b> "
        + escape(noun)
        + "<br>"
        + _("95 %: {low} to {high}", low="%{customdata[1]:,}", high="%{customdata[2]:,}")
        + "%{customdata[3]}<extra></extra>",
        "marker": {
            "colors": [GREY[dark] if node.noisy else tone for node, tone in zip(nodes, shade, strict=True)],
            "pattern": {"shape": np.where(noisy, "/", "").tolist(), "fgcolor": INK[dark], "solidity": 0.2},
            "line": {"width": 1, "color": INK[dark]},
        },
        "tiling": {"pad": 2},
        "pathbar": {"visible": True},
        "sort": False,
    }
    return Drawing([trace], {"height": 460})
