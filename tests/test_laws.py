"""The laws of the house that no single room can keep alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import dpengine as dpe
from dpengine.estimate import consistency
from dpengine.estimate.error_distribution import least_squares
from dpengine.marginals import least_squares as estimate
from dpengine.marginals.measurement import Measurement, Measurements
from dpengine.measure import measure
from dpengine.measure.strategy import decide
from dpengine.results import mock_table, result
from dpengine.synthesis import resample
from tests.plans import CLINIC

ROOT = Path(__file__).parent.parent
SEES_ROWS = {"counting", "coding", "release", "asking", "remote", "cli", "draft", "sources", "textfile", "workbook"}


class Poisoned:
    """Stands for a private table: whoever touches it fails."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"a private table was touched ({name})")

    def __array__(self, *_: object) -> np.ndarray:
        raise AssertionError("a private table was touched")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpengine"):
            found |= {(node.module or "").removeprefix("dpengine").lstrip(".")} | {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("dpengine.") for alias in node.names}
    return found


# Lessons work on made-up people and publish nothing.
ENGINE = [path for path in (ROOT / "dpengine").rglob("*.py") if "lessons" not in path.parts]


def test_rows_are_read_in_one_place() -> None:
    """Law 1: only the rooms that open, count and orchestrate can name a table at all."""
    for path in ENGINE:
        if path.stem not in SEES_ROWS | {"__init__"}:
            assert not imports(path) & {"sources", "counting", "open_table", "Table"}, path.name


def test_exact_counts_reach_noise_and_nothing_else() -> None:
    """Law 2: counting is called by the one function that measures (and the owner's own view beside it)."""
    for path in (ROOT / "dpengine").rglob("*.py"):
        if "counting" in imports(path):
            assert path.stem in ("release", "asking"), path.name
    source = ast.parse((ROOT / "dpengine" / "release.py").read_text(encoding="utf-8"))
    for function in ast.walk(source):
        if isinstance(function, ast.FunctionDef):
            calls = {ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
            assert ("counting.count" in calls) == (function.name in ("release", "counted", "true_counts"))
            if function.name == "release":
                use = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == "counted"]
                assert len(use) == 1, "handed to measure, and used nowhere else"


def test_exact_answers_reach_chance_and_nothing_else() -> None:
    """Law 2 for single questions: what is counted is handed to the one function that draws."""
    source = ast.parse((ROOT / "dpengine" / "asking.py").read_text(encoding="utf-8"))
    functions = {each.name: each for each in ast.walk(source) if isinstance(each, ast.FunctionDef)}
    calls = {
        name: {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        for name, function in functions.items()
    }
    counts = {"counting.matching", "counting.sums", "counting.histogram"}
    assert [name for name, called in calls.items() if called & counts] == ["_exact"]
    assert [name for name, called in calls.items() if "_exact" in called] == ["ask"]
    uses = [node for node in ast.walk(functions["ask"]) if isinstance(node, ast.Name) and node.id == "exact"]
    assert len(uses) == 2, "assigned, handed to _draw, and used nowhere else"
    assert "_draw(question, exact)" in ast.unparse(functions["ask"])


def test_who_looks_like_whom_is_for_the_owner_and_never_published() -> None:
    """Classes of people and values in the rows are exact: counting finds them, `owner` offers them, two screens ask."""
    exact = {"class_sizes", "unique_people", "people_count", "distinct_texts"}
    allowed = {"own_table": exact - {"distinct_texts"}, "column_forms": {"distinct_texts"}}
    for path in [*(ROOT / "dpengine").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        if "counting" in path.parts or path.stem == "owner":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        named |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert named & exact == allowed.get(path.stem, set()), path.name


def test_everything_after_the_noise_works_without_any_table() -> None:
    plan = dpe.Plan.loads(CLINIC)
    poison = Poisoned()
    allocations = decide(plan).allocations
    noisy = [np.zeros(plan.shape(s.columns), dtype=np.int64) for s in allocations]
    measured = tuple(Measurement(allocation, values) for allocation, values in zip(allocations, noisy, strict=True))
    finished = result.conclude(plan, Measurements(measured))
    assert len(finished.to_bytes()) > 0
    for function in (
        dpe.predict,
        dpe.preview,
        result.conclude,
        mock_table.mock_counts,
        consistency.make_consistent,
        resample.unique_rows,
    ):
        with pytest.raises((TypeError, AssertionError, AttributeError)):
            function(poison)  # type: ignore[operator]
    assert least_squares(plan, allocations).estimate((), noisy) == 0
    for room in (estimate, measure, consistency, resample, result, mock_table):
        assert "Table" not in vars(room)


def test_preview_and_prediction_touch_no_open_table() -> None:
    """With a poisoned table lying about in the same process, everything before publishing works."""
    held = Poisoned()
    plan = dpe.Plan.loads(CLINIC)
    assert len(dpe.preview(plan).tables) == 3
    assert len(dpe.predict(plan)) == 3
    assert dpe.epsilon_for(plan, 10) > 0
    with pytest.raises(AssertionError, match="touched"):
        held.columns  # noqa: B018 (the control: the poison works)


def test_no_noise_is_drawn_outside_measure() -> None:
    for path in ENGINE:
        if "discrete_laplace" in path.read_text(encoding="utf-8"):
            assert path.stem in ("noise", "measure", "adaptive", "ranges", "queries"), path.name


def test_pages_hold_no_privacy_logic() -> None:
    """Screens may predict, preview, release, verify; they neither count nor measure nor record."""
    for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        assert not imports(path) & {"noise", "measure", "consistency", "counting.count", "discrete_laplace"}, path.name
        assert not re.search(r"\.(record|charge_once)\(", path.read_text(encoding="utf-8")), path.name
