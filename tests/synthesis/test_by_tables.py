"""Rows that follow some tables, and not all pairs of columns or all sets of three."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.array_types import Columns, Ints
from dpengine.marginals.fitting import round_to_total
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis import by_tables as module
from dpengine.synthesis.by_tables import by_tables, followed
from dpengine.synthesis.generate_rows import SyntheticRows, realise

NAMES, SIZES = ("a", "b", "c", "d", "e"), (6, 5, 6, 4, 3)
RING = (("a", "b", "c"), ("b", "c", "d"), ("a", "d"), ("d", "e"))


def people(rows: int) -> Ints:
    """Columns that depend on each other, also on several at once."""
    rng = np.random.default_rng(7)
    a, b, d = rng.binomial(5, 0.4, rows), rng.binomial(4, 0.5, rows), rng.binomial(3, 0.3, rows)
    c = (a + b + (rng.random(rows) < 0.1)) % 6
    return np.stack([a, b, c, d, (a + d + rng.integers(0, 2, rows)) % 3])


def counts(codes: Ints, table: Columns, sizes: Sequence[int] = SIZES) -> Ints:
    axes = [NAMES.index(name) for name in table]
    shape = tuple(sizes[axis] for axis in axes)
    cells = np.ravel_multi_index(tuple(codes[axes]), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def measured(codes: Ints, tables: Sequence[Columns], sizes: Sequence[int] = SIZES) -> Pairwise:
    """Return these tables as if they were measured without noise; of other pairs, independence."""
    names, total = NAMES[: len(sizes)], float(codes.shape[1])
    one = {name: counts(codes, (name,), sizes).astype(float) for name in names}
    two = {
        pair: counts(codes, pair, sizes).astype(float)
        if any({*pair} <= {*table} for table in tables)
        else np.outer(one[pair[0]], one[pair[1]]) / total
        for pair in combinations(names, 2)
    }
    wide = {table: counts(codes, table, sizes) + 1e-9 for table in tables if len(table) > 2}
    return Pairwise(total, one, two, even=True, wide=wide, direct=tuple(tables))


def off(codes: Ints, made: tuple[Ints, Ints], tables: Sequence[Columns]) -> float:
    """Return the largest fraction of people in a wrong cell of a table."""
    rows = SyntheticRows(Domain(NAMES, SIZES), *made)
    return max(float(np.abs(rows.table(table) - counts(codes, table)).sum()) for table in tables) / codes.shape[1]


@pytest.mark.parametrize("shared", [False, True])
def test_rows_are_near_all_measured_tables(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are up to 0.001 of the people, 0.003 if fifteen share a row."""
    if shared:
        monkeypatch.setattr(module, "MAX_PLACES", 2_000 * len(NAMES))
    codes = people(30_000)
    made = by_tables(measured(codes, RING), 30_000, RING)
    assert made[1].sum() == 30_000
    assert off(codes, made, RING) < 0.01


