"""Latent classes fitted to pairs describe tables of three columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpengine.array_types import Floats
from dpengine.marginals import latent_classes as module
from dpengine.marginals.latent_classes import FEW, LatentClasses, find_latent_classes
from dpengine.marginals.pairwise import Pairwise

SIZES = dict(zip("abcdefgh", (2, 3, 4, 5, 6, 3, 4, 5), strict=True))
TRIPLES = [("a", "b", "c"), ("d", "e", "h"), ("b", "g", "e")]


def three_classes() -> LatentClasses:
    drawn = np.random.default_rng(1)
    cells = {name: drawn.dirichlet(np.full(size, 0.5), 3) for name, size in SIZES.items()}
    return LatentClasses(np.array([0.5, 0.3, 0.2]), cells)


def model_of(true: LatentClasses) -> Pairwise:
    one = {name: 1000 * true.table((name,)) for name in SIZES}
    return Pairwise(1000.0, one, {pair: 1000 * true.table(pair) for pair in combinations(SIZES, 2)})


def off(model: Pairwise, true: LatentClasses) -> float:
    return float(np.mean([np.abs(model.table(each) / 1000 - true.table(each)).sum() for each in TRIPLES]))


def test_classes_are_found_from_pairs_and_tell_tables_of_three_columns() -> None:
    """Pairs do not determine tables of three columns, but the classes that generated the data are recovered."""
    true = three_classes()
    model = model_of(true)
    without = off(model, true)
    assert without > 0.05
    assert off(model.with_classes(), true) < 0.6 * without


def test_a_table_of_three_columns_keeps_its_pairs_whatever_the_classes() -> None:
    model = model_of(three_classes()).with_classes()
    for columns in TRIPLES:
        table = model.table(columns)
        for axis, pair in enumerate([columns[1:], (columns[0], columns[2]), columns[:2]]):
            assert table.sum(axis=axis) == pytest.approx(model.pair(*pair), abs=2)


def test_classes_give_distributions() -> None:
    model = model_of(three_classes())
    classes = find_latent_classes(model.one, model.two)
    assert classes.sizes.sum() == pytest.approx(1)
    assert all(cells.sum(axis=1) == pytest.approx(1) for cells in classes.cells.values())
    for columns in TRIPLES:
        table: Floats = classes.table(columns)
        assert table.shape == tuple(SIZES[name] for name in columns)
        assert table.sum() == pytest.approx(1)
        assert table.min() > 0


def test_classes_do_not_depend_on_which_of_two_threads_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits are combined in the order of their starts, and not in that in which they end."""
    monkeypatch.setattr(module, "MORE_ROUNDS", 3)
    model = model_of(three_classes())
    together = find_latent_classes(model.one, model.two)
    alone = []
    for start in FEW:
        monkeypatch.setattr(module, "FEW", (start,))
        alone.append(find_latent_classes(model.one, model.two))
    assert (together.sizes == np.concatenate([each.sizes for each in alone]) / len(FEW)).all()
    assert all((together.cells[name] == np.vstack([each.cells[name] for each in alone])).all() for name in SIZES)
