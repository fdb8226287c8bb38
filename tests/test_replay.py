"""Laws 1, 2, 5, 6 and 8 by record and replay: what is published depends on the rows only through what was paid for.

No statistics: with all private outputs forced, any other table must give the same draws, bytes, stages, messages and
ledger entry, and on a neighbour the outputs cost at most ε, exactly. Planted faults show that the comparison can fail.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, Question, TableError, open_table, release
from dpengine.choose import Candidates, Mechanism
from dpengine.counting import contribution_bounding
from dpengine.counting import count as counting
from dpengine.measure import adaptive, measure
from dpengine.results.result import payload_of
from tests.replay import Draw, Tape, cost, price, recorded, replayed

NAMES = ["who", "a", "b", "c", "n"]
STRATEGIES: dict[str, dict[str, Any]] = {
    "direct": {"tables": [["a", "b"], ["b", "c"]], "strategy": "direct"},
    "optimised": {"tables": [["a", "b"], ["c"], ["a"]], "strategy": "optimised"},
    "adaptive": {"tables": {"each": 2}, "strategy": "adaptive"},
    "adaptive, one table": {"tables": [["a", "b", "c"]], "strategy": "adaptive"},
    "ranges": {"tables": [{"columns": ["n"], "ranges": True}], "strategy": "adaptive"},
    "ranges beside": {"tables": [{"columns": ["a", "n"], "ranges": True}, ["a", "b"]], "strategy": "adaptive"},
    "amounts": {"tables": [{"columns": ["a"], "mean": ["n"]}, ["a", "b"]], "strategy": "direct"},
    "amounts, adaptive": {"tables": [{"columns": ["a", "b"], "sum": ["n"]}, ["b", "c"]], "strategy": "adaptive"},
}
UNITS = {"a row": {"rows": 1}, "a person of two rows": {"id": "who", "rows": 2}}


def plan_of(strategy: str, unit: str, epsilon: object) -> Plan:
    """A plan over three categories and a number with many bins, or an amount with few cells."""
    letters = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(4)]} for name in "abc"]
    amount = {"kind": "amount", "from": 0, "to": 40, "step": "0.5"}
    number = {"kind": "number", "edges": list(range(41))}
    columns = [*letters, {"name": "n"} | (amount if strategy.startswith("amounts") else number)]
    return Plan(dataset="toy", epsilon=epsilon, unit=UNITS[unit], columns=columns, **STRATEGIES[strategy])


def people(number: int) -> pd.DataFrame:
    """Rows in which columns depend on each other, two for every third person."""
    rows = [(f"p{k - k % 3 // 2}", f"a{k % 4}", f"b{k % 4 // 2}", f"c{k % 3}", str(k % 40)) for k in range(number)]
    return pd.DataFrame(rows, columns=NAMES)


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with whole numbers in place of their texts."""
    return frame.astype({"n": int})


def joined(frame: pd.DataFrame, *rows: tuple[object, ...]) -> pd.DataFrame:
    """The table with some rows more."""
    return pd.concat([frame, pd.DataFrame(list(rows), columns=NAMES)], ignore_index=True)


PERSON = [("new", "a0", "b1", "c2", "7"), ("new", "a3", "b0", "c0", "39"), ("new", "a3", "b3", "c1", "0")]
NEIGHBOURS = {
    "one usual row more": (people(60), joined(people(60), PERSON[0])),
    "a first row": (people(0), joined(people(0), PERSON[0])),
    "a value that was never declared": (people(60), joined(people(60), ("new", "unheard of", "b1", "", "many"))),
    "a value of another type": (typed(people(60)), joined(typed(people(60)), ("new", "a1", "b1", "c1", 0.5))),
}
OTHER = joined(people(7), *[("crowd", "unheard of", "b3", "", "40")] * 40)  # a table that is nowhere near the others
ALL_ALIKE = pd.DataFrame([("p", "a0", "b0", "c0", "3")] * 500, columns=NAMES)


