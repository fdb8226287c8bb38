"""Questions about unevenness in boxes: a row moves each answer by its sensitivity at most, and patterns are found."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.array_types import Ints
from dpengine.estimate.found_cells import cut
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, Boxes
from dpengine.measure import box_measurement, box_splits
from dpengine.measure.box_measurement import measure_boxes
from dpengine.measure.box_questions import deviations
from dpengine.release import reopen


def of_one(box: Ints, width: int) -> int:
    """The sum of deviations in one box, computed literally as its docstring defines it."""
    total = 0
    for start in range(0, box.size, width):
        piece = box[start : start + width]
        for j in range(1, piece.size + 1):
            total += abs(piece.size * int(piece[:j].sum()) - j * int(piece.sum()))
    return total


boxes_of_counts = st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=20), min_size=1, max_size=4)


@given(boxes_of_counts, st.integers(2, 9), st.data())
def test_a_row_moves_the_sum_by_no_more_than_its_sensitivity(
    boxes: list[list[int]], width: int, data: st.DataObject
) -> None:
    arrays = [np.array(box) for box in boxes]
    cells = np.array([each.size for each in arrays])
    widths = np.full(cells.size, width)
    running = np.concatenate([np.cumsum(each) for each in arrays])
    before = deviations(running, cells, widths)
    assert before.tolist() == [of_one(each, width) for each in arrays]
    chosen = data.draw(st.integers(0, cells.size - 1))
    arrays[chosen][data.draw(st.integers(0, int(cells[chosen]) - 1))] += 1
    after = deviations(np.concatenate([np.cumsum(each) for each in arrays]), cells, widths)
    moved = np.abs(after - before)
    assert moved.sum() == moved[chosen] <= width * (width - 1) // 2


def test_the_sensitivity_is_reached() -> None:
    even, more = np.full(6, 3), np.array([4, 3, 3, 3, 3, 3])
    distances = [deviations(np.cumsum(each), np.array([6]), np.array([6])).item() for each in (even, more)]
    assert distances == [0, 15]


def exactly(
    counts: Ints, monkeypatch: pytest.MonkeyPatch, epsilon: str = "1/4", *, may_ask: bool = True, for_bins: bool = False
) -> Boxes:
    """Measure with noise that happens to be 0."""
    with monkeypatch.context() as patched:
        if not may_ask:
            patched.setattr(box_measurement, "questions", lambda *of_families: [])
        patched.setattr(box_measurement, "perturb", lambda exact, scale: exact)
        axes = [(0, size) for size in counts.shape]
        return measure_boxes(tuple("ab"[: counts.ndim]), axes, counts, Fraction(epsilon), 1, for_bins=for_bins)


def test_a_fine_pattern_is_split_down_to_cells_and_an_even_table_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = np.where(np.arange(600) % 6 == 0, 240, 0)
    for counts, most in ((pattern, 1), (np.full(600, 40), 12)):
        boxes = exactly(counts, monkeypatch)
        assert boxes.unevenness is not None
        finest = boxes.last[:, 0] - boxes.first[:, 0]
        assert (finest.min() == 1) == (most == 1)
    assert exactly(pattern, monkeypatch, for_bins=True).unevenness is None


def test_where_bins_are_sought_a_heavy_first_step_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spending, mostly 0: the boxes of ranges spend all of ε before they know where within fifty steps people are."""
    spending = np.zeros(2000, dtype=np.int64)
    spending[:33] = np.round(12_000 * 0.75 ** np.arange(33) / 4)
    spending[0] = 8000
    of_ranges, of_bins = (exactly(spending, monkeypatch, "1/100", for_bins=each) for each in (False, True))
    assert cut(np.rint(BoxTree(of_bins).table).astype(np.int64), 20)[1] == 1
    assert cut(np.rint(BoxTree(of_ranges).table).astype(np.int64), 20)[1] > 1


def test_stripes_along_one_axis_are_split_across_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No box of the finest extends across stripes, and many do along them."""
    stripes = np.where(np.indices((96, 96))[1] % 5 < 2, 60, 0)
    boxes = exactly(stripes, monkeypatch)
    leaves = np.setdiff1d(np.arange(boxes.parents.size), boxes.parents)
    along, across = (boxes.last - boxes.first)[leaves].T
    assert across.max() == 1
    assert (along > 1).sum() > 1000


def test_a_comb_along_two_axes_is_split_into_cells_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes of a few teeth look alike; in one level of cells all of them stand out, and else a third is misplaced."""
    x, y = np.indices((48, 48))
    comb = np.where((x % 3 == 0) & (y % 3 == 0), 700, 0)
    assert np.allclose(BoxTree(exactly(comb, monkeypatch, may_ask=False)).table, comb)
    monkeypatch.setattr(box_splits, "NEARLY", 2.0)
    assert np.abs(BoxTree(exactly(comb, monkeypatch, may_ask=False)).table - comb).sum() > comb.sum() / 4


def test_nothing_is_asked_about_few_people_or_boxes_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    few = np.full(600, 1)
    differ = np.where(np.arange(600) < 70, 400, 0)
    for counts in (few, differ):
        assert exactly(counts, monkeypatch).unevenness is None


def test_all_answers_are_kept_in_the_release_and_stated(tmp_path: Path) -> None:
    plan = dpe.Plan.loads(
        "dataset: ages\nepsilon: '1/4'\ncolumns:\n"
        "  - {name: age, kind: number, edges: [" + ", ".join(map(str, range(301))) + "]}\n"
        "tables: [{columns: [age], ranges: true}]\nstrategy: adaptive\n"
    )
    frame = pd.DataFrame({"age": np.repeat(np.arange(0, 300, 5), 500)})
    release = dpe.release(frame, plan, dpe.Ledger.in_memory())
    boxes = release.measured.boxes
    assert boxes is not None
    assert boxes.unevenness is not None
    assert boxes.cost == plan.epsilon
    again = reopen(release.to_bytes()).measured.boxes
    assert again is not None
    assert again.unevenness is not None
    for name in ("axes", "first", "last", "widths", "parts", "values"):
        assert (getattr(again.unevenness, name) == getattr(boxes.unevenness, name)).all()
    release.save(tmp_path / "r.zip")
    (entry,) = dpe.verify(tmp_path / "r.zip")["measurements"]
    assert "how uneven" in entry["purpose"]
    assert entry["cells"] == boxes.values.size + boxes.unevenness.values.size
    assert boxes.unevenness.parts.max() < PARTS // 20
