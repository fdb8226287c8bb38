"""Noisy measurements, each with the ε that it cost: a release is computed from these alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.noise.threshold import release_threshold
from dpengine.spec.categories.universe import Universe
from dpengine.translation.catalogue import mark

if TYPE_CHECKING:
    from dpengine.marginals.pairwise import Pairwise
    from dpengine.spec.plan import Plan

__all__ = [
    "AUDIT",
    "AUDIT_EDGES",
    "BOXES",
    "BOXES_ASKED",
    "DISCRETE_LAPLACE",
    "GRAIN",
    "PARTS",
    "PERMUTE_AND_FLIP",
    "QUANTILES",
    "SEARCH",
    "TABLES_OR_MODEL",
    "Allocation",
    "Audit",
    "Boxes",
    "Choice",
    "ChosenQuantiles",
    "FoundKeys",
    "Measurement",
    "Measurements",
    "QuantileShare",
    "Search",
    "Unevenness",
]  # fmt: skip

PARTS = 1_000_000  # of ε: calculated allocations are whole numbers of these, so they add up exactly
DISCRETE_LAPLACE = mark("discrete Laplace")
PERMUTE_AND_FLIP = mark("permute-and-flip")
GRAIN = 256  # counts and models are compared in these parts of a row

# Purposes of measurements that are no tables:
QUANTILES = mark("quantiles, each chosen privately among steps of the amount, by the ranks of people")
SEARCH = mark("where the values of the column lie, to find its cells")
BOXES = mark("counts of boxes of cells within boxes; the shares of those that hold a cell add up to this one")
BOXES_ASKED = mark(
    "counts of boxes of cells within boxes, and how uneven some of these are within; the shares of those that hold a "
    "cell add up to this one"
)
TABLES_OR_MODEL = mark("whether tables of three columns and more are measured, or follow a model of pairs")
AUDIT = mark("how far off the tables are, by size of cell")

# Expected counts that separate cells by size, by the number of sizes; earlier releases have seven.
AUDIT_EDGES: dict[int, tuple[float, ...]] = {1: (), 3: (10.0, 200.0), 7: (0.5, 2.0, 10.0, 50.0, 200.0, 1000.0)}


@dataclass(frozen=True)
class Allocation:
    """A marginal to measure, with its share of ε and the L1 sensitivity of its counts, in rows.

    If rows are shared between cells (`spec.numeric.amount`), counts are in whole units, `grain` of them to a row.
    `tally` is the index of the plan's tally that it counts (`spec.tallies`).
    """

    columns: Columns
    epsilon: Fraction
    sensitivity: int
    grain: int = 1
    tally: int = 0

    @cached_property  # this and the next are used often, and fractions are slow
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise, in rows: sensitivity/ε."""
        return self.sensitivity / self.epsilon

    @cached_property
    def scale_in_units(self) -> Fraction:
        """Scale of the noise in units, in which it is whole."""
        return self.scale * self.grain


@dataclass(frozen=True, slots=True)
class Measurement:
    """Noisy counts of a marginal in units, one axis per column, with the allocation of ε that they cost.

    If neighbouring cells were merged before counting, `merged` gives for each axis the merged bin of every cell.
    """

    allocation: Allocation
    values: Ints
    merged: tuple[Ints, ...] = ()

    @property
    def rows(self) -> Ints | Floats:
        """The noisy counts in rows."""
        return self.values if self.allocation.grain == 1 else self.values / self.allocation.grain

    def is_same(self, other: Measurement) -> bool:
        """Return whether both have the same allocation, bins and noisy counts."""
        arrays = zip((self.values, *self.merged), (other.values, *other.merged), strict=False)
        alike = len(self.merged) == len(other.merged) and self.allocation == other.allocation
        return alike and all(np.array_equal(*pair) for pair in arrays)


@dataclass(frozen=True, slots=True)
class Choice:
    """A private choice that decides what is measured next: its description, mechanism and cost."""

    what: str
    mechanism: str
    epsilon: Fraction
    sensitivity: int


