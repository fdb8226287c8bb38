"""Divide consistent tables into parts of fewer people, so that synthetic rows are generated in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dpengine.array_types import Ints
from dpengine.estimate.consistency import ConsistentTables
from dpengine.marginals.fitting import round_to_total, round_to_totals
from dpengine.marginals.marginal import Marginal
from dpengine.synthesis.generate_rows import SyntheticRows

__all__ = ["blocks"]


def blocks(model: ConsistentTables | SyntheticRows, people: int) -> Iterator[ConsistentTables | SyntheticRows]:
    """Yield models of up to `people` people each that add up to `model`; a model that is small enough, as it is.

    Every part is consistent in itself, and holds of each cell its share of the people, rounded. A fixed function of
    its arguments.
    """
    total = int(model.table(()))
    number = -(-total // people)
    if number <= 1:
        yield model
        return
    ends = [total * k // number for k in range(number + 1)]
    sizes = [end - start for start, end in pairwise(ends)]
    yield from _divided_rows(model, sizes) if isinstance(model, SyntheticRows) else _divided_tables(model, sizes)


def _divided_rows(model: SyntheticRows, sizes: list[int]) -> Iterator[SyntheticRows]:
    left = model.weights.copy()
    for size in sizes:
        part = round_to_total(left.astype(np.float64), size)
        left -= part
        some = part > 0
        yield SyntheticRows(model.domain, model.codes[:, some], part[some])


def _divided_tables(model: ConsistentTables, sizes: list[int]) -> Iterator[ConsistentTables]:
    """Divide the tables from one to the next along their tree: what two share binds the second."""
    left = [table.values.copy() for table in model.tables]
    for size in sizes:
        done: list[Marginal[np.int64]] = []
        for table, rest in zip(model.tables, left, strict=True):
            nearest = max(done, key=lambda each: len({*each.columns} & {*table.columns}), default=_alone(size))
            shared = tuple(name for name in table.columns if name in nearest.columns)
            part = _part(Marginal(table.columns, rest), nearest.project(shared))
            rest -= part
            done.append(Marginal(table.columns, part))
        yield ConsistentTables(tuple(done))


def _alone(people: int) -> Marginal[np.int64]:
    return Marginal((), np.array(people))


def _part(rest: Marginal[np.int64], wanted: Marginal[np.int64]) -> Ints:
    """Return whole counts of about equal shares of the cells of `rest`, none above it, with the sums `wanted`."""
    shared = wanted.columns
    ordered = rest.project((*shared, *(name for name in rest.columns if name not in shared)))
    sums = wanted.values.ravel()
    counts = round_to_totals(ordered.values.reshape(sums.size, -1).astype(np.float64), sums)
    part = Marginal(ordered.columns, counts.reshape(ordered.values.shape)).project(rest.columns).values
    return np.ascontiguousarray(part)
