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
    classes = find_latent_classes(model.one_way, model.two_way)
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
    together = find_latent_classes(model.one_way, model.two_way)
    alone = []
    for start in FEW:
        monkeypatch.setattr(module, "FEW", (start,))
        alone.append(find_latent_classes(model.one_way, model.two_way))
    assert (together.sizes == np.concatenate([each.sizes for each in alone]) / len(FEW)).all()
    assert all((together.cells[name] == np.vstack([each.cells[name] for each in alone])).all() for name in SIZES)


def explained(model: Pairwise, classes: LatentClasses) -> float:
    """Return the log-likelihood of all pairs under the classes, a person each."""
    return sum(
        float((table / model.total * np.log(classes.table(pair))).sum()) for pair, table in model.two_way.items()
    )


def test_more_rounds_explain_the_pairs_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps longer than those of expectation maximisation do not overshoot; at the end, nearly all is explained."""
    true = three_classes()
    model = model_of(true)
    found = []
    for rounds in (1, 5, 20, 80, 320):
        monkeypatch.setattr(module, "MORE_ROUNDS", rounds)
        found.append(explained(model, find_latent_classes(model.one_way, model.two_way)))
    assert found == sorted(found)
    assert explained(model, true) - found[-1] < 0.01 * (explained(model, true) - found[0])


def test_pairs_are_divided_in_pieces_for_the_cache_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(three_classes())
    whole = find_latent_classes(model.one_way, model.two_way)
    monkeypatch.setattr(module, "PIECE", 100)  # three of 32 cells at a time, two in the last piece
    pieces = find_latent_classes(model.one_way, model.two_way)
    assert pieces.sizes == pytest.approx(whole.sizes, abs=1e-3)
    assert all(pieces.cells[name] == pytest.approx(whole.cells[name], abs=1e-3) for name in SIZES)
