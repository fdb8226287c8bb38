"""Estimates from a tree of boxes: those of a dense solver, consistent, with intervals that hold the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.estimate.consistency import round_boxes
from dpengine.marginals.box_products import follow_profiles
from dpengine.marginals.box_slopes import sloped
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, Boxes
from tests.boxes import count_tables, measured_boxes


@given(count_tables(), st.sampled_from(["0.1", "2"]))
def test_children_tile_their_parent(counts: np.ndarray, epsilon: str) -> None:
    tree = BoxTree(measured_boxes(counts, epsilon))
    assert sorted(tree.order) == list(range(counts.size))
    within = tree.boxes.parents >= 0
    below = np.bincount(tree.boxes.parents[within], tree.cells[within], minlength=tree.cells.size)
    inner = below > 0
    assert (below[inner] == tree.cells[inner]).all()
    for box in range(tree.cells.size):
        stretch = tree.order[tree.starts[box] : tree.starts[box] + tree.cells[box]]
        places = np.unravel_index(stretch, counts.shape)
        for axis, place in enumerate(places):
            assert tree.boxes.first[box, axis] <= place.min()
            assert place.max() < tree.boxes.last[box, axis]


def test_least_squares_along_the_tree_is_that_of_a_dense_solver() -> None:
    for shape in ((40,), (7, 9)):
        boxes = measured_boxes(np.full(shape, 60), "1")
        tree = BoxTree(boxes)
        cells = np.zeros((boxes.parents.size, tree.leaves.size))
        for row, (first, last) in enumerate(zip(boxes.first, boxes.last, strict=True)):
            own_first, own_last = boxes.first[tree.leaves], boxes.last[tree.leaves]
            cells[row] = ((first <= own_first) & (own_last <= last)).all(axis=1)
        scales = np.array([float(boxes.scale(int(part))) for part in boxes.parts])
        precision = 2 * np.sinh(1 / (2 * scales)) ** 2
        normal = cells.T @ (precision[:, None] * cells)
        dense = np.linalg.solve(normal, cells.T @ (precision * boxes.values))
        spread = np.linalg.inv(normal)
        assert np.allclose(tree.unbiased[tree.leaves], dense)
        assert np.allclose(tree.deviations[tree.leaves] ** 2, np.diag(spread))
        some = tree.leaves[: max(1, tree.leaves.size // 3)]
        picked = np.isin(tree.leaves, some)
        value, reach = tree._sum_of(some)
        assert value == pytest.approx(dense[picked].sum())
        assert (reach - 0.5) / 2.2 == pytest.approx(math.sqrt(picked @ spread @ picked))


@given(count_tables(), st.sampled_from(["0.05", "1"]))
def test_expected_and_whole_counts_agree_in_every_box(counts: np.ndarray, epsilon: str) -> None:
    tree = BoxTree(measured_boxes(counts, epsilon))
    assert (tree.expected >= 0).all()
    model = round_boxes(tree)
    whole = model.tables[0].values
    assert (whole >= 0).all()
    running = np.concatenate([[0], np.cumsum(whole.ravel()[tree.order])])
    sums = running[tree.starts + tree.cells] - running[tree.starts]
    assert (np.abs(sums - tree.expected) <= 1.5 + 1e-6 * tree.expected).all()


def test_boxes_that_look_empty_are_empty_and_others_are_not() -> None:
    """At a deviation of 3.4, a count of 4 is noise if half of the others are negative, and people if none is."""
    sparse, full, less = (BoxTree(_four_boxes(1000, values)).expected
                          for values in ([985, 4, -4, -2], [30, 950, 4, 20], [30, 950, 2, 20]))  # fmt: skip
    assert max(sparse[2:]) < 0.1
    assert sparse[1] > 980
    assert full[3] > 3
    assert less[3] < 0.1


def _four_boxes(total: int, values: list[int]) -> Boxes:
    first, last = np.array([[0, 0, 5, 10, 15], [20, 5, 10, 15, 20]])[:, :, None]
    parts, parents = PARTS // 5 * np.array([1, 4, 4, 4, 4]), np.array([-1, 0, 0, 0, 0])
    return Boxes(("a",), (20,), Fraction(1, 2), 1, parents, first, last, parts, np.array([total, *values]))


@given(count_tables(), st.sampled_from(["0.05", "1"]))
def test_slopes_keep_the_count_of_every_box(counts: np.ndarray, epsilon: str) -> None:
    tree = BoxTree(measured_boxes(counts, epsilon))
    assert (tree.table >= 0).all()
    for leaf in tree.leaves:
        within = tuple(slice(*ends) for ends in zip(tree.boxes.first[leaf], tree.boxes.last[leaf], strict=True))
        assert tree.table[within].sum() == pytest.approx(tree.expected[leaf], abs=1e-6 * (1 + counts.sum()))


def test_counts_that_rise_along_a_line_rise_within_boxes() -> None:
    """Three boxes of four cells: the middle one has the slope of both neighbours, and each end that of its only one."""
    first, last = np.array([[0], [4], [8]]), np.array([[4], [8], [12]])
    line = np.arange(12.0) + 3
    even = np.repeat(line.reshape(3, 4).mean(axis=1), 4)
    assert np.allclose(sloped(even, first, last, np.arange(12)), line)
    square = np.add.outer(even, np.zeros(4))
    tall = np.c_[first, 0 * first], np.c_[last, 0 * last + 4]
    assert np.allclose(sloped(square, *tall, np.arange(48)).T, line)
    peak = np.repeat([0.0, 9.0, 0.0], 4)
    assert sloped(peak, first, last, np.arange(12))[4:8].tolist() == [9.0] * 4


def _one_box_beside_lines(lines: np.ndarray, people: float, deviation: float = 10.0) -> np.ndarray:
    """Return the cells of an unsplit box beside `lines` of single cells, of which each column is one."""
    rows, number = lines.shape
    places = list(np.ndindex(rows, number))
    first, last = np.array([*places, (0, number)]), np.array([*[(a + 1, b + 1) for a, b in places], (rows, number + 5)])
    even = np.c_[lines, np.full((rows, 5), people / (5 * rows))]
    cells = np.r_[[a * (number + 5) + b for a, b in places],
                  [a * (number + 5) + number + b for a in range(rows) for b in range(5)]]  # fmt: skip
    followed = follow_profiles(even, even, first, last, cells, np.full(len(first), deviation))
    assert np.allclose(followed[:, :number], lines)
    assert followed.sum() == pytest.approx(even.sum())
    return followed[:, number:]


def test_a_box_follows_the_profile_that_lines_beside_it_share() -> None:
    profile = np.array([8.0, 1, 1, 2, 0, 0])
    box = _one_box_beside_lines(np.outer(profile, np.full(200, 3.0)), people=30)
    assert np.allclose(box, profile[:, None] * 30 / 5 / profile.sum(), atol=0.02)


def test_a_box_does_not_follow_what_one_line_shows_alone_or_each_in_its_own_way() -> None:
    one = np.ones((6, 40))
    one[2, 7] = 5000
    each = np.zeros((6, 42))
    each[np.arange(42) % 6, np.arange(42)] = 100
    for lines in (one, each):
        box = _one_box_beside_lines(lines, people=30)
        assert box.max() < 2.5
    assert np.allclose(box, 1)


def test_a_box_of_many_people_follows_less() -> None:
    lines = np.outer([8.0, 1, 1, 2, 0, 0], np.full(200, 3.0))
    few, many = (_one_box_beside_lines(lines, people) / people for people in (30, 400))
    assert few[0, 0] > 0.13
    assert 1 / 30 < many[0, 0] < 0.05


def test_a_box_keeps_its_people_beside_cells_of_very_many() -> None:
    """Their squares are rounded by more than the lines in the same columns hold."""
    even = np.full((40, 12), 0.3)
    even[20:, :6] += np.arange(120).reshape(20, 6) % 7 * 0.02
    even[np.arange(6), np.arange(6)] = 1e8 / 3
    cells = np.arange(480).reshape(40, 12)
    single, box = cells[:, :6].ravel(), cells[20:, 6:].ravel()
    rest = cells[:20, 6:].ravel()
    first = np.r_[[divmod(k, 12) for k in [*single, *rest]], [(20, 6)]]
    last = np.r_[first[:-1] + 1, [(40, 12)]]
    order = np.r_[single, rest, box]
    followed = follow_profiles(even, even, first, last, order, np.full(len(first), 10.0))
    assert np.allclose(followed[20:, 6:], 0.3)


def test_a_cell_of_a_box_may_hold_none_of_it_or_all() -> None:
    one, whole = np.array([-1]), (np.array([[0]]), np.array([[4]]))
    tree = BoxTree(Boxes(("x",), (4,), Fraction(1), 1, one, *whole, np.array([PARTS]), np.array([1000])))
    for low, high in (tree.bounds(("x",)), tree.bounds(("x",), {"x": np.array([0, 0, 1, 1])})):
        assert low.max() <= 0
        assert high.min() >= 1000


@pytest.mark.parametrize("noisy", [-1000, -40, -4, 0, 3])
def test_no_interval_ends_before_it_begins(noisy: int) -> None:
    """Noise alone may be far below none, by chance: then intervals are as wide as the noise, and hold 0 at most."""
    one, whole = np.array([-1, 0, 0]), (np.array([[0], [0], [1]]), np.array([[4], [1], [4]]))
    parts, values = np.full(3, PARTS // 2), np.array([noisy, 2, noisy])
    tree = BoxTree(Boxes(("x",), (4,), Fraction(1), 1, one, *whole, parts, values))
    for groups in ({}, {"x": np.array([0, 0, 1, 1])}, {"x": np.array([0, 0, 0, 0])}):
        low, high = tree.bounds(("x",), groups)
        assert (high >= low).all()
        certain = high - low < 1
        assert not certain[low < 0].any()
        assert noisy > -40 or (high[-1] < 0 and high[-1] - low[-1] > 2)
    low, high = tree.bounds(())
    assert high >= low


@pytest.mark.nightly
def test_intervals_hold_the_truth() -> None:
    """95 in 100 at least of cells, margins and totals; 200 draws, so that fewer than 170 have a chance below 1e-8."""
    counts = np.zeros((12, 30), dtype=np.int64)
    counts[2:5, 3:9], counts[7, 7] = 40, 5000
    covered = dict.fromkeys([("a", "b"), ("a",), ("b",), ()], 0)
    for _ in range(200):
        tree = BoxTree(measured_boxes(counts, "0.5"))
        for table in covered:
            true = counts.sum(axis=tuple(k for k, name in enumerate("ab") if name not in table))
            low, high = tree.bounds(table)
            some = tuple(np.array(np.shape(true)) // 4)
            covered[table] += bool(low[some] - 0.5 <= true[some] <= high[some] + 0.5)
    assert min(covered.values()) >= 170, covered
