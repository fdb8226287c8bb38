"""Measure privately how far a model of pairs is from the tables of a workload.

The sum of |X − M| over the cells of n tables changes by at most n·Δ for a person with Δ rows, whatever the model M,
which follows from earlier measurements. Such sums are published as an audit. They are also the scores for comparing
models that differ in tables of three and more columns.

The part of ε for the audit, and whether small and large cells have separate sums, follow from noisy totals alone. A row
changes one sum of each table either way, so all sums together change by at most n·Δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.measurement import AUDIT_EDGES, GRAIN, PARTS, PERMUTE_AND_FLIP, Audit, Choice
from dpengine.marginals.pairwise import Pairwise
from dpengine.measure.workload import Run, Workload
from dpengine.noise.laplace import perturb
from dpengine.noise.selection import permute_and_flip
from dpengine.translation.catalogue import mark

__all__ = ["blank_audit", "measure_audit", "part_for_audit", "part_for_classes", "with_classes"]

AUDIT_PART = (0.003, 0.02)  # of ε, at least and at most
AUDIT_OF_ALL = 1.0  # times the root of Δ/(rows·ε), the part of ε between these
CLEAR_BY_SIZE = 100  # times the noise of a table's sum: with more rows, small and large cells have separate sums

CLASSES_PART = PARTS // 200  # of ε, to choose whether tables of three columns and more follow latent classes
CLEARLY = 12  # noise scales of a table's sum: the margin by which classes must be closer; noise alone: 1 time in e⁶
MAX_NEARER = 0.05  # of all rows: if the margin is larger, nothing is asked


def part_for_classes(run: Run, total: float) -> Fraction | None:
    """Take the part of ε for `with_classes`; None if there are no such tables, or the answer would be too noisy."""
    wide = any(len(table) > 2 for table in run.workload.audited)
    if run.workload.whole or not wide or CLEARLY * run.noise(CLASSES_PART) > MAX_NEARER * total:
        return None
    return run.take(CLASSES_PART)


def with_classes(run: Run, model: Pairwise, epsilon: Fraction) -> Pairwise:
    """Choose whether tables of three and more columns follow latent classes; return the model with or without them.

    Pairs do not change. Latent classes fit the pairs of most tables well, but what they imply beyond pairs is often
    wrong. So they must be clearly closer to the truth than the tables of greatest entropy.
    """
    tables = [table for table in run.workload.audited if len(table) > 2]
    sensitivity = _moved(run, tables)
    handicap = int(CLEARLY * sensitivity / epsilon)
    models = model, model.with_classes()
    off = [_off_in_all(run, tables, each) for each in models]
    scores = np.array([-off[0], -off[1] - handicap])
    what = mark("whether tables of three columns and more follow latent classes")
    run.choices.append(Choice(what, PERMUTE_AND_FLIP, epsilon, sensitivity))
    return models[permute_and_flip(scores, epsilon, sensitivity)]


def part_for_audit(run: Run, total: float) -> Fraction:
    """Take the part of ε for `measure_audit`: more where few people make a sum of errors small beside its noise."""
    least, most = AUDIT_PART
    part = AUDIT_OF_ALL * math.sqrt(run.sensitivity / (float(run.epsilon) * total))
    return run.take(PARTS * min(max(part, least), most))


def measure_audit(run: Run, model: Pairwise, epsilon: Fraction) -> Audit:
    """Measure sums of |X − M| over the cells of the audited tables: by size of M, if the noise is small enough."""
    clear = model.total * float(epsilon) >= CLEAR_BY_SIZE * run.sensitivity
    tables, sizes = run.workload.audited, 3 if clear else 1
    sums = np.zeros(sizes, dtype=np.int64)
    for table in tables:
        expected = model.table(table)
        size = np.digitize(expected, AUDIT_EDGES[sizes]).ravel()
        off = _off(run, table, expected).ravel()
        for k in range(sizes):
            sums[k] += off[size == k].sum()
    sensitivity = _moved(run, tables)
    noisy = perturb(sums, sensitivity / epsilon)
    return Audit(tuple(tables), epsilon, sensitivity, GRAIN, noisy)


def blank_audit(workload: Workload, epsilon: Fraction, sensitivity: int) -> Audit:
    """Return an audit of no rows, as `measure_audit` would give it without noise."""
    tables = tuple(workload.audited)
    return Audit(tables, epsilon, GRAIN * len(tables) * sensitivity, GRAIN, np.zeros(1, dtype=np.int64))


def _off(run: Run, table: Columns, expected: Floats) -> Ints:
    """Return the absolute error of the `expected` counts of a table in each cell, in 256ths of a row."""
    return np.abs(GRAIN * run.counts[table] - np.rint(GRAIN * expected).astype(np.int64))


def _off_in_all(run: Run, tables: Sequence[Columns], model: Pairwise) -> int:
    return sum(int(_off(run, table, model.table(table)).sum()) for table in tables)


def _moved(run: Run, tables: Sequence[Columns]) -> int:
    """Return the sensitivity of sums over all cells of `tables`, in 256ths of a row: a row changes one cell of each."""
    return GRAIN * len(tables) * run.sensitivity
