"""Quantiles of amounts chosen privately in each cell of a table, for plans that ask for few quantiles and no means.

Part of the ε of the table with the amount measures it as before: this gives counts, intervals, and the range in which
the quantile may lie. The rest chooses the quantile in this range, among the steps of the amount, by permute-and-flip on
exact ranks. A rank from noisy counts at knots has the noise of all of them, and says nothing between knots; the choice
has the noise of one rank, and no knots. So it is better for one quantile, and worse for many, which divide its ε.

The score of a step v, for the part p of n people, is 0 if v is the quantile, else minus the distance from p·n to the
ranks that v has: max(0, #(x < v) − p·n, p·n − #(x ≤ v)). One more row, below, at or above v, changes each of the last
two by 1 − p or by −p, so it changes the score by at most max(p, 1 − p), which is the sensitivity Δ of a row; k rows of
a person change it by k·Δ. A row is in one cell of the table. So the choices of one part in all cells cost one person no
more than ε_part, whatever cells their rows are in: rows a in one cell and b in another shift the two log probabilities
by at most ε_part·a/k and ε_part·b/k. The choices of the parts of a table share its ε evenly and add up (basic
composition). The candidate steps depend only on noisy counts that are paid for, and on the plan.

Source: permute-and-flip, McKenna & Sheldon 2020; the score as for medians in Smith 2011, "Privacy-preserving
statistical estimation with optimal convergence rates", and in the libraries OpenDP and Tumult.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.marginals.division import ASSUMED_ROWS
from dpengine.marginals.measurement import Allocation, ChosenQuantiles, Measurement, QuantileShare
from dpengine.noise.selection import permute_and_flip
from dpengine.spec.domain import Amount
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.spec.numeric.amount_steps import at_steps
from dpengine.spec.plan import Plan

__all__ = ["SHARE", "Contest", "choose_quantiles", "contests", "divide_for_quantiles", "row_sensitivity", "scores"]

# Of the ε of a table with an amount, if quantiles of it are chosen. The rest serves more than counts that nobody asked
# for: it finds the range of candidates and the interval. With 4/5, quantiles are hardly nearer, and intervals wider.
SHARE = Fraction(7, 10)
# Expected people of a cell per unit of 1/ε of one quantile; with fewer, intervals widen more than a choice gains.
ENOUGH = 300
LINES = 0.1  # of an interval between knots: the typical error of linear interpolation in a quantile's rank
MARGIN = 1.25  # factor by which a choice must be expected to be better than the noisy table
TAIL = 2.2  # standard deviations that hold 95 % of sums of Laplace noise
MIN_CANDIDATES, MAX_CANDIDATES = 32, 1000  # candidates, unless there are fewer steps


def divide_for_quantiles(
    plan: Plan, divided: Sequence[Allocation]
) -> tuple[tuple[Allocation, ...], tuple[QuantileShare, ...]]:
    """Return the allocations, with less ε for tables whose quantiles are chosen, and the shares of ε for the choices.

    Nothing is chosen if means, sums or slopes of the amount are requested as well: quantiles then come with these at no
    cost. Nor if groups are expected to be too small, or if the noisy table is expected to be as good. All of this
    follows from the plan.
    """
    left: list[Allocation] = []
    shares: list[QuantileShare] = []
    for allocation in divided:
        choices = _worthwhile(plan, allocation, {(each.columns, each.amount) for each in shares})
        shares += [replace(each, epsilon=allocation.epsilon * SHARE / len(choices)) for each in choices]
        left.append(replace(allocation, epsilon=allocation.epsilon * (1 - SHARE)) if choices else allocation)
    return tuple(left), tuple(shares)


def _worthwhile(plan: Plan, allocation: Allocation, done: set[tuple[tuple[str, ...], str]]) -> list[QuantileShare]:
    """Return the quantiles within a measured table that are worth choosing, each as if it had all of its ε."""
    amounts = [name for name in allocation.columns if isinstance(plan.column(name), Amount)]
    if len(amounts) != 1 or amounts[0] in {*plan.means(()), *plan.sums(())} or plan.associations(()):
        return []
    name = amounts[0]
    choices = [
        QuantileShare(tuple(sorted(table)), name, parts, allocation.epsilon, plan.unit.rows)
        for table in plan.marginals
        if {*table, name} <= {*allocation.columns} and (parts := plan.quantiles(table, name))
    ]
    choices = [each for each in choices if (each.columns, name) not in done]
    return [each for each in choices if _is_worthwhile(plan, each, len(choices))]


def _is_worthwhile(plan: Plan, share: QuantileShare, tables: int) -> bool:
    """Return whether a choice is expected to be more accurate than the noisy table, by their noise in ranks."""
    amount, cells = plan.amount(share.amount), plan.cells(share.columns)
    people = (plan.rows_about or ASSUMED_ROWS) / cells * float(share.epsilon) / plan.unit.rows
    choice_noise = len(share.parts) * tables / float(SHARE)
    knots = len(amount.all_knots)
    of_table = math.hypot(math.sqrt(knots / 2), LINES * people / knots)
    fits = cells * (at_steps(amount).size) <= MAX_TABLE_CELLS
    return fits and people >= ENOUGH * choice_noise and MARGIN * math.sqrt(2) * choice_noise <= of_table


def scores(counts: Ints, part: Decimal) -> Ints:
    """Return the score of each bin of steps, along the last axis, in units of 1/q of a row for a part p/q.

    `counts` are people whose value is known.

    >>> scores(np.array([1, 1, 2, 0]), Decimal("0.5"))
    array([-2,  0,  0, -4])
    """
    p, q = Fraction(part).as_integer_ratio()
    up_to = counts.cumsum(axis=-1)
    people = up_to[..., -1:]
    score: Ints = -np.maximum(0, np.maximum(q * (up_to - counts) - p * people, p * people - q * up_to))
    return score


def row_sensitivity(part: Decimal) -> int:
    """Return the most by which one row changes each of `scores`, in their units."""
    p, q = Fraction(part).as_integer_ratio()
    return max(p, q - p)


@dataclass(frozen=True, slots=True)
class Contest:
    """A choice of one quantile of one cell: candidates as places on the amount's grid, and their exact scores.

    The scores are private. The rest follows from noisy counts and the plan.
    """

    cell: int
    quantile: int
    places: Ints
    scores: Ints
    epsilon: Fraction
    sensitivity: int


def contests(counts: Ints, measured: Measurement, amount: Amount, share: QuantileShare) -> Iterator[Contest]:
    """Yield the choices of all quantiles in all cells of a table, which cost the ε of `share` in total.

    `counts` are exact: one axis for each of `share.columns`, and one for the bins of the amount's steps. `measured` is
    a noisy table that holds these columns and the amount; it alone decides which steps are candidates.
    """
    stepped, guess = at_steps(amount), _Guess(measured, amount, share)
    bins, middles = stepped.declared_size, stepped.middles
    exact = counts[..., :bins].reshape(-1, bins)
    epsilon = share.epsilon / len(share.parts)
    for k, part in enumerate(share.parts):
        sensitivity, scored = share.sensitivity * row_sensitivity(part), scores(exact, part)
        per_rank = float(epsilon) / (2 * share.sensitivity * max(float(part), 1 - float(part)))
        for cell in range(len(exact)):
            among = guess.candidates(cell, float(part), middles, per_rank)
            yield Contest(cell, k, middles[among], scored[cell, among], epsilon, sensitivity)


def choose_quantiles(counts: Ints, measured: Measurement, amount: Amount, share: QuantileShare) -> ChosenQuantiles:
    """Choose the quantiles of each cell of a table with the ε of `share` in total; arguments are as in `contests`.

    They are sorted to increase with their fraction, which is post-processing.
    """
    chosen = np.empty((math.prod(counts.shape[:-1]), len(share.parts)), dtype=np.int64)
    for each in contests(counts, measured, amount, share):
        winner = permute_and_flip(each.scores, each.epsilon, each.sensitivity)
        chosen[each.cell, each.quantile] = each.places[winner]
    return ChosenQuantiles(share, np.sort(chosen, axis=1).reshape(*counts.shape[:-1], len(share.parts)))


class _Guess:
    """The range in which quantiles may lie, from noisy counts at knots alone."""

    def __init__(self, measured: Measurement, amount: Amount, share: QuantileShare) -> None:
        chosen_axes = [measured.allocation.columns.index(name) for name in (*share.columns, share.amount)]
        others = tuple(axis for axis in range(measured.values.ndim) if axis not in chosen_axes)
        noisy = measured.rows.sum(axis=others)
        noisy = np.asarray(noisy).transpose(np.argsort(np.argsort(chosen_axes)))
        knots = len(amount.all_knots)
        rows = noisy.reshape(-1, noisy.shape[-1])[:, :knots].astype(np.float64)
        summed = measured.values.size // noisy.size
        self._at = np.array(amount.knot_places)
        self._deviation = math.sqrt(2 * summed) * float(measured.allocation.scale)  # of the count at a knot
        self._running = rows.cumsum(axis=1)
        self._heights = self._parts_up_to()

    def _parts_up_to(self) -> Floats:
        """Return the fraction of each cell's people up to each interval's middle, shrunk towards that of everybody.

        It adds pseudo-counts, distributed like all people, in the size of the uncertainty of the number of people.
        """
        knots = self._running.shape[1]
        everybody = np.maximum(np.diff(self._running.sum(axis=0), prepend=0.0), 1e-9).cumsum()
        imagined = self._deviation * math.sqrt(knots) + 1e-9
        people = np.maximum(self._running[:, -1:], 0.0)
        rising = (self._running + imagined * everybody / everybody[-1]) / (people + imagined)
        rising = (np.maximum.accumulate(rising, axis=1) + np.minimum.accumulate(rising[:, ::-1], axis=1)[:, ::-1]) / 2
        fractions: Floats = np.clip(rising[:, :-1], 0.0, 1.0)
        return fractions

    def candidates(self, cell: int, part: float, middles: Ints, per_rank: float) -> Ints:
        """Return bins of steps within the interval of a quantile, about evenly spaced in expected people.

        `per_rank` is the weight of a rank difference of one person in the choice. Permute-and-flip does best among
        candidates that are about as far apart as its noise.
        """
        low, high = self._interval(cell, part)
        bins = np.flatnonzero((middles >= low) & (middles <= high))
        if bins.size == 0:
            bins = np.array([np.abs(middles - low).argmin(), np.abs(middles - high).argmin()])
        at = np.concatenate([self._at[:1], (self._at[:-1] + self._at[1:]) / 2, self._at[-1:]])
        heights = np.interp(middles[bins], at, np.concatenate([[0.0], self._heights[cell], [1.0]]))
        span = max(heights[-1] - heights[0], 1e-9)
        most = max(self._running[cell, -1], 0.0) + 2 * self._deviation * math.sqrt(self._running.shape[1])
        wanted = min(max(math.ceil(most * span * per_rank), MIN_CANDIDATES), MAX_CANDIDATES)
        _, first = np.unique(np.floor((heights - heights[0]) / span * wanted), return_index=True)
        return np.union1d(bins[first], bins[[0, -1]])

    def _interval(self, cell: int, part: float) -> tuple[int, int]:
        """Return the knots between which a quantile is, for 95 % of noise (see `estimate.quantiles`)."""
        running, last = self._running[cell], self._at.size - 1
        before = np.arange(1, last + 1)
        width = TAIL * self._deviation * np.sqrt((1 - part) ** 2 * before + part**2 * (last + 1 - before))
        excess = running[:-1] - part * running[-1]
        fits = np.append(excess >= -width, True) & np.append(True, excess <= width)
        fits |= not fits.any()
        first = max(int(fits.argmax()) - 1, 0)
        return int(self._at[first]), int(self._at[min(last - int(fits[::-1].argmax()) + 1, last)])
