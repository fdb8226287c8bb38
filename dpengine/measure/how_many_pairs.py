"""How many pairs of columns to measure: functions of noisy answers, of the model, and of public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpengine.measure.pair_selection import Candidate
from dpengine.measure.workload import Run

__all__ = [
    "MOSTLY_EMPTY", "STRONG", "WRONG_THROUGHOUT", "all_pairs_gain", "first_picks", "later_picks", "noise_of_all_pairs",
]  # fmt: skip

TREE_PICKS = (1.43, 0.42)  # a, b: in the first phase a·e^−b pairs are picked, at a public error e relative to the gain
NOISE_OF_A_PICK = (0.7, 6)  # in a later phase: times the noise in the cells of a pair; cells whose noise choosing adds
MOSTLY_EMPTY = 1.4  # of the rows: if pairs picked first gain more (at most 2), most of their cells are empty
STRONG = 0.5  # of the rows: where the strongest pairs gain less, others may be independent, which is asked
WORTH_ALL = 0.33  # multiple of the noise of all pairs: if the strongest pairs gain more together, all are measured
WRONG_THROUGHOUT = 1.0  # times the noise of all pairs: the mean error of independence in them from which they are, too
NOT_EMPTIED = 0.25  # of this noise is left where most cells are empty


def first_picks(run: Run, error: float, live: int) -> int:
    """Return how many of `live` pairs to pick first: a tree of most columns if the public error is small."""
    columns = len(run.workload.sizes)
    wanted: float = TREE_PICKS[0] * error ** -TREE_PICKS[1]
    return max(1, round(min(wanted, live if live < columns else 0.8 * (columns - 1), live)))


def later_picks(run: Run, pairs: Sequence[Candidate], wrong: float, budget: int) -> tuple[int, float]:
    """Return how many pairs to pick so that measuring them gains most, and the total gain, in rows.

    `wrong` is the model's mean error per pair, in rows. Errors are assumed to be exponentially distributed, and the
    worst are picked: a fraction p of the pairs has a mean error of 1 − ln p times `wrong`. After measuring, each has
    the noise of its part of `budget` instead.
    """
    cells = np.sort(np.concatenate([one.model.ravel() for one in pairs]))
    below = np.concatenate([[0.0], cells.cumsum()])
    picks = np.geomspace(1, len(pairs), 100).round()
    picks = picks[np.diff(picks, prepend=0) > 0]
    scales = picks * run.noise(budget)
    small = cells.searchsorted(scales)
    noise = NOISE_OF_A_PICK[0] * (below[small] + scales * (cells.size - small)) / len(pairs)
    noise += NOISE_OF_A_PICK[1] * scales
    gains = picks * ((1 - np.log(picks / len(pairs))) * max(wrong, 0.0) - noise)
    best = int(gains.argmax())
    return int(picks[best]), float(gains[best])


def all_pairs_gain(run: Run, asked: int, gain: float, total: float) -> bool:
    """Return whether measuring all pairs at once may gain, given the `gain` of each of the strongest, in rows.

    Their number is `asked`. If they gain enough beside the noise of all pairs, the others may be worth their noise too.
    Then single columns need hardly any ε, since sums of pairs estimate them, and nothing has to be chosen. If a column
    is without some of its pairs, or some tables are more important than others, columns need a part of their own.
    """
    sizes, pairs = run.workload.sizes, run.workload.pairs
    uneven = len(pairs) < math.comb(len(sizes), 2) or {*run.workload.weights.values()} - {1}
    if uneven or math.isinf(gain):
        return False
    worth = WORTH_ALL * (NOT_EMPTIED if gain > MOSTLY_EMPTY * total else 1.0)
    return gain * min(asked, len(sizes) - 1) > worth * noise_of_all_pairs(run) * len(pairs)


def noise_of_all_pairs(run: Run) -> float:
    """Return the noise in a pair, in rows on average, if all have the remaining ε by the roots of their cells."""
    sizes, pairs = run.workload.sizes, run.workload.pairs
    roots = math.fsum(math.sqrt(sizes[a] * sizes[b]) for a, b in pairs)
    return roots**2 * run.noise(run.left) / len(pairs)