def test_rows_are_moved_as_columns_are_added_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either alone brings them near; without, 0.04 of the people are in a wrong cell."""
    codes, model = people(30_000), measured(people(30_000), RING)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_move_worst", lambda *given: None)
        assert off(codes, by_tables(model, 30_000, RING), RING) < 0.01
        patched.setattr(module, "_move_new", lambda *given: None)
        assert off(codes, by_tables(model, 30_000, RING), RING) > 0.03
    monkeypatch.setattr(module, "_move_new", lambda *given: None)
    assert off(codes, by_tables(model, 30_000, RING), RING) < 0.01


def test_people_who_share_rows_leave_them_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PLACES", 500 * len(NAMES))
    codes, model = people(30_000), measured(people(30_000), RING)
    left = off(codes, by_tables(model, 30_000, RING), RING)
    monkeypatch.setattr(module, "ROUNDS", 0)
    assert left < 0.5 * off(codes, by_tables(model, 30_000, RING), RING)


def test_pairs_that_were_not_measured_are_not_followed() -> None:
    """A model says of them that they are independent, which contradicts what was measured: each column is the next."""
    codes, ring = np.stack([np.arange(6_000) % 3] * 5), (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e"))
    model = measured(codes, ring)
    assert followed(model, ring) == sorted([*ring, *((name,) for name in NAMES)])
    assert off(codes, by_tables(model, 6_000, followed(model, ring)), ring) == 0
    assert off(codes, by_tables(model, 6_000, [*combinations(NAMES, 2)]), ring) > 0.1


def test_rows_of_a_model_follow_all_its_pairs_and_the_published_tables() -> None:
    model = replace(measured(people(100), [*combinations(NAMES, 2)]), direct=(), wide={}, even=False)
    near = followed(model, [("a", "b", "c")])
    assert {*combinations(NAMES, 2), ("a", "b", "c")} == {table for table in near if len(table) > 1}


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("wide", [2, 3])
def test_all_pairs_and_all_sets_of_three_columns_are_followed_in_other_ways(direct: bool, wide: int) -> None:
    tables = [*combinations(NAMES, wide)]
    model = replace(measured(people(100), tables), wide={})
    assert followed(model if direct else replace(model, direct=()), tables) == []


def test_sums_of_a_table_of_all_columns_stay_near_where_most_cells_hold_less_than_a_person() -> None:
    """The pairs of 400 people in 720 cells: rounded cell by cell, 0.3 of the people are in a wrong cell."""
    names, sizes = NAMES[:4], SIZES[:4]
    one = {name: np.full(size, 400 / size) for name, size in zip(names, sizes, strict=True)}
    pairs = {pair: np.outer(one[pair[0]], one[pair[1]]) / 400 for pair in combinations(names, 2)}
    jitter = np.random.default_rng(1).uniform(0.999, 1.001, sizes)
    whole = Marginal(names, jitter * 400 / jitter.sum())
    model = Pairwise(400.0, one, pairs, whole=whole)
    rounded = Marginal(names, round_to_total(whole.values, 400))
    off = [
        max(float(np.abs(made.project(pair).values - table).sum()) / 400 for pair, table in pairs.items())
        for made in (realise(model, [names]), rounded)
    ]
    assert off[0] < 0.1
    assert off[1] > 0.2


def test_rows_begin_with_a_large_table_only_where_it_is_nearly_whole() -> None:
    """300 people in 24,000 cells: as they are, or as independent columns, which leave less than a person in a cell."""
    sizes, ring = (40, 30, 20, 4), (("a", "b", "c"), ("a", "d"), ("b", "d"), ("c", "d"))
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, size, 300) for size in sizes])
    model, large = measured(codes, ring, sizes), ring[0]
    begun = module._begin(model, 300, ring)
    assert (counts(np.stack([begun[name] for name in NAMES[:4]]), large, sizes) == counts(codes, large, sizes)).all()
    alone = measured(codes, (("a", "d"),), sizes)
    begun = module._begin(alone, 300, (large, ("a", "d")))
    assert (counts(np.stack([begun[name] for name in NAMES[:4]]), ("a", "d"), sizes) == alone.table(("a", "d"))).all()


def test_rows_are_made_where_noise_left_nobody_in_one_of_the_tables() -> None:
    model = measured(people(100), RING)
    nobody = {table: np.zeros_like(cells) if table == RING[0] else cells for table, cells in model.wide.items()}
    _codes, weights = by_tables(replace(model, wide=nobody), 100, RING)
    assert weights.sum() == 100


def test_published_tables_with_other_columns_than_the_model_are_left_out() -> None:
    assert ("a", "z") not in followed(measured(people(100), RING), [("a", "z"), *RING])


@given(st.data())
@settings(max_examples=40)
def test_rows_stand_for_all_people_and_are_always_the_same(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    names = NAMES[: len(sizes)]
    some = st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True).map(lambda found: tuple(sorted(found)))
    tables = data.draw(st.lists(some, min_size=1, max_size=5, unique=True))
    rows = data.draw(st.integers(1, 300))
    codes = np.stack([np.random.default_rng(k).integers(0, size, rows) for k, size in enumerate(sizes)])
    model = measured(codes, tables, sizes)
    near = sorted({*tables, *((name,) for name in names)})
    made, weights = by_tables(model, rows, near)
    again, _ = by_tables(model, rows, near)
    assert weights.sum() == rows
    assert weights.min() >= 1
    assert (made == again).all()
    assert (made.min(axis=1) >= 0).all()
    assert (made.max(axis=1) < sizes).all()
