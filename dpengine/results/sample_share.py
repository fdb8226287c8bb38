"""How large a random sample would be off as far as a release: its error in words that everybody knows.

A sample takes each row with probability x, and its counts are divided by x. A cell of n rows is then off by
E|K/x − n| on average, with K binomial. De Moivre's formula gives it exactly: with m = ⌊nx⌋ + 1,

    E|K − nx| = 2·m·C(n, m)·x^m·(1 − x)^(n − m + 1)

(Diaconis & Zabell, "Closed form summation for classical distributions", Statistical Science 6, 1991).

From the plan alone, sizes are those of the mock table. That share is within 20 % of the one from the data in nine of
ten tables tried (benchmarks/sample_share.py). It is not where noise is wider than most cells hold rows: there it
depends on how uneven the table is, which no plan says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpengine.array_types import Floats, Ints

__all__ = ["sample_error", "sample_share"]

SMALLEST = 1e-6


def sample_error(sizes: npt.ArrayLike, share: float) -> Floats:
    """Return by how much the counts of cells of these sizes are off on average, from a random sample of this share.

    >>> sample_error([0, 1, 100], 0.5).round(2)
    array([0.  , 1.  , 7.96])
    """
    n = np.asarray(sizes, dtype=np.float64)
    m = np.floor(n * share) + 1
    choices = gammaln(n + 1) - gammaln(m + 1) - gammaln(np.maximum(n - m, 0) + 1)
    logs = np.log(2 * m) + choices + m * np.log(share) + (n - m + 1) * np.log1p(-share) - np.log(share)
    off: Floats = np.where(m <= n, np.exp(logs), 0.0)
    return off


def sample_share(sizes: Ints, mean_off: float, weights: Floats | None = None) -> float | None:
    """Return the share of a random sample that is off by `mean_off` a cell, on average over cells of these true sizes.

    `weights` say how many cells have each size, if not one. Returns 1 if nothing is off, and None if even the smallest
    sample is off by less.

    >>> sizes = np.array([120, 80, 40, 0])
    >>> round(sample_share(sizes, float(sample_error(sizes, 0.1).mean())), 3)
    0.1
    """
    if mean_off <= 0:
        return 1.0
    distinct, times = (sizes, weights) if weights is not None else np.unique(sizes, return_counts=True)

    def off(share: float) -> float:
        return float(np.average(sample_error(distinct, share), weights=times))

    low, high = SMALLEST, 1 - SMALLEST
    if off(low) < mean_off:
        return None
    while high - low > 1e-4 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if off(middle) > mean_off else (low, middle)
    return float(np.sqrt(low * high))
