"""Compute the upper bound of an amount from noisy counts between its candidates, and from nothing else.

Values above the bound count as the bound. A lower one makes less noise in sums, in proportion to the width of the
range, and takes more from the values above it. Both balance where few rows are above: per unit of bound, the sum of a
group loses as much as it has rows above, and its noise grows by about √2·`rows`·t/ε if t tables share ε. With g groups,
these are √2·`rows`·t·g/ε rows above in all groups together. That number follows from the plan alone. Whatever it is, at
most one row in `MOST_ABOVE` may be above, by the noisy counts: groups that nobody is in would ask for more.

Which noisy counts are people, and which are noise? A bound one candidate too high only costs noise of a width that is
about half as large again, but most candidates lie far above all people. So candidates are added from the lowest one on:
each adds its noisy count, if that is positive, and costs a few times the scale of the noise. People end where this sum
is largest. To end d candidates too high, noise must make up for d times the cost, and the chance of that falls faster
than the width rises. Where so few people are that the sum is never above 0, candidates cost less, as `EMPTY` says; and
if it still is not, the stated end stays: a bound below nearly all people would only look exact.

Source of the balance: Amin, Kulesza, Munoz & Vassilvitskii 2019, "Bounding user contributions: a bias-variance
trade-off in differential privacy". How `EMPTY` and the usual share of ε were set is in benchmarks/found_bound.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from dpengine.spec.plan import Plan

__all__ = ["bound_place", "rows_above"]

EMPTY = Fraction(5, 2), Fraction(1), Fraction(1, 2)  # what a candidate costs, in scales of the noise
MOST_ABOVE = 20  # at most one row in this many is above the bound
ROOT_OF_TWO = Fraction(7, 5)  # about √2, and exact on every machine


def rows_above(plan: Plan, name: str) -> Fraction:
    """Return the number of rows above the bound of an amount at which clamping and noise balance.

    It is for the mean number of groups of the tables with this amount.
    """
    cells = [plan.cells(table) for table in plan.marginals if name in plan.amounts(table)]
    groups = Fraction(sum(cells), len(cells))
    return ROOT_OF_TWO * plan.unit.rows * len(plan.estimated_tables) * groups / plan.epsilon_for_tables


def bound_place(counts: Sequence[int], scale: Fraction, above: Fraction) -> int:
    """Return the place of the bound among its candidates, from the noisy counts of rows that end with each.

    `scale` is that of their noise. The bound is the lowest candidate with at most `above` rows above it; see the
    module. All is exact, so that every machine finds the same.

    >>> bound_place([90, 700, 200, 5, -3, 6], Fraction(2), Fraction(1))
    2
    >>> bound_place([90, 700, 8], Fraction(2), Fraction(9)), bound_place([0, -2, 1, 1], Fraction(2), Fraction(1))
    (1, 3)
    """
    positive = [max(count, 0) for count in counts]
    end = next((end for cost in EMPTY if (end := _end(positive, cost * scale)) is not None), None)
    if end is None:
        return len(counts) - 1
    people = sum(positive[: end + 1])
    most = min(above, Fraction(people, MOST_ABOVE))
    left = people
    for place in range(end):
        left -= positive[place]
        if left <= most:
            return place
    return end


def _end(positive: Sequence[int], cost: Fraction) -> int | None:
    """Return the last candidate with people if each adds its count less `cost`; None if no sum is above 0."""
    sums = list(accumulate(count - cost for count in positive))
    most = max(sums)
    return sums.index(most) if most > 0 else None
