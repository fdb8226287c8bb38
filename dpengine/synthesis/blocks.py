"""Divide consistent tables into parts of fewer people, so that synthetic rows are generated in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.nested import NO_LEVELS, Counted, follow
from dpengine.spec.categories.resolution import Resolution
from dpengine.synthesis.generate_rows import SyntheticRows, WholeCounts

__all__ = ["blocks"]


def blocks(model: WholeCounts, people: int, resolution: Resolution = NO_LEVELS) -> Iterator[WholeCounts]:
    """Yield models of up to `people` people each that add up to `model`, or a small `model` itself.

    Every part is consistent in itself. A part of tables holds its share of each cell's people, rounded; a part of
    weighted rows holds the next rows, so that repetitions of a row stay together. A fixed function of its arguments.
    """
    total = int(model.table(()))
    number = -(-total // people)
    if number <= 1:
        yield model
        return
    ends = [total * k // number for k in range(number + 1)]
    sizes = [end - start for start, end in pairwise(ends)]
    yield from (
        _divided_rows(model, sizes) if isinstance(model, SyntheticRows) else _divided_tables(model, sizes, resolution)
    )


def _divided_rows(model: SyntheticRows, sizes: list[int]) -> Iterator[SyntheticRows]:
    ends, start = np.cumsum(model.weights), 0
    for size in sizes:
        stop = start + size
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        some = slice(first, last + 1)
        inside = np.minimum(ends[some], stop) - np.maximum(ends[some] - model.weights[some], start)
        yield SyntheticRows(model.domain, model.codes[:, some], inside)
        start = stop


def _divided_tables(model: ConsistentTables, sizes: list[int], resolution: Resolution) -> Iterator[ConsistentTables]:
    """Divide the tables along their tree: what two share constrains the second."""
    left = [table.values.copy() for table in model.tables]
    rows: Iterable[SyntheticRows | None] = [None] * len(sizes)
    if isinstance(model.rows, SyntheticRows):
        rows = _divided_rows(model.rows, sizes)
    for size, first in zip(sizes, rows, strict=True):
        done: list[Marginal[np.int64]] = []
        for table, rest in zip(model.tables, left, strict=True):
            earlier: list[Counted] = [*done] if first is None else [first, *done]
            part = follow(resolution, Marginal(table.columns, rest.astype(np.float64)), earlier, size)
            rest -= part.values
            done.append(part)
        yield ConsistentTables(tuple(done), first)
