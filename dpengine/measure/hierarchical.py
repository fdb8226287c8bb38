"""Measure a table whose ranges matter in boxes of neighbouring cells, finely only where there are people.

The sum of a long range of separately measured cells has the noise of all of them. So the table is measured from the
whole downwards. Each box is split into more boxes the larger its own noisy count is, and into fewer if its siblings are
even; they are slimmer along the axis on which siblings change faster. If a box is worth less than two, all remaining ε
measures it once more, together with such neighbours as long as splitting all of them would not be worth it either.
With many people per unit of noise everything is split down to cells, and this is a hierarchical histogram (Hay et al.
2010; fan-outs as in Qardaji, Yang & Li 2013). With few it is an adaptive grid (the same authors, ICDE 2013, of two
levels) or a partition (as in Li, Hay, Miklau & Wang, PVLDB 2014). These decisions follow from noisy counts that are
paid for. Where these look alike and people are many, about a percent of ε asks whether boxes are uneven within
(`measure.box_questions`). A small box of several axes that is like its siblings is split into its cells at once if it
is worth nearly so many boxes: pieces of a few cells would look alike once more if all hold the teeth of a comb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Floats, Ints
from dpengine.marginals.measurement import PARTS, Boxes, Unevenness
from dpengine.measure.box_questions import Question, deviations, is_rough, questions
from dpengine.measure.box_steepness import steepness
from dpengine.noise.laplace import perturb
from dpengine.spec.domain import Column

__all__ = ["Axis", "blank_boxes", "measure_boxes", "strata"]

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.floating[Any]]
Axis = tuple[int, ...]  # the first cell of each stratum of a column, and the number of its cells

# Chosen on the simulated tables of benchmarks/ranges.py and on others of their kinds, at εN = 10² to 10⁵, by the mean
# error over these. Near these values it hardly changes. Pairs are for one axis, and for several.
ROOT = (PARTS // 10, PARTS * 7 // 100)  # of ε for the total, and again for several strata: of one column, of more
NOISE = 3.0  # people per unit of noise from which a box is worth splitting
FAN_OUT = 12  # up to this many boxes are measured at once, with all remaining ε; more of them in several levels
AT_FIRST = (5, 12)  # the same while most of ε is left, since all people may be in one of these boxes
MOST = PARTS * 7 // 10  # of ε
GROWTH = (1.0, 1.7)  # of the part of ε from each level to the next one
EVEN = 2.0  # a box is split in full if siblings differ by 1/EVEN of their mean, and less if they are more even
LEAST = 0.1  # fraction of its people that always count for the split of a box
TO_TELL = 4  # siblings needed to judge whether they are even
ALIKE = 0.5  # where at most this fraction of a box's people counts for its split, it is asked whether its cells differ
# Set on held-out shapes, others that were looked at, and combs of 3 to 100 cells, with 3·10⁵ to 3·10⁶ people; judged on
# benchmarks/range_families.py. With a larger part, combs gain less; with more cells, checkerboards lose.
NEARLY = 0.35  # of its cells: a box of several axes like its siblings that is worth so many boxes is split into cells
AT_ONCE = 60  # cells of a box that is split so, at most


def strata(column: Column) -> Axis:
    """Return the first cell of each stratum, which are measured separately, and the number of all cells.

    *other*, *missing* and each value of a column without order are separate strata.

    >>> from dpengine.spec.domain import YesNo
    >>> strata(YesNo(name="smokes"))
    (0, 1, 2, 3, 4)
    """
    ordered = len(column.declared) if column.kind in ("number", "date") else 1
    return (0, *range(ordered, column.size + 1))


def measure_boxes(
    columns: tuple[str, ...],
    axes: Sequence[Axis],
    counts: Ints,
    epsilon: Fraction,
    sensitivity: int,
    *,
    may_ask: bool = True,
) -> Boxes:
    """Measure `counts`, one axis a column, in a tree of boxes that grows as their noisy counts say.

    `axes` gives the strata of each column, which are separated first: its declared bins, *other* and *missing*; each
    value of a column without order (see `strata`). Unless it `may_ask`, nothing is asked beside counts.

    ε-differentially private if one person's rows, at most `sensitivity`, each lie in one cell. Let a box be
    measured with noise of scale `sensitivity`/e. A generation of boxes is disjoint, and which boxes there are
    depends on earlier noisy numbers alone. How uneven boxes of a family are within is a sum over these boxes that
    one row in them changes by at most s (`deviations`), and no other row does; it has noise of scale
    `sensitivity`·s/e, and families of a generation are disjoint. Along the boxes that hold a given cell, and the
    questions about them, the e add up to exactly ε, whatever was drawn, so for every outcome the densities on
    neighbouring tables differ by a factor of at most exp(Σ e·|rows moved|/`sensitivity`) ≤ exp(ε): each row moves only
    boxes that hold its cell, and answers about these (adaptive composition, Dwork & Roth 2014, Theorem 3.16, within
    disjoint boxes as in McSherry 2009, Theorem 4). A box that is measured after boxes within it belongs to a later
    generation, like any other.
    """
    tree = _GrowingTree(counts, epsilon, sensitivity, may_ask=may_ask)
    ends = np.array([counts.shape], dtype=np.int64)
    first_boxes = list(product(*(list(pairwise(axis)) for axis in axes)))
    root = ROOT[counts.ndim > 1]
    places = tree.add(np.array([-1]), np.zeros_like(ends), ends, np.array([root]))
    left, family = np.array([PARTS - root]), np.zeros(1, dtype=np.int64)
    if (several := len(first_boxes)) > 1:
        first, last = np.moveaxis(np.array(first_boxes, dtype=np.int64), -1, 0)
        places = tree.add(np.zeros(several, dtype=np.int64), first, last, np.full(several, root))
        left, family = np.full(several, PARTS - 2 * root), np.arange(several)  # strata are no siblings
    rough = np.zeros((places.size, counts.ndim), dtype=np.bool_)
    while places.size:
        places, left, family, rough = tree.split(places, left, family, rough)
    return Boxes(columns, counts.shape, epsilon, sensitivity, *tree.arrays(), tree.unevenness())


def blank_boxes(columns: tuple[str, ...], shape: tuple[int, ...], epsilon: Fraction, sensitivity: int) -> Boxes:
    """Return a single empty box over the whole table, as if it had all of ε."""
    zero, ends = np.zeros((1, len(shape)), dtype=np.int64), np.array([shape], dtype=np.int64)
    return Boxes(columns, shape, epsilon, sensitivity, np.array([-1]), zero, ends, np.array([PARTS]), np.array([0]))


class _GrowingTree:
    """The boxes measured so far; only `add` and `ask` read exact counts, and add noise to what they find."""

    def __init__(self, counts: Ints, epsilon: Fraction, sensitivity: int, *, may_ask: bool) -> None:
        self._sums = np.zeros([size + 1 for size in counts.shape], dtype=np.int64)
        running = counts
        for axis in range(counts.ndim):
            running = running.cumsum(axis=axis)
        self._sums[(slice(1, None),) * counts.ndim] = running
        self._sensitivity, self._epsilon = sensitivity, epsilon
        self._unit = float(epsilon) / (sensitivity * PARTS)  # 1 ÷ the scale of noise at one part of ε
        self._may_ask = may_ask
        self._boxes: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        self._asked: list[Unevenness] = []
        self._size = 0

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return parents, first and last cells, parts of ε and noisy values of all boxes."""
        parents, first, last, parts, values = map(np.concatenate, zip(*self._boxes, strict=True))
        return parents, first, last, parts, values

    def unevenness(self) -> Unevenness | None:
        """Return all that was asked; None if nothing was."""
        if not self._asked:
            return None
        return Unevenness(
            *(np.concatenate([getattr(one, each.name) for one in self._asked]) for each in fields(Unevenness))
        )

    def add(self, parents: Ints, first: Ints, last: Ints, parts: Ints) -> Ints:
        """Measure one generation of boxes; return their indices."""
        values = self._noisy(self._exact(first, last), parts, np.ones_like(parts))
        self._boxes.append((parents, first, last, parts, values))
        places = np.arange(self._size, self._size + parents.size)
        self._size += parents.size
        return places

    def ask(self, question: Question, first: Ints, last: Ints, family: Ints) -> Ints:
        """Ask how uneven boxes are within, summed over each family; return the noisy sums.

        The boxes are all those of the question's families, in any order.
        """
        among = np.searchsorted(question.families, family)
        cells = (last - first)[:, question.axis]
        box = np.repeat(np.arange(cells.size), cells)
        place = np.arange(box.size) - np.repeat(np.cumsum(cells) - cells, cells)
        ends = last[box]
        ends[:, question.axis] = first[box, question.axis] + place + 1
        each = deviations(self._exact(first[box], ends), cells, question.widths[among])
        exact = np.zeros(question.families.size, dtype=np.int64)
        np.add.at(exact, among, each)
        low, high = _hull(first, last, among)
        axes = np.full_like(exact, question.axis)
        asked = Unevenness(axes, low, high, question.widths, question.parts, exact)
        values = self._noisy(exact, asked.parts, asked.sensitivities)
        self._asked.append(replace(asked, values=values))
        return values

    def _noisy(self, exact: Ints, parts: Ints, sensitivities: Ints) -> Ints:
        """Return numbers with exact noise; one row changes each by at most its sensitivity."""
        values = exact.copy()
        for part, most in np.unique(np.stack([parts, sensitivities]), axis=1).T:
            these = (parts == part) & (sensitivities == most)
            scale = self._sensitivity * int(most) * PARTS / (self._epsilon * int(part))
            values[these] = perturb(values[these], scale)
        return values

    def _exact(self, first: Ints, last: Ints) -> Ints:
        """Return the exact numbers of rows in boxes, from running sums by inclusion and exclusion."""
        total = np.zeros(len(first), dtype=np.int64)
        for corner in product((False, True), repeat=first.shape[1]):
            total += (-1) ** corner.count(False) * self._sums[tuple(np.where(corner, last, first).T)]
        return total

    def split(self, places: Ints, left: Ints, family: Ints, rough: Booleans) -> tuple[Ints, Ints, Ints, Booleans]:
        """Split boxes of the last generation; return the next ones, and for each its ε, family and rough axes.

        Boxes have `left` parts of ε. Siblings have the same number in `family`. Along axes that are `rough` boxes are
        split down to cells.
        """
        among = places - (self._size - self._boxes[-1][0].size)
        first, last, parts, values = (self._boxes[-1][k][among] for k in (1, 2, 3, 4))
        widths = last - first
        people = values * left * self._unit
        several, variances = _several(widths), 2 / (parts * self._unit) ** 2
        uneven = _unevenness(values, widths, family, variances)
        uneven = np.clip(EVEN * uneven, LEAST, 1)
        worth = _worth(uneven * people / NOISE, several)
        steep = steepness(values, first, last, family, variances)
        steep[worth >= widths.prod(axis=1)] = 1.0  # slim boxes gain nothing where it ends in cells
        cells = widths.prod(axis=1)
        comb = (several == 1) & (uneven <= ALIKE) & (worth >= NEARLY * cells) & (cells <= AT_ONCE)
        worth = np.where(comb, cells, np.minimum(worth, cells))
        pieces = np.where(worth[:, None] < 2, 1, _splits(widths, np.ceil(worth - 1e-9), steep))
        in_doubt = (uneven <= ALIKE) & (worth < cells) & ~rough.any(axis=1)
        if self._may_ask and in_doubt.any():
            left, found = self._ask_about(first, last, people, left, family, in_doubt, pieces)
            rough = rough | found
        fine, pieces = rough.any(axis=1), np.where(rough, widths, pieces)
        worth = np.where(fine, pieces.prod(axis=1), worth)
        deep = np.ceil(np.log(np.maximum(worth, FAN_OUT)) / np.log(FAN_OUT) - 0.15)
        at_once = np.where(left > MOST, np.array(AT_FIRST)[several], FAN_OUT)
        levels = np.where((worth > at_once) & ~comb, np.maximum(deep, 2), 1)
        splits = _splits(widths, np.ceil(worth ** (1 / levels) - 1e-9), steep)
        splits[fine] = np.ceil(pieces[fine] ** (1 / levels[fine, None]) - 1e-9)
        ahead = np.arange(levels.max())[:, None]
        share = 1 / np.where(ahead < levels, np.array(GROWTH)[several] ** ahead, 0).sum(axis=0)
        parts = np.maximum((left * share).astype(np.int64), 1)

        ends = worth < 2
        group = _together(first, last, people, ends, family)
        self._gather(places[ends], first[ends], last[ends], left[ends], group[ends])
        goes_on = np.flatnonzero(~ends)
        siblings, starts, stops = _tiles(first[goes_on], widths[goes_on], splits[goes_on])
        siblings = goes_on[siblings]
        added = self.add(places[siblings], starts, stops, parts[siblings])
        rest = (left - parts)[siblings]
        return added[rest > 0], rest[rest > 0], siblings[rest > 0], rough[siblings[rest > 0]]

    def _ask_about(
        self, first: Ints, last: Ints, people: Numbers, left: Ints, family: Ints, in_doubt: Booleans, pieces: Ints
    ) -> tuple[Ints, Booleans]:
        """Ask families in doubt whether they are uneven within; return the ε left, and the axes along which they are.

        Boxes have `people` per unit of noise, and would be split into `pieces` along each axis.
        """
        _, one, family = np.unique(family, return_index=True, return_inverse=True)
        widths = last - first
        rough, spent = np.zeros(widths.shape, dtype=np.bool_), np.zeros_like(one)
        for question in questions(widths, family, people, left, in_doubt):
            here, asked = np.isin(family, question.families), one[question.families]
            answers = self.ask(question, first[here], last[here], family[here])
            cells = np.bincount(family, widths[:, question.axis])[question.families]
            found = is_rough(question, answers, widths[asked], pieces[asked], cells, left[asked], self._unit)
            rough[:, question.axis] = np.isin(family, question.families[found])
            spent[question.families] += question.parts
        return left - spent[family], rough

    def _gather(self, places: Ints, first: Ints, last: Ints, left: Ints, group: Ints) -> None:
        """Measure each group of siblings once more as one box, inserted between them and their parent."""
        if not places.size:
            return
        parents = self._boxes[-1][0]
        among = places - (self._size - parents.size)
        number, group = np.unique(group, return_inverse=True)
        low, high = _hull(first, last, group)
        above, parts = np.empty_like(number), np.empty_like(number)
        above[group], parts[group] = parents[among], left
        parents[among] = self._size + group
        self.add(above, low, high, parts)


