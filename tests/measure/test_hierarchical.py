"""Boxes of cells: what they cost, what they may depend on, and what a range of cells gains by them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.estimate.consistency import round_boxes
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import PARTS, Boxes
from dpengine.measure import hierarchical
from dpengine.measure.hierarchical import measure_boxes
from dpengine.measure.strategy import decide
from dpengine.noise.laplace import discrete_laplace

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


def grown(counts: np.ndarray, epsilon: str = "1", sensitivity: int = 1) -> Boxes:
    axes = [(0, size) for size in counts.shape]
    return measure_boxes(tuple("abc"[: counts.ndim]), axes, counts, Fraction(epsilon), sensitivity)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    shape = draw(st.sampled_from([(1,), (2,), (9,), (40,), (300,), (3, 4), (20, 1), (17, 30), (4, 5, 6)]))
    size = math.prod(shape)
    heavy = draw(st.lists(st.integers(0, size - 1), max_size=4))
    counts = np.full(size, draw(st.sampled_from([0, 1, 30, 4000])), dtype=np.int64)
    counts[heavy] += draw(st.sampled_from([10, 10**4, 10**8]))
    return counts.reshape(shape)


@given(tables(), st.sampled_from(["0.01", "1/3", "5"]), st.sampled_from([1, 3]))
def test_along_the_boxes_of_any_cell_the_shares_add_up_to_epsilon(counts: np.ndarray, epsilon: str, unit: int) -> None:
    boxes = grown(counts, epsilon, unit)
    spent = np.zeros(boxes.shape, dtype=np.int64)
    for first, last, part in zip(boxes.first, boxes.last, boxes.parts, strict=True):
        spent[tuple(slice(*ends) for ends in zip(first, last, strict=True))] += part
    assert (spent == PARTS).all()
    assert (boxes.parts > 0).all()


@given(tables(), st.sampled_from(["0.1", "2"]))
def test_children_tile_their_parent(counts: np.ndarray, epsilon: str) -> None:
    tree = BoxTree(grown(counts, epsilon))
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


def test_which_boxes_there_are_depends_on_noisy_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noisy counts from another table give the same boxes; so the proof's ratio holds box by box.

    Exact for one table and all its neighbours: log P(outcome | D) − log P(outcome | D′) is a sum over boxes of
    share·(|v−c| − |v−c′|) in whole parts of ε, and may not exceed ε.
    """
    counts = np.array([[0, 3, 40], [900, 2, 0]])
    for _ in range(20):
        boxes = grown(counts, "2")
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
    """Grown again over an empty table, where the noise happens to give the noisy counts of ``boxes``."""
    add = hierarchical._GrowingTree.add

    def as_before(self, parents, first, last, parts):  # type: ignore[no-untyped-def]
        places = add(self, parents, first, last, parts)
        self._boxes[-1][4][:] = boxes.values[places]
        return places

    with monkeypatch.context() as patched:
        patched.setattr(hierarchical._GrowingTree, "add", as_before)
        return grown(np.zeros(boxes.shape, dtype=np.int64), "2")


def test_least_squares_along_the_tree_is_that_of_a_dense_solver() -> None:
    for shape in ((40,), (7, 9)):
        boxes = grown(np.full(shape, 60), "1")
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


@given(tables(), st.sampled_from(["0.05", "1"]))
def test_expected_and_whole_counts_agree_in_every_box(counts: np.ndarray, epsilon: str) -> None:
    tree = BoxTree(grown(counts, epsilon))
    assert (tree.expected >= 0).all()
    model = round_boxes(tree)
    whole = model.tables[0].values
    assert (whole >= 0).all()
    running = np.concatenate([[0], np.cumsum(whole.ravel()[tree.order])])
    sums = running[tree.starts + tree.cells] - running[tree.starts]
    assert (np.abs(sums - tree.expected) <= 1.5 + 1e-6 * tree.expected).all()


