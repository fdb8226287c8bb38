"""The strata of a table for ranges, which are measured separately, and how many boxes may be measured in all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpengine.spec.domain import Column

__all__ = ["WIDE", "Axis", "fewest_boxes", "most_answers", "most_boxes", "strata"]

Axis = tuple[int, ...]  # the first cell of each stratum of a column, and the number of its cells

WIDE = 8  # cells along an axis: narrower boxes are not asked about


def strata(column: Column) -> Axis:
    """Return the first cell of each stratum, which are measured separately, and the number of all cells.

    *other*, *missing* and each value of a column without order are separate strata.

    >>> from dpengine.spec.domain import YesNo
    >>> strata(YesNo(name="smokes"))
    (0, 1, 2, 3, 4)
    """
    ordered = len(column.declared) if column.kind in ("number", "date") else 1
    return (0, *range(ordered, column.size + 1))


def fewest_boxes(columns: Sequence[Column]) -> int:
    """Return the number of boxes measured in a nearly empty table: the whole, each stratum, and the rest.

    >>> from dpengine.spec.domain import YesNo
    >>> fewest_boxes([YesNo(name="smokes")])
    6
    """
    several = math.prod(len(strata(column)) - 1 for column in columns)
    return 2 + (several if several > 1 else 0)


def most_boxes(columns: Sequence[Column]) -> int:
    """Return how many boxes there are if each is split in two down to cells, and each cell is measured once more."""
    return 1 + 3 * math.prod(column.size for column in columns)


def most_answers(columns: Sequence[Column]) -> int:
    """Return an upper bound on the questions about boxes: one an axis for each box that is wide along it."""
    cells = math.prod(column.size for column in columns)
    return sum(1 + 2 * (cells // WIDE) for column in columns if column.size >= WIDE)
