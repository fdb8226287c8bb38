"""Change as few rows as possible so that they keep given counts of some columns exactly.

A range is a sum of many cells, so rows that follow each cell to within a person would be off by many people over a long
range. People leave cells with too many for those with too few, both in the order of the cells: whoever is too many goes
to the first place that is still free. So as few people change as possible, and they stay as near as possible (Monge's
rule for transport along a line).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.agreement import FixedCounts
from dpengine.marginals.marginal import Domain
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis.repair import Codes
from dpengine.synthesis.shared_rows import unique

__all__ = ["keep_counts"]


def keep_counts(
    domain: Domain, codes: Codes, weights: Ints, kept: Sequence[FixedCounts], model: Pairwise
) -> tuple[Codes, Ints]:
    """Return rows with the counts of every table in `kept`: each has as many people, and agrees with those before it.

    `codes` has one row for each column of `domain`. A row that stands for several people may become several. Of a
    cell's rows, those leave that stand where pairs have the most people beyond those of the `model`.
    """
    fixed: set[str] = set()
    for each in kept:
        known = tuple(name for name in each.counts.columns if name in fixed)
        codes, weights = _keep(domain, codes, weights, each, known, model)
        fixed |= {*each.counts.columns}
    return codes, weights


def _keep(
    domain: Domain, codes: Codes, weights: Ints, kept: FixedCounts, known: Columns, model: Pairwise
) -> tuple[Codes, Ints]:
    """Return rows with the counts of one table; those over its `known` columns are right, and rows stay in these."""
    columns, wanted = kept.counts.columns, kept.counts.values.ravel()
    axes, own = domain.axes(columns), domain.project(columns)
    order = _by_groups(own, kept.order, known)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    of_row = place[own.cells([codes[axis] for axis in axes])]
    by_place = np.lexsort((_too_many(domain, codes, weights, columns, model), of_row))
    codes, weights, of_row = codes[:, by_place], weights[by_place], of_row[by_place]
    here = np.bincount(of_row, weights, order.size).astype(np.int64)
    before = np.cumsum(here) - here
    so_far = np.cumsum(weights) - before[of_row]  # people of a row's cell up to this row
    leaving = np.clip(so_far - wanted[order][of_row], 0, weights)
    free = np.maximum(wanted[order] - here, 0)
    # Both run over the same number of people, in the same order: pieces end where a row or a cell does.
    leavers, places = np.cumsum(leaving), np.cumsum(free)
    ends = np.union1d(leavers, places)
    ends = ends[ends > 0]
    moved = np.diff(ends, prepend=0)
    changed = codes[:, np.searchsorted(leavers, ends)]
    cells = order[np.searchsorted(places, ends)]
    for axis, values in zip(axes, np.unravel_index(cells, own.sizes), strict=True):
        changed[axis] = values
    staying = weights - leaving
    stay = staying > 0
    return unique(np.concatenate([codes[:, stay], changed], axis=1), np.concatenate([staying[stay], moved]))


def _too_many(domain: Domain, codes: Codes, weights: Ints, columns: Columns, model: Pairwise) -> Floats:
    """Return the excess count of each row's pairs of one of `columns` and another column."""
    excess = np.zeros(weights.size)
    for name, other in product(columns, domain.names):
        if other not in columns:
            pair = domain.project((name, other))
            cells = pair.cells([codes[axis] for axis in domain.axes((name, other))])
            excess += (np.bincount(cells, weights, pair.size) - model.pair(name, other).ravel())[cells]
    return excess


def _by_groups(own: Domain, order: Ints, known: Columns) -> Ints:
    """Return the cells in `order`, but group by group of the `known` columns."""
    if not known:
        return order
    codes = np.unravel_index(order, own.sizes)
    groups = own.project(known).cells([codes[axis] for axis in own.axes(known)])
    return order[np.argsort(groups, kind="stable")]
