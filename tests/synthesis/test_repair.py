"""Repair of rows: when it ends, and what it leaves as it is."""

from __future__ import annotations

import numpy as np
import pytest

from dpengine.synthesis import repair as module
from dpengine.synthesis.repair import Effort, excess_in, fill, improve, repair


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
