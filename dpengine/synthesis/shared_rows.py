"""Rows with weights, so that time and memory do not grow with the number of people.

At first all rows have equal weight, and all are repaired (`synthesis.repair`). Then the rows in the cells with the
largest excess give up some of their people, who are repaired: fewer of a row each time, down to single people. After
each repair, people are moved from rows in cells with too many people to rows in cells with too few, which changes no
row. So work goes to the remaining errors, which do not grow with the number of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Ints, Reals
from dpengine.estimate.moves import greatest, kept
from dpengine.marginals.fitting import round_to_total
from dpengine.marginals.pairwise import Pairwise
from dpengine.quasi_random import shuffled
from dpengine.synthesis.repair import Codes, Effort, Falloff, excess_of, of_pairs, repair, scores

__all__ = ["loosened", "share", "swap", "unique"]

FINE = 2**15  # maximum number of rows that give up people in a round
LIGHTER = 2  # factor by which the people that a row gives up decrease from round to round
ROUNDS = 12  # maximum number of rounds in which rows give up single people
# The same if noise is known and cells are few; a round that changes less than this fraction of `FINE` rows is the last.
MORE_ROUNDS, LITTLE = 30, 0.0005
SWAPS = 4  # maximum number of passes over all rows in which people are swapped
# Parts of the remaining error: a pass that gains less is the last; if all passes gain less, there are no more swaps.
SWAP_ENOUGH, SWAPS_ENOUGH = 0.1, 0.01
SWAP_BATCHES, MAX_PLACES = 48, 2**20  # batches of a pass, unless a batch has more rows × pairs of columns
MAX_NUMBER = 2**62
# Rows of several people each are too coarse for cells of less than one: a lower knee makes others worse (1.14 times the
# error on 372,864 people at ε = 10).
FALLOFF = Falloff(0.5, 1.0)


@dataclass(frozen=True)
class _Rounds:
    """The effort spent on repairing rows.

    `passes` over all rows come first, with twice as many `batches` as later. A round takes people out of `FINE`/`fewer`
    rows. It is the last if the mean square error of a cell is below `near`, or if it gains less than the fraction
    `enough` of the remaining error.
    """

    passes: int
    batches: int
    fewer: int
    near: float
    enough: float


# If tables were measured directly, rows are closer to the truth than these tables, and every repair helps. Errors of a
# model are larger than the errors left after a few repairs.
CAREFUL = _Rounds(passes=3, batches=96, fewer=1, near=0.15, enough=0.02)
QUICK = _Rounds(passes=1, batches=12, fewer=8, near=0.4, enough=0.05)


def share(model: Pairwise, codes: Codes, people: int, starts: Ints, *, careful: bool) -> tuple[Codes, Ints]:
    """Return unique rows for `people` people, and their weights, which start evenly over the rows of `codes`.

    All weights are at least 1. Values of all columns are numbered in one sequence; those of each column begin at its
    entry of `starts`. `careful` takes longer.
    """
    effort = CAREFUL if careful or model.even else QUICK
    cell_weights = of_pairs(model, starts, FALLOFF)
    weights = round_to_total(np.ones(codes.shape[1]), people)
    excess = excess_of(model, starts, codes, weights)
    first = Effort(effort.passes, batches=2 * effort.batches)
    repair(codes, people / weights.size, excess, cell_weights, starts, first)
    excess = excess_of(model, starts, codes, weights)
    left, weight, rounds, swaps = _sum(excess, cell_weights), people // weights.size, 0, True
    while True:
        weight = max(1, weight // LIGHTER)
        codes, weights = _repaired(codes, weights, weight, excess, cell_weights, starts, effort)
        if swaps:
            swaps = swap(codes, weights, weight, excess, cell_weights, starts) or weight > 1
        before, left = left, _sum(excess, cell_weights)
        rounds += weight == 1
        near = left < effort.near * float(cell_weights.sum()) / 2
        if weight == 1 and (near or rounds == ROUNDS or left > (1 - effort.enough) * before):
            return unique(codes, weights)


def _sum(excess: Reals, cell_weights: Reals) -> float:
    """Return Σ cell_weights · excess² over the cells of all pairs of columns."""
    return float(np.einsum("ij,ij,ij", excess, excess, cell_weights)) / 2


def _repaired(
    codes: Codes, weights: Ints, weight: int, excess: Reals, cell_weights: Reals, starts: Ints, effort: _Rounds
) -> tuple[Codes, Ints]:
    """Take `weight` people out of each of the worst rows and repair them."""
    enough = np.flatnonzero(weights >= weight)
    taken = enough[
        _worst(codes[:, enough], weights[enough] // weight, excess * cell_weights, starts, FINE // effort.fewer)
    ]
    loose = codes[:, taken]
    repair(loose, weight, excess, cell_weights, starts, Effort(1, batches=effort.batches))
    changed = (loose != codes[:, taken]).any(axis=0)
    weights = weights - weight * np.bincount(taken[changed], minlength=weights.size)
    return np.hstack([codes, loose[:, changed]]), np.append(weights, np.full(np.count_nonzero(changed), weight))


def swap(codes: Codes, weights: Ints, weight: int, excess: Reals, cell_weights: Reals, starts: Ints) -> bool:
    """Move people, `weight` at a time, from rows in cells with too many people to rows in cells with too few.

    Taking people from a row gains Σ cell_weights · (excess − weight / 2) over its pairs of values, and adding people
    gains Σ cell_weights · (−excess − weight / 2). `weights` and `excess` are updated. Returns whether going on helps.
    """
    first, second = np.triu_indices(len(codes), 1)
    values = np.ascontiguousarray((codes + starts[:-1, None]).T)
    width = len(excess)
    step = cell_weights * np.float32(weight)
    prices, steps = (cell_weights * excess).reshape(-1), step.reshape(-1)
    half = scores(codes, step, starts) / 2
    size = max(1, min(-(-weights.size // SWAP_BATCHES), MAX_PLACES // first.size))
    left = before = _sum(excess, cell_weights)
    for salt in range(SWAPS):
        order, gained = shuffled(weights.size, salt), 0.0
        for start in range(0, weights.size, size):
            batch = order[start : start + size]
            own = values.take(batch, axis=0)
            cells = own.take(first, axis=1) * width + own.take(second, axis=1)
            sums, halves = prices.take(cells) @ np.ones(first.size, np.float32), half.take(batch)
            less, more = np.where(weights.take(batch) >= weight, sums - halves, 0), -sums - halves
            out, into = np.flatnonzero(less > 0), np.flatnonzero(more > 0)
            number = min(out.size, into.size) // 2
            if number == 0:
                continue
            out = out[np.argsort(-less[out], kind="stable")][:number]
            into = into[np.argsort(-more[into], kind="stable")][:number]
            _shift(prices, steps, cells[out], cells[into])
            ends = (prices.take(cells[into]) - prices.take(cells[out])).sum(axis=1)
            keep, back, gain = kept(less[out] + more[into], ends - halves[into] - halves[out])
            _shift(prices, steps, cells[out[back]], cells[into[back]], -1)
            weights[batch[out[keep]]] -= weight
            weights[batch[into[keep]]] += weight
            gained += gain * weight
        left -= gained
        if gained < SWAP_ENOUGH * left:
            break
    price = np.triu(prices.reshape(width, width))
    np.divide(price + price.T, cell_weights, out=excess, where=cell_weights > 0)
    return left < (1 - SWAPS_ENOUGH) * before


def _shift(prices: Reals, steps: Reals, here: Ints, there: Ints, sign: int = 1) -> None:
    """Move people from some cells to others, or back if `sign` is −1."""
    for cells, by in ((here.ravel(), np.float32(-sign)), (there.ravel(), np.float32(sign))):
        np.add.at(prices, cells, by * steps.take(cells))


def loosened(codes: Codes, weights: Ints, excess: Reals, cell_weights: Reals, starts: Ints) -> tuple[Codes, Ints]:
    """Repair single people of rows with larger weights: those of the worst rows, up to `FINE` in a round."""
    for _ in range(MORE_ROUNDS):
        taken = _worst(codes, weights, excess * cell_weights, starts, FINE)
        loose = codes[:, taken]
        repair(loose, 1, excess, cell_weights, starts, Effort(1))
        changed = (loose != codes[:, taken]).any(axis=0)
        if np.count_nonzero(changed) < LITTLE * FINE:
            break
        np.subtract.at(weights, taken[changed], 1)
        codes = np.hstack([codes, loose[:, changed]])
        codes, weights = unique(codes, np.append(weights, np.ones(np.count_nonzero(changed), dtype=np.int64)))
    return codes, weights


def unique(codes: Codes, weights: Ints) -> tuple[Codes, Ints]:
    """Return each row once, in order, with the sum of its weights; none of weight 0."""
    some = weights > 0
    numbers = _numbered(codes[:, some])
    order = np.flatnonzero(some)[np.argsort(numbers, kind="stable")]
    numbers.sort()
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return codes[:, order[first]], np.add.reduceat(weights[order], first)


def _numbered(codes: Codes) -> Ints:
    """Return a number for each row, in the order of rows: equal rows have the same, and a later row a greater one.

    Numbers are sorted many times as fast as rows.

    >>> _numbered(np.array([[1, 0, 1], [2, 5, 3]]))
    array([8, 5, 9])
    """
    numbers, many = np.zeros(codes.shape[1], dtype=np.int64), 1
    for column in codes:
        size = int(column.max(initial=0)) + 1
        if many * size > MAX_NUMBER:  # the next column would overflow: renumber the rows so far
            numbers = np.unique(numbers, return_inverse=True)[1]
            many = int(numbers.max(initial=0)) + 1
        numbers = numbers * size + column
        many *= size
    return numbers


def _worst(codes: Codes, weights: Ints, price: Reals, starts: Ints, number: int) -> Ints:
    """Return the `number` rows whose pairs of values have the largest excess, each up to as often as its weight.

    If there are few rows, each is returned several times.
    """
    worst = greatest(scores(codes, price, starts), min(number, codes.shape[1]))
    return np.repeat(worst, np.minimum(weights[worst], max(1, number // worst.size)))
