"""Along which axis counts change faster, judged from noisy counts of neighbouring boxes.

A range that ends within a box is wrong by what changes within it. So boxes are made narrower along the axis on which
their siblings differ more. This follows from noisy counts and public structure, so it is post-processing (Dwork & Roth
2014, Proposition 2.1).
"""

from __future__ import annotations

import numpy as np

from dpengine.array_types import Floats, Ints

__all__ = ["steepness"]

# Chosen among about 15 rules on the shapes of benchmarks/ranges.py and the columns of benchmarks/range_columns.py, but
# not on the simulated mechanisms; near these values the error hardly changes.
FOLLOWED = 0.5  # power of the ratio of changes along two axes that the widths of a box follow
SLIMMEST = 3.0  # largest ratio of two axes


def steepness(values: Ints, first: Ints, last: Ints, family: Ints, variances: Floats) -> Floats:
    """Return for each box and axis how fast counts change along it, as a multiple of the geometric mean over axes.

    Boxes from `first` to before `last` have noisy counts `values` of the given `variances`; siblings have the same
    number in `family`. Their changes are averaged over the family. 1 where siblings do not lie along every axis.
    """
    _, family = np.unique(family, return_inverse=True)
    axes = range(first.shape[1])
    squares = np.stack([_squared_change(values, first, last, family, variances, axis) for axis in axes], axis=1)
    squares[~(squares > 0).all(axis=1)] = 1.0
    logs = FOLLOWED / 2 * np.log(squares)
    most = np.log(SLIMMEST) / 2
    steep: Floats = np.exp(np.clip(logs - logs.mean(axis=1, keepdims=True), -most, most))[family]
    return steep


def _squared_change(values: Ints, first: Ints, last: Ints, family: Ints, variances: Floats, axis: int) -> Floats:
    """Return for each family the mean square of the change of density from box to box, by cell along an axis.

    Beyond the noise, but with about one standard deviation of it. 0 if no two siblings lie beside each other.
    """
    others = np.delete(first, axis, axis=1)
    order = np.lexsort((first[:, axis], *others.T, family))
    beside = (others[order[1:]] == others[order[:-1]]).all(axis=1) & (family[order[1:]] == family[order[:-1]])
    one, next_ = order[:-1][beside], order[1:][beside]
    cells, middle = (last - first).prod(axis=1), (first + last)[:, axis] / 2
    density, variances = values / cells, variances / cells.astype(np.float64) ** 2
    apart, families = middle[next_] - middle[one], int(family.max()) + 1
    pairs = np.maximum(np.bincount(family[one], minlength=families), 1)
    square = np.bincount(family[one], ((density[one] - density[next_]) / apart) ** 2, minlength=families) / pairs
    noise = np.bincount(family[one], (variances[one] + variances[next_]) / apart**2, minlength=families) / pairs
    change: Floats = np.maximum(square - noise, 0) + 0.7 * noise / np.sqrt(pairs)
    return change