@dataclass(frozen=True, slots=True)
class Audit:
    """Total error of the expected counts of `tables`: noisy sums of |true − expected| by size of cell.

    `sums` are in units of 1/`grain` rows.
    """

    tables: tuple[Columns, ...]
    epsilon: Fraction
    sensitivity: int
    grain: int
    sums: Ints

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise in every sum."""
        return self.sensitivity / self.epsilon


@dataclass(frozen=True, slots=True)
class Unevenness:
    """Noisy answers to how uneven boxes of one table are within: sums of deviations (`measure.box_questions`).

    One row a question. It is about the boxes that cover the cells from `first` to before `last`, each cut along the
    axis in `axes` into pieces of `widths` cells, and costs `parts` of ε for these cells.
    """

    axes: Ints
    first: Ints
    last: Ints
    widths: Ints
    parts: Ints
    values: Ints

    @property
    def sensitivities(self) -> Ints:
        """By how much one row changes each sum at most (proof in `measure.box_questions.deviations`)."""
        most: Ints = self.widths * (self.widths - 1) // 2
        return most


@dataclass(frozen=True, slots=True)
class Boxes:
    """Noisy counts of boxes of cells of one table, each box within its parent: a tree that grew while it was measured.

    `first` and `last` have one row per box and one column for each of `columns`: the first cell of the box and the one
    past its last. Boxes are in the order in which they were measured, possibly after boxes within them; the parent of a
    root is -1. Roots cover the table, and children their parent. `parts` are shares of `epsilon`: from a root to any
    cell, with those of the questions about it in `unevenness`, they add up to exactly `PARTS`, so a person's row spends
    ε once.
    """

    columns: Columns
    shape: tuple[int, ...]
    epsilon: Fraction
    sensitivity: int
    parents: Ints
    first: Ints
    last: Ints
    parts: Ints
    values: Ints
    unevenness: Unevenness | None = None  # where nothing was asked

    @classmethod
    def of_cells(cls, name: str, epsilon: Fraction, sensitivity: int, values: Ints) -> Boxes:
        """Return the noisy counts of all cells of a column, each measured by itself with all of `epsilon`."""
        first = np.arange(values.size, dtype=np.int64)
        parents, parts = np.full_like(first, -1), np.full_like(first, PARTS)
        return cls(
            (name,), values.shape, epsilon, sensitivity, parents, first[:, None], first[:, None] + 1, parts, values
        )

    def scale(self, part: int) -> Fraction:
        """Return the scale of the discrete Laplace noise of a box that is given `part` of ε."""
        return self.sensitivity * PARTS / (self.epsilon * part)

    @property
    def cost(self) -> Fraction:
        """The ε that a row spends: the sum of the shares of all boxes that hold its cell, and of questions about it.

        The sum is equal for all cells. Adds up the shares cell by cell, without relying on the parents in the tree.
        Raises ValueError if cells differ.
        """
        spent = np.zeros([size + 1 for size in self.shape], dtype=np.int64)
        paid = [(self.first, self.last, self.parts)]
        if (questions := self.unevenness) is not None:
            paid.append((questions.first, questions.last, questions.parts))
        for corner, (first, last, parts) in product(product((False, True), repeat=len(self.shape)), paid):
            places = tuple(np.where(corner, last, first).T)  # each box as differences at its corners
            np.add.at(spent, places, (-1) ** sum(corner) * parts)
        for axis in range(len(self.shape)):
            spent = spent.cumsum(axis=axis)
        cells = spent[(slice(-1),) * len(self.shape)]
        if min(parts.min() for _, _, parts in paid) < 1 or cells.min() != cells.max():
            raise ValueError("boxes over different cells spend different parts of epsilon")
        return self.epsilon * int(cells.max()) / PARTS


@dataclass(frozen=True, slots=True)
class FoundKeys:
    """The keys of a universe whose noisy counts are at least `least`, by their places, in order.

    All `universe` keys got noise, also those without people. If very many reach `least`, those with the largest counts
    are kept.
    """

    columns: Columns
    universe: int
    least: int
    epsilon: Fraction
    sensitivity: int
    places: Ints
    values: Ints

    @classmethod
    def none(cls, name: str, among: Universe, epsilon: Fraction, rows: int) -> FoundKeys:
        """Return an empty result, with the share of `epsilon` that `among` declares, at `rows` rows per person."""
        share, empty = epsilon * among.share, np.empty(0, dtype=np.int64)
        threshold = release_threshold(among.keys, rows / share, among.chance)
        return cls((name,), among.keys, threshold, share, rows, empty, empty)

    @property
    def cost(self) -> Fraction:
        """The ε that was spent."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise of each key, in rows."""
        return self.sensitivity / self.epsilon


