"""Whole counts nearest to measured tables: exact if possible, never farther than before, robust against outliers."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpengine.estimate.consistency import make_consistent
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals.fitting import project
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis import generate_rows as module
from dpengine.synthesis.nearest import nearest_counts
from dpengine.synthesis.repair import Falloff
from tests.plans import letters_plan
from tests.synthesis.whole_counts import whole_counts

AXES = ((0, 1), (0, 2), (1, 2), (0,))


def tables_of(counts: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """Sums over all other axes."""
    return {axes: counts.sum(axis=tuple(k for k in range(counts.ndim) if k not in axes)) for axes in AXES}


def test_tables_that_whole_counts_can_have_are_met_exactly() -> None:
    chance = np.random.default_rng(1)
    truth = chance.poisson(1.0, (6, 5, 4))
    start = chance.permutation(truth.ravel()).reshape(truth.shape)
    counts = nearest_counts(start, {axes: (table, 1.0) for axes, table in tables_of(truth).items()})
    assert counts.min() >= 0
    assert all((found_table == tables_of(truth)[axes]).all() for axes, found_table in tables_of(counts).items())


@pytest.mark.parametrize("deviation", [0.3, 3.0])
def test_tables_that_disagree_are_weighed_by_their_noise_and_the_sum_stays(deviation: float) -> None:
    """The first table is far more exact, or far less, than the others."""
    chance = np.random.default_rng(2)
    truth = chance.poisson(2.0, (6, 5, 4))
    start = chance.permutation(truth.ravel()).reshape(truth.shape)
    wanted = {axes: (table + chance.integers(-1, 2, table.shape), 1.0) for axes, table in tables_of(truth).items()}
    wanted[0, 1] = wanted[0, 1][0], deviation
    nearest = nearest_counts(start, wanted)

    def off(counts: np.ndarray) -> list[float]:
        return [np.abs(tables_of(counts)[axes] - table).sum() for axes, (table, _) in wanted.items()]

    assert nearest.sum() == start.sum()
    assert nearest.min() >= 0
    weights = np.array([1 / deviation, 1.0, 1.0, 1.0])
    assert weights @ off(nearest) <= weights @ off(truth) < weights @ off(start)


def test_counts_stay_where_the_solver_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpengine.synthesis.nearest.MAX_STEPS", 0)
    start = np.array([[3, 0], [0, 3]])
    assert nearest_counts(start, {(0,): (np.array([5, 1]), 1.0)}) is start


@pytest.mark.by_day(1)
@pytest.mark.parametrize("share", ["1/2", "2"])
def test_whole_counts_of_few_cells_are_as_near_as_measured_tables(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of scales 2 and 1/2 a table, all given; most people are in rows of weight 2 and more.

    In the mean over three tables: that of one varies by 6 %, since many whole counts are equally near.
    """
    monkeypatch.setattr(module, "MAX_ONCE", 2**13)
    monkeypatch.setattr(module, "COARSE", 2**12)
    monkeypatch.setattr("dpengine.synthesis.shared_rows.FINE", 2**11)
    plan, names = letters_plan([9, 8, 5, 3], {"each": 2}, epsilon="1"), ("a", "b", "c", "d")
    squares = least_squares(plan, tuple(Allocation(pair, Fraction(share), 1) for pair in combinations(names, 2)))
    ratios = []
    for seed in (3, 4, 5):
        chance = np.random.default_rng(seed)
        truth = chance.multinomial(20_000, chance.dirichlet(np.full(9 * 8 * 5 * 3, 0.05))).reshape(9, 8, 5, 3)
        exact = {each: Marginal(names, truth).project(each).values for each in plan.marginals}
        noise = {
            pair: np.rint(chance.laplace(0, float(1 / Fraction(share)), exact[pair].shape))
            for pair in combinations(names, 2)
        }
        values = [exact[pair] + noise[pair].astype(np.int64) for pair in combinations(names, 2)]
        rows = whole_counts(make_consistent(squares, values), 2)
        total = float(squares.estimate((), values))
        whole = sum(np.abs(rows.table(each) - exact[each]).sum() for each in exact)
        measured = sum(np.abs(project(squares.estimate(each, values), total) - exact[each]).sum() for each in exact)
        assert rows.table(()) == round(total)
        ratios.append(whole / measured)
    assert np.mean(ratios) < 1.02


def test_cells_that_only_noise_filled_become_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """One column is a key to three others; in each of the six tables, 20 cells hold three people by noise alone."""
    chance = np.random.default_rng(4)
    key = chance.integers(0, 20, 1_000)
    people = np.stack([key, *(chance.permutation(20)[key] for _ in range(3))])
    one = {name: np.bincount(codes, minlength=20).astype(float) for name, codes in zip("abcd", people, strict=True)}
    exact = {}
    for (i, a), (k, b) in combinations(enumerate("abcd"), 2):
        exact[a, b] = np.bincount(people[i] * 20 + people[k], minlength=400).reshape(20, 20)
    two = {}
    for pair, table in exact.items():
        outliers = np.zeros(400)
        outliers[chance.choice(400, 20, replace=False)] = 3.0
        noisy = table + outliers.reshape(20, 20)
        two[pair] = noisy * (1_000 / noisy.sum())
    model = Pairwise(1_000.0, one, two)

    def off() -> float:
        return float(sum(np.abs(whole_counts(model, 2).table(pair) - table).sum() for pair, table in exact.items()))

    given_up = off()
    squares = tuple((Falloff(0.5, 1.0), effort._replace(limit=np.inf)) for _, effort in module.OF_FEW)
    monkeypatch.setattr(module, "OF_FEW", squares)
    assert given_up < 0.9 * off()
