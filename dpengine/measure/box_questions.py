"""Ask privately whether boxes whose noisy counts look alike differ within.

Siblings of equal counts may be even, or hold the same fine pattern, such as ages heaped on tens. So a small part of ε
asks, for a family of siblings together, how far running sums of their cells are from even within pieces of the boxes.
This is the error of a range that ends within a piece, if the pieces are not split. If it exceeds the noise that a split
into cells would add, the boxes are split into cells along this axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.marginals.box_strata import WIDE

__all__ = ["Question", "deviations", "is_rough", "questions"]

Booleans = npt.NDArray[np.bool_]

# Set on the shapes of benchmarks/ranges.py and on other patterns, at εN = 10³ to 10⁵. Pairs are for boxes that extend
# along one axis, and along several.
ASKED = 0.1  # of the remaining ε, divided by the number of siblings: an answer about many siblings is more precise
MAX_ASKED = 0.04  # of the remaining ε
PEOPLE = (200.0, 400.0)  # per unit of noise in a box: with fewer, no pattern stands out
PIECES = (16, 10)  # of a box along the axis, about
NOISE = 1.6  # at the end of a range in a split box, in units of noise: times log2 of its cells, or their root


@dataclass(frozen=True, slots=True)
class Question:
    """Questions about some families of boxes, one each, along one axis: the cells of a piece, and the parts of ε."""

    axis: int
    families: Ints
    widths: Ints
    parts: Ints


def questions(
    widths: Ints, family: Ints, people: npt.NDArray[np.floating[Any]], left: Ints, in_doubt: Booleans
) -> list[Question]:
    """Return the questions to ask about boxes of `widths`, with `people` per unit of noise and `left` parts of ε.

    Siblings have the same number in `family`, from 0 on. A family is asked if all of its boxes are `in_doubt`.
    """
    siblings = np.bincount(family)
    least = np.full((siblings.size, widths.shape[1]), np.iinfo(np.int64).max)
    np.minimum.at(least, family, widths)
    several = ((least > 1).sum(axis=1) > 1).astype(np.int64)
    eligible = np.bincount(family, people) >= np.array(PEOPLE)[several] * siblings
    eligible &= np.bincount(family, in_doubt) == siblings
    asked = (least >= WIDE) & eligible[:, None]
    share = np.minimum(ASKED / siblings, MAX_ASKED) / np.maximum(asked.sum(axis=1), 1)
    parts = (left[np.unique(family, return_index=True)[1]] * share).astype(np.int64)
    pieces = np.maximum(-(-least // np.array(PIECES)[several][:, None]), 2)
    of_axis = ((axis, np.flatnonzero(asked[:, axis] & (parts > 0))) for axis in range(widths.shape[1]))
    return [Question(axis, these, pieces[these, axis], parts[these]) for axis, these in of_axis if these.size]


def deviations(running: Ints, cells: Ints, widths: Ints) -> Ints:
    """Return for each box Σ |p·C − j·n|: over the first j cells of each of its pieces, of p cells and n rows.

    C are the rows in these j cells. `running` has sums of the cells of a box along an axis, one box after the other, of
    `cells` each. A piece has `widths` cells, the last one of a box may have fewer.

    One more row in cell r of a piece (from 0) changes p·C by p from j = r + 1 on, so each term by j, or by p − j, and
    their sum by at most Σ_{j≤r} j + Σ_{j>r} (p − j). That is convex in r, and at either end p(p − 1)/2.
    """
    box = np.repeat(np.arange(cells.size), cells)
    starts = np.cumsum(cells) - cells
    place = np.arange(box.size) - starts[box]
    width = widths[box]
    first = place // width * width
    last = np.minimum(first + width, cells[box])
    before = np.where(first > 0, running[np.maximum(starts[box] + first - 1, 0)], 0)
    rows = running[starts[box] + last - 1] - before
    apart = np.abs((last - first) * (running - before) - (place + 1 - first) * rows)
    sums: Ints = np.add.reduceat(apart, starts)
    return sums


def is_rough(
    question: Question, answers: Ints, widths: Ints, splits: Ints, cells: Ints, left: Ints, unit: float
) -> Booleans:
    """Return which of the families asked are to be split down to cells along the axis of the question.

    Rows of `widths` and `splits` are the cells of one of the siblings and the pieces that it would have otherwise,
    `cells` those of all siblings along the axis. `left` are the remaining parts of ε; noise at one part has the scale
    1/`unit`. Hidden differences must exceed the noise of the answer too.
    """
    pieces = question.widths
    hidden = answers / (pieces * cells) * left * unit
    of_answer = (pieces - 1) / (2 * question.parts * cells) * left
    along = widths[:, question.axis].astype(np.float64)
    others = splits.prod(axis=1) / splits[:, question.axis]
    several = (widths > 1).sum(axis=1) > 1
    added = np.where(several, np.sqrt(others) * (np.sqrt(along) - np.sqrt(along / pieces)), np.log2(pieces))
    rough: Booleans = hidden > NOISE * added + of_answer
    return rough