def _several(widths: Ints) -> Ints:
    """Return 1 for boxes that extend along several axes, and 0 for others."""
    several: Ints = ((widths > 1).sum(axis=1) > 1).astype(np.int64)
    return several


def _unevenness(values: Ints, widths: Ints, family: Ints, variances: Floats) -> Floats:
    """Return for each box how uneven it and its siblings are, beyond their noise, as a fraction of their mean.

    1 if there are too few siblings. Unevenness that noise may hide is included: about one standard deviation of it.
    """
    _, family = np.unique(family, return_inverse=True)
    cells = widths.prod(axis=1).astype(np.float64)
    siblings = np.bincount(family)
    total, noise = np.bincount(family, values), np.bincount(family, variances) / siblings
    off = values - (total / np.bincount(family, cells))[family] * cells
    spread = np.bincount(family, off**2) / np.maximum(siblings - 1, 1)
    beyond = np.sqrt(np.maximum(spread - noise, 0) + 0.7 * noise / np.sqrt(siblings))
    uneven = beyond / np.maximum(total / siblings, np.sqrt(noise))
    of_box: Floats = np.where(siblings >= TO_TELL, uneven, 1.0)[family]
    return of_box


def _together(first: Ints, last: Ints, people: Numbers, ends: Booleans, family: Ints) -> Ints:
    """Return for each box the index of its group: siblings that fill one box, or a single box.

    All boxes of a group are `ends`, and splitting the whole group is not worth it. Families are halved until this
    holds.
    """
    _, group = np.unique(family, return_inverse=True)
    rows = np.arange(group.size)
    while True:
        low, high = _hull(first, last, group)
        size = np.bincount(group)
        worth = _worth(np.bincount(group, people) / NOISE, _several(high - low))
        kept = (np.bincount(group, ends) == size) & (worth < 2)
        cut = ~kept & (size > 1)
        if not cut.any():
            return np.asarray(group, dtype=np.int64)
        apart = np.zeros_like(low)
        np.maximum.at(apart, group, first - low[group])
        axis = np.where(apart > 0, high - low, 0).argmax(axis=1)[group]
        later = first[rows, axis] + last[rows, axis] >= low[group, axis] + high[group, axis]
        _, group = np.unique(2 * group + (later & cut[group]), return_inverse=True)


