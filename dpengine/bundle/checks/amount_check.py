"""Check what a release file says of amounts: by itself, between tables, and against its rows.

Rows agree with the tables exactly, as far as means are rounded. Where an amount was measured in several tables, none of
which holds the others, no rows may agree with all of them: there, only the total is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.marginal import Marginal
from dpengine.results.published_columns import decimals_of_association, decimals_of_mean, quantile_kind
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.association import limit_of, unit_of
from dpengine.spec.plan import Plan

__all__ = ["AmountCheck", "columns_and_pairs", "odd_amounts"]

SLACK = 1e-9  # relative rounding error of a 64-bit number


def odd_amounts(plan: Plan, table: Columns, count: Ints, numbers: Mapping[str, Floats]) -> list[str]:
    """Return what is wrong with the amounts of one table by itself."""
    faults = []
    for name in plan.amounts(table):
        known = numbers.get(f"known_{name}", count.astype(np.float64))
        if not ((known >= 0) & (known <= count) & (known == np.rint(known))).all():
            faults.append(f"known_{name} is not a whole number of the people counted")
        faults += [*_odd_means_and_sums(plan, name, known, numbers), *_odd_quantiles(plan, table, name, numbers)]
    return faults + _odd_associations(plan, table, numbers)


def _odd_means_and_sums(plan: Plan, name: str, people: Floats, numbers: Mapping[str, Floats]) -> Iterator[str]:
    """Yield what is wrong with the means and sums of an amount, whose value is known of `people`."""
    low, high = float(plan.amount(name).low), float(plan.amount(name).high)
    for kind, lowest, highest in (("mean", low, high), ("sum", low * people, high * people)):
        if f"{kind}_{name}" not in numbers:
            continue
        middle, lower, upper = (numbers[f"{kind}_{name}{end}"] for end in ("", "_low", "_high"))
        if not (np.isfinite(lower) & np.isfinite(upper) & (lower <= middle) & (middle <= upper)).all():
            yield f"{kind}_{name} lies outside its interval"
        slack = SLACK * np.maximum(np.abs(lowest), np.abs(highest)) + _rounding(plan, name)
        bounded = (lower, upper) if kind == "mean" else ()
        if not all(((lowest - slack <= each) & (each <= highest + slack)).all() for each in (middle, *bounded)):
            yield f"{kind}_{name} lies outside the declared bounds"
    if {f"mean_{name}", f"sum_{name}"} <= numbers.keys():
        sums, difference = numbers[f"sum_{name}"], numbers[f"mean_{name}"] * people - numbers[f"sum_{name}"]
        if (np.abs(difference) > _rounding(plan, name) * people + SLACK * np.abs(sums)).any():
            yield f"mean_{name} and sum_{name} disagree"


def _odd_associations(plan: Plan, table: Columns, numbers: Mapping[str, Floats]) -> list[str]:
    """Return what is wrong with associations of amounts: beyond their interval, or impossible."""
    faults = []
    for each in plan.associations(table):
        first, second = plan.amount(each.of), plan.amount(each.on)
        unit = unit_of(each, first, second)
        highest = unit * limit_of(each, second) * (1 + SLACK) + 10.0 ** -decimals_of_association(unit)
        middle, low, high = (numbers[f"{each.column}{end}"] for end in ("", "_low", "_high"))
        lowest = 0.0 if each.kind == "standard_deviation" else -highest
        if not ((lowest <= low) & (high <= highest)).all():
            faults.append(f"{each.column} lies outside its possible range")
        if not ((low <= middle) & (middle <= high)).all():
            faults.append(f"{each.column} lies outside its interval")
    return faults


def _odd_quantiles(plan: Plan, table: Columns, name: str, numbers: Mapping[str, Floats]) -> list[str]:
    """Return what is wrong with the quantiles of an amount: off the grid, beyond their interval, or decreasing."""
    faults = []
    amount = plan.amount(name)
    low, step = float(amount.low), float(amount.step)
    previous = np.full(plan.shape(table), low)
    for part in plan.quantiles(table, name):
        label = f"{quantile_kind(part)}_{name}"
        spans = np.stack([numbers[f"{label}{end}"] for end in ("_low", "", "_high")])
        with np.errstate(invalid="ignore", over="ignore"):
            places = np.rint((spans - low) / step)
            off_grid = np.abs(low + places * step - spans) > SLACK * (np.abs(spans) + step)
        if not np.isfinite(spans).all() or off_grid.any() or (places < 0).any() or (places > amount.grid.steps).any():
            faults.append(f"{label} is not on the declared steps")
        elif (np.diff(spans, axis=0) < 0).any():
            faults.append(f"{label} lies outside its interval")
        elif not _are_knots(amount, places.astype(np.int64)):
            faults.append(f"{label} has an interval that does not end at knots, two or more apart")
        if (spans[1] < previous).any():
            faults.append(f"{label} is below the quantile of a smaller fraction")
        previous = spans[1]
    return faults


def _are_knots(amount: Amount, places: Ints) -> bool:
    """Return whether intervals of quantiles end at knots, two or more apart or at the ends of the range.

    `places` are low end, quantile and high end on the grid. An end may also be the quantile itself, if it was moved
    there (`estimate.quantiles`).
    """
    low, middle, high = places
    knots = np.array(amount.knot_places)
    first, last = np.searchsorted(knots, low), np.searchsorted(knots, high)
    at_low, at_high = np.isin(low, knots), np.isin(high, knots)
    wide = (last - first >= 2) | (last > first) & ((first == 0) | (last == knots.size - 1))
    moved = (~at_low & (low == middle)) | (~at_high & (high == middle))
    return bool((moved | (at_low & at_high & wide)).all())


class AmountCheck:
    """A comparison of the amounts of the tables of a bundle. Add the tables one after the other.

    `measured` are the columns of each measured marginal.
    """

    def __init__(self, plan: Plan, measured: Sequence[Columns]) -> None:
        self._plan = plan
        self._first: dict[tuple[str, str, Columns], tuple[str, tuple[Floats, Floats]]] = {}
        self._in_one_table = {name for name in plan.amounts(()) if _is_in_one_table(plan, name, measured)}

    def disagreements(self, table: Columns, count: Ints, numbers: Mapping[str, Floats], file: str) -> list[str]:
        """Compare total people and sums, and those of columns and pairs of columns, with those of earlier tables."""
        faults = []
        for name in self._plan.amounts(table):
            people = numbers.get(f"known_{name}", count.astype(np.float64))
            totals = {"people": (people, 0 * people)}  # each with how far it may be off by rounding
            if f"sum_{name}" in numbers:
                totals["sums"] = numbers[f"sum_{name}"], 0 * people
            elif f"mean_{name}" in numbers:
                totals["sums"] = numbers[f"mean_{name}"] * people, _rounding(self._plan, name) * people
            for shared in columns_and_pairs(table):
                differences = [self._differs((what, name, shared), table, each, file) for what, each in totals.items()]
                if any(differences):
                    earlier = self._first["people", name, shared][0]
                    where = f"of {' × '.join(shared)}" if shared else "in all"
                    faults.append(f"{file} and {earlier} disagree on {name} {where}")
        return faults

    def _differs(
        self, key: tuple[str, str, Columns], table: Columns, rounded: tuple[Floats, Floats], file: str
    ) -> bool:
        """Return whether numbers, added up over a table, differ from those of the first table with these columns."""
        values, rounding = (Marginal(table, each).project(key[2]).values for each in rounded)
        if key not in self._first:
            self._first[key] = file, (values, rounding)
            return False
        _, (earlier, earlier_rounding) = self._first[key]
        differs = np.abs(values - earlier) > rounding + earlier_rounding + SLACK * np.abs(earlier)
        return bool(differs.any()) if key[0] == "sums" else not np.array_equal(values, earlier)

    def differs_from_rows(
        self,
        table: Columns,
        numbers: Mapping[str, Floats],
        blocks: Iterable[tuple[Ints, Mapping[str, Ints]]],
        file: str,
    ) -> list[str]:
        """Compare people whose amount is known, and its sums, with the synthetic rows.

        `blocks` give for some rows at a time their places in the flat table, and on the grid of each amount.
        """
        size = self._plan.cells(table)
        exact = [name for name in self._plan.amounts(table) if not table or name in self._in_one_table]
        people, steps = ({name: np.zeros(size, dtype=np.int64) for name in exact} for _ in range(2))
        for cells, places in blocks:
            for name in exact:
                has_value = places[name] <= self._plan.amount(name).grid.steps
                people[name] += np.bincount(cells[has_value], minlength=size)
                steps[name] += np.bincount(cells[has_value], places[name][has_value], minlength=size).astype(np.int64)
        faults = []
        for name in exact:
            amount = self._plan.amount(name)
            expected = float(amount.low) * people[name] + float(amount.step) * steps[name]
            slack = SLACK * (np.abs(expected) + float(max(abs(amount.low), abs(amount.high))))
            if f"known_{name}" in numbers and not np.array_equal(numbers[f"known_{name}"].ravel(), people[name]):
                faults.append(f"{file}: known_{name} is not what synthetic.csv gives when counted")
            rounded = slack + _rounding(self._plan, name) * people[name]
            for label, times, tolerance in ((f"sum_{name}", 1, slack), (f"mean_{name}", people[name], rounded)):
                if label in numbers and (np.abs(numbers[label].ravel() * times - expected) > tolerance).any():
                    faults.append(f"{file}: {label} is not what synthetic.csv gives")
        return faults


def columns_and_pairs(table: Columns) -> Iterator[Columns]:
    """Yield what two tables are compared by: nothing, for the total, then each column, and each pair of columns."""
    for size in range(min(len(table), 2) + 1):
        yield from combinations(sorted(table), size)


def _is_in_one_table(plan: Plan, name: str, measured: Sequence[Columns]) -> bool:
    """Return whether one table of an amount was fitted, from which all others are summed (`estimate.amounts`)."""
    tables = [tuple(each for each in columns if each in plan.counted) for columns in measured if name in columns]
    return bool(tables) and len(junction_order(maximal(tables)) or [()]) == 1


def _rounding(plan: Plan, name: str) -> float:
    """Return how far the published mean may be from the exact one."""
    return float(10.0 ** -decimals_of_mean(plan, name))
