"""One joint table of all columns with marginals close to fitted tables, in expected and in whole counts.

Expected counts are those of greatest entropy. They are rounded; then single people move to another value of one column
if that brings the tables closer (`estimate.moves`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.moves import Tables, move
from dpengine.marginals.fitting import rake, round_to_total
from dpengine.quasi_random import shuffled

__all__ = ["fit_joint", "round_joint"]

SWEEPS, MAX_SWEEPS = 60, 1000  # sweeps of proportional fitting: by default, and at most
SCALED = 2**28  # cells × tables × sweeps, up to which more sweeps than requested are made
POWER = 0.5  # the weight of an error in a cell of m people is (1 + m)^−POWER
PASSES = 40  # at most this many passes over the people, each of them in another cell
MAX_CELLS = 2**17  # cells whose people may move in a pass
BATCHES, MIN_BATCH, MAX_PRICES = 32, 64, 2**20  # batches of a pass; cells of a batch; its cells × values
ENOUGH = 0.02  # a pass that gains less than this part of the remaining error is the last
NOBODY = 1e-6  # nobody moves to a cell with fewer expected people than this part of a mean cell


def fit_joint(
    names: Columns,
    fitted: Mapping[Columns, Floats],
    single: Mapping[str, Floats],
    total: int,
    sweeps: int = SWEEPS,
) -> Floats:
    """Return the joint table of greatest entropy with the fitted marginals, all together off by 1 in 100,000 people.

    If these contradict each other, or convergence is slow, it is the result of `sweeps` sweeps, or more for few cells.
    """
    joint = np.ones([single[name].size for name in names])
    joint = rake(joint, [((names.index(name),), wanted) for name, wanted in single.items()], 1)
    margins = [(tuple(axis for axis, name in enumerate(names) if name in clique), fitted[clique]) for clique in fitted]
    sweeps = max(sweeps, min(MAX_SWEEPS, SCALED // (joint.size * len(margins))))
    return rake(joint, margins, sweeps - 1, tolerance=1e-5 * total)


def round_joint(joint: Floats, names: Columns, fitted: Mapping[Columns, Floats], total: int) -> Ints:
    """Return whole counts close to a joint table that add up to `total`, with marginals close to the fitted ones.

    >>> round_joint(np.array([[0.6, 0.4], [0.4, 0.6]]), ("a", "b"), {("a", "b"): np.eye(2)}, 2)
    array([[1, 0],
           [0, 1]])
    """
    counts = round_to_total(joint, total)
    axes = [[axis for axis, name in enumerate(names) if name in clique] for clique in fitted]
    tables = Tables.over(axes, joint.shape)
    for k, wanted in enumerate(fitted.values()):
        others = tuple(axis for axis in range(joint.ndim) if axis not in axes[k])
        tables.fill(k, counts.sum(axis=others) - wanted, wanted, POWER)
    possible = (joint > NOBODY * total / joint.size).ravel()
    cells = counts.reshape(-1)
    left = tables.off()
    for salt in range(PASSES):
        occupied = np.flatnonzero(cells)
        chosen = occupied[shuffled(occupied.size, salt)[:MAX_CELLS]]
        size = max(MIN_BATCH, min(-(-chosen.size // BATCHES), MAX_PRICES // max(joint.shape)))
        for start in range(0, chosen.size, size):
            batch = chosen[start : start + size]
            places = np.array(np.unravel_index(batch, joint.shape))
            move(places, joint.shape, tables, possible)
            np.subtract.at(cells, batch, 1)
            np.add.at(cells, np.ravel_multi_index(tuple(places), joint.shape), 1)
        before, left = left, tables.off()
        if left >= (1 - ENOUGH * chosen.size / max(1, occupied.size)) * before:
            break
    return counts
