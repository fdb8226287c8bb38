"""Repair of rows: when it ends, and what it leaves as it is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dpengine.synthesis import repair as module
from dpengine.synthesis.repair import Effort, excess_in, fill, improve, repair, settle


@pytest.mark.parametrize(("limit", "passes"), [(2.0, 5), (np.inf, 1)])
def test_repair_goes_on_while_it_gains_much_of_its_own_objective(
    limit: float, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that nobody can leave exceeds by 1,000: up to the limit it counts 3,996, and its square a million.

    Each pass gains 200.
    """
    excess = np.array([[0, 1000], [1000, 0]], dtype=np.float32)
    made: list[int] = []

    def improve(*_: object) -> float:
        made.append(1)
        return 200.0

    monkeypatch.setattr(module, "improve", improve)
    even, starts = np.ones((2, 2), np.float32), np.array([0, 1, 2])
    repair(np.zeros((2, 1), dtype=np.int32), 1, excess, even, starts, Effort(5, limit))
    assert len(made) == passes


def test_columns_that_are_not_named_keep_their_values() -> None:
    """Twenty rows in one cell, where the model has them in the opposite one: only the second column may change."""
    codes, starts = np.zeros((2, 20), dtype=np.int32), np.array([0, 2, 4])
    excess = np.zeros((4, 4), dtype=np.float32)
    fill(excess, starts, (0, 1), excess_in(np.array([[0.0, 0.0], [0.0, 20.0]]), codes))
    repair(codes, 1, excess, np.ones((4, 4), np.float32), starts, Effort(5), only=(1,))
    assert (codes[0] == 0).all()
    assert codes[1].any()


def test_changes_that_nothing_spoils_are_kept_beside_others_of_which_too_many_are_made() -> None:
    """Five rows alone in a line of the table, each wanted in the next cell, and twenty in one, of which one is wanted.

    Each of the twenty gains by itself, but together they fill the next cell far beyond what is expected. If all changes
    were alike, three of 25 would be made.
    """
    first = np.array([*[0] * 5, 1, 2, 3, 4, 5, *[0] * 15])
    codes, starts = np.stack([first, np.zeros_like(first)]), np.array([0, 6, 8])
    expected = np.array([[19.0, 1.0], *([0.0, 1.0] for _ in range(5))])
    excess, step = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    fill(excess, starts, (0, 1), excess_in(expected, codes))
    fill(step, starts, (0, 1), np.ones((6, 2)))
    values = codes + starts[:2, None]
    improve(values, excess + step / 2, step, starts, only=(1,))
    moved = values[1] == 7
    assert moved[5:10].all()
    assert 1 <= np.count_nonzero(moved) - 5 <= 2


def test_no_single_value_is_better_changed_once_rows_are_settled() -> None:
    """Rows at random, beside the tables of others."""
    chance = np.random.default_rng(2)
    codes, others = chance.integers(0, 4, (2, 3, 80), dtype=np.int32)
    starts, pairs = np.array([0, 4, 8, 12]), [*combinations(range(3), 2)]
    expected = {pair: 4.0 * chance.random((4, 4)) + excess_in(np.zeros((4, 4)), others[[*pair]]) for pair in pairs}

    def off(rows: np.ndarray) -> float:
        return sum(float((excess_in(expected[pair], rows[[*pair]]) ** 2).sum()) for pair in pairs)

    excess, cell_weights = np.zeros((12, 12), np.float32), np.zeros((12, 12), np.float32)
    for pair in pairs:
        fill(excess, starts, pair, excess_in(expected[pair], codes[[*pair]]))
        fill(cell_weights, starts, pair, np.ones((4, 4)))
    settle(codes, excess, cell_weights, starts, np.inf, 40)
    least = off(codes)
    for column, row, value in product(range(3), range(80), range(4)):
        changed = codes.copy()
        changed[column, row] = value
        assert off(changed) > least - 0.001
