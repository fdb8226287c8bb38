"""Run adaptive measuring repeatedly on two neighbouring tables, and count how often the evidence is strong."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

import numpy as np

from dpengine.marginals.measurement import Measurements
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.workload import Workload

__all__ = ["hits", "leaning"]

NOBODY = np.zeros((2, 2), dtype=np.int64)
SOMEBODY = NOBODY + np.array([[0, 1], [0, 0]])
PART = 0.8  # of ε: what the evidence must exceed to be called a hit


def leaning(measured: Measurements) -> float:
    """Return the log-likelihood ratio of the noisy numbers for `SOMEBODY` against `NOBODY`.

    By the noise distribution at the scales that were used: the person is in one cell of each marginal, and their being
    there makes its noisy count up to e^share times more or less likely.
    """
    evidence = 0.0
    for one in measured.marginals:
        if not one.merged:
            others = tuple(k for k, name in enumerate("ab") if name not in one.allocation.columns)
            far, near = NOBODY.sum(axis=others), SOMEBODY.sum(axis=others)
            evidence += float((np.abs(one.values - far) - np.abs(one.values - near)).sum() / one.allocation.scale)
    return evidence


def hits(epsilon: str, runs: int) -> tuple[int, int]:
    """Return in how many runs of adaptive measuring the evidence is strong, with the person and without.

    The table is so small that the noisy total decides how ε is divided over the columns and the pair.
    """
    workers = os.cpu_count() or 1
    parts = [runs // workers + (k < runs % workers) for k in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.map(_hits, *zip(*((epsilon, part, True) for part in parts), strict=True))
        absent = pool.map(_hits, *zip(*((epsilon, part, False) for part in parts), strict=True))
        return sum(there), sum(absent)


def _hits(epsilon: str, runs: int, somebody: bool) -> int:
    counts = SOMEBODY if somebody else NOBODY
    exact = {("a",): counts.sum(axis=1), ("b",): counts.sum(axis=0), ("a", "b"): counts}
    enough = PART * float(Fraction(epsilon))
    workload = Workload({"a": 2, "b": 2}, [("a", "b")], audited=[("a", "b")])
    each = (measure_adaptively(workload, exact, Fraction(epsilon), 1) for _ in range(runs))
    return sum(leaning(measured) > enough for measured in each)
