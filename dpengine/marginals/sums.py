"""Estimate the total and single columns from all measured tables: means of their sums, weighted by precision.

Noise in different tables is independent. A sum over m cells with Laplace noise of scale b has the variance of one cell
with noise of scale b·√m; the precision of a mean is 1/scale² of one such cell, and precisions add up.

Source: inverse-variance weighting, the least squares of independent unbiased numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.noise.moments import nearby

__all__ = [
    "as_if_measured", "column_as_measured", "column_counts", "column_sums", "grand_total", "mean_total", "total_of",
]  # fmt: skip


def grand_total(measured: Sequence[Measurement]) -> tuple[float, float]:
    """Return the mean of the sums of all tables, and its precision."""
    return mean_total([total_of(one) for one in measured])


def total_of(one: Measurement) -> tuple[float, float]:
    """Return the sum of a table, and its precision."""
    return float(one.values.sum()), 1 / (one.values.size * float(one.allocation.scale) ** 2)


def mean_total(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of totals with these precisions, and its precision."""
    precision = sum(each for _, each in known)
    return sum(each * total for total, each in known) / precision, precision


def column_sums(name: str, one: Measurement) -> tuple[Floats, float]:
    """Return the sums of a table over all but one of its columns, in merged bins if it has any, and their precision."""
    axis = one.allocation.columns.index(name)
    sums = one.values.sum(axis=tuple(k for k in range(one.values.ndim) if k != axis)).astype(np.float64)
    return sums, sums.size / (one.values.size * float(one.allocation.scale) ** 2)


def column_counts(name: str, size: int, measured: Sequence[Measurement]) -> tuple[Floats, float]:
    """Return the mean of the counts of a column in all tables with all of its cells, and its precision.

    Raises KeyError if there is none.
    """
    counts, precision = np.zeros(size), 0.0
    for one in measured:
        if name in one.allocation.columns:
            sums, known = column_sums(name, one)
            if sums.size == size:
                counts += known * sums
                precision += known
    if precision == 0:
        raise KeyError(name)
    return counts / precision, precision


def column_as_measured(name: str, size: int, measured: Sequence[Measurement]) -> Measurement:
    """Return the estimate of a column from all of its tables. Raises KeyError if none has all of its cells."""
    about = [one for one in measured if name in one.allocation.columns]
    if len(about) == 1 and len(about[0].allocation.columns) == 1:
        return about[0]
    return as_if_measured((name,), *column_counts(name, size, about))


def as_if_measured(columns: Columns, counts: float | Floats, precision: float) -> Measurement:
    """Return counts of a precision, each a sum of Laplace variables about the truth, as if measured with one of them.

    Its 95 % interval is the widest of all such sums of equal variance: the fewer and more unequal, the longer the tail.
    Counts are rounded to whole rows, which adds the variance 1/12; that of a Laplace variable is 2·scale².
    """
    allocation = Allocation(columns, 1 / nearby((1 / precision + 1 / 24) ** 0.5), 1)
    return Measurement(allocation, np.rint(counts).astype(np.int64))