Search: TypeAlias = Boxes | FoundKeys  # the cells of a column are found from it: steps of its range, or keys


@dataclass(frozen=True, slots=True)
class QuantileShare:
    """The share of ε for choosing quantiles of an amount, at fractions `parts` of the people, in each cell of a table.

    `columns` are sorted. One person has at most `sensitivity` rows.
    """

    columns: Columns
    amount: str
    parts: tuple[Decimal, ...]
    epsilon: Fraction
    sensitivity: int


@dataclass(frozen=True, slots=True)
class ChosenQuantiles:
    """Privately chosen quantiles: places on the amount's grid, with one axis per column and a last one for `parts`."""

    share: QuantileShare
    places: Ints


@dataclass(frozen=True, slots=True)
class Measurements:
    """All noisy results of one release: marginals, and choices, audit, boxes and quantiles if the strategy has them.

    `more_boxes` are those of further ranges tables. `searches` are the measurements from which cells were found, before
    everything else. `by_classes`, whether tables of three and more columns start from latent classes, was chosen
    privately (`marginals.pairwise`). If a model was fitted to marginals while measuring, `fit` caches both, so that it
    need not be fitted again; it is not stored.
    """

    marginals: tuple[Measurement, ...]
    choices: tuple[Choice, ...] = ()
    audit: Audit | None = None
    boxes: Boxes | None = None
    more_boxes: tuple[Boxes, ...] = ()
    quantiles: tuple[ChosenQuantiles, ...] = ()
    searches: tuple[Search, ...] = ()
    by_classes: bool = False
    fit: tuple[tuple[Measurement, ...], Pairwise] | None = field(default=None, compare=False, repr=False)

    @property
    def chose_tables(self) -> bool:
        """Whether a private answer chose measured tables rather than a model, whose error would have been measured."""
        return self.audit is None and any(each.what == TABLES_OR_MODEL for each in self.choices)

    def as_measured(self, plan: Plan) -> Plan:
        """Return `plan` with the strategy by which these were measured, which may have been chosen privately."""
        return plan.model_copy(update={"strategy": "direct"}) if self.chose_tables else plan

    @property
    def trees(self) -> tuple[Boxes, ...]:
        """The boxes of each table that was measured in boxes."""
        return () if self.boxes is None else (self.boxes, *self.more_boxes)

    def chosen(self, table: Columns, amount: str, parts: Sequence[Decimal]) -> Ints | None:
        """Return the places of quantiles of `table` that were chosen, first axis the parts; None if none were."""
        for one in self.quantiles:
            if (one.share.columns, one.share.amount, one.share.parts) == (tuple(sorted(table)), amount, tuple(parts)):
                places: Ints = np.moveaxis(one.places, -1, 0)
                return places.transpose(0, *(1 + one.share.columns.index(name) for name in table))
        return None

    def with_fit_of(self, drawn: Measurements) -> Measurements:
        """Return these with the model that was fitted to `drawn`, if their numbers are equal."""
        if drawn.fit is None or len(self.marginals) != len(drawn.marginals):
            return self
        fitted_to, model = drawn.fit
        pairs = zip(self.marginals, drawn.marginals, strict=True)
        same = {id(other): one for one, other in pairs if one.is_same(other)}
        if not all(id(each) in same for each in fitted_to):
            return self
        return replace(self, fit=(tuple(same[id(each)] for each in fitted_to), model))

    @property
    def cost(self) -> Fraction:
        """The ε of everything that was measured and chosen, added up exactly (basic composition).

        Raises ValueError if boxes over different cells cost different shares of ε.

        Source: Dwork & Roth 2014, Theorem 3.16.
        """
        parts = [each.allocation.epsilon for each in self.marginals] + [each.epsilon for each in self.choices]
        parts += [self.audit.epsilon] if self.audit is not None else []
        parts += [boxes.cost for boxes in self.trees]
        parts += [each.share.epsilon for each in self.quantiles]
        parts += [each.cost for each in self.searches]
        return sum(parts, Fraction(0))
