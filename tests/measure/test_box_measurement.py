"""Boxes of cells cost ε, depend on noisy counts alone, and make ranges of cells more exact."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, Boxes
from dpengine.measure import box_measurement
from dpengine.measure.box_steepness import steepness
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace
from tests.boxes import count_tables, measured_boxes

AGES = """
dataset: ages
epsilon: "1"
columns:
  - {{name: age, kind: number, edges: [{edges}]}}
  - {{name: sex, kind: category, values: [f, m], other: false, missing: false}}
tables: {tables}
"""


def ages(tables: str, last: int = 100) -> dpe.Plan:
    return dpe.Plan.loads(AGES.format(edges=", ".join(map(str, range(last + 1))), tables=tables))


@given(count_tables(), st.sampled_from(["0.01", "1/3", "5"]), st.sampled_from([1, 3]))
def test_along_the_boxes_of_any_cell_the_parts_add_up_to_epsilon(counts: np.ndarray, epsilon: str, unit: int) -> None:
    boxes = measured_boxes(counts, epsilon, unit)
    spent = np.zeros(boxes.shape, dtype=np.int64)
    for each in [boxes, *([] if boxes.unevenness is None else [boxes.unevenness])]:
        for first, last, part in zip(each.first, each.last, each.parts, strict=True):
            spent[tuple(slice(*ends) for ends in zip(first, last, strict=True))] += part
        assert (each.parts > 0).all()
    assert (spent == PARTS).all()


def test_which_boxes_there_are_depends_on_noisy_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noisy counts from another table give the same boxes; so the proof's ratio holds box by box.

    Exact for one table and all its neighbours: log P(outcome | D) − log P(outcome | D′) is a sum over boxes of
    part·(|v−c| − |v−c′|) in whole parts of ε, and may not exceed ε.
    """
    counts = np.array([[0, 3, 40], [900, 2, 0]])
    for _ in range(20):
        boxes = measured_boxes(counts, "2")
        exact = _exact(counts, boxes)
        for place, step in product(np.ndindex(counts.shape), (1, -1)):
            other = counts.copy()
            other[place] += step
            if other[place] < 0:
                continue
            moved = _exact(other, boxes)
            ratio = boxes.parts @ (np.abs(boxes.values - moved) - np.abs(boxes.values - exact))
            assert abs(int(ratio)) <= PARTS
        again = _replayed(boxes, monkeypatch)
        assert (again.first == boxes.first).all()
        assert (again.last == boxes.last).all()
        assert (again.parts == boxes.parts).all()


def _exact(counts: np.ndarray, boxes: Boxes) -> np.ndarray:
    ends = zip(boxes.first, boxes.last, strict=True)
    return np.array([counts[tuple(slice(*end) for end in zip(*box, strict=True))].sum() for box in ends])


