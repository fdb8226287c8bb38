"""Adaptive strategies by record and replay: they use the counts only through outputs that are paid for.

Outputs are forced to be the exact numbers and the best scores of one set of counts: the likeliest outcome, and the same
every time, so these tests are deterministic. With these outputs, any other counts must give the same
measurements, and counts with one person more the price ε, exactly. The cases are chosen so that every branch is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np
import pytest

from dpengine.array_types import Columns, Ints
from dpengine.marginals.measurement import PERMUTE_AND_FLIP, Boxes, Measurements
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.box_measurement import measure_boxes
from dpengine.measure.workload import Workload
from tests.replay import Tape, plain, price, prices, recorded_work, replayed_work

Counts = dict[Columns, Ints]
UNITS = [1, 3]


def marginals(joint: Ints, workload: Workload) -> Counts:
    """Exact counts of the workload's marginals of a joint table, whose axes are the columns in order."""
    names = list(workload.sizes)
    return {
        table: joint.sum(axis=tuple(k for k, name in enumerate(names) if name not in table))
        for table in workload.marginals
    }


def tied_columns(rows: int, *, tied: float = 0.0, columns: str = "abcd") -> tuple[Workload, Ints]:
    """Columns of five cells in about `rows` rows, of which a part is the same in columns a and b, and in c and d.

    Cells differ in size, so that single columns are not even.
    """
    each = np.array([8.0, 4, 2, 1, 1]) / 16
    free, same = np.outer(each, each), np.diag(each)
    pair = (1 - tied) * free + tied * same
    joint = np.round(rows * reduce(np.multiply.outer, [pair] * (len(columns) // 2))).astype(np.int64)
    pairs = list(combinations(columns, 2))
    return Workload(dict.fromkeys(columns, 5), pairs, audited=pairs[::2]), joint


def weighted(rows: int) -> tuple[Workload, Ints]:
    """The same, but some pairs and columns have smaller weights."""
    workload, joint = tied_columns(rows, tied=0.4)
    weights = {("a", "b"): Fraction(2, 3), ("c", "d"): Fraction(1, 7), ("d",): Fraction(1, 7)}
    return replace(workload, weights=weights), joint


def stated(rows: int, about: int) -> tuple[Workload, Ints]:
    """The same, and about how many rows there are is stated."""
    workload, joint = tied_columns(rows, tied=0.15)
    return replace(workload, rows_about=about), joint


def nearly_decided(rows: int) -> tuple[Workload, Ints]:
    """Four columns of ten even cells, of which a nearly decides b, and c nearly decides d."""
    pair = 0.03 * np.full((10, 10), 0.01) + 0.97 * np.diag(np.full(10, 0.1))
    pairs = list(combinations("abcd", 2))
    workload = Workload(dict.fromkeys("abcd", 10), pairs, audited=pairs[::2])
    return workload, np.round(rows * np.multiply.outer(pair, pair)).astype(np.int64)


def large_tables(rows: int) -> tuple[Workload, Ints]:
    """Three columns of ten cells that go up together, two more closely: pairs differ in cells above the noise."""
    a, b, c = np.indices((10, 10, 10))
    weights = np.exp(-((a - b) ** 2 / 2 + (b - c) ** 2 / 12))
    pairs = list(combinations("abc", 2))
    return Workload(dict.fromkeys("abc", 10), pairs, audited=pairs), np.round(rows * weights / weights.sum()).astype(
        np.int64
    )


def one_table(rows: int) -> tuple[Workload, Ints]:
    """A table of two columns that is itself published."""
    joint = np.round(rows * np.outer([5, 3, 1, 1], [4, 3, 2, 1]) / 100).astype(np.int64)
    return Workload({"a": 4, "b": 4}, [("a", "b")], audited=[("a", "b")], whole=("a", "b")), joint


def triples_of(workload: Workload, joint: Ints) -> tuple[Workload, Ints]:
    """The same, with a few published tables of three columns."""
    return replace(workload, audited=list(combinations(workload.sizes, 3))[::4]), joint


def of_classes(rows: int) -> tuple[Workload, Ints]:
    """Six columns that depend on each other through two latent classes; some tables of three columns are published."""
    names = "abcdef"
    kinds = np.array([[6, 5, 1], [1, 6, 3]]) / [[12], [10]]
    joint = np.einsum(",".join(f"z{name}" for name in names) + "->" + names, *[kinds] * len(names)) / len(kinds)
    workload = Workload(dict.fromkeys(names, 3), list(combinations(names, 2)))
    return triples_of(workload, np.round(rows * joint).astype(np.int64))


FOLLOW, DO_NOT = (
    f"three phases, tables of three columns that {each} latent classes" for each in ("follow", "do not follow")
)
# Workload and counts, ε for a row, and what is to happen: how often the mean error is measured, and pairs are chosen.
CASES = {
    "one phase, a tree of pairs": (*tied_columns(6000, tied=0.3, columns="abcdef"), "1/4", (1, 1)),
    "two phases, of columns that depend on each other in few pairs": (
        *tied_columns(12_000, tied=0.3, columns="abcdef"),
        "1/4",
        (3, 1),
    ),
    "all pairs at once, of columns that depend on each other throughout": (
        *tied_columns(4000, tied=0.4),
        "1/4",
        (2, 0),
    ),
    "all pairs at once, of far more rows than stated": (*stated(12_000, 5), "1/4", (2, 0)),
    "all pairs at once, of columns that nearly decide each other": (*nearly_decided(7000), "1/4", (1, 0)),
    "one phase, of columns that hardly depend on each other": (*tied_columns(4000), "1/4", (1, 0)),
    "so few rows that no pair is worth its noise": (*tied_columns(100, tied=0.8), "1/4", (0, 0)),
    "three phases, all three": (*tied_columns(300_000, tied=0.025), "1/20", (3, 3)),
    "three phases, then all that is left at once": (*tied_columns(40_000, tied=0.7), "1/2", (1, 0)),
    "three phases, and nothing to learn": (*tied_columns(40_000), "1/2", (1, 0)),
    "all pairs at once, of large tables": (*large_tables(7000), "1/6", (2, 0)),
    "one table": (*one_table(900), "1/5", (0, 0)),
    "one phase, of pairs of unequal weight": (*weighted(4000), "1/4", (1, 1)),
    FOLLOW: (*of_classes(400_000), "1/2", (1, 1)),
    DO_NOT: (
        *triples_of(*tied_columns(390_000, tied=0.7)),  # a row may move all pairs by as much as it can at once
        "1/2",
        (1, 1),
    ),
}
cases = pytest.mark.parametrize("case", CASES)
units = pytest.mark.parametrize("unit", UNITS)


def measured(case: str, unit: int, joint: Ints) -> Callable[[Tape], None]:
    """Measure a joint table of the case; the result is kept in the tape as what `==` compares."""
    workload, _, epsilon, _ = CASES[case]

    def work(tape: Tape) -> None:
        result = measure_adaptively(workload, marginals(joint, workload), Fraction(epsilon) * unit, unit)
        tape.stored = repr(plain(result)).encode()
        RESULTS[tape.stored] = result

    return work


RESULTS: dict[bytes, Measurements] = {}


@cases
@units
def test_every_case_takes_the_branch_that_it_is_meant_to_test(case: str, unit: int) -> None:
    tape = recorded_work(measured(case, unit, CASES[case][1]), without_noise=True)
    choices = RESULTS[tape.stored].choices
    private = sum(choice.mechanism == PERMUTE_AND_FLIP for choice in choices)
    assert (len(choices) - private, private) == CASES[case][3]


@units
def test_latent_classes_are_followed_only_where_they_are_clearly_nearer(unit: int) -> None:
    follow = {}
    for case in (FOLLOW, DO_NOT):
        tape = recorded_work(measured(case, unit, CASES[case][1]), without_noise=True)
        follow[case] = RESULTS[tape.stored].by_classes
    assert follow == {FOLLOW: True, DO_NOT: False}


def with_one_more(counts: Ints, unit: int, by_chance: int = 0) -> Iterator[Ints]:
    """The counts with one person more, all of whose rows lie in one cell: twelve in order, and some drawn by chance."""
    in_order = [[number + number // 5 * axis for axis in range(counts.ndim)] for number in range(12)]
    drawn = np.random.default_rng(1).integers(0, 2**20, (by_chance, counts.ndim)).tolist()
    for cell in (*in_order, *drawn):
        more = counts.copy()
        more[tuple(place % size for place, size in zip(cell, counts.shape, strict=True))] += unit
        yield more


@cases
@units
@pytest.mark.by_day(4)
def test_what_a_person_costs_at_most_adds_up_to_epsilon_exactly(case: str, unit: int) -> None:
    """Over all cells that the person may be in: each draw costs its part of ε somewhere, and nowhere more."""
    joint, epsilon = CASES[case][1], Fraction(CASES[case][2]) * unit
    first = recorded_work(measured(case, unit, joint), without_noise=True)
    assert RESULTS[first.stored].cost == epsilon
    costs = []
    for more in with_one_more(joint, unit, 40):
        second = replayed_work(measured(case, unit, more), first)
        assert second.stored == first.stored
        costs.append(prices(first, second))
    greatest = list(map(max, zip(*costs, strict=True)))
    for choice in RESULTS[first.stored].choices:
        if choice.what.startswith("how strongly"):  # these counts are not those that it moves by most
            assert greatest[1] > 0 or "hardly" in case
            assert greatest[1] <= choice.epsilon
            greatest[1] = choice.epsilon
    assert sum(greatest) == epsilon


@pytest.mark.by_day(9)
@cases
@units
def test_other_counts_change_only_the_probability_of_the_outcome(case: str, unit: int) -> None:
    """With counts reversed, tripled, all in one cell or none, the same forced outputs give the same measurements."""
    joint = CASES[case][1]
    first = recorded_work(measured(case, unit, joint), without_noise=True)
    lonely = np.zeros_like(joint)
    lonely[(2,) * joint.ndim] = 7
    for other in (np.flip(joint), 3 * joint, lonely, np.zeros_like(joint)):
        second = replayed_work(measured(case, unit, other), first)
        assert second.stored == first.stored


# Ranges

AXES = {1: [(0, 60, 61)], 2: [(0, 20), (0, 1, 2)]}


def grown(dimensions: int, unit: int, counts: Ints) -> Callable[[Tape], None]:
    def work(tape: Tape) -> None:
        boxes = measure_boxes(tuple("ab"[:dimensions]), AXES[dimensions], counts, Fraction(unit), unit)
        tape.stored = repr(plain(boxes)).encode()

    return work


@pytest.mark.by_day(4)
@pytest.mark.parametrize("dimensions", AXES)
@pytest.mark.parametrize("rows", [0, 300, 30_000])
@units
def test_boxes_cost_epsilon_exactly_and_follow_noisy_counts_alone(dimensions: int, rows: int, unit: int) -> None:
    shape = tuple(axis[-1] for axis in AXES[dimensions])
    counts = np.round(rows * np.exp(-np.indices(shape).sum(axis=0) / 5) / 5).astype(np.int64)
    first = recorded_work(grown(dimensions, unit, counts), without_noise=True)
    for more in with_one_more(counts, unit):
        second = replayed_work(grown(dimensions, unit, more), first)
        assert second.stored == first.stored
        assert price(first, second) == unit
    for other in (np.flip(counts), 5 * counts, np.zeros_like(counts)):
        assert replayed_work(grown(dimensions, unit, other), first).stored == first.stored


def in_pattern(dimensions: int, *, period: int) -> Ints:
    """Counts that repeat along the first axis, so that boxes look alike; even ones if the period is 1."""
    shape, mean = ((320,), 100) if dimensions == 1 else ((64, 48), 24)
    return np.where(np.indices(shape)[0] % period == 0, mean * period, 0)


def measuring(counts: Ints, unit: int, trees: list[Boxes]) -> Callable[[Tape], None]:
    def work(tape: Tape) -> None:
        axes = [(0, size) for size in counts.shape]
        trees.append(measure_boxes(tuple("ab"[: counts.ndim]), axes, counts, Fraction(unit, 4), unit))
        tape.stored = repr(plain(trees[-1])).encode()

    return work


@pytest.mark.by_day(3)
@pytest.mark.parametrize("dimensions", AXES)
@pytest.mark.parametrize("period", [1, 4])
@units
def test_answers_on_how_uneven_boxes_are_cost_what_they_were_given(dimensions: int, period: int, unit: int) -> None:
    """No row changes all draws together by more than ε. In an even table, a row in the first cell costs all of ε."""
    counts, trees = in_pattern(dimensions, period=period), list[Boxes]()
    first = recorded_work(measuring(counts, unit, trees), without_noise=True)
    assert trees[0].unevenness is not None
    assert trees[0].cost == Fraction(unit, 4)
    costs = []
    for place in list(np.ndindex(counts.shape))[:: 9 if dimensions == 1 else 97]:
        more = counts.copy()
        more[place] += unit
        second = replayed_work(measuring(more, unit, trees), first)
        assert second.stored == first.stored
        costs.append(price(first, second))
    assert max(costs) <= Fraction(unit, 4)
    assert period > 1 or costs[0] == Fraction(unit, 4)
    lonely = np.zeros_like(counts)
    lonely[(2,) * counts.ndim] = counts.sum()
    for other in (np.flip(counts), 5 * counts, np.zeros_like(counts), lonely):
        assert replayed_work(measuring(other, unit, trees), first).stored == first.stored


@units
def test_combs_that_are_split_at_once_cost_epsilon_and_follow_noisy_counts_alone(unit: int) -> None:
    x, y = np.indices((48, 48))
    counts, trees = np.where((x % 3 == 0) & (y % 3 == 0), 700, 0), list[Boxes]()
    first = recorded_work(measuring(counts, unit, trees), without_noise=True)
    assert trees[0].cost == Fraction(unit, 4)
    for more in with_one_more(counts, unit):
        second = replayed_work(measuring(more, unit, trees), first)
        assert second.stored == first.stored
        assert price(first, second) <= Fraction(unit, 4)
    for other in (np.flip(counts), 5 * counts, np.zeros_like(counts)):
        assert replayed_work(measuring(other, unit, trees), first).stored == first.stored
