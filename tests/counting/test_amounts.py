"""Amounts are counted in units of a row, exactly and everywhere the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.array_types import Columns, Ints
from dpengine.counting.count import count
from dpengine.sources.open import open_table
from dpengine.spec.domain import Amount
from dpengine.spec.plan import Plan
from tests import ibis_tables

pytestmark = ibis_tables.TOLERATED

PAY = Amount(name="pay", low="-10", high="50", step="0.5", missing_as=["-9", "none"])
HOURS = Amount(name="hours", low="0", high="40", knots=["0", "10", "16", "40"], missing=False)
AGE = Amount(name="age", low="-5", high="5", step="0.5")  # with its squares in a plan for slopes
NUMBERS = [
    -math.inf,
    -99.0,
    -10.25,
    -10.0,
    -9.0,
    -0.25,
    0.0,
    0.1,
    0.24999,
    0.25,
    0.75,
    15.999,
    16.0,
    49.75,
    1e300,
    math.inf,
]
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "float": (pa.float64(), [None, math.nan, *NUMBERS]),
    "float32": (pa.float32(), [None, 0.1, 0.25, 0.75, 16.3, -9.0]),
    "whole": (pa.int64(), [None, -(2**62), -9, 0, 7, 39, 40, 41, 2**62]),
    "decimal": (pa.decimal128(9, 2), [None, *map(Decimal, ("-9.00", "0.24", "0.25", "16.00", "49.75"))]),
    "boolean": (pa.bool_(), [None, True, False]),
    "text": (
        pa.string(),
        [None, "", " 7 ", "-9", "none", "nan", "inf", "1e1", "0.25", "1,5", "x", *map(str, NUMBERS[1:-1])],
    ),
}


def plan_of(*columns: Amount, slope: Any = (), **more: Any) -> Plan:
    measured = {"columns": ["sex"], "mean": [each.name for each in columns], "slope": list(slope)}
    sex = {"name": "sex", "kind": "category", "values": ["f", "m"], "missing": False}
    return Plan(dataset="d", epsilon="1", columns=[sex, *columns], tables=[measured], **more)


def with_slope() -> Plan:
    return plan_of(AGE, PAY, slope=[{"of": "pay", "on": "age"}])


def counted(source: Any, plan: Plan, tables: Sequence[Columns] | None = None) -> dict[Columns, Ints]:
    wanted = tables or plan.estimated_tables
    with open_table(source) as table:
        return dict(zip(wanted, count(table, plan, wanted, truncation_key=b"any key"), strict=True))


def read(value: Any, amount: Amount) -> float | None:
    """Return the number that a cell holds, None if it holds none or a missing marker."""
    try:
        number = None if value is None else float(value if isinstance(value, bool) else str(value).strip())
    except ValueError:
        return None
    return None if number == -9 and amount.missing_as else number


def units(amount: Amount, value: float | None) -> Ints:
    """Return the units of one row in each cell of an amount, by the definition."""
    cells = np.zeros(amount.size, dtype=np.int64)
    if value is None or not math.isfinite(value):
        if amount.missing:
            cells[-1] = amount.grain
        return cells
    exact = min(max(Fraction(repr(value)), Fraction(amount.low)), Fraction(amount.high))
    point = math.floor((exact - Fraction(amount.low)) / Fraction(amount.step) + Fraction(1, 2))
    at = Fraction(amount.low) + point * Fraction(amount.step)
    if amount.degree == 2:  # t² and what is left of it: (1 − t)², 2t(1 − t), t²
        t, m = point, (amount.high - amount.low) / amount.step
        cells[:3] = int((m - t) ** 2), int(2 * t * (m - t)), t**2
        return cells
    knots = [Fraction(text) for text in amount.declared]
    lower = max(k for k in range(len(knots) - 1) if knots[k] <= at)
    part = (at - knots[lower]) / (knots[lower + 1] - knots[lower]) * amount.grain
    assert part.denominator == 1
    cells[[lower, lower + 1]] = amount.grain - int(part), int(part)
    return cells


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("amount", [PAY, HOURS, AGE], ids=["two ends", "knots", "squares"])
@pytest.mark.by_day(2)
def test_each_row_is_shared_between_its_knots(amount: Amount, kind: str) -> None:
    type, values = TYPES[kind]
    plan = plan_of(amount) if amount is not AGE else with_slope()
    for value in values:
        cells = pa.array([value], type)
        table = pa.table({"sex": ["f"], "pay": cells} | {amount.name: cells})
        counts = counted(table, plan, [("sex", amount.name)])["sex", amount.name]
        number = read(value, amount)
        assert counts[0].tolist() == units(plan.amount(amount.name), number).tolist(), value


@pytest.mark.by_day(2)
@pytest.mark.parametrize("kind", TYPES)
def test_the_weights_of_two_amounts_multiply(kind: str) -> None:
    """Also where one is shared in three: a row has as many units as it has in either amount, multiplied."""
    type, values = TYPES[kind]
    plan = with_slope()
    for one, other in zip(values, [*values[3:], *values[:3]], strict=True):
        table = pa.table({"sex": ["f"], "age": pa.array([one], type), "pay": pa.array([other], type)})
        counts = counted(table, plan)["sex", "age", "pay"][0]
        of_age, of_pay = (units(plan.amount(name), read(value, plan.amount(name)))
                          for name, value in (("age", one), ("pay", other)))  # fmt: skip
        assert np.array_equal(counts, np.multiply.outer(of_age, of_pay))


@pytest.mark.parametrize("kind", TYPES)
def test_other_engines_count_the_same(in_engine: Callable[[pa.Table], Any], kind: str) -> None:
    type, values = TYPES[kind]
    table = pa.table({
        "sex": ["f", "m"] * len(values), "pay": pa.array(values * 2, type), "hours": pa.array(values[::-1] * 2, type),
    })  # fmt: skip
    plan = plan_of(PAY, HOURS)
    tables: list[Columns] = [*plan.estimated_tables, ("sex",), ("pay",), ("hours", "pay"), ("sex", "pay", "hours")]
    here, there = counted(table, plan, tables), counted(in_engine(table), plan, tables)
    assert all(np.array_equal(here[each], there[each]) for each in tables)
    table, plan = table.append_column("age", pa.array(values[::-1] * 2, type)), with_slope()
    tables = [*plan.estimated_tables, ("age",)]
    here, there = counted(table, plan, tables), counted(in_engine(table), plan, tables)
    assert all(np.array_equal(here[each], there[each]) for each in tables)


@given(st.lists(st.tuples(st.sampled_from("fmx"), st.none() | st.integers(-20, 60), st.integers(-5, 50)), max_size=40))
def test_every_table_is_a_sum_of_larger_ones(rows: list[tuple[str, int | None, int]]) -> None:
    sex, pay, hours = (pa.array(each) for each in (zip(*rows, strict=True) if rows else ([], [], [])))
    table = pa.table({"sex": sex.cast(pa.string()), "pay": pay.cast(pa.int64()), "hours": hours.cast(pa.int64())})
    tables: list[Columns] = [("sex", "pay", "hours"), ("sex", "pay"), ("pay",), ("hours",), ("sex",)]
    counts = counted(table, plan_of(PAY, HOURS), tables)
    assert counts["sex", "pay", "hours"].sum() == len(rows) * PAY.grain * HOURS.grain
    assert np.array_equal(counts["sex", "pay", "hours"].sum(axis=2), counts["sex", "pay"] * HOURS.grain)
    assert np.array_equal(counts["sex", "pay", "hours"].sum(axis=(0, 1)), counts["hours",] * PAY.grain)
    assert np.array_equal(counts["sex", "pay"].sum(axis=1), counts["sex",] * PAY.grain)


@given(
    rows=st.lists(st.tuples(st.sampled_from("fm"), st.integers(-20, 60)), max_size=12),
    one=st.tuples(st.sampled_from("fm"), st.none() | st.floats()),
)
def test_one_more_row_moves_a_table_by_exactly_one_row(rows: list[Any], one: tuple[str, float | None]) -> None:
    def of(held: list[Any]) -> Ints:
        sexes, pays = [sex for sex, _ in held], pa.array([pay for _, pay in held], pa.float64())
        return counted(pa.table({"sex": pa.array(sexes, pa.string()), "pay": pays}), plan_of(PAY))["sex", "pay"]

    moved = of([*rows, one]) - of(rows)
    assert moved.min() >= 0
    assert moved.sum() == PAY.grain


@pytest.mark.nightly
def test_a_person_keeps_the_same_rows_here_and_elsewhere(in_any_engine: Callable[[pa.Table], Any]) -> None:
    people = [f"p{k % 3}" for k in range(24)]
    table = pa.table({"id": people, "sex": ["f"] * 24, "pay": [float(k) for k in range(24)]})
    plan = plan_of(PAY, unit={"id": "id", "rows": 2})
    here, there = counted(table, plan), counted(in_any_engine(table), plan)
    assert here["sex", "pay"].sum() == 6 * PAY.grain
    assert np.array_equal(here["sex", "pay"], there["sex", "pay"])
