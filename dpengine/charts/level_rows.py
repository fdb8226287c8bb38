"""Levels as an indented table with collapsible groups: HTML without a script, for the page and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup, escape

from dpengine.charts.levels import Node
from dpengine.translation.catalogue import _, number

__all__ = ["LOOK", "level_rows"]

LOOK = Path(__file__).parent.parent / "bundle" / "templates" / "levels.css"  # where the report includes it from
OPEN = 24  # rows, in all, that are shown open


def level_rows(tree: Sequence[Node], named: str) -> Markup:
    """Return the groups of `tree` and their parts as HTML; `named` names the levels for readers.

    >>> county = Node("Kern", 7, 5, 9, False)
    >>> print(level_rows([Node("CA", 7, 5, 9, False, (county,))], "county in state").count("<li>"))
    2
    """
    few = sum(1 for group in tree for _each in group.all()) <= OPEN
    head = Markup('<p class="levels-head"><span>{}</span><span>{}</span><span>{}</span></p>').format(
        named, _("count"), _("95 % interval")
    )
    return Markup('<div class="levels">{}{}</div>').format(head, _list(tree, opened=few))


def _list(nodes: Sequence[Node], *, opened: bool) -> Markup:
    return Markup("<ul>{}</ul>").format(Markup("").join(_item(node, opened=opened) for node in nodes))


def _item(node: Node, *, opened: bool) -> Markup:
    if not node.parts:
        return Markup("<li>{}</li>").format(_row(node, "div"))
    start = Markup("<details open>") if opened else Markup("<details>")
    return Markup("<li>{}{}{}</details></li>").format(start, _row(node, "summary"), _list(node.parts, opened=opened))


def _row(node: Node, tag: str) -> Markup:
    """Return the row of a group or value: its name, its count, and its interval, with a mark if it is noise."""
    interval = _("{low} to {high}", low=number(node.low), high=number(node.high))
    noise = Markup(" <em>{}</em>").format(_("mostly noise")) if node.noisy else ""
    cells = Markup("<span>{}{}</span> <span>{}</span> <span>{}</span>").format(
        node.label, noise, number(node.count), interval
    )
    return Markup("<{0}>{1}</{0}>").format(Markup(escape(tag)), cells)