def _hull(first: Ints, last: Ints, group: Ints) -> tuple[Ints, Ints]:
    """Return the ends of the smallest box around each group of boxes."""
    low = np.full((int(group.max()) + 1, first.shape[1]), np.iinfo(np.int64).max)
    high = np.zeros_like(low)
    np.minimum.at(low, group, first)
    np.maximum.at(high, group, last)
    return low, high


def _tiles(first: Ints, widths: Ints, splits: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut boxes into `splits` pieces along each axis; return the parent and the two ends of each piece."""
    pieces = splits.prod(axis=1)
    family = np.repeat(np.arange(pieces.size), pieces)
    number = np.arange(family.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts, ends = np.empty((2, family.size, splits.shape[1]), dtype=np.int64)
    for axis in range(splits.shape[1]):
        cut, width, base = splits[family, axis], widths[family, axis], first[family, axis]
        starts[:, axis], ends[:, axis] = (base + (number % cut + end) * width // cut for end in (0, 1))
        number = number // cut
    return family, starts, ends


def _worth(people: Numbers, several: Ints) -> Numbers:
    """Return into how many boxes a box with `people` per unit of noise is worth splitting, along one or `several` axes.

    With k boxes along one axis, the noise in a range grows like √k and the error from uneven boxes falls like 1/k, so
    they balance at k ∝ people^(2/3); over two axes and more at k ∝ people (Qardaji, Yang & Li, ICDE 2013, guidelines 1,
    2).
    """
    people = np.maximum(people, 0)
    return np.where(several == 0, people ** (2 / 3), people)


def _splits(widths: Ints, wanted: Floats, steep: Floats) -> Ints:
    """Return the numbers of pieces along each axis: about `wanted` in all, at least two, narrower where it is `steep`.

    Nearly cubes if all axes are equally steep.
    """
    splits = np.ones_like(widths)
    left = wanted.copy()
    long = widths * steep
    for axis in range(widths.shape[1]):
        rest = long[:, axis:]
        even = (left / rest.prod(axis=1)) ** (1 / rest.shape[1]) * rest[:, 0]
        least = left / widths[:, axis + 1 :].prod(axis=1)
        pieces = np.ceil(left - 1e-9) if rest.shape[1] == 1 else np.rint(np.maximum(even, least))
        splits[:, axis] = np.clip(pieces, 1, widths[:, axis])
        left = left / splits[:, axis]
    whole = splits.prod(axis=1) == 1
    widest = np.where(widths > 1, long, 0).argmax(axis=1)[whole]
    splits[np.flatnonzero(whole), widest] = np.minimum(2, widths[whole, widest])
    return splits