@pytest.mark.parametrize(("neighbours", "epsilon"), [*zip(NEIGHBOURS, ["0.1", "10"] * 2, strict=True)])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.by_day(8)
def test_a_neighbouring_table_changes_only_probabilities_and_these_by_at_most_epsilon(
    strategy: str, unit: str, neighbours: str, epsilon: str
) -> None:
    plan = plan_of(strategy, unit, epsilon)
    without, with_one = NEIGHBOURS[neighbours]
    first = recorded(with_one, plan)
    second = replayed(without, plan, first)
    assert same(first, second)
    assert price(first, second) <= plan.epsilon
    assert cost(first, second) <= Fraction(epsilon) + Fraction(1, 10**9)


def same(first: Tape, second: Tape) -> bool:
    """Whether something was published, and nothing that others may see differs."""
    return bool(first.draws) and bool(first.stored) and first.shown == second.shown


@pytest.mark.parametrize("other", [OTHER, people(0), ALL_ALIKE], ids=["other people", "nobody", "all alike"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.by_day(6)
def test_even_an_entirely_different_table_changes_only_probabilities(
    strategy: str, unit: str, other: pd.DataFrame
) -> None:
    plan = plan_of(strategy, unit, "1")
    first = recorded(people(60), plan)
    assert same(first, replayed(other, plan, first))


AGE = {"name": "n", "low": 0, "high": 40}
STATISTICS: dict[str, dict[str, Any]] = {
    "count": {"kind": "count"},
    "proportion": {"kind": "proportion", "of": [{"column": {"name": "b", "kind": "category", "values": ["b0", "b1"]},
                                                 "labels": ["b1", "(other)"]}]},
    "sum": {"kind": "sum", "of": AGE | {"low": -50, "absent": -50}},
    "mean": {"kind": "mean", "of": AGE},
    "median": {"kind": "quantile", "of": AGE},
    "upper quantile": {"kind": "quantile", "of": AGE | {"step": "0.5"}, "level": "9/10"},
    "mode": {"kind": "mode", "of": {"name": "a", "kind": "category", "values": ["a0", "a1", "a2", "a3"]}},
}  # fmt: skip
WHERE = [
    {"column": {"name": "c", "kind": "category", "values": ["c0", "c1", "c2"]}, "labels": ["c0", "c2", "(missing)"]}
]


def question_of(statistic: str, unit: str, epsilon: str = "1") -> Question:
    return Question(dataset="toy", epsilon=epsilon, unit=UNITS[unit], statistic=STATISTICS[statistic], where=WHERE)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.by_day(5)
def test_an_answer_to_a_question_is_as_private(statistic: str, unit: str, neighbours: str) -> None:
    question = question_of(statistic, unit, "1/3")
    without, with_one = NEIGHBOURS[neighbours]
    first = recorded(with_one, question)
    second = replayed(without, question, first)
    assert same(first, second)
    assert price(first, second) <= question.epsilon
    if neighbours == "one usual row more":  # once for all neighbours
        assert same(first, replayed(OTHER, question, first))
        assert same(first, replayed(people(0), question, first))


@pytest.mark.parametrize("statistic", ["count", "proportion", "mean"])
def test_the_answers_for_all_groups_together_are_as_private_as_one(statistic: str) -> None:
    groups = [{"name": "a", "kind": "category", "values": ["a0", "a1", "a2"]}, {"name": "b", "kind": "yesno"}]
    question = Question(**question_of(statistic, "a row", "1/3").to_dict() | {"by": groups})
    without, with_one = NEIGHBOURS["one usual row more"]
    first = recorded(with_one, question)
    assert 0 < price(first, replayed(without, question, first)) <= question.epsilon


@pytest.mark.parametrize("value", ["40", "odd"])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.by_day(5)
def test_a_person_with_many_rows_moves_an_answer_no_more(statistic: str, value: str) -> None:
    question = question_of(statistic, "a person of two rows")
    first = recorded(joined(people(60), *PERSON, *[("new", "a0", "b1", "c0", value)] * 4), question)
    assert price(first, replayed(people(60), question, first)) <= 1


def scored(*scores: object, mechanism: Mechanism, monotone: bool) -> Candidates:
    return Candidates.of("abc", scores, "0.5", "1", mechanism, monotone)


@pytest.mark.parametrize("mechanism", list(Mechanism))
@pytest.mark.parametrize(("monotone", "there"), [(True, ("12.5", 7, "0.25")), (False, ("12.5", "6.5", "-1/4"))])
def test_a_choice_is_as_private(mechanism: Mechanism, monotone: bool, there: tuple[object, ...]) -> None:
    """The other scores are those after one person came; with `monotone`, none went down."""
    first = recorded(scored(12, 7, "0.25", mechanism=mechanism, monotone=monotone))
    second = replayed(scored(*there, mechanism=mechanism, monotone=monotone), None, first)
    assert same(first, second)
    assert price(first, second) <= 1
    assert cost(first, second) <= 1 + 1e-9


@pytest.mark.by_day(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_person_with_more_rows_than_the_unit_costs_no_more(strategy: str) -> None:
    plan = plan_of(strategy, "a person of two rows", "1")
    first = recorded(joined(people(60), *PERSON), plan)
    second = replayed(people(60), plan, first)
    assert same(first, second)
    assert price(first, second) <= 1


@pytest.mark.parametrize("strategy", ["amounts", "amounts, adaptive"])
def test_values_beyond_their_bounds_count_as_the_bounds_and_no_message_mentions_them(strategy: str) -> None:
    plan = plan_of(strategy, "a row", "1")
    tables = [
        joined(people(60), *[("new", "a0", "b1", "c2", end) for end in ends]) for ends in (("0", "40"), ("-7", "9e9"))
    ]
    first = recorded(tables[0], plan)
    second = replayed(tables[1], plan, first)
    assert same(first, second)
    assert all((one.exact == other.exact).all() for one, other in zip(first.draws, second.draws, strict=True))


@pytest.mark.parametrize("other", [people(60), OTHER], ids=["without one person", "other people"])
def test_distinct_persons_beside_rows_are_as_private(other: pd.DataFrame) -> None:
    several = {"columns": ["b", "c"], "distinct": True, "cells_per_person": 2}
    tables = [["a", "b"], {"columns": ["a"], "distinct": True}, several]
    plan = plan_of("direct", "a person of two rows", "1").model_dump(include={"dataset", "columns", "unit"})
    plan = Plan(**plan, epsilon="1", tables=tables)
    first = recorded(joined(people(60), *PERSON), plan)
    second = replayed(other, plan, first)
    assert same(first, second)
    if other is not OTHER:
        assert 0 < price(first, second) <= 1
        assert cost(first, second) <= 1 + 1e-9


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.by_day(4)
def test_messages_before_the_charge_follow_from_the_plan_alone(strategy: str) -> None:
    plan = plan_of(strategy, "a row", "1")
    tapes = [recorded(people(number), plan) for number in (0, 60, 20_000)]
    assert [tape.messages for tape in tapes] == [tapes[0].messages] * 3
    assert [tape.late_stages for tape in tapes] == [[]] * 3


# Planted faults: each breaks a law, and the comparison sees it.


def compared(plan: Plan, *rows: tuple[str, ...]) -> tuple[Tape, Tape]:
    """Record with the rows, replay without them."""
    first = recorded(joined(people(60), *rows), plan)
    return first, replayed(people(60), plan, first)


def test_law_1_and_2_an_exact_number_in_a_stored_release_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    count = counting.count

    def peeking(*arguments: Any, **options: Any) -> Any:
        counts = count(*arguments, **options)
        seen[:] = [int(counts[0].sum())]
        return counts

    def leaking(plan: Plan, measured: Any) -> tuple[str, str, bytes]:
        return payload_of(plan.model_copy(update={"notes": f"{seen} people"}), measured)

    monkeypatch.setattr(counting, "digest_and_count", lambda table, *_: (counting.digest(table), None))
    monkeypatch.setattr(counting, "count", peeking)
    monkeypatch.setattr(import_module("dpengine.release"), "payload_of", leaking)
    first, second = compared(plan_of("direct", "a row", "1"), PERSON[0])
    assert second.stored != first.stored


def warn(rows: int) -> None:
    warnings.warn(f"{rows} rows", stacklevel=1)


def write(rows: int) -> None:
    sys.stderr.write(f"{rows} rows")


def refuse(rows: int) -> None:
    if rows > 60:
        raise TableError("too many rows")


LEAKS: dict[str, Callable[[int], None]] = {
    "warning": warn,
    "log line": lambda rows: logging.getLogger("dpengine").debug("%d rows", rows),
    "text on the terminal": write,
    "error": refuse,
}


@pytest.mark.parametrize("kind", LEAKS)
def test_law_1_an_exact_number_in_a_message_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = counting.count

    def telling(*arguments: Any, **options: Any) -> Any:
        counts = count(*arguments, **options)
        LEAKS[kind](int(counts[0].sum()))
        return counts

    monkeypatch.setattr(counting, "digest_and_count", lambda table, *_: (counting.digest(table), None))
    monkeypatch.setattr(counting, "count", telling)
    plan = plan_of("direct", "a row", "1")
    first = recorded(joined(people(60), PERSON[0]), plan)
    if kind == "error":  # one ends with it, and draws less
        with pytest.raises(AssertionError, match="control flow differs"):
            replayed(people(60), plan, first)
    else:
        assert replayed(people(60), plan, first).shown != first.shown


def test_law_3_a_stage_that_follows_from_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    phases, tapes = adaptive._measure_pairs_in_phases, []
    for number in (0, 20_000):
        tape = Tape()

        def telling(run: Any, count: int, error: float, gain: float, tape: Tape = tape) -> None:
            tape.draws.append(Draw("noise", np.zeros(1), (), 0))
            tape.stage(f"pairs, 1 of {count}")
            phases(run, count, error, gain)

        with monkeypatch.context() as patch:
            patch.setattr(adaptive, "_measure_pairs_in_phases", telling)
            with open_table(people(number)) as table:
                release(table, plan_of("adaptive", "a row", "1"), progress=tape.stage)
        tapes.append(tape)
    assert tapes[0].messages == tapes[1].messages
    assert tapes[0].late_stages != tapes[1].late_stages, "planted: more pairs are looked for among more people"


def test_law_2_a_decision_by_exact_numbers_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    add_noise = measure.add_noise

    def peeking(exact: Any, allocation: Any, *more: Any) -> Any:
        narrower = exact[..., :-1] if exact.ndim and exact.sum() > 60 else exact  # one cell less in a larger table
        add_noise(narrower, allocation, *more)
        return add_noise(exact, allocation, *more)

    monkeypatch.setattr("dpengine.measure.direct_strategy.add_noise", peeking)
    with pytest.raises(AssertionError, match="control flow differs"):
        compared(plan_of("direct", "a row", "1"), PERSON[0])


def test_law_5_an_unpaid_second_measurement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    add_noise = measure.add_noise

    def twice(exact: Any, allocation: Any, *more: Any) -> Any:
        add_noise(exact, allocation, *more)
        return add_noise(exact, allocation, *more)

    monkeypatch.setattr("dpengine.measure.direct_strategy.add_noise", twice)
    assert cost(*compared(plan_of("direct", "a row", "1"), PERSON[0])) > 1.5


def test_law_6_noise_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = property(lambda self: self.sensitivity / self.epsilon / 2)
    monkeypatch.setattr("dpengine.marginals.measurement.Allocation.scale", scale)
    assert cost(*compared(plan_of("direct", "a row", "1"), PERSON[0])) > 1.5


def test_law_8_a_person_without_a_bound_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded, all_rows = contribution_bounding.bounded_rows, contribution_bounding.RowLimit(99)
    for module in [each for name, each in sys.modules.items() if name.startswith("dpengine.counting")]:
        if getattr(module, "bounded_rows", None) is bounded:
            monkeypatch.setattr(
                module, "bounded_rows", lambda coded, width, _, *more: bounded(coded, width, all_rows, *more)
            )
    plan = plan_of("direct", "a person of two rows", "1")
    assert cost(*compared(plan, *PERSON)) > 1.2
