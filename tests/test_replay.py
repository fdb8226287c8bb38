"""Laws 1, 2, 5, 6 and 8 by record and replay: a release depends on the rows only through what was paid for.

No statistics: with all private outputs forced, a neighbour of the table must give the same draws and the same bytes,
and the exact cost of the outputs is at most ε. Planted faults show that the comparison can fail.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from importlib import import_module
from typing import Any

import pandas as pd
import pytest

from dpengine import Plan
from dpengine.counting import contribution_bounding
from dpengine.counting import count as counting
from dpengine.measure import measure
from dpengine.results.result import Result, conclude
from tests.replay import Tape, cost, recorded, replayed

NAMES = ["who", "a", "b", "c", "n"]
STRATEGIES: dict[str, dict[str, Any]] = {
    "direct": {"tables": [["a", "b"], ["b", "c"]], "strategy": "direct"},
    "optimised": {"tables": [["a", "b"], ["c"], ["a"]], "strategy": "optimised"},
    "adaptive": {"tables": {"each": 2}, "strategy": "adaptive"},
    "adaptive, one table": {"tables": [["a", "b", "c"]], "strategy": "adaptive"},
    "ranges": {"tables": [{"columns": ["n"], "ranges": True}], "strategy": "adaptive"},
}
UNITS = {"a row": {"rows": 1}, "a person of two rows": {"id": "who", "rows": 2}}


def plan_of(strategy: str, unit: str, epsilon: object) -> Plan:
    """A plan over three categories and a number with many bins."""
    letters = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(4)]} for name in "abc"]
    columns = [*letters, {"name": "n", "kind": "number", "edges": list(range(41))}]
    return Plan(dataset="toy", epsilon=epsilon, unit=UNITS[unit], columns=columns, **STRATEGIES[strategy])


def people(number: int) -> pd.DataFrame:
    """Rows in which columns depend on each other, two for every third person."""
    rows = [(f"p{k - k % 3 // 2}", f"a{k % 4}", f"b{k % 4 // 2}", f"c{k % 3}", str(k % 40)) for k in range(number)]
    return pd.DataFrame(rows, columns=NAMES)


def joined(frame: pd.DataFrame, *rows: tuple[str, ...]) -> pd.DataFrame:
    """The table with some rows more."""
    return pd.concat([frame, pd.DataFrame(list(rows), columns=NAMES)], ignore_index=True)


PERSON = [("new", "a0", "b1", "c2", "7"), ("new", "a3", "b0", "c0", "39"), ("new", "a3", "b3", "c1", "0")]
NEIGHBOURS = {
    "one usual row more": (people(60), joined(people(60), PERSON[0])),
    "a first row": (people(0), joined(people(0), PERSON[0])),
    "a value that was never declared": (people(60), joined(people(60), ("new", "unheard of", "b1", "", "many"))),
}


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_neighbour_changes_nothing_but_the_odds_and_these_by_epsilon_at_most(
    strategy: str, unit: str, neighbours: str, epsilon: str
) -> None:
    plan = plan_of(strategy, unit, epsilon)
    without, with_one = NEIGHBOURS[neighbours]
    first = recorded(with_one, plan)
    second = replayed(without, plan, first)
    assert second.stages == first.stages
    assert second.stored == first.stored
    assert cost(first, second) <= Fraction(epsilon) + Fraction(1, 10**9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_person_with_more_rows_than_the_unit_costs_no_more(strategy: str) -> None:
    plan = plan_of(strategy, "a person of two rows", "1")
    first = recorded(joined(people(60), *PERSON), plan)
    second = replayed(people(60), plan, first)
    assert second.stored == first.stored
    assert cost(first, second) <= 1 + 1e-9


# Planted faults: each breaks a law, and the comparison sees it.


def compared(plan: Plan, *rows: tuple[str, ...]) -> tuple[Tape, Tape]:
    """Record with the rows, replay without them."""
    first = recorded(joined(people(60), *rows), plan)
    return first, replayed(people(60), plan, first)


def test_law_1_and_2_an_exact_number_in_what_is_stored_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    count = counting.count

    def peeking(*arguments: Any, **options: Any) -> Any:
        counts = count(*arguments, **options)
        seen[:] = [int(counts[0].sum())]
        return counts

    def leaking(plan: Plan, measured: Any) -> Result:
        return conclude(plan.model_copy(update={"notes": f"{seen} people"}), measured)

    monkeypatch.setattr(counting, "digest_and_count", lambda table, *_: (counting.digest(table), None))
    monkeypatch.setattr(counting, "count", peeking)
    monkeypatch.setattr(import_module("dpengine.release"), "conclude", leaking)
    first, second = compared(plan_of("direct", "a row", "1"), PERSON[0])
    assert second.stored != first.stored


def test_law_2_a_decision_by_exact_numbers_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    add_noise = measure.add_noise

    def peeking(exact: Any, allocation: Any, *more: Any) -> Any:
        narrower = exact[..., :-1] if exact.ndim and exact.sum() > 60 else exact  # one cell less in a larger table
        add_noise(narrower, allocation, *more)
        return add_noise(exact, allocation, *more)

    monkeypatch.setattr("dpengine.measure.strategy.add_noise", peeking)
    with pytest.raises(AssertionError, match="control flow differs"):
        compared(plan_of("direct", "a row", "1"), PERSON[0])


def test_law_5_a_second_look_that_nobody_pays_for_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    add_noise = measure.add_noise

    def twice(exact: Any, allocation: Any, *more: Any) -> Any:
        add_noise(exact, allocation, *more)
        return add_noise(exact, allocation, *more)

    monkeypatch.setattr("dpengine.measure.strategy.add_noise", twice)
    assert cost(*compared(plan_of("direct", "a row", "1"), PERSON[0])) > 1.5


def test_law_6_noise_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = property(lambda self: self.sensitivity / self.epsilon / 2)
    monkeypatch.setattr("dpengine.marginals.measurement.Allocation.scale", scale)
    assert cost(*compared(plan_of("direct", "a row", "1"), PERSON[0])) > 1.5


def test_law_8_a_person_without_a_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = contribution_bounding.bounded_rows
    for module in [each for name, each in sys.modules.items() if name.startswith("dpengine.counting")]:
        if getattr(module, "bounded_rows", None) is bounded:
            monkeypatch.setattr(module, "bounded_rows", lambda coded, width, _, *more: bounded(coded, width, 99, *more))
    plan = plan_of("direct", "a person of two rows", "1")
    assert cost(*compared(plan, *PERSON)) > 1.2
