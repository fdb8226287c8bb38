"""What is declared in Python shows itself briefly, and its errors name what Python calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpengine import Amount, Category, Condition, Count, Date, Mean, Number, Plan, PlanError, Question, Unit, YesNo
from dpengine.spec.numeric.grid import Grid

SMOKES = YesNo(name="smokes")


def test_a_declared_value_shows_what_differs_from_the_defaults_as_a_person_writes_it() -> None:
    plan = Plan(dataset="d", epsilon="1/3", columns=[Number(name="age", edges=["0", "0.5", "1"])], tables=[["age"]])
    shown = "Plan(dataset='d', epsilon='1/3', columns=(Number(name='age', edges=(0, '0.5', 1)),), tables=(('age',),))"
    assert repr(plan) == str(plan) == shown
    assert str(Unit()) == "Unit()"
    assert repr(Date(name="day", first="2026-01-01", last="2026-01-31", by="day")) == (
        "Date(name='day', first='2026-01-01', last='2026-01-31', by='day')"
    )
    bins = Number(name="age", edges={"from": 0, "to": 1, "bins": 3})
    assert repr(bins) == "Number(name='age', edges={'from': '0', 'to': '1', 'bins': 3})"
    assert repr(Number(name="age", edges=[0, 5, 10], levels={"all": 10})).endswith("levels={'all': 10})")


@pytest.mark.parametrize(
    "make",
    [
        lambda one: Plan(dataset="d", epsilon=1, columns=one, tables=[["smokes"]]),
        lambda one: Question(dataset="d", epsilon=1, statistic=Count(), by=one),
        lambda one: Question(dataset="d", epsilon=1, statistic=Count(), where=Condition(column=one, labels=["yes"])),  # type: ignore[arg-type]
    ],
)
def test_one_value_in_place_of_a_list_is_one_fault(make: Callable[[Any], object]) -> None:
    with pytest.raises(PlanError, match="this must be a list, such as") as caught:
        make(SMOKES)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Date(name="day", start="2026-01-01", last="2026-01-31", by="day"),  # type: ignore[call-arg]
         "first: this is needed and is not given\nstart: this key is not known here; there are name, label"),
        (lambda: Amount(name="pay", upper="found"), "low: this is needed"),  # type: ignore[call-arg]
        (lambda: Amount(name="pay", **{"from": 0}), "to: this is needed"),  # type: ignore[arg-type]
        (lambda: Category(name="sex", categories=["f"]), "categories: this key is not known here; .* values, words"),  # type: ignore[call-arg]
        (lambda: Mean(of=Grid(name="pay", low=0, hihg=9, step=1)), "hihg: this key .* did you mean 'high'"),  # type: ignore[call-arg]
        (lambda: YesNo(name=0), "this must be a text; a number is written in quotes, such as '0'"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_faults_name_what_the_caller_may_write(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PlanError, match=f"(?s){message}"):
        make()


def test_a_notebook_completes_to_what_is_ours_and_not_to_what_pydantic_adds() -> None:
    plan = Plan(dataset="d", epsilon=1, columns=[SMOKES], tables=[["smokes"]])
    assert {"epsilon", "marginals", "save", "model_copy"} <= {*dir(plan)}
    assert not {"dict", "json", "copy", "model_dump", "model_fields", "parse_raw"} & {*dir(plan), *dir(SMOKES)}