def _replayed(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> Boxes:
    """Measure an empty table again, with noise that happens to give the noisy counts of ``boxes``."""
    add = box_measurement._GrowingTree.add

    def as_before(self, parents, first, last, parts):  # type: ignore[no-untyped-def]
        places = add(self, parents, first, last, parts)
        self._boxes[-1][4][:] = boxes.values[places]
        return places

    with monkeypatch.context() as patched:
        patched.setattr(box_measurement._GrowingTree, "add", as_before)
        return measured_boxes(np.zeros(boxes.shape, dtype=np.int64), "2")


def test_ranges_are_nearer_the_truth_than_from_single_cells() -> None:
    """Errors of prefix sums are at most half as large; they are a third in the mean, with a spread of a tenth of it."""
    counts = np.round(10_000 * np.diff(np.linspace(0, 1, 513) ** 0.3)).astype(np.int64)
    ours, single = [], []
    for _ in range(40):
        boxed = BoxTree(measured_boxes(counts, "0.1")).table
        flat = counts + discrete_laplace(10, counts.size)
        ours.append(np.abs(np.cumsum(boxed - counts)).mean())
        single.append(np.abs(np.cumsum(flat - counts)).mean())
    assert np.mean(ours) < np.mean(single) / 2


def exactly(counts: np.ndarray, monkeypatch: pytest.MonkeyPatch, epsilon: str = "1") -> Boxes:
    """Measure a table in boxes, with noise that happens to be 0 everywhere."""
    with monkeypatch.context() as patched:
        patched.setattr(box_measurement, "perturb", lambda exact, scale: exact)
        return measured_boxes(counts, epsilon)


def test_neighbours_without_people_are_measured_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One heavy cell of 64 × 64: the last measurement of all others is of few boxes, which tile the table."""
    counts = np.zeros((64, 64), dtype=np.int64)
    counts[5, 50] = 10_000
    boxes = exactly(counts, monkeypatch)
    last = np.zeros(boxes.shape, dtype=np.int64) - 1
    for place, ends in enumerate(zip(boxes.first, boxes.last, strict=True)):
        last[tuple(slice(*end) for end in zip(*ends, strict=True))] = place
    final = np.unique(last)
    sizes = (boxes.last - boxes.first).prod(axis=1)[final]
    assert sizes.sum() == counts.size
    assert np.sort(sizes)[-3:].sum() > counts.size * 0.85
    assert final.size <= 40
    assert BoxTree(boxes).table[5, 50] > 9_999


def test_few_people_in_one_cell_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred people per unit of noise would give ten boxes of 410 cells at most; further levels come nearer."""
    counts = np.zeros(4096, dtype=np.int64)
    counts[0] = 1000
    assert BoxTree(exactly(counts, monkeypatch, "0.1")).table[:200].sum() > 900


def test_even_tables_are_split_less_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    even = np.full(600, 20)
    bumpy = even * (np.arange(600) // 50 % 2) * 2
    assert 2 * exactly(even, monkeypatch).parents.size < exactly(bumpy, monkeypatch).parents.size


def test_boxes_are_slim_where_counts_change_along_one_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """With either axis first, unsplit boxes are at least a fifth longer along the other one."""
    falling = np.round(4000 * np.exp(-np.arange(96) / 12)).astype(np.int64)[:, None] // 96 + np.zeros((1, 96), int)
    for axis in (0, 1):
        boxes = exactly(np.moveaxis(falling, 0, axis), monkeypatch, "1/20")
        leaves = BoxTree(boxes).leaves
        widths = (boxes.last - boxes.first)[leaves].mean(axis=0)
        assert widths[1 - axis] > 1.2 * widths[axis]


def test_how_steep_an_axis_is_follows_from_neighbours() -> None:
    """Four boxes whose counts change nine times as fast along the first axis, and a box without siblings."""
    first = np.array([[0, 0], [0, 4], [4, 0], [4, 4], [8, 8]])
    values, family = np.array([10, 20, 100, 110, 5]), np.array([3, 3, 3, 3, 9])
    steep = steepness(values, first, first + 4, family, np.full(5, 1e-12))
    assert np.allclose(steep[:4], [3**0.5, 3**-0.5])
    assert (steep[4] == 1).all()


def test_a_plan_marks_the_table_whose_ranges_matter() -> None:
    plan = ages("[{columns: [sex, age], ranges: true}, [age]]")
    assert plan.ranged == (("age", "sex"),)
    assert plan.marginals == (("sex", "age"), ("age",))
    assert dpe.Plan.loads(plan.dumps()) == plan
    assert plan.key != ages("[[sex, age], [age]]").key
    assert ages("[{columns: [age], ranges: false}]").ranged == ()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("[{columns: [age], ranges: often}]", "ranges: "),
        ("[{columns: [age], range: true}]", "range: this key is not known here"),
        ("[7]", "a table is a list of columns"),
        ("7", "list the tables"),
    ],
)
def test_tables_that_cannot_be_for_ranges_are_refused(tables: str, message: str) -> None:
    with pytest.raises(dpe.PlanError, match=message):
        ages(tables)


