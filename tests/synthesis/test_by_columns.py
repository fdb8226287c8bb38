"""Rows generated column by column: which of them are looked at, and the tables of three columns that are kept."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpengine.estimate.moves import Tables
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis import by_columns as module
from dpengine.synthesis.by_columns import BELOW_MEAN, LIMIT, POWER, QUICK, by_columns
from tests.synthesis.test_generate_rows import NAMES, model_of

ROWS = 1_000


def model() -> Pairwise:
    chance = np.random.default_rng(4)
    cells = chance.choice(5**4, ROWS, p=chance.dirichlet(np.full(5**4, 0.2)))
    return model_of(np.stack(np.unravel_index(cells, (5,) * 4)), 5)


def test_later_passes_look_only_at_rows_that_are_near_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    one_pass = module._pass

    def counted(child: Any, *others: Any) -> Any:
        looked.append(child.size)
        return one_pass(child, *others)

    monkeypatch.setattr(module, "_pass", counted)
    by_columns(model(), ROWS)
    assert looked.count(ROWS) == len(NAMES) - 1, "one pass over all rows for each column after the first"
    assert {*looked} == {ROWS, math.ceil(QUICK.near * ROWS)}


def test_rows_move_by_their_own_tables_of_three_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second thread fills these in from the counts that are kept while values are chosen."""
    kept: list[tuple[Any, Tables]] = []
    monkeypatch.setattr(module, "_move_worst", lambda places, _shape, tables, _passes: kept.append((places, tables)))
    expected = model()
    by_columns(expected, ROWS)
    ((places, tables),) = kept
    again = Tables.over([*combinations(range(3), 3), (0, 1, 3), (0, 2, 3), (1, 2, 3)], (5,) * 4, LIMIT)
    for k, columns in enumerate([(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]):
        counts = np.zeros((5, 5, 5))
        np.add.at(counts, tuple(places[column] for column in columns), 1)
        wanted = expected.table(tuple(NAMES[column] for column in columns))
        again.fill(k, counts - wanted + BELOW_MEAN, wanted, POWER)
    assert np.allclose(tables.price, again.price, atol=1e-3)
    assert np.allclose(tables.cell_weights, again.cell_weights)
