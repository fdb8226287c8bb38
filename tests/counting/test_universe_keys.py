"""Keys of a universe are counted as if each were declared, in every engine, with at most k rows of a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpengine import Category, Plan, open_table
from dpengine.counting.count import count, count_keys
from dpengine.spec.categories.universe import Universe
from tests import ibis_tables

pytestmark = ibis_tables.TOLERATED

KEY = b"any key"
UNIVERSES = {
    "codes": {"pattern": ["@#", "@#.#"]},
    "letters": {"letters": "abé", "longest": 2},
    "digits": {"letters": "0-9", "longest": 2},
    "whole": {"from": -12, "to": 40},
}
TEXTS = [
    None, "", " ", "?", " ?", "A0", "A0", " A0 ", "A0.5", "a0", "A0.", "A00", "Z9.9\n", "a", "ab", "ba ", "é",
    "e\u0301", "aé", "abb", "b\u00a0", "7", "7.0", "7.00", " 7", "07", "+7", "-7", "-7.0", "-0", "0", "0.0", "40", "41",
    "-12", "-13", "1e1", "9" * 30, "12", "12,0", "nan", "True", "'; DROP TABLE x; --", "back\\slash",
]  # fmt: skip
TYPED = [
    ("whole", pa.array([None, 7, 7, -12, 41, 0], pa.int16())),
    ("whole", pa.array([None, 7.0, 7.5, float("nan"), -0.0, 1e300, -12.0], pa.float64())),
    ("digits", pa.array([None, 7.0, 7.5, 42.0, 100.0], pa.float32())),
    ("whole", pa.array([None, Decimal("7.00"), Decimal("7.50"), Decimal("-3.00")], pa.decimal128(9, 2))),
    ("letters", pa.array([True, False, None], pa.bool_())),
    ("digits", pa.array([7, 42, 123, None, -7], pa.int64())),
]


def plan_and_universe(rule: dict[str, Any], **more: Any) -> tuple[Plan, Universe]:
    column = Category(name="x", values="found", among=rule, missing_as=["?", "12"])
    assert column.among is not None
    return Plan(dataset="d", epsilon=1, columns=[column], tables=[["x"]], **more), column.among


def keys_in(table: Any, plan: Plan, universe: Universe) -> dict[str, int]:
    with open_table(table) as opened:
        places, counts = count_keys(opened, plan, "x", truncation_key=KEY)
    assert (np.diff(places) > 0).all()
    assert (counts > 0).all()
    return {universe.key(int(place)): int(rows) for place, rows in zip(places, counts, strict=True)}


def declared(table: Any, universe: Universe) -> dict[str, int]:
    """The keys that are counted where every key of the universe is declared."""
    every = [universe.key(place) for place in range(universe.keys)]
    column = Category(name="x", values=every, missing_as=["?", "12"])
    plan = Plan(dataset="d", epsilon=1, columns=[column], tables=[["x"]])
    with open_table(table) as opened:
        (counts,) = count(opened, plan, [("x",)], truncation_key=KEY)
    return {key: int(rows) for key, rows in zip(every, counts, strict=False) if rows}


@pytest.mark.parametrize("name", UNIVERSES)
def test_texts_are_counted_like_declared_values(name: str) -> None:
    plan, universe = plan_and_universe(UNIVERSES[name])
    table = pd.DataFrame({"x": TEXTS * 2}, dtype=object)
    assert keys_in(table, plan, universe) == declared(table, universe) != {}


@pytest.mark.parametrize(("name", "values"), TYPED)
def test_values_of_every_type_are_counted_like_declared_values(name: str, values: pa.Array) -> None:
    plan, universe = plan_and_universe(UNIVERSES[name])
    table = pa.table({"x": values})
    assert keys_in(table, plan, universe) == declared(table, universe)


def test_objects_of_mixed_types_are_counted_like_declared_values() -> None:
    plan, universe = plan_and_universe(UNIVERSES["whole"])
    table = pd.DataFrame({"x": [7, "7", 7.0, "x", None, True, Decimal("7")]}, dtype=object)
    assert keys_in(table, plan, universe) == declared(table, universe) == {"7": 4}


def both(values: pa.Array, name: str, into: Callable[[pa.Table], Any]) -> None:
    plan, universe = plan_and_universe(UNIVERSES[name])
    table = pa.table({"x": values})
    assert keys_in(into(table), plan, universe) == keys_in(table, plan, universe)


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", UNIVERSES)
def test_texts_in_another_engine_are_counted_like_declared_values(
    name: str, in_engine: Callable[[pa.Table], Any]
) -> None:
    texts = [text for text in TEXTS if text != "e\u0301"]  # not every engine composes letters
    both(pa.array(texts, pa.string()), name, in_engine)


@pytest.mark.by_day(4)
@pytest.mark.parametrize(("name", "values"), TYPED)
def test_typed_values_in_another_engine_are_counted_like_declared_values(
    name: str, values: pa.Array, in_engine: Callable[[pa.Table], Any]
) -> None:
    both(values, name, in_engine)


def people(rows: list[tuple[str | None, str]]) -> pa.Table:
    return pa.table({"who": [who for who, _ in rows], "x": [key for _, key in rows]})


def test_a_person_counts_with_at_most_k_rows_whatever_the_other_rows() -> None:
    """With and without a person of many rows: the counts differ by `rows` in all, and other people's rows stay."""
    plan, universe = plan_and_universe(UNIVERSES["whole"], unit={"id": "who", "rows": 3})
    rng = np.random.default_rng(5)
    others: list[tuple[str | None, str]] = [(f"p{rng.integers(40)}", str(rng.integers(30))) for _ in range(300)]
    others += [(None, "5"), ("p1", "other")]
    person: list[tuple[str | None, str]] = [("much", str(key)) for key in range(20)] + [("much", "4")] * 30
    without = Counter(keys_in(people(others), plan, universe))
    with_them = Counter(keys_in(people(others + person), plan, universe))
    more = with_them - without
    assert sum(more.values()) == 3
    assert not without - with_them
    kept = sum(
        min(3, sum(who == each and key.isdigit() for who, key in others)) for each in {w for w, _ in others if w}
    )
    assert sum(without.values()) == kept


def test_an_engine_keeps_the_same_rows_of_a_person(in_engine: Callable[[pa.Table], Any]) -> None:
    plan, universe = plan_and_universe(UNIVERSES["letters"], unit={"id": "who", "rows": 2})
    rows: list[tuple[str | None, str]] = [(f"p{k % 7}", "abé"[k % 3]) for k in range(60)]
    table = people(rows)
    assert keys_in(in_engine(table), plan, universe) == keys_in(table, plan, universe)