def test_ranges_are_nearer_the_truth_than_from_single_cells() -> None:
    """Errors of prefix sums, half as large at least; they are a third in the mean, with a spread of a tenth of it."""
    counts = np.round(10_000 * np.diff(np.linspace(0, 1, 513) ** 0.3)).astype(np.int64)
    ours, single = [], []
    for _ in range(40):
        boxed = BoxTree(grown(counts, "0.1")).table
        flat = counts + discrete_laplace(10, counts.size)
        ours.append(np.abs(np.cumsum(boxed - counts)).mean())
        single.append(np.abs(np.cumsum(flat - counts)).mean())
    assert np.mean(ours) < np.mean(single) / 2


def test_intervals_hold_the_truth() -> None:
    """95 in 100 at least of cells, margins and totals; 200 draws, so that fewer than 170 have a chance below 1e-8."""
    counts = np.zeros((12, 30), dtype=np.int64)
    counts[2:5, 3:9], counts[7, 7] = 40, 5000
    held = dict.fromkeys([("a", "b"), ("a",), ("b",), ()], 0)
    for _ in range(200):
        tree = BoxTree(grown(counts, "0.5"))
        for table in held:
            true = counts.sum(axis=tuple(k for k, name in enumerate("ab") if name not in table))
            low, high = tree.bounds(table)
            some = tuple(np.array(np.shape(true)) // 4)
            held[table] += bool(low[some] - 0.5 <= true[some] <= high[some] + 0.5)
    assert min(held.values()) >= 170, held


def test_a_plan_marks_the_table_whose_ranges_matter() -> None:
    plan = ages("[{columns: [sex, age], ranges: true}, [age]]")
    assert plan.ranged == ("age", "sex")
    assert plan.marginals == (("sex", "age"), ("age",))
    assert dpe.Plan.loads(plan.dumps()) == plan
    assert plan.key != ages("[[sex, age], [age]]").key
    assert ages("[{columns: [age], ranges: false}]").ranged is None


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("[{columns: [age], ranges: true}, [sex]]", "put the other tables into a plan of their own"),
        ("[{columns: [age], ranges: true}, {columns: [sex], ranges: true}]", "put the other tables"),
        ("[{columns: [age], ranges: often}]", "ranges: "),
        ("[{columns: [age], range: true}]", "range: this key is not known here"),
        ("[7]", "a table is a list of columns"),
        ("7", "list the tables"),
    ],
)
def test_what_is_no_such_table_is_said(tables: str, said: str) -> None:
    with pytest.raises(dpe.PlanError, match=said):
        ages(tables)


def test_auto_measures_boxes_where_cells_are_many() -> None:
    long, short = ages("[{columns: [age], ranges: true}]"), ages("[{columns: [age], ranges: true}]", last=10)
    assert decide(long).plan.strategy == "adaptive"
    assert "ranges matter" in decide(long).why
    assert decide(short).plan.strategy == "auto"
    assert dpe.predict(long).attrs["simulated"]
    assert not dpe.predict(short).attrs["simulated"]


def test_a_release_for_ranges_is_whole_verified_and_had_again(tmp_path: Path) -> None:
    plan = ages("[{columns: [age, sex], ranges: true}, [age]]")
    frame = pd.DataFrame({"age": [20, 21, 70, None] * 300, "sex": ["f", "m", "f", "m"] * 300})
    ledger = dpe.Ledger.in_memory()
    release = dpe.release(frame, plan, ledger)
    release.save(tmp_path / "r.zip")
    told = dpe.verify(tmp_path / "r.zip")
    assert [one["epsilon"] for one in told["measurements"]] == ["1"]
    table = release.tables[("age", "sex")]
    assert table["count"].sum() == release.tables[()]["count"].item() == len(release.synthetic())
    assert ((table["low"] <= table["count"]) & (table["count"] <= table["high"])).all()
    missing = table[table["age"] == "(missing)"]["count"].sum()
    assert abs(missing - 300) < 150  # a stratum by itself: noise of scale 10 at most in each box, so 1e-6 by far
    alone = ages("[{columns: [sex, age], ranges: true}]")
    assert dpe.release(frame, alone, ledger).release_id == release.release_id
    assert ledger.spent("ages") == 1
