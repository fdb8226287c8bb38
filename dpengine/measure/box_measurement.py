"""Measure a table whose ranges matter in boxes of neighbouring cells, finely only where there are people.

The sum of a long range of separately measured cells has the noise of all of them. So the table is measured from the
whole downwards: `measure.box_splits` says into how many boxes each box is split. A box that is not worth splitting is
measured once more with all its remaining ε, as one box with neighbours that are not either, while splitting all of them
is not worth it. With many people per unit of noise everything is split down to cells, and this is a hierarchical
histogram (Hay et al. 2010; fan-outs as in Qardaji, Yang & Li 2013). With few it is an adaptive grid (the same authors,
ICDE 2013, of two levels) or a partition (as in Li, Hay, Miklau & Wang, PVLDB 2014). These decisions follow from noisy
counts that are paid for. If these look alike and there are many people, about a percent of ε asks whether boxes are
uneven within (`measure.box_questions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.marginals.box_strata import Axis
from dpengine.marginals.measurement import PARTS, Boxes, Unevenness
from dpengine.measure.box_questions import Question, deviations, is_rough, questions
from dpengine.measure.box_splits import (
    NOISE,
    Split,
    box_hull,
    boxes_wanted,
    extends_along_several,
    next_level,
    tiles,
    unevenness,
)
from dpengine.measure.box_steepness import steepness
from dpengine.noise.laplace import perturb

__all__ = ["blank_boxes", "measure_boxes"]

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.floating[Any]]

# Of ε for the total, and again for several strata: of one column, of more. Chosen with what `measure.box_splits` sets.
ROOT = (PARTS // 10, PARTS * 7 // 100)


def measure_boxes(
    columns: tuple[str, ...],
    axes: Sequence[Axis],
    counts: Ints,
    epsilon: Fraction,
    sensitivity: int,
    *,
    for_bins: bool = False,
) -> Boxes:
    """Measure `counts`, one axis a column, in a tree of boxes that grows as their noisy counts say.

    `axes` gives the strata of each column (`marginals.box_strata`), which are separated first. If boxes are `for_bins`,
    which are cut where many people are, they are split in more levels, as if siblings always differed, and nothing is
    asked beside counts.

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
    tree = _GrowingTree(counts, epsilon, sensitivity, for_bins=for_bins)
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

    def __init__(self, counts: Ints, epsilon: Fraction, sensitivity: int, *, for_bins: bool) -> None:
        self._sums = np.zeros([size + 1 for size in counts.shape], dtype=np.int64)
        running = counts
        for axis in range(counts.ndim):
            running = running.cumsum(axis=axis)
        self._sums[(slice(1, None),) * counts.ndim] = running
        self._sensitivity, self._epsilon = sensitivity, epsilon
        self._unit = float(epsilon) / (sensitivity * PARTS)  # 1 ÷ the scale of noise at one part of ε
        self._for_bins = for_bins
        self._boxes: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        self._asked: list[Unevenness] = []
        self._size = 0

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return parents, first and last cells, parts of ε and noisy values of all boxes."""
        parents, first, last, parts, values = map(np.concatenate, zip(*self._boxes, strict=True))
        return parents, first, last, parts, values

    def unevenness(self) -> Unevenness | None:
        """Return all questions about unevenness with their noisy answers; None if none was asked."""
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
        low, high = box_hull(first, last, among)
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
        variances = 2 / (parts * self._unit) ** 2
        uneven = np.ones(places.size) if self._for_bins else unevenness(values, widths, family, variances)
        steep = steepness(values, first, last, family, variances)
        split = Split.from_counts(widths, people, uneven, steep)
        in_doubt = split.in_doubt & ~rough.any(axis=1)
        if in_doubt.any() and not self._for_bins:
            left, found_rough = self._ask_about(first, last, people, left, family, in_doubt, split.pieces)
            rough = rough | found_rough
        split = split.down_to_cells(widths, rough)
        pieces, parts = next_level(split, widths, left, rough, for_bins=self._for_bins)

        ends = split.wanted < 2
        group = _together(first, last, people, ends, family)
        self._gather(places[ends], first[ends], last[ends], left[ends], group[ends])
        goes_on = np.flatnonzero(~ends)
        siblings, starts, stops = tiles(first[goes_on], widths[goes_on], pieces[goes_on])
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
        low, high = box_hull(first, last, group)
        above, parts = np.empty_like(number), np.empty_like(number)
        above[group], parts[group] = parents[among], left
        parents[among] = self._size + group
        self.add(above, low, high, parts)


def _together(first: Ints, last: Ints, people: Numbers, ends: Booleans, family: Ints) -> Ints:
    """Return for each box the index of its group: siblings that fill one box, or a single box.

    All boxes of a group are `ends`, and splitting the whole group is not worth it. Families are halved until this
    holds.
    """
    _, group = np.unique(family, return_inverse=True)
    rows = np.arange(group.size)
    while True:
        low, high = box_hull(first, last, group)
        size = np.bincount(group)
        wanted = boxes_wanted(np.bincount(group, people) / NOISE, extends_along_several(high - low))
        kept = (np.bincount(group, ends) == size) & (wanted < 2)
        cut = ~kept & (size > 1)
        if not cut.any():
            return np.asarray(group, dtype=np.int64)
        apart = np.zeros_like(low)
        np.maximum.at(apart, group, first - low[group])
        axis = np.where(apart > 0, high - low, 0).argmax(axis=1)[group]
        later = first[rows, axis] + last[rows, axis] >= low[group, axis] + high[group, axis]
        _, group = np.unique(2 * group + (later & cut[group]), return_inverse=True)
