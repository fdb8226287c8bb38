"""No row moves a score or a sum of errors by more than is paid for, and scores say what measuring a pair gains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.measure import pair_selection
from dpengine.measure.pair_selection import (
    GRAIN,
    MOVED,
    UNEXPECTED,
    Candidate,
    _bins,
    choose_pairs,
    dependence,
    measure_dependence,
    measure_model_error,
)
from dpengine.measure.workload import Run, Workload


def neighbours(exact: np.ndarray) -> list[np.ndarray]:
    """Every table with one row more or less."""
    tables = []
    for cell in np.ndindex(exact.shape):
        for step in (-1, 1):
            other = exact.copy()
            other[cell] += step
            tables.append(other)
    return tables


@pytest.mark.parametrize("scale", [0.3, 2.0, 11.0])
def test_no_score_moves_by_more_than_one_row(scale: float) -> None:
    exact = np.array([[30, 5, 30], [2, 1, 8]])
    model = np.array([[0.01, 7.7, 22.2], [3.3, 0.4, 9.9]])  # in the first cell nobody is expected
    here = Candidate(("a", "b"), (), exact, model).score(scale)
    moved = [abs(Candidate(("a", "b"), (), other, model).score(scale) - here) for other in neighbours(exact)]
    assert max(moved) <= GRAIN
    assert scale > 5 or max(moved) == GRAIN, "where cells are seen, the bound is reached"


def test_people_count_in_a_score_also_where_none_are_expected() -> None:
    """As where a column decides another: nearly everybody is in a few cells, in which the model expects few."""
    model = np.full((8, 8), 1.5)
    decided, even = np.diag(np.full(8, 12)), np.ones((8, 8), dtype=np.int64)
    score = Candidate(("a", "b"), (), decided, model).score(3.0)
    assert score == 8 * (12 - 1.5 - UNEXPECTED * 3.0) * GRAIN
    assert Candidate(("a", "b"), (), even, model).score(3.0) == 0


def test_no_row_moves_how_strongly_columns_depend_by_more_than_stated() -> None:
    """Least where all rows have one value of a column, to which a row with another value is added."""
    chance = np.random.default_rng(1)
    tables = [chance.poisson(mean, (3, 4)) for mean in (0.2, 1, 8)] * 20
    one_value = np.array([[0, 0, 490], [0, 0, 0], [0, 0, 650], [0, 0, 570]])
    moves = [
        max(abs(dependence(other, above) - dependence(exact, above)) for other in neighbours(exact) if other.min() >= 0)
        for above in (1, 3, 0)
        for exact in (*tables, one_value, np.zeros((2, 2), dtype=np.int64))
    ]
    assert max(moves) <= MOVED * GRAIN
    assert moves[-2] > 0.99 * MOVED * GRAIN, "the bound is all but reached"
    large = 2**32 * np.array([[5, 0], [0, 5]])
    assert dependence(large) == 2**32 * dependence(np.array([[5, 0], [0, 5]])), "beyond 2⁶³ too"
    assert dependence(4 * np.eye(3, dtype=np.int64), above=2) == 4 * GRAIN, (
        "above 2 rows, also where fewer are expected"
    )


def test_dependence_is_the_mean_of_the_strongest_pairs_that_close_no_ring() -> None:
    tied, loose = np.array([[50, 0], [0, 50]]), np.array([[30, 20], [20, 30]])
    counts = {("a", "b"): tied, ("a", "c"): loose, ("b", "c"): loose}
    run = Run(Workload(dict.fromkeys("abc", 2), list(counts)), counts, Fraction(10**9), 3)
    for most, strengths in ((1, [100]), (2, [100, 20]), (9, [100, 20])):
        assert measure_dependence(run, 1000, most, 0) == pytest.approx(np.mean(strengths), abs=0.1)
        assert run.choices[-1].sensitivity == len(strengths) * MOVED * GRAIN * 3
        assert run.choices[-1].epsilon == 10**9 * Fraction(1000, 10**6)
    assert measure_dependence(run, 1000, 2, 4) == pytest.approx((4 * 21 + 4 * 1) / 2, abs=0.1), "what is above 4 rows"


@pytest.mark.parametrize("picks", [1, 2, 3])
def test_a_choice_of_pairs_states_what_it_is_charged_and_what_a_person_moves(
    picks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Fraction, int]] = []

    def first(scores: np.ndarray, epsilon: Fraction, sensitivity: int) -> int:
        drawn.append((epsilon, sensitivity))
        return 0

    monkeypatch.setattr(pair_selection, "permute_and_flip", first)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    run = Run(Workload(dict.fromkeys("abc", 2), pairs), {}, Fraction(1, 2), 3)
    candidates = [Candidate(pair, (), np.eye(2, dtype=np.int64), np.ones((2, 2))) for pair in pairs]
    choose_pairs(run, candidates, picks, 1000, 1.0, tree=False)
    (choice,) = run.choices
    assert len(drawn) == picks
    assert sum(epsilon for epsilon, _ in drawn) == choice.epsilon == Fraction(1, 2) * Fraction(1000, 10**6)
    assert {sensitivity for _, sensitivity in drawn} == {choice.sensitivity} == {3 * GRAIN}


def test_a_sum_of_errors_over_tables_moves_by_no_more_than_their_number() -> None:
    exact, model = np.array([[3, 5], [2, 8]]), np.array([[3.5, 4.5], [2.25, 7.0]])
    totals = []
    for counts in (exact, *neighbours(exact)):
        candidates = [Candidate(("a", "b"), (), counts, model), Candidate(("a", "c"), (), counts, model)]
        totals.append(sum(int(one.wrong().sum()) for one in candidates))
    assert max(abs(total - totals[0]) for total in totals[1:]) == 2 * GRAIN
    run = Run(Workload({}, []), {}, Fraction(1), 3)
    measure_model_error(run, [Candidate(("a", "b"), (), exact, model)] * 2, 1000)
    assert run.choices[0].sensitivity == 2 * GRAIN * 3


def test_merged_bins_are_neighbours_and_hold_enough() -> None:
    counts = np.array([1.0, 1, 1, 50, 2, 2, 40, 1])
    bins = _bins(counts, 5.0)
    assert list(bins) == [0, 0, 0, 1, 2, 2, 3, 4]
    assert list(_bins(counts, 1000.0)) == [0] * 8
