"""A consistent model → rows: synthetic people who add up to the published tables.

Rows hold cells, since cells are all that a release knows. Where the model is a tree of
tables, a row's columns are drawn together table by table: given the columns that two tables share, the
rest are paired evenly (as if independent), which is the least that the published tables say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpengine.consistency import Model, Rows

__all__ = ["deal"]

Ints = npt.NDArray[np.int64]

GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def deal(model: Model | Rows) -> dict[str, Ints]:
    """Codes of each column, one entry a synthetic row; counted again, they give the model's tables exactly."""
    if isinstance(model, Rows):
        return {name: codes.astype(np.int64) for name, codes in zip(model.columns, model.codes, strict=True)}
    rows: dict[str, Ints] = {}
    for clique, counts in zip(model.cliques, model.counts, strict=True):
        shared = tuple(name for name in clique if name in rows)
        own = tuple(name for name in clique if name not in rows)
        ordered = counts.transpose([clique.index(name) for name in (*shared, *own)])
        codes = np.repeat(np.arange(ordered.size), ordered.ravel())
        unpacked = dict(zip((*shared, *own), np.unravel_index(codes, ordered.shape), strict=True))
        if not rows:
            rows = {name: unpacked[name] for name in own}
            continue
        place = _spread_within_groups(rows, shared, [counts.shape[clique.index(name)] for name in shared])
        for name in own:
            rows[name] = np.empty_like(unpacked[name])
            rows[name][place] = unpacked[name]
    return rows


def _spread_within_groups(rows: Mapping[str, Ints], shared: Sequence[str], shape: Sequence[int]) -> Ints:
    """Positions of the rows, group by group of equal shared columns, and within a group in golden order.

    Filling a sorted column into these positions pairs it evenly with what the rows already hold: the
    multiples of the golden section leave every stretch of a group the least uneven (Weyl; Niederreiter 1992).
    """
    count = len(next(iter(rows.values())))
    group = np.ravel_multi_index([rows[name] for name in shared], shape) if shared else np.zeros(count, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    within = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    golden = within * GOLDEN_SECTION % 1
    spread: Ints = order[np.lexsort((golden, group[order]))]
    return spread
