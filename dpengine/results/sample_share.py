"""Express the error of a release as the size of a random sample with the same error.

A sample takes each row with probability x, and its counts are divided by x. The mean error of a cell of n rows is then
E|K/x − n|, with K binomial. De Moivre's formula gives it exactly: with m = ⌊nx⌋ + 1,

    E|K − nx| = 2·m·C(n, m)·x^m·(1 − x)^(n − m + 1)

(Diaconis & Zabell, "Closed form summation for classical distributions", Statistical Science 6, 1991).

From the plan alone, sizes are those of the mock table. That share is within 20 % of the one from the data in nine of
ten tables tried (benchmarks/sample_share.py). It is less accurate if noise is wider than the counts of most cells: then
it depends on how uneven the table is, which no plan says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpengine.array_types import Floats, Ints

__all__ = ["sample_error", "sample_share"]

SMALLEST = 1e-6


def sample_error(sizes: npt.ArrayLike, share: float) -> Floats:
    """Return the mean absolute error of counts of cells of these sizes from a random sample of this share.

    >>> sample_error([0, 1, 100], 0.5).round(2)
    array([0.  , 1.  , 7.96])
    """
    n = np.asarray(sizes, dtype=np.float64)
    m = np.floor(n * share) + 1
    choices = gammaln(n + 1) - gammaln(m + 1) - gammaln(np.maximum(n - m, 0) + 1)
    logs = np.log(2 * m) + choices + m * np.log(share) + (n - m + 1) * np.log1p(-share) - np.log(share)
    errors: Floats = np.where(m <= n, np.exp(logs), 0.0)
    return errors


def sample_share(sizes: Ints, mean_off: float, weights: Floats | None = None) -> float | None:
    """Return the share of a random sample whose mean error over cells of these true sizes is `mean_off`.

    `weights` are the numbers of cells of each size, by default one. Returns 1 for an error of 0, and None if even the
    smallest sample has a smaller error.

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
