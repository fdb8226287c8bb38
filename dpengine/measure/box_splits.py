"""Decide into how many boxes each box of a table is split, from noisy counts that are paid for.

A box is split into more boxes the larger its own noisy count is, and into fewer if its siblings are even; they are
slimmer along the axis on which siblings change faster. Many boxes are reached in several levels, since all people may
be in a few of them. A small box of several axes that is like its siblings is split into its cells at once if it is
worth nearly as many boxes as it has cells: pieces of a few cells would look alike again if each holds the same part of
a fine pattern.

Nothing here sees an exact count. Arrays have one row or entry a box unless stated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.marginals.measurement import PARTS

__all__ = ["Split", "box_hull", "boxes_wanted", "extends_along_several", "next_level", "tiles", "unevenness"]

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.floating[Any]]

# Chosen on the simulated tables of benchmarks/ranges.py and on others of their kinds, at εN = 10² to 10⁵, by the mean
# error over these. Near these values it hardly changes. Pairs are for one axis, and for several.
NOISE = 3.0  # people per unit of noise from which a box is worth splitting
FAN_OUT = 12  # up to this many boxes are measured in one level, with all remaining ε; more of them in several levels
AT_FIRST = (5, 12)  # the same while most of ε is left, since all people may be in one of these boxes
MAX_PART = PARTS * 7 // 10  # of ε
GROWTH = (1.0, 1.7)  # growth of the part of ε from each level to the next one
# Where bins are sought: few boxes a level, and most of ε for the last ones. So a value that many people share, such as
# 0, is told apart from its neighbours. Set on seven columns; ten others were seen with earlier candidates only
# (benchmarks/bins.py).
SEARCH_FAN_OUT, SEARCH_GROWTH = 3, 3.0
EVEN = 2.0  # a box is split in full if siblings differ by 1/EVEN of their mean, and less if they are more even
MIN_COUNTED = 0.1  # fraction of its people that always count for the split of a box
TO_TELL = 4  # siblings needed to judge whether boxes are even
ALIKE = 0.5  # if at most this fraction of a box's people counts for its split, it looks even, and may not be
# Set on held-out shapes, others that were looked at, and combs of 3 to 100 cells, with 3·10⁵ to 3·10⁶ people; judged on
# benchmarks/range_families.py. With a larger part, combs gain less; with more cells, checkerboards lose.
NEARLY = 0.35  # of its cells: a box of several axes that is worth so many boxes, and looks even, is split into cells
AT_ONCE = 60  # cells of such a box, at most


@dataclass(frozen=True, slots=True)
class Split:
    """The pieces into which boxes are split in the end, in one level or in several."""

    wanted: Numbers  # boxes that each is split into; less than two for one that stays whole
    pieces: Ints  # along each axis
    steep: Floats  # how fast numbers change along each axis, as a factor
    in_doubt: Booleans  # siblings look alike, and yet their cells may differ
    into_cells: Booleans  # split into cells, in one level

    @classmethod
    def from_counts(cls, widths: Ints, people: Numbers, uneven: Floats, steep: Floats) -> Split:
        """Return the split of boxes with `people` per unit of noise, whose siblings are `uneven` and `steep`."""
        cells, several = widths.prod(axis=1), extends_along_several(widths)
        wanted = boxes_wanted(uneven * people / NOISE, several)
        steep = steep.copy()
        steep[wanted >= cells] = 1.0  # slim boxes gain nothing where it ends in cells
        alike = uneven <= ALIKE
        into_cells = (several == 1) & alike & (wanted >= NEARLY * cells) & (cells <= AT_ONCE)
        wanted = np.where(into_cells, cells, np.minimum(wanted, cells))
        pieces = np.where(wanted[:, None] < 2, 1, _pieces(widths, np.ceil(wanted - 1e-9), steep))
        return cls(wanted, pieces, steep, alike & (wanted < cells), into_cells)

    def down_to_cells(self, widths: Ints, rough: Booleans) -> Split:
        """Return this split with a piece for each cell along the axes that are `rough`."""
        pieces = np.where(rough, widths, self.pieces)
        return replace(self, pieces=pieces, wanted=np.where(rough.any(axis=1), pieces.prod(axis=1), self.wanted))


def next_level(split: Split, widths: Ints, left: Ints, rough: Booleans, *, for_bins: bool) -> tuple[Ints, Ints]:
    """Return the pieces along each axis in the next level, and the parts of ε, of those `left`, that measure it.

    Along `rough` axes, levels divide what `split` says evenly among them. Levels are many if boxes are `for_bins`.
    """
    several = extends_along_several(widths)
    fan_out = SEARCH_FAN_OUT if for_bins else FAN_OUT
    growth = np.full(several.size, SEARCH_GROWTH) if for_bins else np.array(GROWTH)[several]
    deep = np.ceil(np.log(np.maximum(split.wanted, fan_out)) / np.log(fan_out) - 0.15)
    at_once = np.where(left > MAX_PART, np.minimum(np.array(AT_FIRST)[several], fan_out), fan_out)
    levels = np.where((split.wanted > at_once) & ~split.into_cells, np.maximum(deep, 2), 1)
    pieces = _pieces(widths, np.ceil(split.wanted ** (1 / levels) - 1e-9), split.steep)
    fine = rough.any(axis=1)
    pieces[fine] = np.ceil(split.pieces[fine] ** (1 / levels[fine, None]) - 1e-9)
    ahead = np.arange(levels.max())[:, None]
    share = 1 / np.where(ahead < levels, growth**ahead, 0).sum(axis=0)
    return pieces, np.maximum((left * share).astype(np.int64), 1)


def extends_along_several(widths: Ints) -> Ints:
    """Return 1 for boxes that extend along several axes, and 0 for others."""
    several: Ints = ((widths > 1).sum(axis=1) > 1).astype(np.int64)
    return several


def unevenness(values: Ints, widths: Ints, family: Ints, variances: Floats) -> Floats:
    """Return which fraction of a box's people counts for its split, from `MIN_COUNTED` to 1.

    The more siblings differ beyond their noise, as a fraction of their mean, the more: all if there are too few
    siblings to tell. Differences that noise may hide are included: about one standard deviation of it.
    """
    _, family = np.unique(family, return_inverse=True)
    cells = widths.prod(axis=1).astype(np.float64)
    siblings = np.bincount(family)
    total, noise = np.bincount(family, values), np.bincount(family, variances) / siblings
    off = values - (total / np.bincount(family, cells))[family] * cells
    spread = np.bincount(family, off**2) / np.maximum(siblings - 1, 1)
    deviation = np.sqrt(np.maximum(spread - noise, 0) + 0.7 * noise / np.sqrt(siblings))
    uneven = deviation / np.maximum(total / siblings, np.sqrt(noise))
    of_box: Floats = np.where(siblings >= TO_TELL, uneven, 1.0)[family]
    return np.clip(EVEN * of_box, MIN_COUNTED, 1)


def boxes_wanted(people: Numbers, several: Ints) -> Numbers:
    """Return into how many boxes a box with `people` per unit of noise is worth splitting, along one or `several` axes.

    With k boxes along one axis, the noise in a range grows like √k and the error from uneven boxes falls like 1/k, so
    they balance at k ∝ people^(2/3); over two axes and more at k ∝ people (Qardaji, Yang & Li, ICDE 2013, guidelines 1,
    2).
    """
    people = np.maximum(people, 0)
    return np.where(several == 0, people ** (2 / 3), people)


def tiles(first: Ints, widths: Ints, pieces: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut boxes into `pieces` along each axis; return the parent and the two ends of each piece."""
    number_of_pieces = pieces.prod(axis=1)
    family = np.repeat(np.arange(number_of_pieces.size), number_of_pieces)
    number = np.arange(family.size) - np.repeat(np.cumsum(number_of_pieces) - number_of_pieces, number_of_pieces)
    starts, ends = np.empty((2, family.size, pieces.shape[1]), dtype=np.int64)
    for axis in range(pieces.shape[1]):
        cut, width, base = pieces[family, axis], widths[family, axis], first[family, axis]
        starts[:, axis], ends[:, axis] = (base + (number % cut + end) * width // cut for end in (0, 1))
        number = number // cut
    return family, starts, ends


def box_hull(first: Ints, last: Ints, group: Ints) -> tuple[Ints, Ints]:
    """Return the ends of the smallest box around each group of boxes."""
    low = np.full((int(group.max()) + 1, first.shape[1]), np.iinfo(np.int64).max)
    high = np.zeros_like(low)
    np.minimum.at(low, group, first)
    np.maximum.at(high, group, last)
    return low, high


def _pieces(widths: Ints, wanted: Numbers, steep: Floats) -> Ints:
    """Return the numbers of pieces along each axis: about `wanted` in all, at least two, narrower where it is `steep`.

    Nearly cubes if all axes are equally steep.
    """
    pieces = np.ones_like(widths)
    left = wanted.copy()
    long = widths * steep
    for axis in range(widths.shape[1]):
        rest = long[:, axis:]
        even = (left / rest.prod(axis=1)) ** (1 / rest.shape[1]) * rest[:, 0]
        least = left / widths[:, axis + 1 :].prod(axis=1)
        along = np.ceil(left - 1e-9) if rest.shape[1] == 1 else np.rint(np.maximum(even, least))
        pieces[:, axis] = np.clip(along, 1, widths[:, axis])
        left = left / pieces[:, axis]
    whole = pieces.prod(axis=1) == 1
    widest = np.where(widths > 1, long, 0).argmax(axis=1)[whole]
    pieces[np.flatnonzero(whole), widest] = np.minimum(2, widths[whole, widest])
    return pieces
