"""Neighbouring tables of amounts, of levels and of distinct persons: how far one person changes all measured counts.

Noise is discrete Laplace. So the logarithm of the greatest ratio of probabilities of any outcome, with a person and
without, is Σ |x − y|₁/scale over all that is measured, if x and y are the exact counts of both tables: a fraction, not
an estimate (`costs`). Some outcome reaches it. It is computed from counts of both tables and from the scales of the
noise, and does not rely on any charge. A chosen quantile adds the most that permute-and-flip can reveal about scores
that change so far. The same counts give the evidence that one outcome provides for the person's presence (`evidence`).

Under *adaptive*, an outcome decides what is measured, and how finely; both functions refer to the outcome that was
drawn. There, `costs` takes the price of private choices, and of the sums by which a model is judged, as charged;
`evidence` leaves both out, which can only make it weaker.

The persons are those who could change most: with an amount at the ends of its range, between two steps, far outside, or
missing; with a row in an empty leaf; with more rows and cells than are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.counting.count import count
from dpengine.counting.search_counts import count_steps
from dpengine.estimate.found_cells import resolve
from dpengine.marginals.measurement import PARTS, Boxes, Measurement, Measurements, Search
from dpengine.measure.quantile_choice import Contest, contests
from dpengine.measure.search import search
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.strategy_base import Strategy
from dpengine.sources.open import open_table
from dpengine.spec.numeric.amount_steps import Stepped
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import mark

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOVES", "NEIGHBOURS", "Neighbours"]

Row: TypeAlias = tuple[str | None, ...]
KEY = b"any"  # decides which rows of a person count; no guarantee depends on it
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"], "other": False, "missing": False}
AMOUNTS = [{"name": name, "kind": "amount", "from": 0, "to": 10, "step": "0.5"} for name in ("pay", "hours")]
VALUES = ("10", "0", "3.3", "1e15", None)


@dataclass(frozen=True)
class Neighbours:
    """A table, and persons who may each join it with some rows; the first one is audited."""

    plan: Plan
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    persons: tuple[tuple[Row, ...], ...]

    def frame(self, present: bool) -> pd.DataFrame:
        """Return the table, with the first person if `present`."""
        return self._frame(self.persons[0] if present else ())

    @property
    def costs(self) -> list[Fraction]:
        """Return the exact ε that the measurements reveal about each person."""
        measured = self.measured(present=False)
        resolved_cells = self._in_found_cells(measured.searches)
        return [
            self._cost_of_searches(measured, person) + resolved_cells._cost(measured, person) for person in self.persons
        ]

    def measured(self, *, present: bool) -> Measurements:
        """Measure the table once as a release does, with the first person if `present`."""
        searches = search(self.plan, self._steps[present])
        resolved_cells = self._in_found_cells(searches)
        exact = resolved_cells.with_first if present else resolved_cells.without
        return replace(resolved_cells._strategy.measure(lambda marginals: exact), searches=searches)

    def evidence(self, measured: Measurements) -> float:
        """Return the log-likelihood ratio of an outcome with the first person to one without."""
        ratio = 0.0
        for cells, x, y in self._searched(measured, self._steps[True]):
            ratio += float(int((np.abs(cells.values - x) - np.abs(cells.values - y)).sum()) / cells.scale(PARTS))
        resolved_cells = self._in_found_cells(measured.searches)
        for noisy in measured.marginals:
            x, y = (
                resolved_cells._exact(noisy, resolved_cells.without),
                resolved_cells._exact(noisy, resolved_cells.with_first),
            )
            ratio += float(
                int((np.abs(noisy.values - x) - np.abs(noisy.values - y)).sum()) / noisy.allocation.scale_in_units
            )
        return ratio

    def _in_found_cells(self, searches: Sequence[Search]) -> Neighbours:
        """Return the same neighbours, with the cells that follow from `searches`; rows are counted once in each."""
        if not searches:
            return self
        plan = resolve(self.plan, searches)
        return self._by_found_cells.setdefault(
            tuple(plan.column(name).labels for name in plan.found_columns), replace(self, plan=plan)
        )

    @cached_property
    def _by_found_cells(self) -> dict[tuple[tuple[str, ...], ...], Neighbours]:
        """These neighbours in the cells that were found so far."""
        return {}

    @cached_property
    def _steps(self) -> dict[bool, list[Any]]:
        """The exact counts from which cells are found, without any of the persons, and with the first one."""
        return {False: self._counted_steps(()), True: self._counted_steps(self.persons[0])}

    def _counted_steps(self, person: Iterable[Row]) -> list[Any]:
        with open_table(self._frame(person)) as table:
            return list(count_steps(table, self.plan, truncation_key=KEY))

    def _searched(self, measured: Measurements, with_person: Sequence[Any]) -> Iterator[tuple[Boxes, Ints, Ints]]:
        """Yield each search for an upper bound, with its exact counts without any of the persons, and with one."""
        for boxes, x, y in zip(measured.searches, self._steps[False], with_person, strict=True):
            assert isinstance(boxes, Boxes), "upper bounds are found"
            yield boxes, x, y

    def _cost_of_searches(self, measured: Measurements, person: Iterable[Row]) -> Fraction:
        searched = self._searched(measured, self._counted_steps(person))
        return sum((int(np.abs(x - y).sum()) / boxes.scale(PARTS) for boxes, x, y in searched), Fraction(0))

    @cached_property
    def _strategy(self) -> Strategy:
        return resolved(self.plan) if self.plan.as_written != self.plan else decide(self.plan)

    @cached_property
    def _places(self) -> dict[tuple[Columns, int], int]:
        """The index of each requested table among its counts, by its columns and its tally."""
        requested = zip(self._strategy.marginals, self._strategy.tallies or repeat(0), strict=False)
        return {table: k for k, table in enumerate(requested) if not isinstance(table[0], Stepped)}

    @cached_property
    def without(self) -> list[Ints]:
        """The exact counts of all that is measured, without any of the persons."""
        return self._counts(())

    @cached_property
    def with_first(self) -> list[Ints]:
        """The exact counts of all that is measured, with the first person."""
        return self._counts(self.persons[0])

    def _cost(self, measured: Measurements, person: Iterable[Row]) -> Fraction:
        with_person = self._counts(person)
        costs = [measured.audit.epsilon] if measured.audit else []
        for noisy in measured.marginals:
            moved = np.abs(self._exact(noisy, self.without) - self._exact(noisy, with_person))
            costs.append(int(moved.sum()) / noisy.allocation.scale_in_units)
        costs += [choice.epsilon for choice in measured.choices]
        costs += [self._cost_of_choice(*each) for each in self._contests(measured, with_person)]
        return sum(costs, Fraction(0))

    def _exact(self, noisy: Measurement, counts: Sequence[Ints]) -> Ints:
        """Return the exact counts of what was measured, in the same cells, from `counts` of the requested tables."""
        place = self._places.get((noisy.allocation.columns, noisy.allocation.tally))
        # What is not requested is the total, the only sum of others that is measured.
        exact = np.asarray(counts[0].sum()) if place is None else counts[place]
        for axis, bins in enumerate(noisy.merged):
            exact = np.add.reduceat(exact, np.flatnonzero(np.diff(bins, prepend=-1)), axis)
        return exact

    def _contests(self, measured: Measurements, with_person: Sequence[Ints]) -> Iterator[tuple[Contest, Contest]]:
        """Yield each choice of a quantile, from the counts without any of the persons and from those with one."""
        tables = len(measured.marginals)
        for chosen, x, y in zip(measured.quantiles, self.without[tables:], with_person[tables:], strict=False):
            noisy = next(each for each in measured.marginals if chosen.share.amount in each.allocation.columns)
            amount = self.plan.amount(chosen.share.amount)
            yield from zip(*(contests(each, noisy, amount, chosen.share) for each in (x, y)), strict=True)

    @staticmethod
    def _cost_of_choice(without: Contest, with_person: Contest) -> Fraction:
        """Return the most that a choice can reveal: twice ε/2Δ for each unit by which a person changes a score."""
        return int(np.abs(without.scores - with_person.scores).max()) * with_person.epsilon / with_person.sensitivity

    def _counts(self, person: Iterable[Row]) -> list[Ints]:
        strategy = self._strategy
        with open_table(self._frame(person)) as table:
            return count(table, self.plan, strategy.marginals, truncation_key=KEY, tallies=strategy.tallies)

    def _frame(self, person: Iterable[Row]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([*self.rows, *person], columns=list(self.columns), dtype=object)


def _of_pay(plan: Plan, rows: tuple[Row, ...]) -> Neighbours:
    """Return neighbours by sex and pay, whose persons are men with each of `VALUES`."""
    return Neighbours(plan, ("sex", "pay"), rows, tuple((("m", value),) for value in VALUES))


def _amounts(epsilon: Fraction) -> Neighbours:
    """Build neighbours for means of one amount by group."""
    plan = _plan(epsilon, [SEX, AMOUNTS[0]], [{"columns": ["sex"], "mean": ["pay"]}])
    rows = (("f", "0"), ("f", "4.5"), ("m", "10"), ("m", None))
    return _of_pay(plan, rows)


def _quantiles(epsilon: Fraction) -> Neighbours:
    """Build neighbours for medians of an amount by group, chosen with most of ε.

    The first person is above the median of the men.
    """
    pay = {"name": "pay", "kind": "amount", "knots": [0, 2, 4, 6, 8, 10], "step": "0.5"}
    plan = _plan(epsilon, [SEX, pay], [{"columns": ["sex"], "quantiles": {"pay": [0.5]}}], rows_about=10**9)
    rows = (("f", "0"), ("f", "4.5"), *(("m", value) for value in ("1", "3", "5.5", "7", "10")), ("m", None))
    return _of_pay(plan, rows)


def _found_bound(epsilon: Fraction) -> Neighbours:
    """Build neighbours for means of an amount whose upper bound is found with half of ε, among 5, 7.5 and 10.

    The first person is the only one above 7.5, and has the largest value.
    """
    pay = {**AMOUNTS[0], "upper": {"share": "1/2"}}
    plan = _plan(epsilon, [SEX, pay], [{"columns": ["sex"], "mean": ["pay"]}])
    rows = (*(("f", "0.5") for _ in range(6)), ("m", "7"), ("m", None))
    return _of_pay(plan, rows)


def _two_amounts(epsilon: Fraction) -> Neighbours:
    """Build neighbours for the covariance of two amounts by group: a row has products of weights in four cells."""
    plan = _plan(epsilon, [SEX, *AMOUNTS], [{"columns": ["sex"], "covariance": [["pay", "hours"]]}])
    rows = (("f", "0", "2.5"), ("m", "10", "7"), ("m", None, "0.5"))
    persons = tuple((("m", *pair),) for pair in zip(VALUES, ("10", "3.3", "3.3", "0", "0.5"), strict=True))
    return Neighbours(plan, ("sex", "pay", "hours"), rows, persons)


def _adaptive_amounts(epsilon: Fraction) -> Neighbours:
    """Build neighbours for means by group, beside columns and a pair that are chosen and measured privately."""
    plan = _plan(epsilon, [SEX, {**SEX, "name": "ward", "values": ["east", "west"]}, AMOUNTS[0]],
                 [{"columns": ["sex"], "mean": ["pay"]}, ["sex", "ward"]], strategy="adaptive")  # fmt: skip
    rows = tuple((sex, ward, "4.5") for sex, ward in (("f", "east"), ("m", "west")) for _ in range(20))
    return Neighbours(plan, ("sex", "ward", "pay"), rows, tuple((("m", "east", value),) for value in VALUES))


def _levels(epsilon: Fraction) -> Neighbours:
    """Build neighbours for counts at three measured levels; without the first person, one of fifty leaves is empty."""
    states = {f"s{s}": {f"s{s}c{c}": [f"s{s}c{c}t{t}" for t in range(5)] for c in range(5)} for s in range(2)}
    place = {"name": "place", "kind": "category", "values": states, "levels": ["state", "county", "town"]}
    plan = _plan(epsilon, [place], [["place@state"], ["place@county"], ["place"]])
    towns = [town for counties in states.values() for towns in counties.values() for town in towns]
    rows = tuple((town,) for town in towns[:-1] for _ in range(3))
    return Neighbours(plan, ("place",), rows, tuple(((town,),) for town in (towns[-1], "elsewhere", None)))


def _distinct(epsilon: Fraction) -> Neighbours:
    """Build neighbours for persons in at most two cells, beside rows; no random choice among rows is needed.

    They have two rows in one cell and a third in another cell of the same ward.
    """
    table = {"columns": ["sex", "ward"], "distinct": True, "cells_per_person": 2}
    ward = {**SEX, "name": "ward", "values": ["east", "west"]}
    plan = _plan(epsilon, [SEX, ward], [table, {"columns": ["ward"], "distinct": True}, ["sex"]],
                 unit={"id": "who", "rows": 3})  # fmt: skip
    fe, fw, me, mw = product(("f", "m"), ("east", "west"))
    cells_of_person = [(fe, fe, me), (fe, fw, me), (fe, fe, fe, fw, me, mw)]
    rows = (("one", *fe), ("one", *me), ("two", *fw), ("three", *mw))
    return Neighbours(
        plan, ("who", "sex", "ward"), rows, tuple(tuple(("new", *cell) for cell in each) for each in cells_of_person)
    )


def _plan(epsilon: Fraction, columns: list[Any], tables: list[Any], *, strategy: Any = "direct", **fields: Any) -> Plan:
    return Plan(dataset="audit", epsilon=epsilon, columns=columns, tables=tables, strategy=strategy, **fields)


NEIGHBOURS: dict[str, Callable[[Fraction], Neighbours]] = {
    mark("amounts"): _amounts,
    mark("two amounts"): _two_amounts,
    mark("adaptive, amounts"): _adaptive_amounts,
    mark("upper bounds that are found"): _found_bound,
    mark("levels"): _levels,
    mark("distinct persons"): _distinct,
}
MOVES = {**NEIGHBOURS, mark("quantiles"): _quantiles}  # the neighbours of the exact checks
