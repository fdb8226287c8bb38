"""Generate synthetic rows with weights, whose tables come close to a model of pairs of columns.

Rows are first generated along the tree of strongest dependence. Among the rows that share a value of the parent, the
counts of a column are those of the model, rounded; rounding errors are carried over to the next value. Then the rows
are repaired: single values are changed, in a few rows and one column at a time, if that brings the tables of all pairs
nearer to the model's (`synthesis.repair`). Rows are not sampled: sampling n rows would add an error of the order √n to
every count, which is more than the noise at usual ε.

Up to `MAX_ONCE` people every row has weight 1, and up to `COARSE_WIDE` if rows follow tables of three columns. Beyond
it, rows stand for several people each (`synthesis.shared_rows`), so that time and memory do not grow with the number of
people.

A fixed function of the model: arbitrary orders follow a hash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Ints, Reals
from dpengine.estimate.agreement import ModelAndTables
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.fitting import largest_remainders, round_to_total
from dpengine.marginals.graphs import spanning_tree
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.nested import NO_LEVELS
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled
from dpengine.spec.categories.resolution import Resolution
from dpengine.synthesis.by_columns import alone, by_columns, dependence, fits, given
from dpengine.synthesis.by_tables import by_tables, followed, most_people
from dpengine.synthesis.kept_counts import keep_counts
from dpengine.synthesis.nearest import nearest_counts
from dpengine.synthesis.repair import (
    Codes,
    Effort,
    Falloff,
    cell_weights_of,
    excess_in,
    excess_of,
    fill,
    of_pairs,
    repair,
    settle,
)
from dpengine.synthesis.shared_rows import loosened, share, unique

__all__ = ["SyntheticRows", "WholeCounts", "generate_rows", "realise"]

MAX_ONCE = 2**17  # people who get a row each; if there are more, people share rows of larger weights
COARSE = 2**14  # number of such rows
COARSE_EVEN = 2**16  # the same if pairs were measured directly, and are closer to the truth than a model's
COARSE_WIDE = 2**19  # the same if tables of three columns or more are counted: these need many different rows
MAX_TRIPLES = 40  # tables of three columns that are compared
# Repairs of rows of weight 1, one after the other: how the weight of an error falls with the count, and the effort.
# A model's error is large beside what is lost if people leave only cells with too many.
OF_MODEL = ((Falloff(0.8, 0.1), Effort(passes=8, limit=0.5, batches=32, part=0.4, at_least=0.0)),)
# Pairs that were measured directly have small, even errors: more batches and passes come nearer, for each of two powers
# (five public tables at ε = 10 and 20; one power by itself does worse). Before, each column is repaired alone.
EVEN = tuple(
    (Falloff(power, 0.1), Effort(passes=16, limit=2.0, batches=64, part=0.4, enough=0.02)) for power in (0.75, 0.5)
)
EVEN_COLUMN = Falloff(1.0, 0.1), Effort(passes=12, limit=2.0, batches=64, enough=0.01)
# Up to `MAX_FEW` rows follow a model's many tables less well. All are tried, first with a power so large that hardly
# anything but small cells counts: these are filled while rows can still move. With more rows, large cells would end far
# off. Before, each column is repaired alone, unless pairs of values times columns exceed `MAX_LOOKED`: it takes long.
MAX_FEW, MAX_LOOKED = 2**12, 2**26
FEW_COLUMN = Falloff(1.5, 0.3), Effort(passes=3, limit=0.5, batches=8)
OF_FEW = (
    (Falloff(1.5, 0.3), Effort(passes=2, limit=0.5, batches=12, at_least=0.0)),
    (Falloff(1.0, 0.3), Effort(passes=3, limit=0.5, batches=12, at_least=0.0)),
)
# At the end, `settle` looks at all values again: in as many passes as come to `SETTLED_VALUES` values together, at most
# `SETTLE_PASSES`. With more rows, hardly any value would be better changed for the time.
SETTLE_PASSES, SETTLED_VALUES = 8, 400_000
SMALL_NOISE = math.sqrt(2)  # deviation up to which nearly half of all measured counts are exact


@dataclass(frozen=True)
class SyntheticRows:
    """Synthetic rows from which every table is counted: `codes` has one row for each column of `domain`.

    Row k stands for `weights[k]` people, at least one.
    """

    domain: Domain
    codes: Codes
    weights: Ints

    @property
    def columns(self) -> Columns:
        """Names of the columns."""
        return self.domain.names

    def project(self, onto: Sequence[str]) -> Marginal[np.int64]:
        """Return the counts over some of the columns."""
        return Marginal(tuple(onto), self.table(tuple(onto)))

    def table(self, columns: Columns, resolution: Resolution = NO_LEVELS) -> Ints:
        """Return the published counts over `columns`, which may be at a coarser level of those that the rows have.

        Raises KeyError if the rows do not have all of these.
        """
        finer = resolution.finer_columns(columns, self.domain.names)
        if finer is None:
            raise KeyError(columns)
        if finer != columns:
            return resolution.coarsen(self.table(finer), finer, columns)
        if not columns:
            return np.array(self.weights.sum(), dtype=np.int64)
        domain = self.domain.project(columns)
        cells = domain.cells([self.codes[k] for k in self.domain.axes(columns)])
        if self._people < 2**53:  # the weights of a bincount are floats, whose sums are exact up to this
            singly = self._people == self.weights.size
            counts = np.bincount(cells, None if singly else self.weights, domain.size).astype(np.int64)
        else:
            counts = np.zeros(domain.size, dtype=np.int64)
            np.add.at(counts, cells, self.weights)
        return counts.reshape(domain.sizes)

    @cached_property
    def _people(self) -> int:
        return int(self.weights.sum())


WholeCounts = ConsistentTables | SyntheticRows


def realise(fitted: ConsistentTables | Pairwise | ModelAndTables, tables: Sequence[Columns]) -> WholeCounts:
    """Return whole counts that agree everywhere for a fitted model; tables that are already whole do not change.

    Pairs become synthetic rows that are close to them and have their total. If the pairs come with a table of all
    columns and there are very many people, that table is rounded instead. `tables` are those that will be counted.
    """
    if isinstance(fitted, ConsistentTables):
        return fitted
    if isinstance(fitted, ModelAndTables):
        rows = realise(fitted.model, tables)
        if isinstance(rows, SyntheticRows):
            if fitted.fixed and rows.weights.size:
                kept = keep_counts(rows.domain, rows.codes, rows.weights, fitted.fixed, fitted.model)
                rows = SyntheticRows(rows.domain, *kept)
            return ConsistentTables(fitted.after(rows, int(rows.table(()))), rows)
        (first,) = rows.tables
        return ConsistentTables(fitted.after(first, int(first.values.sum())))
    if fitted.whole is not None and round(fitted.total) > most_people(fitted):
        expected = fitted.whole.values
        counts = round_to_total(expected, round(float(expected.sum())))
        return ConsistentTables((Marginal(fitted.whole.columns, counts),))
    domain = Domain(tuple(fitted.one_way), tuple(counts.size for counts in fitted.one_way.values()))
    rows = SyntheticRows(domain, *generate_rows(fitted, round(fitted.total), tables))
    return _nearer(rows, fitted) if fitted.noise and rows.weights.size else rows


def generate_rows(model: Pairwise, people: int, tables: Sequence[Columns]) -> tuple[Codes, Ints]:
    """Return codes of synthetic rows, of shape (columns, rows), columns in the order of the model's, and their weights.

    Weights are at least 1 and add up to `people`. `tables` are those that will be counted from the rows.
    """
    names = list(model.one_way)
    if people == 0:
        return np.zeros((len(names), 0), dtype=np.int32), np.zeros(0, dtype=np.int64)
    if len(names) == 1:
        counts = largest_remainders(model.one_way[names[0]] + 1e-9, people)
        values = np.flatnonzero(counts)
        return values[None].astype(np.int32), counts[values]
    if near := followed(model, tables):
        return by_tables(model, people, near)
    once, widest = people <= MAX_ONCE, max(map(len, tables), default=2)
    most = COARSE_WIDE if widest > 2 else COARSE_EVEN if model.even else COARSE
    rows = people if once else min(people, most)
    starts = np.cumsum([0, *(counts.size for counts in model.one_way.values())])
    triples = widest > 2 and rows > 1 and fits(model, rows)  # one row, such as that of a dry run, has none to suit
    codes = by_columns(model, rows) if triples else _along_tree(model, names, rows)
    if triples and rows < people:
        shared = share(model, codes.copy(), people, starts, careful=True)
        return _nearest_in_triples(model, unique(codes, round_to_total(np.ones(rows), people)), shared)
    if not triples and not once:
        return share(model, codes, people, starts, careful=widest > 2)
    if not triples:
        _repair_pairs(model, codes, starts)
    return codes, np.ones(people, dtype=np.int64)


def _repair_pairs(model: Pairwise, codes: Codes, starts: Ints) -> None:
    """Change values of rows of weight 1 so that all their pairs come nearer to the model's."""
    rows = codes.shape[1]
    excess = excess_of(model, starts, codes, np.ones(rows))
    for falloff, effort in EVEN if model.even else OF_FEW if rows <= MAX_FEW else OF_MODEL:
        cell_weights = of_pairs(model, starts, falloff)
        repair(codes, 1, excess, cell_weights, starts, effort)
    settle(codes, excess, cell_weights, starts, effort.limit, min(SETTLE_PASSES, SETTLED_VALUES // codes.size))


def _nearest_in_triples(model: Pairwise, *found: tuple[Codes, Ints]) -> tuple[Codes, Ints]:
    """Return the rows and weights whose tables of three columns are closest to the model's.

    Rows generated column by column may be closer before their pairs are repaired than after.
    """
    domain = Domain(tuple(model.one_way), tuple(counts.size for counts in model.one_way.values()))
    triples = [*combinations(model.one_way, 3)]
    off = np.zeros(len(found))
    for triple in triples[:: -(-len(triples) // MAX_TRIPLES)]:
        expected = model.table(triple)
        off += [np.abs(SyntheticRows(domain, *rows).table(triple) - expected).sum() for rows in found]
    return found[int(off.argmin())]


def _nearer(rows: SyntheticRows, model: Pairwise) -> SyntheticRows:
    """Return rows whose tables are closer to the measured ones, if their noise is known."""
    starts = np.cumsum([0, *rows.domain.sizes])
    pairs = {(a, b): np.rint(model.noise[a, b][0]) for a, b in combinations(model.one_way, 2)}
    cell_weights, excess = (
        _of_noise(model, starts),
        excess_of(replace(model, two_way=pairs), starts, rows.codes, rows.weights),
    )
    codes, weights = loosened(*unique(rows.codes, rows.weights), excess, cell_weights, starts)
    rows = SyntheticRows(rows.domain, codes, weights)
    if max(model.noise[pair][1] for pair in pairs) > SMALL_NOISE:
        return rows
    wanted = {rows.domain.axes(table): (np.rint(values).astype(np.int64), deviation)
              for table, (values, deviation) in model.noise.items()}  # fmt: skip
    counts = nearest_counts(rows.table(rows.columns), wanted)
    return SyntheticRows(rows.domain, np.stack(np.nonzero(counts)).astype(np.int32), counts[counts > 0])


def _along_tree(model: Pairwise, names: list[str], rows: int) -> Codes:
    """Return rows whose columns follow the pairs of a tree, each pair to within rounding.

    With even errors or few rows, each column is repaired by its pairs with all earlier ones before the next one follows
    it. So rows end nearer than if all columns are repaired together from the start.
    """
    falloff, effort = EVEN_COLUMN if model.even else FEW_COLUMN
    # The tree of strongest dependence; among equally strong edges, the last parent by name.
    tree = spanning_tree(names, lambda parent, child: (dependence(model, parent, child), parent))
    edges = [(parent, child) for parent, child, _ in tree]
    order = [names[0], *(child for _, child in edges)]
    starts = np.cumsum([0, *(model.one_way[name].size for name in order)])
    excess, cell_weights = (np.zeros((starts[-1], starts[-1]), dtype=np.float32) for _ in range(2))
    alone_first = model.even or (rows <= MAX_FEW and excess.size * len(order) <= MAX_LOOKED)
    codes = np.zeros((len(order), rows), dtype=np.int32)
    codes[0] = alone(model.one_way[order[0]], rows)
    for k, (parent, child) in enumerate(edges, start=1):
        codes[k] = given(
            codes[order.index(parent)], model.pair(parent, child), model.one_way[child], shuffled(rows, k - 1)
        )
        if alone_first and len(order) > 2:
            for i, other in enumerate(order[:k]):
                expected = model.pair(other, child) * (rows / model.total)
                fill(cell_weights, starts, (i, k), cell_weights_of(expected, falloff))
                fill(excess, starts, (i, k), excess_in(expected, codes[[i, k]]))
            known = slice(starts[k + 1])
            of_known = excess[known, known], cell_weights[known, known], starts[: k + 2]
            repair(codes[: k + 1], 1, *of_known, effort, only=(k,))
    return codes[[order.index(name) for name in names]]


def _of_noise(model: Pairwise, starts: Ints) -> Reals:
    """Return the weights of all pairs of values if each table's noise is known: the inverse variance, at most 1."""
    cell_weights = np.zeros((starts[-1], starts[-1]), dtype=np.float32)
    least = min(deviation for _, deviation in model.noise.values())
    for (k, b), (i, a) in combinations(enumerate(model.one_way), 2):
        _, deviation = model.noise[b, a]
        for one, other in ((k, i), (i, k)):
            cell_weights[starts[one] : starts[one + 1], starts[other] : starts[other + 1]] = (least / deviation) ** 2
    return cell_weights
