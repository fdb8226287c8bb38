"""Ask privately whether tables of three columns and more are better measured, or better taken from a model of pairs.

A plan tells the noise of measured tables, but not how much of it remains: where a cell holds nobody, most of it is
removed. Nor does it tell how wrong a model of pairs would be, which knows nothing of what three columns share beyond
their pairs. One number from the exact counts answers both, in rows and on average over the largest tables X:

    4 · max over three columns T of X of min over columns c of T of D(T | c)  −  3 · the mean over the measured
    tables Y of Σ min(Y, b).

D(T | c) is Σ |T − M| for the sums T of X over its other columns and the table M in which the two columns beside c are
independent, given c; a pair has none. A model is off in X by at least as much as in its sums. b is the scale of the
noise in the cells of Y, of which a cell keeps about its count at most. What would be measured are the tables X
themselves, or one table Y of all columns. If the number is clearly positive, measuring is better.

A row is in one cell of each table, and for each c in one group. So it changes D(T | c), the least of them, and the
greatest of these, by less than `MOVED` rows (`pair_selection.dependence`), and Σ min(Y, b) by one at most. The sum over
n tables, in which the mean over m tables Y is multiplied by n, changes by at most n·(4·`MOVED` + 3) for a row, and by Δ
times that for a person with Δ rows: this is the sensitivity of the noisy number (the discrete Laplace mechanism).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import (
    DISCRETE_LAPLACE,
    GRAIN,
    PARTS,
    TABLES_OR_MODEL,
    Allocation,
    Choice,
    Measurement,
)
from dpengine.measure.allocation import allocate_directly
from dpengine.measure.measure import add_noise
from dpengine.measure.pair_selection import MOVED, dependence
from dpengine.measure.rows_and_noise import noise_in_a_table
from dpengine.noise.laplace import perturb
from dpengine.spec.plan import Plan

__all__ = ["TablesOrModel", "net_gain"]

OF_MODEL, OF_NOISE = 4, 3  # weights of the model's error and of the noise (benchmarks/larger_tables.py)
MOVED_BY_ROW = OF_MODEL * MOVED + OF_NOISE
FINE, COARSE = 0.12, 0.4  # noise of the answer, as parts of the rows: wanted, and the most with which it is asked
MIN_PART, USUAL_PART, MAX_PART = PARTS // 500, PARTS // 50, PARTS // 20  # of ε: for fine answers, and coarse ones
# Noise in a table, as a part of the rows: with more, intervals of measured cells would be wider than a model's.
MOST_NOISE = 2.0
MOST_CELLS = 4_000_000  # of all tables: counting more is not worth its time


@dataclass(frozen=True)
class TablesOrModel:
    """The question about a plan's tables, its ε, and what is measured with the rest if the answer is *tables*."""

    tables: Sequence[Columns]
    epsilon: Fraction
    measured: Sequence[Allocation]

    @classmethod
    def of(cls, plan: Plan) -> TablesOrModel | None:
        """Return the question to ask about `plan`; None if none is.

        It is asked where a table has three columns or more, unless the answer would be too noisy, or nobody knows how
        noisy, since no rough number of rows is stated.
        """
        tables = maximal(plan.marginals)
        plain = not (plan.amounts(()) or plan.ranged or plan.weights)
        if not plain or plan.rows_about is None or len(tables) == 1 or max(map(len, tables)) < 3:
            return None
        direct = [each.columns for each in allocate_directly(plan)]
        if math.fsum(map(plan.cells, [*tables, *direct])) > MOST_CELLS:
            return None
        noise_of_all = MOVED_BY_ROW * plan.unit.rows / (plan.rows_about * float(plan.epsilon_for_tables))
        usual = min(max(int(PARTS * noise_of_all / FINE), MIN_PART), USUAL_PART)
        part = max(usual, math.ceil(PARTS * noise_of_all / COARSE))
        if part > MAX_PART or noise_in_a_table(plan, tables) > MOST_NOISE:
            return None
        rest = plan.at(
            plan.epsilon * (PARTS - part) / PARTS
        )  # also of the share that finds cells, where they are found
        return cls(tables, plan.epsilon_for_tables * part / PARTS, allocate_directly(rest))

    @property
    def marginals(self) -> list[Columns]:
        """The marginals whose exact counts are needed."""
        return [*self.tables, *(each.columns for each in self.measured)]

    def ask(self, counts: Mapping[Columns, Ints], rows: int) -> tuple[bool, Choice]:
        """Return the noisy answer whether measured tables are better, and what it cost.

        `counts` are exact, of `marginals`, and `rows` the most that a person has.
        """
        sensitivity = GRAIN * len(self.tables) * MOVED_BY_ROW * rows
        scales = [max(1, round(float(each.scale))) for each in self.measured]
        exact = {table: counts[table] for table in self.tables}
        gain = net_gain(exact, [counts[each.columns] for each in self.measured], scales)
        scale = sensitivity / self.epsilon
        choice = Choice(TABLES_OR_MODEL, DISCRETE_LAPLACE, self.epsilon, sensitivity)
        return int(perturb(np.array(gain), scale)) > scale, choice

    def measure(self, counts: Mapping[Columns, Ints]) -> tuple[Measurement, ...]:
        """Measure the tables with what is left of ε."""
        return tuple(add_noise(counts[each.columns], each) for each in self.measured)


def net_gain(tables: Mapping[Columns, Ints], measured: Sequence[Ints], scales: Sequence[int]) -> int:
    """Return the deciding statistic (see above) times the number of `tables`, in 256ths of a row, rounded down.

    `measured` are the exact counts of what would be measured with noise of these `scales`.

    >>> odd = np.array([[[8, 0], [0, 8]], [[0, 8], [8, 0]]])  # the third column is the sum of the others, modulo 2
    >>> even = np.full((2, 2, 2), 4)
    >>> [net_gain({("a", "b", "c"): each}, [each], [1]) / GRAIN for each in (odd, even)]
    [116.0, -24.0]
    """
    noise = sum(int(np.minimum(each, scale).sum()) for each, scale in zip(measured, scales, strict=True))
    return OF_MODEL * _beyond_pairs(tables) - -(-OF_NOISE * GRAIN * len(tables) * noise // len(measured))


def _beyond_pairs(tables: Mapping[Columns, Ints]) -> int:
    """Return how far three columns of each table are from their pairs, at most and added up, in 256ths of a row."""
    of_three: dict[Columns, int] = {}
    off = 0
    for columns, counts in tables.items():
        threes = list(combinations(columns, 3))
        for three in threes:
            if three not in of_three:
                others = tuple(axis for axis, name in enumerate(columns) if name not in three)
                summed = counts.sum(axis=others)
                of_three[three] = min(dependence(np.moveaxis(summed, axis, 0)) for axis in range(3))
        off += max((of_three[three] for three in threes), default=0)
    return off
