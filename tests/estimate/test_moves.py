"""Moves of single people between the cells of many tables: updated prices are those of a fresh count."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.array_types import Floats, Ints
from dpengine.estimate.moves import Tables, copy_people, move, move_along, move_in_batches

POWER = 0.7


def filled(places: Ints, shape: list[int], wanted: dict[tuple[int, ...], Floats]) -> Tables:
    tables = Tables.over([*wanted], shape)
    for k, (axes, cells) in enumerate(wanted.items()):
        sizes = [shape[axis] for axis in axes]
        numbers = np.ravel_multi_index(tuple(places[axis] for axis in axes), sizes)
        tables.fill(k, np.bincount(numbers, minlength=cells.size).reshape(sizes) - cells, cells, POWER)
    return tables


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_prices_follow_people_who_move_in_tables_of_one_to_three_columns(
    shape: list[int], people: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    places = np.stack([chance.integers(0, size, people) for size in shape])
    chosen = [axes for width in (1, 2, 3) for axes in combinations(range(len(shape)), width)]
    wanted = {axes: chance.gamma(1.0, 3.0, [shape[axis] for axis in axes]) for axes in chosen}
    tables = filled(places, shape, wanted)
    move(places, shape, tables)
    assert np.allclose(tables.price, filled(places, shape, wanted).price, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_batches_are_moved_as_one_after_another(shape: list[int], people: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    places = np.stack([chance.integers(0, size, people) for size in shape])
    chosen = [axes for width in (1, 2, 3) for axes in combinations(range(len(shape)), width) if chance.random() < 0.7]
    wanted = {axes: chance.gamma(1.0, 3.0, [shape[axis] for axis in axes]) for axes in chosen or [(0,)]}
    batches = np.array_split(chance.permutation(people)[: people // 2 + 1], 3)
    singly, one_by_one = filled(places, shape, wanted), places.copy()
    together, at_once = filled(places, shape, wanted), places.copy()
    for column in range(len(shape)):
        for batch in batches:
            moved = one_by_one[:, batch]
            move_along(column, moved, shape, singly)
            one_by_one[:, batch] = moved
        before = at_once[column].copy()
        assert move_in_batches(column, at_once, shape, together, batches) == (at_once[column] != before).sum()
    assert (at_once == one_by_one).all()
    assert np.allclose(singly.price, together.price, atol=1e-3)


def objective(tables: Tables) -> float:
    """Return Σ weight · error², where errors count linearly beyond the limit of a price."""
    error = np.abs(tables.price / tables.cell_weights - 0.5)
    price = np.minimum(tables.cell_weights * error, tables.limit)
    return float((price * (2 * error - price / tables.cell_weights)).sum())


def test_people_of_one_cell_do_not_all_follow_a_small_excess_where_errors_count_linearly() -> None:
    """Of 4,000 people alike, one is too many in each of six pairs; each of the others lacks that one."""
    shape, people = [2] * 4, 4000
    places = np.zeros((4, people), dtype=np.int64)
    wanted = {axes: np.array([[people - 1.0, 1.0], [0.0, 0.0]]) for axes in combinations(range(4), 2)}
    tables = replace(filled(places, shape, wanted), limit=2.0)
    before = objective(tables)
    for column in range(4):
        move_in_batches(column, places, shape, tables, [np.arange(people)])
    assert objective(tables) <= before
    assert np.count_nonzero(places) < 10


def test_people_become_copies_of_others_where_values_go_together() -> None:
    """All four values are alike in everybody, so no change of a single one helps; 30 of 100 are in the wrong group."""
    places = np.repeat([[0] * 80 + [1] * 20], 4, axis=0)
    wanted = {axes: np.diag([50.0, 50.0]) for axes in combinations(range(4), 2)}
    tables = filled(places, [2] * 4, wanted)
    moved = places.copy()
    assert copy_people(moved, tables, 10, 20) == 30
    assert (moved == moved[0]).all()
    assert moved[0].sum() == 50
    assert np.allclose(tables.price, filled(moved, [2] * 4, wanted).price, atol=1e-3)


def test_people_move_to_where_tables_lack_them() -> None:
    """3,000 people whose columns do not depend on each other; the tables are those of others, whose columns do."""
    chance = np.random.default_rng(9)
    others = np.minimum(chance.integers(0, 4, 3000) + chance.integers(0, 2, (4, 3000)), 3)
    shape, places = [4] * 4, np.stack([chance.permutation(line) for line in others])
    pairs = [*combinations(range(4), 2)]
    wanted = {axes: np.zeros((4, 4)) for axes in pairs}
    for axes in pairs:
        np.add.at(wanted[axes], tuple(others[axis] for axis in axes), 1.0)
    tables = filled(places, shape, wanted)
    before = tables.off()
    for _ in range(10):
        move(places, shape, tables)
    assert tables.off() < 0.1 * before


def test_prices_of_a_column_are_those_of_the_tables_that_have_it() -> None:
    """Two people are in a cell of a pair where nobody is wanted; one is in each cell of a third column, as wanted."""
    places, shape = np.array([[0, 0], [0, 0], [0, 1]]), [2, 2, 2]
    tables = filled(places, shape, {(0, 1): np.zeros((2, 2)), (2,): np.array([1.0, 1.0])})
    alone = 0.5 * 2**-POWER
    assert np.allclose(tables.prices_by_column(places), [[2.5, 2.5], [2.5, 2.5], [alone, alone]])
