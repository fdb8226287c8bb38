"""What other tables say of the cells of boxes is weighed with these by precision, and their totals stay apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.known_cells import with_known_cells, with_known_column
from dpengine.marginals.measurement import Allocation, Measurement
from tests.boxes import measured_boxes


@pytest.mark.parametrize("shape", [(40,), (7, 9)])
@pytest.mark.parametrize("variance", [0.5, 50.0, 5000.0])
def test_the_result_is_that_of_a_dense_solver(shape: tuple[int, ...], variance: float) -> None:
    """Boxes that are known better than their cells get the sums of these, and the others the cells."""
    chance = np.random.default_rng(5)
    boxes = measured_boxes(np.full(shape, 60), "1")
    cells = np.rint(60 + np.sqrt(variance) * chance.normal(size=shape))
    tree, alone = BoxTree(with_known_cells(boxes, cells, variance)), BoxTree(boxes)
    noise = np.array([float(boxes.scale(int(part))) for part in boxes.parts])
    inside = np.zeros((boxes.parents.size, cells.size))
    for row, (first, last) in enumerate(zip(boxes.first, boxes.last, strict=True)):
        box = np.zeros(shape)
        box[tuple(slice(start, end) for start, end in zip(first, last, strict=True))] = 1
        inside[row] = box.ravel()
    # By the true precision of all that is known: each box, and each cell.
    scales = np.concatenate([noise, np.full(cells.size, np.sqrt(variance / 2))])
    precision = 2 * np.sinh(1 / (2 * scales)) ** 2
    known = np.concatenate([inside, np.eye(cells.size)])
    values = np.concatenate([boxes.values, cells.ravel()])
    dense = np.linalg.solve(known.T @ (precision[:, None] * known), known.T @ (precision * values))
    spread = np.linalg.inv(known.T @ (precision[:, None] * known))
    for leaf in alone.leaves:
        members = inside[leaf]
        # Noisy sums are rounded, and so are the parts of ε that stand for their noise.
        assert tree.unbiased[leaf] == pytest.approx(members @ dense, rel=0.02, abs=1.5)
        assert tree.deviations[leaf] ** 2 == pytest.approx(members @ spread @ members, rel=0.05)
    assert (tree.boxes.values[: boxes.values.size] == boxes.values).all()


def test_every_box_is_covered_by_its_children() -> None:
    counts = np.r_[np.zeros(50, dtype=np.int64), np.full(10, 300)]
    for variance in (0.1, 20.0, 1e6):
        tree = BoxTree(with_known_cells(measured_boxes(counts, "1"), counts.astype(np.float64), variance))
        assert sorted(tree.order) == list(range(counts.size))
        assert tree.table.sum() == pytest.approx(tree.expected[tree.boxes.parents < 0].sum())
        assert tree.table.min() >= 0


def test_a_column_is_known_from_all_tables_that_have_it() -> None:
    boxes = measured_boxes(np.full(30, 50), "1")
    (name,) = boxes.columns
    pair = Measurement(Allocation((name, "other"), Fraction(1), 1), np.full((30, 2), 25))
    alone = Measurement(Allocation((name,), Fraction(1), 1), np.full(30, 50))
    known, both = (with_known_column(boxes, given) for given in ([pair], [pair, alone]))
    assert BoxTree(both).deviations[0] < BoxTree(known).deviations[0] < BoxTree(boxes).deviations[0]
    assert with_known_column(boxes, []) is boxes
    wide = measured_boxes(np.full((5, 6), 50), "1")
    assert with_known_column(wide, [pair]) is wide


@pytest.mark.parametrize("others", [1, 4])
def test_precisions_of_boxes_and_of_a_column_beside_them_add_up(others: int) -> None:
    """Of a column of one cell, so each box holds the same rows; noise is wide, so its variance is 2·scale²."""
    boxes = measured_boxes(np.array([50]), "1/50")
    (name,) = boxes.columns
    table = Measurement(Allocation((name, "other"), Fraction(1, 40), 1), np.full((1, others), 50 // others))
    scales = [*(float(boxes.scale(int(part))) for part in boxes.parts), 40 * others**0.5]
    variance = 1 / sum(1 / (2 * scale**2) for scale in scales)
    assert BoxTree(with_known_column(boxes, [table])).deviations[0] ** 2 == pytest.approx(variance, rel=0.02)