def test_auto_measures_boxes_where_cells_are_many() -> None:
    long, short = ages("[{columns: [age], ranges: true}]"), ages("[{columns: [age], ranges: true}]", last=10)
    assert decide(long).plan.strategy == "adaptive"
    assert "ranges matter" in decide(long).why
    assert decide(short).plan.strategy == "auto"
    assert dpe.predict(long).attrs["simulated"]
    assert not dpe.predict(short).attrs["simulated"]


def test_auto_measures_cells_where_these_have_hardly_any_noise() -> None:
    alone, beside = ages("[{columns: [age], ranges: true}]"), ages("[{columns: [age], ranges: true}, [sex]]")
    assert [decide(alone.at(epsilon)).plan.strategy for epsilon in ("1.9", "2")] == ["adaptive", "auto"]
    assert [decide(beside.at(epsilon)).plan.strategy for epsilon in ("2.5", "2.6")] == ["adaptive", "auto"]
    assert decide(ages("[{columns: [age], ranges: true}]", last=1100).at("2")).plan.strategy == "adaptive"


def test_a_release_for_ranges_is_consistent_verified_and_reopened(tmp_path: Path) -> None:
    plan = ages("[{columns: [age, sex], ranges: true}, [age]]")
    frame = pd.DataFrame({"age": [20, 21, 70, None] * 300, "sex": ["f", "m", "f", "m"] * 300})
    ledger = dpe.Ledger.in_memory()
    release = dpe.release(frame, plan, ledger)
    release.save(tmp_path / "r.zip")
    manifest = dpe.verify(tmp_path / "r.zip")
    assert [one["epsilon"] for one in manifest["measurements"]] == ["1"]
    table = release.tables[("age", "sex")]
    assert table["count"].sum() == release.tables[()]["count"].item() == len(release.synthetic())
    assert ((table["low"] <= table["count"]) & (table["count"] <= table["high"])).all()
    missing = table[table["age"] == "(missing)"]["count"].sum()
    assert abs(missing - 300) < 230  # a stratum by itself: noise of scale 10 at most in each box, so 1e-9 by far
    alone = ages("[{columns: [sex, age], ranges: true}]")
    assert dpe.release(frame, alone, ledger).release_id == release.release_id
    assert ledger.spent("ages") == 1


@pytest.mark.parametrize(
    ("bins", "epsilon", "other_tables", "strategy"),
    [
        (12, "0.1", [], "auto"),
        (12, "0.09", [], "adaptive"),  # noise in the table is more than 0.3 of the rows
        (13, "1", [], "adaptive"),
        (7, "1", [["sex"]], "auto"),
        (8, "1", [["sex"]], "adaptive"),
    ],
)
def test_auto_measures_cells_where_few_lie_over_two_ordered_columns(
    bins: int, epsilon: str, other_tables: list[list[str]], strategy: str
) -> None:
    number = {"kind": "number", "edges": list(range(bins + 1)), "other": False, "missing": False}
    columns = [{"name": "a", **number}, {"name": "b", **number}, {"name": "sex", "kind": "yesno"}]
    tables = [{"columns": ["a", "b"], "ranges": True}, *other_tables]
    plan = dpe.Plan(dataset="d", epsilon=epsilon, columns=columns, tables=tables, rows_about=4_800)
    assert decide(plan).plan.strategy == strategy
    lines = plan.model_dump(include={"dataset", "epsilon", "rows_about"})
    groups = [columns[0], {"name": "sex", "kind": "category", "values": list("abcdefg"), "missing": False}]
    of_one = dpe.Plan(**lines, columns=groups, tables=[{"columns": ["a", "sex"], "ranges": True}])
    assert decide(of_one).plan.strategy == "adaptive"  # the groups are lines of their own
