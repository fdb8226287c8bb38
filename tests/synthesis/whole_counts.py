"""Whole counts of a model of which all tables of so many columns are published."""

from __future__ import annotations

from itertools import combinations

from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis.generate_rows import WholeCounts, realise


def whole_counts(model: ConsistentTables | Pairwise, widest: int) -> WholeCounts:
    return model if isinstance(model, ConsistentTables) else realise(model, [*combinations(model.one_way, widest)])
